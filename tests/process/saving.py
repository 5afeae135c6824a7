#!/usr/bin/env python3
"""Has the server named by VARVE_SERVER save its data in all ways, in folders that take the files and in folders that do not.

    VARVE_SERVER=target/release/varve-server tests/process/saving.py [CASE ...]

Valkey reads the files as well where there is one (peers.py).
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading

from peers import peer
from run import Error, Server, run

MISCONF = b"MISCONF Valkey is configured to save RDB snapshots, but it's currently unable to persist to disk."
LOADING_PATIENCE = 120  # seconds until files are loaded
SLOW = "1000000"  # microseconds for each key, so that a snapshot is at work until it is ended


class Saving(Server):
    """A server whose files are in a folder that outlives it."""

    def __init__(self, *settings, folder=None):
        self.own = tempfile.TemporaryDirectory(prefix="varve-saving-") if folder is None else None
        self.place = pathlib.Path(self.own.name if folder is None else folder)
        super().__init__("--dir", self.place, "--enable-debug-command", "yes", *settings)

    def __enter__(self):
        super().__enter__()
        # It is ready when it has loaded its files.
        self.until(lambda: self.process.poll() is not None or "Ready to accept" in self.output.read_text(), LOADING_PATIENCE)
        assert self.process.poll() is None, "the server did not start: " + self.output.read_text()
        return self

    def __exit__(self, *rest):
        super().__exit__(*rest)
        if self.own:
            self.own.cleanup()

    def files(self):
        """Names of the files, without locks."""
        return sorted(path.name for path in self.place.iterdir() if not path.name.startswith("."))


def facts(db):
    """The section of INFO about files."""
    lines = db.command("INFO", "persistence").decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def fill(db, keys=200):
    """Keys of all types, small ones and large ones."""
    for number in range(keys):
        db.command("SET", "string:%d" % number, "v" * number)
    for name, elements in (("small", 10), ("large", 3000)):
        words = ["element:%d" % number for number in range(elements)]
        db.command("RPUSH", "list:" + name, *words)
        db.command("SADD", "set:" + name, *words)
        db.command("HSET", "hash:" + name, *(word for element in words for word in (element, element * 3)))
        db.command("ZADD", "zset:" + name, *(word for number, element in enumerate(words) for word in (number / 3, element)))
        for number in range(min(elements, 500)):
            db.command("XADD", "stream:" + name, "%d-1" % (number + 1), "field", number)
    db.command("SET", "mortal", "x", "PXAT", 32503680000000)
    db.command("SELECT", 3)
    db.command("SET", "elsewhere", "y")
    db.command("SELECT", 0)


def saved(server, db):
    """Waits until no snapshot is being made."""
    server.until(lambda: facts(db)["rdb_bgsave_in_progress"] == "0")
    return facts(db)


@contextlib.contextmanager
def writers(server, count=2):
    """Clients that overwrite keys of their own as fast as they can."""
    is_over, numbers = threading.Event(), []

    def write(name):
        db, number = server.connect(), 0
        while number == 0 or not is_over.is_set():
            for key in range(100):
                server.send(db, "SET", "load:%s:%d" % (name, key), "%d" % number)
            for key in range(100):
                assert db.read() == b"OK"
            number += 1
        numbers.append(number)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert len(numbers) == count and min(numbers) > 0


def digests(db):
    """Fingerprints of what `fill` makes."""
    names = ["%s:%s" % (kind, size) for kind in ("list", "set", "hash", "zset", "stream") for size in ("small", "large")]
    return db.command("DEBUG", "DIGEST-VALUE", *names, *("string:%d" % number for number in range(200)))


def a_snapshot_is_read_by_varve_and_valkey_alike():
    with Saving("--threads", "2") as server:
        db = server.connect()
        fill(db)
        assert db.command("BGSAVE") == b"Background saving started"
        assert saved(server, db)["rdb_last_bgsave_status"] == "ok"
        assert server.files() == ["dump.rdb"]
        digest = db.command("DEBUG", "DIGEST")
        with peer("valkey-server", server.place) as valkey:
            assert valkey is None or valkey.command("DEBUG", "DIGEST") == digest
        with Saving(folder=server.place) as second:
            assert second.connect().command("DEBUG", "DIGEST") == digest


def a_snapshot_under_load_holds_what_nobody_changed():
    with Saving("--threads", "2") as server:
        db = server.connect()
        fill(db)
        with writers(server):
            for _ in range(5):
                assert db.command("BGSAVE") == b"Background saving started"
                assert saved(server, db)["rdb_last_bgsave_status"] == "ok"
        before = digests(db)
        with peer("valkey-server", server.place) as valkey:
            assert valkey is None or digests(valkey) == before
        with Saving(folder=server.place) as second:
            assert digests(second.connect()) == before


def save_answers_when_the_file_is_there_and_others_are_served_meanwhile():
    with Saving("--threads", "1", "--rdb-key-save-delay", "20000") as server:
        db, other = server.connect(), server.connect()
        db.command("MSET", *(str(word) for word in range(40)))
        server.send(db, "SAVE")
        server.until(lambda: facts(other)["current_save_keys_processed"] != "0")
        assert facts(other)["rdb_bgsave_in_progress"] == "0"
        assert other.command("SET", "meanwhile", "x") == b"OK"
        assert other.command("SAVE") == other.command("BGSAVE") == b"ERR Background save already in progress"
        assert db.read() == b"OK"
        assert server.files() == ["dump.rdb"]
        assert facts(db)["rdb_saves"] == "1"


def progress_is_told_while_a_snapshot_is_made():
    with Saving("--rdb-key-save-delay", "10000") as server:
        db = server.connect()
        db.command("MSET", *(str(word) for word in range(400)))
        db.command("BGSAVE")
        server.until(lambda: int(facts(db)["current_save_keys_processed"]) > 5)
        told = facts(db)
        assert told["current_save_keys_total"] == "200" and 2.5 < float(told["current_fork_perc"]) < 100, told
        assert int(told["current_save_eta_seconds"]) >= 0 and told["rdb_current_bgsave_time_sec"] != "-1", told
        assert db.command("BGSAVE", "CANCEL") == b"Background saving cancelled"
        told = saved(server, db)
        assert told["current_save_keys_total"] == "0" and told["rdb_last_bgsave_status"] == "ok", told


def a_cancelled_snapshot_leaves_the_old_file():
    with Saving() as server:
        db = server.connect()
        assert db.command("BGSAVE", "CANCEL") == b"ERR Background saving is currently not in progress or scheduled"
        db.command("SET", "k", "v")
        assert db.command("SAVE") == b"OK"
        before = (server.place / "dump.rdb").read_bytes()
        db.command("MSET", *(str(word) for word in range(400)))
        db.command("CONFIG", "SET", "rdb-key-save-delay", SLOW)
        db.command("BGSAVE")
        server.until(lambda: len(server.files()) == 2)
        assert db.command("BGSAVE", "CANCEL") == b"Background saving cancelled"
        assert saved(server, db)["rdb_last_bgsave_status"] == "ok"
        assert server.files() == ["dump.rdb"] and (server.place / "dump.rdb").read_bytes() == before
        assert facts(db)["rdb_changes_since_last_save"] == "200"


def flushall_ends_a_snapshot_and_leaves_an_empty_file_if_save_points_are_set():
    for points in ("", "3600 1"):
        with Saving("--save", points) as server:
            db = server.connect()
            db.command("MSET", *(str(word) for word in range(400)))
            assert db.command("SAVE") == b"OK"
            full = (server.place / "dump.rdb").stat().st_size
            db.command("SET", "more", "x")
            db.command("CONFIG", "SET", "rdb-key-save-delay", SLOW)
            db.command("BGSAVE")
            assert db.command("FLUSHALL") == b"OK"
            told = saved(server, db)
            assert told["rdb_last_bgsave_status"] == "ok"
            size = (server.place / "dump.rdb").stat().st_size
            assert size == full if points == "" else size < 200, size
            assert told["rdb_changes_since_last_save"] == ("202" if points == "" else "0"), told


def flushall_that_saves_answers_before_it_tells_that_no_cached_key_is_valid():
    with Saving("--save", "3600 1") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            raw.settimeout(LOADING_PATIENCE)
            raw.sendall(b"HELLO 3\r\nCLIENT TRACKING ON\r\nGET k\r\nFLUSHALL\r\nPING\r\n")
            got = b""
            while b"+PONG" not in got:
                got += raw.recv(4096)
        assert got.endswith(b"+OK\r\n_\r\n+OK\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n+PONG\r\n"), got


def the_pause_at_the_cut_is_told():
    with Saving("--appendonly", "yes") as server:
        db = server.connect()
        server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "0")

        def pause():
            return int(dict(line.split(":", 1) for line in db.command("INFO", "stats").decode().splitlines()[1:])["latest_fork_usec"])

        db.command("MSET", *(str(word) for word in range(400)))
        assert db.command("SAVE") == b"OK"
        first = pause()
        assert 0 < first < 10**6, first
        # That of a snapshot at work is told as well, as are those of rotations.
        db.command("CONFIG", "SET", "rdb-key-save-delay", SLOW)
        db.command("BGREWRITEAOF")
        server.until(lambda: facts(db)["current_save_keys_total"] == "200")
        assert pause() > 0


def a_save_point_makes_a_snapshot_by_itself():
    with Saving("--save", "3600 1", "--save", "1 3") as server:
        db = server.connect()
        assert db.command("CONFIG", "GET", "save") == [b"save", b"3600 1 1 3"]
        db.command("MSET", "a", 1, "b", 2)
        first = db.command("LASTSAVE")
        db.command("SET", "c", 3)
        server.until(lambda: facts(db)["rdb_changes_since_last_save"] == "0")
        assert db.command("LASTSAVE") > first
        assert server.files() == ["dump.rdb"]
        server.process.kill()
        server.process.wait()
        with Saving(folder=server.place) as second:
            db = second.connect()
            assert db.command("MGET", "a", "b", "c") == [b"1", b"2", b"3"]
            assert facts(db)["rdb_changes_since_last_save"] == "0"


def after_a_snapshot_that_failed_writes_are_refused_until_one_succeeds():
    with Saving("--save", "3600 100000") as server:
        db = server.connect()
        db.command("SET", "k", "v")
        server.place.rename(server.place.with_suffix(".away"))
        assert db.command("SAVE") == b"ERR"
        assert facts(db)["rdb_last_bgsave_status"] == "ok" and db.command("SET", "k", "v") == b"OK"
        assert db.command("BGSAVE") == b"Background saving started"
        assert saved(server, db)["rdb_last_bgsave_status"] == "err"
        for words in (["SET", "k", "w"], ["PING"], ["FLUSHALL"], ["EXPIRE", "k", "1"]):
            reply = db.command(*words)
            assert isinstance(reply, Error) and bytes(reply).startswith(MISCONF), reply
        assert db.command("GET", "k") == b"v"
        for name, value in (("stop-writes-on-bgsave-error", "no"), ("save", "")):
            before = db.command("CONFIG", "GET", name)[1]
            db.command("CONFIG", "SET", name, value)
            assert db.command("SET", "k", "v") == b"OK"
            db.command("CONFIG", "SET", name, before)
            assert isinstance(db.command("SET", "k", "v"), Error)
        assert db.command("SHUTDOWN") == b"ERR Errors trying to SHUTDOWN. Check logs."
        assert "looking for the directory" in server.output.read_text()
        server.place.with_suffix(".away").rename(server.place)
        assert db.command("BGSAVE") == b"Background saving started"
        assert saved(server, db)["rdb_last_bgsave_status"] == "ok"
        assert db.command("SET", "k", "w") == b"OK" and db.command("PING") == b"PONG"
        assert server.files() == ["dump.rdb"]


def a_save_point_tries_again_after_a_failure():
    with Saving("--save", "1 1") as server:
        db = server.connect()
        (server.place / "dump.rdb").mkdir()  # it cannot be replaced by a file
        db.command("SET", "k", "v")
        server.until(lambda: facts(db)["rdb_last_bgsave_status"] == "err")
        (server.place / "dump.rdb").rmdir()
        server.until(lambda: facts(db)["rdb_last_bgsave_status"] == "ok")
        assert server.files() == ["dump.rdb"]


def the_end_leaves_what_the_settings_and_the_words_ask_for():
    with tempfile.TemporaryDirectory(prefix="varve-saving-") as folder:
        kept = 0
        for points, words, keeps in (
            ("3600 1", ["SHUTDOWN"], True), ("3600 1", ["SHUTDOWN", "NOSAVE"], False), ("", ["SHUTDOWN"], False),
            ("", ["SHUTDOWN", "SAVE"], True), ("3600 1", signal.SIGTERM, True), ("", signal.SIGTERM, False), ("3600 1", signal.SIGINT, True),
        ):
            with Saving("--save", points, folder=folder) as server:
                db = server.connect()
                assert db.command("GETRANGE", "turn", 0, -1) == (b"%d" % kept if kept else b""), (points, words)
                turn = kept + 1
                db.command("SET", "turn", turn)
                if isinstance(words, list):
                    server.send(db, *words)
                    assert db.at_end()
                else:
                    server.process.send_signal(words)
                assert server.ends_with_status() == 0
                kept = turn if keeps else kept
            assert sorted(os.listdir(folder)) == ["dump.rdb"]


def what_is_acknowledged_before_the_end_is_in_the_last_snapshot():
    with Saving("--save", "3600 1", "--threads", "2", "--rdb-key-save-delay", "200") as server:
        db = server.connect()
        db.command("MSET", *(str(word) for word in range(2000)))
        acknowledged = []

        def count():
            client, number = server.connect(), 0
            with contextlib.suppress(Exception):
                while client.command("SET", "counter", number + 1) == b"OK":
                    number += 1
            acknowledged.append(number)

        thread = threading.Thread(target=count)
        thread.start()
        server.until(lambda: db.command("EXISTS", "counter") == 1)
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_with_status() == 0
        thread.join()
        with Saving(folder=server.place) as second:
            found = int(second.connect().command("GET", "counter"))
            assert acknowledged[0] <= found <= acknowledged[0] + 1, (acknowledged, found)


def a_shutdown_can_be_taken_back_or_hurried_while_it_saves():
    with Saving("--save", "3600 1", "--rdb-key-save-delay", SLOW) as server:
        db, other, third = server.connect(), server.connect(), server.connect()
        db.command("MSET", *(str(word) for word in range(400)))
        server.send(db, "SHUTDOWN")
        server.until(lambda: facts(other)["current_save_keys_total"] == "200")
        server.send(third, "SET", "k", "v")
        assert other.command("GET", "0") == b"1"
        assert other.command("SHUTDOWN", "ABORT") == b"OK"
        assert db.read() == b"ERR Errors trying to SHUTDOWN. Check logs."
        assert third.read() == b"OK", "writes flow again"
        server.until(lambda: facts(other)["current_save_keys_total"] == "0")
        server.send(db, "SHUTDOWN")
        server.until(lambda: facts(other)["current_save_keys_total"] == "201")
        server.send(other, "SHUTDOWN", "NOSAVE")
        assert db.at_end() and other.at_end()
        assert server.ends_with_status() == 0
        assert server.files() == []


def a_shutdown_that_cannot_save_goes_on_unless_it_is_forced():
    with Saving("--save", "3600 1") as server:
        db = server.connect()
        db.command("SET", "k", "v")
        shutil.rmtree(server.place)
        assert db.command("SHUTDOWN") == b"ERR Errors trying to SHUTDOWN. Check logs."
        server.process.send_signal(signal.SIGTERM)
        server.until(lambda: server.output.read_text().count("can't exit") == 2)
        assert db.command("SET", "k", "w") == b"OK"
        server.send(db, "SHUTDOWN", "FORCE")
        assert db.at_end()
        assert server.ends_with_status() == 0
        server.place.mkdir()


def a_reload_waits_for_the_snapshot_that_is_being_made():
    with Saving("--threads", "2", "--rdb-key-save-delay", "1000") as server:
        db, other = server.connect(), server.connect()
        fill(db, 100)
        digest = db.command("DEBUG", "DIGEST")
        assert other.command("BGSAVE") == b"Background saving started"
        assert db.command("DEBUG", "RELOAD") == b"OK"
        assert db.command("DEBUG", "DIGEST") == digest
        told = facts(db)
        assert told["rdb_changes_since_last_save"] == "0" and told["rdb_saves"] == "1", told


def a_snapshot_waits_for_a_rewrite_if_it_may():
    with Saving("--appendonly", "yes") as server:
        db = server.connect()
        server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "0")
        db.command("MSET", *(str(word) for word in range(400)))
        db.command("CONFIG", "SET", "rdb-key-save-delay", "5000")
        db.command("BGREWRITEAOF")
        server.until(lambda: facts(db)["current_save_keys_total"] == "200")
        refusal = db.command("BGSAVE")
        assert bytes(refusal).startswith(b"ERR Another child process is active (AOF?): can't BGSAVE right now."), refusal
        assert db.command("BGSAVE", "SCHEDULE") == b"Background saving scheduled"
        assert db.command("BGSAVE", "CANCEL") == b"Scheduled background saving cancelled"
        assert db.command("BGSAVE", "SCHEDULE") == b"Background saving scheduled"
        db.command("CONFIG", "SET", "rdb-key-save-delay", "0")
        assert "dump.rdb" not in server.files()
        server.until(lambda: "dump.rdb" in server.files())
        assert saved(server, db)["rdb_saves"] == "1"


def snapshots_are_made_on_the_cores_that_are_named():
    core = max(os.sched_getaffinity(0))

    def cores(server, name):
        """The cores of the threads whose names begin so."""
        found = set()
        for task in pathlib.Path("/proc/%d/task" % server.process.pid).iterdir():
            try:
                status = (task / "status").read_text()
            except OSError:  # it has ended meanwhile
                continue
            if re.search(r"^Name:\s+%s" % name, status, re.M):
                found.add(re.search(r"^Cpus_allowed_list:\s+(\S+)", status, re.M)[1])
        return found

    settings = ("--bgsave-cpulist", str(core), "--aof-rewrite-cpulist", "%d,%d" % (core, core), "--appendonly", "yes")
    with Saving(*settings) as server:
        db = server.connect()
        server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "0")
        before = cores(server, "saver")
        fill(db)
        for word, field in (("BGSAVE", "rdb_bgsave_in_progress"), ("BGREWRITEAOF", "aof_rewrite_in_progress")):
            db.command("CONFIG", "SET", "rdb-key-save-delay", "5000")
            db.command(word)
            server.until(lambda: facts(db)[field] == "1" and cores(server, "saver") == {str(core)})
            db.command("CONFIG", "SET", "rdb-key-save-delay", "0")
            server.until(lambda: facts(db)[field] == "0" and cores(server, "saver") == before)
    with Saving("--bgsave-cpulist", "none") as server:
        assert server.connect().command("SAVE") == b"OK"
        assert "bgsave-cpulist: 'none' is no list of cores" in server.output.read_text()


def who_acts_on_everything_has_its_turn_beside_clients_that_always_ask_for_much():
    with Server("--enable-debug-command", "yes", "--threads", "4") as server:
        os.sched_setaffinity(server.process.pid, [min(os.sched_getaffinity(0))])
        for thread in os.listdir("/proc/%d/task" % server.process.pid):
            os.sched_setaffinity(int(thread), [min(os.sched_getaffinity(0))])
        db = server.connect(120)
        # A command of some length that stays in the middle of all: nobody else may act on everything meanwhile.
        db.command("RPUSH", "list", *range(30_000))
        asked, is_over = [0] * 3, threading.Event()

        def ask(number):
            other = server.connect(120)
            while not is_over.is_set():
                other.command("SORT", "list", "LIMIT", 0, 1)
                asked[number] += 1

        threads = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(3)]
        for thread in threads:
            thread.start()
        try:
            server.until(all_of(asked))
            before, turns = sum(asked), 5
            db.command("SELECT", 1)
            for _ in range(turns):
                db.command("SET", "k", "v")
                assert db.command("FLUSHDB") == b"OK"
            served = (sum(asked) - before) / turns
        finally:
            is_over.set()
        for thread in threads:
            thread.join()
        print("         %.1f commands are answered while one waits to act on everything" % served)
        assert served < 25, served


def all_of(numbers):
    return lambda: all(numbers)


def the_start_tells_what_is_kept():
    with Saving() as server:
        assert "setting: save" in server.output.read_text()
        assert "lost when the server ends" in server.output.read_text()
    with Saving("--save", "3600 1") as server:
        assert "1 change in 3600 s" in server.output.read_text()


if __name__ == "__main__":
    sys.exit(run(globals()))
