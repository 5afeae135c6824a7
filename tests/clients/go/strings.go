package main

import (
	"bytes"
	"crypto/rand"

	"github.com/redis/go-redis/v9"
)

var stringCases = cases{
	{"keeps every byte of a string", func(db *redis.Client) {
		done(db.Set(ctx, everyByte(), everyByte(), 0))
		gives(db.Get(ctx, everyByte()), everyByte())
	}},

	{"keeps a string of 10 MiB", func(db *redis.Client) {
		large := make([]byte, 10<<20)
		must(rand.Read(large))
		done(db.Set(ctx, "large", large, 0))
		gives(db.StrLen(ctx, "large"), int64(len(large)))
		expect(bytes.Equal(must(db.Get(ctx, "large").Bytes()), large), "the value changed")
		gives(db.GetRange(ctx, "large", 5<<20, 5<<20+99), string(large[5<<20:5<<20+100]))
	}},

	{"counts", func(db *redis.Client) {
		gives(db.Incr(ctx, "n"), 1)
		gives(db.IncrBy(ctx, "n", 9), 10)
		gives(db.DecrBy(ctx, "n", 5), 5)
		gives(db.IncrByFloat(ctx, "f", 0.5), 0.5)
		gives(db.Append(ctx, "n", "0"), 2)
	}},

	{"sets under conditions", func(db *redis.Client) {
		gives(db.SetNX(ctx, "c", 1, 0), true)
		gives(db.SetNX(ctx, "c", 2, 0), false)
		gives(db.SetArgs(ctx, "c", 3, redis.SetArgs{Mode: "XX", Get: true}), "1")
		missing(db.SetArgs(ctx, "absent", 1, redis.SetArgs{Mode: "XX"}))
		done(db.MSet(ctx, "a", 1, "b", 2))
		gives(db.MGet(ctx, "a", "missing", "b"), []any{"1", nil, "2"})
		gives(db.GetDel(ctx, "a"), "1")
		done(db.SetBit(ctx, "bits", 7, 1))
		gives(db.BitCount(ctx, "bits", nil), 1)
	}},
}
