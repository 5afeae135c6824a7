package main

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

var transactionCases = cases{
	{"runs a transaction as one", func(db *redis.Client) {
		var number *redis.IntCmd
		var elements *redis.StringSliceCmd
		must(db.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "s", 1, 0)
			number = pipe.Incr(ctx, "s")
			pipe.RPush(ctx, "l", "a", "b")
			elements = pipe.LRange(ctx, "l", 0, -1)
			return nil
		}))
		gives(number, 2)
		gives(elements, []string{"a", "b"})
	}},
	{"an error inside leaves the other commands", func(db *redis.Client) {
		pipe := db.TxPipeline()
		pipe.Set(ctx, "s", "x", 0)
		wrong := pipe.LPush(ctx, "s", "y")
		last := pipe.Set(ctx, "t", 1, 0)
		_, err := pipe.Exec(ctx)
		expect(err != nil, "no error was told")
		refused(wrong, "WRONGTYPE")
		done(last)
		gives(db.Get(ctx, "t"), "1")
	}},
	{"a command that is refused makes EXEC run none", func(db *redis.Client) {
		pipe := db.TxPipeline()
		pipe.Set(ctx, "s", 1, 0)
		pipe.Do(ctx, "NOSUCH")
		_, err := pipe.Exec(ctx)
		expect(err != nil, "no error was told")
		missing(db.Get(ctx, "s"))
	}},
	{"a watched key that changes makes EXEC run none", func(db *redis.Client) {
		done(db.Set(ctx, "s", 1, 0))
		err := db.Watch(ctx, func(tx *redis.Tx) error {
			gives(tx.Get(ctx, "s"), "1")
			done(db.Incr(ctx, "s"))
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				return pipe.Set(ctx, "s", 7, 0).Err()
			})
			return err
		}, "s", "t")
		expect(errors.Is(err, redis.TxFailedErr), "got %v", err)
		gives(db.Get(ctx, "s"), "2")
	}},
	{"attempts of several clients add up", func(db *redis.Client) {
		increment := func(tx *redis.Tx) error {
			number, err := tx.Get(ctx, "n").Int()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				return pipe.Set(ctx, "n", number+1, 0).Err()
			})
			return err
		}
		ended := make(chan error)
		const clients, times = 8, 25
		for range clients {
			go func() {
				for range times {
					var err error = redis.TxFailedErr
					for errors.Is(err, redis.TxFailedErr) {
						err = db.Watch(ctx, increment, "n")
					}
					ended <- err
				}
			}()
		}
		for range clients * times {
			err := <-ended
			expect(err == nil, "%v", err)
		}
		gives(db.Get(ctx, "n"), "200")
	}},
}
