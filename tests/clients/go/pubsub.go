package main

import (
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// confirmed reads the confirmation of a subscription.
func confirmed(heard *redis.PubSub, kind, channel string, count int) {
	reply, err := heard.ReceiveTimeout(ctx, patience)
	got := must(reply, err).(*redis.Subscription)
	equal(*got, redis.Subscription{Kind: kind, Channel: channel, Count: count})
}

// heardNext expects a message.
func heardNext(heard *redis.PubSub, pattern, channel, payload string) {
	reply, err := heard.ReceiveTimeout(ctx, patience)
	got := must(reply, err).(*redis.Message)
	equal([]string{got.Pattern, got.Channel, got.Payload}, []string{pattern, channel, payload})
}

var pubSubCases = cases{
	{"a message comes to all subscribers of its channel", func(db *redis.Client) {
		one, other := db.Subscribe(ctx, "a", "b"), db.Subscribe(ctx, "a")
		defer one.Close()
		defer other.Close()
		confirmed(one, "subscribe", "a", 1)
		confirmed(one, "subscribe", "b", 2)
		confirmed(other, "subscribe", "a", 1)
		gives(db.Publish(ctx, "a", "first"), 2)
		gives(db.Publish(ctx, "b", "second"), 1)
		gives(db.Publish(ctx, "c", "third"), 0)
		heardNext(one, "", "a", "first")
		heardNext(one, "", "b", "second")
		heardNext(other, "", "a", "first")
		gives(db.PubSubNumSub(ctx, "a", "b", "c"), map[string]int64{"a": 2, "b": 1, "c": 0})
		holds(db.PubSubChannels(ctx, "*"), "a", "b")
	}},
	{"a pattern gets what matches", func(db *redis.Client) {
		heard := db.PSubscribe(ctx, "n.*", "[xy]")
		defer heard.Close()
		confirmed(heard, "psubscribe", "n.*", 1)
		confirmed(heard, "psubscribe", "[xy]", 2)
		gives(db.PubSubNumPat(ctx), 2)
		gives(db.Publish(ctx, "n.1", "1"), 1)
		gives(db.Publish(ctx, "m.1", "1"), 0)
		gives(db.Publish(ctx, "x", "2"), 1)
		heardNext(heard, "n.*", "n.1", "1")
		heardNext(heard, "[xy]", "x", "2")
	}},
	{"a shard channel is a channel of its own", func(db *redis.Client) {
		heard := db.SSubscribe(ctx, "s")
		defer heard.Close()
		confirmed(heard, "ssubscribe", "s", 1)
		gives(db.Publish(ctx, "s", "no"), 0)
		gives(db.SPublish(ctx, "s", "yes"), 1)
		heardNext(heard, "", "s", "yes")
		must(0, heard.SUnsubscribe(ctx, "s"))
		confirmed(heard, "sunsubscribe", "s", 0)
	}},
	{"messages come in order, and none behind the end of a subscription", func(db *redis.Client) {
		const count = 2000
		heard := db.Subscribe(ctx, "a", "b")
		defer heard.Close()
		confirmed(heard, "subscribe", "a", 1)
		confirmed(heard, "subscribe", "b", 2)
		pipe := db.Pipeline()
		for number := range count {
			pipe.Publish(ctx, "a", number)
		}
		must(pipe.Exec(ctx))
		for number := range count {
			heardNext(heard, "", "a", strconv.Itoa(number))
		}
		must(0, heard.Unsubscribe(ctx, "a"))
		confirmed(heard, "unsubscribe", "a", 1)
		gives(db.Publish(ctx, "a", "no"), 0)
		gives(db.Publish(ctx, "b", "yes"), 1)
		heardNext(heard, "", "b", "yes")
	}},
	{"a transaction publishes too", func(db *redis.Client) {
		heard := db.Subscribe(ctx, "a")
		defer heard.Close()
		confirmed(heard, "subscribe", "a", 1)
		pipe := db.TxPipeline()
		for number := range 3 {
			pipe.Publish(ctx, "a", fmt.Sprint(number))
		}
		must(pipe.Exec(ctx))
		for number := range 3 {
			heardNext(heard, "", "a", fmt.Sprint(number))
		}
	}},
}
