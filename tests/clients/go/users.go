package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"

	"github.com/redis/go-redis/v9"
)

// random gives eight digits.
func random() string {
	bytes := make([]byte, 4)
	must(rand.Read(bytes))
	return hex.EncodeToString(bytes)
}

// withUser runs a case with name and password of a user who may read and write what begins with "u:".
func withUser(run func(db *redis.Client, name, password string)) func(*redis.Client) {
	return func(db *redis.Client) {
		name, password := "user-"+random(), random()+"@:/ %"
		defer func() {
			db.ACLDelUser(ctx, name)
			db.ACLLogReset(ctx)
		}()
		rights := list("~u:*", "+@read", "+@write", "+@connection", "+@transaction", "-@dangerous", "+acl|whoami")
		done(db.ACLSetUser(ctx, name, append(rights, "on", ">"+password)...))
		run(db, name, password)
	}
}

// as gives a client like db that logs in.
func as(db *redis.Client, name, password string) *redis.Client {
	options := redis.Options{Addr: db.Options().Addr, Protocol: db.Options().Protocol, Username: name, Password: password, PoolSize: 4}
	return redis.NewClient(&options)
}

// isUser expects a client, or one of its connections, to be logged in.
func isUser(one interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}, name string) {
	equal(must(one.Do(ctx, "ACL", "WHOAMI").Text()), name)
}

// cannotLogIn expects that a password is refused.
func cannotLogIn(db *redis.Client, name, password string) {
	user := as(db, name, password)
	defer user.Close()
	refused(user.Ping(ctx), "WRONGPASS ")
}

// connections gives number and protocol of each connection of a user.
func connections(db *redis.Client, name string) []string {
	found := []string{}
	lines := regexp.MustCompile(`(?m)^id=(\d+) .* user=` + name + ` .* resp=(\d)`)
	for _, one := range lines.FindAllStringSubmatch(value(db.ClientList(ctx)), -1) {
		found = append(found, one[1]+" "+one[2])
	}
	return sorted(found)
}

var userCases = cases{
	{"logs in by options", withUser(func(db *redis.Client, name, password string) {
		user := as(db, name, password)
		defer user.Close()
		isUser(user, name)
		gives(user.Set(ctx, "u:1", "v", 0), "OK")
		gives(user.Get(ctx, "u:1"), "v")
		must(user.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Incr(ctx, "u:2").Err() }))
		equal(connections(db, name), list(fmt.Sprintf("%d %d", value(user.ClientID(ctx)), db.Options().Protocol)))
	})},
	{"logs in by URL", withUser(func(db *redis.Client, name, password string) {
		to := url.URL{Scheme: "redis", User: url.UserPassword(name, password), Host: db.Options().Addr, Path: "/0"}
		to.RawQuery = fmt.Sprintf("protocol=%d", db.Options().Protocol)
		user := redis.NewClient(must(redis.ParseURL(to.String())))
		defer user.Close()
		isUser(user, name)
		equal(connections(db, name), list(fmt.Sprintf("%d %d", value(user.ClientID(ctx)), db.Options().Protocol)))
	})},
	{"each connection of a pool is the user", withUser(func(db *redis.Client, name, password string) {
		user := as(db, name, password)
		defer user.Close()
		numbers := []string{}
		for range 4 {
			one := user.Conn()
			defer one.Close()
			isUser(one, name)
			numbers = append(numbers, fmt.Sprintf("%d %d", value(one.ClientID(ctx)), db.Options().Protocol))
		}
		equal(connections(db, name), sorted(numbers))
	})},
	{"a wrong password is refused with WRONGPASS", withUser(func(db *redis.Client, name, _ string) {
		cannotLogIn(db, name, "wrong")
		// ACLLog does not know what Valkey tells of clients, so the reply, a map or a list for each entry, is read as text.
		log := fmt.Sprint(value(db.Do(ctx, "ACL", "LOG")))
		tried := []string{}
		for _, entry := range regexp.MustCompile(`object.(\w+) .*?username.([\w-]+)`).FindAllStringSubmatch(log, -1) {
			if entry[2] == name {
				tried = append(tried, entry[1])
			}
		}
		// With either protocol it says HELLO, and AUTH when that is refused.
		equal(sorted(tried), list("auth", "hello"))
	})},
	{"what a user may not do is refused with NOPERM", withUser(func(db *redis.Client, name, password string) {
		user := as(db, name, password)
		defer user.Close()
		refused(user.FlushAll(ctx), "NOPERM User "+name+" has no permissions to run the 'flushall' command")
		refused(user.Get(ctx, "other"), "NOPERM ")
		missing(user.Get(ctx, "u:1"))
	})},
	{"a changed password is asked of new connections", withUser(func(db *redis.Client, name, password string) {
		user := as(db, name, password)
		defer user.Close()
		held := user.Conn()
		defer held.Close()
		isUser(held, name)
		done(db.ACLSetUser(ctx, name, "resetpass", ">new"))
		isUser(held, name)
		done(held.Set(ctx, "u:1", "v", 0))
		refused(user.Get(ctx, "u:1"), "WRONGPASS ") // on a second connection
		other := as(db, name, "new")
		defer other.Close()
		gives(other.Get(ctx, "u:1"), "v")
		cannotLogIn(db, name, password)
	})},
	{"a deleted user is cut off", withUser(func(db *redis.Client, name, password string) {
		user := as(db, name, password)
		defer user.Close()
		isUser(user, name)
		gives(db.ACLDelUser(ctx, name), 1)
		within(func() bool { return len(connections(db, name)) == 0 }, "the connection stays")
		refused(user.Ping(ctx), "WRONGPASS ")
		cannotLogIn(db, name, password)
	})},
}
