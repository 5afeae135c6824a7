package main

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

var listCases = cases{
	{"pushes and pops at both ends", func(db *redis.Client) {
		gives(db.RPush(ctx, "l", "c", "d"), 2)
		gives(db.LPush(ctx, "l", "b", "a"), 4)
		gives(db.LRange(ctx, "l", 0, -1), list("a", "b", "c", "d"))
		gives(db.LPop(ctx, "l"), "a")
		gives(db.RPop(ctx, "l"), "d")
		gives(db.LPopCount(ctx, "l", 5), list("b", "c"))
		missing(db.LPop(ctx, "l"))
		missing(db.RPopCount(ctx, "l", 2))
	}},

	{"pushes only onto a list that is there", func(db *redis.Client) {
		gives(db.LPushX(ctx, "l", "v"), 0)
		gives(db.Exists(ctx, "l"), 0)
		done(db.RPush(ctx, "l", "v"))
		gives(db.LPushX(ctx, "l", "first"), 2)
		gives(db.RPushX(ctx, "l", "last"), 3)
		gives(db.LRange(ctx, "l", 0, -1), list("first", "v", "last"))
	}},

	{"reads and replaces by index", func(db *redis.Client) {
		done(db.RPush(ctx, "l", "a", "b", "c"))
		gives(db.LIndex(ctx, "l", 0), "a")
		gives(db.LIndex(ctx, "l", -1), "c")
		missing(db.LIndex(ctx, "l", 3))
		gives(db.LSet(ctx, "l", -2, "B"), "OK")
		gives(db.LRange(ctx, "l", 1, 1), list("B"))
		refused(db.LSet(ctx, "l", 3, "d"), "index out of range")
		refused(db.LSet(ctx, "missing", 0, "a"), "no such key")
	}},

	{"inserts, removes and trims", func(db *redis.Client) {
		done(db.RPush(ctx, "l", "a", "x", "b", "x", "c", "x"))
		gives(db.LInsertBefore(ctx, "l", "b", "new"), 7)
		gives(db.LInsertAfter(ctx, "l", "absent", "new"), -1)
		gives(db.LRem(ctx, "l", -2, "x"), 2)
		gives(db.LRange(ctx, "l", 0, -1), list("a", "x", "new", "b", "c"))
		gives(db.LTrim(ctx, "l", 1, -2), "OK")
		gives(db.LRange(ctx, "l", 0, -1), list("x", "new", "b"))
		gives(db.LTrim(ctx, "l", 5, 9), "OK")
		gives(db.Exists(ctx, "l"), 0)
	}},

	{"finds positions", func(db *redis.Client) {
		done(db.RPush(ctx, "l", "a", "b", "a", "c", "a"))
		gives(db.LPos(ctx, "l", "a", redis.LPosArgs{Rank: -1}), 4)
		missing(db.LPos(ctx, "l", "z", redis.LPosArgs{}))
		gives(db.LPosCount(ctx, "l", "a", 0, redis.LPosArgs{}), []int64{0, 2, 4})
	}},

	{"moves elements between lists", func(db *redis.Client) {
		done(db.RPush(ctx, "from", "a", "b", "c"))
		gives(db.LMove(ctx, "from", "to", "LEFT", "RIGHT"), "a")
		gives(db.RPopLPush(ctx, "from", "to"), "c")
		gives(db.LRange(ctx, "to", 0, -1), list("c", "a"))
		gives(db.LMove(ctx, "to", "to", "LEFT", "RIGHT"), "c")
		gives(db.LRange(ctx, "to", 0, -1), list("a", "c"))
		missing(db.LMove(ctx, "missing", "to", "LEFT", "LEFT"))
	}},

	{"pops from the first list that has elements", func(db *redis.Client) {
		done(db.RPush(ctx, "second", "a", "b", "c"))
		key, elements, err := db.LMPop(ctx, "RIGHT", 2, "first", "second").Result()
		expect(err == nil && key == "second", "%v from %q", err, key)
		equal(elements, list("c", "b"))
		missing(db.LMPop(ctx, "LEFT", 1, "first"))
	}},

	{"keeps every byte of an element", func(db *redis.Client) {
		elements := list("", everyByte(), "\r\n", "-7", strings.Repeat("x", 100000))
		done(db.RPush(ctx, "l", arguments(elements)...))
		gives(db.LRange(ctx, "l", 0, -1), elements)
	}},

	{"refuses a key of another type", func(db *redis.Client) {
		done(db.Set(ctx, "word", "abc", 0))
		refused(db.LPop(ctx, "word"), "WRONGTYPE")
		refused(db.RPush(ctx, "word", "v"), "WRONGTYPE")
		refused(db.LRange(ctx, "word", 0, -1), "WRONGTYPE")
	}},

	{"holds 10000 elements in order", func(db *redis.Client) {
		gives(db.RPush(ctx, "l", arguments(names("n"))...), many)
		gives(db.LRange(ctx, "l", 0, -1), names("n"))
		gives(db.LIndex(ctx, "l", 4999), "n4999")
		gives(db.LIndex(ctx, "l", -5000), "n5000")
		gives(db.LSet(ctx, "l", 5000, "changed"), "OK")
		gives(db.LInsertAfter(ctx, "l", "changed", "new"), many+1)
		gives(db.LRange(ctx, "l", 4999, 5002), list("n4999", "changed", "new", "n5001"))
		equal(len(value(db.RPopCount(ctx, "l", 6000))), 6000)
		gives(db.LLen(ctx, "l"), 4001)
	}},
}
