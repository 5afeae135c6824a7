package main

import (
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

var pipelineCases = cases{
	{"answers a pipeline of mixed types in order", func(db *redis.Client) {
		const rounds = 500
		pipe := db.Pipeline()
		for number := range rounds {
			name, id := strconv.Itoa(number), fmt.Sprintf("%d-1", number)
			pipe.Set(ctx, "string:"+name, number, 0)
			pipe.RPush(ctx, "list", number)
			pipe.HSet(ctx, "hash", name, number)
			pipe.SAdd(ctx, "set", number)
			pipe.ZAdd(ctx, "zset", redis.Z{Member: name, Score: float64(number)})
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: id, Values: list("n", name)})
			pipe.LIndex(ctx, "list", -1)
			pipe.HGet(ctx, "hash", name)
			pipe.ZScore(ctx, "zset", name)
		}
		replies := must(pipe.Exec(ctx))
		equal(len(replies), 9*rounds)
		for number := range rounds {
			name, round := strconv.Itoa(number), replies[9*number:]
			equal(round[0].(*redis.StatusCmd).Val(), "OK")
			equal(round[1].(*redis.IntCmd).Val(), int64(number+1))
			equal(round[5].(*redis.StringCmd).Val(), name+"-1")
			equal(round[6].(*redis.StringCmd).Val(), name)
			equal(round[7].(*redis.StringCmd).Val(), name)
			equal(round[8].(*redis.FloatCmd).Val(), float64(number))
		}
		gives(db.LLen(ctx, "list"), rounds)
		gives(db.HLen(ctx, "hash"), rounds)
		gives(db.SCard(ctx, "set"), rounds)
		gives(db.ZCard(ctx, "zset"), rounds)
		gives(db.XLen(ctx, "stream"), rounds)
	}},

	{"an error inside a pipeline leaves the other replies", func(db *redis.Client) {
		pipe := db.Pipeline()
		pushed := pipe.RPush(ctx, "l", "a")
		added := pipe.SAdd(ctx, "l", "m")
		got := pipe.HGet(ctx, "l", "f")
		elements := pipe.LRange(ctx, "l", 0, -1)
		_, err := pipe.Exec(ctx)
		expect(err != nil, "the pipeline gave no error")
		gives(pushed, 1)
		refused(added, "WRONGTYPE")
		refused(got, "WRONGTYPE")
		gives(elements, list("a"))
	}},

	{"gives large replies of several types in one pipeline", func(db *redis.Client) {
		done(db.RPush(ctx, "l", arguments(names("n"))...))
		done(db.SAdd(ctx, "s", arguments(names("n"))...))
		largeSortedSet(db)
		pipe := db.Pipeline()
		elements := pipe.LRange(ctx, "l", 0, -1)
		members := pipe.SMembers(ctx, "s")
		ranked := pipe.ZRange(ctx, "z", 0, -1)
		length := pipe.LLen(ctx, "l")
		must(pipe.Exec(ctx))
		gives(elements, names("n"))
		holds(members, names("n")...)
		gives(ranked, names("n"))
		gives(length, many)
	}},
}
