#!/usr/bin/env python3
"""Libraries of functions of the server named by VARVE_SERVER: dumps of which every byte is another one, and libraries of any size.

    VARVE_SERVER=target/release/varve-server tests/process/functions.py [CASE ...]
"""

import contextlib
import pathlib
import random
import select
import sys
import tempfile
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


@contextlib.contextmanager
def loaded_late(db, number):
    """A transaction that takes long before it loads a library, which is of another name for each number."""
    library = LIBRARY
    for word in ("shelf", "'put'", "'count'"):
        library = library.replace(word, word[:-1] + str(number) + word[-1] if word[0] == "'" else word + str(number))
    slow = "local sum = 0 for number = 1, 2e7 do sum = sum + number end return sum"
    for words in (["MULTI"], ["EVAL", slow, "0"], ["FUNCTION", "LOAD", library], ["EXEC"]):
        db.send([word.encode() for word in words])
    yield
    assert [db.read() for _ in range(4)][-1][1] == b"shelf%d" % number


def files_have_the_libraries_that_came_before_the_cut_however_late():
    automatic = ("--threads", "2", "--appendonly", "yes", "--auto-aof-rewrite-percentage", "1", "--auto-aof-rewrite-min-size", "1")
    with tempfile.TemporaryDirectory() as folder:
        number, late = 0, 0
        while late < 2:
            with Server(*automatic, "--dir", folder) as server:
                db = server.connect()
                assert len(names(db)) == number, late
                begun = lambda: server.output.read_text().count("rewriting started")
                before, begun_meanwhile = begun(), 0
                while not begun_meanwhile:
                    with loaded_late(db, number):
                        while not select.select([db.socket], [], [], 0.001)[0] and not begun_meanwhile:
                            begun_meanwhile = begun() - before
                    number, before, late = number + 1, begun(), late + (begun_meanwhile > 0)
                server.until(lambda: b"aof_rewrite_in_progress:0" in db.command("INFO", "persistence"))
                server.process.kill()
                server.process.wait()


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
