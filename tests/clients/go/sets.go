package main

import (
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

var setCases = cases{
	{"adds, tests and removes members", func(db *redis.Client) {
		gives(db.SAdd(ctx, "s", "a", "b", "a"), 2)
		gives(db.SAdd(ctx, "s", "a", "c"), 1)
		holds(db.SMembers(ctx, "s"), "a", "b", "c")
		gives(db.SIsMember(ctx, "s", "a"), true)
		gives(db.SMIsMember(ctx, "s", "a", "z", "c"), []bool{true, false, true})
		gives(db.SRem(ctx, "s", "a", "z"), 1)
		gives(db.SCard(ctx, "s"), 2)
		gives(db.SRem(ctx, "s", "b", "c"), 2)
		gives(db.Exists(ctx, "s"), 0)
	}},

	{"takes and shows random members", func(db *redis.Client) {
		done(db.SAdd(ctx, "s", "a", "b", "c"))
		holds(db.SRandMemberN(ctx, "s", 5), "a", "b", "c")
		equal(len(value(db.SRandMemberN(ctx, "s", -5))), 5)
		taken := append(value(db.SPopN(ctx, "s", 2)), value(db.SPop(ctx, "s")))
		equal(sorted(taken), list("a", "b", "c"))
		missing(db.SPop(ctx, "s"))
	}},

	{"moves a member", func(db *redis.Client) {
		done(db.SAdd(ctx, "from", "a", "b"))
		gives(db.SMove(ctx, "from", "to", "a"), true)
		gives(db.SMove(ctx, "from", "to", "a"), false)
		gives(db.SMembers(ctx, "from"), list("b"))
		gives(db.SMembers(ctx, "to"), list("a"))
	}},

	{"intersects, unites and subtracts", func(db *redis.Client) {
		done(db.SAdd(ctx, "x", "a", "b", "c", "d"))
		done(db.SAdd(ctx, "y", "b", "c", "d", "e"))
		done(db.SAdd(ctx, "z", "c", "d"))
		holds(db.SInter(ctx, "x", "y", "z"), "c", "d")
		holds(db.SInter(ctx, "x", "missing"))
		holds(db.SUnion(ctx, "y", "z", "missing"), "b", "c", "d", "e")
		holds(db.SDiff(ctx, "x", "z", "missing"), "a", "b")
		gives(db.SInterCard(ctx, 0, "x", "y"), 3)
		gives(db.SInterCard(ctx, 2, "x", "y"), 2)
	}},

	{"stores combined sets", func(db *redis.Client) {
		done(db.SAdd(ctx, "x", 1, 2, 3))
		done(db.SAdd(ctx, "y", 2, 3, "word"))
		gives(db.SInterStore(ctx, "to", "x", "y"), 2)
		holds(db.SMembers(ctx, "to"), "2", "3")
		gives(db.SUnionStore(ctx, "to", "x", "y"), 4)
		holds(db.SMembers(ctx, "to"), "1", "2", "3", "word")
		gives(db.SDiffStore(ctx, "to", "x", "y"), 1)
		gives(db.SInterStore(ctx, "to", "x", "missing"), 0)
		gives(db.Exists(ctx, "to"), 0)
	}},

	{"keeps every byte of a member", func(db *redis.Client) {
		members := list("", everyByte(), "\r\n", "-7", "07", strings.Repeat("x", 100000))
		gives(db.SAdd(ctx, "s", arguments(members)...), 6)
		holds(db.SMembers(ctx, "s"), members...)
	}},

	{"refuses a key of another type", func(db *redis.Client) {
		done(db.Set(ctx, "word", "abc", 0))
		done(db.SAdd(ctx, "s", "a"))
		refused(db.SAdd(ctx, "word", "m"), "WRONGTYPE")
		refused(db.SMembers(ctx, "word"), "WRONGTYPE")
		refused(db.SUnion(ctx, "s", "word"), "WRONGTYPE")
	}},

	{"holds 10000 members", func(db *redis.Client) {
		gives(db.SAdd(ctx, "s", arguments(names("n"))...), many)
		holds(db.SMembers(ctx, "s"), names("n")...)
		gives(db.SAdd(ctx, "half", arguments(names("n")[:5000])...), 5000)
		holds(db.SInter(ctx, "s", "half"), names("n")[:5000]...)
		holds(db.SDiff(ctx, "s", "half"), names("n")[5000:]...)
		gives(db.SRem(ctx, "s", arguments(names("n")[:5000])...), 5000)
		gives(db.SCard(ctx, "s"), 5000)
	}},

	{"holds 10000 integers", func(db *redis.Client) {
		integers := []string{}
		for number := -5000; number < 5000; number++ {
			integers = append(integers, strconv.Itoa(number))
		}
		gives(db.SAdd(ctx, "s", arguments(integers)...), many)
		holds(db.SMembers(ctx, "s"), integers...)
		gives(db.SMIsMember(ctx, "s", -5000, 5000, "007"), []bool{true, false, false})
	}},

	{"scans 10000 members exactly once", func(db *redis.Client) {
		done(db.SAdd(ctx, "s", arguments(names("n"))...))
		equal(sorted(scanned(db.SScan(ctx, "s", 0, "", 100).Iterator())), sorted(names("n")))
		equal(scanned(db.SScan(ctx, "s", 0, "n777", 100).Iterator()), list("n777"))
	}},
}
