#!/usr/bin/env python3
"""Has the server named by VARVE_SERVER write append-only files to a disk that is full, until there is space again or the process ends.

    VARVE_SERVER=target/release/varve-server tests/process/full_disk.py [CASE ...]

A limit for the size of files stands for the disk; where a disk can be mounted, as the superuser may, a small one is filled as well.
"""

import contextlib
import functools
import os
import pathlib
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from unittest import mock

from appending import Appending, digest, filled, same_behind
from numbered import plain
from run import PATIENCE, Closed, Error, run
from saving import facts

MISCONF = b"MISCONF Errors writing to the AOF file: "


@contextlib.contextmanager
def limited_file(kind="file"):
    """A folder for a server whose files may only grow so far; how to make it full, and not."""
    environment = mock.patch.dict(os.environ, VARVE_SERVER="env --ignore-signal=XFSZ " + os.environ["VARVE_SERVER"])
    with tempfile.TemporaryDirectory(prefix="varve-full-") as folder, environment:

        def limit(server, most):
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

        full = lambda server: limit(server, server.appended.paths("i")[-1].stat().st_size + 5000)
        yield folder, full, lambda server: limit(server, resource.RLIM_INFINITY), b"File too large"


@contextlib.contextmanager
def small_disk(kind="disk"):
    """A folder on a disk of 32 MB, and the same; nothing where no disk can be mounted."""
    with tempfile.TemporaryDirectory(prefix="varve-full-") as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder], capture_output=True).returncode == 0
        if not mounted:
            print("skipped  a full disk: no disk can be mounted here; a limit for files stands for it")
            yield None
            return
        ballast = pathlib.Path(folder, "ballast")

        def full(_):
            with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * 4096)

        try:
            yield folder, full, lambda _: ballast.unlink(), b"No space left on device"
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def on_full_disks(case):
    """Runs a case with each way to make a disk full."""
    for disk in (limited_file, small_disk):
        with disk() as ways:
            if ways:
                case(*ways)


def write_until_refused(db):
    """Increments a counter, and writes more besides, until that is refused; what the counter has come to, and the error."""
    deadline, number = time.monotonic() + PATIENCE, 0
    while time.monotonic() < deadline:
        replies = db.command("INCR", "n"), db.command("SET", "filler", b"x" * (64 << 10))
        number = number if isinstance(replies[0], Error) else replies[0]
        for reply in replies:
            if isinstance(reply, Error):
                return number, reply
    raise AssertionError("writes go on")


def a_full_disk_refuses_writes_and_nothing_else():
    def case(folder, full, free, words):
        with Appending(folder=folder) as server:
            db = server.connect()
            db.command("MSET", *(word for at in range(50) for word in ("k%d" % at, "v")))
            db.command("RPUSH", "queue", "x")
            db.command("SET", "filler", "")
            # Nobody removes it before nothing may be removed.
            db.command("DEBUG", "SET-ACTIVE-EXPIRE", 0)
            db.command("SET", "mortal", "x", "PX", 1)
            queued = server.connect()
            assert [queued.command(*it) for it in (("MULTI",), ("GET", "k1"), ("SET", "k1", "w"))] == [b"OK", b"QUEUED", b"QUEUED"]
            reading = server.connect()
            assert [reading.command(*it) for it in (("MULTI",), ("GET", "k1"))] == [b"OK", b"QUEUED"]
            full(server)
            number, refusal = write_until_refused(db)
            assert refusal == MISCONF + words, refusal
            aborted = queued.command("EXEC")
            assert aborted == b"EXECABORT Transaction discarded because of: " + MISCONF + words, aborted
            assert queued.command("EXEC") == b"ERR EXEC without MULTI"
            assert reading.command("EXEC") == [b"v"], "it writes nothing"
            db.command("DEBUG", "SET-ACTIVE-EXPIRE", 1)
            assert facts(db)["aof_last_write_status"] == "err"
            assert db.command("GET", "k1") == b"v" and db.command("INCR", "n").startswith(b"MISCONF")
            for request in (("SET", "k1", "w"), ("DEL", "k1"), ("LPOP", "queue"), ("FLUSHALL",), ("SWAPDB", 0, 1), ("BLPOP", "queue", 0), ("RENAME", "k1", "k2")):
                assert db.command(*request) == MISCONF + words, request
            assert db.command("MULTI") == b"OK" and db.command("GET", "k1") == b"QUEUED"
            refused = db.command("SET", "k1", "w")
            assert refused == MISCONF + words, refusal
            assert db.command("EXEC").startswith(b"EXECABORT "), "it was spoiled"
            # What expires is hidden, and stays, since its removal could not be written; nothing is evicted either.
            server.until(lambda: plain(db.command("GET", "mortal")) is None)
            keys = db.command("DBSIZE")
            assert db.command("CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", "1") == b"OK"
            for _ in range(20):
                assert db.command("EXISTS", "mortal") == 0
                assert db.command("SET", "k1", "w") == MISCONF + words
                time.sleep(0.02)
            assert db.command("DBSIZE") == keys == 54, "nothing is removed"
            assert b"evicted_keys:0\r\n" in db.command("INFO", "stats") and b"expired_keys:0\r\n" in db.command("INFO", "stats")
            assert db.command("CONFIG", "SET", "maxmemory", "0") == b"OK"
            assert db.command("GET", "n") == b"%d" % number
            free(server)
            server.until(lambda: db.command("INCR", "n") == number + 1)
            assert facts(db)["aof_last_write_status"] == "ok"
            server.until(lambda: db.command("DBSIZE") == 53)
            server.until_written(db)
            expected = digest(db)
            server.kill()
            same_behind("valkey-server", folder, expected)

    on_full_disks(case)


def seconds_of_the_journal(server):
    """Seconds of a core that the thread of the journal has taken."""
    for stat in pathlib.Path("/proc/%d/task" % server.process.pid).glob("*/stat"):
        name, _, rest = stat.read_text().partition("(")[2].rpartition(") ")
        if name == "journal":
            return sum(map(int, rest.split()[11:13])) / os.sysconf("SC_CLK_TCK")
    raise AssertionError("there is no such thread")


def refusals(server):
    """How often the log says that the files cannot be written."""
    return server.output.read_text().count("Error writing the append-only file")


def the_journal_rests_between_tries():
    def case(folder, full, free, words):
        for policy in ("always", "everysec"):
            with Appending("--appendfsync", policy, "--threads", 2, folder=folder) as server:
                db, other = server.connect(), server.connect()
                db.command("SET", "filler", "")
                full(server)
                # More than the file has room for already, which waits for the disk meanwhile.
                server.send(db, "SET", "large", "x" * (12 << 20))
                server.until(lambda: refusals(server))
                began, seconds, before = time.monotonic(), seconds_of_the_journal(server), refusals(server)
                server.until(lambda: refusals(server) >= before + 3)
                # Of a core that it had for itself, or shared with a few.
                assert seconds_of_the_journal(server) - seconds < (time.monotonic() - began) / 10
                assert other.command("SET", "k", "v") == MISCONF + words
                free(server)
                assert db.read() == b"OK"
                server.until(lambda: other.command("SET", "k", "v") == b"OK")
                server.kill()

    on_full_disks(case)


def nobody_waits_for_a_full_disk_however_much_waits_for_it():
    def case(policy, folder, full, free, words):
        with Appending("--appendfsync", policy, "--auto-aof-rewrite-percentage", 0, folder=folder) as server:
            db, other, third = server.connect(), server.connect(), server.connect()
            for client in (db, third):
                client.command("SET", "filler", "")
            db.command("PFADD", "visitors", *range(100))
            full(server)
            # More than may wait for the disk before changes are held back.
            server.send(db, "SET", "large", "x" * (20 << 20))
            server.until(lambda: other.command("STRLEN", "large") == 20 << 20)
            server.send(third, "SET", "held", "x")
            server.until(lambda: facts(other)["aof_last_write_status"] == "err")
            assert 90 < other.command("PFCOUNT", "visitors") < 110
            assert other.command("PUBLISH", "channel", "message") == 0
            assert other.command("SPUBLISH", "channel", "message") == 0
            for queued in (("STRLEN", "filler"), ("PUBLISH", "channel", "message"), ("PFCOUNT", "nobody"), ("PFCOUNT", "visitors")):
                assert [other.command(*it) for it in (("MULTI",), queued)] == [b"OK", b"QUEUED"]
                reply = other.command("EXEC")
                assert len(reply) == 1 and (90 < reply[0] < 110 if "visitors" in queued else reply[0] == 0), (queued, reply)
            assert other.command("SET", "k", "v") == MISCONF + words
            assert third.read() == MISCONF + words, "who was held back before hears of it"
            assert other.command("DEBUG", "LOADAOF").startswith(b"ERR Error trying to load the AOF files")
            assert other.command("STRLEN", "large") == 20 << 20
            free(server)
            assert db.read() == b"OK"
            server.until(lambda: other.command("SET", "k", "v") == b"OK")
            server.kill()

    for policy in ("everysec", "always"):
        on_full_disks(functools.partial(case, policy))


def a_rotation_on_a_full_disk_says_once_a_second_what_is_wrong_and_none_is_begun_by_itself():
    def case(folder, full, free, words):
        with Appending("--auto-aof-rewrite-percentage", 0, folder=folder) as server:
            db = server.connect()
            db.command("SET", "filler", "")
            full(server)
            write_until_refused(db)

            def refused_thrice():
                began, before = time.monotonic(), refusals(server)
                while refusals(server) < before + 3:
                    assert db.command("SET", "k", "v") == MISCONF + words
                    time.sleep(0.005)
                assert refusals(server) - before <= time.monotonic() - began + 2

            assert db.command("CONFIG", "SET", "auto-aof-rewrite-percentage", "1", "auto-aof-rewrite-min-size", "1") == b"OK"
            refused_thrice()
            assert facts(db)["aof_rewrites"] == "0", "no base is begun that nobody has asked for"
            assert db.command("BGREWRITEAOF").startswith(b"Background append only file rewriting ")
            server.until(lambda: facts(db)["aof_rewrites"] == "1")
            refused_thrice()
            free(server)
            server.until(lambda: db.command("SET", "k", "w") == b"OK")
            server.until(lambda: int(facts(db)["aof_rewrites"]) > 0 and facts(db)["aof_rewrite_in_progress"] == "0")
            server.until_written(db)
            expected = digest(db)
            server.kill()
            same_behind("valkey-server", folder, expected)

    on_full_disks(case)


def who_waits_for_a_sync_waits_until_there_is_space_again():
    def case(in_transaction, folder, full, free, words):
        with Appending("--appendfsync", "always", folder=folder) as server:
            waiting, other = server.connect(), server.connect()
            if in_transaction:
                queued = ("MULTI",), ("STRLEN", "large"), ("SET", "large", "x" * 9000), ("STRLEN", "large")
                assert [waiting.command(*words) for words in queued] == [b"OK"] + [b"QUEUED"] * 3
            full(server)
            server.send(waiting, *(["EXEC"] if in_transaction else ["SET", "large", "x" * 9000]))
            server.until(lambda: facts(other)["aof_last_write_status"] == "err")
            assert other.command("SET", "refused", "x") == MISCONF + words
            assert other.command("STRLEN", "large") == 9000, "who only reads is served, and may see it"
            assert not waiting.buffer and not select.select([waiting.socket], [], [], 0)[0], "no part of the reply has come"
            free(server)
            assert waiting.read() == ([0, b"OK", 9000] if in_transaction else b"OK")
            server.until(lambda: other.command("SET", "accepted", "x") == b"OK")
            server.kill()
            with Appending(folder=folder) as second:
                db = second.connect()
                assert db.command("STRLEN", "large") == 9000 and db.command("MGET", "accepted")[0] == b"x"
                assert db.command("EXISTS", "refused") == 0

    for in_transaction in (False, True):
        on_full_disks(functools.partial(case, in_transaction))


def the_server_does_not_end_while_a_full_disk_keeps_data_from_the_files_unless_it_is_forced():
    def case(policy, is_forced, folder, full, free, words):
        with Appending("--appendfsync", policy, folder=folder) as server:
            db, other = server.connect(), server.connect()
            db.command("SET", "large", "")
            full(server)
            server.send(db, "SET", "large", "x" * (12 << 20))
            server.until(lambda: other.command("STRLEN", "large") == 12 << 20)
            # The first comes before the writer knows, perhaps.
            for way in (["SHUTDOWN"], ["SHUTDOWN", "NOSAVE"], signal.SIGTERM):
                before = server.output.read_text().count("can't exit")
                if isinstance(way, list):
                    assert other.command(*way) == b"ERR Errors trying to SHUTDOWN. Check logs.", way
                else:
                    server.process.send_signal(way)
                server.until(lambda: server.output.read_text().count("Errors writing to the AOF file: %s, can't exit" % words.decode()) > before)
            assert other.command("SET", "k", "v") == MISCONF + words
            if not is_forced:
                free(server)
                server.until(lambda: other.command("SET", "k", "v") == b"OK")
            server.send(other, "SHUTDOWN", *(["FORCE"] if is_forced else []))
            assert server.ends_with_status() == 0
        if is_forced:
            free(server)
        with Appending(folder=folder) as second:
            assert second.connect().command("STRLEN", "large") == (0 if is_forced else 12 << 20)

    for policy, is_forced in (("always", False), ("everysec", False), ("no", False), ("everysec", True)):
        on_full_disks(functools.partial(case, policy, is_forced))


def nothing_acknowledged_is_lost_where_a_full_disk_outlasts_the_process():
    def case(folder, full, free, words):
        with Appending("--appendfsync", "always", folder=folder) as server:
            db, done, is_over = server.connect(), {}, threading.Event()

            def write(name, client):
                with contextlib.suppress(Closed, OSError):
                    for number in range(10**6):
                        # Long values, so that little time passes until nothing fits.
                        reply = client.command("SET", name, "%-5000d" % number)
                        if reply == b"OK":
                            done[name] = number
                        elif is_over.is_set():
                            return

            threads = [threading.Thread(target=write, args=("w%d" % at, server.connect()), daemon=True) for at in range(4)]
            for thread in threads:
                thread.start()
            server.until(lambda: len(done) == 4)
            full(server)
            server.until(lambda: facts(db)["aof_last_write_status"] == "err")
            is_over.set()
            server.kill()
            for thread in threads:
                thread.join(PATIENCE)
            free(server)
            with Appending(folder=folder) as second:
                db = second.connect()
                for name, number in done.items():
                    assert int(db.command("GET", name)) >= number, name

    on_full_disks(case)


def a_rotation_without_space_leaves_the_old_files_and_is_made_when_there_is_some():
    with limited_file() as (folder, _, free, _), Appending("--appendfsync", "always", folder=folder) as server:
        db = server.connect()
        filled(db)
        server.until(lambda: plain(db.command("GET", "gone")) is None)
        before = server.appended.paths("b")
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        assert db.command("BGREWRITEAOF").startswith(b"Background append only file rewriting ")
        server.until(lambda: facts(db)["aof_last_bgrewrite_status"] == "err")
        assert server.appended.paths("b") == before
        free(server)
        server.until(lambda: db.command("SET", "behind", "x") == b"OK")
        server.rewritten(db)
        assert len(server.appended.paths("b")) == 1
        expected = digest(db)
        server.kill()
        same_behind("valkey-server", folder, expected)


if __name__ == "__main__":
    sys.exit(run(globals()))
