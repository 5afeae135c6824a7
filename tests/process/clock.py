#!/usr/bin/env python3
"""Has the server named by VARVE_SERVER run while its wall clock is set back and forward, and holds it to the time that passes.

    VARVE_SERVER=target/release/varve-server tests/process/clock.py [CASE ...]

A library that is loaded before the C library (clock.c) stands for whoever sets the clock of the machine.
"""

import contextlib
import mmap
import os
import pathlib
import subprocess
import sys
import tempfile
from unittest import mock

from appending import Appending
from numbered import plain
from run import run

DAY = 24 * 3600


@contextlib.contextmanager
def settable_clock():
    """Servers that are started here have a wall clock that is set by this function, to so many seconds from now."""
    with tempfile.TemporaryDirectory(prefix="varve-clock-") as folder:
        library, seconds = pathlib.Path(folder, "clock.so"), pathlib.Path(folder, "seconds")
        source = pathlib.Path(__file__).with_suffix(".c")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, source], check=True)
        seconds.write_bytes(bytes(8))
        server = "env LD_PRELOAD=%s WALL_SECONDS=%s %s" % (library, seconds, os.environ["VARVE_SERVER"])
        with seconds.open("r+b") as file, mmap.mmap(file.fileno(), 8) as page, mock.patch.dict(os.environ, VARVE_SERVER=server):

            def set_clock(by):
                page[:] = by.to_bytes(8, sys.byteorder, signed=True)

            yield set_clock


def everysec_syncs_within_a_second_or_so_whatever_the_clock_is_set_to():
    for by in (-DAY, DAY):
        with settable_clock() as set_clock, Appending("--appendfsync", "everysec") as server:
            db = server.connect()
            assert db.command("SET", "k", 1) == b"OK"
            assert db.command("WAITAOF", 1, 0, 10_000) == [1, 0]
            before = int(db.command("TIME")[0])
            set_clock(by)
            assert abs(int(db.command("TIME")[0]) - before - by) < 60, "the clock was not set"
            assert db.command("SET", "k", 2) == b"OK"
            assert db.command("WAITAOF", 1, 0, 10_000) == [1, 0], by


def a_key_keeps_its_deadline_by_the_clock_on_the_wall():
    with settable_clock() as set_clock, Appending() as server:
        db = server.connect()
        assert db.command("SET", "k", "v", "EX", DAY) == b"OK"
        set_clock(-DAY)
        assert 2 * DAY - 60 < db.command("TTL", "k") <= 2 * DAY
        set_clock(2 * DAY)
        assert plain(db.command("GET", "k")) is None


if __name__ == "__main__":
    sys.exit(run(globals()))
