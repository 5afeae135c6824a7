#!/usr/bin/env bash
# The flags of a meta command are followed one after the other, so what is asked for ahead of a change is told as it was before.
#
# Software   memcached 1.6.18-1+deb12u1 (Debian 12); 1.6.45 answers the same
# Guess      The flags of a line say what is wanted, in any order: `mg k t T100` sets the time to live to 100 seconds and tells
#            it, as `mg k T100 t` does; and an item with ten seconds left that gets 100 by T need not be fetched anew (R30).
# Seen       `mg k t T100` tells -1, the time that the item had before, and `mg k T100 t` tells 100. An item that N30 makes
#            has 30 seconds in both orders, but `mg k t N30` tells that it has none. `R30 T100` tells a client to fetch the
#            item anew (W), `T100 R30` does not. `ma k t T30` tells the time before, too. So a library that sorts the flags, or
#            a proxy that puts its own in front, changes the answers.
# Output     t T100: t-1; T100 t: t100; t N30: t-1; its time: t30; R30 T100: W; T100 R30: none; ma t T30: t-1
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
replies = server.makefile("rb")


def ask(line, block=None):
    server.sendall(line.encode() + b"\r\n" + (b"" if block is None else block.encode() + b"\r\n"))
    return replies.readline().decode().split()


def made(key, seconds):
    assert ask(f"set {key} 0 {seconds} 1", "1") == ["STORED"]
    return key


told = lambda answer: next(word for word in answer if word[0] == "t")
won = lambda answer: "W" if "W" in answer else "none"
print("t T100: %s" % told(ask(f"mg {made('a', 0)} t T100")), end="; ")
print("T100 t: %s" % told(ask(f"mg {made('b', 0)} T100 t")), end="; ")
print("t N30: %s" % told(ask("mg c t N30")), end="; ")
print("its time: %s" % told(ask("mg c t")), end="; ")
print("R30 T100: %s" % won(ask(f"mg {made('d', 10)} R30 T100")), end="; ")
print("T100 R30: %s" % won(ask(f"mg {made('e', 10)} T100 R30")), end="; ")
print("ma t T30: %s" % told(ask(f"ma {made('f', 0)} t T30")))
PYTHON
)
echo "$said"
[[ $said == "t T100: t-1; T100 t: t100; t N30: t-1; its time: t30; R30 T100: W; T100 R30: none; ma t T30: t-1" ]]
