package main

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

var connectionCases = cases{
	{"speaks the chosen protocol", func(db *redis.Client) {
		gives(db.Ping(ctx), "PONG")
		_, isMap := must(db.Do(ctx, "HELLO").Result()).(map[any]any)
		expect(isMap == (db.Options().Protocol == 3), "RESP%d was not used", db.Options().Protocol)
	}},

	{"answers a pipeline of 1000 commands in order", func(db *redis.Client) {
		pipe := db.Pipeline()
		for number := range 500 {
			key := fmt.Sprintf("p:%d", number)
			pipe.Set(ctx, key, number, 0)
			pipe.Get(ctx, key)
		}
		replies := must(pipe.Exec(ctx))
		expect(len(replies) == 1000, "%d replies", len(replies))
		for number := range 500 {
			equal(must(replies[2*number+1].(*redis.StringCmd).Int()), number)
		}
	}},

	{"returns errors and stays usable", func(db *redis.Client) {
		done(db.Set(ctx, "word", "abc", 0))
		refused(db.Do(ctx, "NOSUCHCOMMAND", "x"), "unknown command")
		refused(db.Do(ctx, "GET"), "wrong number of arguments")
		refused(db.Incr(ctx, "word"), "not an integer")
		refused(db.Do(ctx, "SET", "k", "v", "EX", "0"), "invalid expire time")
		gives(db.Ping(ctx), "PONG")
	}},
}
