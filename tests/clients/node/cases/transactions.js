"use strict";

const assert = require("node:assert/strict");
const { refused, withAnother } = require("./support");

module.exports = {
  "runs a transaction as one": async (db) => {
    const replies = await db.multi().set("s", 1).incr("s").rpush("l", "a", "b").lrange("l", 0, -1).exec();
    assert.deepEqual(replies, ["OK", 2, 2, ["a", "b"]].map((value) => [null, value]));
  },

  "an error inside leaves the other commands": async (db) => {
    const [set, pushed, last] = await db.multi().set("s", "x").lpush("s", "y").set("t", 1).exec();
    assert.deepEqual([set, last], [[null, "OK"], [null, "OK"]]);
    assert.match(pushed[0].message, /WRONGTYPE/);
    assert.equal(await db.get("t"), "1");
  },

  "a command that is refused makes EXEC run none": async (db) => {
    await refused(db.multi().set("s", 1).call("NOSUCH").exec(), /EXECABORT/);
    assert.equal(await db.get("s"), null);
  },

  "a watched key that changes makes EXEC run none": (db) =>
    withAnother(db, async (other) => {
      await db.set("s", 1);
      await db.watch("s", "t");
      await other.incr("s");
      assert.equal(await db.multi().set("s", 7).exec(), null);
      assert.equal(await db.get("s"), "2");
      await db.watch("s");
      await other.incr("t");
      assert.deepEqual(await db.multi().get("s").exec(), [[null, "2"]]);
      await db.watch("s");
      await other.incr("s");
      await db.unwatch();
      assert.deepEqual(await db.multi().get("s").exec(), [[null, "3"]]);
    }),

  "commands that are sent one by one are queued": async (db) => {
    await db.multi({ pipeline: false });
    assert.equal(await db.set("s", 1), "QUEUED");
    assert.equal(await db.get("s"), "QUEUED");
    assert.deepEqual(await db.exec(), [[null, "OK"], [null, "1"]]);
    await db.multi({ pipeline: false });
    await db.set("s", 2);
    assert.equal(await db.discard(), "OK");
    assert.equal(await db.get("s"), "1");
    await refused(db.call("EXEC"), /EXEC without MULTI/);
  },
};
