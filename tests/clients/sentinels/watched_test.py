#!/usr/bin/env python3
"""Clients that ask sentinels for the primary: what they tell their user while a primary dies and another takes its place.

    VARVE_SERVER=target/release/varve-server tests/clients/sentinels/watched_test.py NAME COMMAND...

The command gets the ports of three sentinels in SENTINELS and SECONDS; it increments `count` of the primary of `all` all the time, and says at
its end in JSON how often that was answered, the longest time between two answers in seconds, and its errors, by the begin of their text.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent.parent
for folder in ("transcripts", "process"):
    sys.path.insert(0, str(TESTS / folder))
from peers import are_there  # noqa: E402
from sentinel import KINDS, watched  # noqa: E402

SECONDS = 14  # for which a client writes; a primary dies after the first three
LONGEST = 10.0  # seconds for which it may not write: one until it is down, a vote, and the client's own waits
# What the libraries say of themselves that a client may meet: connections that end or cannot be made, answers that do not come, a replica where a
# primary was, sentinels that know no primary.
ANNOUNCED = {
    "redis-py": ("ConnectionError", "TimeoutError", "ReadOnlyError", "MasterNotFoundError"),
    "go-redis": ("EOF", "dial tcp", "read tcp", "write tcp", "READONLY", "redis: all sentinels", "i/o timeout"),
    "lettuce": ("RedisConnectionException", "RedisCommandTimeoutException", "RedisReadOnlyException", "RedisCommandExecutionException: READONLY", "RedisException: Connection"),
}


def goes_on(name, command, kind):
    with watched(kind, down_after=1000) as (nodes, sentinels):
        ports = ",".join(str(db.socket.getpeername()[1]) for db in sentinels.all)
        client = subprocess.Popen(command, env={**os.environ, "SENTINELS": ports, "SECONDS": str(SECONDS)}, stdout=subprocess.PIPE, text=True)
        nodes[0].db.command("SET", "count", 0)
        nodes[0].it.until(lambda: int(nodes[0].db.command("GET", "count")) > 200)
        nodes[0].end(signal.SIGKILL)
        nodes[1].it.until(lambda: sentinels.primary() not in (None, nodes[0].port))
        nodes[0].begin()
        output = client.communicate(timeout=SECONDS + 60)[0]
        said = json.loads(output[output.index('{"answered') :].splitlines()[0])
        assert client.returncode == 0
        strange = [error for error in said["errors"] if not error.startswith(ANNOUNCED[name])]
        assert not strange, said
        assert said["answered"] > 300 and said["longest"] < LONGEST, said
        print("ok   %s under %s: %d answered, longest wait %.1f s, errors %s" % (name, kind, said["answered"], said["longest"], said["errors"]))


def main():
    name, command = sys.argv[1], sys.argv[2:]
    if not are_there():
        sys.exit("there are no peers")
    for kind in KINDS:
        goes_on(name, command, kind)


if __name__ == "__main__":
    main()
