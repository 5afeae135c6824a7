"use strict";

const assert = require("node:assert/strict");
const { names } = require("./support");

module.exports = {
  "answers a pipeline of mixed types in order": async (db) => {
    const pipe = db.pipeline();
    const expected = [];
    for (let number = 0; number < 500; number++) {
      const text = String(number);
      pipe.set(`string:${number}`, number).rpush("list", number).hset("hash", text, number).sadd("set", number);
      pipe.zadd("zset", number, text).xadd("stream", `${number}-1`, "n", number);
      pipe.lindex("list", -1).hget("hash", text).zscore("zset", text);
      expected.push("OK", number + 1, 1, 1, 1, `${number}-1`, text, text, text);
    }
    const replies = await pipe.exec();
    assert.deepEqual(replies, expected.map((value) => [null, value]));
    const lengths = [db.llen("list"), db.hlen("hash"), db.scard("set"), db.zcard("zset"), db.xlen("stream")];
    assert.deepEqual(await Promise.all(lengths), [500, 500, 500, 500, 500]);
  },

  "an error inside a pipeline leaves the other replies": async (db) => {
    const replies = await db.pipeline().rpush("l", "a").sadd("l", "m").hget("l", "f").lrange("l", 0, -1).exec();
    const [pushed, added, got, elements] = replies;
    assert.deepEqual([pushed, elements], [[null, 1], [null, ["a"]]]);
    for (const [error] of [added, got]) assert.match(error.message, /WRONGTYPE/);
  },

  "gives large replies of several types in one pipeline": async (db) => {
    await db.rpush("l", names());
    await db.sadd("s", names());
    await db.zadd("z", names().flatMap((name, place) => [place, name]));
    const replies = await db.pipeline().lrange("l", 0, -1).smembers("s").zrange("z", 0, -1).llen("l").exec();
    const [elements, members, ranked, length] = replies.map(([, value]) => value);
    assert.deepEqual([elements, members.sort(), ranked, length], [names(), names().sort(), names(), 10000]);
  },
};
