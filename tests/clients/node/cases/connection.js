"use strict";

const assert = require("node:assert/strict");
const { refused } = require("./support");

module.exports = {
  "connects and reads the server's description": async (db) => {
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

  "rejects with the server's errors and stays usable": async (db) => {
    await db.set("word", "abc");
    await refused(db.call("NOSUCHCOMMAND", "x"), /unknown command/);
    await refused(db.call("GET"), /wrong number of arguments/);
    await refused(db.incr("word"), /not an integer/);
    await refused(db.set("k", "v", "EX", 0), /invalid expire time/);
    assert.equal(await db.ping(), "PONG");
  },
};
