// ioredis against the server at SERVER_ADDR: one line per case, status 1 when a case fails.
"use strict";

const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const Redis = require("ioredis");

const [host, port] = (process.env.SERVER_ADDR || "127.0.0.1:6379").split(":");
const client = () => new Redis({ host, port: Number(port), maxRetriesPerRequest: 1 });

const cases = {
  "connects with RESP2": async (db) => {
    assert.equal(await db.ping(), "PONG");
    assert.match(await db.info("server"), /redis_version:/);
  },

  "answers a pipeline of 1000 commands in order": async (db) => {
    const pipe = db.pipeline();
    for (let number = 0; number < 500; number++) pipe.set(`p:${number}`, number).get(`p:${number}`);
    const replies = await pipe.exec();
    assert.equal(replies.length, 1000);
    replies.forEach(([error, value], index) => {
      assert.equal(error, null);
      assert.equal(value, index % 2 ? String((index - 1) / 2) : "OK");
    });
  },

  "keeps every byte of a string": async (db) => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    await db.set(every, every);
    assert.ok((await db.getBuffer(every)).equals(every));
    const large = crypto.randomBytes(10 << 20);
    await db.set("large", large);
    assert.equal(await db.strlen("large"), large.length);
    assert.ok((await db.getBuffer("large")).equals(large));
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

  expires: async (db) => {
    await db.set("e", "v", "EX", 100);
    const left = await db.ttl("e");
    assert.ok(left >= 99 && left <= 100, `TTL ${left}`);
    assert.equal(await db.persist("e"), 1);
    assert.equal(await db.ttl("e"), -1);
    await db.pexpire("e", 1);
    const deadline = Date.now() + 5000;
    while (await db.exists("e")) assert.ok(Date.now() < deadline, "the key did not expire");
    assert.equal(await db.get("e"), null);
  },

  "scans 10000 keys": async (db) => {
    await db.flushdb();
    const pipe = db.pipeline();
    for (let number = 0; number < 10000; number++) pipe.set(`s:${number}`, 1);
    await pipe.exec();
    const found = new Set();
    for await (const keys of db.scanStream({ match: "s:*", count: 100 })) keys.forEach((key) => found.add(key));
    assert.equal(found.size, 10000);
    assert.equal(await db.dbsize(), 10000);
  },

  "rejects with the server's errors": async (db) => {
    await db.set("word", "abc");
    for (const [pattern, ...call] of [
      [/unknown command/, "NOSUCHCOMMAND", "x"],
      [/wrong number of arguments/, "GET"],
      [/not an integer/, "INCR", "word"],
      [/invalid expire time/, "SET", "k", "v", "EX", "0"],
    ]) {
      await assert.rejects(db.call(...call), (error) => error.name === "ReplyError" && pattern.test(error.message));
    }
    assert.equal(await db.ping(), "PONG");
  },
};

async function main() {
  const first = client();
  await first.flushall();
  first.disconnect();
  for (const [name, test] of Object.entries(cases)) {
    const db = client();
    try {
      await test(db);
      console.log("ok   " + name);
    } catch (error) {
      process.exitCode = 1;
      console.log(`FAIL ${name}: ${error.stack}`);
    }
    db.disconnect();
  }
}

main().catch((error) => {
  console.log("FAIL: " + error.stack);
  process.exit(1);
});
