"use strict";

const assert = require("node:assert/strict");
const { MANY, between, names, refused } = require("./support");

module.exports = {
  "counts a few elements exactly": async (db) => {
    assert.equal(await db.pfadd("p", "a", "b", "c"), 1);
    assert.equal(await db.pfadd("p", "a", "b"), 0);
    assert.equal(await db.pfcount("p"), 3);
    assert.equal(await db.pfcount("missing"), 0);
  },

  "counts 10000 elements within 2 percent": async (db) => {
    await db.pfadd("p", names());
    between(await db.pfcount("p"), MANY * 0.98, MANY * 1.02);
  },

  "counts and merges several": async (db) => {
    await db.pfadd("x", "a", "b", "c");
    await db.pfadd("y", "c", "d");
    assert.equal(await db.pfcount("x", "y"), 4);
    assert.equal(await db.pfmerge("to", "x", "y", "missing"), "OK");
    assert.equal(await db.pfcount("to"), 4);
  },

  "refuses other values": async (db) => {
    await db.set("word", "abc");
    await db.rpush("list", "a");
    await refused(db.pfadd("word", "a"), /not a valid HyperLogLog string value/);
    await refused(db.pfcount("list"), /WRONGTYPE/);
  },
};
