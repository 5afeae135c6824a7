#!/usr/bin/env python3
"""Starts the server named by VARVE_SERVER with little address space: it works with what there is, or says what it needs, and never dies of it.

    VARVE_SERVER=target/release/varve-server tests/process/address_space.py [CASE ...]
"""

import os
import shlex
import sys
from unittest import mock

from run import Error, Server, run
from saving import Saving, facts

MIB = 1 << 10  # in the unit of `ulimit -v`


def limited(mebibytes):
    """Servers that are started meanwhile may have so much address space."""
    limit = "ulimit -v %d; exec \"$0\" \"$@\"" % (mebibytes * MIB)
    return mock.patch.dict(os.environ, VARVE_SERVER="sh -c %s %s" % (shlex.quote(limit), os.environ["VARVE_SERVER"]))


def a_gigabyte_is_enough():
    for settings in ((), ("--appendonly", "yes")):
        with limited(1024), Saving(*settings) as server:
            db = server.connect()
            for number in range(300):
                assert db.command("SET", "k%d" % number, "x" * 100_000) == b"OK"
                assert db.command("HSET", "h%d" % number, *range(100)) == 50
            assert db.command("SAVE") == b"OK" and db.command("BGSAVE") == b"Background saving started"
            server.until(lambda: facts(db)["rdb_bgsave_in_progress"] == "0")
            assert facts(db)["rdb_last_bgsave_status"] == "ok"
            clients = [server.connect() for _ in range(50)]
            assert all(client.command("STRLEN", "k7") == 100_000 for client in clients)
            Server.send(db, "SHUTDOWN")
            assert server.ends_with_status() == 0
            assert "Address space is limited" in server.output.read_text()


def what_does_not_fit_is_refused_and_the_rest_stays():
    with limited(1024), Saving() as server:
        db, value, refused = server.connect(), b"x" * 100_000, None
        for number in range(10_000):
            refused = db.command("SET", "k%d" % number, value)
            if refused != b"OK":
                break
        assert isinstance(refused, Error) and refused.startswith(b"OOM "), refused
        assert 1000 < number < 10_000, number
        assert db.command("STRLEN", "k1") == len(value)
        assert db.command("SAVE") == b"OK"
        assert db.command("DEL", *("k%d" % at for at in range(number))) == number
        assert db.command("SET", "k", value) == b"OK"
        Server.send(db, "SHUTDOWN")
        assert server.ends_with_status() == 0


def with_less_it_starts_or_says_what_it_needs():
    started = 0
    for mebibytes in (40, 80, 120, 160, 240, 320, 480, 640):
        with limited(mebibytes):
            server = Saving()
            try:
                server.until(lambda: server.process.poll() is not None or "Ready to accept" in server.output.read_text())
                output = server.output.read_text()
                if "Ready to accept" in output:
                    started += 1
                    db = server.connect()
                    assert db.command("SET", "k", "v") == b"OK"
                    db.command("BGSAVE")
                    server.until(lambda: facts(db)["rdb_bgsave_in_progress"] == "0")
                    Server.send(db, "SHUTDOWN", "NOSAVE")
                    assert server.ends_with_status() == 0, (mebibytes, output)
                elif mebibytes >= 80:
                    assert server.ends_with_status() == 1 and "ulimit -v" in output, (mebibytes, server.process.poll(), output)
            finally:
                server.__exit__()
    assert started, "not even with 640 MB"


if __name__ == "__main__":
    sys.exit(run(globals()))
