package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var blockingCases = cases{
	{"a push from another connection serves a blocked pop", func(db *redis.Client) {
		for _, call := range []struct {
			send func() any
			want string
		}{
			{func() any { return pair(db.BLPop(ctx, patience, "other", "l").Result()) }, "[l v] <nil>"},
			{func() any { return pair(db.BRPop(ctx, patience, "l").Result()) }, "[l v] <nil>"},
			{func() any { return pair(db.BLMove(ctx, "l", "to", "LEFT", "LEFT", patience).Result()) }, "v <nil>"},
			{func() any { return pair(db.BRPopLPush(ctx, "l", "to", patience).Result()) }, "v <nil>"},
			{func() any {
				key, elements, err := db.BLMPop(ctx, patience, "LEFT", 2, "other", "l").Result()
				return fmt.Sprint(key, elements, err)
			}, "l[v] <nil>"},
		} {
			equal(replyOnceServed(db, call.send, func() { done(db.RPush(ctx, "l", "v")) }), any(call.want))
			gives(db.Exists(ctx, "l"), 0)
		}
		gives(db.LRange(ctx, "to", 0, -1), list("v", "v"))
	}},

	{"an added member serves a blocked pop", func(db *redis.Client) {
		add := func() { done(db.ZAdd(ctx, "z", scored("m", 1.5)...)) }
		popped := &redis.ZWithKey{Key: "z", Z: redis.Z{Member: "m", Score: 1.5}}
		equal(replyOnceServed(db, func() any { return db.BZPopMin(ctx, patience, "other", "z").Val() }, add), any(popped))
		equal(replyOnceServed(db, func() any { return db.BZPopMax(ctx, patience, "z").Val() }, add), any(popped))
		reply := replyOnceServed(db, func() any {
			key, members, err := db.BZMPop(ctx, patience, "MIN", 2, "z").Result()
			return fmt.Sprint(key, members, err)
		}, add)
		equal(reply, any("z[{1.5 m}] <nil>"))
		gives(db.Exists(ctx, "z"), 0)
	}},

	{"an appended entry serves blocked readers", func(db *redis.Client) {
		done(db.XGroupCreateMkStream(ctx, "s", "g", "0"))
		entry := func(id string) func() {
			return func() { done(db.XAdd(ctx, &redis.XAddArgs{Stream: "s", ID: id, Values: list("n", "1")})) }
		}
		read := replyOnceServed(db, func() any {
			return fmt.Sprint(db.XRead(ctx, &redis.XReadArgs{Streams: list("s", "$"), Block: patience}).Result())
		}, entry("1-0"))
		expect(strings.Contains(read.(string), "1-0"), "%v", read)
		equal(readGroup(db, "ann", ">", 1), list("1-0"))
		waiting := groupRead("bob", ">", 1)
		waiting.Block = patience
		read = replyOnceServed(db, func() any { return fmt.Sprint(db.XReadGroup(ctx, waiting).Result()) }, entry("2-0"))
		expect(strings.Contains(read.(string), "2-0"), "%v", read)
		equal(value(db.XPending(ctx, "s", "g")).Count, 2)
	}},

	// One second is the shortest timeout that go-redis sends for a pop.
	{"blocked calls give up after their timeout", func(db *redis.Client) {
		done(db.XGroupCreateMkStream(ctx, "s", "g", "$"))
		waiting := groupRead("ann", ">", 1)
		waiting.Block = time.Second
		began := time.Now()
		calls := []func() error{
			func() error { return db.BLPop(ctx, time.Second, "l", "other").Err() },
			func() error { return db.BRPop(ctx, time.Second, "l").Err() },
			func() error { return db.BLMPop(ctx, time.Second, "LEFT", 1, "l").Err() },
			func() error { return db.BLMove(ctx, "l", "to", "LEFT", "LEFT", time.Second).Err() },
			func() error { return db.BZPopMin(ctx, time.Second, "z").Err() },
			func() error { return db.BZMPop(ctx, time.Second, "MAX", 1, "z").Err() },
			func() error {
				return db.XRead(ctx, &redis.XReadArgs{Streams: list("s", "$"), Block: time.Second}).Err()
			},
			func() error { return db.XReadGroup(ctx, waiting).Err() },
			func() error { return db.Do(ctx, "BLPOP", "l", "1").Err() },
		}
		replies := make(chan error)
		for _, call := range calls {
			go func() { replies <- call() }()
		}
		for range calls {
			err := <-replies
			expect(err == redis.Nil, "a call that waits in vain gave %v", err)
			between(time.Since(began), time.Second, 5*time.Second)
		}
		equal(waiters(db), 0)
	}},

	{"elements that are there are given at once", func(db *redis.Client) {
		done(db.RPush(ctx, "l", "a", "b"))
		gives(db.BLPop(ctx, patience, "l"), list("l", "a"))
		gives(db.BLMove(ctx, "l", "to", "LEFT", "LEFT", patience), "b")
		done(db.ZAdd(ctx, "z", scored("m", 1)...))
		equal(value(db.BZPopMax(ctx, patience, "z")).Member, any("m"))
	}},

	{"blocked clients are served in the order of their arrival", func(db *redis.Client) {
		replies := make([]chan string, 5)
		for place := range replies {
			replies[place] = make(chan string, 1)
			go func() { replies[place] <- pair(db.BLPop(ctx, patience, "l").Result()) }()
			blocked := func() bool { return len(replies[place]) > 0 || waiters(db) == place+1 }
			within(blocked, "the call did not block")
		}
		done(db.RPush(ctx, "l", 0, 1, 2, 3, 4))
		for place, reply := range replies {
			equal(<-reply, fmt.Sprintf("[l %d] <nil>", place))
		}
	}},

	{"a queue passes 1000 elements to a waiting consumer", func(db *redis.Client) {
		received := make(chan string, 1000)
		go func() {
			for range 1000 {
				received <- pair(db.BLPop(ctx, patience, "l").Result())
			}
		}()
		for number := range 1000 {
			done(db.RPush(ctx, "l", number))
		}
		for number := range 1000 {
			equal(<-received, fmt.Sprintf("[l %d] <nil>", number))
		}
	}},
}

// pair shows a reply and its error.
func pair(reply any, err error) string {
	return fmt.Sprint(reply, " ", err)
}

// waiters tells how many clients are blocked.
func waiters(db *redis.Client) int {
	count := 0
	_, rest, _ := strings.Cut(value(db.Info(ctx, "clients")), "blocked_clients:")
	must(fmt.Sscan(rest, &count))
	return count
}

// replyOnceServed gives the reply of a call that is blocked, on a connection of its own, until serve is run.
func replyOnceServed(db *redis.Client, call func() any, serve func()) any {
	reply := make(chan any, 1)
	go func() { reply <- call() }()
	within(func() bool { return len(reply) > 0 || waiters(db) == 1 }, "the call did not block")
	if len(reply) > 0 {
		expect(false, "the call did not block: %v", <-reply)
	}
	serve()
	return <-reply
}
