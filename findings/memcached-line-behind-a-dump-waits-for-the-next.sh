#!/usr/bin/env bash
# A line that comes to Memcached together with a dump is answered only when the client sends something else.
#
# Software   memcached 1.6.18-1+deb12u1 (Debian 12); 1.6.45 does the same
# Guess      Memcached says that nothing may stand before `lru_crawler metadump` in one write. What stands behind it is answered
#            when the dump has ended, as each line is.
# Seen       What stands behind it is read, and then forgotten until more bytes come: `mn` in the same write is not answered
#            within a second, and is once the client sends `version`, in order. A client that pipelines requests behind a dump and
#            waits for their answers waits for ever; one that sends the dump alone, and goes on when it has seen its end, does not.
# Output     together: the dump; a second later: nothing; behind version: MN, VERSION. One after the other: the dump, MN
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3, apt and dpkg of Debian 12, and x86-64.
set -euo pipefail

scratch=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

# The program of the package, and what it is linked to that this machine lacks.
(cd "$scratch" && apt-get download -q memcached=1.6.18-1+deb12u1 libevent-2.1-7 libsasl2-2 >/dev/null 2>&1)
for package in "$scratch"/*.deb; do dpkg -x "$package" "$scratch/root"; done
export LD_LIBRARY_PATH=$scratch/root/usr/lib/x86_64-linux-gnu
memcached=$scratch/root/usr/bin/memcached
"$memcached" --version

port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
"$memcached" -u "$(id -un)" -l 127.0.0.1 -p "$port" -U 0 &
pid=$!

said=$(python3 - "$port" <<'PYTHON'
import socket
import sys
import time

until = time.monotonic() + 20
while True:
    try:
        server = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20)
        break
    except ConnectionRefusedError:
        assert time.monotonic() < until
        time.sleep(0.05)


def hear(seconds):
    """What is sent within so many seconds behind the last bytes."""
    server.settimeout(seconds)
    told = b""
    try:
        while True:
            told += server.recv(1 << 20)
    except TimeoutError:
        return told


def first_words(told):
    words = [line.split()[0].decode().split("=")[0] for line in told.splitlines()]
    return "the dump" + "".join(", " + word for word in words[words.index("END") + 1 :]) if "END" in words else ", ".join(words) or "nothing"


server.sendall(b"set k 0 0 1\r\nx\r\n")
assert hear(1) == b"STORED\r\n"
server.sendall(b"lru_crawler metadump all\r\nmn\r\n")
parts = ["together: " + first_words(hear(1)), "a second later: " + first_words(hear(1))]
server.sendall(b"version\r\n")
parts.append("behind version: " + first_words(hear(1)))
server.sendall(b"lru_crawler metadump all\r\n")
apart = hear(1)
server.sendall(b"mn\r\n")
print("; ".join(parts) + ". One after the other: " + first_words(apart + hear(1)))
PYTHON
)
echo "$said"
[[ $said == "together: the dump; a second later: nothing; behind version: MN, VERSION. One after the other: the dump, MN" ]]
