#!/usr/bin/env python3
"""Has the server named by VARVE_SERVER die, or a step with its files fail, before each step of a story in turn, and looks at what is left.

    VARVE_SERVER=target/debug/varve-server tests/process/crashes.py [--every N] [--kinds die,fail,full] [--valkey-every N]

The story writes under `appendfsync always`, rotates, saves, turns the append-only file off and on again, and rotates once more. What
was acknowledged while it was on must be there at the next start, and valkey-server starts from the files as well. Only builds with
assertions have such faults; with others this says that it is skipped.
"""

import argparse
import itertools
import os
import sys
import tempfile
import time
from unittest import mock

from appending import digest
from peers import are_there, peer
from run import PATIENCE, Closed, Error
from saving import Saving, facts

SETTINGS = ("--appendonly", "yes", "--appendfsync", "always", "--save", "", "--threads", "1")
LONG_STEP = 20  # steps that are passed over in search of the end


class Story:
    """What a client does, and what it knows of it."""

    def __init__(self, db):
        self.db = db
        self.acknowledged = 0  # numbers that must be there
        self.sent = 0  # numbers that may be there
        self.is_promised = True

    def tell(self):
        self.write(20)
        self.rotate()
        self.write(20)
        self.ask("BGSAVE")
        self.until(lambda fields: fields["rdb_bgsave_in_progress"] == "0")
        self.write(10)
        self.is_promised = False
        self.ask("CONFIG", "SET", "appendonly", "no")
        self.write(5)
        self.ask("CONFIG", "SET", "appendonly", "yes")
        self.until(lambda fields: fields["aof_rewrite_in_progress"] == "0" and fields["aof_last_bgrewrite_status"] == "ok")
        self.is_promised = True
        self.write(10)
        self.rotate()
        self.write(10)

    def ask(self, *words):
        """Sends a command until it is not refused: a disk that fails once lets go on."""
        deadline = time.monotonic() + PATIENCE
        while True:
            reply = self.db.command(*words)
            if not isinstance(reply, Error):
                return reply
            assert any(word in bytes(reply) for word in (b"MISCONF", b"already in progress", b"Unable to turn on AOF")), reply
            assert time.monotonic() < deadline, reply
            time.sleep(0.02)

    def write(self, count):
        for _ in range(count):
            self.sent += 1
            self.ask("RPUSH", "numbers", self.sent)
            if self.is_promised:
                self.acknowledged = self.sent

    def rotate(self):
        self.ask("BGREWRITEAOF")
        self.until(lambda fields: fields["aof_rewrite_in_progress"] == "0")

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition(facts(self.db)):
            assert time.monotonic() < deadline, facts(self.db)
            time.sleep(0.005)


def with_fault(fault, folder):
    """Tells the story to a server with a fault; the story, and whether the process died before its end."""
    with mock.patch.dict(os.environ, VARVE_FAULT=fault):
        server = Saving(*SETTINGS, folder=folder)
    try:
        try:
            server.__enter__()
        except (AssertionError, OSError):
            return Story(None), True
        story = Story(server.connect())
        try:
            story.tell()
        except (Closed, OSError):
            return story, True
        return story, False
    finally:
        server.process.kill()
        server.process.wait()
        server.__exit__()


def look(folder, story, asks_valkey):
    """Starts from what is left, and compares."""
    with Saving(*SETTINGS, folder=folder) as server:
        db = server.connect()
        numbers = [int(number) for number in db.command("LRANGE", "numbers", 0, -1)]
        assert numbers == list(range(1, len(numbers) + 1)), numbers
        assert story.acknowledged <= len(numbers) <= story.sent, (story.acknowledged, len(numbers), story.sent)
        expected = digest(db)
    if asks_valkey and are_there():
        with peer("valkey-server", folder, "--appendonly", "yes") as valkey:
            assert digest(valkey) == expected


def dies_at(step):
    with tempfile.TemporaryDirectory(prefix="varve-crashes-") as folder:
        return with_fault("die@%d" % step, folder)[1]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--kinds", default="die,fail,full")
    options.add_argument("--valkey-every", type=int, default=4)
    options = options.parse_args()
    if not dies_at(1):
        print("skipped  crashes: this build has no faults of the disk")
        return 0
    steps = next(step for step in itertools.count(1, LONG_STEP) if not dies_at(step))
    tried = failed = 0
    for kind in options.kinds.split(","):
        for step in range(options.first, steps, options.every):
            tried += 1
            with tempfile.TemporaryDirectory(prefix="varve-crashes-") as folder:
                try:
                    story, _ = with_fault("%s@%d" % (kind, step), folder)
                    look(folder, story, tried % options.valkey_every == 0)
                except AssertionError as error:
                    failed += 1
                    print("FAILED   %s@%d: %s" % (kind, step, error), flush=True)
        print("crashes: %s before every %d. of about %d steps" % (kind, options.every, steps), flush=True)
    print("crashes: %d passed, %d failed" % (tried - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
