package main

import (
	"math"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

var sortedSetCases = cases{
	{"orders members by score, then by name", func(db *redis.Client) {
		gives(db.ZAdd(ctx, "z", scored("c", 2, "b", 2, "a", 3, "d", math.Inf(-1))...), 4)
		gives(db.ZRangeWithScores(ctx, "z", 0, -1), scored("d", math.Inf(-1), "b", 2, "c", 2, "a", 3))
		gives(db.ZRevRange(ctx, "z", 0, 1), list("a", "c"))
		gives(db.ZCard(ctx, "z"), 4)
		gives(db.ZRem(ctx, "z", "a", "b", "c", "d", "missing"), 4)
		gives(db.Exists(ctx, "z"), 0)
	}},

	{"adds under conditions", func(db *redis.Client) {
		done(db.ZAdd(ctx, "z", scored("a", 5)...))
		gives(db.ZAddNX(ctx, "z", scored("a", 1, "b", 1)...), 1)
		gives(db.ZAddArgs(ctx, "z", redis.ZAddArgs{XX: true, Ch: true, Members: scored("a", 6, "c", 1)}), 1)
		gives(db.ZAddArgs(ctx, "z", redis.ZAddArgs{GT: true, Ch: true, Members: scored("a", 4)}), 0)
		gives(db.ZAddArgs(ctx, "z", redis.ZAddArgs{LT: true, Ch: true, Members: scored("a", 4)}), 1)
		gives(db.ZAddArgsIncr(ctx, "z", redis.ZAddArgs{Members: scored("a", 1.5)}), 5.5)
		missing(db.ZAddArgsIncr(ctx, "z", redis.ZAddArgs{NX: true, Members: scored("a", 1)}))
		refused(db.Do(ctx, "ZADD", "z", "many", "a"), "not a valid float")
	}},

	{"counts with scores", func(db *redis.Client) {
		gives(db.ZIncrBy(ctx, "z", 2.5, "a"), 2.5)
		gives(db.ZIncrBy(ctx, "z", -3, "a"), -0.5)
		gives(db.ZScore(ctx, "z", "a"), -0.5)
		missing(db.ZScore(ctx, "z", "missing"))
		gives(db.ZMScore(ctx, "z", "a", "missing"), []float64{-0.5, 0})
	}},

	{"keeps every digit of a score", func(db *redis.Client) {
		for place, score := range []float64{0.1, 1.0 / 3, 1e300, -1e-300, 9007199254740993, 3, math.Inf(1)} {
			done(db.ZAdd(ctx, "z", redis.Z{Member: place, Score: score}))
			gives(db.ZScore(ctx, "z", strconv.Itoa(place)), score)
		}
	}},

	{"tells ranks", func(db *redis.Client) {
		done(db.ZAdd(ctx, "z", scored("a", 1, "b", 2, "c", 3)...))
		gives(db.ZRank(ctx, "z", "a"), 0)
		gives(db.ZRevRank(ctx, "z", "a"), 2)
		gives(db.ZRankWithScore(ctx, "z", "c"), redis.RankScore{Rank: 2, Score: 3})
		missing(db.ZRank(ctx, "z", "missing"))
	}},

	{"gives ranges by score", func(db *redis.Client) {
		done(db.ZAdd(ctx, "z", scored("a", 1, "b", 2, "c", 3, "d", 4)...))
		gives(db.ZRangeByScore(ctx, "z", &redis.ZRangeBy{Min: "(1", Max: "3"}), list("b", "c"))
		all := redis.ZRangeBy{Min: "-inf", Max: "+inf", Offset: 1, Count: 2}
		gives(db.ZRevRangeByScoreWithScores(ctx, "z", &all), scored("c", 3, "b", 2))
		downwards := redis.ZRangeArgs{Key: "z", Start: "(1", Stop: 4, ByScore: true, Rev: true, Offset: 1, Count: 2}
		gives(db.ZRangeArgs(ctx, downwards), list("c", "b"))
		gives(db.ZCount(ctx, "z", "-inf", "(3"), 2)
	}},

	{"gives ranges by name", func(db *redis.Client) {
		done(db.ZAdd(ctx, "z", scored("a", 0, "b", 0, "c", 0, "d", 0, "e", 0)...))
		gives(db.ZRangeByLex(ctx, "z", &redis.ZRangeBy{Min: "[b", Max: "(d"}), list("b", "c"))
		gives(db.ZRevRangeByLex(ctx, "z", &redis.ZRangeBy{Min: "(c", Max: "+"}), list("e", "d"))
		gives(db.ZLexCount(ctx, "z", "-", "[c"), 3)
	}},

	{"removes ranges", func(db *redis.Client) {
		done(db.ZAdd(ctx, "z", scored("a", 1, "b", 2, "c", 3, "d", 4, "e", 5)...))
		gives(db.ZRemRangeByRank(ctx, "z", 0, 0), 1)
		gives(db.ZRemRangeByScore(ctx, "z", "(4", "+inf"), 1)
		gives(db.ZRange(ctx, "z", 0, -1), list("b", "c", "d"))
		gives(db.ZRemRangeByLex(ctx, "z", "-", "+"), 3)
	}},

	{"pops the lowest and the highest", func(db *redis.Client) {
		done(db.ZAdd(ctx, "z", scored("a", 1, "b", 2, "c", 3, "d", 4)...))
		gives(db.ZPopMin(ctx, "z"), scored("a", 1))
		gives(db.ZPopMax(ctx, "z", 2), scored("d", 4, "c", 3))
		key, popped, err := db.ZMPop(ctx, "MIN", 5, "missing", "z").Result()
		expect(err == nil && key == "z", "%v from %q", err, key)
		equal(popped, scored("b", 2))
		gives(db.ZPopMin(ctx, "z"), nil)
		missing(db.ZMPop(ctx, "MAX", 1, "z"))
	}},

	{"shows random members", func(db *redis.Client) {
		done(db.ZAdd(ctx, "z", scored("a", 1, "b", 2)...))
		holds(db.ZRandMember(ctx, "z", 5), "a", "b")
		equal(len(value(db.ZRandMemberWithScores(ctx, "z", -5))), 5)
	}},

	{"intersects, unites and subtracts", func(db *redis.Client) {
		done(db.ZAdd(ctx, "x", scored("a", 1, "b", 2)...))
		done(db.ZAdd(ctx, "y", scored("b", 10, "c", 20)...))
		both := redis.ZStore{Keys: list("x", "y")}
		gives(db.ZUnionWithScores(ctx, both), scored("a", 1, "b", 12, "c", 20))
		weighted := redis.ZStore{Keys: list("x", "y"), Weights: []float64{2, 3}, Aggregate: "MAX"}
		gives(db.ZInterWithScores(ctx, &weighted), scored("b", 30))
		gives(db.ZDiffWithScores(ctx, "x", "y"), scored("a", 1))
		gives(db.ZInterCard(ctx, 0, "x", "y"), 1)
	}},

	{"stores combined sets and ranges", func(db *redis.Client) {
		done(db.ZAdd(ctx, "x", scored("a", 1, "b", 2)...))
		done(db.SAdd(ctx, "y", "b", "c"))
		gives(db.ZUnionStore(ctx, "to", &redis.ZStore{Keys: list("x", "y"), Weights: []float64{2, 1}}), 3)
		gives(db.ZRangeWithScores(ctx, "to", 0, -1), scored("c", 1, "a", 2, "b", 5))
		gives(db.ZInterStore(ctx, "to", &redis.ZStore{Keys: list("x", "y")}), 1)
		gives(db.ZDiffStore(ctx, "to", "x", "y"), 1)
		gives(db.ZRangeStore(ctx, "to", redis.ZRangeArgs{Key: "x", Start: "(1", Stop: "+inf", ByScore: true}), 1)
		gives(db.ZRange(ctx, "to", 0, -1), list("b"))
	}},

	{"keeps every byte of a member", func(db *redis.Client) {
		members := list("", everyByte(), "\r\n", strings.Repeat("x", 100000))
		for place, member := range members {
			done(db.ZAdd(ctx, "z", redis.Z{Member: member, Score: float64(place)}))
		}
		gives(db.ZRange(ctx, "z", 0, -1), members)
	}},

	{"refuses a key of another type", func(db *redis.Client) {
		done(db.Set(ctx, "word", "abc", 0))
		refused(db.ZAdd(ctx, "word", scored("m", 1)...), "WRONGTYPE")
		refused(db.ZRange(ctx, "word", 0, -1), "WRONGTYPE")
		refused(db.ZUnion(ctx, redis.ZStore{Keys: list("word")}), "WRONGTYPE")
	}},

	{"holds 10000 members in order", func(db *redis.Client) {
		largeSortedSet(db)
		gives(db.ZRange(ctx, "z", 0, -1), names("n"))
		gives(db.ZRank(ctx, "z", "n9999"), 9999)
		gives(db.ZRangeByScore(ctx, "z", &redis.ZRangeBy{Min: "5000", Max: "(5002"}), list("n5000", "n5001"))
		gives(db.ZCount(ctx, "z", "0", "99"), 100)
		gives(db.ZIncrBy(ctx, "z", 20000, "n5000"), 25000)
		gives(db.ZRevRank(ctx, "z", "n5000"), 0)
		gives(db.ZRemRangeByRank(ctx, "z", 0, 4999), 5000)
		gives(db.ZRange(ctx, "z", 0, 0), list("n5001"))
	}},

	{"scans 10000 members exactly once", func(db *redis.Client) {
		largeSortedSet(db)
		both := names("n")
		for place := range many {
			both = append(both, strconv.Itoa(place))
		}
		equal(sorted(scanned(db.ZScan(ctx, "z", 0, "", 100).Iterator())), sorted(both))
		equal(scanned(db.ZScan(ctx, "z", 0, "n777", 100).Iterator()), list("n777", "777"))
	}},
}

// scored makes members out of names and scores that take turns.
func scored(pairs ...any) []redis.Z {
	members := []redis.Z{}
	for i := 0; i < len(pairs); i += 2 {
		score, isFloat := pairs[i+1].(float64)
		if !isFloat {
			score = float64(pairs[i+1].(int))
		}
		members = append(members, redis.Z{Member: pairs[i], Score: score})
	}
	return members
}

// largeSortedSet adds the names in their order.
func largeSortedSet(db *redis.Client) {
	members := []redis.Z{}
	for place, name := range names("n") {
		members = append(members, redis.Z{Member: name, Score: float64(place)})
	}
	gives(db.ZAdd(ctx, "z", members...), many)
}
