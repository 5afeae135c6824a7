"use strict";

const assert = require("node:assert/strict");
const { PATIENCE, between, waitUntil, waiters, withAnother } = require("./support");

// Returns once `count` clients are blocked, the last of them by the call that `reply` answers.
async function untilBlocked(db, reply, count) {
  const early = reply.then((value) => assert.fail(`the call did not block but gave ${value}`));
  await Promise.race([early, waitUntil(async () => (await waiters(db)) === count, "the call did not block")]);
}

// What a call gives that is blocked, on a connection of its own, until `serve` is run.
const replyOnceServed = (db, call, serve) =>
  withAnother(db, async (other) => {
    const reply = call(other);
    await untilBlocked(db, reply, 1);
    await serve();
    return reply;
  });

module.exports = {
  "a push from another connection serves a blocked pop": async (db) => {
    for (const [call, expected] of [
      [(other) => other.blpop("other", "l", PATIENCE), ["l", "v"]],
      [(other) => other.brpop("l", PATIENCE), ["l", "v"]],
      [(other) => other.blmpop(PATIENCE, 2, "other", "l", "LEFT"), ["l", ["v"]]],
      [(other) => other.blmove("l", "to", "LEFT", "LEFT", PATIENCE), "v"],
      [(other) => other.brpoplpush("l", "to", PATIENCE), "v"],
    ]) {
      assert.deepEqual(await replyOnceServed(db, call, () => db.rpush("l", "v")), expected);
      assert.equal(await db.exists("l"), 0);
    }
    assert.deepEqual(await db.lrange("to", 0, -1), ["v", "v"]);
  },

  "an added member serves a blocked pop": async (db) => {
    for (const [call, expected] of [
      [(other) => other.bzpopmin("other", "z", PATIENCE), ["z", "m", "1.5"]],
      [(other) => other.bzpopmax("z", PATIENCE), ["z", "m", "1.5"]],
      [(other) => other.bzmpop(PATIENCE, 1, "z", "MIN"), ["z", [["m", "1.5"]]]],
    ]) {
      assert.deepEqual(await replyOnceServed(db, call, () => db.zadd("z", 1.5, "m")), expected);
      assert.equal(await db.exists("z"), 0);
    }
  },

  "an appended entry serves blocked readers": async (db) => {
    await db.xgroup("CREATE", "s", "g", 0, "MKSTREAM");
    const read = (other) => other.xread("BLOCK", PATIENCE * 1000, "STREAMS", "s", "$");
    const first = await replyOnceServed(db, read, () => db.xadd("s", "1-0", "n", 1));
    assert.deepEqual(first, [["s", [["1-0", ["n", "1"]]]]]);
    await db.xreadgroup("GROUP", "g", "ann", "STREAMS", "s", ">");
    const readGroup = (other) => other.xreadgroup("GROUP", "g", "bob", "BLOCK", PATIENCE * 1000, "STREAMS", "s", ">");
    const second = await replyOnceServed(db, readGroup, () => db.xadd("s", "2-0", "n", 2));
    assert.deepEqual(second, [["s", [["2-0", ["n", "2"]]]]]);
    assert.equal((await db.xpending("s", "g"))[0], 2);
  },

  "blocked calls give up after their timeout": async (db) => {
    await db.xgroup("CREATE", "s", "g", "$", "MKSTREAM");
    const timed = (call) =>
      withAnother(db, async (other) => {
        await other.ping();
        const began = performance.now();
        assert.equal(await call(other), null);
        between(performance.now() - began, 99, 5000);
      });
    await Promise.all([
      timed((other) => other.blpop("l", "other", 0.1)),
      timed((other) => other.brpop("l", 0.1)),
      timed((other) => other.blmpop(0.1, 1, "l", "LEFT")),
      timed((other) => other.blmove("l", "to", "LEFT", "LEFT", 0.1)),
      timed((other) => other.bzpopmin("z", 0.1)),
      timed((other) => other.bzmpop(0.1, 1, "z", "MAX")),
      timed((other) => other.xread("BLOCK", 100, "STREAMS", "s", "$")),
      timed((other) => other.xreadgroup("GROUP", "g", "ann", "BLOCK", 100, "STREAMS", "s", ">")),
    ]);
    assert.equal(await waiters(db), 0);
  },

  "elements that are there are given at once": async (db) => {
    await db.rpush("l", "a", "b");
    assert.deepEqual(await db.blpop("l", PATIENCE), ["l", "a"]);
    assert.equal(await db.blmove("l", "to", "LEFT", "LEFT", PATIENCE), "b");
    await db.zadd("z", 1, "m");
    assert.deepEqual(await db.bzpopmax("z", PATIENCE), ["z", "m", "1"]);
  },

  "blocked clients are served in the order of their arrival": async (db) => {
    const others = Array.from({ length: 5 }, () => db.duplicate());
    try {
      const replies = [];
      for (const other of others) {
        replies.push(other.blpop("l", PATIENCE));
        await untilBlocked(db, replies.at(-1), replies.length);
      }
      await db.rpush("l", 0, 1, 2, 3, 4);
      const served = await Promise.all(replies);
      assert.deepEqual(served.map(([, element]) => element), ["0", "1", "2", "3", "4"]);
    } finally {
      others.forEach((other) => other.disconnect());
    }
  },

  "a queue passes 1000 elements to a waiting consumer": (db) =>
    withAnother(db, async (other) => {
      const consume = async () => {
        const received = [];
        while (received.length < 1000) received.push((await other.blpop("l", PATIENCE))[1]);
        return received;
      };
      const produce = async () => {
        for (let number = 0; number < 1000; number++) await db.rpush("l", number);
      };
      const [received] = await Promise.all([consume(), produce()]);
      assert.deepEqual(received, Array.from({ length: 1000 }, (_, number) => String(number)));
    }),
};
