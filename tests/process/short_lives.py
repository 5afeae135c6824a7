#!/usr/bin/env python3
"""Ends the server named by VARVE_SERVER again and again soon after its start, and counts the append-only files that it leaves.

    VARVE_SERVER=target/release/varve-server tests/process/short_lives.py [--lives 562] [--beside-valkey]

Of three lives one writes nothing, one changes a few keys, and one rotates the files; each is killed. With `--beside-valkey` Valkey
lives the same lives, and both are told: files and bytes at the end, and the most that there ever were.
"""

import argparse
import contextlib
import os
import pathlib
import sys
import tempfile
import time

from appending import Appending
from numbered import plain
from peers import ROOT, give_away, started
from run import PATIENCE
from saving import facts

DATA = 100  # keys at the begin
VALUE = 10_000  # bytes of each
LARGEST = 3, 1.1  # files, and bytes as a multiple of Valkey's, at the end
MOST = 5, 2.2  # the same at any time: a base that was replaced, and what it was for, may still be there


class Count:
    """How many files there are in a folder, and how many bytes they have."""

    def __init__(self, folder):
        self.place = pathlib.Path(folder, "appendonlydir")
        self.most = self.now = (0, 0)

    def take(self):
        sizes = []
        # The lock of the server that is at work has no bytes, and begins with a dot.
        for path in self.place.glob("[!.]*"):
            # One may be removed meanwhile.
            with contextlib.suppress(FileNotFoundError):
                sizes.append(path.stat().st_size)
        self.now = len(sizes), sum(sizes)
        self.most = tuple(map(max, self.most, self.now))


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in %d s" % PATIENCE
        time.sleep(0.002)


def fill(db):
    for number in range(DATA):
        assert db.command("SET", "key:%d" % number, os.urandom(VALUE)) == b"OK"


def live(db, number):
    """What a client does in a life."""
    assert db.command("DBSIZE") == DATA + (number > 1), number
    if number % 3 == 1:
        assert [db.command("SET", "counter", number) for _ in range(20)] == [b"OK"] * 20
    if number % 3 == 2:
        assert plain(db.command("GET", "counter")) == b"%d" % (number - 1)
        db.command("BGREWRITEAOF")
        until(lambda: facts(db)["aof_rewrite_in_progress"] == "0" and facts(db)["aof_last_bgrewrite_status"] == "ok")


def lives(begin, folder, count):
    """The files behind so many lives of a server, which `begin` starts."""
    counted = Count(folder)
    for number in range(count):
        with begin() as db:
            live(db, number)
        counted.take()
    # The last one has time to remove what is not needed.
    with begin() as db:
        until(lambda: counted.take() or counted.now[0] <= LARGEST[0])
        assert db.command("DBSIZE") == DATA + 1
    return counted


def of_varve(folder, count):
    @contextlib.contextmanager
    def begin():
        with Appending("--appendfsync", "always", folder=folder) as server:
            yield server.connect()
            server.kill()

    with begin() as db:
        fill(db)
    return lives(begin, folder, count)


def of_valkey(count):
    with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True) as place:
        give_away(place)
        begin = lambda: started("valkey-server", place, "--appendonly", "yes", "--appendfsync", "always")
        with begin() as db:
            fill(db)
        return lives(begin, place, count)


def tell(name, counted):
    print("%s: %d files, %d bytes at the end; at most %d files, %d bytes" % (name, *counted.now, *counted.most), flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--lives", type=int, default=9)
    options.add_argument("--beside-valkey", action="store_true")
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="varve-lives-") as folder:
        varve = of_varve(folder, options.lives)
    tell("varve", varve)
    for (files, bytes), (most, share) in ((varve.now, LARGEST), (varve.most, MOST)):
        assert files <= most and bytes <= share * DATA * VALUE, "more than is needed"
    if options.beside_valkey:
        valkey = of_valkey(options.lives)
        tell("valkey", valkey)
        assert varve.now[0] <= valkey.now[0] and varve.now[1] <= LARGEST[1] * valkey.now[1]
    print("short lives: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
