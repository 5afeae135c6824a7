#!/usr/bin/env python3
"""varve-import --follow: a target that follows a source, through breaks of everything, until clients are moved.

    VARVE_SERVER=target/debug/varve-server tests/process/moving.py [CASE ...]

VARVE_TOOLS  the folder of varve-import (default: that of VARVE_SERVER)
"""

import contextlib
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from following import EMPTY, ID
from following import Primary as Played
from bounds import encoded
from peers import ROOT, are_there, give_away, started
from replicas import AT_ONCE, DEBUG, digest, fields, write_at_random
from ports import free_port
from resp import Closed, Connection, Error
from run import PATIENCE, Server, run

IMPORT = pathlib.Path(os.environ.get("VARVE_TOOLS") or pathlib.Path(shlex.split(os.environ["VARVE_SERVER"])[0]).parent, "varve-import")


@contextlib.contextmanager
def varve(*settings):
    with Server(*AT_ONCE, *DEBUG, *settings) as it:
        it.db = it.connect()
        yield it


@contextlib.contextmanager
def server_of(program):
    """A server of some maker, with `port` and `db`."""
    if program == "varve":
        with varve() as it:
            yield it
        return
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True))
        give_away(place)
        it = Peer()
        it.db = stack.enter_context(started(program, place, "--repl-diskless-sync-delay", "0"))
        it.port = int(it.db.command("CONFIG", "GET", "port")[1])
        yield it


def has_the_same(source, target):
    """Equal digests, once those keys are gone on both sides whose deadlines have passed."""
    source.db.command("CLIENT", "UNPAUSE")
    deadline = time.monotonic() + PATIENCE
    while digest(source.db) != digest(target.db):
        assert time.monotonic() < deadline, compared(source, target)[1]
        time.sleep(0.05)


class Peer:
    """A server that somebody else started."""

    def connect(self):
        return Connection("127.0.0.1:%d" % self.port, PATIENCE)


def makers():
    return ["varve", "valkey-server", "redis-server"] if are_there() else ["varve"]


class Primary(Played):
    """The same, asked besides what it is."""

    def accept(self, answers=None):
        while True:
            with contextlib.suppress(ConnectionError):
                return super().accept(answers)


class Follower:
    """varve-import --follow, and what it says."""

    def __init__(self, source, target, *words):
        command = [IMPORT, "127.0.0.1:%d" % source, "--follow", "--to", "127.0.0.1:%d" % target, *words]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines, self.is_over = [], False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.decode(errors="replace"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        assert "panicked" not in self.said(), self.said()

    def type(self, word):
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()

    def said(self):
        return "".join(self.lines)

    def wait(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "%s did not happen: %s" % (what, self.said())
            assert self.process.poll() is None or condition(), self.said()
            time.sleep(0.01)

    def hears(self, text, times=1):
        self.wait(lambda: self.said().count(text) >= times, text)

    def ends(self, status):
        self.process.wait(PATIENCE)
        self.reader.join()
        assert self.process.returncode == status, "%d: %s" % (self.process.returncode, self.said())
        return self.said()

    def switch(self):
        """Moves clients as soon as it lets that be; the seconds for which writes were held back."""
        while True:
            times, began = len(self.lines), time.monotonic()
            self.type("cut-over")
            self.wait(lambda: any("not yet" in line or "Type `switch`" in line for line in self.lines[times:]), "an answer to cut-over")
            if any("Type `switch`" in line for line in self.lines[times:]):
                break
            time.sleep(0.1)
        self.type("switch")
        self.hears("switch clients to")
        return time.monotonic() - began


def caught_up(follower, source, target):
    """Waits until a key that is written now has arrived."""
    mark = "mark:%d" % time.monotonic_ns()
    assert source.connect().command("SET", mark, "x") == b"OK"
    db = target.connect()
    follower.wait(lambda: db.command("EXISTS", mark) == 1, "the newest key")


def compared(source, target, *words):
    command = [IMPORT, "--compare", "127.0.0.1:%d" % source.port, "127.0.0.1:%d" % target.port, *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout + done.stderr


def equal(source, target, *words):
    """Waits until both hold the same: what has passed its deadline goes on each side in its own time, and not at all in a pause."""
    source.connect().command("CLIENT", "UNPAUSE")
    deadline = time.monotonic() + PATIENCE
    while True:
        status, said = compared(source, target, *words)
        if status == 0:
            return
        assert status == 1 and time.monotonic() < deadline, said


class Writers:
    """Clients of the source that write all kinds of things until they are told to end."""

    def __init__(self, source, count=2, seed=1):
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self.write, args=(source, seed + at)) for at in range(count)]
        for thread in self.threads:
            thread.start()

    def write(self, source, seed):
        chance = random.Random(seed)
        with contextlib.suppress(OSError, Closed):
            db = source.connect()
            while not self.is_over.is_set():
                write_at_random(db, chance, 40)
                for number in range(8):
                    db.command("RPUSH", "order:%d" % seed, number)
                    db.command("INCR", "count:%d" % seed)

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def a_source_of_each_maker_is_followed_until_clients_are_moved():
    said = []
    for maker in makers():
        with server_of(maker) as source, varve() as target:
            write_at_random(source.db, random.Random(1), 3000)
            source.db.command("FUNCTION", "LOAD", "#!lua name=one\nserver.register_function('f', function() return 1 end)" if maker != "redis-server" else "#!lua name=one\nredis.register_function('f', function() return 1 end)")
            with Follower(source.port, target.port) as follower:
                follower.hears("the stream follows")
                writers = Writers(source)
                time.sleep(1)
                writers.end()
                caught_up(follower, source, target)
                said.append("%s %.0f ms" % (maker, follower.switch() * 1000))
                assert "0 failed" in follower.ends(0)
            has_the_same(source, target)
            assert target.db.command("FUNCTION", "LIST")[0][1] == b"one"
            assert target.db.command("CONFIG", "GET", "import-mode")[1] == b"no"
    return "from cut-over to switch " + ", ".join(said)


def varve_is_left_for_each_maker_in_the_same_way():
    for maker in makers()[1:]:
        with varve() as source, server_of(maker) as target:
            write_at_random(source.db, random.Random(2), 3000)
            with Follower(source.port, target.port) as follower:
                follower.hears("the stream follows")
                write_at_random(source.db, random.Random(3), 3000)
                caught_up(follower, source, target)
                follower.switch()
                follower.ends(0)
            equal(source, target)


def whoever_dies_nothing_is_executed_twice_or_left_out():
    """varve-import killed again and again, links of the source cut, connections of the target closed."""
    chance = random.Random(5)
    for maker in makers()[:2]:
        with server_of(maker) as source, varve("--appendonly", "yes") as target, tempfile.TemporaryDirectory() as folder:
            state, writers = pathlib.Path(folder, "state"), Writers(source)
            ways = ["kill", "replica", "target", "kill", "stop"] * int(os.environ.get("TURNS", 3))
            follower = Follower(source.port, target.port, "--resume", state)
            for way in ways:
                time.sleep(chance.random() * 0.4)
                if way == "replica":
                    source.db.command("CLIENT", "KILL", "TYPE", "replica")
                elif way == "target":
                    for line in target.db.command("CLIENT", "LIST", "TYPE", "normal").decode().splitlines():
                        client = dict(part.split("=", 1) for part in line.split() if "=" in part)
                        if client["id"] != str(target.db.command("CLIENT", "ID")):
                            target.db.command("CLIENT", "KILL", "ID", client["id"])
                else:
                    follower.process.send_signal(signal.SIGKILL if way == "kill" else signal.SIGTERM)
                    follower.process.wait(PATIENCE)
                    follower.kill()
                    follower = Follower(source.port, target.port, "--resume", state)
            with follower:
                writers.end()
                follower.hears("goes on")
                caught_up(follower, source, target)
                assert "0 failed" in (follower.switch(), follower.ends(0))[1]
            has_the_same(source, target)
            assert "of a move that is done" in Follower(source.port, target.port, "--resume", state).ends(2)


def a_target_that_lost_its_tail_gets_it_again_and_one_that_lost_all_is_filled_anew():
    with varve() as source, tempfile.TemporaryDirectory(prefix="varve-process-") as folder:
        port, state = free_port(), pathlib.Path(folder, "state")
        settings = [*AT_ONCE, *DEBUG, "--appendonly", "yes", "--appendfsync", "no", "--dir", folder]
        target = Server(*settings, port=port).__enter__()
        with Follower(source.port, port, "--resume", state) as follower:
            follower.hears("the stream follows")
            for number in range(3000):
                source.db.command("RPUSH", "list", number)
            caught_up(follower, source, target)
            # The newest file of commands loses its second half, as by a loss of power.
            target.process.kill()
            target.process.wait()
            newest = max(pathlib.Path(folder, "appendonlydir").glob("*.incr.aof"), key=lambda it: it.stat().st_size)
            os.truncate(newest, newest.stat().st_size // 2)
            with Server(*settings, port=port) as target:
                caught_up(follower, source, target)
                assert target.connect().command("LLEN", "list") == 3000
                assert "anew" not in follower.said()
                target.connect().command("FLUSHALL")
                target.process.kill()
                target.process.wait()
            with Server(*AT_ONCE, *DEBUG, port=port) as target:
                follower.hears("filled anew")
                caught_up(follower, source, target)
                equal(source, target)
                follower.switch()
                follower.ends(0)
                target.db = target.connect()
                has_the_same(source, target)


def a_source_with_another_history_is_taken_anew_and_the_target_holds_nothing_else():
    with tempfile.TemporaryDirectory() as folder, varve() as target:
        port, state = free_port(), pathlib.Path(folder, "state")
        with Server(*AT_ONCE, *DEBUG, port=port) as source:
            source.connect().command("MSET", *("key:%d" % (number // 2) for number in range(2000)))
            with Follower(port, target.port, "--resume", state) as follower:
                follower.hears("the stream follows")
                caught_up(follower, source, target)
        with Server(*AT_ONCE, *DEBUG, port=port) as source:
            source.connect().command("SET", "only", "this")
            with Follower(port, target.port, "--resume", state) as follower:
                follower.hears("the stream follows")
                follower.switch()
                follower.ends(0)
            assert target.db.command("KEYS", "*") == [b"only"]


def a_source_that_comes_back_empty_does_not_empty_the_target():
    with tempfile.TemporaryDirectory() as folder, varve() as target:
        port, state = free_port(), pathlib.Path(folder, "state")
        with Server(*AT_ONCE, *DEBUG, port=port) as source:
            source.connect().command("SET", "last", "copy")
            with Follower(port, target.port, "--resume", state) as follower:
                follower.hears("the stream follows")
                source.process.kill()
                source.process.wait()
                with Server(*AT_ONCE, *DEBUG, port=port):
                    assert "without any key" in follower.ends(2)
            assert target.db.command("GET", "last") == b"copy"


def servers_that_are_one_or_follow_each_other_are_refused():
    with varve() as source, varve() as target:
        assert "are the same server" in Follower(source.port, source.port, "--replace").ends(2)
        assert target.db.command("REPLICAOF", "127.0.0.1", source.port) == b"OK"
        target.until(lambda: fields(target.db, "replication")["master_link_status"] == "up")
        for one, other in ((source, target), (target, source)):
            assert "one is a replica of the other" in Follower(one.port, other.port, "--replace").ends(2)
        with varve() as third:
            assert "is a replica" in Follower(third.port, target.port).ends(2)


def what_was_left_out_is_known_to_later_runs():
    with varve() as source, varve() as target, tempfile.TemporaryDirectory() as folder:
        words = ("--match", "user:*", "--resume", pathlib.Path(folder, "state"))
        with Follower(source.port, target.port, *words) as follower:
            follower.hears("the stream follows")
            source.db.command("SET", "other", "x")
            source.db.command("RENAME", "other", "user:1")
            follower.hears("RENAME other")
            follower.type("quit")
            assert "1 failed" in follower.ends(1)
        with Follower(source.port, target.port, *words) as follower:
            follower.hears("goes on where it was left")
            follower.switch()
            follower.hears("has all but what 1 commands")
            assert "1 failed" in follower.ends(1)


def databases_and_names_are_chosen_and_what_a_choice_cuts_is_named():
    with varve() as source, varve() as target:
        target.db.command("SET", "own", "stays")
        for database in (0, 1, 2):
            source.db.command("SELECT", database)
            source.db.command("MSET", *(word for number in range(500) for word in ("user:%d" % number, "v", "other:%d" % number, "v")))
        source.db.command("SELECT", 0)
        choice = ("--databases", "0:3,1", "--match", "user:*")
        with Follower(source.port, target.port, *choice) as follower:
            follower.hears("the stream follows")
            source.db.command("MSET", "user:new", "1", "other:new", "2")
            source.db.command("RENAME", "user:7", "other:7")
            source.db.command("SET", "other:6", "another")
            source.db.command("RENAME", "other:6", "user:6")
            source.db.command("DEL", "user:8", "other:8")
            source.db.command("MOVE", "user:9", 1)
            source.db.command("SELECT", 1)
            source.db.command("MULTI")
            for words in (("SET", "user:late", "1"), ("FLUSHDB",), ("SET", "user:last", "1")):
                source.db.command(*words)
            source.db.command("EXEC")
            source.db.command("SELECT", 0)
            source.db.command("SET", "user:end", "x")
            target.db.command("SELECT", 3)
            follower.wait(lambda: target.db.command("EXISTS", "user:end") == 1, "the last key")
            follower.hears("RENAME other:6")
            status, said = compared(source, target, *choice)
            assert status == 1 and "1 have another value" in said, said
            target.db.command("SET", "user:6", "another")
            equal(source, target, *choice)
            follower.switch()
            assert "1 failed or were left out" in follower.ends(1)
        target.db.command("SELECT", 1)
        assert target.db.command("KEYS", "*") == [b"user:last"]
        target.db.command("SELECT", 0)
        assert target.db.command("KEYS", "*") == [b"own"]


def without_an_answer_in_time_clients_go_on_where_they_were():
    with varve() as source, varve() as target:
        with Follower(source.port, target.port, "--cut-over-time", "1") as follower:
            follower.hears("the stream follows")
            follower.type("switch")
            follower.hears("type `cut-over` first")
            follower.type("cut-over")
            follower.hears("Type `switch`")
            began = time.monotonic()
            assert source.db.command("SET", "held", "back") == b"OK"
            assert time.monotonic() - began > 0.3
            follower.hears("1 s are over")
            assert target.db.command("CONFIG", "GET", "import-mode")[1] == b"yes"
            caught_up(follower, source, target)
            follower.type("cut-over")
            follower.hears("Type `switch`", times=2)
            follower.type("back")
            follower.hears("clients stay at", times=2)
            assert source.db.command("SET", "not", "held back") == b"OK"
            caught_up(follower, source, target)
            follower.switch()
            follower.ends(0)
            has_the_same(source, target)


def a_target_with_keys_is_refused_unless_they_may_go():
    with varve() as source, varve() as target:
        source.db.command("SET", "new", "x")
        target.db.command("SET", "old", "x")
        assert "--replace" in Follower(source.port, target.port).ends(2)
        assert target.db.command("KEYS", "*") == [b"old"]
        with Follower(source.port, target.port, "--replace") as follower:
            follower.hears("the stream follows")
            follower.switch()
            follower.ends(0)
        assert target.db.command("KEYS", "*") == [b"new"]


def a_target_that_is_full_is_waited_for():
    with varve() as source, varve("--maxmemory", "24mb", "--maxmemory-policy", "noeviction") as target:
        with Follower(source.port, target.port) as follower:
            follower.hears("the stream follows")
            for number in range(40):
                source.db.command("SET", "large:%d" % number, "x" * (1 << 20))
                source.db.command("INCR", "count")
            follower.hears("OOM")
            assert int(source.db.command("GET", "count")) == 40
            target.db.command("CONFIG", "SET", "maxmemory", "0")
            caught_up(follower, source, target)
            equal(source, target)
            follower.switch()
            follower.ends(0)


def two_that_follow_for_the_same_target_execute_nothing_twice():
    with varve() as source, varve() as target, tempfile.TemporaryDirectory() as folder:
        state = pathlib.Path(folder, "state")
        with Follower(source.port, target.port, "--resume", state) as one:
            one.hears("the stream follows")
            assert "another varve-import works with it" in Follower(source.port, target.port, "--resume", state).ends(2)
            copy = shutil.copy(state, pathlib.Path(folder, "copy"))
            with Follower(source.port, target.port, "--resume", copy) as other:
                other.hears("goes on where it was left")
                for _ in range(2000):
                    source.db.command("INCR", "count")
                caught_up(one, source, target)
                assert target.db.command("GET", "count") == b"2000"
                assert "another varve-import" in one.said() + other.said()


def a_connection_that_an_idle_limit_closes_changes_no_database():
    with varve() as source, varve("--timeout", "1") as target:
        with Follower(source.port, target.port) as follower:
            follower.hears("the stream follows")
            target.db = target.connect()
            until = time.monotonic() + 4
            while time.monotonic() < until:  # the other connection of varve-import rests meanwhile
                source.db.command("INCR", "count")
            source.db.command("MULTI")
            source.db.command("INCR", "count")
            source.db.command("SELECT", 5)
            source.db.command("SET", "other", "x")
            source.db.command("EXEC")
            source.db.command("SELECT", 0)
            caught_up(follower, source, target)
            equal(source, target)
            assert target.connect().command("DBSIZE") == source.db.command("DBSIZE") + 2, "its own two keys"


def a_target_that_takes_no_transactions_is_sent_nothing():
    with varve() as source, varve() as target:
        target.db.command("ACL", "SETUSER", "default", "-multi")
        source.db.command("INCR", "count")
        assert "answered MULTI with: NOPERM" in Follower(source.port, target.port).ends(2)
        assert target.db.command("DBSIZE") == 0


def keys_are_waited_for_that_a_target_does_not_take_at_first():
    with varve() as source, varve("--min-replicas-to-write", "1") as target:
        source.db.command("MSET", *(word for number in range(5000) for word in ("key:%d" % number, "v")))
        with Follower(source.port, target.port) as follower:
            follower.hears("NOREPLICAS")
            target.db.command("CONFIG", "SET", "min-replicas-to-write", "0")
            caught_up(follower, source, target)
            equal(source, target)
            follower.switch()
            follower.ends(0)


def keys_past_their_deadline_are_emptied_with_the_others():
    with varve() as source, varve() as target:
        with Follower(source.port, target.port, "--match", "l*") as follower:
            follower.hears("the stream follows")
            source.db.command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
            source.db.command("MULTI")
            source.db.command("RPUSH", "list", "old")
            source.db.command("PEXPIRE", "list", "50")
            source.db.command("EXEC")
            follower.wait(lambda: target.db.command("PEXPIRETIME", "list") != -2 or True, "it")
            time.sleep(0.2)
            source.db.command("FLUSHDB")
            source.db.command("RPUSH", "list", "new")
            source.db.command("SET", "last", "x")
            follower.wait(lambda: target.db.command("EXISTS", "last") == 1, "the last key")
            assert target.db.command("LRANGE", "list", 0, -1) == [b"new"] and target.db.command("PTTL", "list") == -1


def import_mode_ends_also_after_a_run_that_was_killed():
    with varve() as source, varve() as target:
        with Follower(source.port, target.port) as follower:
            follower.hears("the stream follows")
        assert target.db.command("CONFIG", "GET", "import-mode")[1] == b"yes"
        with Follower(source.port, target.port, "--replace") as follower:
            follower.hears("the stream follows")
            follower.switch()
            follower.ends(0)
        assert target.db.command("CONFIG", "GET", "import-mode")[1] == b"no"
        target.db.command("CONFIG", "SET", "import-mode", "yes")
        source.db.command("CLIENT", "UNPAUSE")
        with Follower(source.port, target.port, "--replace") as follower:
            follower.hears("stays so at the end")
            follower.hears("the stream follows")
            follower.switch()
            follower.ends(0)
        assert target.db.command("CONFIG", "GET", "import-mode")[1] == b"yes"


def clients_are_not_moved_from_a_source_that_has_become_another():
    with varve() as source, varve() as target, varve() as third:
        with Follower(source.port, target.port) as follower:
            follower.hears("the stream follows")
            follower.type("cut-over")
            follower.hears("Type `switch`")
            third.db.command("REPLICAOF", "127.0.0.1", source.port)
            third.until(lambda: fields(third.db, "replication")["master_link_status"] == "up")
            third.db.command("REPLICAOF", "NO", "ONE")
            assert source.db.command("REPLICAOF", "127.0.0.1", third.port) == b"OK"
            assert third.db.command("SET", "acknowledged", "x") == b"OK"
            follower.type("switch")
            follower.hears("clients stay at")
            follower.wait(lambda: target.db.command("EXISTS", "acknowledged") == 1, "what was acknowledged")


def what_a_target_does_not_know_is_left_out_and_named():
    with Primary() as source, varve() as target:
        with Follower(source.port, target.port) as follower:
            source.accept()
            source.send(b"+FULLRESYNC %s 0\r\n$%d\r\n%s" % (ID.encode(), len(EMPTY), EMPTY))
            for words in (("SELECT", "0"), ("SET", "a", "1"), ("JSON.SET", "doc", "$", "{}"), ("LPUSH", "a", "x"), ("INCR", "a")):
                source.send(encoded(*words))
            follower.wait(lambda: target.db.command("GET", "a") == b"2", "the last command")
            follower.hears("JSON.SET doc")
            follower.hears("LPUSH a")
            follower.process.send_signal(signal.SIGTERM)
            assert "2 failed" in follower.ends(1)
            assert target.db.command("KEYS", "*") == [b"a"], "nothing else is left behind"


def times_to_live_of_old_servers_arrive_as_moments():
    with Primary() as source, varve() as target:
        with Follower(source.port, target.port) as follower:
            source.accept()
            source.send(b"+FULLRESYNC %s 0\r\n$%d\r\n%s" % (ID.encode(), len(EMPTY), EMPTY))
            came = time.time()
            for words in (("SELECT", "0"), ("SET", "a", "1", "EX", "100"), ("SETEX", "b", "100", "1"), ("SET", "c", "1"), ("PEXPIRE", "c", "100000"), ("SET", "d", "1")):
                source.send(encoded(*words))
            follower.wait(lambda: target.db.command("EXISTS", "d") == 1, "the last command")
            for key in "abc":
                late = int(target.db.command("PEXPIRETIME", key)) / 1000 - came - 100
                assert -0.1 < late < 5, late


def what_is_no_stream_ends_it_and_nothing_is_allocated_for_what_is_announced():
    for bad in (b"*-5\r\n", b"*1\r\n$99999999999\r\n", b"hello\r\n", encoded("MULTI") + encoded("MULTI"), encoded("EXEC")):
        with Primary() as source, varve() as target:
            with Follower(source.port, target.port) as follower:
                source.accept()
                source.send(b"+FULLRESYNC %s 0\r\n$%d\r\n%s" % (ID.encode(), len(EMPTY), EMPTY))
                source.send(encoded("SET", "a", "1") + bad)
                assert "the stream of the source" in follower.ends(2)
    for bad in (b"+CONTINUE\r\n", b"+FULLRESYNC x 1\r\n", b"+FULLRESYNC %s 0\r\n$x\r\n" % ID.encode(), b"x" * (1 << 20)):
        with Primary() as source, varve() as target:
            with Follower(source.port, target.port) as follower:
                source.accept()
                with contextlib.suppress(OSError):
                    source.send(bad)
                follower.hears("it is tried again")
                assert "VmHWM" in (status := pathlib.Path("/proc/%d/status" % follower.process.pid).read_text())
                peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
                assert int(peak.split()[1]) < 200 << 10, peak


if __name__ == "__main__":
    sys.exit(run(globals()))
