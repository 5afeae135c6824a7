"use strict";

const assert = require("node:assert/strict");
const { MANY, names, refused } = require("./support");

module.exports = {
  "sorts numbers and words": async (db) => {
    await db.rpush("l", "10", "9", "-1.5", "2");
    assert.deepEqual(await db.sort("l"), ["-1.5", "2", "9", "10"]);
    assert.deepEqual(await db.sort("l", "ALPHA"), ["-1.5", "10", "2", "9"]);
    assert.deepEqual(await db.sort("l", "LIMIT", 1, 2, "DESC"), ["9", "2"]);
    assert.deepEqual(await db.sort_ro("l", "LIMIT", 0, 1), ["-1.5"]);
    await db.rpush("l", "word");
    await refused(db.sort("l"), /can't be converted into double/);
  },

  "sorts sets and sorted sets": async (db) => {
    await db.sadd("s", 3, 1, 2);
    await db.zadd("z", 1, "3", 2, "1", 3, "2");
    assert.deepEqual(await db.sort("s"), ["1", "2", "3"]);
    assert.deepEqual(await db.sort("z", "DESC"), ["3", "2", "1"]);
  },

  "sorts by other keys and gives their values": async (db) => {
    await db.rpush("l", "a", "b", "c");
    await db.mset({ "weight:a": 3, "weight:b": 1, "weight:c": 2 });
    for (const name of "abc") await db.hset(`about:${name}`, "title", name.toUpperCase());
    assert.deepEqual(await db.sort("l", "BY", "weight:*"), ["b", "c", "a"]);
    const titles = await db.sort("l", "BY", "weight:*", "GET", "#", "GET", "about:*->title");
    assert.deepEqual(titles, ["b", "B", "c", "C", "a", "A"]);
    assert.deepEqual(await db.sort("l", "BY", "nosort", "GET", "missing:*"), [null, null, null]);
  },

  "stores what it sorted": async (db) => {
    await db.rpush("l", 3, 1, 2);
    assert.equal(await db.sort("l", "STORE", "to"), 3);
    assert.deepEqual(await db.lrange("to", 0, -1), ["1", "2", "3"]);
    assert.equal(await db.sort("missing", "STORE", "to"), 0);
    assert.equal(await db.exists("to"), 0);
  },

  "sorts 10000 elements": async (db) => {
    await db.sadd("s", names());
    assert.deepEqual(await db.sort("s", "ALPHA"), names().sort());
    await db.lpush("l", Array.from({ length: MANY }, (_, number) => number));
    assert.deepEqual(await db.sort("l", "LIMIT", 5000, 2), ["5000", "5001"]);
  },
};
