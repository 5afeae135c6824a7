"use strict";

const assert = require("node:assert/strict");
const { MANY, everyByte, names, refused, scanned } = require("./support");

module.exports = {
  "adds, tests and removes members": async (db) => {
    assert.equal(await db.sadd("s", "a", "b", "a"), 2);
    assert.equal(await db.sadd("s", "a", "c"), 1);
    assert.deepEqual((await db.smembers("s")).sort(), ["a", "b", "c"]);
    assert.equal(await db.sismember("s", "a"), 1);
    assert.deepEqual(await db.smismember("s", "a", "z", "c"), [1, 0, 1]);
    assert.equal(await db.srem("s", "a", "z"), 1);
    assert.equal(await db.scard("s"), 2);
    assert.equal(await db.srem("s", "b", "c"), 2);
    assert.equal(await db.exists("s"), 0);
  },

  "takes and shows random members": async (db) => {
    await db.sadd("s", "a", "b", "c");
    assert.deepEqual((await db.srandmember("s", 5)).sort(), ["a", "b", "c"]);
    assert.equal((await db.srandmember("s", -5)).length, 5);
    const taken = [await db.spop("s"), ...(await db.spop("s", 5))];
    assert.deepEqual(taken.sort(), ["a", "b", "c"]);
    assert.equal(await db.spop("s"), null);
  },

  "moves a member": async (db) => {
    await db.sadd("from", "a", "b");
    assert.equal(await db.smove("from", "to", "a"), 1);
    assert.equal(await db.smove("from", "to", "a"), 0);
    assert.deepEqual(await db.smembers("from"), ["b"]);
    assert.deepEqual(await db.smembers("to"), ["a"]);
  },

  "intersects, unites and subtracts": async (db) => {
    await db.sadd("x", ..."abcd");
    await db.sadd("y", ..."bcde");
    await db.sadd("z", ..."cd");
    assert.deepEqual((await db.sinter("x", "y", "z")).sort(), ["c", "d"]);
    assert.deepEqual(await db.sinter("x", "missing"), []);
    assert.deepEqual((await db.sunion("y", "z", "missing")).sort(), [..."bcde"]);
    assert.deepEqual((await db.sdiff("x", "z", "missing")).sort(), ["a", "b"]);
    assert.equal(await db.sintercard(2, "x", "y"), 3);
    assert.equal(await db.sintercard(2, "x", "y", "LIMIT", 2), 2);
  },

  "stores combined sets": async (db) => {
    await db.sadd("x", 1, 2, 3);
    await db.sadd("y", 2, 3, "word");
    assert.equal(await db.sinterstore("to", "x", "y"), 2);
    assert.deepEqual((await db.smembers("to")).sort(), ["2", "3"]);
    assert.equal(await db.sunionstore("to", "x", "y"), 4);
    assert.deepEqual((await db.smembers("to")).sort(), ["1", "2", "3", "word"]);
    assert.equal(await db.sdiffstore("to", "x", "y"), 1);
    assert.equal(await db.sinterstore("to", "x", "missing"), 0);
    assert.equal(await db.exists("to"), 0);
  },

  "keeps every byte of a member": async (db) => {
    const members = ["", everyByte(), "\r\n", "-7", "07", "x".repeat(100000)].map((member) => Buffer.from(member));
    assert.equal(await db.sadd("s", ...members), 6);
    const found = await db.smembersBuffer("s");
    assert.deepEqual(found.sort(Buffer.compare), members.sort(Buffer.compare));
  },

  "refuses a key of another type": async (db) => {
    await db.set("word", "abc");
    await db.sadd("s", "a");
    await refused(db.sadd("word", "m"), /WRONGTYPE/);
    await refused(db.smembers("word"), /WRONGTYPE/);
    await refused(db.sunion("s", "word"), /WRONGTYPE/);
  },

  "holds 10000 members": async (db) => {
    const [first, second] = [names().slice(0, 5000), names().slice(5000)];
    assert.equal(await db.sadd("s", names()), MANY);
    assert.deepEqual((await db.smembers("s")).sort(), names().sort());
    assert.equal(await db.sadd("half", first), 5000);
    assert.deepEqual((await db.sinter("s", "half")).sort(), first.sort());
    assert.deepEqual((await db.sdiff("s", "half")).sort(), second.sort());
    assert.equal(await db.srem("s", first), 5000);
    assert.equal(await db.scard("s"), 5000);
  },

  "holds 10000 integers": async (db) => {
    const integers = Array.from({ length: MANY }, (_, place) => String(place - 5000));
    assert.equal(await db.sadd("s", integers), MANY);
    assert.deepEqual((await db.smembers("s")).sort(), integers.sort());
    assert.deepEqual(await db.smismember("s", -5000, 5000, "007"), [1, 0, 0]);
  },

  "scans 10000 members exactly once": async (db) => {
    await db.sadd("s", names());
    assert.deepEqual((await scanned(db.sscanStream("s", { count: 100 }))).sort(), names().sort());
    assert.deepEqual(await scanned(db.sscanStream("s", { match: "n:777" })), ["n:777"]);
  },
};
