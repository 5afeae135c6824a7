"use strict";

const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const { everyByte } = require("./support");

module.exports = {
  "keeps every byte of a string": async (db) => {
    await db.set(everyByte(), everyByte());
    assert.ok((await db.getBuffer(everyByte())).equals(everyByte()));
  },

  "keeps a string of 10 MiB": async (db) => {
    const large = crypto.randomBytes(10 << 20);
    await db.set("large", large);
    assert.equal(await db.strlen("large"), large.length);
    assert.ok((await db.getBuffer("large")).equals(large));
    const part = await db.getrangeBuffer("large", 5 << 20, (5 << 20) + 99);
    assert.ok(part.equals(large.subarray(5 << 20, (5 << 20) + 100)));
  },

  counts: async (db) => {
    assert.deepEqual([await db.incr("n"), await db.incrby("n", 9), await db.decrby("n", 5)], [1, 10, 5]);
    assert.equal(await db.incrbyfloat("f", 0.5), "0.5");
    assert.equal(await db.append("n", "0"), 2);
  },

  "sets under conditions": async (db) => {
    assert.equal(await db.set("c", 1, "NX"), "OK");
    assert.equal(await db.set("c", 2, "NX"), null);
    assert.equal(await db.set("c", 3, "XX", "GET"), "1");
    assert.equal(await db.set("absent", 1, "XX"), null);
    await db.mset({ a: 1, b: 2 });
    assert.deepEqual(await db.mget("a", "missing", "b"), ["1", null, "2"]);
    assert.equal(await db.getdel("a"), "1");
    await db.setbit("bits", 7, 1);
    assert.equal(await db.bitcount("bits"), 1);
  },
};
