#!/usr/bin/env python3
"""Libraries of functions of the server named by VARVE_SERVER: dumps of which every byte is another one, and libraries of any size.

    VARVE_SERVER=target/release/varve-server tests/process/functions.py [CASE ...]
"""

import pathlib
import random
import sys
import time

from run import Error, Server, run

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "rdb"))
from byhand import checksum  # noqa: E402

LIBRARY = """#!lua name=shelf
local function put(keys, arguments) return redis.call('RPUSH', keys[1], unpack(arguments)) end
redis.register_function('put', put)
redis.register_function{function_name = 'count', callback = function(keys) return redis.call('LLEN', keys[1]) end, flags = {'no-writes'}}
"""
LARGE = 100 << 20


def names(db):
    return sorted(library[1] for library in db.command("FUNCTION", "LIST"))


def a_dump_with_another_byte_changes_nothing():
    with Server("--threads", "2") as server:
        db = server.connect()
        assert db.command("FUNCTION", "LOAD", LIBRARY) == b"shelf"
        dump = bytes(db.command("FUNCTION", "DUMP"))
        for at in range(len(dump)):
            changed = dump[:at] + bytes([dump[at] ^ random.randrange(1, 256)]) + dump[at + 1:]
            for how in ("FLUSH", "APPEND", "REPLACE"):
                assert isinstance(db.command("FUNCTION", "RESTORE", changed, how), Error), (at, how)
        for length in range(len(dump)):
            assert isinstance(db.command("FUNCTION", "RESTORE", dump[:length], "REPLACE"), Error), length
        assert names(db) == [b"shelf"] and db.command("FCALL", "put", "1", "l", "a") == 1


def a_dump_with_another_byte_and_the_right_checksum_is_taken_whole_or_not_at_all():
    with Server("--threads", "2") as server:
        db, taken, refused = server.connect(), 0, 0
        assert db.command("FUNCTION", "LOAD", LIBRARY) == b"shelf"
        dump = bytes(db.command("FUNCTION", "DUMP"))
        for _ in range(4):
            for at in range(len(dump) - 8):
                body = dump[:at] + bytes([dump[at] ^ random.randrange(1, 256)]) + dump[at + 1:-8]
                reply = db.command("FUNCTION", "RESTORE", body + checksum(body), "FLUSH")
                if isinstance(reply, Error):
                    refused += 1
                    assert names(db) == [b"shelf"], at
                else:
                    taken += 1
                    assert reply == b"OK" and len(names(db)) <= 1, (at, reply)
                    assert db.command("FUNCTION", "RESTORE", dump, "FLUSH") == b"OK"
        assert taken and refused, (taken, refused)
        assert db.command("FCALL", "put", "1", "l", "a") == 1


def a_library_of_100_megabytes_is_loaded_or_refused_and_given_back():
    bodies = ["--" + "x" * LARGE + "\n", "x=1\n" * (LARGE // 4), "local t = {%s}\n" % ("'%s'," % ("y" * 1000) * (LARGE // 1003))]
    with Server("--threads", "2") as server:
        db, other = server.connect(120), server.connect()
        before = server.resident_mib()
        for body in bodies:
            reply = db.command("FUNCTION", "LOAD", "#!lua name=large\n" + body + "redis.register_function('f', function() return 1 end)")
            assert other.command("PING") == b"PONG"
            if isinstance(reply, Error):
                assert names(db) == [], reply
            else:
                assert reply == b"large" and db.command("FCALL", "f", "0") == 1
            assert db.command("FUNCTION", "FLUSH", "SYNC") == b"OK"
        db.close()
        deadline = time.monotonic() + 120
        while server.resident_mib() > before + 100:
            assert time.monotonic() < deadline, (before, server.resident_mib())
            time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(run(globals()))
