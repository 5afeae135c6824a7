#!/usr/bin/env python3
"""What items of Memcached's clients have besides their values: flags, CAS values that were given, and marks, in files and on replicas."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "memcached"))

from moving import Follower, caught_up
from peers import are_there, give_away, peer, started, ROOT
from play import Line
from ports import free_port
from replicas import fields
from run import Server, run

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
                        assert not isinstance(db.command(*act), Exception)
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


def a_move_to_another_server_takes_the_values_along():
    with server("--repl-diskless-sync-delay", "0", "--threads", "2") as source, server() as target:
        db, there = source.connect(), target.connect()
        with Follower(source.port, target.port) as follower:
            follower.hears("the stream follows")
            write_items(source, db)
            caught_up(follower, source, target)
            keys = [key for key, _, _ in FLAGS] + [b"large", b"stale"]
            assert there.command("MGET", *keys) == db.command("MGET", *keys)
            follower.switch()
            assert "0 failed" in follower.ends(0)


if __name__ == "__main__":
    sys.exit(run(globals()))
