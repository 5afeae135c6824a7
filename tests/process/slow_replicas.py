#!/usr/bin/env python3
"""Replicas that are slower than writers, played against the server named by VARVE_SERVER.

    VARVE_SERVER=target/release/varve-server tests/process/slow_replicas.py [CASE ...]
"""

import contextlib
import random
import socket
import sys
import threading
import time

from replicas import VALKEY, Replica, fields, primary
from run import PATIENCE, run

MIB = 1 << 20
# Bytes a second: of a replica, and of a writer that nobody holds up.
READ, WRITTEN = 4 * MIB, 6 * MIB


class SlowReplica:
    """A replica that takes so many bytes a second, and acknowledges its snapshot; its socket has little room."""

    def __init__(self, server, rate):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", server.port))
        self.rate, self.is_over, self.taken = rate, threading.Event(), 0
        of_replica = Replica.__new__(Replica)
        of_replica.socket, of_replica.received, of_replica.stream = self.socket, bytearray(), bytearray()
        for fact in VALKEY:
            assert of_replica.ask("REPLCONF", *fact) == b"+OK", fact
        of_replica.send("PSYNC", "?", -1)
        self.replica = of_replica
        self.thread = threading.Thread(target=self.take, daemon=True)
        self.thread.start()

    def take(self):
        """Takes what comes, as fast as it may, and says every second that it lives."""
        began, said, ends = time.monotonic(), 0, b""
        mark = None
        while not self.is_over.is_set():
            due = self.rate * (time.monotonic() - began) - self.taken
            if due < 1:
                self.is_over.wait(min(0.01, -due / self.rate + 0.001))
                continue
            try:
                got = self.socket.recv(min(int(due), 64 << 10))
            except OSError:
                return
            if not got:
                return
            self.taken += len(got)
            ends = (ends + got)[-200:] if mark else ends + got
            if mark is None and b"$EOF:" in ends:
                mark = ends[ends.index(b"$EOF:") + 5 :][:40]
                mark, ends = (mark, ends[ends.index(b"$EOF:") + 45 :]) if len(mark) == 40 else (None, ends)
            if mark and mark in ends or said and time.monotonic() - said > 1:
                said = time.monotonic()
                with contextlib.suppress(OSError):
                    self.replica.send("REPLCONF", "ACK", 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.socket.close()
        self.thread.join(PATIENCE)


class Writer:
    """A client that writes so many bytes a second, if it is not held up, to few keys."""

    def __init__(self, server, rate):
        self.db, self.rate, self.is_over, self.written = server.connect(), rate, threading.Event(), 0
        self.longest = 0
        self.thread = threading.Thread(target=self.write, daemon=True)
        self.thread.start()

    def write(self):
        value, before = random.Random(7).randbytes(64 << 10), time.monotonic()
        while not self.is_over.is_set():
            began = time.monotonic()
            assert self.db.command("SET", "k%d" % (self.written % 5), value) == b"OK"
            self.longest = max(self.longest, time.monotonic() - began)
            self.written += len(value)
            self.is_over.wait(max(0, before + self.written / self.rate - time.monotonic()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join(PATIENCE)


def sync(server):
    """What INFO tells of the full sync at work; empty where there is none."""
    line = fields(server.db, "replication").get("repl_sync0", "")
    return dict(pair.split("=") for pair in line.split(",")) if line else {}


def info_tells_how_a_full_sync_goes_on_and_when_it_will_have_ended():
    with primary("--rdbcompression", "no") as server:
        value = random.Random(1).randbytes(MIB)
        for number in range(40):
            server.db.command("SET", "k%d" % number, value)
        with SlowReplica(server, 8 * MIB):
            server.until(lambda: sync(server).get("seconds_to_catch_up", "unknown").isdigit())
            facts = sync(server)
            assert 0 < int(facts["seconds_to_catch_up"]) < 60 and int(facts["written_bytes_per_sec"]) < 100, facts
            assert 2 * MIB < int(facts["bytes_per_sec"]) < 30 * MIB, facts
            assert 38 * MIB < int(facts["sent_bytes"]) + int(facts["left_bytes"]) < 42 * MIB, facts
            server.until(lambda: not sync(server))
            assert ",state=online," in fields(server.db, "replication")["slave0"]
        assert "never catch up" not in server.output.read_text()
        lines = server.db.command("INFO", "replication").decode().split()
        assert lines[-1] == "repl_throttled_writers:0", "own lines stand at the end"


def writers_are_slowed_down_for_a_replica_that_would_never_catch_up_if_that_is_asked_for():
    with primary("--rdbcompression", "no", "--threads", "2", "--repl-backlog-size", "1mb") as server:
        value = random.Random(1).randbytes(MIB)
        for number in range(12):  # more than the system keeps for a connection
            server.db.command("SET", "before%d" % number, value)
        with Writer(server, WRITTEN) as writer, Writer(server, MIB // 4) as other:
            server.until(lambda: writer.written > MIB)
            with SlowReplica(server, READ):
                server.until(lambda: sync(server).get("seconds_to_catch_up") == "never")
                is_warned = lambda: server.output.read_text().count("at these rates it will never catch up")
                server.until(lambda: is_warned() == 1)
                behind, began = int(sync(server)["left_bytes"]), writer.written
                server.until(lambda: writer.written > began + 2 * WRITTEN)
                assert int(sync(server)["left_bytes"]) > behind + MIB, "without help it falls behind further"
                assert fields(server.db, "replication")["repl_throttled_writers"] == "0"
                assert server.db.command("CONFIG", "SET", "repl-throttle-writers", "yes") == b"OK"
                server.until(lambda: fields(server.db, "replication")["repl_throttled_writers"] == "1")
                writer.longest, before = 0, (writer.written, other.written)
                server.until(lambda: not sync(server))
                server.until(lambda: fields(server.db, "replication")["repl_throttled_writers"] == "0" or sync(server) == {})
                assert is_warned() == 1, "the log tells it once"
                assert writer.longest < 3, "nobody waits for long at a stretch: %.1f s" % writer.longest
                assert writer.written > before[0] and other.written > before[1], "nobody is shut out"
                assert "Writers are slowed down" in server.output.read_text() and "has caught up: writers go on" in server.output.read_text()
            server.until(lambda: fields(server.db, "replication")["repl_throttled_writers"] == "0")
            began = writer.written
            server.until(lambda: writer.written > began + WRITTEN)


if __name__ == "__main__":
    sys.exit(run(globals()))
