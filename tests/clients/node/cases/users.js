"use strict";

const assert = require("node:assert/strict");
const { randomBytes } = require("node:crypto");
const { once } = require("node:events");
const Redis = require("ioredis");
const { pairs, refused, waitUntil } = require("./support");

const RIGHTS = ["~u:*", "+@read", "+@write", "+@connection", "+@transaction", "-@dangerous", "+acl|whoami"];

// Runs `use` with name and password of a user who may read and write what begins with `u:`.
async function withUser(db, use) {
  const [name, password] = [`user-${randomBytes(4).toString("hex")}`, `${randomBytes(4).toString("hex")}@:/ %`];
  assert.equal(await db.acl("SETUSER", name, "on", `>${password}`, ...RIGHTS), "OK");
  try {
    await use(name, password);
  } finally {
    await db.acl("DELUSER", name);
    await db.acl("LOG", "RESET");
  }
}

// Runs `use` with a connection: it is tried again until it can log in, and what waits for it fails each time that it cannot.
async function withConnection(connection, use) {
  connection.on("error", () => {});
  try {
    await use(connection);
  } finally {
    connection.disconnect();
  }
}

const as = (db, username, password, use) => withConnection(db.duplicate({ username, password, maxRetriesPerRequest: null }), use);

// The connections of a user, by number.
async function connections(db, name) {
  const all = (await db.client("LIST")).trim().split("\n");
  return all.filter((one) => one.includes(` user=${name} `)).map((one) => Number(/^id=(\d+)/.exec(one)[1]));
}

module.exports = {
  "logs in by options": (db) =>
    withUser(db, (name, password) =>
      as(db, name, password, async (user) => {
        assert.deepEqual([await user.acl("WHOAMI"), await user.set("u:1", "v"), await user.get("u:1")], [name, "OK", "v"]);
        assert.deepEqual(await user.multi().acl("WHOAMI").ping().exec(), [[null, name], [null, "PONG"]]);
        assert.deepEqual(await connections(db, name), [await user.client("ID")]);
      }),
    ),

  "logs in by URL": (db) =>
    withUser(db, (name, password) => {
      const url = `redis://${name}:${encodeURIComponent(password)}@${db.options.host}:${db.options.port}/0`;
      return withConnection(new Redis(url), async (user) => {
        assert.equal(await user.acl("WHOAMI"), name);
        assert.deepEqual(await connections(db, name), [await user.client("ID")]);
      });
    }),

  "each of several connections is the user": (db) =>
    withUser(db, (name, password) =>
      as(db, name, password, async (user) => {
        const all = [user, user.duplicate(), user.duplicate(), user.duplicate()];
        try {
          assert.deepEqual(await Promise.all(all.map((one) => one.acl("WHOAMI"))), Array(4).fill(name));
          assert.deepEqual((await connections(db, name)).sort(), (await Promise.all(all.map((one) => one.client("ID")))).sort());
        } finally {
          all.forEach((one) => one.disconnect());
        }
      }),
    ),

  "a wrong password is refused with WRONGPASS": (db) =>
    withUser(db, (name) =>
      as(db, name, "wrong", async (user) => {
        const failure = once(user, "error");
        await refused(user.ping(), /^WRONGPASS /);
        assert.match((await failure)[0].message, /^WRONGPASS /);
        const log = (await db.acl("LOG")).map((entry) => Object.fromEntries(pairs(entry)));
        const tried = log.filter((entry) => entry.username === name).map((entry) => [entry.reason, entry.object]);
        assert.deepEqual(tried, [["auth", "auth"]]);
      }),
    ),

  "what a user may not do is refused with NOPERM": (db) =>
    withUser(db, (name, password) =>
      as(db, name, password, async (user) => {
        await refused(user.flushall(), /^NOPERM .*'flushall'/);
        await refused(user.get("other"), /^NOPERM .*key/);
        assert.equal(await user.get("u:1"), null);
      }),
    ),

  "a changed password is asked of new connections": (db) =>
    withUser(db, (name, password) =>
      as(db, name, password, async (user) => {
        assert.equal(await user.acl("WHOAMI"), name);
        await db.acl("SETUSER", name, "resetpass", ">new");
        assert.deepEqual([await user.acl("WHOAMI"), await user.set("u:1", "v")], [name, "OK"]);
        await as(db, name, password, (other) => refused(other.get("u:1"), /^WRONGPASS /));
        await as(db, name, "new", async (other) => assert.equal(await other.get("u:1"), "v"));
      }),
    ),

  "a deleted user is cut off": (db) =>
    withUser(db, (name, password) =>
      as(db, name, password, async (user) => {
        assert.equal(await user.acl("WHOAMI"), name);
        const [closed, failure] = [once(user, "close"), once(user, "error")];
        assert.equal(await db.acl("DELUSER", name), 1);
        await waitUntil(async () => !(await connections(db, name)).length, "the connection stays");
        await closed;
        assert.match((await failure)[0].message, /^WRONGPASS /);
        await refused(user.ping(), /^WRONGPASS /);
      }),
    ),
};
