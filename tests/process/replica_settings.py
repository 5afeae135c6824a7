#!/usr/bin/env python3
"""What settings and DEBUG change of replication, with the server named by VARVE_SERVER as a primary and as a replica.

    VARVE_SERVER=target/release/varve-server tests/process/replica_settings.py [CASE ...]
"""

import pathlib
import signal
import sys
import tempfile

from bounds import encoded
from following import Primary, caught_up, is_absent, link, replica_of, server
from peers import ROOT, are_there, give_away, started
from replicas import VALKEY, Replica, fields
from resp import Error
from run import run

LOADING = Error(b"LOADING Valkey is loading the dataset in memory")


def syncs(it):
    """How many replicas began with a snapshot, and how many went on."""
    counts = fields(it.db, "stats")
    return int(counts["sync_full"]), int(counts["sync_partial_ok"])


def a_stream_that_gets_another_id_goes_on_and_who_comes_back_begins_anew():
    with server() as primary, replica_of(primary) as replica:
        caught_up(primary, replica)
        primary.db.command("SET", "a", "1")
        caught_up(primary, replica)
        before = link(primary)
        assert primary.db.command("DEBUG", "CHANGE-REPL-ID") == b"OK"
        after = link(primary)
        assert after["master_replid"] != before["master_replid"] and after["master_repl_offset"] >= before["master_repl_offset"]
        assert (after["master_replid2"], after["second_repl_offset"]) == ("0" * 40, "-1")
        primary.db.command("SET", "b", "1")
        caught_up(primary, replica)
        assert syncs(primary) == (1, 0) and replica.db.command("GET", "b") == b"1", "who is there stays"
        primary.db.command("CLIENT", "KILL", "TYPE", "replica")
        primary.until(lambda: syncs(primary) == (2, 0))
        caught_up(primary, replica)
        assert link(replica)["master_replid"] == after["master_replid"]
        assert primary.db.command("DEBUG", "CHANGE-REPL-ID", "now").startswith(b"ERR unknown subcommand or wrong number of arguments for 'CHANGE-REPL-ID'")


def what_debug_replicates_is_executed_by_replicas_and_nowhere_else():
    with server("--appendonly", "yes") as primary, replica_of(primary) as replica:
        caught_up(primary, replica)
        assert primary.db.command("DEBUG", "REPLICATE").startswith(b"ERR unknown subcommand or wrong number of arguments for 'REPLICATE'")
        assert primary.db.command("DEBUG", "REPLICATE", "SET", "only", "there") == b"OK"
        primary.until(lambda: replica.db.command("GET", "only") == b"there")
        caught_up(primary, replica)
        assert is_absent(primary.db.command("GET", "only"))
        primary.until(lambda: primary.db.command("WAITAOF", 1, 0, 100) == [1, 0])
        files = b"".join(path.read_bytes() for path in pathlib.Path(primary.folder, "appendonlydir").iterdir())
        assert b"#gap" in files and b"there" not in files
        assert replica.db.command("DEBUG", "REPLICATE", "SET", "x", "y").startswith(b"ERR the stream of a replica is the one of its primary")
        replica.db.command("CONFIG", "SET", "propagation-error-behavior", "ignore")
        primary.db.command("DEBUG", "REPLICATE", "fake-command-1")
        primary.db.command("SET", "behind", "1")
        assert primary.db.command("WAIT", 1, 5000) == 1
        log = replica.output.read_text()
        assert log.count("== CRITICAL ==") == 1 and log.count("fake-command-1") == 1, log
    with server() as alone:
        assert alone.db.command("DEBUG", "REPLICATE", "SET", "a", "b") == b"OK", "to all of no replicas"
        played = Replica(alone, *VALKEY).take()
        played.acknowledge()
        for words in (("MULTI",), ("DEBUG", "REPLICATE", "SET", "a", "b"), ("INCR", "n"), ("INCR", "n"), ("EXEC",)):
            alone.db.command(*words)
        played.follow(encoded("MULTI") + encoded("INCR", "n") * 2 + encoded("EXEC") + encoded("SET", "a", "b"))


def a_link_that_is_closed_late_disturbs_nobody():
    with Primary() as one, server() as other, replica_of(one) as replica:
        one.accept()
        one.sync()
        replica.until(lambda: link(replica)["master_link_status"] == "up")
        assert replica.db.command("DEBUG", "FORCE-FREE-PRIMARY-ASYNC").startswith(b"ERR unknown subcommand or wrong number of arguments")
        assert replica.db.command("DEBUG", "FORCE-FREE-PRIMARY-ASYNC", "1") == b"OK"
        assert replica.db.command("REPLICAOF", "127.0.0.1", other.port) == b"OK"
        caught_up(other, replica)
        assert one.is_closed()
        log = replica.output.read_text()
        assert log.count("Connecting to PRIMARY 127.0.0.1:%d" % other.port) == 1 and syncs(other)[0] == 1, log
        assert replica.db.command("CLIENT", "LIST", "TYPE", "primary").count(b"\n") == 1
        assert replica.db.command("REPLICAOF", "NO", "ONE") == b"OK", "the next one is closed at once again"
        other.until(lambda: link(other)["connected_slaves"] == "0")


def a_snapshot_that_came_as_a_file_is_the_rdb_file_unless_it_is_to_go():
    keeps = lambda folder: pathlib.Path(folder, "dump.rdb").exists()
    with server() as primary:
        primary.db.command("MSET", "a", "1", "b", "2")
        for settings, is_kept in (
            ((), True),
            (("--rdb-del-sync-files", "yes"), False),
            (("--rdb-del-sync-files", "yes", "--save", "3600 1"), True),
            (("--rdb-del-sync-files", "yes", "--appendonly", "yes"), False),
            (("--appendonly", "yes"), False),
            (("--repl-diskless-load", "swapdb"), False),
        ):
            with tempfile.TemporaryDirectory() as folder:
                with replica_of(primary, "--dir", folder, *settings) as replica:
                    caught_up(primary, replica)
                    names = sorted(path.name for path in pathlib.Path(folder).iterdir())
                    assert keeps(folder) == is_kept and not [name for name in names if "temp" in name], (settings, names)
                    replica.process.kill()
                    replica.process.wait()
                if settings == ():
                    before = syncs(primary)
                    with replica_of(primary, "--dir", folder) as again:
                        caught_up(primary, again)
                        assert again.db.command("MGET", "a", "b") == [b"1", b"2"]
                    assert syncs(primary) == (before[0], before[1] + 1), "it goes on from there"
        assert not keeps(primary.folder), "a primary leaves none"
    with tempfile.TemporaryDirectory() as folder, server("--repl-diskless-sync", "no", "--rdb-del-sync-files", "yes") as primary:
        with replica_of(primary, "--dir", folder) as replica:
            caught_up(primary, replica)
            before = pathlib.Path(folder, "dump.rdb").stat().st_mtime_ns
            assert replica.db.command("CONFIG", "SET", "rdb-del-sync-files", "yes") == b"OK"
            primary.db.command("DEBUG", "CHANGE-REPL-ID")
            primary.db.command("CLIENT", "KILL", "TYPE", "replica")
            primary.until(lambda: syncs(primary)[0] == 2)
            caught_up(primary, replica)
            assert pathlib.Path(folder, "dump.rdb").stat().st_mtime_ns == before, "what was there before is nobody's to remove"


def a_replica_stands_still_while_its_disk_fails_unless_it_is_to_go_on():
    with server() as primary, tempfile.TemporaryDirectory() as folder:
        with replica_of(primary, "--dir", folder, "--save", "3600 1000000", "--enable-protected-configs", "yes") as replica:
            caught_up(primary, replica)
            pathlib.Path(folder, "taken").mkdir()
            assert replica.db.command("CONFIG", "SET", "dbfilename", "taken") == b"OK"
            replica.db.command("BGSAVE")
            replica.until(lambda: fields(replica.db, "persistence")["rdb_last_bgsave_status"] == "err")
            primary.db.command("SET", "a", "1")
            replica.until(lambda: "stands still" in replica.output.read_text())
            assert is_absent(replica.db.command("GET", "a")) and link(replica)["master_link_status"] == "up"
            assert replica.db.command("CONFIG", "SET", "replica-ignore-disk-write-errors", "yes") == b"OK"
            caught_up(primary, replica)
            assert replica.db.command("GET", "a") == b"1"
            log = replica.output.read_text()
            assert log.count("Replica is applying a command even though it is unable to write to disk.") == 1, log
            primary.db.command("SET", "b", "1")
            caught_up(primary, replica)
            assert replica.db.command("CONFIG", "SET", "replica-ignore-disk-write-errors", "no") == b"OK"
            primary.db.command("SET", "c", "1")
            replica.until(lambda: replica.output.read_text().count("stands still") == 2)
            assert replica.db.command("CONFIG", "SET", "dbfilename", "dump.rdb") == b"OK"
            replica.db.command("BGSAVE")
            caught_up(primary, replica)
            assert replica.db.command("GET", "c") == b"1"


def the_files_of_a_replica_stay_as_they_are_while_it_loads():
    with server("--repl-backlog-size", "16kb", "--repl-backlog-time", "0") as primary:
        primary.db.command("MSET", "a", "1", "b", "2")
        with replica_of(primary) as replica:
            caught_up(primary, replica)
            assert replica.db.command("CONFIG", "SET", "key-load-delay", "1000000") == b"OK"
            replica.process.send_signal(signal.SIGSTOP)
            primary.db.command("CLIENT", "KILL", "TYPE", "replica")
            primary.db.command("MSET", "c", "2", "d", b"x" * 100000)
            primary.until(lambda: int(link(primary)["repl_backlog_histlen"]) <= 16384)
            replica.process.send_signal(signal.SIGCONT)
            replica.until(lambda: fields(replica.db, "persistence")["async_loading"] == "1")
            for words in (("appendonly", "yes"), ("appendonly", "no"), ("maxmemory", "1gb", "appendonly", "yes"), ("dir", replica.folder), ("repl-diskless-load", "swapdb")):
                assert replica.db.command("CONFIG", "SET", *words) == LOADING, words
            assert replica.db.command("CONFIG", "GET", "maxmemory") == [b"maxmemory", b"0"]
            assert replica.db.command("CONFIG", "SET", "maxmemory", "1gb", "key-load-delay", "0") == b"OK"
            caught_up(primary, replica)
            assert replica.db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"


def deadlines_that_clients_of_a_writable_replica_set(primary, replica, until):
    """What becomes of keys whose deadlines the primary has set, and of those whose deadlines clients of the replica have."""
    primary.command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
    for words in (("SET", "theirs", "1", "PX", "2000"), ("SET", "written", "1", "PX", "2000"), ("SET", "counted", "5", "PX", "2000"), ("SET", "copied", "5", "PX", "2000")):
        primary.command(*words)
    for words in (("SET", "plain", "1"), ("SET", "dropped", "1"), ("HSET", "hash", "f", "1", "g", "2")):
        primary.command(*words)
    until(lambda: replica.command("EXISTS", "hash") == 1)
    replica.command("SET", "own", "1", "PX", "300")
    replica.command("PEXPIRE", "plain", "300")
    replica.command("PEXPIRE", "dropped", "300")
    replica.command("PERSIST", "dropped")
    replica.command("COPY", "copied", "copy")
    replica.command("APPEND", "copied", "x")
    replica.command("HPEXPIRE", "hash", "300", "FIELDS", "1", "f")
    replica.command("SELECT", "9")
    replica.command("SET", "elsewhere", "1", "PX", "300")
    until(lambda: replica.command("DBSIZE") == 0)
    replica.command("SELECT", "0")
    until(lambda: replica.command("DBSIZE") == 6)
    names = ("theirs", "written", "counted", "copied", "own", "plain", "copy")
    until(lambda: replica.command("EXISTS", *names) == 0)
    yield "active", replica.command("DBSIZE"), sorted(replica.command("KEYS", "*")), replica.command("HLEN", "hash"), replica.command("HKEYS", "hash")
    yield "tracked", fields(replica, "stats")["slave_expires_tracked_keys"], fields(replica, "stats")["expired_keys"]
    yield "written", replica.command("SET", "written", "2", "NX"), replica.command("INCR", "counted"), replica.command("PTTL", "counted"), replica.command("DBSIZE")
    yield "primary", primary.command("DBSIZE"), primary.command("GET", "plain"), primary.command("GET", "dropped")
    replica.command("SET", "later", "1", "PX", "300")
    replica.command("CONFIG", "SET", "replica-read-only", "yes")
    until(lambda: replica.command("DBSIZE") == 6)
    yield "read-only", replica.command("EXISTS", "later"), replica.command("SET", "a", "b")


def keys_expire_on_a_writable_replica_whose_deadlines_its_clients_have_set():
    with server() as primary, replica_of(primary, "--replica-read-only", "no") as replica:
        caught_up(primary, replica)
        played = list(deadlines_that_clients_of_a_writable_replica_set(primary.db, replica.db, replica.until))
        assert played[0] == ("active", 6, [b"dropped", b"hash"], 2, [b"g"]), played
        assert played[1][1] == "0" and played[3] == ("primary", 7, b"1", b"1"), played
        assert played[2] == ("written", b"OK", 1, -1, 6), played
        assert played[4][1:] == (0, b"READONLY You can't write against a read only replica."), played
        # The names that are kept go with the data, and are those of the database that they are in.
        replica.db.command("CONFIG", "SET", "replica-read-only", "no")
        tracked = lambda: fields(replica.db, "stats")["slave_expires_tracked_keys"]
        replica.db.command("SET", "long", "1", "EX", "1000")
        replica.until(lambda: tracked() == "1")
        primary.db.command("SWAPDB", "0", "3")
        caught_up(primary, replica)
        assert tracked() == "1"
        replica.db.command("SELECT", "3")
        replica.db.command("PEXPIRE", "long", "100")
        replica.until(lambda: tracked() == "0")
        replica.db.command("SET", "long", "1", "EX", "1000")
        replica.until(lambda: tracked() == "1")
        primary.db.command("FLUSHALL")
        caught_up(primary, replica)
        assert tracked() == "0"
        replica.db.command("SET", "long", "1", "EX", "1000")
        replica.until(lambda: tracked() == "1")
        for words in (("SELECT", "0"), ("SET", "at once", "1", "PX", "50"), ("SELECT", "5"), ("FLUSHDB",), ("SELECT", "3")):
            replica.send(replica.db, *words)
        assert [replica.db.read() for _ in range(5)] == [b"OK"] * 5
        replica.until(lambda: b"db0:" not in replica.db.command("INFO", "keyspace") and tracked() == "1")
        assert replica.db.command("REPLICAOF", "NO", "ONE") == b"OK"
        replica.until(lambda: tracked() == "0")
        if not are_there():
            return
        with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp") as one, tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp") as other:
            give_away(one), give_away(other)
            with started("valkey-server", one, "--repl-diskless-sync-delay", "0") as peer, started("valkey-server", other, "--replica-read-only", "no") as its:
                its.command("REPLICAOF", "127.0.0.1", int(peer.command("CONFIG", "GET", "port")[1]))
                primary.until(lambda: fields(its, "replication")["master_link_status"] == "up")
                assert list(deadlines_that_clients_of_a_writable_replica_set(peer, its, primary.until)) == played


def waits_that_a_change_of_the_role_ends_count_as_refused():
    with server("--threads", "2") as primary, server("--threads", "2") as it:
        waits = (("BLPOP", "l", 0), ("XREAD", "BLOCK", 0, "STREAMS", "s", "$"), ("WAIT", 1, 0), ("BLPOP", "k", 0))
        clients = [it.connect() for _ in waits]
        for client, words in zip(clients, waits):
            it.send(client, *words)
        it.until(lambda: fields(it.db, "clients")["blocked_clients"] == "4")
        assert it.db.command("REPLICAOF", "127.0.0.1", primary.port) == b"OK"
        for client in clients:
            assert client.read().startswith(b"UNBLOCKED force unblock from blocking operation")
        refused = lambda name: dict(pair.split("=") for pair in fields(it.db, "commandstats")["cmdstat_" + name].split(","))["rejected_calls"]
        assert [refused(name) for name in ("blpop", "xread", "wait")] == ["2", "1", "1"]
        assert fields(it.db, "errorstats")["errorstat_UNBLOCKED"] == "count=4"
        assert it.db.command("CONFIG", "RESETSTAT") == b"OK"
        assert "cmdstat_blpop" not in fields(it.db, "commandstats")


if __name__ == "__main__":
    sys.exit(run(globals()))
