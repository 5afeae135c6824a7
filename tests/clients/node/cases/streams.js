"use strict";

const assert = require("node:assert/strict");
const { MANY, pairs, refused } = require("./support");

// The identifiers 1-0 to count-0.
const numbered = (count) => Array.from({ length: count }, (_, place) => `${place + 1}-0`);

// Appends entries with these identifiers, each with its number.
async function append(db, count) {
  const pipe = db.pipeline();
  numbered(count).forEach((id, place) => pipe.xadd("s", id, "n", place + 1));
  await pipe.exec();
}

const ids = (entries) => entries.map(([id]) => id);

// The identifiers of the entries that a consumer of group g receives.
async function readGroup(db, consumer, after, count) {
  const read = await db.xreadgroup("GROUP", "g", consumer, "COUNT", count, "STREAMS", "s", after);
  return read && ids(read[0][1]);
}

// The fields of a description, which arrive as [name, value, ...].
const described = (flat) => Object.fromEntries(pairs(flat));

module.exports = {
  "appends and reads entries": async (db) => {
    assert.equal(await db.xadd("s", "5-1", "a", 1, "b", 2), "5-1");
    assert.equal(await db.xadd("s", "5-*", "c", 3), "5-2");
    const latest = await db.xadd("s", "*", "d", 4);
    assert.equal(await db.xlen("s"), 3);
    const entries = [
      ["5-1", ["a", "1", "b", "2"]],
      ["5-2", ["c", "3"]],
    ];
    assert.deepEqual(await db.xrange("s", "-", `(${latest}`), entries);
    assert.deepEqual(await db.xrevrange("s", "+", "-", "COUNT", 1), [[latest, ["d", "4"]]]);
    await refused(db.xadd("s", "5-2", "e", 5), /equal or smaller than the target stream top item/);
  },

  "deletes and trims entries": async (db) => {
    await append(db, 10);
    assert.equal(await db.xdel("s", "3-0", "99-0"), 1);
    assert.equal(await db.xtrim("s", "MAXLEN", 5), 4);
    assert.equal(await db.xtrim("s", "MINID", 8), 2);
    assert.deepEqual(ids(await db.xrange("s", "-", "+")), ["8-0", "9-0", "10-0"]);
    await db.xadd("s", "MAXLEN", 2, "11-0", "n", 11);
    assert.equal(await db.xlen("s"), 2);
    assert.equal(await db.xadd("missing", "NOMKSTREAM", "*", "n", 1), null);
  },

  "reads several streams from an id": async (db) => {
    await append(db, 2);
    await db.xadd("t", "3-0", "n", 3);
    const read = await db.xread("STREAMS", "s", "t", "1-0", "0");
    assert.deepEqual(read, [
      ["s", [["2-0", ["n", "2"]]]],
      ["t", [["3-0", ["n", "3"]]]],
    ]);
    assert.equal(await db.xread("STREAMS", "s", "2-0"), null);
  },

  "a group shares entries among its consumers": async (db) => {
    await append(db, 3);
    assert.equal(await db.xgroup("CREATE", "s", "g", 0), "OK");
    await refused(db.xgroup("CREATE", "s", "g", 0), /Consumer Group name already exists/);
    assert.deepEqual(await readGroup(db, "ann", ">", 2), ["1-0", "2-0"]);
    assert.deepEqual(await readGroup(db, "bob", ">", 2), ["3-0"]);
    assert.equal(await readGroup(db, "bob", ">", 2), null);
    await refused(db.xreadgroup("GROUP", "absent", "ann", "STREAMS", "s", ">"), /NOGROUP/);
  },

  "entries are pending until acknowledged": async (db) => {
    await append(db, 3);
    await db.xgroup("CREATE", "s", "g", 0);
    await readGroup(db, "ann", ">", 3);
    assert.deepEqual(await db.xpending("s", "g"), [3, "1-0", "3-0", [["ann", "3"]]]);
    assert.equal(await db.xack("s", "g", "1-0", "99-0"), 1);
    assert.deepEqual(await readGroup(db, "ann", "0", 3), ["2-0", "3-0"]);
    const [[id, consumer, , deliveries]] = await db.xpending("s", "g", "-", "+", 1);
    assert.deepEqual([id, consumer, deliveries], ["2-0", "ann", 2]);
  },

  "claims pending entries for another consumer": async (db) => {
    await append(db, 3);
    await db.xgroup("CREATE", "s", "g", 0);
    await readGroup(db, "ann", ">", 3);
    assert.deepEqual(ids(await db.xclaim("s", "g", "bob", 0, "1-0")), ["1-0"]);
    assert.deepEqual(await db.xclaim("s", "g", "bob", 3600000, "2-0"), []);
    assert.deepEqual(await db.xclaim("s", "g", "bob", 0, "2-0", "JUSTID"), ["2-0"]);
    const [following, claimed, deleted] = await db.xautoclaim("s", "g", "cid", 0, 0, "COUNT", 2);
    assert.deepEqual([following, ids(claimed), deleted], ["3-0", ["1-0", "2-0"], []]);
    const consumers = (await db.xinfo("CONSUMERS", "s", "g")).map(described);
    const pending = Object.fromEntries(consumers.map((consumer) => [consumer.name, consumer.pending]));
    assert.deepEqual(pending, { ann: 1, bob: 0, cid: 2 });
  },

  "manages groups and consumers": async (db) => {
    assert.equal(await db.xgroup("CREATE", "s", "g", "$", "MKSTREAM"), "OK");
    await append(db, 2);
    assert.equal(await db.xgroup("CREATECONSUMER", "s", "g", "ann"), 1);
    assert.equal(await db.xgroup("CREATECONSUMER", "s", "g", "ann"), 0);
    assert.deepEqual(await readGroup(db, "ann", ">", 3), ["1-0", "2-0"]);
    assert.equal(await db.xgroup("DELCONSUMER", "s", "g", "ann"), 2);
    assert.equal(await db.xgroup("SETID", "s", "g", "1-0"), "OK");
    assert.deepEqual(await readGroup(db, "ann", ">", 3), ["2-0"]);
    assert.equal(await db.xgroup("DESTROY", "s", "g"), 1);
    assert.deepEqual(await db.xinfo("GROUPS", "s"), []);
  },

  "describes a stream and its groups": async (db) => {
    await append(db, 3);
    await db.xgroup("CREATE", "s", "g", 0);
    await readGroup(db, "ann", ">", 2);
    const stream = described(await db.xinfo("STREAM", "s"));
    assert.deepEqual([stream.length, stream.groups, stream["last-generated-id"]], [3, 1, "3-0"]);
    assert.deepEqual([stream["first-entry"][0], stream["last-entry"][0]], ["1-0", "3-0"]);
    assert.deepEqual((await db.xinfo("GROUPS", "s")).map(described), [
      { name: "g", consumers: 1, pending: 2, "last-delivered-id": "2-0", "entries-read": 2, lag: 1 },
    ]);
  },

  "refuses a key of another type": async (db) => {
    await db.set("word", "abc");
    await refused(db.xadd("word", "*", "f", "v"), /WRONGTYPE/);
    await refused(db.xread("STREAMS", "word", 0), /WRONGTYPE/);
    await refused(db.xlen("word"), /WRONGTYPE/);
  },

  "holds 10000 entries and gives them in pages": async (db) => {
    await append(db, MANY);
    const read = [];
    for (let page; (page = await db.xread("COUNT", 999, "STREAMS", "s", read.at(-1) ?? "0")); ) {
      read.push(...ids(page[0][1]));
    }
    assert.deepEqual(read, numbered(MANY));
    assert.deepEqual(await db.xrange("s", 5000, 5000), [["5000-0", ["n", "5000"]]]);
  },

  "a group delivers 10000 entries once": async (db) => {
    await append(db, MANY);
    await db.xgroup("CREATE", "s", "g", 0);
    const read = [];
    for (let page; (page = await readGroup(db, "ann", ">", 999)); ) read.push(...page);
    assert.deepEqual(read, numbered(MANY));
    assert.equal(await db.xack("s", "g", ...read), MANY);
  },
};
