// ioredis against the server at SERVER_ADDR: every case over RESP2, which is all it speaks, one line each, status 1 when one fails.
//
//   client.test.js [GROUP ...]      only the cases of these groups, such as "lists sorted_sets"
"use strict";

const { client } = require("./cases/support");

const groups = [
  "connection",
  "keys",
  "strings",
  "lists",
  "hashes",
  "sets",
  "sorted_sets",
  "streams",
  "geo",
  "hyperloglog",
  "sort",
  "blocking",
  "pipelines",
  "transactions",
  "scripts",
  "pubsub",
  "users",
];

// Whether a case passes on an empty server.
async function passes(title, test) {
  const db = client();
  try {
    await db.flushall();
    await test(db);
    console.log("ok   " + title);
    return true;
  } catch (error) {
    console.log(`FAIL ${title}: ${error.stack}`);
    return false;
  } finally {
    db.disconnect();
  }
}

async function main(chosen) {
  for (const group of chosen.length ? chosen : groups) {
    for (const [name, test] of Object.entries(require(`./cases/${group}`))) {
      if (!(await passes(`${group}: ${name} (RESP2)`, test))) process.exitCode = 1;
    }
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.log("FAIL: " + error.stack);
  process.exit(1);
});
