#!/usr/bin/env python3
"""Lets keys and fields expire on a server that has nothing else to do, named by VARVE_SERVER, and checks that each is told and gone without
being asked for. With --measure it prints how late that is, and what rest costs.

    VARVE_SERVER=target/debug/varve-server tests/process/expiring.py [CASE ...]
    VARVE_SERVER=target/release/varve-server tests/process/expiring.py --measure [KEYS [SECONDS OF REST]]

No case minds how late: machines are slow.
"""

import pathlib
import random
import sys
import time

from run import Server, run

FAR = 100_000  # keys with far deadlines, when rest is measured
SPREAD = range(500, 3500)  # milliseconds until keys expire, when lateness is measured


def quiet(*settings):
    return Server("--enable-debug-command", "yes", "--notify-keyspace-events", "Exh", *settings)


def listen(server, *channels):
    """A connection that hears of what expires."""
    heard = server.connect()
    for channel in channels:
        heard.command("SUBSCRIBE", "__keyevent@0__:" + channel)
    return heard


def keys_expire_one_by_one_though_nobody_reads_them():
    with quiet() as server:
        db, heard = server.connect(), listen(server, "expired")
        db.command("SET", "late", "v", "PX", 3_600_000)
        for number in range(5):
            # Each is set while the server sleeps until a later deadline.
            db.command("SET", number, "v", "PX", 30)
            assert heard.read() == [b"message", b"__keyevent@0__:expired", str(number).encode()]
        assert db.command("DBSIZE") == 1


def an_earlier_deadline_is_not_kept_waiting_by_a_later_one():
    with quiet() as server:
        db, heard = server.connect(), listen(server, "expired")
        # In one batch, so that no pause of this machine lies between them.
        db.send_bytes(b"".join(b"SET %d v PX %d\r\n" % (millis, millis) for millis in (900, 600, 300, 60_000)))
        assert [db.read() for _ in range(4)] == [b"OK"] * 4
        assert {heard.read()[2] for _ in range(3)} == {b"300", b"600", b"900"}
        assert db.command("EXISTS", 60_000) == 1


def a_hash_is_gone_behind_its_last_field():
    with quiet("--threads", "1") as server:
        db, heard = server.connect(), listen(server, "hexpired")
        db.command("HSET", "h", "a", 1, "b", 2)
        db.command("HPEXPIRE", "h", 20, "FIELDS", 1, "a")
        assert heard.read()[2] == b"h" and db.command("HLEN", "h") == 1
        db.command("HPEXPIRE", "h", 20, "FIELDS", 1, "b")
        heard.read()
        assert db.command("DBSIZE") == 0


def many_keys_of_all_databases_expire():
    with quiet() as server:
        db = server.connect()
        for database in (0, 7, 15):
            db.command("SELECT", database)
            db.send_bytes(b"".join(b"SET %d v PX %d\r\n" % (number, 1 + number % 400) for number in range(3000)))
            assert all(db.read() == b"OK" for _ in range(3000))
        server.until(lambda: b"keys=" not in db.command("INFO", "keyspace"))


def keys_expire_behind_a_time_in_which_none_could():
    with quiet() as server:
        db, heard = server.connect(), listen(server, "expired")
        db.command("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        db.command("SET", "k", "v", "PX", 1)
        db.command("CLIENT", "PAUSE", 200, "WRITE")
        db.command("DEBUG", "SET-ACTIVE-EXPIRE", 1)
        assert heard.read()[2] == b"k"


def processor_seconds(server):
    """Time that its threads have had a core, to the nanosecond."""
    tasks = pathlib.Path("/proc/%d/task" % server.process.pid).iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def lateness(server, keys, make):
    """Milliseconds between deadlines and their events, in order."""
    heard, due, late, chance = listen(server, "expired", "hexpired"), {}, [], random.Random(1)
    for number in range(keys):
        millis = chance.choice(SPREAD)
        make(b"%d" % number, millis)
        due[b"%d" % number] = time.time() * 1000 + millis
    while due:
        _, _, key = heard.read()
        late.append(time.time() * 1000 - due.pop(key, time.time() * 1000))
    heard.close()
    return sorted(late)


def measure(keys=1000, rest=20):
    with quiet() as server:
        db = server.connect()

        def hash_of_one(key, millis):
            db.command("HSET", key, "f", "v")
            db.command("HPEXPIRE", key, millis, "FIELDS", 1, "f")

        for title, make in (("SET PX", lambda key, millis: db.command("SET", key, "v", "PX", millis)), ("HPEXPIRE", hash_of_one)):
            late = lateness(server, keys, make)
            parts = (len(late) // 2, len(late) * 99 // 100, len(late) - 1)
            print("%-8s of %d: late by %.0f ms in the middle, 99 of 100 by %.0f, all by %.0f" % ((title, keys) + tuple(late[part] for part in parts)))
    for title, far in (("empty", 0), ("%d keys with far deadlines" % FAR, FAR)):
        with quiet() as server:
            db = server.connect()
            db.send_bytes(b"".join(b"SET %d v EX %d\r\n" % (number, 100_000 + number) for number in range(far)))
            for _ in range(far):
                db.read()
            time.sleep(2)
            before = processor_seconds(server)
            time.sleep(rest)
            print("%s: %.1f ms of processor time in %d s of rest" % (title, 1000 * (processor_seconds(server) - before), rest), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        sys.exit(measure(*map(int, sys.argv[2:])))
    sys.exit(run(globals()))
