package main

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

const library = `#!lua name=shelf
local function put(keys, arguments)
  return redis.call('RPUSH', keys[1], unpack(arguments))
end
local function count(keys)
  return redis.call('LLEN', keys[1])
end
redis.register_function('put', put)
redis.register_function{function_name = 'count', callback = count, flags = {'no-writes'}}
`

var (
	add   = redis.NewScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	read  = redis.NewScript("return redis.call('GET', KEYS[1])")
	large = redis.NewScript(`
		for i = 1, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
		return redis.call('LRANGE', KEYS[1], 0, -1)`)
)

var scriptCases = cases{
	{"a script gets its keys and arguments", func(db *redis.Client) {
		given := db.Eval(ctx, "return {KEYS[1], KEYS[2], ARGV[1], #KEYS, #ARGV}", list("k", "l"), "a")
		gives[any](given, []any{"k", "l", "a", int64(2), int64(1)})
		kinds := db.Eval(ctx, "return {1, 'two', {3, {'four'}}, false, 5.9, redis.status_reply('six')}", nil)
		gives[any](kinds, []any{int64(1), "two", []any{int64(3), []any{"four"}}, nil, int64(5), "six"})
		missing(db.Eval(ctx, "return redis.call('GET', KEYS[1])", list("k")))
	}},
	{"a script is run by its digest and sent where it is missing", func(db *redis.Client) {
		done(db.ScriptFlush(ctx))
		refused(add.EvalSha(ctx, db, list("n"), 1), "NOSCRIPT")
		gives[any](add.Run(ctx, db, list("n"), 3), int64(3))
		gives(db.ScriptExists(ctx, add.Hash(), strings.Repeat("0", 40)), []bool{true, false})
		gives[any](add.EvalSha(ctx, db, list("n"), 4), int64(7))
		done(db.ScriptFlush(ctx))
		gives(add.Load(ctx, db), add.Hash())
		gives(add.Exists(ctx, db), []bool{true})
	}},
	{"a script that only reads is run as such", func(db *redis.Client) {
		done(db.ScriptFlush(ctx))
		done(db.Set(ctx, "s", "v", 0))
		gives[any](read.RunRO(ctx, db, list("s")), "v")
		gives(read.Exists(ctx, db), []bool{true})
		gives[any](read.EvalShaRO(ctx, db, list("s")), "v")
		refused(add.RunRO(ctx, db, list("n"), 1), "Write commands are not allowed")
		gives(db.Exists(ctx, "n"), 0)
	}},
	{"a pipeline runs scripts", func(db *redis.Client) {
		for _, pipe := range []redis.Pipeliner{db.Pipeline(), db.TxPipeline()} {
			pipe.Set(ctx, "n", 1, 0)
			first := add.Eval(ctx, pipe, list("n"), 2)
			second := add.EvalSha(ctx, pipe, list("n"), 3)
			must(pipe.Exec(ctx))
			gives[any](first, int64(3))
			gives[any](second, int64(6))
		}
	}},
	{"errors of a script tell where they arose", func(db *redis.Client) {
		done(db.Set(ctx, "word", "abc", 0))
		refused(add.Run(ctx, db, list("word"), 1), "not an integer")
		refused(db.Eval(ctx, "return redis.error_reply('ERR mine')", nil), "ERR mine")
		refused(db.Eval(ctx, "\nerror('thrown')", nil), "user_script:2")
		refused(db.Eval(ctx, "return return", nil), "Error compiling script")
		gives(db.Get(ctx, "word"), "abc")
	}},
	{"a script passes thousands of values, each of any bytes", func(db *redis.Client) {
		values := append(names("v"), everyByte())[many-7000:]
		equal(must(large.Run(ctx, db, list("l"), arguments(values)...).StringSlice()), values)
	}},
	{"a library of functions is called", func(db *redis.Client) {
		done(db.FunctionFlush(ctx))
		gives(db.FunctionLoad(ctx, library), "shelf")
		refused(db.FunctionLoad(ctx, library), "already exists")
		gives(db.FunctionLoadReplace(ctx, library), "shelf")
		gives[any](db.FCall(ctx, "put", list("l"), "a", "b"), int64(2))
		gives(db.LRange(ctx, "l", 0, -1), list("a", "b"))
		gives[any](db.FCallRO(ctx, "count", list("l")), int64(2))
		refused(db.FCallRO(ctx, "put", list("l"), "c"), "Can not execute a script with write flag")
		refused(db.FCall(ctx, "none", nil), "Function not found")
		gives(db.FunctionDelete(ctx, "shelf"), "OK")
		refused(db.FCall(ctx, "put", list("l"), "c"), "Function not found")
	}},
	{"a library is listed, and its dump restored", func(db *redis.Client) {
		done(db.FunctionFlush(ctx))
		done(db.FunctionLoad(ctx, library))
		found := value(db.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: "sh*", WithCode: true}))
		expect(len(found) == 1 && found[0].Name == "shelf" && found[0].Engine == "LUA" && found[0].Code == library, "got %v", found)
		flags := map[string]int{}
		for _, function := range found[0].Functions {
			flags[function.Name] = len(function.Flags)
		}
		equal(flags, map[string]int{"put": 0, "count": 1})
		dump := value(db.FunctionDump(ctx))
		refused(db.FunctionRestore(ctx, dump), "already exists")
		done(db.FunctionFlush(ctx))
		gives(db.FunctionRestore(ctx, dump), "OK")
		gives[any](db.FCall(ctx, "put", list("l"), "a"), int64(1))
		equal(value(db.FunctionStats(ctx)).Engines[0].LibrariesCount, 1)
		done(db.FunctionFlush(ctx))
	}},
}
