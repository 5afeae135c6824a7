#!/usr/bin/env python3
"""Has the server named by VARVE_SERVER find its disk full at many moments of a rotation, a first base and a snapshot, under `appendfsync always`.

    VARVE_SERVER=target/release/varve-server tests/process/full_disks.py [--every N]

Clients write all the time. Told are the changes that are refused once there is space again, be it that what has failed has given it
back or that somebody has made room, and the files that are left over; both must be none, and nothing acknowledged may be lost.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from appending import Appending
from leftovers import is_rewritten, refused
from run import PATIENCE, Closed, Error
from saving import facts

DISK = 48 << 20
VALUES, VALUE = 96, 64 << 10  # what there is, and cannot be compressed
DATA = VALUES * VALUE
FRACTIONS = 0, 0.1, 0.4, 0.7, 0.9, 0.98, 1.2  # of the data, for which there is space when it begins
WORKS = "rotation", "rotation of commands", "first base", "snapshot"
CASES = [(work, fraction) for work in WORKS for fraction in FRACTIONS] + [("rotation by itself", 0.5)]
ENOUGH = 2 << 20  # bytes that the journal needs to go on


@contextlib.contextmanager
def disk():
    """A folder on a disk of its own; nothing where none can be mounted."""
    with tempfile.TemporaryDirectory(prefix="varve-disk-") as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % DISK, "tmpfs", folder], capture_output=True).returncode:
            yield None
            return
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def fill_but(ballast, room):
    """Fills the disk, but for so many bytes."""
    with ballast.open("wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 65536)
        file.truncate(max(file.tell() - room, 0))


class Writer(threading.Thread):
    """A client that writes all the time, and knows what was acknowledged."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.db, self.acknowledged, self.sent, self.is_over = server.connect(60), 0, 0, False

    def run(self):
        with contextlib.suppress(Closed, OSError):
            while not self.is_over:
                self.sent += 1
                reply = self.db.command("SET", "counter", self.sent)
                if not isinstance(reply, Error):
                    self.acknowledged = self.sent
                time.sleep(0.0005)


def begin(db, work):
    """Begins a work; returns what says whether it is over."""
    if work == "snapshot":
        assert db.command("BGSAVE") == b"Background saving started"
        return lambda: facts(db)["rdb_bgsave_in_progress"] == "0"
    if work == "first base":
        if isinstance(db.command("CONFIG", "SET", "appendonly", "yes"), Error):
            return lambda: True
    elif work == "rotation by itself":
        assert db.command("CONFIG", "SET", "auto-aof-rewrite-percentage", "1", "auto-aof-rewrite-min-size", "1") == b"OK"
    else:
        assert db.command("BGREWRITEAOF").startswith(b"Background append only file rewriting ")
    # One that fails in the background is tried again by itself.
    return lambda: facts(db)["aof_last_bgrewrite_status"] == "err" or facts(db)["aof_rewrites"] != "0" and is_rewritten(db)


def has_room(folder):
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= ENOUGH


def one(work, fraction):
    """Runs a case; the changes refused though there was space, and the files left over."""
    with disk() as folder:
        if folder is None:
            return None
        form = "no" if work == "rotation of commands" else "yes"
        settings = "--appendfsync", "always", "--auto-aof-rewrite-percentage", 0, "--aof-use-rdb-preamble", form
        is_off = ("--appendonly", "no") if work == "first base" else ()
        with Appending(*settings, *is_off, folder=folder) as server:
            db, ballast = server.connect(), pathlib.Path(folder, "ballast")
            for number in range(VALUES):
                assert db.command("SET", "value:%d" % number, os.urandom(VALUE)) == b"OK"
            writer = Writer(server)
            writer.start()
            fill_but(ballast, int(fraction * DATA))
            is_over = begin(db, work)
            server.until(is_over)
            before = 0
            if has_room(folder) and work not in ("first base", "rotation by itself"):
                # What has failed has given its space back.
                before = refused(server.connect())
            ballast.unlink()
            probe = server.connect()
            server.until(lambda: probe.command("SET", "healed", 1) == b"OK", 60)
            behind = refused(probe)
            if work == "first base":
                assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
                server.until(lambda: facts(db)["aof_rewrites"] != "0" and is_rewritten(db), 60)
                # What was acknowledged before there was a journal is in its files behind this.
                assert db.command("SET", "healed", 2) == b"OK" and db.command("WAITAOF", 1, 0, 60_000)[0] == 1
            writer.is_over = True
            writer.join(PATIENCE)
            temporary = lambda: [path.name for path in pathlib.Path(folder).rglob("temp-*")]
            if work == "rotation by itself":
                db.command("CONFIG", "SET", "auto-aof-rewrite-percentage", "0")
            with contextlib.suppress(AssertionError):
                server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "0" and not temporary(), 5)
            left = temporary()
            server.kill()
        with Appending(*settings, folder=folder) as server:
            db = server.connect()
            assert db.command("EXISTS", *("value:%d" % number for number in range(VALUES))) == VALUES
            found = int(db.command("GET", "counter"))
            assert writer.acknowledged <= found <= writer.sent, (writer.acknowledged, found, writer.sent)
        return before + behind, left


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--every", type=int, default=1)
    options = options.parse_args()
    with disk() as folder:
        if folder is None:
            print("skipped  full disks: no disk can be mounted here")
            return 0
    refusals = failed = 0
    left_over = []
    cases = CASES[:: options.every]
    for work, fraction in cases:
        try:
            changes, left = one(work, fraction)
            refusals, left_over = refusals + changes, left_over + left
            if changes or left:
                print("%s with room for %g of the data: %d refused, left over: %s" % (work, fraction, changes, left), flush=True)
        except AssertionError as error:
            failed += 1
            print("FAILED   %s with room for %g of the data: %s" % (work, fraction, error), flush=True)
    print("full disks: %d, changes refused with space: %d, files left over: %d, failed: %d" % (len(cases), refusals, len(left_over), failed))
    return 1 if refusals or left_over or failed else 0


if __name__ == "__main__":
    sys.exit(main())
