#!/usr/bin/env python3
"""Which thread of the server named by VARVE_SERVER serves a connection, and what clients see of that: the order in which they spoke.

    VARVE_SERVER=target/release/varve-server tests/process/order.py [--tries 1200] [CASE ...]
    tests/process/order.py --at ADDRESS [--tries 1200]

With --at, host:port or the path of a Unix socket, the tries are made at a server that runs already, such as a Valkey, and only
counted.
"""

import argparse
import os
import sys
import threading

from bounds import encoded, info
from resp import Connection
from run import Server, run

TRIES = 300
MISSED_MAX = 0.01  # of the tries over TCP: the system itself may deliver what was sent later first
THREADS = ("--threads", "4", "--threads-fixed", "no", "--enable-debug-command", "yes")


def pin():
    """Keeps this thread on one processor, whose network packets stay in order."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def subscribe_and_publish(connect, tries):
    """How often a message was not received whose channel had been subscribed to first, on another connection."""
    missed = 0
    for at in range(tries):
        # Connections come and go, as those of pools do.
        if at % 10 == 0:
            subscriber, publisher = connect(), connect()
        channel = "channel:%d" % at
        subscriber.send_bytes(encoded("SUBSCRIBE", channel))
        publisher.send_bytes(encoded("PUBLISH", channel, "x"))
        missed += publisher.read() == 0
        subscriber.read()
    return missed


def set_and_get(connect, tries):
    """How often a value was not read that had been written first, on another connection."""
    missed = 0
    pool = [connect() for _ in range(8)]
    for at in range(tries):
        writer, reader = pool[at % 8], pool[(at * 3 + 1) % 8]
        if writer is reader:
            reader = pool[(at + 1) % 8]
        writer.send_bytes(encoded("SET", "key", at))
        reader.send_bytes(encoded("GET", "key"))
        missed += reader.read() != b"%d" % at
        writer.read()
    return missed


def what_was_sent_first_is_done_first_while_the_server_is_not_busy():
    path = "/tmp/varve-order-%d.sock" % os.getpid()
    with Server("--unixsocket", path, *THREADS) as server:
        processors = os.sched_getaffinity(0)
        pin()
        others = [server.connect() for _ in range(50)]
        ways = (("TCP", server.connect, MISSED_MAX), ("a Unix socket", lambda: Connection(path), 0))
        for way, connect, most in ways:
            for kind in (subscribe_and_publish, set_and_get):
                missed = kind(connect, TRIES)
                print("     %s over %s: %d of %d not seen, %d moves" % (kind.__name__, way, missed, TRIES, moved(others[0])))
                assert missed <= most * TRIES, missed
        assert all(other.command("PING") == b"PONG" for other in others)
        os.sched_setaffinity(0, processors)


class Load:
    """Clients that keep the server busy with pipelines until the end of a `with` block, and check the order of the replies."""

    def __init__(self, server, clients):
        self.is_over, self.problems = threading.Event(), []
        # Counting its bits takes the server longer than sending the request takes a client, on any machine.
        assert server.connect().command("SETBIT", "bits", 8 * 20_000_000, 1) == 0
        self.threads = [threading.Thread(target=self.drive, args=(server.connect(60), at), daemon=True) for at in range(clients)]

    def drive(self, db, at):
        try:
            key, count = "count:%d" % at, 0
            while not self.is_over.is_set():
                db.send_bytes((encoded("INCR", key) + encoded("BITCOUNT", "bits")) * 20)
                replies = [db.read() for _ in range(40)]
                assert replies[::2] == list(range(count + 1, count + 21)), "replies of other requests"
                count += 20
        except BaseException as problem:
            self.problems.append(repr(problem))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join(60)
        assert not self.problems, self.problems


def moved(db):
    """How often connections have moved between threads."""
    return info(db, "moved_connections")


def a_busy_thread_shares_its_connections_and_they_come_back():
    with Server(*THREADS) as server:
        db = server.connect()
        assert moved(db) == 0
        with Load(server, 8):
            server.until(lambda: moved(db) > 0, 60)
        # The load is over, so one thread is enough again, and there is an order again.
        server.until(lambda: set_and_get(server.connect, 50) == 0, 60)


def fixed_threads_keep_their_connections():
    with Server("--threads", "4", "--threads-fixed", "yes") as server:
        db = server.connect()
        with Load(server, 4):
            for _ in range(200):
                assert db.command("PING") == b"PONG"
        assert moved(db) == 0


def a_connection_that_moves_all_the_time_loses_nothing():
    with Server(*THREADS) as server:
        db = server.connect()
        assert db.command("DEBUG", "MOVE-CONNECTIONS", 1) == b"OK"
        with Load(server, 4):
            large, waiter, watcher = (server.connect(60) for _ in range(3))
            for at in range(200):
                # A request in two parts, with a moment to move in between.
                whole = encoded("SET", "large", "%d" % at + "x" * 100_000)
                large.send_bytes(whole[:70_000])
                assert db.command("PING") == b"PONG"
                large.send_bytes(whole[70_000:])
                assert large.read() == b"OK"
                assert db.command("GETRANGE", "large", 0, len(str(at)) - 1) == b"%d" % at
                # One that waits, and is killed while it does every tenth time.
                waiter.send_bytes(encoded("CLIENT", "ID") + encoded("BLPOP", "line", 0))
                name = waiter.read()
                if at % 10 == 9:
                    server.until(lambda: info(db, "blocked_clients") == 1)
                    assert db.command("CLIENT", "KILL", "ID", name) == 1
                    waiter = server.connect(60)
                else:
                    assert db.command("RPUSH", "line", at) == 1
                    assert waiter.read() == [b"line", b"%d" % at]
                # A transaction whose key was changed from elsewhere.
                watcher.send_bytes(encoded("WATCH", "watched") + encoded("MULTI") + encoded("PING"))
                assert [watcher.read() for _ in range(3)] == [b"OK", b"OK", b"QUEUED"]
                changes = at % 2 == 0
                assert db.command("SET", "watched" if changes else "other", at) == b"OK"
                outcome = watcher.command("EXEC")
                assert isinstance(outcome, list) != changes, (at, outcome)
        for at in range(50):
            # Lists of receivers name the thread, so who subscribes stays there.
            subscriber = server.connect(60)
            assert subscriber.command("SUBSCRIBE", "news")[0] == b"subscribe"
            for number in range(5):
                assert db.command("PUBLISH", "news", number) == 1
                assert subscriber.read() == [b"message", b"news", b"%d" % number]
            subscriber.close()
            server.until(lambda: db.command("PUBLISH", "news", "x") == 0)
        count = moved(db)
        print("     %d moves" % count)
        assert count > 0


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--tries", type=int, default=TRIES)
    options.add_argument("--at")
    options.add_argument("cases", nargs="*")
    options = options.parse_args()
    TRIES = options.tries
    if options.at:
        pin()
        for kind in (subscribe_and_publish, set_and_get):
            missed = kind(lambda: Connection(options.at, 15), TRIES)
            print("%s: %d of %d not seen" % (kind.__name__, missed, TRIES))
        sys.exit()
    sys.argv[1:] = options.cases
    sys.exit(run(globals()))
