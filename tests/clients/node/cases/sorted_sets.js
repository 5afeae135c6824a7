"use strict";

const assert = require("node:assert/strict");
const { MANY, everyByte, names, pairs, refused, scanned } = require("./support");

// Adds the names in their order.
const addNames = (db) => db.zadd("z", names().flatMap((name, place) => [place, name]));

module.exports = {
  "orders members by score, then by name": async (db) => {
    assert.equal(await db.zadd("z", 2, "c", 2, "b", 3, "a", "-inf", "d"), 4);
    const withScores = ["d", "-inf", "b", "2", "c", "2", "a", "3"];
    assert.deepEqual(await db.zrange("z", 0, -1, "WITHSCORES"), withScores);
    assert.deepEqual(await db.zrevrange("z", 0, 1), ["a", "c"]);
    assert.equal(await db.zcard("z"), 4);
    assert.equal(await db.zrem("z", "a", "b", "c", "d", "missing"), 4);
    assert.equal(await db.exists("z"), 0);
  },

  "adds under conditions": async (db) => {
    await db.zadd("z", 5, "a");
    assert.equal(await db.zadd("z", "NX", 1, "a", 1, "b"), 1);
    assert.equal(await db.zadd("z", "XX", "CH", 6, "a", 1, "c"), 1);
    assert.equal(await db.zadd("z", "GT", "CH", 4, "a"), 0);
    assert.equal(await db.zadd("z", "LT", "CH", 4, "a"), 1);
    assert.equal(await db.zadd("z", "INCR", 1.5, "a"), "5.5");
    assert.equal(await db.zadd("z", "NX", "INCR", 1, "a"), null);
    await refused(db.zadd("z", "many", "a"), /not a valid float/);
  },

  "counts with scores": async (db) => {
    assert.equal(await db.zincrby("z", 2.5, "a"), "2.5");
    assert.equal(await db.zincrby("z", -3, "a"), "-0.5");
    assert.equal(await db.zscore("z", "a"), "-0.5");
    assert.equal(await db.zscore("z", "missing"), null);
    assert.deepEqual(await db.zmscore("z", "a", "missing"), ["-0.5", null]);
  },

  "keeps every digit of a score": async (db) => {
    const scores = [0.1, 1 / 3, 1e300, -1e-300, 2 ** 53, 3];
    await db.zadd("z", ...scores.flatMap((score, place) => [score, place]));
    for (const [place, score] of scores.entries()) assert.equal(Number(await db.zscore("z", place)), score);
  },

  "tells ranks": async (db) => {
    await db.zadd("z", 1, "a", 2, "b", 3, "c");
    assert.equal(await db.zrank("z", "a"), 0);
    assert.equal(await db.zrevrank("z", "a"), 2);
    assert.equal(await db.zrank("z", "missing"), null);
    assert.deepEqual(await db.zrank("z", "c", "WITHSCORE"), [2, "3"]);
  },

  "gives ranges by score": async (db) => {
    await db.zadd("z", 1, "a", 2, "b", 3, "c", 4, "d");
    assert.deepEqual(await db.zrangebyscore("z", "(1", 3), ["b", "c"]);
    assert.deepEqual(await db.zrevrangebyscore("z", "+inf", "-inf", "LIMIT", 1, 2), ["c", "b"]);
    assert.deepEqual(await db.zrange("z", 4, "(1", "BYSCORE", "REV", "LIMIT", 1, 2), ["c", "b"]);
    assert.equal(await db.zcount("z", "-inf", "(3"), 2);
  },

  "gives ranges by name": async (db) => {
    await db.zadd("z", ...[..."abcde"].flatMap((name) => [0, name]));
    assert.deepEqual(await db.zrangebylex("z", "[b", "(d"), ["b", "c"]);
    assert.deepEqual(await db.zrevrangebylex("z", "+", "(c"), ["e", "d"]);
    assert.deepEqual(await db.zrange("z", "-", "+", "BYLEX", "LIMIT", 1, 2), ["b", "c"]);
    assert.equal(await db.zlexcount("z", "-", "[c"), 3);
  },

  "removes ranges": async (db) => {
    await db.zadd("z", 1, "a", 2, "b", 3, "c", 4, "d", 5, "e");
    assert.equal(await db.zremrangebyrank("z", 0, 0), 1);
    assert.equal(await db.zremrangebyscore("z", "(4", "+inf"), 1);
    assert.deepEqual(await db.zrange("z", 0, -1), ["b", "c", "d"]);
    assert.equal(await db.zremrangebylex("z", "-", "+"), 3);
  },

  "pops the lowest and the highest": async (db) => {
    await db.zadd("z", 1, "a", 2, "b", 3, "c", 4, "d");
    assert.deepEqual(await db.zpopmin("z"), ["a", "1"]);
    assert.deepEqual(await db.zpopmax("z", 2), ["d", "4", "c", "3"]);
    assert.deepEqual(await db.zmpop(2, "missing", "z", "MIN", "COUNT", 5), ["z", [["b", "2"]]]);
    assert.deepEqual(await db.zpopmin("z"), []);
    assert.equal(await db.zmpop(1, "z", "MAX"), null);
  },

  "shows random members": async (db) => {
    await db.zadd("z", 1, "a", 2, "b");
    assert.deepEqual((await db.zrandmember("z", 5)).sort(), ["a", "b"]);
    assert.equal((await db.zrandmember("z", -5, "WITHSCORES")).length, 10);
  },

  "intersects, unites and subtracts": async (db) => {
    await db.zadd("x", 1, "a", 2, "b");
    await db.zadd("y", 10, "b", 20, "c");
    assert.deepEqual(await db.zunion(2, "x", "y", "WITHSCORES"), ["a", "1", "b", "12", "c", "20"]);
    const weighted = ["WEIGHTS", 2, 3, "AGGREGATE", "MAX", "WITHSCORES"];
    assert.deepEqual(await db.zinter(2, "x", "y", ...weighted), ["b", "30"]);
    assert.deepEqual(await db.zdiff(2, "x", "y", "WITHSCORES"), ["a", "1"]);
    assert.equal(await db.zintercard(2, "x", "y"), 1);
  },

  "stores combined sets and ranges": async (db) => {
    await db.zadd("x", 1, "a", 2, "b");
    await db.sadd("y", "b", "c");
    assert.equal(await db.zunionstore("to", 2, "x", "y", "WEIGHTS", 2, 1), 3);
    assert.deepEqual(await db.zrange("to", 0, -1, "WITHSCORES"), ["c", "1", "a", "2", "b", "5"]);
    assert.equal(await db.zinterstore("to", 2, "x", "y"), 1);
    assert.equal(await db.zdiffstore("to", 2, "x", "y"), 1);
    assert.equal(await db.zrangestore("to", "x", "(1", "+inf", "BYSCORE"), 1);
    assert.deepEqual(await db.zrange("to", 0, -1), ["b"]);
  },

  "keeps every byte of a member": async (db) => {
    const members = ["", everyByte(), "\r\n", "x".repeat(100000)].map((member) => Buffer.from(member));
    await db.zadd("z", ...members.flatMap((member, place) => [place, member]));
    assert.deepEqual(await db.zrangeBuffer("z", 0, -1), members);
  },

  "refuses a key of another type": async (db) => {
    await db.set("word", "abc");
    await refused(db.zadd("word", 1, "m"), /WRONGTYPE/);
    await refused(db.zrange("word", 0, -1), /WRONGTYPE/);
    await refused(db.zunion(1, "word"), /WRONGTYPE/);
  },

  "holds 10000 members in order": async (db) => {
    assert.equal(await addNames(db), MANY);
    assert.deepEqual(await db.zrange("z", 0, -1), names());
    assert.equal(await db.zrank("z", "n:9999"), 9999);
    assert.deepEqual(await db.zrangebyscore("z", 5000, "(5002"), ["n:5000", "n:5001"]);
    assert.equal(await db.zcount("z", 0, 99), 100);
    assert.equal(await db.zincrby("z", 20000, "n:5000"), "25000");
    assert.equal(await db.zrevrank("z", "n:5000"), 0);
    assert.equal(await db.zremrangebyrank("z", 0, 4999), 5000);
    assert.deepEqual(await db.zrange("z", 0, 0), ["n:5001"]);
  },

  "scans 10000 members exactly once": async (db) => {
    await addNames(db);
    const found = pairs(await scanned(db.zscanStream("z", { count: 100 })));
    assert.deepEqual(
      found.sort((one, other) => one[1] - other[1]),
      names().map((name, place) => [name, String(place)]),
    );
    assert.deepEqual(await scanned(db.zscanStream("z", { match: "n:777" })), ["n:777", "777"]);
  },
};
