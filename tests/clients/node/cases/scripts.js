"use strict";

const assert = require("node:assert/strict");
const { client, everyByte, refused, withAnother } = require("./support");

const ADD = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
const LIBRARY = `#!lua name=shelf
local function put(keys, arguments)
  return redis.call('RPUSH', keys[1], unpack(arguments))
end
local function count(keys)
  return redis.call('LLEN', keys[1])
end
redis.register_function('put', put)
redis.register_function{function_name = 'count', callback = count, flags = {'no-writes'}}
`;

module.exports = {
  "a script gets its keys and arguments": async (db) => {
    const given = await db.eval("return {KEYS[1], KEYS[2], ARGV[1], #KEYS, #ARGV}", 2, "k", "l", "a");
    assert.deepEqual(given, ["k", "l", "a", 2, 1]);
    const kinds = await db.eval("return {1, 'two', {3, {'four'}}, false, 5.9, redis.status_reply('six')}", 0);
    assert.deepEqual(kinds, [1, "two", [3, ["four"]], null, 5, "six"]);
    assert.equal(await db.eval_ro("return redis.call('EXISTS', KEYS[1])", 1, "k"), 0);
    await refused(db.eval_ro(ADD, 1, "k", 1), /Write commands are not allowed/);
  },

  "a defined command is sent where it is missing": async (db) => {
    await db.script("FLUSH");
    db.defineCommand("addTo", { numberOfKeys: 1, lua: ADD });
    assert.equal(await db.addTo("n", 3), 3);
    await db.script("FLUSH");
    assert.equal(await db.addTo("n", 4), 7);
    assert.equal(await db.addTo("n", 5), 12);
  },

  "a defined command takes a number of keys as its first argument": async (db) => {
    db.defineCommand("countThem", { lua: "return {#KEYS, #ARGV}", readOnly: true });
    assert.deepEqual(await db.countThem(2, "a", "b", "c"), [2, 1]);
  },

  "a pipeline and a transaction load the scripts that they need": async (db) => {
    for (const many of ["pipeline", "multi"]) {
      await db.script("FLUSH");
      await withAnother(db, async (other) => {
        other.defineCommand("addTo", { numberOfKeys: 1, lua: ADD });
        const replies = await other[many]().set("n", 1).addTo("n", 2).addTo("n", 3).exec();
        assert.deepEqual(replies, [[null, "OK"], [null, 3], [null, 6]]);
      });
    }
  },

  "commands that are pipelined by themselves run scripts": async (db) => {
    const own = client();
    own.options.enableAutoPipelining = true;
    try {
      await own.script("FLUSH");
      own.defineCommand("addTo", { numberOfKeys: 1, lua: ADD });
      const sums = await Promise.all(Array.from({ length: 100 }, () => own.addTo("n", 1)));
      assert.deepEqual(sums, Array.from({ length: 100 }, (_, number) => number + 1));
    } finally {
      own.disconnect();
    }
  },

  "errors of a script tell where they arose": async (db) => {
    await db.set("word", "abc");
    await refused(db.eval(ADD, 1, "word", 1), /not an integer/);
    await refused(db.eval("return redis.error_reply('ERR mine')", 0), /^ERR mine/);
    await refused(db.eval("\nerror('thrown')", 0), /user_script:2/);
    await refused(db.eval("return return", 0), /Error compiling script/);
    await refused(db.evalsha("0".repeat(40), 0), /^NOSCRIPT/);
    assert.equal(await db.get("word"), "abc");
  },

  "a script passes binary values": async (db) => {
    db.defineCommand("keep", { numberOfKeys: 1, lua: "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])" });
    assert.deepEqual(await db.keepBuffer("b", everyByte()), everyByte());
  },

  "a library of functions is called": async (db) => {
    await db.function("FLUSH");
    assert.equal(await db.function("LOAD", LIBRARY), "shelf");
    assert.equal(await db.fcall("put", 1, "l", "a", "b"), 2);
    assert.equal(await db.fcall_ro("count", 1, "l"), 2);
    await refused(db.fcall_ro("put", 1, "l", "c"), /Can not execute a script with write flag/);
    const [[, name, , engine]] = await db.function("LIST", "LIBRARYNAME", "sh*");
    assert.deepEqual([name, engine], ["shelf", "LUA"]);
    const dump = await db.functionBuffer("DUMP");
    await db.function("FLUSH");
    await refused(db.fcall("put", 1, "l", "c"), /Function not found/);
    assert.equal(await db.function("RESTORE", dump), "OK");
    assert.equal(await db.fcall("put", 1, "l", "c"), 3);
    await db.function("FLUSH");
  },
};
