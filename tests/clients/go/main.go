// go-redis against the server at SERVER_ADDR: one line per case, status 1 when a case fails.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

// client speaks the given version of RESP.
func client(protocol int) *redis.Client {
	address := os.Getenv("SERVER_ADDR")
	if address == "" {
		address = "127.0.0.1:6379"
	}
	return redis.NewClient(&redis.Options{Addr: address, Protocol: protocol})
}

// expect fails the case unless condition holds.
func expect(condition bool, format string, values ...any) {
	if !condition {
		panic(fmt.Sprintf(format, values...))
	}
}

// must gives the value of a command that should succeed.
func must[T any](value T, err error) T {
	expect(err == nil, "%v", err)
	return value
}

func connects(_ *redis.Client) {
	for _, protocol := range []int{2, 3} {
		db := client(protocol)
		expect(must(db.Ping(ctx).Result()) == "PONG", "no PONG over RESP%d", protocol)
		_, isMap := must(db.Do(ctx, "HELLO").Result()).(map[any]any)
		expect(isMap == (protocol == 3), "RESP%d was not used", protocol)
		db.Close()
	}
}

func pipeline(db *redis.Client) {
	pipe := db.Pipeline()
	for number := range 500 {
		key := fmt.Sprintf("p:%d", number)
		pipe.Set(ctx, key, number, 0)
		pipe.Get(ctx, key)
	}
	replies := must(pipe.Exec(ctx))
	expect(len(replies) == 1000, "%d replies", len(replies))
	for number := range 500 {
		value := must(replies[2*number+1].(*redis.StringCmd).Int())
		expect(value == number, "reply %d is %d", number, value)
	}
}

func binary(db *redis.Client) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	must(db.Set(ctx, string(every), every, 0).Result())
	expect(bytes.Equal(must(db.Get(ctx, string(every)).Bytes()), every), "bytes changed")
	large := make([]byte, 10<<20)
	must(rand.Read(large))
	must(db.Set(ctx, "large", large, 0).Result())
	expect(must(db.StrLen(ctx, "large").Result()) == int64(len(large)), "length")
	expect(bytes.Equal(must(db.Get(ctx, "large").Bytes()), large), "large value changed")
}

func counters(db *redis.Client) {
	expect(must(db.Incr(ctx, "n").Result()) == 1, "INCR")
	expect(must(db.IncrBy(ctx, "n", 9).Result()) == 10, "INCRBY")
	expect(must(db.DecrBy(ctx, "n", 5).Result()) == 5, "DECRBY")
	expect(must(db.IncrByFloat(ctx, "f", 0.5).Result()) == 0.5, "INCRBYFLOAT")
	expect(must(db.Append(ctx, "n", "0").Result()) == 2, "APPEND")
}

func conditions(db *redis.Client) {
	expect(must(db.SetNX(ctx, "c", 1, 0).Result()), "SET NX on a new key")
	expect(!must(db.SetNX(ctx, "c", 2, 0).Result()), "SET NX on an old key")
	old := must(db.SetArgs(ctx, "c", 3, redis.SetArgs{Mode: "XX", Get: true}).Result())
	expect(old == "1", "SET XX GET answered %q", old)
	_, err := db.SetArgs(ctx, "absent", 1, redis.SetArgs{Mode: "XX"}).Result()
	expect(errors.Is(err, redis.Nil), "SET XX on a missing key: %v", err)
	must(db.MSet(ctx, "a", 1, "b", 2).Result())
	values := must(db.MGet(ctx, "a", "missing", "b").Result())
	expect(values[0] == "1" && values[1] == nil && values[2] == "2", "MGET %v", values)
	expect(must(db.GetDel(ctx, "a").Result()) == "1", "GETDEL")
	must(db.SetBit(ctx, "bits", 7, 1).Result())
	expect(must(db.BitCount(ctx, "bits", nil).Result()) == 1, "BITCOUNT")
}

func expiry(db *redis.Client) {
	must(db.Set(ctx, "e", "v", 100*time.Second).Result())
	left := must(db.TTL(ctx, "e").Result())
	expect(left > 98*time.Second && left <= 100*time.Second, "TTL %v", left)
	expect(must(db.Persist(ctx, "e").Result()), "PERSIST")
	expect(must(db.TTL(ctx, "e").Result()) == -1, "TTL after PERSIST")
	must(db.PExpire(ctx, "e", time.Millisecond).Result())
	deadline := time.Now().Add(5 * time.Second)
	for must(db.Exists(ctx, "e").Result()) == 1 {
		expect(time.Now().Before(deadline), "the key did not expire")
	}
	expect(errors.Is(db.Get(ctx, "e").Err(), redis.Nil), "GET of an expired key")
}

func scan(db *redis.Client) {
	must(db.FlushDB(ctx).Result())
	pipe := db.Pipeline()
	for number := range 10000 {
		pipe.Set(ctx, fmt.Sprintf("s:%d", number), 1, 0)
	}
	must(pipe.Exec(ctx))
	found := map[string]bool{}
	iterator := db.Scan(ctx, 0, "s:*", 100).Iterator()
	for iterator.Next(ctx) {
		found[iterator.Val()] = true
	}
	expect(iterator.Err() == nil, "%v", iterator.Err())
	expect(len(found) == 10000, "%d keys found", len(found))
	expect(must(db.DBSize(ctx).Result()) == 10000, "DBSIZE")
}

func failures(db *redis.Client) {
	must(db.Set(ctx, "word", "abc", 0).Result())
	for part, arguments := range map[string][]any{
		"unknown command":           {"NOSUCHCOMMAND", "x"},
		"wrong number of arguments": {"GET"},
		"not an integer":            {"INCR", "word"},
		"invalid expire time":       {"SET", "k", "v", "EX", "0"},
	} {
		err := db.Do(ctx, arguments...).Err()
		var reply redis.Error
		expect(errors.As(err, &reply) && strings.Contains(err.Error(), part), "%v gave %v", arguments, err)
	}
	expect(must(db.Ping(ctx).Result()) == "PONG", "the connection is unusable after errors")
}

// run runs one case and tells whether it passed.
func run(name string, test func(*redis.Client)) (passed bool) {
	db := client(3)
	defer db.Close()
	defer func() {
		if reason := recover(); reason != nil {
			fmt.Printf("FAIL %s: %v\n", name, reason)
			passed = false
		}
	}()
	test(db)
	fmt.Println("ok   " + name)
	return true
}

func main() {
	db := client(2)
	must(db.FlushAll(ctx).Result())
	db.Close()
	passed := true
	for _, test := range []struct {
		name string
		run  func(*redis.Client)
	}{
		{"connects with RESP2 and RESP3", connects},
		{"answers a pipeline of 1000 commands in order", pipeline},
		{"keeps every byte of a string", binary},
		{"counts", counters},
		{"sets under conditions", conditions},
		{"expires", expiry},
		{"scans 10000 keys", scan},
		{"returns errors", failures},
	} {
		passed = run(test.name, test.run) && passed
	}
	if !passed {
		os.Exit(1)
	}
}
