"use strict";

const assert = require("node:assert/strict");
const { once } = require("node:events");
const { waitUntil, withAnother } = require("./support");

// Runs `use` with another connection that has been set up: ioredis would send SUBSCRIBE ahead of its own INFO.
const withReady = (db, use) =>
  withAnother(db, async (other) => {
    if (other.status !== "ready") await once(other, "ready");
    return use(other);
  });

// What a client hears of one kind of message, as arrays of its parts.
function hears(client, kind) {
  const heard = [];
  client.on(kind, (...parts) => heard.push(parts));
  return heard;
}

const heardAll = (heard, count) => waitUntil(() => heard.length >= count, "a message is missing");

module.exports = {
  "a message comes to all subscribers of its channel": (db) =>
    withReady(db, (one) =>
      withReady(db, async (other) => {
        const [ones, others] = [hears(one, "message"), hears(other, "message")];
        assert.equal(await one.subscribe("a", "b"), 2);
        assert.equal(await other.subscribe("a"), 1);
        assert.deepEqual([await db.publish("a", "first"), await db.publish("b", "second")], [2, 1]);
        assert.equal(await db.publish("c", "third"), 0);
        await heardAll(ones, 2);
        await heardAll(others, 1);
        assert.deepEqual([ones, others], [[["a", "first"], ["b", "second"]], [["a", "first"]]]);
        assert.deepEqual(await db.pubsub("NUMSUB", "a", "b", "c"), ["a", 2, "b", 1, "c", 0]);
        await assert.rejects(one.get("k"), /subscriber mode/);
      }),
    ),

  "a pattern gets what matches": (db) =>
    withReady(db, async (other) => {
      const heard = hears(other, "pmessage");
      assert.equal(await other.psubscribe("n.*", "[xy]"), 2);
      assert.equal(await db.pubsub("NUMPAT"), 2);
      const receivers = [db.publish("n.1", "1"), db.publish("m.1", "1"), db.publish("x", "2")];
      assert.deepEqual(await Promise.all(receivers), [1, 0, 1]);
      await heardAll(heard, 2);
      assert.deepEqual(heard, [["n.*", "n.1", "1"], ["[xy]", "x", "2"]]);
    }),

  "a shard channel is a channel of its own": (db) =>
    withReady(db, async (other) => {
      const heard = hears(other, "smessage");
      assert.equal(await other.ssubscribe("s"), 1);
      assert.deepEqual([await db.publish("s", "no"), await db.spublish("s", "yes")], [0, 1]);
      await heardAll(heard, 1);
      assert.deepEqual(heard, [["s", "yes"]]);
      assert.equal(await other.sunsubscribe("s"), 0);
    }),

  "messages come in order, and none behind the end of a subscription": (db) =>
    withReady(db, async (other) => {
      const heard = hears(other, "message");
      await other.subscribe("a", "b");
      const pipe = db.pipeline();
      for (let number = 0; number < 2000; number++) pipe.publish("a", number);
      await pipe.exec();
      await heardAll(heard, 2000);
      assert.deepEqual(heard, Array.from({ length: 2000 }, (_, number) => ["a", String(number)]));
      assert.equal(await other.unsubscribe("a"), 1);
      assert.deepEqual([await db.publish("a", "no"), await db.publish("b", "yes")], [0, 1]);
      await heardAll(heard, 2001);
      assert.deepEqual(heard.slice(2000), [["b", "yes"]]);
      assert.equal(await other.unsubscribe(), 0);
      assert.equal(await other.get("k"), null);
    }),

  "a transaction publishes too": (db) =>
    withReady(db, async (other) => {
      const heard = hears(other, "message");
      await other.subscribe("a");
      assert.deepEqual(await db.multi().publish("a", 1).set("s", 1).publish("a", 2).exec(), [[null, 1], [null, "OK"], [null, 1]]);
      await heardAll(heard, 2);
      assert.deepEqual(heard, [["a", "1"], ["a", "2"]]);
    }),
};
