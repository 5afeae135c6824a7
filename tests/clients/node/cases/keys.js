"use strict";

const assert = require("node:assert/strict");
const { MANY, between, names, scanned, waitUntil } = require("./support");

const types = ["string", "list", "hash", "set", "zset", "stream"];

async function oneKeyOfEachType(db) {
  await db.set("string", "v");
  await db.rpush("list", "v");
  await db.hset("hash", "f", "v");
  await db.sadd("set", "v");
  await db.zadd("zset", 1, "v");
  await db.xadd("stream", "*", "f", "v");
}

module.exports = {
  expires: async (db) => {
    await db.set("e", "v", "EX", 100);
    between(await db.ttl("e"), 99, 100);
    assert.equal(await db.persist("e"), 1);
    assert.equal(await db.ttl("e"), -1);
    await db.pexpire("e", 1);
    await waitUntil(async () => !(await db.exists("e")), "the key did not expire");
    assert.equal(await db.get("e"), null);
    assert.equal(await db.ttl("e"), -2);
  },

  "scans 10000 keys": async (db) => {
    const pipe = db.pipeline();
    for (const name of names("s")) pipe.set(name, 1);
    await pipe.exec();
    const found = await scanned(db.scanStream({ match: "s:*", count: 100 }));
    assert.equal(new Set(found).size, MANY);
    assert.equal(await db.dbsize(), MANY);
  },

  "tells the type of a key": async (db) => {
    await oneKeyOfEachType(db);
    for (const name of types) {
      assert.equal(await db.type(name), name);
      assert.deepEqual(await scanned(db.scanStream({ type: name })), [name]);
    }
    assert.equal(await db.type("missing"), "none");
  },

  "expires, renames, copies and deletes a key of each type": async (db) => {
    await oneKeyOfEachType(db);
    for (const name of types) {
      assert.equal(await db.expire(name, 100), 1);
      assert.equal(await db.rename(name, "renamed"), "OK");
      between(await db.ttl("renamed"), 99, 100);
      assert.equal(await db.copy("renamed", "copied"), 1);
      assert.equal(await db.type("copied"), name);
      assert.equal(await db.pexpire("renamed", 1), 1);
      await waitUntil(async () => !(await db.exists("renamed")), `a ${name} did not expire`);
      assert.equal(await db.del("copied"), 1);
    }
    assert.equal(await db.dbsize(), 0);
  },
};
