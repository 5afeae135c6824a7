#!/usr/bin/env python3
"""What items of Memcached's clients have besides their values: flags, CAS values that were given, and marks, in files and on replicas."""
import contextlib
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "memcached"))

from moving import IMPORT, Follower, compared
from peers import are_there, give_away, peer, started, ROOT
from play import Line
from ports import free_port
from replicas import fields
from run import PATIENCE, Error, Server, run

LARGE = 700000


def server(*settings):
    port = free_port()
    it = Server("--memcached-port", port, *settings)
    it.memcached = port
    return it


def answers(it, *lines):
    return Line("127.0.0.1", it.memcached).ask(b"".join(each + b"\r\n" for each in lines))


def write_items(it, db):
    answers(it, b"set flags 4294967295 0 1", b"x", b"set timed 5 1000 1", b"x", b"set number 7 0 1", b"9", b"incr number 1", b"set float 8 0 3", b"1.5")
    answers(it, b"ms AAECAw== 1 b F9", b"x", b"ms given 1 E77 F1", b"x", b"ms stale 1 F2", b"x", b"md stale I", b"mg made N0", b"ms fresh 1 F3", b"x", b"md fresh I", b"ms fresh 1 F4", b"y")
    answers(it, b"set longer 6 0 1", b"a", b"append longer 0 0 1", b"b", b"ms marked 1 F11", b"a", b"md marked I", b"append marked 0 0 1", b"b", b"set gone 5 0 1", b"x", b"set old 12 0 1", b"x", b"set touched 13 0 1", b"x", b"touch touched 900")
    answers(it, b"set large 14 0 %d" % LARGE, b"l" * LARGE, b"set trimmed 15 0 1", b"x", b"prepend trimmed 0 0 1", b"y", b"ma counted N0 J5", b"ms counted2 1 F16 E5", b"1", b"ma counted2 E9", b"ms emptied 1 F1 E3", b"x", b"md emptied x F17 E4", b"gat 0 flags")
    db.command("INCRBYFLOAT", "float", "1.5")
    db.command("APPEND", "longer", "c")
    db.command("SET", "gone", "y")
    db.command("RENAME", "old", "new")
    db.command("COPY", "new", "copied")
    db.command("SETRANGE", "large", "1", "L")


FLAGS = (
    (b"flags", b"f4294967295", b"x"), (b"timed", b"f5", b"x"), (b"number", b"f7", b"10"), (b"float", b"f8", b"3"), (b"longer", b"f6", b"abc"),
    (b"given", b"f1", b"x"), (b"fresh", b"f4", b"y"), (b"marked", b"f11", b"ab"), (b"gone", b"f0", b"y"), (b"new", b"f12", b"x"), (b"copied", b"f12", b"x"),
    (b"touched", b"f13", b"x"), (b"trimmed", b"f15", b"yx"), (b"counted", b"f0", b"5"), (b"counted2", b"f16", b"2"), (b"emptied", b"f17", b""),
)


def look_at_items(it, where):
    """What write_items has left. A stale item is given to the first who asks, so each server is asked once."""
    for key, flags, value in FLAGS:
        found = answers(it, b"mg %s f v" % key)
        assert found == b"VA %d %s\r\n%s\r\n" % (len(value), flags, value), (where, key, found)
    assert answers(it, b"mg AAECAw== b f k v") == b"VA 1 f9 kAAECAw== b\r\nx\r\n", where
    stale = answers(it, b"mg stale f v", b"mg stale f v")
    assert stale == b"VA 1 f2 X W\r\nx\r\nVA 1 f2 Z X\r\nx\r\n", (where, stale)
    made = answers(it, b"mg made v")
    assert made == b"VA 0 Z\r\n\r\n", (where, "an item that was made to be written is not taken for one", made)
    assert answers(it, b"mg large f s") == b"HD f14 s%d\r\n" % LARGE, where
    for key, cas in ((b"given", 77), (b"counted2", 9), (b"emptied", 4), (b"flags", 0)):
        told = answers(it, b"me %s" % key)
        assert b" cas=%d " % cas in told, (where, key, told)
    db = it.connect()
    assert 800 < db.command("TTL", "timed") <= 1000 and 700 < db.command("TTL", "touched") <= 900 and db.command("TTL", "flags") == -1, where


def follows(replica, primary):
    offset = lambda it: int(fields(it.connect(), "replication")["master_repl_offset"])
    replica.until(lambda: fields(replica.connect(), "replication")["master_link_status"] == "up" and offset(replica) >= offset(primary))


def files_of_either_kind_keep_them():
    with tempfile.TemporaryDirectory() as folder:
        for settings, act in (
            (("--appendonly", "yes"), None),
            (("--appendonly", "yes"), ("BGREWRITEAOF",)),
            (("--appendonly", "yes", "--aof-use-rdb-preamble", "no"), ("BGREWRITEAOF",)),
            ((), ("SAVE",)),
            (("--memcached-database", "3", "--appendonly", "yes"), None),
        ):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                with server("--dir", place, "--threads", "2", "--appendfsync", "always", *settings) as it:
                    db = it.connect()
                    if "--memcached-database" in settings:
                        db.command("SELECT", "3")
                    write_items(it, db)
                    if act:
                        assert not isinstance(db.command(*act), Error)
                        it.until(lambda: fields(db, "persistence")["aof_rewrite_in_progress"] == "0" and fields(db, "persistence")["rdb_bgsave_in_progress"] == "0")
                    it.process.kill()
                    it.process.wait()
                for life in range(2):
                    with server("--dir", place, *settings) as it:
                        if "--memcached-database" in settings:
                            assert answers(it, b"mg number f v", b"me counted2").startswith(b"VA 2 f7\r\n10\r\n")
                        else:
                            look_at_items(it, (settings, act, life))
                        assert "passed over" not in it.output.read_text(), it.output.read_text()
                        it.process.kill()
                        it.process.wait()


def replicas_have_them_by_snapshot_by_stream_and_after_a_restart():
    with tempfile.TemporaryDirectory() as folder, server("--repl-diskless-sync-delay", "0", "--threads", "2") as primary:
        at = ("--replicaof", "127.0.0.1 %d" % primary.port, "--appendonly", "yes", "--appendfsync", "always")
        with server("--dir", folder, *at) as early, server() as chained:
            follows(early, primary)
            chained.connect().command("REPLICAOF", "127.0.0.1", early.port)
            follows(chained, early)
            write_items(primary, primary.connect())
            follows(early, primary)
            follows(chained, early)
            look_at_items(chained, "by a chain")
            with server(*at[:2]) as late:
                follows(late, primary)
                look_at_items(late, "by a snapshot")
            early.process.kill()
            early.process.wait()
        with server("--dir", folder, "--appendonly", "yes") as again:
            look_at_items(again, "by a stream, restarted")
        look_at_items(primary, "where they were written")


def valkey_and_redis_pass_over_them_as_replicas_and_as_servers_that_load():
    if not are_there():
        return "there are no peers"
    with tempfile.TemporaryDirectory() as folder, server("--dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0") as it:
        db = it.connect()
        values = lambda client: client.command("MGET", *(key for key, _, _ in FLAGS), "large", "stale")
        for program in ("valkey-server", "redis-server"):
            with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True) as place:
                give_away(place)
                with started(program, place, "--replicaof", "127.0.0.1", str(it.port), "--appendonly", "yes") as replica:
                    up = lambda: fields(replica, "replication")["master_link_status"] == "up"
                    same = lambda: up() and int(fields(replica, "replication")["slave_repl_offset"]) >= int(fields(db, "replication")["master_repl_offset"])
                    it.until(up)
                    write_items(it, db)
                    it.until(same)
                    assert values(replica) == values(db), program
                    assert not [line for line in pathlib.Path(place, "log").read_text().splitlines() if "rror" in line or "unknown" in line], program
            for act in (None, "BGREWRITEAOF"):
                if act:
                    db.command(act)
                    it.until(lambda: fields(db, "persistence")["aof_rewrite_in_progress"] == "0")
                with peer(program, folder, "--appendonly", "yes") as loaded:
                    assert values(loaded) == values(db), (program, act)


def importing(source, port):
    command = [IMPORT, source, "--to", "127.0.0.1:%d" % port, "--quiet"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, (source, done.stdout + done.stderr)
    return done.stdout


@contextlib.contextmanager
def another(program):
    """A port of a server without keys, and a connection to it."""
    if program == "varve":
        with server() as it:
            yield it.port, it.connect()
        return
    with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True) as place:
        give_away(place)
        with started(program, place) as db:
            yield int(db.command("CONFIG", "GET", "port")[1]), db


def values_of(db):
    return db.command("MGET", *(key for key, _, _ in FLAGS), "large", "stale")


def import_takes_them_from_each_kind_of_source():
    """From files and running servers into a server of each maker; a Varve has them then, others have the values, and that is said."""
    others = ("valkey-server", "redis-server") if are_there() else ()
    on = ("--appendonly", "yes", "--appendfsync", "always")
    for settings, act, what in (
        ((), "SAVE", "dump.rdb"),
        (on, None, "appendonlydir"),
        (on, "BGREWRITEAOF", "appendonlydir"),
        ((*on, "--aof-use-rdb-preamble", "no"), "BGREWRITEAOF", "appendonlydir"),
        ((), None, None),
    ):
        with tempfile.TemporaryDirectory() as place, server("--dir", place, "--threads", "2", *settings) as source:
            db = source.connect()
            write_items(source, db)
            if act:
                assert not isinstance(db.command(act), Error)
                source.until(lambda: fields(db, "persistence")["aof_rewrite_in_progress"] == "0")
            origin = pathlib.Path(place, what) if what else "127.0.0.1:%d" % source.port
            with server("--threads", "2") as target:
                said = importing(origin, target.port)
                assert "without their flags" not in said, said
                status, told = compared(source, target, "--tolerance", 5000)
                assert status == 0 and "other attributes" not in told, (what, act, told)
                look_at_items(target, (settings, act, "imported"))
                assert values_of(target.connect()) == values_of(db)
            for program in others if what != "appendonlydir" or act is None else ():
                with another(program) as (port, peer_db):
                    said = importing(origin, port)
                    lost = [line for line in said.splitlines() if "without their flags" in line]
                    assert len(lost) == 1 and int(lost[0].split()[0]) >= len(FLAGS) - 1, said
                    assert values_of(peer_db) == values_of(db), (program, what, act)
    return "" if others else "there are no peers"


def a_comparison_finds_what_differs_in_nothing_but_attributes():
    with server() as one, server() as other:
        write_items(one, one.connect())
        importing("127.0.0.1:%d" % one.port, other.port)
        assert compared(one, other, "--tolerance", 5000)[0] == 0
        # Who won a stale item is told to no other server.
        assert b" W" in answers(other, b"mg stale f v")
        assert compared(one, other, "--tolerance", 5000)[0] == 0
        for line, key in ((b"ms new 1 F13", "new"), (b"ms given 1 E78 F1", "given"), (b"ms stale 1 F2", "stale")):
            assert answers(other, line, b"x").startswith(b"HD")
            for pair in ((one, other), (other, one)):
                status, told = compared(*pair, "--tolerance", 5000)
                assert status == 1 and 'database 0, "%s": other attributes' % key in told and "1 other attributes" in told, told
            other.connect().command("VARVE.NOTED", one.connect().command("VARVE.ATTRIBUTES", key), "EXISTS", key)
            assert compared(one, other, "--tolerance", 5000)[0] == 0


def a_move_to_another_server_takes_them_along_in_the_snapshot_and_in_the_stream():
    for program in ("varve", "valkey-server") if are_there() else ("varve",):
        for is_early in (True, False):
            with server("--repl-diskless-sync-delay", "0", "--threads", "2") as source, contextlib.ExitStack() as stack:
                db = source.connect()
                if program == "varve":
                    target = stack.enter_context(server())
                    port, there = target.port, target.connect()
                else:
                    port, there = stack.enter_context(another(program))
                if is_early:
                    write_items(source, db)
                with Follower(source.port, port) as follower:
                    follower.hears("the stream follows")
                    if not is_early:
                        write_items(source, db)
                    db.command("SET", "newest", "x")
                    follower.wait(lambda: there.command("EXISTS", "newest") == 1, "the newest key")
                    follower.switch()
                    said = follower.ends(0)
                assert "0 failed" in said and ("without their flags" in said) == (program != "varve"), said
                db.command("CLIENT", "UNPAUSE")
                assert values_of(there) == values_of(db), (program, is_early)
                if program == "varve":
                    assert compared(source, target, "--tolerance", 5000)[0] == 0
                    look_at_items(target, ("moved", is_early))


def keys_that_migrate_have_them_at_another_varve():
    with server() as source, tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        settings = ("--dir", folder, "--appendonly", "yes", "--appendfsync", "always")
        db = source.connect()
        write_items(source, db)
        keys = [key.decode() for key in db.command("KEYS", "*")]
        if are_there():
            port, there = stack.enter_context(another("valkey-server"))
            assert db.command("MIGRATE", "127.0.0.1", port, "", 0, 5000, "COPY", "KEYS", *keys) == b"OK"
            assert values_of(there) == values_of(db)
            assert isinstance(db.command("MIGRATE", "127.0.0.1", port, "", 0, 5000, "COPY", "KEYS", "flags", "new"), Error), "they are there"
        with server(*settings) as target:
            assert db.command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys) == b"OK"
            assert db.command("DBSIZE") == 0
            look_at_items(target, "migrated")
            target.process.kill()
            target.process.wait()
        with server(*settings) as again:
            look_at_items(again, "migrated, and restarted")


if __name__ == "__main__":
    sys.exit(run(globals()))
