#!/usr/bin/env python3
"""Has the server named by VARVE_SERVER write append-only files, for itself and for peers, while settings change and files rotate.

    VARVE_SERVER=target/release/varve-server tests/process/appending.py [CASE ...]

Valkey and Redis read the files as well where they are (peers.py).
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from numbered import encoded, plain
from peers import ROOT, are_there, checked, give_away, peer, started
from run import PATIENCE, run
from saving import Saving, facts, fill, writers

TRANSCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "transcripts/run.py"
WRITING_PATIENCE = 120  # seconds until something must be in a file
PROGRAMS = ("valkey-server", "redis-server")
ON = ("--appendonly", "yes", "--save", "", "--threads", "2")


class Files:
    """The append-only files in a folder."""

    def __init__(self, folder):
        self.place = pathlib.Path(folder, "appendonlydir")
        self.seen = {}

    def paths(self, kinds="bi"):
        """The files of some kinds, in the order of the manifest: base, incremental, history."""
        text = (self.place / "appendonly.aof.manifest").read_text()
        return [self.place / line.split()[1] for line in text.splitlines() if line.split()[5] in kinds]

    def bytes(self, kinds="bi"):
        return sum(path.stat().st_size for path in self.paths(kinds))

    def names(self):
        """Names of all files, without locks."""
        return {path.name for path in self.place.iterdir() if not path.name.startswith(".")}

    def temporary(self):
        return list(self.place.glob("temp-*"))

    def have(self, word):
        """True once an incremental file has a word; what was looked through is not read again."""
        for path in self.place.glob("*.incr.aof"):
            with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                begin = max(self.seen.get(path.name, 0) - len(word), 0)
                file.seek(begin)
                data = file.read()
                # Padding is written over.
                self.seen[path.name] = begin + len(data.rstrip(b"#\n"))
                if word in data:
                    return True
        return False

    def until_written(self, db, number=0):
        """Waits until a file has all that was acknowledged before; the number of the token that was written behind it."""
        deadline = time.monotonic() + WRITING_PATIENCE
        while time.monotonic() < deadline:
            number += 1
            token = b"token:%d:%s:" % (number, os.urandom(4).hex().encode())
            assert db.command("SET", "token", token) == b"OK"
            # A rotation may remove the file before it is looked at: then another token is written.
            for _ in range(200):
                if self.have(token):
                    return number
                time.sleep(0.002)
        raise AssertionError("nothing was written to a file in %d s" % WRITING_PATIENCE)


class Appending(Saving):
    """A server that writes append-only files into a folder that outlives it."""

    def __init__(self, *settings, folder=None):
        super().__init__(*ON, *settings, folder=folder)
        self.appended = Files(self.place)

    def until_written(self, db):
        self.appended.until_written(db)

    def rewritten(self, db):
        """Waits until a new base is there."""
        before = int(facts(db)["aof_rewrites"])
        reply = db.command("BGREWRITEAOF")
        assert reply.startswith(b"Background append only file rewriting "), reply
        self.until(lambda: (now := facts(db))["aof_rewrite_in_progress"] == "0" and int(now["aof_rewrites"]) > before)
        assert facts(db)["aof_last_bgrewrite_status"] == "ok"

    def kill(self):
        self.process.kill()
        self.process.wait()


def filled(db, program="valkey-server"):
    """Keys of all types as a peer knows them, some with deadlines, and some that came about by chance, and in groups of streams."""
    fill(db)
    db.command("EXPIRE", "string:1", 100000)
    if program == "valkey-server":
        # Redis has other bases and other fingerprints of fields with deadlines.
        db.command("HEXPIRE", "hash:small", 100000, "FIELDS", 1, "element:1")
    for number in range(300):
        db.command("SPOP", "set:large")
        db.command("LMOVE", "list:large", "list:small", "LEFT", "RIGHT")
        db.command("ZPOPMIN", "zset:large")
        db.command("INCRBYFLOAT", "float", "0.1")
        db.command("HINCRBYFLOAT", "hash:large", "float", "0.3")
        db.command("XADD", "stream:large", "MAXLEN", "~", 400, "*", "field", number)
    db.command("XGROUP", "CREATE", "stream:small", "group", 0)
    db.command("XREADGROUP", "GROUP", "group", "consumer", "COUNT", 4, "STREAMS", "stream:small", ">")
    db.command("XACK", "stream:small", "group", "1-1")
    db.command("SET", "gone", "x", "PX", 1)
    db.command("SETRANGE", "long", 2_000_000, "x")
    db.command("SORT", "list:small", "ALPHA", "STORE", "sorted")
    db.command("COPY", "hash:large", "hash:copy")
    db.command("RENAME", "zset:small", "zset:other")


def digest(db):
    """A fingerprint of all data, without what expires while it is taken."""
    assert isinstance(plain(db.command("GET", "gone")), (type(None), bytes))
    return db.command("DEBUG", "DIGEST")


def same_for(program, server, db):
    """Ends a server in the middle of things, and holds what it had against what it finds then, and what a peer finds."""
    server.until(lambda: plain(db.command("GET", "gone")) is None)
    server.until_written(db)
    expected = digest(db)
    server.kill()
    same_behind(program, server.place, expected)


def same_behind(program, folder, expected):
    """Starts Varve and a peer from the same files."""
    with peer(program, folder, "--appendonly", "yes") as db:
        assert db is None or digest(db) == expected, program
    with Appending(folder=folder) as server:
        assert digest(server.connect()) == expected


def files_are_read_by_varve_valkey_and_redis_alike():
    for program in PROGRAMS:
        with Appending() as server:
            db = server.connect()
            filled(db, program)
            same_for(program, server, db)


def files_of_all_transcripts_are_read_alike():
    """What they do with the append-only file off is no matter here: what the files hold of it is."""
    with Appending() as server:
        # That of WAITAOF turns the file off.
        played = sorted(path for path in TRANSCRIPTS.parent.glob("*.txt") if path.name != "wait.txt")
        play = [sys.executable, TRANSCRIPTS, "--addr", "127.0.0.1:%d" % server.port]
        subprocess.run([*play, *played], stdout=subprocess.DEVNULL)
        db = server.connect()
        server.until_written(db)
        expected = digest(db)
        server.kill()
        for program in PROGRAMS:
            same_behind(program, server.place, expected)


def files_behind_a_rotation_are_read_alike():
    for program in PROGRAMS:
        for form, suffix in (("yes", ".rdb"), ("no", ".aof")):
            with Appending("--aof-use-rdb-preamble", form, "--aof-timestamp-enabled", "yes") as server:
                db = server.connect()
                filled(db, program)
                server.rewritten(db)
                db.command("RPUSH", "list:small", "more")
                db.command("HDEL", "hash:large", "element:7")
                assert [path.suffix for path in server.appended.paths("b")] == [suffix]
                same_for(program, server, db)


def checkers_of_valkey_and_redis_find_no_fault():
    """In what both can read: the checker of Valkey 9.1.2 does not know the bases that Valkey writes for fields with deadlines."""
    for form in ("yes", "no"):
        with Appending("--aof-use-rdb-preamble", form) as server:
            db = server.connect()
            filled(db, "redis-server")
            server.rewritten(db)
            filled(db, "redis-server")
            server.until_written(db)
            server.kill()
            for program in ("valkey-check-aof", "redis-check-aof"):
                said = checked(program, server.place, "appendonlydir/appendonly.aof.manifest")
                assert said is None or "All AOF files and manifest are valid" in said, said


def files_of_a_rotation_under_load_hold_what_nobody_changed():
    with Appending() as server:
        db = server.connect()
        filled(db)
        keys = [key for key in db.command("KEYS", "*") if key != b"gone"]
        before = db.command("DEBUG", "DIGEST-VALUE", *keys)
        with writers(server):
            for _ in range(5):
                server.rewritten(db)
        server.until_written(db)
        whole = digest(db)
        server.kill()
        with Appending(folder=server.place) as second:
            assert second.connect().command("DEBUG", "DIGEST-VALUE", *keys) == before
        same_behind("valkey-server", server.place, whole)


def varve_goes_on_in_the_files_of_valkey_and_redis():
    if not are_there():
        return
    for program in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True) as place:
            give_away(place)
            with started(program, place, "--appendonly", "yes", "--appendfsync", "always") as db:
                filled(db, program)
                db.command("BGREWRITEAOF")
                db.command("SET", "behind", "it")
                deadline = time.monotonic() + PATIENCE
                while plain(db.command("GET", "gone")) or facts(db)["aof_rewrite_in_progress"] != "0":
                    assert time.monotonic() < deadline
                expected = digest(db)
            with Appending(folder=place) as server:
                db = server.connect()
                assert digest(db) == expected, program
                db.command("SET", "by", "varve")
                server.rewritten(db)
                same_for(program, server, db)


def deadlines_outlast_a_restart_to_the_millisecond():
    with Appending() as server:
        db = server.connect()
        for number in range(20):
            db.command("SET", "k%d" % number, "v", "PX", 1_000_000 + number)
            db.command("HSET", "h", "f%d" % number, "v")
            db.command("HPEXPIRE", "h", 2_000_000 + number, "FIELDS", 1, "f%d" % number)

        def deadlines(db):
            fields = ["f%d" % number for number in range(20)]
            return [db.command("PEXPIRETIME", "k%d" % number) for number in range(20)] + db.command("HPEXPIRETIME", "h", "FIELDS", 20, *fields)

        before = deadlines(db)
        server.until_written(db)
        server.kill()
        with Appending(folder=server.place) as second:
            assert deadlines(second.connect()) == before


def turning_it_on_makes_all_data_outlast_the_process():
    with Saving("--save", "", "--threads", "2") as server:
        db = server.connect()
        filled(db)
        assert "aof_current_size" not in facts(db) and facts(db)["aof_enabled"] == "0"
        assert server.files() == []
        with writers(server):
            assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
            server.until(lambda: facts(db)["aof_enabled"] == "1" and facts(db)["aof_rewrite_in_progress"] == "0")
        server.until(lambda: plain(db.command("GET", "gone")) is None)
        Files(server.place).until_written(db)
        expected = digest(db)
        server.process.kill()
        server.process.wait()
        with Appending(folder=server.place) as second:
            assert digest(second.connect()) == expected


def files_that_grow_over_many_starts_are_rotated_as_those_that_grow_in_one():
    def sizes(db):
        return [int(facts(db)[name]) for name in ("aof_base_size", "aof_current_size", "aof_rewrites")]

    with tempfile.TemporaryDirectory(prefix="varve-appending-") as folder:
        with Appending(folder=folder) as server:
            db = server.connect()
            db.command("MSET", *(word for at in range(500) for word in ("k%d" % at, "v" * 20)))
            server.rewritten(db)
            server.until_written(db)
            server.kill()
        base = server.appended.bytes("b")
        for start in range(1, 4):
            with Appending("--auto-aof-rewrite-percentage", 0, folder=folder) as server:
                db = server.connect()
                size, now, _ = sizes(db)
                assert size == base and now >= base + (start - 1) * base * 0.45, (size, now)
                db.command("SET", "growth", "x" * (base * 45 // 100))
                server.until_written(db)
                if start < 3:
                    server.kill()
                    continue
                assert db.command("CONFIG", "SET", "auto-aof-rewrite-percentage", "100", "auto-aof-rewrite-min-size", "1kb") == b"OK"
                server.until(lambda: sizes(db)[2] == 1 and facts(db)["aof_rewrite_in_progress"] == "0")
                assert sizes(db)[0] >= server.appended.bytes("b") != base
    with Appending() as server:
        assert 0 < sizes(server.connect())[0] == server.appended.bytes("b") < 200, "an empty base"


def a_rewrite_that_is_not_wanted_any_more_is_no_failure_and_leaves_no_file():
    for is_first in (True, False):
        first = ("--appendonly", "no") if is_first else ()
        with Appending("--rdb-key-save-delay", "100000", *first) as server:
            db = server.connect()
            for number in range(100):
                db.command("SET", "k%d" % number, "v")
            assert db.command(*("CONFIG SET appendonly yes" if is_first else "BGREWRITEAOF").split())
            server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "1")
            server.until(lambda: server.appended.temporary())
            assert db.command("CONFIG", "SET", "appendfsync", "no") == b"OK"
            assert facts(db)["aof_rewrite_in_progress"] == "1"
            assert db.command("CONFIG", "SET", "appendonly", "no") == b"OK"
            server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "0" and not server.appended.temporary())
            assert facts(db)["aof_last_bgrewrite_status"] == "ok"


def it_is_not_turned_on_where_its_files_cannot_be():
    """Both say so in the answer, and all settings of the command stay as they are."""

    def refused(db, folder, obstacle, data):
        place = pathlib.Path(folder, obstacle)
        place.parent.mkdir(exist_ok=True)
        place.write_text(data)
        reply = db.command("CONFIG", "SET", "maxclients", "77", "appendonly", "yes")
        assert reply == b"ERR CONFIG SET failed (possibly related to argument 'appendonly') - Unable to turn on AOF. Check server logs.", reply
        assert db.command("CONFIG", "GET", "appendonly", "maxclients") == [b"appendonly", b"no", b"maxclients", b"10000"]
        assert facts(db)["aof_enabled"] == facts(db)["aof_rewrite_in_progress"] == "0"
        assert db.command("INCR", "n") > 0
        place.unlink()

    with Saving("--save", "", "--threads", "2") as server:
        db = server.connect()
        refused(db, server.place, "appendonlydir", "x")
        refused(db, server.place, "appendonlydir/appendonly.aof.manifest", "no manifest")
        refused(db, server.place, "appendonlydir/appendonly.aof.manifest", "file x seq 1 type i\n")
        refused(db, server.place, "appendonlydir/appendonly.aof.1.incr.aof", "data " * 1000)
        server.until(lambda: not list(pathlib.Path(server.place, "appendonlydir").iterdir()))
        assert db.command("CONFIG", "SET", "appendonly", "yes", "maxclients", "77") == b"OK"
        server.until(lambda: facts(db)["aof_enabled"] == "1" and facts(db)["aof_rewrite_in_progress"] == "0")
        Files(server.place).until_written(db)
        server.process.kill()
        server.process.wait()
        with Appending(folder=server.place) as second:
            assert second.connect().command("GET", "n") == b"4"
    if are_there():
        with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True) as place:
            give_away(place)
            with started("valkey-server", place) as db:
                refused(db, place, "appendonlydir", "x")


def the_server_does_not_end_before_the_first_base_is_there_unless_it_is_forced():
    """Valkey does the same."""

    def refused(db):
        db.command("MSET", *(str(word) for word in range(2000)))
        assert db.command("CONFIG", "SET", "rdb-key-save-delay", "1000000") == b"OK"
        assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
        for words in ([], ["NOW"], ["SAVE"], ["NOSAVE"], ["NOSAVE", "NOW"]):
            assert db.command("SHUTDOWN", *words) == b"ERR Errors trying to SHUTDOWN. Check logs.", words
        assert db.command("SET", "k", "v") == b"OK" and facts(db)["aof_rewrite_in_progress"] == "1"

    for how in ("base", "force"):
        with Saving("--save", "", "--threads", "2") as server:
            db = server.connect()
            refused(db)
            for number in (signal.SIGTERM, signal.SIGINT):
                before = server.output.read_text().count("Writing initial AOF, can't exit")
                server.process.send_signal(number)
                server.until(lambda: server.output.read_text().count("Writing initial AOF, can't exit") > before)
            if how == "base":
                # The base is begun anew, and soon there.
                db.command("CONFIG", "SET", "rdb-key-save-delay", "0")
                assert db.command("FLUSHALL") == b"OK" and db.command("SET", "k", "v") == b"OK"
                server.until(lambda: facts(db)["aof_enabled"] == "1" and facts(db)["aof_rewrite_in_progress"] == "0")
            server.send(db, "SHUTDOWN", *(["FORCE"] if how == "force" else []))
            assert db.at_end() and server.ends_with_status() == 0
            with Appending(folder=server.place) as second:
                assert second.connect().command("DBSIZE") == (1 if how == "base" else 0)
    if are_there():
        with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True) as place:
            give_away(place)
            with started("valkey-server", place) as db:
                refused(db)


def what_is_done_while_it_is_off_is_not_written_until_it_is_on_again():
    with Appending("--appendfsync", "always") as server:
        db = server.connect()
        db.command("SET", "before", "x")
        assert db.command("CONFIG", "SET", "appendonly", "no") == b"OK"
        server.until(lambda: facts(db)["aof_enabled"] == "0")

        def is_written(word):
            size = server.appended.bytes()
            assert db.command("SET", "meanwhile", word) == b"OK"
            return server.appended.have(word) or server.appended.bytes() != size

        # What runs while it is turned off may still be written.
        server.until(lambda: not is_written(os.urandom(8).hex().encode()))
        assert db.command("SET", "meanwhile", "x") == b"OK"
        for _ in range(5):
            for value in ("yes", "no"):
                assert db.command("CONFIG", "SET", "appendonly", value) == b"OK"
                assert db.command("INCR", "turns") > 0
        assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
        server.until(lambda: facts(db)["aof_enabled"] == "1" and facts(db)["aof_rewrite_in_progress"] == "0")
        assert db.command("SET", "behind", "x") == b"OK"
        expected = digest(db)
        server.kill()
        with Appending(folder=server.place) as second:
            db = second.connect()
            found = [db.command("GET", key) for key in ("before", "meanwhile", "behind", "turns")]
            assert found == [b"x", b"x", b"x", b"10"], found
            assert digest(db) == expected


def replies_come_whatever_is_made_of_the_syncs_meanwhile():
    with Appending("--appendfsync", "always") as server:
        db = server.connect()
        with writers(server, 8):
            for turn in range(60):
                value = ("everysec", "always", "no")[turn % 3]
                assert db.command("CONFIG", "SET", "appendfsync", value) == b"OK"
                assert db.command("INCR", "turns") == turn + 1
        db.command("CONFIG", "SET", "appendfsync", "always")
        assert db.command("SET", "last", "x") == b"OK"
        expected = digest(db)
        server.kill()
        with Appending(folder=server.place) as second:
            assert digest(second.connect()) == expected


def the_policy_of_syncs_is_in_force_when_the_command_has_answered():
    with tempfile.TemporaryDirectory(prefix="varve-appending-") as folder:
        for turn in range(10):
            with Appending(folder=folder) as server:
                db = server.connect()
                assert plain(db.command("GET", "turn")) == (b"%d" % (turn - 1) if turn else None), "an acknowledged write is lost"
                db.send_bytes(encoded(("INCR", "n")) * 2000 + encoded(("CONFIG", "SET", "appendfsync", "always")) + encoded(("SET", "turn", turn)))
                assert [db.read() for _ in range(2002)][-2:] == [b"OK", b"OK"]
                server.kill()


def replies_come_in_the_order_of_requests_though_some_wait():
    with Appending("--appendfsync", "always") as server:
        clients = [server.connect() for _ in range(50)]
        for turn in range(20):
            for client in clients:
                words = [("INCR", "n:%d" % id(client)), ("PING",), ("GET", "nokey"), ("LPUSH", "l:%d" % id(client), turn), ("ECHO", turn), ("GETDEL", "nokey"), ("RPOP", "l:%d" % id(client))]
                client.send_bytes(b"".join(map(encoded, words)))
            for client in clients:
                replies = [plain(client.read()) for _ in range(7)]
                assert replies == [turn + 1, b"PONG", None, 1, b"%d" % turn, None, b"%d" % turn], replies


def waitaof_waits_until_the_last_write_of_its_client_is_on_the_disk():
    for policy in ("always", "everysec"):
        with Appending("--appendfsync", policy) as server:
            db, other = server.connect(), server.connect()
            assert db.command("WAITAOF", 1, 0, 0) == [1, 0], "it has written nothing"
            for number in range(3):
                db.command("SET", "k%d" % number, "v")
                began = time.monotonic()
                assert db.command("WAITAOF", 1, 0, 10_000) == [1, 0]
                assert time.monotonic() - began < 5
                assert any(b"k%d" % number in pathlib.Path(path).read_bytes() for path in server.appended.paths("i"))
            db.send_bytes(b"MULTI\r\nSET k x\r\nWAITAOF 1 0 0\r\nEXEC\r\n")
            replies = [db.read() for _ in range(4)]
            assert replies[:3] == [b"OK", b"QUEUED", b"QUEUED"] and replies[3][0] == b"OK", replies
            assert replies[3][1][1] == 0, "inside a transaction it does not wait"
            if policy == "everysec":
                # A sync that is not due keeps whoever waits, and nobody else.
                other.command("SET", "other", "v")
                server.send(db, "SET", "k", "y")
                assert db.read() == b"OK"
                server.send(db, "WAITAOF", 1, 0, 1)
                early = db.read()
                assert early in ([0, 0], [1, 0]), early
                assert db.command("WAITAOF", 1, 0, 0) == [1, 0]


def whoever_is_served_by_another_waits_for_the_sync_too():
    with Appending("--appendfsync", "always") as server:
        db, waiting = server.connect(), [server.connect() for _ in range(20)]
        for number, client in enumerate(waiting):
            server.send(client, *(("BLPOP", "queue", 0) if number % 2 else ("BLMOVE", "queue", "moved", "LEFT", "RIGHT", 0)))
        server.until(lambda: b"blocked_clients:20\r\n" in db.command("INFO", "clients"))
        assert db.command("RPUSH", "queue", *range(30)) == 30
        got = [client.read() for client in waiting]
        taken = {reply[1] if isinstance(reply, list) else reply for reply in got}
        server.kill()
        with Appending(folder=server.place) as second:
            db = second.connect()
            left = db.command("LRANGE", "queue", 0, -1)
            assert taken | set(left) == {b"%d" % number for number in range(30)} and len(left) == 10
            assert set(db.command("LRANGE", "moved", 0, -1)) == {reply for reply in got if not isinstance(reply, list)}


def what_was_acknowledged_before_the_end_is_there_however_it_ends():
    """Under `everysec`, where nobody has waited for a sync."""
    for ending in (("SHUTDOWN",), ("SHUTDOWN", "NOSAVE"), ("SHUTDOWN", "NOW")):
        with Appending() as server:
            db = server.connect()
            db.send_bytes(b"".join(encoded(("INCR", "n")) for _ in range(1000)) + encoded(ending))
            assert [db.read() for _ in range(1000)] == list(range(1, 1001))
            assert db.at_end() and server.process.wait(PATIENCE) == 0
            with Appending(folder=server.place) as second:
                assert second.connect().command("GET", "n") == b"1000", ending


def a_client_that_quits_gets_all_its_replies():
    with Appending("--appendfsync", "always") as server:
        for _ in range(20):
            db = server.connect()
            db.send_bytes(encoded(("INCR", "n")) * 50 + encoded(("QUIT",)))
            replies = [db.read() for _ in range(51)]
            assert replies[-1] == b"OK" and replies[-2] == replies[0] + 49 and db.at_end()
        # Those that do not wait for their replies have written all the same.
        for _ in range(20):
            hasty = server.connect()
            hasty.send_bytes(encoded(("INCR", "m")) * 50)
            hasty.close()
        db = server.connect()
        server.until(lambda: db.command("GET", "m") == b"1000")
        db.command("SET", "last", "x")
        server.kill()
        with Appending(folder=server.place) as second:
            assert second.connect().command("MGET", "n", "m") == [b"1000", b"1000"]


def a_client_that_leaves_is_forgotten_whether_or_not_its_changes_are_safe():
    with Appending("--appendfsync", "always") as server:
        db = server.connect()
        count = lambda: int(re.search(rb"total_connections_received:(\d+)", db.command("INFO", "stats"))[1])
        came = count()
        for requests in (
            [("CLIENT", "REPLY", "OFF"), ("INCR", "n")],
            [("CLIENT", "REPLY", "SKIP"), ("INCR", "n")],
            [("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"), ("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">")],
            [("INCR", "n"), ("BLPOP", "l", 0)],
        ):
            for _ in range(20):
                client = server.connect()
                client.send_bytes(b"".join(map(encoded, requests)))
                client.close()
            # Some may have been closed before the server has accepted them.
            came += 20
            server.until(lambda: count() == came)
            server.until(lambda: b"connected_clients:1\r" in db.command("INFO", "clients"))
        # Nobody who is gone takes what comes now.
        assert db.command("RPUSH", "l", "x") == 1 and db.command("LLEN", "l") == 1
        db.command("XADD", "s", "*", "f", "v")
        assert db.command("XPENDING", "s", "g")[0] == 0


def values_beyond_the_budget_are_written_and_read():
    with Appending() as server:
        db = server.connect()
        for number in range(6):
            assert db.command("SET", "large:%d" % number, bytes([number]) * (24 << 20)) == b"OK"
        with writers(server):
            assert db.command("APPEND", "large:0", b"x" * (40 << 20)) == 64 << 20
        server.until_written(db)
        expected = digest(db)
        server.kill()
        with Appending(folder=server.place) as second:
            assert digest(second.connect()) == expected


def debug_reload_begins_a_new_base():
    with Appending("--appendfsync", "always") as server:
        db = server.connect()
        filled(db)
        server.until(lambda: plain(db.command("GET", "gone")) is None)
        assert db.command("DEBUG", "RELOAD") == b"OK"
        assert db.command("SET", "behind", "x") == b"OK"
        expected = digest(db)
        server.kill()
        with Appending(folder=server.place) as second:
            assert digest(second.connect()) == expected


def flushed_data_stays_away():
    with Appending("--appendfsync", "always") as server:
        db = server.connect()
        filled(db)
        for words in (("FLUSHDB",), ("SET", "a", "b"), ("SWAPDB", 0, 3), ("FLUSHALL",), ("SET", "c", "d")):
            assert db.command(*words) == b"OK"
        server.kill()
        with Appending(folder=server.place) as second:
            db = second.connect()
            assert db.command("KEYS", "*") == [b"c"] and b"db3" not in db.command("INFO", "keyspace")


def flushall_begins_a_rotation_at_work_anew():
    with Appending("--rdb-key-save-delay", "1000000") as server:
        db = server.connect()
        fill(db)
        for turn in range(3):
            assert db.command("BGREWRITEAOF") == b"Background append only file rewriting started"
            db.command("SET", "again", "x")
            server.until(lambda: facts(db)["current_save_keys_total"] not in ("0", "1"))
            before = int(facts(db)["aof_rewrites"])
            assert db.command("FLUSHALL") == b"OK"
            assert db.command("SET", "behind:%d" % turn, "x") == b"OK"
            # With what was there before, this would take minutes.
            server.until(lambda: (now := facts(db))["aof_rewrite_in_progress"] == "0" and int(now["aof_rewrites"]) == before + 1)
            told = facts(db)
            assert told["aof_last_bgrewrite_status"] == "ok" and told["aof_rewrites_consecutive_failures"] == "0", told
            assert server.appended.bytes("b") < 1000
            db.command("CONFIG", "SET", "rdb-key-save-delay", "0")
            fill(db)
            db.command("CONFIG", "SET", "rdb-key-save-delay", "1000000")
        server.until_written(db)
        expected = digest(db)
        server.kill()
        same_behind("valkey-server", server.place, expected)


def flushall_begins_the_first_base_anew():
    with Saving("--save", "", "--threads", "2", "--rdb-key-save-delay", "1000000") as server:
        db = server.connect()
        fill(db)
        assert db.command("CONFIG", "SET", "appendonly", "yes") == b"OK"
        server.until(lambda: facts(db)["current_save_keys_total"] not in ("0", "1"))
        assert db.command("FLUSHALL") == b"OK"
        assert db.command("SET", "behind", "x") == b"OK"
        server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "0")
        Files(server.place).until_written(db)
        expected = digest(db)
        server.process.kill()
        server.process.wait()
        same_behind("valkey-server", server.place, expected)


def a_base_that_is_asked_for_while_it_is_off_leaves_no_old_files():
    with Appending() as server:
        db = server.connect()
        filled(db)
        server.rewritten(db)
        db.command("SET", "behind", "x")
        assert db.command("CONFIG", "SET", "appendonly", "no") == b"OK"
        server.until(lambda: facts(db)["aof_enabled"] == "0")
        for _ in range(2):
            server.rewritten(db)
            server.until(lambda: not server.appended.paths("h"))
            assert len(server.appended.paths("b")) == 1 and server.appended.paths("i") == []
            named = {path.name for path in server.appended.paths()} | {"appendonly.aof.manifest"}
            server.until(lambda: server.appended.names() == named)
        server.until(lambda: plain(db.command("GET", "gone")) is None)
        expected = digest(db)
        server.kill()
        same_behind("valkey-server", server.place, expected)


def files_grow_by_rotations_and_no_old_one_stays():
    with Appending("--auto-aof-rewrite-min-size", "200kb", "--auto-aof-rewrite-percentage", "100") as server:
        db, value = server.connect(), b"x" * 1000

        def write():
            db.send_bytes(encoded(("SET", "k", value)) * 100)
            assert all(db.read() == b"OK" for _ in range(100))
            return int(facts(db)["aof_rewrites"]) >= 3

        server.until(write)
        server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "0" and not server.appended.paths("h"))
        assert len(server.appended.paths("b")) == len(server.appended.paths("i")) == 1, server.appended.paths()
        named = {path.name for path in server.appended.paths()} | {"appendonly.aof.manifest"}
        server.until(lambda: server.appended.names() == named)


def files_that_are_not_needed_stay_while_a_setting_says_so():
    with Appending("--aof-disable-auto-gc", "yes") as server:
        db = server.connect()
        filled(db)
        server.rewritten(db)
        assert len(server.appended.paths("h")) >= 1, server.appended.paths()
        old = set(server.appended.paths("h"))
        server.rewritten(db)
        assert old < set(server.appended.paths("h")) and all(path.exists() for path in server.appended.paths("h"))
        db.command("CONFIG", "SET", "aof-disable-auto-gc", "no")
        server.until(lambda: not server.appended.paths("h") and not any(path.exists() for path in old))


def info_tells_the_state_of_the_files():
    with Appending() as server:
        db = server.connect()
        filled(db)
        server.until_written(db)
        server.until(lambda: int(facts(db)["aof_current_size"]) == server.appended.bytes())
        known = facts(db)
        expected = {"aof_enabled": "1", "aof_rewrite_in_progress": "0", "aof_rewrite_scheduled": "0", "aof_last_rewrite_time_sec": "-1",
                    "aof_current_rewrite_time_sec": "-1", "aof_last_bgrewrite_status": "ok", "aof_rewrites": "0", "aof_last_write_status": "ok",
                    "aof_pending_rewrite": "0", "aof_buffer_length": "0", "aof_pending_bio_fsync": "0"}  # fmt: skip
        assert {name: known[name] for name in expected} == expected, known
        server.rewritten(db)
        server.until(lambda: int(facts(db)["aof_current_size"]) == server.appended.bytes())
        known = facts(db)
        base = server.appended.bytes("b")
        # What came between the cut and the end of the rotation may count.
        assert base <= int(known["aof_base_size"]) <= int(known["aof_current_size"]), (base, known)
        assert int(known["aof_last_rewrite_time_sec"]) >= 0 and known["aof_rewrites"] == "1"


def a_rotation_at_work_is_told_and_refuses_another():
    with Appending("--rdb-key-save-delay", "1000000") as server:
        db = server.connect()
        fill(db)
        assert db.command("BGREWRITEAOF") == b"Background append only file rewriting started"
        assert db.command("BGREWRITEAOF") == b"ERR Background append only file rewriting already in progress"
        server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "1")
        assert db.command("BGSAVE") == b"ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible."
        assert db.command("SET", "meanwhile", "x") == b"OK"
        server.until_written(db)
        expected = digest(db)
        server.kill()
        with Appending(folder=server.place) as second:
            assert digest(second.connect()) == expected


if __name__ == "__main__":
    sys.exit(run(globals()))
