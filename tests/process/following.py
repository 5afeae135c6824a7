#!/usr/bin/env python3
"""The server named by VARVE_SERVER as a replica: of another one, of primaries that are played here, and of peers, where there are any.

    VARVE_SERVER=target/release/varve-server tests/process/following.py [CASE ...]
"""

import contextlib
import itertools
import pathlib
import random
import re
import signal
import socket
import sys
import tempfile
import threading
import time

from bounds import encoded
from peers import ROOT, are_there, give_away, started
from replicas import AT_ONCE, DEBUG, VALKEY, Replica, digest, fields, write_at_random
from ports import free_port
from resp import Closed, Connection, Error, Tagged
from run import PATIENCE, Server, run

ID = "0123456789abcdef0123456789abcdef01234567"
EMPTY = b"REDIS0011\xff" + bytes(8)  # an RDB file without a checksum


@contextlib.contextmanager
def server(*settings):
    with Server(*AT_ONCE, *DEBUG, *settings) as it:
        it.db = it.connect()
        yield it


def replica_of(primary, *settings):
    return server("--replicaof", "127.0.0.1 %d" % primary.port, *settings)


def is_absent(reply):
    """True for a null."""
    return isinstance(reply, Tagged)


def link(it):
    return fields(it.db, "replication")


def caught_up(primary, *replicas):
    """Waits until replicas have all that the primary has."""
    for replica in replicas:
        primary.until(lambda: link(replica)["master_link_status"] == "up" and link(replica)["slave_repl_offset"] == link(primary)["master_repl_offset"])


class Primary:
    """A primary that sends what it is told to."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE)
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self, answers=None):
        """Takes a connection, and answers all that is said before PSYNC; what that asks for."""
        self.socket, _ = self.listener.accept()
        self.socket.settimeout(PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        while True:
            words = self.request()
            if words[0].upper() == b"PSYNC":
                return words
            self.send(b"+PONG\r\n" if words[0] == b"PING" else (answers or {}).get(words[1].lower(), b"+OK\r\n"))

    def request(self):
        """The next request; empty lines are passed over."""
        lines = iter(self.line, None)
        first = next(line for line in lines if line)
        assert first.startswith(b"*"), first
        words = []
        for _ in range(int(first[1:])):
            size = int(self.line()[1:])
            while len(self.received) < size + 2:
                self.more()
            words.append(self.received[:size])
            self.received = self.received[size + 2 :]
        return words

    def more(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise ConnectionError("it is closed")
        self.received += got

    def line(self):
        while b"\r\n" not in self.received:
            if self.received.startswith(b"\n"):
                self.received = self.received[1:]
                continue
            self.more()
        line, _, self.received = self.received.partition(b"\r\n")
        return line

    def send(self, data):
        self.socket.sendall(data)

    def sync(self, snapshot=EMPTY, offset=0, identity=ID):
        self.send(b"+FULLRESYNC %s %d\r\n$%d\r\n%s" % (identity.encode(), offset, len(snapshot), snapshot))

    def acknowledged(self, offset):
        """Waits until an offset is acknowledged."""
        while True:
            words = self.request()
            assert words[:2] == [b"REPLCONF", b"ACK"], words
            assert int(words[2]) <= offset, "it has acknowledged what was never sent"
            if int(words[2]) == offset:
                return

    def synced(self, offset):
        """Waits until files have the stream up to an offset: what the snapshot brought is their base by then."""
        while True:
            words = self.request()
            if words[3:4] == [b"FACK"] and int(words[4]) == offset:
                return

    def is_closed(self):
        with contextlib.suppress(ConnectionError):
            while self.socket.recv(1 << 16):
                pass
        return True


@contextlib.contextmanager
def follower(*settings):
    """A played primary, and a replica of it that has asked for a snapshot."""
    with Primary() as primary, replica_of(primary, *settings) as replica:
        assert primary.accept() == [b"PSYNC", b"?", b"-1"] or "--appendonly" in settings
        yield primary, replica


def a_replica_has_the_data_and_follows_and_refuses_writes():
    with server("--threads", "2") as primary:
        primary.db.command("SET", "before", "1", "PX", "300")
        with replica_of(primary, "--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru") as replica:
            caught_up(primary, replica)
            for number in range(100):
                primary.db.command("SET", "k%d" % number, b"x" * 100000)
            caught_up(primary, replica)
            db = replica.db
            assert db.command("DBSIZE") >= 100, "a replica evicts nothing by itself"
            assert db.command("SET", "k", "v") == Error(b"READONLY You can't write against a read only replica.")
            assert db.command("EVAL", "return redis.call('SET', KEYS[1], 1)", 1, "k").startswith(b"READONLY")
            assert db.command("WAIT", 1, 1).startswith(b"ERR WAIT cannot be used with replica instances.")
            assert db.command("ROLE")[:4] == [b"slave", b"127.0.0.1", primary.port, b"connected"]
            assert b"flags=M " in db.command("CLIENT", "LIST", "TYPE", "primary")
            lines = db.command("INFO", "replication").decode().split("\r\n")
            assert lines[1] == "role:slave" and lines[2].startswith("master_host:"), lines[:3]
            replica.until(lambda: is_absent(db.command("GET", "before")))
            primary.until(lambda: primary.db.command("EXISTS", "before") == 0)
            assert db.command("REPLICAOF", "127.0.0.1", primary.port) == b"OK Already connected to specified master"
            reader = replica.connect()
            replica.send(reader, "XREAD", "BLOCK", 0, "STREAMS", "s", "$")
            listener = replica.connect()
            listener.command("SUBSCRIBE", "news")
            watcher = replica.connect()
            watcher.command("WATCH", "k1")
            primary.db.command("XADD", "s", "1-1", "f", "v")
            primary.db.command("PUBLISH", "news", "hello")
            primary.db.command("SET", "k1", "other")
            assert reader.read() == [[b"s", [[b"1-1", [b"f", b"v"]]]]]
            assert listener.read() == [b"message", b"news", b"hello"]
            replica.until(lambda: db.command("GET", "k1") == b"other")
            watcher.command("MULTI")
            assert watcher.command("PING") == b"QUEUED" and is_absent(watcher.command("EXEC"))
            assert primary.db.command("WAIT", 1, 5000) == 1


def who_is_promoted_goes_on_and_others_follow_without_a_snapshot():
    with server() as first, replica_of(first) as second:
        with replica_of(first) as third:
            caught_up(first, second, third)
            first.db.command("MSET", "a", "1", "b", "2")
            first.db.command("SELECT", "3")
            first.db.command("SET", "c", "3")
            caught_up(first, second, third)
            assert second.db.command("REPLICAOF", "NO", "ONE") == b"OK"
            assert link(second)["role"] == "master"
            identity, before = link(second)["master_replid"], link(first)["master_replid"]
            assert identity != before and link(second)["master_replid2"] == before
            second.db.command("SELECT", "3")
            assert second.db.command("SET", "d", "4") == b"OK"
            second.db.command("SET", "gone", "1", "PX", "20")
            second.until(lambda: fields(second.db, "stats")["expired_keys"] == "1")
            for other in (third, first):
                assert other.db.command("REPLICAOF", "127.0.0.1", second.port) == b"OK"
            caught_up(second, third, first)
            syncs = fields(second.db, "stats")
            assert (syncs["sync_full"], syncs["sync_partial_ok"]) == ("0", "2"), syncs
            assert digest(first.db) == digest(second.db) == digest(third.db)
            assert link(third)["master_replid"] == identity
            # One that has parted takes a snapshot.
            first.db.command("REPLICAOF", "NO", "ONE")
            first.db.command("SET", "parted", "1")
            second.db.command("SET", "e", "5")
            first.db.command("REPLICAOF", "127.0.0.1", second.port)
            caught_up(second, first)
            assert digest(first.db) == digest(second.db) and first.db.command("EXISTS", "parted") == 0


def who_waits_for_a_stream_has_what_a_later_snapshot_brings():
    with server() as other:
        other.db.command("XADD", "s", "5-1", "f", "v")
        brought = Replica(other, *VALKEY).take().snapshot
    with follower() as (primary, replica):
        primary.sync()
        primary.acknowledged(0)
        reader = replica.connect(PATIENCE)
        replica.send(reader, "XREAD", "BLOCK", 0, "STREAMS", "s", "4")
        replica.until(lambda: fields(replica.db, "clients")["blocked_clients"] == "1")
        primary.socket.close()
        primary.accept()
        primary.sync(brought, offset=1000)
        assert reader.read() == [[b"s", [[b"5-1", [b"f", b"v"]]]]]


def snapshots_are_loaded_as_they_come_where_that_is_asked_for():
    for way in ("swapdb", "on-empty-db", "flush-before-load"):
        with server("--threads", "2") as primary, server("--repl-diskless-load", way, "--appendonly", "yes") as replica:
            chance = random.Random(11)
            write_at_random(primary.db, chance, 2000)
            primary.db.command("SET", "large", chance.randbytes(3 << 20))
            primary.db.command("FUNCTION", "LOAD", "#!lua name=one\nserver.register_function('f', function() return 1 end)")
            assert replica.db.command("REPLICAOF", "127.0.0.1", primary.port) == b"OK"
            caught_up(primary, replica)
            assert len(replica.db.command("FUNCTION", "LIST")) == 1
            write_at_random(primary.db, chance, 200)
            primary.until(lambda: digest(primary.db) == digest(replica.db))
            assert "is loaded as it comes" in replica.output.read_text(), way


def what_has_come_of_a_snapshot_is_seen_by_nobody_until_it_is_whole():
    with server() as other:
        for number in range(300):
            other.db.command("HSET", "h%d" % number, "f", "x" * number)
        other.db.command("SET", "brought", "1")
        brought, sums = Replica(other, *VALKEY).take().snapshot, digest(other.db)
    mark = b"m" * 40
    for way in ("swapdb", "flush-before-load"):
        with follower("--repl-diskless-load", way) as (primary, replica):
            primary.sync()
            primary.send(encoded("SELECT", "0") + encoded("SET", "old", "1"))
            replica.until(lambda: replica.db.command("GET", "old") == b"1")
            for turn, behind in enumerate((b"", brought[len(brought) // 2 :] + b"x" + mark, mark)):
                primary.socket.close()
                primary.accept()
                identity = ID if turn == 0 else "f" * 40
                primary.send(b"+FULLRESYNC %s 5000\r\n$EOF:%s\r\n" % (identity.encode(), mark) + brought[: len(brought) // 2])
                loading = lambda name: fields(replica.db, "persistence")[name] == "1"
                of_same = turn == 0 and way == "swapdb"
                replica.until(lambda: loading("async_loading" if of_same else "loading"))
                if of_same:
                    assert replica.db.command("MGET", "old", "brought")[0] == b"1" and replica.db.command("EXISTS", "brought") == 0
                else:
                    assert replica.db.command("GET", "old") == Error(b"LOADING Valkey is loading the dataset in memory")
                primary.send(behind)
                primary.socket.shutdown(socket.SHUT_WR)
                replica.until(lambda: link(replica)["master_link_status"] == "down" and not loading("loading") and not loading("async_loading"))
                assert replica.db.command("EXISTS", "brought") == 0
                assert replica.db.command("EXISTS", "old") == (1 if way == "swapdb" else 0), way
                known = (link(replica)["slave_priority"], link(replica)["master_replid"] == ID)
                assert known == (("100", True) if way == "swapdb" else ("0", False)), "nobody goes on with what is not there"
            primary.accept()
            primary.send(b"+FULLRESYNC %s 5000\r\n$%d\r\n" % (ID.encode(), len(brought)) + brought + encoded("SELECT", "0"))
            primary.acknowledged(5000 + len(encoded("SELECT", "0")))
            assert digest(replica.db) == sums
            primary.socket.close()
            primary.accept()
            primary.send(b"+FULLRESYNC %s 6000\r\n$EOF:%s\r\n" % (ID.encode(), mark) + brought[:50])
            replica.until(lambda: loading("async_loading" if way == "swapdb" else "loading"))
            assert replica.db.command("REPLICAOF", "NO", "ONE").startswith(b"LOADING "), "as Valkey does"
            primary.socket.close()
            replica.until(lambda: not isinstance(replica.db.command("REPLICAOF", "NO", "ONE"), Error))
            assert replica.db.command("SET", "own", "1") == b"OK" and (way != "swapdb" or replica.db.command("GET", "brought") == b"1")


def a_primary_hears_of_who_loads_for_long():
    with server() as other:
        for number in range(5):
            other.db.command("SET", "k%d" % number, "v")
        brought = Replica(other, *VALKEY).take().snapshot
    for way in ("disabled", "swapdb"):
        with follower("--repl-diskless-load", way, "--key-load-delay", "600000") as (primary, replica):
            primary.sync(brought)
            while primary.received.count(b"\n") < 2:
                assert not primary.received.strip(b"\n"), primary.received
                primary.more()
            assert fields(replica.db, "persistence")["loading"] == "1"


def a_primary_that_comes_back_empty_empties_nobody_who_loads_what_comes():
    for way in ("swapdb", "flush-before-load"):
        with follower("--repl-diskless-load", way) as (primary, replica):
            primary.sync()
            primary.send(encoded("SELECT", "0") + encoded("SET", "old", "1"))
            replica.until(lambda: replica.db.command("GET", "old") == b"1")
            for _ in range(2):
                primary.socket.close()
                primary.accept()
                primary.sync(identity="f" * 40)
                replica.until(lambda: link(replica)["master_sync_in_progress"] == "0")
                assert primary.is_closed()
                replica.until(lambda: replica.db.command("GET", "old") == b"1")


def a_server_that_is_started_as_a_replica_takes_no_write_before_that():
    with server("--appendonly", "yes") as primary, tempfile.TemporaryDirectory() as folder:
        told = ("--replicaof", "127.0.0.1 %d" % primary.port, "--appendonly", "yes", "--dir", folder)
        with server(*told) as replica:
            for number in range(20000):
                primary.send(primary.db, "SET", "k%d" % number, "v")
            assert [primary.db.read() for _ in range(20000)].count(b"OK") == 20000
            caught_up(primary, replica)
        for dir in [folder] * 10 + [folder + str(turn) for turn in range(10)]:
            pathlib.Path(dir).mkdir(exist_ok=True)
            replica = Server(*AT_ONCE, *told[:-1], dir)
            try:
                found = floods_until(replica.port, b"-READONLY")
            finally:
                replica.__exit__()
            assert b"+OK" not in found, found[max(0, found.index(b"+OK") - 100) :][:200]


def floods_until(port, word):
    """Sends writes, as many as a new server takes from its first moment on, until one is answered so. Returns what was answered."""
    deadline, found = time.monotonic() + PATIENCE, b""
    while time.monotonic() < deadline and word not in found:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as client:
            while word not in found:
                client.sendall(b"SET intruder 1\r\n" * 50)
                found += client.recv(1 << 20)
    return found


def who_has_not_synced_yet_shows_sentinels_no_priority():
    with tempfile.TemporaryDirectory() as folder, follower("--replica-priority", "7", "--appendonly", "yes", "--dir", folder) as (primary, replica):
        assert link(replica)["slave_priority"] == "0"
        assert replica.db.command("CONFIG", "SET", "replica-hides-unsynced", "no") == b"OK" and link(replica)["slave_priority"] == "7"
        assert replica.db.command("CONFIG", "SET", "replica-hides-unsynced", "yes") == b"OK" and link(replica)["slave_priority"] == "0"
        primary.sync()
        primary.acknowledged(0)
        assert link(replica)["slave_priority"] == "7"
        primary.send(encoded("SET", "k", "1"))
        primary.synced(len(encoded("SET", "k", "1")))
        replica.process.kill()
        replica.process.wait()
        with replica_of(primary, "--replica-priority", "7", "--appendonly", "yes", "--dir", folder) as replica:
            primary.accept()
            assert link(replica)["slave_priority"] == "7", "its files have what a primary has sent"
            replica.db.command("REPLICAOF", "NO", "ONE")
            replica.db.command("REPLICAOF", "127.0.0.1", primary.port)
            assert link(replica)["slave_priority"] == "0", "it may have changes of its own"


def times_to_live_of_old_primaries_end_at_the_same_moments_behind_a_restart():
    """Streams as Redis 5.0.14 and 6.2 send them: times to live in commands, and scripts with their text."""
    payload = b"\x00\x01x\x09\x00" + crc64(b"\x00\x01x\x09\x00").to_bytes(8, "little")
    script = "redis.call('SET', KEYS[1], 'v') redis.call('PEXPIRE', KEYS[1], ARGV[1])"
    lives = {
        "expire": [("SET", "expire", "v"), ("EXPIRE", "expire", "1000")],
        "pexpire": [("SADD", "pexpire", "m"), ("PEXPIRE", "pexpire", "1000000")],
        "setex": [("SETEX", "setex", "1000", "v")],
        "psetex": [("psetex", "psetex", "1000000", "v")],
        "ex": [("SET", "ex", "v", "EX", "1000")],
        "px": [("MULTI",), ("SET", "px", "v", "PX", "1000000"), ("SET", "plain", "v"), ("EXEC",)],
        "restored": [("RESTORE", "restored", "1000000", payload)],
        "script": [("EVAL", script, "1", "script", "1000000")],
    }
    sent = encoded("SELECT", "0") + b"".join(encoded(*words) + encoded("PING") for key in lives for words in lives[key])
    moments = lambda it: [it.db.command("PEXPIRETIME", key) for key in lives]
    for policy in ("everysec", "always"):
        with tempfile.TemporaryDirectory() as folder, follower("--appendonly", "yes", "--appendfsync", policy, "--dir", folder) as (primary, replica):
            primary.sync(snapshot=b"REDIS0009\xff" + bytes(8))
            primary.synced(0)
            primary.send(sent)
            primary.synced(len(sent))
            before, digest = moments(replica), replica.db.command("DEBUG", "DIGEST")
            assert min(before) > time.time() * 1000 and is_absent(replica.db.command("GET", "none"))
            replica.process.kill()
            replica.process.wait()
            with replica_of(primary, "--appendonly", "yes", "--dir", folder) as again:
                assert primary.accept() == [b"PSYNC", ID.encode(), b"%d" % (len(sent) + 1)]
                assert moments(again) == before, (moments(again), before)
                assert again.db.command("DEBUG", "DIGEST") == digest, again.output.read_text()
                primary.send(b"+CONTINUE\r\n" + encoded("SETEX", "late", "1000", "v"))
                again.until(lambda: again.db.command("EXISTS", "late") == 1)
                assert again.db.command("DEBUG", "LOADAOF") == b"OK"
                assert moments(again) == before, (moments(again), before, again.output.read_text())


def a_primary_hears_of_its_replica_while_that_applies_a_long_unit():
    with follower("--busy-reply-threshold", "10") as (primary, replica):
        primary.sync()
        primary.acknowledged(0)
        first = encoded("SELECT", "0") + encoded("SET", "k", "1")
        primary.send(first)
        primary.acknowledged(len(first))
        script = "local t = redis.call('TIME')[1] repeat until redis.call('TIME')[1] - t > 3 redis.call('SET', 'k', '2')"
        long = encoded("MULTI") + encoded("EVAL", script, "1", "k") + encoded("EXEC")
        primary.send(long)
        heard = []
        while not heard or heard[-1] == len(first):
            heard.append(int(primary.request()[2]))
        assert len(heard) > 3 and heard[-1] == len(first) + len(long), heard
        assert replica.db.command("GET", "k") == b"2"


def crc64(data):
    """The checksum at the end of what DUMP gives."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
    return crc


def units_are_applied_whole_or_not_at_all():
    with follower() as (primary, replica):
        primary.sync(offset=100)
        primary.acknowledged(100)
        stream = encoded("SELECT", "0") + encoded("SET", "a", "1")
        primary.send(stream)
        primary.acknowledged(100 + len(stream))
        begun = encoded("MULTI") + encoded("SET", "a", "2") + encoded("SET", "b", "2")
        primary.send(begun)
        primary.send(encoded("EXEC")[:-3])
        time.sleep(0.3)
        values = replica.db.command("MGET", "a", "b")
        assert values[0] == b"1" and is_absent(values[1]), values
        primary.socket.close()
        assert primary.accept() == [b"PSYNC", ID.encode(), b"%d" % (101 + len(stream))], "what is not whole counts for nothing"
        primary.send(b"+CONTINUE %s\r\n" % (b"f" * 40) + begun + encoded("EXEC"))
        primary.acknowledged(100 + len(stream + begun + encoded("EXEC")))
        assert replica.db.command("MGET", "a", "b") == [b"2", b"2"]
        assert link(replica)["master_replid"] == "f" * 40 and link(replica)["master_replid2"] == ID


# What primaries send that one would not guess: Valkey 9.1.2 and Redis 8.0.6, as their sockets show it.
REAL = [
    encoded("ping"), encoded("SELECT", "0"), encoded("XADD", "s", "MAXLEN", "=", "2", "LIMIT", "10", "1-1", "f", "v"),
    encoded("XADD", "s", "2-1", "f", "v"), encoded("XTRIM", "s", "MINID", "=", "1-1", "LIMIT", "5"),
    encoded("zadd", "z", "3.5", "m"), encoded("MULTI") + encoded("SELECT", "2") + encoded("SET", "k", "v") + encoded("EXEC"), encoded("SELECT", "0"),
    encoded("HSETEX", "h", "PXAT", "99999999999999", "FIELDS", "1", "f", "4"), encoded("HSET", "h2", "f", "1"),
    encoded("MULTI") + encoded("HDEL", "h2", "f") + encoded("UNLINK", "h2") + encoded("EXEC"), encoded("XGROUP", "CREATE", "s", "g", "0"),
    encoded("MULTI") + encoded("XCLAIM", "s", "g", "c", "0", "1-1", "TIME", "1700000000000", "RETRYCOUNT", "1", "FORCE", "JUSTID", "LASTID", "1-1")
    + encoded("XGROUP", "SETID", "s", "g", "1-1", "ENTRIESREAD", "1") + encoded("EXEC"),
    encoded("SADD", "set", "a"), encoded("UNLINK", "set"), encoded("PUBLISH", "c", "m"), encoded("SPUBLISH", "c", "m"), encoded("SET", "k", "w", "IFEQ", "x"),
    encoded("MSETEX", "1", "m", "v"), encoded("EVAL", "redis.call('SET', KEYS[1], ARGV[1])", "1", "e", "5"), encoded("SET", "old", "1", "PXAT", "1000"),
    encoded("PEXPIREAT", "k", "1000"), encoded("SETEX", "relative", "1000", "v"), encoded("FUNCTION", "LOAD", "#!lua name=l\nserver.register_function('f', function() end)"),
    encoded("MULTI") + encoded("EXEC"), encoded("SWAPDB", "0", "1"), encoded("SWAPDB", "0", "1"), encoded("REPLCONF", "GETACK", "*"), b"",
]


def what_real_streams_hold_is_applied():
    with follower("--appendonly", "yes") as (primary, replica):
        primary.sync()
        primary.acknowledged(0)
        replica.until(lambda: fields(replica.db, "persistence")["aof_rewrite_in_progress"] == "0")
        offset = 0
        for bytes_sent in REAL:
            primary.send(bytes_sent)
            offset += len(bytes_sent)
            primary.acknowledged(offset) if bytes_sent else None
            assert "master_link_stopped" not in link(replica), (bytes_sent, link(replica))
        db = replica.db
        assert db.command("XLEN", "s") == 2 and db.command("ZSCORE", "z", "m") == b"3.5" and db.command("HGET", "h", "f") == b"4"
        assert db.command("EXISTS", "h2", "set", "old", "k") == 0, "clients see none of what is past its deadline"
        assert db.command("GET", "e") == b"5" and db.command("GET", "m") == b"v" and db.command("FUNCTION", "LIST")
        folder = pathlib.Path(replica.folder, "appendonlydir")
        replica.until(lambda: b"SWAPDB" in b"".join(path.read_bytes() for path in folder.glob("*.incr.aof")))
        files = b"".join(path.read_bytes() for path in folder.glob("*.incr.aof"))
        assert b"#gap" in files and not any(word in files for word in (b"PUBLISH", b"GETACK", b"REPLCONF", b"ping")), files


def fields_past_their_deadline_are_there_as_long_as_the_primary_has_them():
    with server() as primary:
        db = primary.db
        db.command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        for key, words in (("all", ("f", "v")), ("some", ("f", "v", "g", "1"))):
            db.command("HSET", key, *words)
            db.command("HPEXPIRE", key, "1", "FIELDS", "1", "f")
        primary.until(lambda: is_absent(db.command("HGET", "all", "f")) and is_absent(db.command("HGET", "some", "f")))
        with replica_of(primary) as replica:
            caught_up(primary, replica)
            assert digest(db) == digest(replica.db) and replica.db.command("DBSIZE") == 2
            assert db.command("RENAME", "all", "renamed") == b"OK" and db.command("COPY", "some", "copy") == 1
            caught_up(primary, replica)
            assert digest(db) == digest(replica.db)
            db.command("DEBUG", "SET-ACTIVE-EXPIRE", "1")
            primary.until(lambda: db.command("DBSIZE") == 2)
            caught_up(primary, replica)
            assert digest(db) == digest(replica.db) and replica.db.command("HGETALL", "copy") == [b"g", b"1"]
            assert "master_link_stopped" not in link(replica)


def payloads_of_versions_that_clients_may_not_send_are_taken_from_a_primary():
    sealed = lambda value: value + b"\x0c\x00" + crc64(value + b"\x0c\x00").to_bytes(8, "little")
    code = b"#!lua name=lib\nserver.register_function{function_name='f', callback=function() return 7 end, flags={'no-writes'}}"
    with follower() as (primary, replica):
        primary.sync()
        primary.acknowledged(0)
        for words in (("SELECT", "0"), ("RESTORE", "k", "0", sealed(b"\x00\x01v")), ("FUNCTION", "RESTORE", sealed(b"\xf5" + bytes([0x40, len(code)]) + code))):
            primary.send(encoded(*words))
        replica.until(lambda: replica.db.command("GET", "k") == b"v" and replica.db.command("FCALL", "f", "0") == 7)
        assert "master_link_stopped" not in link(replica)
        replica.db.command("REPLICAOF", "NO", "ONE")
        assert replica.db.command("RESTORE", "l", "0", sealed(b"\x00\x01v")) == Error(b"ERR DUMP payload version or checksum are wrong")


def the_stream_of_who_is_promoted_says_which_database_is_selected():
    with follower() as (primary, replica):
        primary.sync()
        primary.acknowledged(0)
        stream = encoded("SELECT", "3") + encoded("SET", "a", "1")
        primary.send(stream)
        primary.acknowledged(len(stream))
        assert replica.db.command("REPLICAOF", "NO", "ONE") == b"OK"
        below = Replica(replica, *VALKEY, psync=(ID, len(stream) + 1))
        assert below.line().startswith(b"+CONTINUE ")
        replica.db.command("SELECT", "3")
        replica.db.command("SET", "b", "2")
        assert bytes(below.follow(encoded("SET", "b", "2")).stream) == encoded("SELECT", "3") + encoded("SET", "b", "2")
        below.close()


def what_cannot_be_applied_stops_the_link_and_the_data_stays():
    for bad in [encoded("NOSUCH", "k"), encoded("INCR", "text"), encoded("SET", "text"), encoded("SELECT", "99"), encoded("MULTI") + encoded("LPUSH", "text", "x") + encoded("EXEC")]:
        with follower() as (primary, replica):
            primary.sync()
            good = encoded("SELECT", "0") + encoded("SET", "text", "abc")
            primary.send(good + bad + encoded("SET", "behind", "1"))
            replica.until(lambda: "master_link_stopped" in link(replica))
            assert replica.db.command("GET", "text") == b"abc" and replica.db.command("EXISTS", "behind") == 0
            assert link(replica)["master_link_status"] == "down"
            assert primary.is_closed()
            assert replica.db.command("REPLICAOF", "127.0.0.1", primary.port) == b"OK", "asked for again, it begins anew"
            assert primary.accept() == [b"PSYNC", b"?", b"-1"], bad


def what_cannot_be_applied_is_left_out_where_the_settings_say_so():
    refused, unknown = encoded("INCR", "text"), encoded("NOSUCH", "k") + encoded("SET", "text")
    some_refused = encoded("MULTI") + encoded("LPUSH", "text", "x") + encoded("SET", "inside", "1") + encoded("EXEC")
    some_unknown = encoded("MULTI") + encoded("SET", "beside", "1") + encoded("NOSUCH", "k") + encoded("EXEC")
    with tempfile.TemporaryDirectory() as folder, follower("--propagation-error-behavior", "ignore", "--appendonly", "yes", "--dir", folder) as (primary, replica):
        primary.sync()
        stream = encoded("SELECT", "0") + encoded("SET", "text", "abc") + refused + unknown + some_refused + some_unknown + encoded("SET", "behind", "1")
        primary.send(stream)
        primary.synced(len(stream))
        # What files are loaded to, also where they hold what is left out.
        has = lambda db: (db.command("GET", "text"), db.command("EXISTS", "behind", "inside", "beside"), db.command("EXISTS", "never"))
        assert has(replica.db) == (b"abc", 3, 0)
        assert fields(replica.db, "stats")["unexpected_error_replies"] == "5"
        assert "5 commands were left out; 'NOSUCH' is refused" in replica.output.read_text()
        primary.send(encoded("MULTI") + encoded("SELECT", "99") + encoded("SET", "never", "1") + encoded("EXEC"))
        replica.until(lambda: "master_link_stopped" in link(replica))
        assert has(replica.db) == (b"abc", 3, 0), "what is meant for another database is in none"
        replica.process.kill()
        replica.process.wait()
        with server("--propagation-error-behavior", "ignore", "--appendonly", "yes", "--dir", folder) as again:
            assert has(again.db) == (b"abc", 3, 0)
    with follower("--replica-read-only", "no") as (primary, replica):
        primary.sync()
        replica.until(lambda: link(replica)["master_link_status"] == "up")
        replica.db.command("SET", "own", "text")
        primary.send(encoded("SELECT", "0") + encoded("LPUSH", "own", "1") + encoded("SET", "behind", "1"))
        replica.until(lambda: replica.db.command("EXISTS", "behind") == 1)
        assert replica.db.command("GET", "own") == b"text"
        primary.send(encoded("NOSUCH"))
        replica.until(lambda: "master_link_stopped" in link(replica))


def a_primary_that_sends_rubbish_costs_no_data():
    with server() as first:
        first.db.command("SET", "kept", "1")
        with replica_of(first) as replica:
            caught_up(first, replica)
            for number, rubbish in enumerate([
                b"+FULLRESYNC x 0\r\n", b"+FULLRESYNC %s -1\r\n" % ID.encode(), b"+FULLRESYNC %s 18446744073709551616\r\n" % ID.encode(), b"HTTP/1.1 200 OK\r\n",
                b"+FULLRESYNC %s 0\r\n$5\r\nRUBBISH" % ID.encode(), b"+FULLRESYNC %s 0\r\n$20\r\nREDIS9999" % ID.encode() + bytes(20), b"+WHAT\r\n", b"-ERR no\r\n",
                b"+FULLRESYNC %s 0\r\n$EOF:short\r\n" % ID.encode(), b"x" * 100000, b"+FULLRESYNC %s 0\r\n" % ID.encode() + b"y" * 5000,
                b"+FULLRESYNC %s 0\r\n$%d\r\n%s" % (ID.encode(), len(EMPTY) - 9, EMPTY[:-9] + b"\x00\x03abc\xff"),
            ]):
                with Primary() as primary:
                    assert replica.db.command("REPLICAOF", "127.0.0.1", primary.port) == b"OK"
                    primary.accept()
                    primary.send(rubbish)
                    with contextlib.suppress(OSError):
                        primary.socket.shutdown(socket.SHUT_WR)
                    assert primary.is_closed(), rubbish
                    assert replica.db.command("GET", "kept") == b"1", rubbish[:80]
                    assert replica.db.command("PING") == b"PONG"
            assert replica.db.command("REPLICAOF", "127.0.0.1", first.port) == b"OK"
            caught_up(first, replica)
            assert digest(first.db) == digest(replica.db)


def a_stream_that_is_none_ends_the_link():
    for rubbish in [b"*1\r\n$-5\r\n", b"SET k v\r\n", encoded("MULTI") + encoded("MULTI"), encoded("EXEC"), b"*x\r\n", b"z" * 70000]:
        with follower() as (primary, replica):
            primary.sync()
            primary.acknowledged(0)
            primary.send(encoded("SET", "k", "1") + rubbish)
            assert primary.is_closed(), rubbish[:40]
            assert replica.db.command("GET", "k") == b"1"
            assert primary.accept()[:2] == [b"PSYNC", ID.encode()]


def a_restart_goes_on_without_a_snapshot():
    """Of the primary and of the replica, with files and without, ended and killed."""
    for settings in (("--appendonly", "yes", "--appendfsync", "always"), ()):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            ends = (signal.SIGTERM, signal.SIGKILL) if settings else (signal.SIGTERM,)
            options = lambda folder: (*settings, "--dir", folder, "--save", "3600 1")
            with server(*options(one)) as primary:
                primary.db.command("SET", "a", "1")
                with replica_of(primary, *options(other)) as replica:
                    caught_up(primary, replica)
                    if settings:
                        replica.until(lambda: fields(replica.db, "persistence")["aof_rewrite_in_progress"] == "0")
                    primary.db.command("SELECT", "5")
                    primary.db.command("SET", "b", "1")
                    assert primary.db.command("WAIT", 1, 5000) == 1
                    if settings:
                        assert primary.db.command("WAITAOF", 1, 1, 5000) == [1, 1]
                    port = primary.port
                    replica.process.send_signal(ends[-1])
                    replica.process.wait()
                for end in ends:
                    with server(*options(other), "--replicaof", "127.0.0.1 %d" % port) as replica:
                        caught_up(primary, replica)
                        primary.db.command("SET", "c", "%s" % end)
                        if settings:
                            assert primary.db.command("WAITAOF", 1, 1, 5000) == [1, 1]
                            # Who is killed forgets what is no data behind the last change, as requests of WAITAOF.
                            primary.db.command("SET", "d", "%s" % end)
                            files = pathlib.Path(other, "appendonlydir")
                            replica.until(lambda: any(encoded("SET", "d", "%s" % end) in path.read_bytes() for path in files.glob("*incr*")))
                        caught_up(primary, replica)
                        assert digest(primary.db) == digest(replica.db)
                        replica.process.send_signal(end)
                        replica.process.wait()
                syncs = fields(primary.db, "stats")
                assert syncs["sync_full"] == "1" and int(syncs["sync_partial_ok"]) == len(ends), (settings, syncs)
                identity = link(primary)["master_replid"]
                primary.process.send_signal(ends[-1])
                primary.process.wait()
            with server(*options(one)) as primary:
                assert link(primary)["master_replid2"] == identity and link(primary)["master_replid"] != identity
                with server(*options(other), "--replicaof", "127.0.0.1 %d" % primary.port) as replica:
                    caught_up(primary, replica)
                    syncs = fields(primary.db, "stats")
                    assert (syncs["sync_full"], syncs["sync_partial_ok"]) == ("0", "1"), (settings, syncs)
                    assert digest(primary.db) == digest(replica.db)


def a_restart_goes_on_in_the_database_that_the_stream_had_selected():
    selected = encoded("SELECT", "5") + encoded("SET", "k", "1")
    for settings, end in ((("--appendonly", "yes"), signal.SIGKILL), (("--appendonly", "yes"), signal.SIGTERM), (("--save", "3600 1"), signal.SIGTERM)):
        with tempfile.TemporaryDirectory() as folder, follower("--dir", folder, *settings) as (primary, replica):
            primary.sync()
            primary.send(selected)
            (primary.synced if settings[0] == "--appendonly" else primary.acknowledged)(len(selected))
            replica.process.send_signal(end)
            replica.process.wait()
            with replica_of(primary, "--dir", folder, *settings) as replica:
                for number in range(2):
                    asked = primary.accept()
                    assert asked == [b"PSYNC", ID.encode(), b"%d" % (len(selected) + 1)], asked
                    if number == 0:
                        primary.socket.close()  # the next connection knows it, too
                primary.send(b"+CONTINUE\r\n" + encoded("SET", "k", "2"))
                replica.db.command("SELECT", "5")
                replica.until(lambda: replica.db.command("GET", "k") == b"2")
                assert replica.db.command("DBSIZE") == 1


def a_file_begins_in_the_database_that_the_stream_had_selected_at_the_cut():
    """Whether there were files before, and wherever in the stream a base is cut: each command names the database that it is for."""
    commands = []
    for at in range(0, 14, 2):
        frame = b"".join(encoded(*words) for words in (["MULTI"], ["SELECT", at + 1], ["SWAPDB", 14, 15], ["EXEC"]))
        for selects, of in ((encoded("SELECT", at), at), (frame, at + 1)):
            commands += [selects] + [encoded("SADD", "of:%d" % of, "x")] * 20
    select = rb"\*2\r\n\$6\r\nSELECT\r\n\$\d+\r\n"
    begin, names = re.compile(rb"(?s:(?:%s(\d+)\r\n)?(#.*))" % select), re.compile(rb"of:(\d+)|" + select)
    is_over, sent = threading.Event(), []

    def load(primary):
        for at in itertools.count(0, 7):
            if is_over.is_set():
                return
            some = b"".join((commands * 2)[at % len(commands) :][:7])
            primary.send(some)
            sent.append(len(some))
            time.sleep(0.0002)

    def begun():
        """The newest file, the database in which it begins, and the first that it names after that; None before it has these."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            newest = max(pathlib.Path(folder, "appendonlydir").glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))
            with open(newest, "rb") as file:
                begins_in, rest = begin.fullmatch(file.read(10_000)).groups()
            named = next(names.finditer(rest), None)
            return named and (newest.name, begins_in or b"0", named[1])

    def rewrites():
        facts = fields(replica.db, "persistence")
        return int(facts["aof_rewrites"]) if facts["aof_rewrite_in_progress"] == "0" else None

    seen = set()
    with tempfile.TemporaryDirectory() as folder, follower("--dir", folder, "--appendonly", "yes", "--threads", "2") as (primary, replica):
        primary.sync()
        loader = threading.Thread(target=load, args=(primary,))
        loader.start()
        bare = 0
        try:
            for number in range(30):
                replica.until(lambda: rewrites() == number + 1)
                replica.until(begun)
                newest, selected, database = begun()
                assert newest not in seen and database in (None, selected), number
                seen.add(newest)
                bare += database is not None
                if number % 2:
                    assert replica.db.command("CONFIG", "SET", "appendonly", "no") == b"OK"
                    # Before that the wish is taken back, and the files go on.
                    replica.until(lambda: not pathlib.Path(folder, "appendonlydir", ".appendonly.aof.lock").exists())
                    assert replica.db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
                else:
                    replica.db.command("BGREWRITEAOF")
        finally:
            is_over.set()
            loader.join()
        assert bare > 10, "%d files began between a SELECT and the next" % bare
        primary.synced(sum(sent))


def a_chain_under_load_goes_on_without_a_snapshot_when_each_is_killed_and_ended():
    ports = [free_port() for _ in range(3)]
    is_over = threading.Event()

    def load():
        """Writes pipelines to the first, and connects again when it is back."""
        number = 0
        while not is_over.is_set():
            with contextlib.suppress(OSError, Closed):
                db = Connection("127.0.0.1:%d" % ports[0], PATIENCE)
                while not is_over.is_set():
                    for number in range(number, number + 50):
                        db.send([b"SET", b"k%d" % (number % 5000), b"%d" % number * 20])
                    db.send([b"INCR", b"count"])
                    db.send([b"PUBLISH", b"news", b"%d" % number])
                    for _ in range(52):
                        db.read()

    def begin(at, folder):
        follows = ("--replicaof", "127.0.0.1 %d" % ports[at - 1]) if at else ()
        # A rotation removes what a replica that was behind may lack.
        files = ("--appendonly", "yes", "--auto-aof-rewrite-percentage", "0", "--dir", folder)
        it = Server(*AT_ONCE, *DEBUG, *files, *follows, port=ports[at]).__enter__()
        it.db = it.connect()
        return it

    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in ports]
        chain = [begin(at, folder) for at, folder in enumerate(folders)]
        stack.callback(lambda: [it.__exit__() for it in chain])
        all_up = lambda: all(link(it)["master_link_status"] == "up" for it in chain[1:])
        chain[0].until(all_up)
        writing = threading.Thread(target=load)
        writing.start()
        stack.callback(writing.join)
        stack.callback(is_over.set)
        said = []  # by those that have ended, and why each snapshot was needed

        def note(at, it):
            words = ("Starting a snapshot for", "artial resync", "keeps its place no longer", "lost:", "given up")
            said.extend("%d: %s" % (at, line) for line in it.output.read_text().splitlines() if any(word in line for word in words))

        for end in (signal.SIGKILL, signal.SIGTERM):
            for at in range(3):
                before = int(link(chain[2])["slave_repl_offset"])
                chain[0].until(lambda: all_up() and int(link(chain[2])["slave_repl_offset"]) > before + 4000000)  # the last kills find files that are longer than a backlog
                chain[at].process.send_signal(end)
                chain[at].process.wait()
                note(at, chain[at])
                chain[at].__exit__()
                chain[at] = begin(at, folders[at])
                chain[0].until(all_up)
        is_over.set()
        writing.join()
        chain[0].db.command("SET", "end", "1")
        caught_up(chain[0], *chain[1:])
        for at, it in enumerate(chain):
            note(at, it)
        digests = [digest(it.db) for it in chain]
        assert len(set(digests)) == 1, digests
        assert sum("Starting a snapshot for" in line for line in said) == 2, "\n".join(said)


def a_restart_names_the_keys_that_are_past_their_deadline_to_a_whole_chain():
    with tempfile.TemporaryDirectory() as folder:
        options = ("--dir", folder, "--save", "3600 1", "--repl-ping-replica-period", "3600")
        with server(*options) as first:
            port = first.port
            with replica_of(first) as second, replica_of(second) as third:
                caught_up(first, second, third)
                first.db.command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
                for number in range(100):
                    first.db.command("SET", "lasts %d" % number, "1")
                    first.db.command("SET", "ends %d" % number, "1", "PX", "1")
                caught_up(first, second, third)
                first.process.terminate()
                first.process.wait()
                assert second.db.command("DBSIZE") == 200
                with Server(*AT_ONCE, *DEBUG, *options, port=port) as again:
                    again.db = again.connect()
                    again.until(lambda: again.db.command("DBSIZE") == 100)
                    for other in (second, third):
                        caught_up(again, other)
                        assert other.db.command("DBSIZE") == 100 and digest(other.db) == digest(again.db)
                    for it in (again, second):
                        it.until(lambda: fields(it.db, "stats")["sync_partial_ok"] == "1")
                    assert fields(again.db, "stats")["sync_full"] == "0" and fields(second.db, "stats")["sync_full"] == "1"


def the_role_changes_behind_a_transaction_and_is_the_one_of_the_command_line():
    with server("--appendonly", "yes") as primary, server("--appendonly", "yes") as other:
        other.db.command("MULTI")
        for words in (("SET", "k", "v"), ("REPLICAOF", "127.0.0.1", primary.port), ("SET", "l", "v")):
            assert other.db.command(*words) == b"QUEUED"
        assert other.db.command("EXEC") == [b"OK", b"OK", b"OK"]
        caught_up(primary, other)
        assert other.db.command("DBSIZE") == 0, "the data is the primary's"
        for words in ((), ("x",), ("NO",), ("a", "b", "c")):
            assert isinstance(other.db.command("REPLICAOF", *words), Error)
        assert other.db.command("REPLICAOF", "h", "65536") == Error(b"ERR Invalid master port")
        assert other.db.command("SLAVEOF", "no", "one") == b"OK" and other.db.command("REPLICAOF", "NO", "ONE") == b"OK"


def a_primary_that_comes_back_empty_does_not_empty_its_replicas():
    with server() as primary:
        port = primary.port
        with replica_of(primary) as replica:
            primary.db.command("SET", "a", "1")
            caught_up(primary, replica)
            primary.process.kill()
            primary.process.wait()
            with Server(*AT_ONCE, *DEBUG, port=port) as again:
                again.db = again.connect()
                replica.until(lambda: "replica-refuse-empty-primary" in replica.output.read_text())
                assert replica.db.command("GET", "a") == b"1"
                again.db.command("SET", "b", "2")
                replica.until(lambda: replica.db.command("GET", "b") == b"2")
                assert replica.db.command("EXISTS", "a") == 0, "it has keys now, so it is followed"
                again.db.command("FLUSHALL")
                replica.until(lambda: replica.db.command("DBSIZE") == 0)
                with server() as empty:
                    again.db.command("SET", "c", "3")
                    replica.until(lambda: replica.db.command("GET", "c") == b"3")
                    assert replica.db.command("REPLICAOF", "127.0.0.1", empty.port) == b"OK"
                    replica.until(lambda: replica.db.command("DBSIZE") == 0)


def clients_that_wait_are_told_when_the_role_changes_and_settings_name_the_primary():
    with server("--threads", "2") as primary, Server(*AT_ONCE, *DEBUG, config="timeout 0\n") as other:
        other.db = other.connect()
        blocked = [other.connect() for _ in range(3)]
        for client, words in zip(blocked, (("BLPOP", "l", 0), ("XREAD", "BLOCK", 0, "STREAMS", "s", "$"), ("WAIT", 1, 0))):
            other.send(client, *words)
        other.until(lambda: fields(other.db, "clients")["blocked_clients"] == "3")
        assert other.db.command("REPLICAOF", "127.0.0.1", primary.port) == b"OK"
        for client in blocked:
            assert client.read().startswith(b"UNBLOCKED force unblock from blocking operation")
        named = b"127.0.0.1 %d" % primary.port
        assert other.db.command("CONFIG", "GET", "replicaof") == [b"replicaof", named]
        assert other.db.command("CONFIG", "REWRITE") == b"OK"
        assert b"replicaof " + named in other.config.read_bytes().splitlines()
        assert other.db.command("CONFIG", "SET", "replicaof", "h 1").startswith(b"ERR CONFIG SET failed")
        caught_up(primary, other)
        assert other.db.command("REPLICAOF", "NO", "ONE") == b"OK"
        assert other.db.command("CONFIG", "REWRITE") == b"OK" and b"replicaof" not in other.config.read_bytes()


def a_snapshot_of_the_same_history_is_loaded_beside_what_clients_read():
    loading = Error(b"LOADING Valkey is loading the dataset in memory")
    before = b"#!lua name=before\nserver.register_function{function_name='f', callback=function() return 1 end, flags={'no-writes'}}"
    with server("--repl-backlog-size", "16kb", "--repl-backlog-time", "0") as primary, server() as other:
        primary.db.command("MSET", "a", "1", "b", "1")
        primary.db.command("FUNCTION", "LOAD", before)
        with replica_of(primary, "--threads", "2") as replica:
            with replica_of(replica) as below:
                caught_up(primary, replica, below)
                db, watching, tracking = replica.db, replica.connect(), replica.connect()
                tracking.command("HELLO", "3")
                watching.command("WATCH", "c")
                watching.command("MULTI")
                assert watching.command("GET", "a") == b"QUEUED"
                tracking.command("CLIENT", "TRACKING", "ON")
                assert tracking.command("GET", "a") == b"1"
                assert db.command("CONFIG", "SET", "key-load-delay", "1000000") == b"OK"
                replica.process.send_signal(signal.SIGSTOP)
                primary.db.command("CLIENT", "KILL", "TYPE", "replica")
                primary.db.command("FUNCTION", "LOAD", "REPLACE", before.replace(b"return 1", b"return 2"))
                primary.db.command("MSET", "a", "2", "c", "2", "d", b"x" * 100000)
                primary.db.command("DEL", "b")
                primary.until(lambda: int(link(primary)["repl_backlog_histlen"]) <= 16384)
                replica.process.send_signal(signal.SIGCONT)
                persistence = lambda: fields(db, "persistence")
                replica.until(lambda: persistence()["async_loading"] == "1")
                assert persistence()["loading"] == "0" and int(persistence()["loading_total_bytes"]) > 0
                assert db.command("MGET", "a", "b") == [b"1", b"1"] and db.command("FCALL_RO", "f", "0") == 1
                assert is_absent(db.command("GET", "c")) and db.command("DBSIZE") == 2
                for words in (("PSYNC", "?", "-1"), ("BGSAVE",), ("REPLICAOF", "NO", "ONE")):
                    assert db.command(*words) == loading, words
                assert db.command("SET", "k", "v") == Error(b"READONLY You can't write against a read only replica.")
                assert link(below)["master_link_status"] == "up", "its replicas stay until the switch"
                assert db.command("CONFIG", "SET", "key-load-delay", "0") == b"OK"
                caught_up(primary, replica, below)
                assert persistence()["async_loading"] == "0" and fields(primary.db, "stats")["sync_full"] == "2"
                for it in (db, below.db):
                    assert it.command("MGET", "a", "c") == [b"2", b"2"] and it.command("DBSIZE") == 3 and it.command("FCALL_RO", "f", "0") == 2
                assert is_absent(watching.command("EXEC"))
                pushed = tracking.read()
                assert pushed.kind == "push" and pushed.value[0] == b"invalidate" and is_absent(pushed.value[1]), "all that was read is invalid"
                assert tracking.command("GET", "a") == b"2"
            assert digest(db) == digest(primary.db)
            other.db.command("SET", "other", "1")
            assert db.command("CONFIG", "SET", "key-load-delay", "1000000") == b"OK"
            assert db.command("REPLICAOF", "127.0.0.1", other.port) == b"OK"
            replica.until(lambda: persistence()["loading"] == "1")
            assert db.command("GET", "a") == loading and persistence()["async_loading"] == "0"
            assert db.command("CONFIG", "SET", "key-load-delay", "0") == b"OK"
            caught_up(other, replica)
            assert db.command("DBSIZE") == 1 and db.command("FCALL_RO", "f", "0") == Error(b"ERR Function not found")


def the_stream_is_taken_while_a_snapshot_is_loaded():
    with server() as donor:
        donor.db.command("MSET", *[word for number in range(20) for word in ("k%d" % number, "v")])
        donor.db.command("SAVE")
        snapshot = pathlib.Path(donor.folder, "dump.rdb").read_bytes()
    with follower("--key-load-delay", "1000000") as (primary, replica):
        before = replica.resident_mib()
        primary.sync(snapshot)
        value = random.Random(2).randbytes(100000)
        sent = encoded("SELECT", "0") + b"".join(encoded("SET", "k%d" % number, value) for number in range(1000))
        # A primary that could not send this would have to keep it, or to give the link up.
        primary.send(sent)
        end = encoded("SET", "end", "1")
        primary.send(end)
        replica.until(lambda: fields(replica.db, "persistence")["loading"] == "1", 5)
        assert replica.resident_mib() - before < 60, replica.resident_mib() - before
        assert replica.db.command("CONFIG", "SET", "key-load-delay", "0") == b"OK"
        primary.acknowledged(len(sent) + len(end))
        assert replica.db.command("DBSIZE") == 1001 and replica.db.command("GET", "k999") == value


def stale_data_is_served_or_refused_as_the_settings_say():
    with server() as primary:
        with replica_of(primary) as replica:
            caught_up(primary, replica)
            db = replica.db
            primary.process.kill()
            primary.process.wait()
            replica.until(lambda: link(replica)["master_link_status"] == "down")
            assert is_absent(db.command("GET", "k"))
            assert db.command("CONFIG", "SET", "replica-serve-stale-data", "no") == b"OK"
            assert db.command("GET", "k") == Error(b"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.")
            assert db.command("CONFIG", "SET", "replica-serve-stale-data", "yes") == b"OK"
            assert db.command("PSYNC", "?", "-1") == Error(b"NOMASTERLINK Can't SYNC while not connected with my master")
            assert db.command("CONFIG", "SET", "replica-read-only", "no") == b"OK"
            assert db.command("SET", "local", "1") == b"OK"
            assert int(link(replica)["master_link_down_since_seconds"]) >= 0


def primaries_of_peers_are_followed_in_a_chain_through_cuts():
    if not are_there():
        return "there are no peers"
    for program in ("valkey-server", "redis-server"):
        chance = random.Random(11)
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True))
            give_away(place)
            db = stack.enter_context(started(program, place, "--repl-diskless-sync-delay", "0"))
            port = db.socket.getpeername()[1]
            write_at_random(db, chance, 500)
            first = stack.enter_context(server("--replicaof", "127.0.0.1 %d" % port, "--threads", "2"))
            second = stack.enter_context(replica_of(first, "--appendonly", "yes"))
            for turn in range(6):
                write_at_random(db, chance, 600)
                if turn % 2:
                    db.command("CLIENT", "KILL", "TYPE", "replica")
                    first.db.command("CLIENT", "KILL", "TYPE", "replica")
            offset = lambda: fields(db, "replication")["master_repl_offset"]
            for other in (first, second):
                first.until(lambda: link(other)["slave_repl_offset"] == offset() and link(other)["master_link_status"] == "up")
                first.until(lambda: digest(db) == digest(other.db))
            assert "master_link_stopped" not in link(first)
            assert int(fields(db, "stats")["sync_full"]) == 1, fields(db, "stats")


if __name__ == "__main__":
    sys.exit(run(globals()))
