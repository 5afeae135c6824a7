"use strict";

const assert = require("node:assert/strict");
const { MANY, between, everyByte, names, pairs, refused, scanned, waitUntil } = require("./support");

const largeHash = () => Object.fromEntries(names().map((name) => [name, `value of ${name}`]));

module.exports = {
  "sets, reads and deletes fields": async (db) => {
    assert.equal(await db.hset("h", { a: 1, b: 2 }), 2);
    assert.equal(await db.hset("h", "a", 3), 0);
    assert.equal(await db.hget("h", "a"), "3");
    assert.equal(await db.hget("h", "z"), null);
    assert.deepEqual(await db.hmget("h", "b", "z", "a"), ["2", null, "3"]);
    assert.deepEqual(await db.hgetall("h"), { a: "3", b: "2" });
    assert.deepEqual((await db.hkeys("h")).sort(), ["a", "b"]);
    assert.deepEqual((await db.hvals("h")).sort(), ["2", "3"]);
    assert.equal(await db.hexists("h", "a"), 1);
    assert.equal(await db.hdel("h", "a", "b", "z"), 2);
    assert.equal(await db.exists("h"), 0);
  },

  "sets a field only once": async (db) => {
    assert.equal(await db.hsetnx("h", "f", "first"), 1);
    assert.equal(await db.hsetnx("h", "f", "second"), 0);
    assert.equal(await db.hget("h", "f"), "first");
    assert.equal(await db.hstrlen("h", "f"), 5);
  },

  "counts in fields": async (db) => {
    assert.equal(await db.hincrby("h", "n", 5), 5);
    assert.equal(await db.hincrby("h", "n", -7), -2);
    assert.equal(await db.hincrbyfloat("h", "f", 0.25), "0.25");
    await db.hset("h", "word", "abc");
    await refused(db.hincrby("h", "word", 1), /hash value is not an integer/);
    await refused(db.hincrbyfloat("h", "word", 1), /hash value is not a float/);
  },

  "draws random fields": async (db) => {
    await db.hset("h", { a: 1, b: 2, c: 3 });
    assert.deepEqual((await db.hrandfield("h", 5)).sort(), ["a", "b", "c"]);
    assert.equal((await db.hrandfield("h", -5)).length, 5);
    const drawn = pairs(await db.hrandfield("h", 5, "WITHVALUES"));
    assert.deepEqual(Object.fromEntries(drawn), { a: "1", b: "2", c: "3" });
  },

  "keeps every byte of fields and values": async (db) => {
    await db.hset("h", everyByte(), everyByte());
    assert.deepEqual(await db.hkeysBuffer("h"), [everyByte()]);
    assert.deepEqual(await db.hgetBuffer("h", everyByte()), everyByte());
    await db.hset("h", "", "", "\r\n", "x".repeat(100000));
    assert.equal(await db.hget("h", ""), "");
    assert.equal(await db.hstrlen("h", "\r\n"), 100000);
  },

  "gives fields a time to live": async (db) => {
    await db.hset("h", { a: 1, b: 2 });
    assert.deepEqual(await db.hexpire("h", 100, "FIELDS", 2, "a", "z"), [1, -2]);
    const [left, ...others] = await db.call("HTTL", "h", "FIELDS", 3, "a", "b", "z");
    between(left, 99, 100);
    assert.deepEqual(others, [-1, -2]);
    assert.deepEqual(await db.call("HPERSIST", "h", "FIELDS", 3, "a", "b", "z"), [1, -1, -2]);
    assert.deepEqual(await db.call("HEXPIREAT", "h", 33177117420, "FIELDS", 1, "a"), [1]);
    assert.deepEqual(await db.call("HPEXPIRETIME", "h", "FIELDS", 1, "a"), [33177117420000]);
  },

  "a field disappears when its time is over": async (db) => {
    await db.hset("h", { short: 1, long: 2 });
    assert.deepEqual(await db.hpexpire("h", 1, "FIELDS", 1, "short"), [1]);
    await waitUntil(async () => !(await db.hexists("h", "short")), "the field did not expire");
    assert.deepEqual(await db.hgetall("h"), { long: "2" });
  },

  "the key disappears with its last field": async (db) => {
    await db.hset("h", { a: 1, b: 2 });
    assert.deepEqual(await db.hpexpire("h", 1, "FIELDS", 2, "a", "b"), [1, 1]);
    await waitUntil(async () => !(await db.exists("h")), "the key did not go with its fields");
  },

  "sets and reads fields together with their time to live": async (db) => {
    assert.equal(await db.call("HSETEX", "h", "EX", 100, "FIELDS", 2, "a", 1, "b", 2), 1);
    for (const left of await db.call("HTTL", "h", "FIELDS", 2, "a", "b")) between(left, 99, 100);
    assert.deepEqual(await db.call("HGETEX", "h", "PERSIST", "FIELDS", 2, "a", "z"), ["1", null]);
    assert.deepEqual(await db.call("HTTL", "h", "FIELDS", 1, "a"), [-1]);
  },

  "refuses a key of another type": async (db) => {
    await db.set("word", "abc");
    await refused(db.hget("word", "f"), /WRONGTYPE/);
    await refused(db.hset("word", "f", "v"), /WRONGTYPE/);
    await refused(db.hgetall("word"), /WRONGTYPE/);
  },

  "holds 10000 fields": async (db) => {
    assert.equal(await db.hset("h", largeHash()), MANY);
    assert.deepEqual(await db.hgetall("h"), largeHash());
    assert.deepEqual(await db.hmget("h", "n:0", "n:9999"), ["value of n:0", "value of n:9999"]);
    assert.equal(await db.hdel("h", ...names().slice(0, 5000)), 5000);
    assert.equal(await db.hlen("h"), 5000);
  },

  "scans 10000 fields exactly once": async (db) => {
    await db.hset("h", largeHash());
    const found = pairs(await scanned(db.hscanStream("h", { count: 100 })));
    assert.equal(found.length, MANY);
    assert.deepEqual(Object.fromEntries(found), largeHash());
    const fields = await scanned(db.hscanStream("h", { count: 100, noValues: true }));
    assert.deepEqual(fields.sort(), names().sort());
    assert.deepEqual(await scanned(db.hscanStream("h", { match: "n:777" })), ["n:777", "value of n:777"]);
  },
};
