#!/usr/bin/env bash
# A CAS of 0 never matches in some commands of Memcached, and is no condition at all in others.
#
# Software   memcached 1.6.18-1+deb12u1 (Debian 12); 1.6.45 answers the same
# Guess      0 is no number that an item can have, and clients use it for "I have none": then it either never matches, in each
#            command that compares, or it is no condition, in each of them.
# Seen       It depends on the command. `cas` with 0 answers EXISTS, `ms k C0`, also with mode R, and `md k C0` answer EX. But
#            `ms k MA C0` and `ms k MP C0` (append, prepend) are done, and `ma k C0` counts, as if there was no C; with a C of
#            another item's number all three answer EX. A client that keeps 0 where it has no number is protected in the one
#            half, and overwrites what it has not seen in the other.
# Output     cas 0: EXISTS; ms C0: EX; ms MR C0: EX; md C0: EX; ms MA C0: HD; ms MP C0: HD; ma C0: HD; with 7: EX EX EX EX EX EX
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
    return replies.readline().decode().split()[0]


COMMANDS = {"ms": "1", "ms MR": "1", "md": None, "ms MA": "1", "ms MP": "1", "ma": None}


def compare(command, cas):
    for number in range(10):  # so that no item here has a low number
        assert ask("set k 0 0 1", "1") == "STORED"
    name, *mode = command.split()
    length = ["1"] if name == "ms" else []
    return ask(" ".join([name, "k", *length, *mode, f"C{cas}"]), COMMANDS[command])


assert ask("set k 0 0 1", "1") == "STORED"
parts = ["cas 0: %s" % ask("cas k 0 0 1 0", "2")]
parts += ["%s C0: %s" % (command, compare(command, 0)) for command in COMMANDS]
parts.append("with 7: %s" % " ".join(compare(command, 7) for command in COMMANDS))
print("; ".join(parts))
PYTHON
)
echo "$said"
[[ $said == "cas 0: EXISTS; ms C0: EX; ms MR C0: EX; md C0: EX; ms MA C0: HD; ms MP C0: HD; ma C0: HD; with 7: EX EX EX EX EX EX" ]]
