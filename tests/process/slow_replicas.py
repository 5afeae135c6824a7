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


if __name__ == "__main__":
    sys.exit(run(globals()))
