package main

import "github.com/redis/go-redis/v9"

var hyperLogLogCases = cases{
	{"counts a few elements exactly", func(db *redis.Client) {
		gives(db.PFAdd(ctx, "p", "a", "b", "c"), 1)
		gives(db.PFAdd(ctx, "p", "a", "b"), 0)
		gives(db.PFCount(ctx, "p"), 3)
		gives(db.PFCount(ctx, "missing"), 0)
	}},

	{"counts 10000 elements within 2 percent", func(db *redis.Client) {
		done(db.PFAdd(ctx, "p", arguments(names("n:"))...))
		between(value(db.PFCount(ctx, "p")), many-many/50, many+many/50)
	}},

	{"counts and merges several", func(db *redis.Client) {
		done(db.PFAdd(ctx, "x", "a", "b", "c"))
		done(db.PFAdd(ctx, "y", "c", "d"))
		gives(db.PFCount(ctx, "x", "y"), 4)
		gives(db.PFMerge(ctx, "to", "x", "y", "missing"), "OK")
		gives(db.PFCount(ctx, "to"), 4)
	}},

	{"refuses other values", func(db *redis.Client) {
		done(db.Set(ctx, "word", "abc", 0))
		done(db.RPush(ctx, "list", "a"))
		refused(db.PFAdd(ctx, "word", "a"), "not a valid HyperLogLog string value")
		refused(db.PFCount(ctx, "list"), "WRONGTYPE")
	}},
}
