#!/usr/bin/env python3
"""What the server named by VARVE_SERVER does on one processor where several of its threads have much to do.

    VARVE_SERVER=target/release/varve-server tests/process/one_core.py [CASE ...]
    VARVE_SERVER=target/release/varve-server tests/process/one_core.py --measure [KEYS]

With --measure it prints how long SAVE and DEBUG RELOAD take beside three DEBUG DIGEST and alone.
"""

import contextlib
import os
import statistics
import sys
import threading
import time

from bounds import encoded
from run import Server, run

KEYS = 20_000
PATIENCE = 300


@contextlib.contextmanager
def one_core(keys):
    """A server of eight threads that share a processor, with keys; the client has the last one."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        with Server("--threads", "8", "--enable-debug-command", "yes") as server:
            os.sched_setaffinity(0, {max(before)})
            db = server.connect(PATIENCE)
            for first in range(0, keys, 1000):
                db.send_bytes(b"".join(encoded("SET", "key:%d" % number, "x" * 100) for number in range(first, first + 1000)))
                assert all(db.read() == b"OK" for _ in range(1000))
            yield server, db
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def digesting(server, clients=3):
    """Clients that ask for the fingerprint of all data again and again. Yields the fingerprints."""
    is_over, seen = threading.Event(), []

    def ask(db):
        while not is_over.is_set():
            seen.append(db.command("DEBUG", "DIGEST"))

    threads = [threading.Thread(target=ask, args=(server.connect(PATIENCE),)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def seconds(db, *words):
    """How long a command takes that answers OK."""
    began = time.monotonic()
    assert db.command(*words) == b"OK"
    return time.monotonic() - began


def who_saves_and_loads_gets_its_turn_beside_those_who_read_everything():
    with one_core(KEYS) as (server, db):
        digest = db.command("DEBUG", "DIGEST")
        with digesting(server) as seen:
            for words in (("SAVE",), ("DEBUG", "RELOAD"), ("SAVE",), ("DEBUG", "RELOAD", "NOSAVE")):
                print("     %s: %.2f s" % (" ".join(words), seconds(db, *words)))
            # While data is loaded, the fingerprint is that of what was loaded by then: a reader whose
            # every answer fell into a load sees the whole data afterwards.
            server.until(lambda: digest in seen)
        assert db.command("DEBUG", "DIGEST") == digest


def measure(keys=1_000_000):
    with one_core(keys) as (server, db):
        for words in (("SAVE",), ("DEBUG", "RELOAD")):
            alone = statistics.median(seconds(db, *words) for _ in range(5))
            with digesting(server):
                beside = [seconds(db, *words) for _ in range(5)]
            middle = statistics.median(beside)
            print("%-12s of %d keys: alone %.2f s, beside three DEBUG DIGEST %.2f s (%.2f to %.2f): %.1f times" %
                  (" ".join(words), keys, alone, middle, min(beside), max(beside), middle / alone))  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        sys.exit(measure(*map(int, sys.argv[2:])))
    sys.exit(run(globals()))
