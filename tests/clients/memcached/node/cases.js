// Cases with memcached of npm: `cases`, or `add N`, which adds 1 to the key `sum` N times by CAS.
"use strict";
const assert = require("assert");
const { promisify } = require("util");
const zlib = require("zlib");
const Memcached = require("memcached");

const client = new Memcached(process.env.MEMCACHED_ADDR, { maxValue: 16 << 20, timeout: 30000, poolSize: 4 });
const call = (name, ...args) => promisify(client[name]).apply(client, args);
const HOUR = 3600;

const cases = {
  async flags() {
    for (const [key, value] of Object.entries({ text: "é", bytes: Buffer.from([0, 13, 10, 255]), number: 7, list: [1, { a: null }] })) {
      await call("set", key, value, HOUR);
      assert.deepStrictEqual(await call("get", key), value);
    }
  },
  async compression() {
    const text = "packed ".repeat(10000);
    await call("set", "packed", zlib.deflateSync(text), HOUR);
    assert.strictEqual(zlib.inflateSync(await call("get", "packed")).toString(), text);
  },
  async "many keys"() {
    const keys = Array.from({ length: 1000 }, (_, number) => "many:" + number);
    await Promise.all(keys.filter((_, number) => number % 2 === 0).map((key) => call("set", key, key, HOUR)));
    const found = await call("getMulti", keys);
    assert.strictEqual(Object.keys(found).length, 500);
    assert(Object.entries(found).every(([key, value]) => key === value));
  },
  async "5 MB"() {
    const value = Buffer.alloc(5 << 20, "0123456789abcdef");
    await call("set", "large", value, HOUR);
    assert(value.equals(await call("get", "large")));
  },
  async conditions() {
    await call("del", "condition");
    assert.strictEqual(await call("get", "condition"), undefined);
    await call("add", "condition", 1, HOUR);
    await assert.rejects(call("add", "condition", 2, HOUR));
    const { cas } = await call("gets", "condition");
    assert.strictEqual(await call("incr", "condition", 41), 42);
    assert.strictEqual(await call("cas", "condition", 5, cas, HOUR), false);
    await call("touch", "condition", 100);
    assert.strictEqual(await call("get", "condition"), 42);
  },
  async "a key of RESP"() {
    assert.strictEqual(await call("get", "from-resp"), "written elsewhere");
  },
};

async function add(count) {
  while (count) {
    const found = await call("gets", "sum");
    if (await call("cas", "sum", String(Number(found.sum) + 1), found.cas, 0)) count--;
  }
}

async function main() {
  if (process.argv[2] === "add") return add(Number(process.argv[3]));
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
      console.log("ok   " + name);
    } catch (error) {
      console.log("FAILED " + name + ": " + error.stack);
      process.exitCode = 1;
    }
  }
}

main()
  .catch((error) => {
    console.log(error);
    process.exitCode = 1;
  })
  .finally(() => client.end());
