#!/usr/bin/env python3
"""Starts several servers named by VARVE_SERVER in one directory: they share it where they write different files, and never write the same.

    VARVE_SERVER=target/release/varve-server tests/process/sharing.py [CASE ...]
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from run import Error, Server, run
from saving import SLOW, Saving, facts


def hidden(folder):
    """Names of the locks in a folder."""
    return sorted(path.name for path in pathlib.Path(folder).iterdir() if path.name.startswith("."))


def refused(folder, *settings):
    """What a server says that does not start in a folder."""
    server = Saving(*settings, folder=folder)
    try:
        assert server.ends_with_status() == 1, settings
        return server.output.read_text()
    finally:
        server.__exit__()


def who_would_write_the_files_of_another_does_not_start_and_says_whose_they_are():
    for settings, name, remedy in (
        (("--save", "3600 1"), "dump.rdb", "`dir` or `dbfilename`"),
        (("--appendonly", "yes"), "appendonlydir/appendonly.aof", "`dir`, `appenddirname` or `appendfilename`"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder, "link")
            place = pathlib.Path(folder, "place")
            place.mkdir()
            link.symlink_to(place)
            with Saving(*settings, folder=place) as first:
                db = first.connect()
                assert db.command("SET", "k", "v") == b"OK"
                for way in (place, link):
                    output = refused(way, *settings)
                    for words in (name + " is written by another server", "pid %d" % first.process.pid, "port %d" % first.port, remedy):
                        assert words in output, output
                assert db.command("SET", "k", "w") == b"OK"
                # However it ends, the next one starts, and nobody has to remove anything.
                first.process.kill()
                first.process.wait()
            with Saving(*settings, folder=link) as next_one:
                next_one.connect().command("SET", "k", "v")
                Server.send(next_one.connect(), "SHUTDOWN")
                assert next_one.ends_with_status() == 0
            assert hidden(place) == [] and (not (place / "appendonlydir").exists() or hidden(place / "appendonlydir") == [])


def servers_with_files_of_different_names_share_a_directory():
    with tempfile.TemporaryDirectory() as folder:
        kinds = [("--save", ""), ("--save", ""), ("--save", "3600 1"), ("--save", "3600 1", "--dbfilename", "other.rdb"),
                 ("--appendonly", "yes"), ("--appendonly", "yes", "--appenddirname", "others"), ("--appendonly", "yes", "--appendfilename", "third.aof")]
        servers = [Saving(*settings, folder=folder) for settings in kinds]
        try:
            for number, server in enumerate(servers):
                server.__enter__()
                assert server.connect().command("SET", "k", number) == b"OK"
            for number, server in enumerate(servers):
                assert server.connect().command("GET", "k") == b"%d" % number
        finally:
            for server in servers:
                server.__exit__()


def a_snapshot_claims_the_file_that_it_writes():
    with tempfile.TemporaryDirectory() as folder, Saving(folder=folder) as first, Saving(folder=folder) as second:
        one, other = first.connect(), second.connect()
        assert hidden(folder) == [], "who writes nothing claims nothing"
        one.command("SET", "k", "first")
        assert one.command("SAVE") == b"OK" and hidden(folder) == [".dump.rdb.lock"]
        before = (first.place / "dump.rdb").read_bytes()
        assert isinstance(other.command("SAVE"), Error)
        assert other.command("BGSAVE") == b"Background saving started"
        second.until(lambda: facts(other)["rdb_last_bgsave_status"] == "err")
        assert "written by another server (pid %d, port %d" % (first.process.pid, first.port) in second.output.read_text()
        assert other.command("SET", "k", "second") == b"OK", "who saves only when told refuses nothing"
        assert (first.place / "dump.rdb").read_bytes() == before
        refusal = other.command("CONFIG", "SET", "save", "60 1")
        assert isinstance(refusal, Error) and b"is written by another server" in refusal, refusal
        assert other.command("CONFIG", "GET", "save") == [b"save", b""]
        Server.send(one, "SHUTDOWN", "NOSAVE")
        assert first.ends_with_status() == 0
        assert other.command("SAVE") == b"OK"


def the_append_only_files_of_another_are_not_taken_over_at_run_time():
    with tempfile.TemporaryDirectory() as folder, Saving("--appendonly", "yes", folder=folder), Saving(folder=folder) as second:
        db = second.connect()
        assert db.command("CONFIG", "SET", "appendonly", "yes") == (
            b"ERR CONFIG SET failed (possibly related to argument 'appendonly') - Unable to turn on AOF. Check server logs."
        )
        assert "is written by another server (pid " in second.output.read_text()
        assert facts(db)["aof_enabled"] == "0"


def a_base_is_not_written_over_the_files_of_another():
    with tempfile.TemporaryDirectory() as folder, Saving("--appendonly", "yes", folder=folder) as first, Saving(folder=folder) as second:
        one, other = first.connect(), second.connect()
        assert one.command("SET", "k", "v") == b"OK"
        place = pathlib.Path(folder, "appendonlydir")
        before = sorted(path.name for path in place.iterdir())
        assert other.command("BGREWRITEAOF") == b"Background append only file rewriting started"
        second.until(lambda: facts(other)["aof_rewrite_in_progress"] == "0")
        assert facts(other)["aof_last_bgrewrite_status"] == "err"
        assert "is written by another server (pid %d" % first.process.pid in second.output.read_text()
        assert sorted(path.name for path in place.iterdir()) == before


def append_only_files_are_claimed_while_they_are_written():
    with tempfile.TemporaryDirectory() as folder, Saving(folder=folder) as server:
        db, place = server.connect(), pathlib.Path(folder, "appendonlydir")
        locked = [".appendonly.aof.lock"]
        assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK" and hidden(place) == locked
        rewritten = lambda count: facts(db)["aof_rewrites"] == count and facts(db)["aof_rewrite_in_progress"] == "0"
        # Turned off earlier, the first rewrite would not begin and not count.
        server.until(lambda: facts(db)["aof_enabled"] == "1" and rewritten("1"))
        assert db.command("CONFIG", "SET", "appendonly", "no") == b"OK"
        server.until(lambda: hidden(place) == [])
        assert db.command("BGREWRITEAOF") == b"Background append only file rewriting started"
        server.until(lambda: rewritten("2"))
        server.until(lambda: hidden(place) == [])


def a_directory_that_is_made_anew_is_claimed_as_well():
    on = "--appendonly", "yes", "--appendfsync", "always"
    with tempfile.TemporaryDirectory() as folder, Saving(*on, folder=folder) as server:
        db = server.connect()
        assert db.command("SET", "k", "v") == b"OK"
        shutil.rmtree(pathlib.Path(folder, "appendonlydir"))
        server.until(lambda: "not there any more" in server.output.read_text())
        server.until(lambda: db.command("SET", "k", "w") == b"OK")
        assert hidden(pathlib.Path(folder, "appendonlydir")) == [".appendonly.aof.lock"]
        assert "appendonlydir/appendonly.aof is written by another server" in refused(folder, *on)


def a_directory_that_is_another_servers_is_refused_and_the_own_stays():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as own:
        with Saving("--save", "3600 1", folder=folder), Saving("--save", "3600 1", "--enable-protected-configs", "yes", folder=own) as second:
            db = second.connect()
            refusal = db.command("CONFIG", "SET", "dir", folder)
            assert isinstance(refusal, Error) and b"is written by another server" in refusal, refusal
            assert db.command("CONFIG", "GET", "dir") == [b"dir", os.fsencode(own)]
            assert hidden(own) == [".dump.rdb.lock"]
            third = pathlib.Path(own, "third")
            third.mkdir()
            assert db.command("CONFIG", "SET", "dir", third) == b"OK"
            assert (hidden(own), hidden(third)) == ([], [".dump.rdb.lock"])


def a_directory_is_claimed_until_the_snapshot_is_over_that_is_written_there():
    settings = "--save", "3600 1", "--enable-protected-configs", "yes", "--rdb-key-save-delay", SLOW
    with tempfile.TemporaryDirectory() as folder, Saving(*settings, folder=folder) as server:
        db, other = server.connect(), pathlib.Path(folder, "other")
        other.mkdir()
        db.command("MSET", *("%d" % word for word in range(200)))
        assert db.command("BGSAVE") == b"Background saving started"
        server.until(lambda: any(name.startswith("temp-") for name in server.files()))
        assert db.command("CONFIG", "SET", "dir", other) == b"OK"
        assert (hidden(folder), hidden(other)) == ([".dump.rdb.lock"], [".dump.rdb.lock"])
        assert "dump.rdb is written by another server" in refused(folder, "--save", "3600 1")
        assert db.command("BGSAVE", "CANCEL") == b"Background saving cancelled"
        server.until(lambda: hidden(folder) == [])
        assert hidden(other) == [".dump.rdb.lock"]


def a_directory_in_which_nothing_can_be_written_is_no_obstacle():
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True).returncode != 0:
            print("skipped  a directory in which nothing can be written: no disk can be mounted here")
            return
        try:
            with Saving("--save", "3600 1", folder=folder) as server:
                assert server.connect().command("SET", "k", "v") == b"OK"
                assert ".dump.rdb.lock cannot be locked" in server.output.read_text()
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


if __name__ == "__main__":
    sys.exit(run(globals()))
