// What the cases share: clients, expected errors, and large collections.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");
const Redis = require("ioredis");

const [host, port] = (process.env.SERVER_ADDR || "127.0.0.1:6379").split(":");
const PATIENCE = 10; // seconds after which a case that waits for something gives up
const MANY = 10000; // elements of a large collection

// Options for TLS, if SERVER_TLS names a folder with ca.crt, client.crt and client.key.
const folder = process.env.SERVER_TLS;
const file = (name) => fs.readFileSync(path.join(folder, name));
const tls = folder && { ca: file("ca.crt"), cert: file("client.crt"), key: file("client.key"), servername: "localhost" };

const client = () => new Redis({ host, port: Number(port), maxRetriesPerRequest: 1, tls });

// The names of the elements of a large collection.
const names = (prefix = "n") => Array.from({ length: MANY }, (_, number) => `${prefix}:${number}`);

// Each byte once.
const everyByte = () => Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

// Fails unless the server refuses the call with an error that matches.
const refused = (call, pattern) =>
  assert.rejects(call, (error) => error.name === "ReplyError" && pattern.test(error.message));

// Fails unless a value lies within limits.
const between = (value, low, high) => assert.ok(low <= value && value <= high, `${value} is not ${low} to ${high}`);

// Returns once the condition holds.
async function waitUntil(condition, what) {
  const deadline = Date.now() + PATIENCE * 1000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, what);
    await sleep(1);
  }
}

// How many clients are blocked.
const waiters = async (db) => Number(/blocked_clients:(\d+)/.exec(await db.info("clients"))[1]);

// Runs `use` with a connection beside that of `db`.
async function withAnother(db, use) {
  const other = db.duplicate();
  try {
    return await use(other);
  } finally {
    other.disconnect();
  }
}

// Everything that a scan stream finds.
async function scanned(stream) {
  const found = [];
  for await (const page of stream) found.push(...page);
  return found;
}

// [a, 1, b, 2] as [[a, 1], [b, 2]].
const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, place) => [flat[2 * place], flat[2 * place + 1]]);

module.exports = {
  MANY,
  PATIENCE,
  between,
  client,
  everyByte,
  names,
  pairs,
  refused,
  scanned,
  waitUntil,
  waiters,
  withAnother,
};
