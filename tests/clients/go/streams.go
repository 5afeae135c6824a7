package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// notWaiting as the time to block leaves BLOCK out.
const notWaiting = -1

var streamCases = cases{
	{"appends and reads entries", func(db *redis.Client) {
		gives(db.XAdd(ctx, &redis.XAddArgs{Stream: "s", ID: "5-1", Values: list("a", "1", "b", "2")}), "5-1")
		gives(db.XAdd(ctx, &redis.XAddArgs{Stream: "s", ID: "5-*", Values: list("c", "3")}), "5-2")
		latest := value(db.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: list("d", "4")}))
		gives(db.XLen(ctx, "s"), 3)
		entries := value(db.XRange(ctx, "s", "-", "+"))
		equal(ids(entries), list("5-1", "5-2", latest))
		equal(entries[0].Values, map[string]any{"a": "1", "b": "2"})
		equal(ids(value(db.XRevRangeN(ctx, "s", "+", "-", 1))), list(latest))
		late := db.XAdd(ctx, &redis.XAddArgs{Stream: "s", ID: "5-2", Values: list("e", "5")})
		refused(late, "equal or smaller than the target stream top item")
	}},

	{"deletes and trims entries", func(db *redis.Client) {
		appendEntries(db, 10)
		gives(db.XDel(ctx, "s", "3-0", "99-0"), 1)
		gives(db.XTrimMaxLen(ctx, "s", 5), 4)
		gives(db.XTrimMinID(ctx, "s", "8"), 2)
		equal(ids(value(db.XRange(ctx, "s", "-", "+"))), list("8-0", "9-0", "10-0"))
		done(db.XAdd(ctx, &redis.XAddArgs{Stream: "s", ID: "11-0", MaxLen: 2, Values: list("n", "11")}))
		gives(db.XLen(ctx, "s"), 2)
		missing(db.XAdd(ctx, &redis.XAddArgs{Stream: "missing", NoMkStream: true, Values: list("n", "1")}))
	}},

	{"reads several streams from an id", func(db *redis.Client) {
		appendEntries(db, 2)
		done(db.XAdd(ctx, &redis.XAddArgs{Stream: "t", ID: "3-0", Values: list("n", "3")}))
		read := value(db.XRead(ctx, &redis.XReadArgs{Streams: list("s", "t", "1-0", "0"), Block: notWaiting}))
		received := map[string][]string{}
		for _, stream := range read {
			received[stream.Stream] = ids(stream.Messages)
		}
		equal(received, map[string][]string{"s": {"2-0"}, "t": {"3-0"}})
		missing(db.XRead(ctx, &redis.XReadArgs{Streams: list("s", "2-0"), Block: notWaiting}))
	}},

	{"a group shares entries among its consumers", func(db *redis.Client) {
		appendEntries(db, 3)
		gives(db.XGroupCreate(ctx, "s", "g", "0"), "OK")
		refused(db.XGroupCreate(ctx, "s", "g", "0"), "Consumer Group name already exists")
		equal(readGroup(db, "ann", ">", 2), list("1-0", "2-0"))
		equal(readGroup(db, "bob", ">", 2), list("3-0"))
		missing(db.XReadGroup(ctx, groupRead("bob", ">", 2)))
		absent := groupRead("ann", ">", 2)
		absent.Group = "absent"
		refused(db.XReadGroup(ctx, absent), "NOGROUP")
	}},

	{"entries are pending until acknowledged", func(db *redis.Client) {
		appendEntries(db, 3)
		done(db.XGroupCreate(ctx, "s", "g", "0"))
		readGroup(db, "ann", ">", 3)
		summary := redis.XPending{Count: 3, Lower: "1-0", Higher: "3-0", Consumers: map[string]int64{"ann": 3}}
		gives(db.XPending(ctx, "s", "g"), &summary)
		gives(db.XAck(ctx, "s", "g", "1-0", "99-0"), 1)
		equal(readGroup(db, "ann", "0", 3), list("2-0", "3-0"))
		query := redis.XPendingExtArgs{Stream: "s", Group: "g", Start: "-", End: "+", Count: 1}
		first := value(db.XPendingExt(ctx, &query))[0]
		first.Idle = 0
		equal(first, redis.XPendingExt{ID: "2-0", Consumer: "ann", RetryCount: 2})
	}},

	{"claims pending entries for another consumer", func(db *redis.Client) {
		appendEntries(db, 3)
		done(db.XGroupCreate(ctx, "s", "g", "0"))
		readGroup(db, "ann", ">", 3)
		claim := redis.XClaimArgs{Stream: "s", Group: "g", Consumer: "bob", Messages: list("1-0")}
		equal(ids(value(db.XClaim(ctx, &claim))), list("1-0"))
		claim.Messages = list("2-0")
		gives(db.XClaimJustID(ctx, &claim), list("2-0"))
		claim.MinIdle = time.Hour
		gives(db.XClaim(ctx, &claim), nil)
		scan := redis.XAutoClaimArgs{Stream: "s", Group: "g", Start: "0", Count: 2, Consumer: "cid"}
		claimed, following, err := db.XAutoClaim(ctx, &scan).Result()
		expect(err == nil && following == "3-0", "%v, then %q", err, following)
		equal(ids(claimed), list("1-0", "2-0"))
		pending := map[string]int64{}
		for _, consumer := range value(db.XInfoConsumers(ctx, "s", "g")) {
			pending[consumer.Name] = consumer.Pending
		}
		equal(pending, map[string]int64{"ann": 1, "bob": 0, "cid": 2})
	}},

	{"manages groups and consumers", func(db *redis.Client) {
		gives(db.XGroupCreateMkStream(ctx, "s", "g", "$"), "OK")
		appendEntries(db, 2)
		gives(db.XGroupCreateConsumer(ctx, "s", "g", "ann"), 1)
		gives(db.XGroupCreateConsumer(ctx, "s", "g", "ann"), 0)
		equal(readGroup(db, "ann", ">", 3), list("1-0", "2-0"))
		gives(db.XGroupDelConsumer(ctx, "s", "g", "ann"), 2)
		gives(db.XGroupSetID(ctx, "s", "g", "1-0"), "OK")
		equal(readGroup(db, "ann", ">", 3), list("2-0"))
		gives(db.XGroupDestroy(ctx, "s", "g"), 1)
		gives(db.XInfoGroups(ctx, "s"), nil)
	}},

	{"describes a stream and its groups", func(db *redis.Client) {
		appendEntries(db, 3)
		done(db.XGroupCreate(ctx, "s", "g", "0"))
		readGroup(db, "ann", ">", 2)
		stream := value(db.XInfoStream(ctx, "s"))
		expect(stream.Length == 3 && stream.Groups == 1 && stream.LastGeneratedID == "3-0", "%v", stream)
		expect(stream.FirstEntry.ID == "1-0" && stream.LastEntry.ID == "3-0", "%v", stream)
		want := redis.XInfoGroup{Name: "g", Consumers: 1, Pending: 2, LastDeliveredID: "2-0", EntriesRead: 2, Lag: 1}
		gives(db.XInfoGroups(ctx, "s"), []redis.XInfoGroup{want})
	}},

	{"refuses a key of another type", func(db *redis.Client) {
		done(db.Set(ctx, "word", "abc", 0))
		refused(db.XAdd(ctx, &redis.XAddArgs{Stream: "word", Values: list("f", "v")}), "WRONGTYPE")
		refused(db.XRead(ctx, &redis.XReadArgs{Streams: list("word", "0"), Block: notWaiting}), "WRONGTYPE")
		refused(db.XLen(ctx, "word"), "WRONGTYPE")
	}},

	{"holds 10000 entries and gives them in pages", func(db *redis.Client) {
		appendEntries(db, many)
		read := list()
		for after := "0"; len(read) < many; after = read[len(read)-1] {
			page := redis.XReadArgs{Streams: list("s", after), Count: 999, Block: notWaiting}
			read = append(read, ids(value(db.XRead(ctx, &page))[0].Messages)...)
		}
		equal(read, numbered(many))
		equal(value(db.XRange(ctx, "s", "5000", "5000"))[0].Values, map[string]any{"n": "5000"})
	}},

	{"a group delivers 10000 entries once", func(db *redis.Client) {
		appendEntries(db, many)
		done(db.XGroupCreate(ctx, "s", "g", "0"))
		read := list()
		for len(read) < many {
			read = append(read, readGroup(db, "ann", ">", 999)...)
		}
		equal(read, numbered(many))
		gives(db.XAck(ctx, "s", "g", read...), many)
	}},
}

// appendEntries appends the entries 1-0 to count-0, each with its number.
func appendEntries(db *redis.Client, count int) {
	pipe := db.Pipeline()
	for number, id := range numbered(count) {
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: "s", ID: id, Values: list("n", strconv.Itoa(number+1))})
	}
	must(pipe.Exec(ctx))
}

// numbered gives the identifiers 1-0 to count-0.
func numbered(count int) []string {
	entries := make([]string, count)
	for i := range entries {
		entries[i] = fmt.Sprintf("%d-0", i+1)
	}
	return entries
}

func ids(entries []redis.XMessage) []string {
	found := []string{}
	for _, entry := range entries {
		found = append(found, entry.ID)
	}
	return found
}

func groupRead(consumer, after string, count int64) *redis.XReadGroupArgs {
	return &redis.XReadGroupArgs{
		Group: "g", Consumer: consumer, Streams: list("s", after), Count: count, Block: notWaiting,
	}
}

// readGroup gives the identifiers of the entries that a consumer receives.
func readGroup(db *redis.Client, consumer, after string, count int64) []string {
	return ids(value(db.XReadGroup(ctx, groupRead(consumer, after, count)))[0].Messages)
}
