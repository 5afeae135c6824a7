#!/usr/bin/env python3
"""Has files of the server named by VARVE_SERVER fail to be made, vanish or outlive their process, and looks at what is left, and who is refused.

    VARVE_SERVER=target/release/varve-server tests/process/leftovers.py [CASE ...]

Builds with assertions have steps with files fail on demand; cases that need that are skipped with others.
"""

import contextlib
import functools
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time
from unittest import mock

from appending import Appending, digest, same_behind
from full_disk import limited_file, refusals, small_disk
from run import Error, run
from saving import SLOW, Saving, facts

BYTES = 100_000  # of a base that does not fit
LIMIT = 20_000  # bytes that a file may have


@contextlib.contextmanager
def faulty(fault):
    """Has servers that are started meanwhile meet a fault whenever the file is there that is returned."""
    with tempfile.TemporaryDirectory(prefix="varve-fault-") as folder:
        switch = pathlib.Path(folder, "strikes")
        with mock.patch.dict(os.environ, VARVE_FAULT=fault, VARVE_STOP=str(switch)):
            yield switch


@functools.cache
def has_faults(fault="die@1"):
    """True if the build has faults: the first step with files of a start then ends it."""
    with faulty(fault) as switch, tempfile.TemporaryDirectory(prefix="varve-fault-") as folder:
        switch.touch()
        server = Saving("--appendonly", "yes", folder=folder)
        with contextlib.suppress(AssertionError, OSError), server:
            return False
        server.__exit__()
        return True


def refused(db, count=200):
    """How many of so many changes are refused."""
    replies = [db.command("SET", "key:%d" % number, number) for number in range(count)]
    return sum(isinstance(reply, Error) for reply in replies)


def set_limit(server, most):
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def is_rewritten(db):
    """True once a rotation has ended well, and none is at work."""
    now = facts(db)
    return now["aof_rewrite_in_progress"] == "0" and now["aof_last_bgrewrite_status"] == "ok"


def fails_to_rewrite(server, db):
    """Waits until a rotation has failed."""
    reply = db.command("BGREWRITEAOF")
    assert reply.startswith(b"Background append only file rewriting "), reply
    server.until(lambda: (now := facts(db))["aof_last_bgrewrite_status"] == "err" and now["aof_rewrite_in_progress"] == "0")


def a_base_that_cannot_be_written_is_gone_at_once():
    with limited_file() as (folder, _, free, _), Appending("--appendonly", "no", folder=folder) as server:
        db = server.connect()
        db.command("SET", "large", os.urandom(BYTES))
        set_limit(server, LIMIT)
        assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
        server.until(lambda: facts(db)["aof_last_bgrewrite_status"] == "err")
        assert db.command("CONFIG", "SET", "appendonly", "no") == b"OK"
        server.until(lambda: server.appended.temporary() == [])
        free(server)
        assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
        server.until(lambda: is_rewritten(db))
        set_limit(server, LIMIT)
        fails_to_rewrite(server, db)
        server.until(lambda: server.appended.temporary() == [])
        free(server)
        assert refused(db) == 0


def a_first_base_that_does_not_fit_is_tried_less_and_less_often():
    with limited_file() as (folder, _, free, _), Appending("--appendonly", "no", folder=folder) as server:
        db = server.connect()
        db.command("SET", "large", os.urandom(BYTES))
        set_limit(server, LIMIT)
        assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
        server.until(lambda: facts(db)["aof_last_bgrewrite_status"] == "err")
        time.sleep(6)
        # The second try comes a second behind the first one, the next ones two and four seconds behind those.
        assert int(facts(db)["aof_rewrites"]) <= 4
        free(server)
        server.until(lambda: is_rewritten(db))
        assert facts(db)["aof_enabled"] == "1"


def a_rotation_that_does_not_fit_on_its_disk_refuses_nobody():
    with small_disk() as ways:
        if not ways:
            return
        with Appending("--appendfsync", "always", "--auto-aof-rewrite-percentage", 0, folder=ways[0]) as server:
            db = server.connect()
            for number in range(18):
                assert db.command("SET", "large:%d" % number, os.urandom(1 << 20)) == b"OK"
            for _ in range(3):
                fails_to_rewrite(server, db)
                server.until(lambda: server.appended.temporary() == [])
                assert refused(db) == 0
            # By itself it is tried again and again, while changes go on.
            before = int(facts(db)["aof_rewrites"])
            assert db.command("CONFIG", "SET", "auto-aof-rewrite-percentage", "1", "auto-aof-rewrite-min-size", "1") == b"OK"
            server.until(lambda: refused(db, 20) == 0 and int(facts(db)["aof_rewrites"]) >= before + 2)


def a_rotation_whose_files_cannot_be_renamed_is_given_up():
    if not has_faults():
        print("skipped  a rotation without names: this build has no faults of the disk")
        return
    for steps in ("rename:1+", "rename:2+", "sync-names:1+", "create:1+", "create:2+", "create:3+", "create:4+"):
        with faulty("fail@" + steps) as switch, Appending("--appendfsync", "always") as server:
            db = server.connect()
            db.command("SET", "k", "v")
            before = server.appended.paths()
            switch.touch()
            fails_to_rewrite(server, db)
            assert refused(db) == 0, steps
            switch.unlink()
            server.rewritten(db)
            assert len(server.appended.paths()) == 2 and server.appended.paths()[0] != before[0], steps
            server.until(lambda: len(list(server.appended.place.glob("[!.]*"))) == 3)


def loaded_from(folder, db, server):
    """Ends the server, and holds what the next one finds against what was there."""
    expected = digest(db)
    server.kill()
    same_behind("valkey-server", folder, expected)


def a_start_goes_on_in_the_last_file():
    with tempfile.TemporaryDirectory(prefix="varve-lives-") as folder:
        with Appending("--appendfsync", "always", folder=folder) as server:
            db = server.connect()
            db.command("MSET", "a", 1, "b", 2)
            db.command("SELECT", 3)
            for number in range(300):
                db.command("SET", "elsewhere", number)
            server.kill()
            before = [(path.name, path.stat().st_size) for path in server.appended.paths()]
        for _ in range(3):
            with Appending("--appendfsync", "always", folder=folder) as server:
                server.kill()
                now = [(path.name, path.stat().st_size) for path in server.appended.paths()]
                assert [name for name, _ in now] == [name for name, _ in before]
                # What tells how much is safe is written once, if the first life had no time for it.
                assert now[0] == before[0] and now[1][1] <= before[1][1] + 256, (before, now)
        for life in range(4):
            with Appending("--appendfsync", ("always", "no", "everysec")[life % 3], folder=folder) as server:
                db = server.connect()
                db.command("SELECT", life)
                assert db.command("RPUSH", "lives", life) == 1
                db.command("SELECT", 3)
                assert db.command("GET", "elsewhere") == b"299"
                server.until_written(db)
                assert [path.name for path in server.appended.paths()] == [name for name, _ in before]
                loaded_from(folder, db, server)


def full_files(steps="create,append,pad"):
    """A folder, and how to let its disk be full and not: a small disk, or a fault of each step that takes space."""
    if has_faults():
        with faulty("full@%s:1+" % steps) as switch, tempfile.TemporaryDirectory(prefix="varve-full-") as folder:
            yield folder, switch.touch, switch.unlink
    with small_disk() as ways:
        if ways:
            folder, full, free, _ = ways
            yield folder, lambda: full(None), lambda: free(None)


def a_start_on_a_full_disk_serves_reads_and_heals():
    foreign = {
        "appendonly.aof.1.incr.aof": b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n",
        "appendonly.aof.manifest": b"file appendonly.aof.1.incr.aof seq 1 type i\n",
    }
    for is_own in (True, False):
        for folder, full, free in full_files():
            if is_own:
                with Appending("--appendfsync", "always", folder=folder) as server:
                    assert server.connect().command("SET", "k", "v") == b"OK"
                    server.process.terminate()
                    assert server.ends_with_status() == 0
            else:
                place = pathlib.Path(folder, "appendonlydir")
                place.mkdir()
                for name, data in foreign.items():
                    (place / name).write_bytes(data)
            full()
            for way in ("SIGTERM", "free"):
                with Appending("--appendfsync", "always", folder=folder) as server:
                    db = server.connect()
                    assert db.command("GET", "k") == b"v"
                    assert db.command("SET", "k", "w").startswith(b"MISCONF Errors writing to the AOF file: No space left"), (is_own, way)
                    assert facts(db)["aof_last_write_status"] == "err"
                    if way == "SIGTERM":
                        server.process.terminate()
                        assert server.ends_with_status() == 0, "nothing is lost"
                        continue
                    # Another look at the disk finds it as full.
                    before = refusals(server)
                    server.until(lambda: refusals(server) > before)
                    assert db.command("SET", "k", "w").startswith(b"MISCONF ")
                    free()
                    server.until(lambda: db.command("SET", "k", "w") == b"OK")
                    assert refused(db) == 0 and facts(db)["aof_last_write_status"] == "ok"
                    assert len(server.appended.paths()) == 2
                    loaded_from(folder, db, server)


def files_that_are_taken_away_are_missed_and_made_anew():
    """The directory, a file of it, the manifest, or the directory by another name: nothing acknowledged is lost with them."""
    def moved(place):
        place.rename(place.parent / "elsewhere")

    def without(kind):
        return lambda place: next(place.glob("*." + kind + "*")).unlink()

    for take in (shutil.rmtree, moved, without("incr"), without("base"), without("manifest")):
        for policy in ("always", "everysec", "no") if take is shutil.rmtree else ("always",):
            with Appending("--appendfsync", policy, "--auto-aof-rewrite-percentage", 0) as server:
                db = server.connect()
                assert db.command("SET", "k", "v") == b"OK"
                take(server.appended.place)

                def is_told():
                    db.command("INCR", "n")
                    return "not there any more" in server.output.read_text()

                server.until(is_told)
                # Changes are refused until all is on the disk.
                server.until(lambda: not isinstance(db.command("INCR", "n"), Error))
                server.until(lambda: facts(db)["aof_last_write_status"] == "ok" and facts(db)["aof_rewrite_in_progress"] == "0")
                assert refused(db) == 0
                server.rewritten(db)
                server.until_written(db)
                loaded_from(server.place, db, server)


def files_that_were_lost_are_not_made_anew_once_they_are_off():
    with limited_file() as (folder, _, free, _), Appending("--appendfsync", "always", folder=folder) as server:
        db = server.connect()
        assert db.command("SET", "large", os.urandom(BYTES)) == b"OK"
        set_limit(server, LIMIT)
        shutil.rmtree(server.appended.place)
        server.until(lambda: facts(db)["aof_last_bgrewrite_status"] == "err")
        assert db.command("CONFIG", "SET", "appendonly", "no") == b"OK"
        server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "0" and facts(db)["aof_last_write_status"] == "ok")
        before = facts(db)["aof_rewrites"]
        free(server)
        time.sleep(2)
        assert facts(db)["aof_rewrites"] == before and list(server.appended.place.glob("*.base*")) == []
        assert refused(db) == 0
        server.rewritten(db)


def bgrewriteaof_makes_files_anew_that_were_taken_away():
    with Appending("--appendfsync", "no") as server:
        db = server.connect()
        db.command("SET", "k", "v")
        shutil.rmtree(server.appended.place)
        db.command("BGREWRITEAOF")
        server.until(lambda: facts(db)["aof_rewrites"] != "0" and is_rewritten(db))
        server.until_written(db)
        loaded_from(server.place, db, server)


def a_directory_that_was_put_in_the_place_of_the_files_is_not_written_to():
    with Appending("--appendfsync", "always") as server, Appending("--appendfsync", "always") as other:
        other.connect().command("SET", "k", "other")
        other.kill()
        db = server.connect()
        db.command("SET", "k", "v")
        server.appended.place.rename(server.place / "elsewhere")
        shutil.copytree(other.appended.place, server.appended.place)
        before = {path.name: path.read_bytes() for path in server.appended.place.iterdir()}
        # A change that comes before the server misses its files waits for the sync, so for other files.
        waits = server.connect()
        waits.send([b"SET", b"k", b"w"])
        server.until(lambda: facts(db)["aof_last_write_status"] == "err")
        assert isinstance(db.command("SET", "k", "w"), Error)
        server.until(lambda: "was put in the place" in server.output.read_text())
        assert db.command("GET", "k") in (b"v", b"w")
        assert {path.name: path.read_bytes() for path in server.appended.place.iterdir()} == before
        shutil.rmtree(server.appended.place)
        server.until(lambda: db.command("SET", "k", "x") == b"OK")
        assert waits.read() == b"OK" or refusals(server) > 0
        loaded_from(server.place, db, server)


@contextlib.contextmanager
def configured():
    """The file of settings of servers that are started meanwhile."""
    with tempfile.NamedTemporaryFile(prefix="varve-", suffix=".conf") as file:
        with mock.patch.dict(os.environ, VARVE_SERVER="%s %s" % (os.environ["VARVE_SERVER"], file.name)):
            yield pathlib.Path(file.name)


def the_directory_of_files_that_are_on_does_not_change():
    protected = "--enable-protected-configs", "yes"
    with tempfile.TemporaryDirectory(prefix="varve-other-") as other, configured() as config, Appending(*protected, "--pidfile", "pid") as server:
        db = server.connect()
        assert db.command("SET", "k", "v") == b"OK"
        for words in (("dir", other), ("dir", other, "appendonly", "yes"), ("save", "1 1", "dir", other)):
            said = db.command("CONFIG", "SET", *words)
            assert isinstance(said, Error) and b"append-only files stay" in said, said
        assert db.command("CONFIG", "GET", "dir", "save") == [b"dir", str(server.place).encode(), b"save", b""]
        assert db.command("CONFIG", "SET", "dir", server.place / ".") == b"OK", "it is the same"
        assert db.command("CONFIG", "SET", "dir", other, "appendonly", "no") == b"OK"
        assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
        server.until(lambda: is_rewritten(db))
        assert db.command("SET", "k", "w") == b"OK" and db.command("BGSAVE") == b"Background saving started"
        server.until(lambda: pathlib.Path(other, "dump.rdb").exists())
        assert db.command("CONFIG", "REWRITE") == b"OK"
        server.process.terminate()
        assert server.ends_with_status() == 0
        assert "pid" not in server.files(), "it was made there"
        assert sorted(os.listdir(other)) == ["appendonlydir", "dump.rdb"], os.listdir(other)
        assert other in config.read_text()
        with Appending(folder=other) as second:
            assert second.connect().command("GET", "k") == b"w"
    with tempfile.TemporaryDirectory(prefix="varve-other-") as other, Saving(*protected, "--save", "") as server:
        db = server.connect()
        db.command("SET", "k", "v")
        assert db.command("CONFIG", "SET", "appendonly", "yes", "dir", other) == b"OK"
        server.until(lambda: is_rewritten(db))
        assert os.listdir(other) == ["appendonlydir"] and server.files() == []


def snapshots_of_processes_that_were_killed_are_removed():
    with tempfile.TemporaryDirectory(prefix="varve-killed-") as folder:
        own, dead = pathlib.Path(folder, "temp-%d.rdb" % os.getpid()), None
        own.write_bytes(b"of a process that lives")
        with Saving("--rdb-key-save-delay", SLOW, folder=folder) as server:
            db, dead = server.connect(), "temp-%d.rdb" % server.process.pid
            db.command("SET", "k", "v")
            db.command("BGSAVE")
            server.until(lambda: dead in server.files())
            server.process.kill()
            server.process.wait()
            assert dead in server.files()
        with Saving(folder=folder) as server:
            assert server.files() == sorted([own.name, dead]), "who writes nothing removes nothing"
            assert server.connect().command("SAVE") == b"OK"
            assert server.files() == ["dump.rdb", own.name]
        pathlib.Path(folder, dead).touch()
        with Saving("--save", "3600 1", folder=folder) as server:
            assert server.files() == ["dump.rdb", own.name]
            # In another container, its process could have the number of one that is dead here.
            pathlib.Path(folder, dead).touch()
            with Saving(folder=folder) as other:
                assert isinstance(other.connect().command("SAVE"), Error)
                assert dead in server.files()


if __name__ == "__main__":
    sys.exit(run(globals()))
