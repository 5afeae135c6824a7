#!/usr/bin/env python3
"""Has the server named by VARVE_SERVER save its data to a disk that is slow, or stands still, while clients change everything.

    VARVE_SERVER=target/debug/varve-server tests/process/slow_sink.py [CASE ...]

Only builds with assertions have such a disk (VARVE_FAULT); with others this says that it is skipped.
"""

import contextlib
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
from unittest import mock

from numbered import encoded
from run import PATIENCE, run
from ports import free_port
from saving import Saving, facts, saved

KEYS, VALUE = 40_000, 1_000  # more than may wait for a snapshot at a time
WAITING_MAX = 16 << 20
BATCH = 200  # keys that a client changes with one batch of requests
OVERSHOOT = 2 * BATCH * (VALUE + 100)  # what is handed over by the batches during which the bound is met
LARGE = 400  # hashes
ON_DISK = 4_000  # keys that have been written when the disk is first given something
FIRST_STEP = 4  # a step with files while a snapshot is written


@contextlib.contextmanager
def slow(*settings):
    """A server each of whose steps with files takes a second, for a MB at most."""
    with mock.patch.dict(os.environ, VARVE_FAULT="slow@%d+" % FIRST_STEP), Saving("--threads", "2", *settings) as server:
        yield server


@contextlib.contextmanager
def standing_still(*settings):
    """A server whose disk stands still, and the file that is to be removed before it goes on."""
    with tempfile.NamedTemporaryFile(prefix="varve-stop-", delete=False) as file:
        obstacle = pathlib.Path(file.name)
    fault = {"VARVE_FAULT": "stop@%d+" % FIRST_STEP, "VARVE_STOP": str(obstacle)}
    try:
        with mock.patch.dict(os.environ, fault), Saving("--threads", "2", *settings) as server:
            yield server, obstacle
    finally:
        obstacle.unlink(missing_ok=True)


def write(db, keys):
    """Sets keys to what cannot be compressed, each batch as soon as the one before is answered; the value."""
    value = os.urandom(VALUE)
    for begin in range(0, keys, BATCH):
        db.send_bytes(b"".join(encoded(("SET", "key:%d" % number, value)) for number in range(begin, begin + BATCH)))
        for _ in range(BATCH):
            assert db.read() == b"OK"
    return value


def begins_to_save(server, db):
    assert db.command("BGSAVE") == b"Background saving started"
    server.until(lambda: facts(db)["current_save_keys_processed"] != "0")


def is_with_the_disk(server, db):
    """Begins to save, and returns when the disk stands still over it."""
    begins_to_save(server, db)
    server.until(lambda: int(facts(db)["current_save_keys_processed"]) > ON_DISK)


def a_slow_disk_gets_the_snapshot_while_keys_change():
    """Less than what may wait: nobody is held back, and the file holds what was there."""
    keys = 2_600
    with slow() as server:
        db, other = server.connect(), server.connect()
        write(db, keys)
        digest = db.command("DEBUG", "DIGEST")
        begins_to_save(server, other)
        write(db, 800)
        assert facts(other)["rdb_bgsave_in_progress"] == "1", "the disk was not slow"
        assert saved(server, other)["rdb_last_bgsave_status"] == "ok"
        # How much was handed over hangs on how far the walk had come.
        assert int(facts(other)["rdb_last_cow_size"]) <= WAITING_MAX
        with Saving(folder=server.place) as second:
            assert second.connect().command("DEBUG", "DIGEST") == digest


def a_snapshot_is_given_up_where_a_slow_disk_would_hold_writers_back():
    with slow() as server:
        db, other = server.connect(), server.connect()
        write(db, KEYS)
        begins_to_save(server, other)
        write(db, KEYS)
        told = saved(server, other)
        assert told["rdb_last_bgsave_status"] == "err", told
        assert server.files() == [], "half a file is left"
        assert "The disk is too slow for the snapshot: it is given up" in server.output.read_text()


def a_disk_that_stands_still_holds_nobody_up_and_the_snapshot_is_made_when_it_goes_on():
    with standing_still() as (server, obstacle):
        db, other = server.connect(), server.connect()
        write(db, KEYS)
        is_with_the_disk(server, other)
        for _ in range(2):
            # The disk stands still until all of this is answered.
            write(db, KEYS)
        told = facts(other)
        assert told["rdb_bgsave_in_progress"] == "1" and told["rdb_last_bgsave_status"] == "err", told
        assert WAITING_MAX / 2 < int(told["current_cow_peak"]) <= WAITING_MAX + OVERSHOOT, told
        digest = db.command("DEBUG", "DIGEST")
        obstacle.unlink()
        server.until(lambda: facts(other)["rdb_last_bgsave_status"] == "ok")
        assert facts(other)["rdb_saves"] == "2", "it was tried again by itself"
        with Saving(folder=server.place) as second:
            assert second.connect().command("DEBUG", "DIGEST") == digest


def a_flush_frees_what_a_snapshot_has_kept_though_its_disk_stands_still():
    with standing_still("--maxmemory", "70mb") as (server, obstacle):
        db, other = server.connect(), server.connect()
        write(db, KEYS)
        is_with_the_disk(server, other)
        assert other.command("FLUSHALL") == b"OK"
        for _ in range(2):
            # What was flushed and all of this together is more than there may be.
            write(db, KEYS)
        told = facts(other)
        assert told["rdb_bgsave_in_progress"] == "1" and told["current_cow_size"] == "0", told
        obstacle.unlink()
        assert saved(server, other)["rdb_last_bgsave_status"] == "ok", "what is cancelled has not failed"


def who_acts_on_everything_does_not_wait_for_the_disk():
    with standing_still() as (server, obstacle):
        db, other = server.connect(), server.connect()
        keys = 3_600  # all are written, and some have to wait in front of the disk
        write(db, keys)
        begins_to_save(server, other)
        server.until(lambda: facts(other)["current_save_keys_processed"] == str(keys))
        assert other.command("SWAPDB", "0", "1") == b"OK"
        assert other.command("FLUSHDB") == b"OK"
        assert facts(other)["rdb_bgsave_in_progress"] == "1", "the disk did not stand still"
        obstacle.unlink()
        assert saved(server, other)["rdb_last_bgsave_status"] == "ok"


def change_large_values(db):
    """Sets all fields of some large hashes, 44 MB together."""
    value = os.urandom(100)
    fields = [part for number in range(1_000) for part in ("field:%d" % number, value)]
    for number in range(LARGE):
        assert isinstance(db.command("HSET", "hash:%d" % number, *fields), int)


def what_only_a_snapshot_holds_refuses_no_writes_and_a_disk_that_stands_still_does_not_hold_it_for_long():
    with standing_still("--maxmemory", "85mb", "--rdbcompression", "no") as (server, obstacle):
        db, other = server.connect(), server.connect()
        change_large_values(db)
        begins_to_save(server, other)
        server.until(lambda: int(facts(other)["current_save_keys_processed"]) > LARGE // 12)
        change_large_values(db)
        assert int(facts(other)["current_cow_peak"]) > WAITING_MAX
        server.until(lambda: facts(other)["rdb_last_bgsave_status"] == "err")
        server.until(lambda: facts(other)["current_cow_size"] == "0")
        for _ in range(2):
            change_large_values(db)
        digest = db.command("DEBUG", "DIGEST")
        obstacle.unlink()
        server.until(lambda: facts(other)["rdb_last_bgsave_status"] == "ok")
        with Saving(folder=server.place) as second:
            assert second.connect().command("DEBUG", "DIGEST") == digest


def no_write_is_refused_because_a_disk_is_slow():
    with standing_still("--save", "3600 1000000") as (server, obstacle):
        db, other = server.connect(), server.connect()
        write(db, KEYS)
        is_with_the_disk(server, other)
        value = write(db, KEYS)
        assert facts(other)["rdb_last_bgsave_status"] == "err"
        assert other.command("SET", "k", "v") == b"OK"
        assert other.command("GET", "key:1") == value
        obstacle.unlink()
        server.until(lambda: facts(other)["rdb_last_bgsave_status"] == "ok")


def faults():
    """True for a build that can have such a disk."""
    with tempfile.TemporaryDirectory(prefix="varve-slow-") as folder:
        command = [*shlex.split(os.environ["VARVE_SERVER"]), "--port", str(free_port()), "--appendonly", "yes", "--dir", folder]
        environment = {**os.environ, "VARVE_FAULT": "die@1"}
        try:
            return subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE).returncode < 0
        except subprocess.TimeoutExpired:
            return False


if __name__ == "__main__":
    if not faults():
        print("skipped  a slow sink: this build has no faults of the disk")
        sys.exit(0)
    sys.exit(run(globals()))
