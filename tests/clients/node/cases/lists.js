"use strict";

const assert = require("node:assert/strict");
const { MANY, everyByte, names, refused } = require("./support");

module.exports = {
  "pushes and pops at both ends": async (db) => {
    assert.equal(await db.rpush("l", "c", "d"), 2);
    assert.equal(await db.lpush("l", "b", "a"), 4);
    assert.deepEqual(await db.lrange("l", 0, -1), ["a", "b", "c", "d"]);
    assert.equal(await db.lpop("l"), "a");
    assert.equal(await db.rpop("l"), "d");
    assert.deepEqual(await db.lpop("l", 5), ["b", "c"]);
    assert.equal(await db.lpop("l"), null);
    assert.equal(await db.rpop("l", 2), null);
  },

  "pushes only onto a list that is there": async (db) => {
    assert.equal(await db.lpushx("l", "v"), 0);
    assert.equal(await db.exists("l"), 0);
    await db.rpush("l", "v");
    assert.equal(await db.lpushx("l", "first"), 2);
    assert.equal(await db.rpushx("l", "last"), 3);
    assert.deepEqual(await db.lrange("l", 0, -1), ["first", "v", "last"]);
  },

  "reads and replaces by index": async (db) => {
    await db.rpush("l", "a", "b", "c");
    assert.equal(await db.lindex("l", 0), "a");
    assert.equal(await db.lindex("l", -1), "c");
    assert.equal(await db.lindex("l", 3), null);
    assert.equal(await db.lset("l", -2, "B"), "OK");
    assert.deepEqual(await db.lrange("l", 1, 1), ["B"]);
    await refused(db.lset("l", 3, "d"), /index out of range/);
    await refused(db.lset("missing", 0, "a"), /no such key/);
  },

  "inserts, removes and trims": async (db) => {
    await db.rpush("l", "a", "x", "b", "x", "c", "x");
    assert.equal(await db.linsert("l", "BEFORE", "b", "new"), 7);
    assert.equal(await db.linsert("l", "AFTER", "absent", "new"), -1);
    assert.equal(await db.lrem("l", -2, "x"), 2);
    assert.deepEqual(await db.lrange("l", 0, -1), ["a", "x", "new", "b", "c"]);
    assert.equal(await db.ltrim("l", 1, -2), "OK");
    assert.deepEqual(await db.lrange("l", 0, -1), ["x", "new", "b"]);
    assert.equal(await db.ltrim("l", 5, 9), "OK");
    assert.equal(await db.exists("l"), 0);
  },

  "finds positions": async (db) => {
    await db.rpush("l", "a", "b", "a", "c", "a");
    assert.equal(await db.lpos("l", "a", "RANK", -1), 4);
    assert.equal(await db.lpos("l", "z"), null);
    assert.deepEqual(await db.lpos("l", "a", "COUNT", 0), [0, 2, 4]);
  },

  "moves elements between lists": async (db) => {
    await db.rpush("from", "a", "b", "c");
    assert.equal(await db.lmove("from", "to", "LEFT", "RIGHT"), "a");
    assert.equal(await db.rpoplpush("from", "to"), "c");
    assert.deepEqual(await db.lrange("to", 0, -1), ["c", "a"]);
    assert.equal(await db.lmove("to", "to", "LEFT", "RIGHT"), "c");
    assert.deepEqual(await db.lrange("to", 0, -1), ["a", "c"]);
    assert.equal(await db.lmove("missing", "to", "LEFT", "LEFT"), null);
  },

  "pops from the first list that has elements": async (db) => {
    await db.rpush("second", "a", "b", "c");
    assert.deepEqual(await db.lmpop(2, "first", "second", "RIGHT", "COUNT", 2), ["second", ["c", "b"]]);
    assert.equal(await db.lmpop(1, "first", "LEFT"), null);
  },

  "keeps every byte of an element": async (db) => {
    const elements = ["", everyByte(), "\r\n", "-7", "x".repeat(100000)].map((element) => Buffer.from(element));
    await db.rpush("l", ...elements);
    assert.deepEqual(await db.lrangeBuffer("l", 0, -1), elements);
  },

  "refuses a key of another type": async (db) => {
    await db.set("word", "abc");
    await refused(db.lpop("word"), /WRONGTYPE/);
    await refused(db.rpush("word", "v"), /WRONGTYPE/);
    await refused(db.lrange("word", 0, -1), /WRONGTYPE/);
  },

  "holds 10000 elements in order": async (db) => {
    assert.equal(await db.rpush("l", names()), MANY);
    assert.deepEqual(await db.lrange("l", 0, -1), names());
    assert.equal(await db.lindex("l", 4999), "n:4999");
    assert.equal(await db.lindex("l", -5000), "n:5000");
    assert.equal(await db.lset("l", 5000, "changed"), "OK");
    assert.equal(await db.linsert("l", "AFTER", "changed", "new"), MANY + 1);
    assert.deepEqual(await db.lrange("l", 4999, 5002), ["n:4999", "changed", "new", "n:5001"]);
    assert.equal((await db.rpop("l", 6000)).length, 6000);
    assert.equal(await db.llen("l"), 4001);
  },
};
