package main

import (
	"strconv"

	"github.com/redis/go-redis/v9"
)

var sortCases = cases{
	{"sorts numbers and words", func(db *redis.Client) {
		done(db.RPush(ctx, "l", "10", "9", "-1.5", "2"))
		gives(db.Sort(ctx, "l", &redis.Sort{}), list("-1.5", "2", "9", "10"))
		gives(db.Sort(ctx, "l", &redis.Sort{Alpha: true}), list("-1.5", "10", "2", "9"))
		gives(db.Sort(ctx, "l", &redis.Sort{Order: "DESC", Offset: 1, Count: 2}), list("9", "2"))
		gives(db.SortRO(ctx, "l", &redis.Sort{Count: 1}), list("-1.5"))
		done(db.RPush(ctx, "l", "word"))
		refused(db.Sort(ctx, "l", &redis.Sort{}), "can't be converted into double")
	}},

	{"sorts sets and sorted sets", func(db *redis.Client) {
		done(db.SAdd(ctx, "s", 3, 1, 2))
		done(db.ZAdd(ctx, "z", scored("3", 1, "1", 2, "2", 3)...))
		gives(db.Sort(ctx, "s", &redis.Sort{}), list("1", "2", "3"))
		gives(db.Sort(ctx, "z", &redis.Sort{Order: "DESC"}), list("3", "2", "1"))
	}},

	{"sorts by other keys and gives their values", func(db *redis.Client) {
		done(db.RPush(ctx, "l", "a", "b", "c"))
		done(db.MSet(ctx, "weight:a", 3, "weight:b", 1, "weight:c", 2))
		for name, title := range map[string]string{"a": "A", "b": "B", "c": "C"} {
			done(db.HSet(ctx, "about:"+name, "title", title))
		}
		gives(db.Sort(ctx, "l", &redis.Sort{By: "weight:*"}), list("b", "c", "a"))
		titles := redis.Sort{By: "weight:*", Get: list("#", "about:*->title")}
		gives(db.Sort(ctx, "l", &titles), list("b", "B", "c", "C", "a", "A"))
		gives(db.Sort(ctx, "l", &redis.Sort{By: "nosort"}), list("a", "b", "c"))
	}},

	{"stores what it sorted", func(db *redis.Client) {
		done(db.RPush(ctx, "l", 3, 1, 2))
		gives(db.SortStore(ctx, "l", "to", &redis.Sort{}), 3)
		gives(db.LRange(ctx, "to", 0, -1), list("1", "2", "3"))
	}},

	{"sorts 10000 elements", func(db *redis.Client) {
		done(db.SAdd(ctx, "s", arguments(names("n"))...))
		gives(db.Sort(ctx, "s", &redis.Sort{Alpha: true}), sorted(names("n")))
		numbers := []any{}
		for number := many - 1; number >= 0; number-- {
			numbers = append(numbers, strconv.Itoa(number))
		}
		done(db.RPush(ctx, "l", numbers...))
		gives(db.Sort(ctx, "l", &redis.Sort{Offset: 5000, Count: 2}), list("5000", "5001"))
	}},
}
