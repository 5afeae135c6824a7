package main

import (
	"time"

	"github.com/redis/go-redis/v9"
)

var types = list("string", "list", "hash", "set", "zset", "stream")

var keyCases = cases{
	{"expires", func(db *redis.Client) {
		done(db.Set(ctx, "e", "v", 100*time.Second))
		between(value(db.TTL(ctx, "e")), 99*time.Second, 100*time.Second)
		gives(db.Persist(ctx, "e"), true)
		gives(db.TTL(ctx, "e"), -1)
		gives(db.PExpire(ctx, "e", time.Millisecond), true)
		within(func() bool { return value(db.Exists(ctx, "e")) == 0 }, "the key did not expire")
		missing(db.Get(ctx, "e"))
		gives(db.TTL(ctx, "e"), -2)
	}},

	{"scans 10000 keys", func(db *redis.Client) {
		pipe := db.Pipeline()
		for _, name := range names("s:") {
			pipe.Set(ctx, name, 1, 0)
		}
		must(pipe.Exec(ctx))
		found := map[string]bool{}
		for _, key := range scanned(db.Scan(ctx, 0, "s:*", 100).Iterator()) {
			found[key] = true
		}
		equal(len(found), many)
		gives(db.DBSize(ctx), many)
	}},

	{"tells the type of a key", func(db *redis.Client) {
		oneKeyOfEachType(db)
		for _, name := range types {
			gives(db.Type(ctx, name), name)
			equal(scanned(db.ScanType(ctx, 0, "", 0, name).Iterator()), list(name))
		}
		gives(db.Type(ctx, "missing"), "none")
	}},

	{"expires, renames, copies and deletes a key of each type", func(db *redis.Client) {
		oneKeyOfEachType(db)
		for _, name := range types {
			gives(db.Expire(ctx, name, 100*time.Second), true)
			gives(db.Rename(ctx, name, "renamed"), "OK")
			between(value(db.TTL(ctx, "renamed")), 99*time.Second, 100*time.Second)
			gives(db.Copy(ctx, "renamed", "copied", 0, false), 1)
			gives(db.Type(ctx, "copied"), name)
			gives(db.PExpire(ctx, "renamed", time.Millisecond), true)
			within(func() bool { return value(db.Exists(ctx, "renamed")) == 0 }, name+" did not expire")
			gives(db.Del(ctx, "copied"), 1)
		}
		gives(db.DBSize(ctx), 0)
	}},
}

func oneKeyOfEachType(db *redis.Client) {
	done(db.Set(ctx, "string", "v", 0))
	done(db.RPush(ctx, "list", "v"))
	done(db.HSet(ctx, "hash", "f", "v"))
	done(db.SAdd(ctx, "set", "v"))
	done(db.ZAdd(ctx, "zset", redis.Z{Member: "v"}))
	done(db.XAdd(ctx, &redis.XAddArgs{Stream: "stream", Values: list("f", "v")}))
}
