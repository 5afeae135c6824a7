#!/usr/bin/env python3
"""Sends values of megabytes to the server that VARVE_SERVER names, and reads them: they are received where they stay, and sent from where they lie.

    VARVE_SERVER=target/release/varve-server tests/process/large_values.py [CASE ...]
"""

import random
import sys
import tempfile
import threading

from run import Closed, Error, Server, info_of, run

MB = 1 << 20


def value(length, seed):
    """Bytes that differ from place to place and from seed to seed."""
    return random.Random(seed).randbytes(4093) * (length // 4093) + b"v" * (length % 4093)


def request(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def used(db):
    return info_of(db, "memory", "used_memory")


def ends(db):
    """Whether the server ends when it is asked to."""
    try:
        return not isinstance(db.command("SHUTDOWN"), Error)
    except (Closed, OSError):
        return True


def many_clients_write_and_read_large_values_and_get_what_they_wrote():
    with Server("--threads", "4", "--enable-debug-command", "yes") as server:
        control = server.connect()
        assert control.command("DEBUG", "MOVE-CONNECTIONS", "1") == b"OK"
        wrong, over = [], threading.Event()

        def work(number):
            db, draw, key, held = server.connect(), random.Random(number), "key%d" % number, b""
            for turn in range(40):
                what = draw.randrange(7)
                if what < 2 or not held:
                    held = value(draw.choice((500_000, 524_289, 1_500_000, 6_000_000)), number * 1000 + turn)
                    ok = db.command("SET", key, held, *draw.choice(((), ("EX", "1000"), ("KEEPTTL",)))) == b"OK"
                elif what == 2:
                    at = draw.randrange(len(held) - 40)
                    held = held[:at] + b"%040d" % turn + held[at + 40:]
                    ok = db.command("SETRANGE", key, at, held[at:at + 40]) == len(held)
                elif what == 3:
                    # Both are sent from where they lie, though the value changes between them.
                    first, held = held, held + b"end"
                    db.send_bytes(request("GET", key) + request("APPEND", key, "end") + request("SETRANGE", key, 7, held[7:8]) + request("GET", key))
                    ok = [db.read() for _ in range(4)] == [first, len(held), len(held), held]
                elif what == 4:
                    old, held = held, value(700_000, number * 1000 + turn)
                    db.send_bytes(request("GETSET", key, held) + request("STRLEN", key))
                    ok = db.read() == old and db.read() == len(held)
                elif what == 5:
                    db.send_bytes(request("GET", key) + request("DEL", key) + request("EXISTS", key))
                    ok = [db.read() for _ in range(3)] == [held, 1, 0]
                    held = b""
                else:
                    ok = db.command("GET", key) == held and db.command("GETRANGE", key, 100_000, 400_000) == held[100_000:400_001]
                if not ok:
                    wrong.append((number, turn, what))
            over.set()

        def disturb():
            db, draw = server.connect(), random.Random(99)
            while not over.is_set():
                db.command("SET", "small:%d" % draw.randrange(1000), "v" * draw.randrange(3000))
                db.command("DEL", "small:%d" % draw.randrange(1000))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)] + [threading.Thread(target=disturb)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong
        control.command("FLUSHALL")
        server.until(lambda: used(control) < 8 * MB)


def who_does_not_read_a_value_keeps_no_more_than_its_bytes():
    with Server("--threads", "1") as server:
        db, slow = server.connect(), [server.connect() for _ in range(4)]
        before, large = used(db), value(20 * MB, 1)
        assert db.command("SET", "k", large) == b"OK"
        for client in slow:
            client.send_bytes(request("GET", "k"))
        # All of it counts as output of each client, as if it had been copied at once.
        server.until(lambda: all(b"omem=0 " not in line for line in db.command("CLIENT", "LIST").splitlines() if b"cmd=get" in line))
        assert db.command("SET", "k", "small") == b"OK"
        server.until(lambda: used(db) < before + 4 * 22 * MB)
        assert slow[0].read() == large
        for client in slow[1:]:
            client.close()
        server.until(lambda: used(db) < before + 2 * MB)


def a_value_that_there_is_no_room_for_is_refused_and_nothing_is_left_of_it():
    with Server("--threads", "2", "--maxmemory", "40mb", "--maxmemory-policy", "noeviction") as server:
        db = server.connect()
        for turn in range(6):
            refusal = db.command("SET", "k", value(60 * MB, turn))
            assert isinstance(refusal, Error) and refusal.startswith(b"OOM"), refusal[:100]
            # What was received of it counts until memory is measured again.
            server.until(lambda: db.command("SET", "k", value(5 * MB, turn)) == b"OK")
            assert db.command("GET", "k") == value(5 * MB, turn)
        server.until(lambda: used(db) < 8 * MB)


def values_that_exceed_the_limit_together_are_evicted():
    with Server("--threads", "2", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as server:
        db = server.connect()
        for turn in range(30):
            assert db.command("SET", "k%d" % turn, value(9 * MB, turn)) == b"OK"
        assert db.command("GET", "k29") == value(9 * MB, 29)
        assert 5 <= db.command("DBSIZE") <= 10
        server.until(lambda: used(db) <= 100 * MB)


def clients_that_go_in_the_middle_of_a_value_leave_nothing():
    with Server("--threads", "2") as server:
        db = server.connect()
        before, whole = used(db), request("SET", "k", value(4 * MB, 1))
        for turn in range(60):
            client = server.connect()
            client.send_bytes(whole[:(turn * 70_001) % (len(whole) - 1) + 1])
            client.close()
        server.until(lambda: used(db) < before + 2 * MB)
        assert db.command("EXISTS", "k") == 0


def a_value_is_in_the_journal_that_was_begun_while_it_arrived():
    with tempfile.TemporaryDirectory() as folder:
        large, settings = value(8 * MB, 1), ("--threads", "2", "--dir", folder)
        whole = request("SET", "k", large)
        with Server(*settings) as server:
            db, other = server.connect(), server.connect()
            db.send_bytes(whole[:5 * MB])
            server.until(lambda: b"argv-mem=%d" % (4 * MB) <= next(
                word for line in other.command("CLIENT", "LIST").splitlines() if b"cmd=NULL" in line for word in line.split() if word.startswith(b"argv-mem")))
            assert other.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
            db.send_bytes(whole[5 * MB:])
            assert db.read() == b"OK" and db.command("SET", "next", large) == b"OK"
            # The first base may not be whole yet: it is refused then.
            server.until(lambda: server.process.poll() is not None or ends(db))
            assert server.ends_with_status() == 0
        with Server(*settings, "--appendonly", "yes") as server:
            server.until(lambda: "Ready to accept" in server.output.read_text())
            db = server.connect()
            assert db.command("GET", "k") == large and db.command("GET", "next") == large


def a_snapshot_has_each_value_as_it_was():
    with Server("--threads", "2") as server:
        db, other = server.connect(), server.connect()
        for turn in range(10):
            first, second = value(5 * MB, turn), value(6 * MB, turn + 100)
            assert db.command("SET", "k", first) == b"OK"
            whole = request("SET", "k", second)
            db.send_bytes(whole[:3 * MB])
            # It is answered once the moment is noted: what comes later is not in the file.
            assert other.command("BGSAVE") == b"Background saving started"
            db.send_bytes(whole[3 * MB:])
            assert db.read() == b"OK"
            server.until(lambda: info_of(other, "persistence", "rdb_bgsave_in_progress") == 0)
            assert db.command("GET", "k") == second
            with Server("--dir", server.folder) as again:
                again.until(lambda: "Ready to accept" in again.output.read_text())
                assert again.connect().command("GET", "k") == first


if __name__ == "__main__":
    sys.exit(run(globals()))
