package main

import (
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var hashCases = cases{
	{"sets, reads and deletes fields", func(db *redis.Client) {
		gives(db.HSet(ctx, "h", "a", 1, "b", 2), 2)
		gives(db.HSet(ctx, "h", "a", 3), 0)
		gives(db.HGet(ctx, "h", "a"), "3")
		missing(db.HGet(ctx, "h", "z"))
		gives(db.HMGet(ctx, "h", "b", "z", "a"), []any{"2", nil, "3"})
		gives(db.HGetAll(ctx, "h"), map[string]string{"a": "3", "b": "2"})
		holds(db.HKeys(ctx, "h"), "a", "b")
		holds(db.HVals(ctx, "h"), "2", "3")
		gives(db.HExists(ctx, "h", "a"), true)
		gives(db.HExists(ctx, "h", "z"), false)
		gives(db.HDel(ctx, "h", "a", "b", "z"), 2)
		gives(db.Exists(ctx, "h"), 0)
	}},

	{"sets a field only once", func(db *redis.Client) {
		gives(db.HSetNX(ctx, "h", "f", "first"), true)
		gives(db.HSetNX(ctx, "h", "f", "second"), false)
		gives(db.HGet(ctx, "h", "f"), "first")
		gives(db.HStrLen(ctx, "h", "f"), 5)
	}},

	{"counts in fields", func(db *redis.Client) {
		gives(db.HIncrBy(ctx, "h", "n", 5), 5)
		gives(db.HIncrBy(ctx, "h", "n", -7), -2)
		gives(db.HIncrByFloat(ctx, "h", "f", 0.25), 0.25)
		done(db.HSet(ctx, "h", "word", "abc"))
		refused(db.HIncrBy(ctx, "h", "word", 1), "hash value is not an integer")
		refused(db.HIncrByFloat(ctx, "h", "word", 1), "hash value is not a float")
	}},

	{"draws random fields", func(db *redis.Client) {
		done(db.HSet(ctx, "h", "a", 1, "b", 2, "c", 3))
		holds(db.HRandField(ctx, "h", 5), "a", "b", "c")
		equal(len(value(db.HRandField(ctx, "h", -5))), 5)
		fields := map[string]string{}
		for _, pair := range value(db.HRandFieldWithValues(ctx, "h", 5)) {
			fields[pair.Key] = pair.Value
		}
		equal(fields, map[string]string{"a": "1", "b": "2", "c": "3"})
	}},

	{"keeps every byte of fields and values", func(db *redis.Client) {
		fields := map[string]string{"": "", everyByte(): everyByte(), "\r\n": strings.Repeat("x", 100000)}
		gives(db.HSet(ctx, "h", fields), 3)
		gives(db.HGetAll(ctx, "h"), fields)
	}},

	{"gives fields a time to live", func(db *redis.Client) {
		done(db.HSet(ctx, "h", "a", 1, "b", 2))
		gives(db.HExpire(ctx, "h", 100*time.Second, "a", "z"), []int64{1, -2})
		left := value(db.HTTL(ctx, "h", "a", "b", "z"))
		between(left[0], 99, 100)
		equal(left[1:], []int64{-1, -2})
		gives(db.HPersist(ctx, "h", "a", "b", "z"), []int64{1, -1, -2})
		gives(db.HExpireAt(ctx, "h", time.Unix(33177117420, 0), "a"), []int64{1})
		gives(db.HPExpireTime(ctx, "h", "a"), []int64{33177117420000})
	}},

	{"a field disappears when its time is over", func(db *redis.Client) {
		done(db.HSet(ctx, "h", "short", 1, "long", 2))
		gives(db.HPExpire(ctx, "h", time.Millisecond, "short"), []int64{1})
		within(func() bool { return !value(db.HExists(ctx, "h", "short")) }, "the field did not expire")
		gives(db.HGetAll(ctx, "h"), map[string]string{"long": "2"})
	}},

	{"the key disappears with its last field", func(db *redis.Client) {
		done(db.HSet(ctx, "h", "a", 1, "b", 2))
		gives(db.HPExpire(ctx, "h", time.Millisecond, "a", "b"), []int64{1, 1})
		within(func() bool { return value(db.Exists(ctx, "h")) == 0 }, "the key did not go with its fields")
	}},

	{"sets and reads fields together with their time to live", func(db *redis.Client) {
		expiring := redis.HSetEXOptions{ExpirationType: redis.HSetEXExpirationEX, ExpirationVal: 100}
		gives(db.HSetEXWithArgs(ctx, "h", &expiring, "a", "1", "b", "2"), 1)
		for _, left := range value(db.HTTL(ctx, "h", "a", "b")) {
			between(left, 99, 100)
		}
		persisting := redis.HGetEXOptions{ExpirationType: redis.HGetEXExpirationPERSIST}
		gives(db.HGetEXWithArgs(ctx, "h", &persisting, "a"), list("1"))
		gives(db.HTTL(ctx, "h", "a"), []int64{-1})
	}},

	{"refuses a key of another type", func(db *redis.Client) {
		done(db.Set(ctx, "word", "abc", 0))
		refused(db.HGet(ctx, "word", "f"), "WRONGTYPE")
		refused(db.HSet(ctx, "word", "f", "v"), "WRONGTYPE")
		refused(db.HGetAll(ctx, "word"), "WRONGTYPE")
	}},

	{"holds 10000 fields", func(db *redis.Client) {
		fields := largeHash(db)
		gives(db.HGetAll(ctx, "h"), fields)
		gives(db.HMGet(ctx, "h", "n0", "n5000", "n9999"), []any{"n0 v", "n5000 v", "n9999 v"})
		gives(db.HDel(ctx, "h", names("n")[:5000]...), 5000)
		gives(db.HLen(ctx, "h"), 5000)
	}},

	{"scans 10000 fields exactly once", func(db *redis.Client) {
		both := []string{}
		for field, text := range largeHash(db) {
			both = append(both, field, text)
		}
		equal(sorted(scanned(db.HScan(ctx, "h", 0, "", 100).Iterator())), sorted(both))
		equal(sorted(scanned(db.HScanNoValues(ctx, "h", 0, "", 100).Iterator())), sorted(names("n")))
		equal(scanned(db.HScan(ctx, "h", 0, "n777", 100).Iterator()), list("n777", "n777 v"))
	}},
}

func largeHash(db *redis.Client) map[string]string {
	fields := map[string]string{}
	for _, name := range names("n") {
		fields[name] = name + " v"
	}
	gives(db.HSet(ctx, "h", fields), many)
	return fields
}
