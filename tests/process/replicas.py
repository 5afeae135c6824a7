#!/usr/bin/env python3
"""Replicas of the server named by VARVE_SERVER: ones that are played here, byte by byte, and those of peers, where there are any.

    VARVE_SERVER=target/release/varve-server tests/process/replicas.py [CASE ...]
"""

import contextlib
import pathlib
import random
import re
import shutil
import socket
import sys
import tempfile
import time

from bounds import encoded
from peers import are_there, peer, started, ROOT, give_away
from resp import Closed, Error
from run import PATIENCE, Server, run

AT_ONCE = ("--repl-diskless-sync-delay", "0")
DEBUG = ("--enable-debug-command", "yes")


class Replica:
    """A replica that keeps what it is sent."""

    def __init__(self, server, *facts, old=False, psync=(b"?", -1)):
        self.socket = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
        self.received, self.snapshot, self.stream = bytearray(), None, bytearray()
        self.offset = None
        for fact in facts:
            assert self.ask("REPLCONF", *fact) == b"+OK", fact
        if old:
            self.send("SYNC")
        else:
            self.send("PSYNC", *psync)

    def send(self, *words):
        self.socket.sendall(encoded(*words))

    def ask(self, *words):
        self.send(*words)
        return self.line()

    def more(self):
        got = self.socket.recv(1 << 20)
        if not got:
            raise Closed()
        self.received += got

    def line(self):
        """The next line; empty ones only say that the server lives."""
        while True:
            while b"\n" not in self.received:
                self.more()
            line, _, rest = bytes(self.received).partition(b"\n")
            self.received[:] = rest
            if line.rstrip(b"\r"):
                return line.rstrip(b"\r")

    def take(self):
        """Takes the snapshot that comes, and what was said before it."""
        line = self.line()
        if line.startswith(b"+FULLRESYNC "):
            _, self.id, offset = line.split(b" ")
            self.offset = int(offset)
            line = self.line()
        if line.startswith(b"$EOF:"):
            mark = line[5:]
            assert len(mark) == 40, line
            while not self.received.endswith(mark):
                self.more()
            self.snapshot = bytes(self.received[:-40])
            self.received.clear()
        else:
            length = int(line[1:])
            while len(self.received) < length:
                self.more()
            self.snapshot = bytes(self.received[:length])
            del self.received[:length]
        return self

    def acknowledge(self, offset=None, synced=None):
        offset = self.offset + len(self.stream) if offset is None else offset
        self.send("REPLCONF", "ACK", offset, *([] if synced is None else ["FACK", synced]))

    def follow(self, until):
        """Takes the stream until it holds some bytes, PING left out."""
        looked_at = 0
        while True:
            self.stream += self.received
            self.received.clear()
            if self.stream.find(until, looked_at) >= 0:
                return self
            looked_at = max(0, len(self.stream) - len(until))
            self.more()

    def is_silent(self, seconds):
        self.socket.settimeout(seconds)
        try:
            self.more()
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(PATIENCE)
        return False

    def is_closed(self):
        with contextlib.suppress(ConnectionError):
            while self.socket.recv(1 << 20):
                pass
        return True

    def close(self):
        self.socket.close()


VALKEY = (("listening-port", "7000"), ("capa", "eof"), ("capa", "psync2"), ("version", "9.1.2"))
WITHOUT_MARK = (("listening-port", "7000"), ("capa", "psync2"), ("version", "9.1.2"))


def fields(db, section):
    text = db.command("INFO", section).decode()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


@contextlib.contextmanager
def primary(*settings):
    with Server(*AT_ONCE, *DEBUG, *settings) as server:
        server.db = server.connect()
        yield server


def a_replica_takes_a_snapshot_and_follows_and_waits_count_it():
    with primary("--threads", "2") as server:
        db = server.db
        db.command("SET", "before", "1")
        replica = Replica(server, *VALKEY).take()
        assert replica.snapshot.startswith(b"REDIS0011") and b"before" in replica.snapshot and b"repl-stream-db" in replica.snapshot
        assert fields(db, "replication")["slave0"].startswith("ip=127.0.0.1,port=7000,state=send_bulk,offset=0,")
        db.command("SET", "behind", "2")
        assert replica.is_silent(0.3), "the stream begins behind a mark before the first acknowledgement"
        replica.acknowledge()
        replica.follow(encoded("SET", "behind", "2"))
        assert replica.stream.startswith(encoded("SELECT", "0")), replica.stream
        facts = fields(db, "replication")
        assert facts["slave0"].split(",")[2] == "state=online" and int(facts["master_repl_offset"]) == replica.offset + len(replica.stream)
        assert facts["master_replid"].encode() == replica.id and facts["connected_slaves"] == "1"
        assert db.command("ROLE")[2] == [[b"127.0.0.1", b"7000", b"0"]], db.command("ROLE")
        assert "S" in re.search(r"flags=(\S+)", db.command("CLIENT", "LIST", "TYPE", "replica").decode()).group(1)
        assert db.command("EVAL", "return redis.call('WAIT', 1, 0)", 0) == 0, "what its client has written before is not there yet"
        server.send(db, "WAIT", 1, 0)
        replica.follow(encoded("REPLCONF", "GETACK", "*"))
        replica.acknowledge(synced=0)
        assert db.read() == 1
        assert db.command("WAIT", 2, 50) == 1
        assert db.command("EVAL", "return redis.call('WAIT', 2, 0)", 0) == 1
        assert db.command("WAITAOF", 0, 1, 50) == [0, 0], "its files have nothing"
        for words in (("PUBLISH", "news", "hello"), ("SPUBLISH", "news", "x"), ("MULTI",), ("publish", "a", "b"), ("SET", "k", "v"), ("EXEC",)):
            db.command(*words)
        replica.follow(encoded("PUBLISH", "news", "hello") + encoded("SPUBLISH", "news", "x") + encoded("SET", "k", "v") + encoded("publish", "a", "b"))
        for words in (("MULTI",), ("PUBLISH", "a", "1"), ("INCR", "n"), ("INCR", "n"), ("EXEC",)):
            db.command(*words)
        db.command("EVAL", "redis.call('PUBLISH', 'a', '2') return redis.call('INCR', 'n')", 0)
        of_transaction = encoded("MULTI") + encoded("INCR", "n") * 2 + encoded("EXEC") + encoded("PUBLISH", "a", "1")
        replica.follow(of_transaction + encoded("INCR", "n") + encoded("PUBLISH", "a", "2"))
        replica.acknowledge(synced=replica.offset + len(replica.stream))
        server.until(lambda: db.command("WAITAOF", 0, 1, 50) == [0, 1])
        counts = lambda: [fields(db, "stats")[name] for name in ("sync_full", "sync_partial_ok", "sync_partial_err", "total_net_repl_output_bytes")]
        assert counts()[0] == "1" and int(counts()[3]) > len(replica.snapshot)
        assert db.command("CONFIG", "RESETSTAT") == b"OK" and counts()[:3] == ["0"] * 3 and int(counts()[3]) < 100
        replica.close()
        server.until(lambda: fields(db, "replication")["connected_slaves"] == "0")


def who_comes_back_goes_on_with_what_is_kept():
    with primary("--repl-backlog-size", "100000", "--repl-backlog-time", "0") as server:
        db = server.db
        replica = Replica(server, *VALKEY).take()
        replica.acknowledge()
        db.command("SET", "a", "1")
        replica.follow(encoded("SET", "a", "1"))
        replica.close()
        offset = replica.offset + len(replica.stream)
        db.command("SET", "b", "2")
        asked = lambda who, first: Replica(server, *VALKEY, psync=(who, first))
        back = asked(replica.id.upper(), offset + 1)
        assert back.line() == b"+CONTINUE " + replica.id
        back.follow(encoded("SET", "b", "2"))
        assert bytes(back.stream) == encoded("SET", "b", "2")
        tail = int(fields(db, "replication")["master_repl_offset"])
        nothing = asked(replica.id, tail + 1)
        assert nothing.line() == b"+CONTINUE " + replica.id and nothing.is_silent(0.2)
        bare = Replica(server, *VALKEY[:2], psync=(replica.id, tail + 1))
        assert bare.line() == b"+CONTINUE", "other ids are not told to those that do not take them"
        for who, first in ((replica.id, tail + 2), (b"0" * 40, 1), (replica.id, -1), (b"?", -1)):
            assert asked(who, first).line().startswith(b"+FULLRESYNC " + replica.id), (who, first)
        for other in (nothing, back, bare):
            other.close()
        for _ in range(30):
            db.command("SET", "c", b"x" * 10000)
        server.until(lambda: int(fields(db, "replication")["repl_backlog_histlen"]) <= 100000)
        first = int(fields(db, "replication")["repl_backlog_first_byte_offset"])
        assert asked(replica.id, offset + 1).line().startswith(b"+FULLRESYNC"), "that is not kept"
        assert first > offset
        stats = fields(db, "stats")
        assert int(stats["sync_partial_ok"]) >= 3 and int(stats["sync_partial_err"]) >= 4, stats


def who_is_lost_keeps_its_place_for_a_time_and_as_long_as_the_disk_may_hold_it():
    quiet = ("--repl-ping-replica-period", "3600")
    with primary("--repl-backlog-size", "100000", "--repl-backlog-time", "3600", "--repl-disk-max", "5mb", *quiet) as server:
        db = server.db
        in_files = lambda: int(fields(db, "replication")["repl_backlog_file_bytes"])
        early = Replica(server, *VALKEY).take()
        early.close()  # before it has said that it has the snapshot
        server.until(lambda: fields(db, "replication")["connected_slaves"] == "0")
        for _ in range(10):
            db.command("SET", "k", b"x" * 100000)
        back = Replica(server, *VALKEY, psync=(early.id, early.offset + 1))
        assert back.line().startswith(b"+CONTINUE")
        back.close()
        assert db.command("FLUSHALL") == b"OK"
        replica = Replica(server, *VALKEY).take()
        replica.acknowledge()
        replica.follow(encoded("SELECT", "0"))
        for _ in range(2):
            place = replica.offset + len(replica.stream)
            replica.close()
            server.until(lambda: fields(db, "replication")["connected_slaves"] == "0")
            values = [b"%d" % number * 10000 for number in range(100)]
            for value in values:
                db.command("SET", "k", value)
            server.until(lambda: in_files() > 800000)
            replica = Replica(server, *VALKEY, psync=(replica.id, place + 1))
            assert replica.line().startswith(b"+CONTINUE")
            replica.follow(values[-1] + b"\r\n")
            assert bytes(replica.stream) == b"".join(encoded("SET", "k", value) for value in values)
            replica.offset, replica.stream = place + len(replica.stream), bytearray()
            replica.id = fields(db, "replication")["master_replid"].encode()
            server.until(lambda: in_files() == 0)
        replica.close()
        for _ in range(60):
            db.command("SET", "k", b"x" * 100000)
        server.until(lambda: in_files() == 0)
        assert "which is lost, keeps its place no longer" in server.output.read_text()
        assert db.command("CONFIG", "SET", "repl-backlog-time", "1", "repl-disk-max", "100mb") == b"OK"
        Replica(server, *VALKEY).take().close()
        replica = Replica(server, *VALKEY).take()
        replica.acknowledge()
        server.until(lambda: fields(db, "replication")["slave0"].count("state=online"))
        replica.close()
        for _ in range(20):
            db.command("SET", "k", b"x" * 100000)
        server.until(lambda: in_files() == 0)


def a_start_reads_its_files_again_for_who_lacks_some_of_them():
    for synced in ("everysec", "always"):  # between few units of the files, and between all, stands a line of a sync
        start_reads_its_files_again(synced)


def start_reads_its_files_again(synced):
    settings = ("--appendonly", "yes", "--appendfsync", synced, "--repl-ping-replica-period", "3600")
    with tempfile.TemporaryDirectory() as folder:
        with primary(*settings, "--dir", folder, "--repl-backlog-size", "4mb") as server:
            db = server.db
            replica = Replica(server, *VALKEY).take()
            replica.acknowledge()
            places = []
            for number in range(300):
                if number % 100 == 1:
                    db.command("PUBLISH", "news", "x" * number)
                if number == 150:
                    db.command("BGREWRITEAOF")
                    server.until(lambda: fields(db, "persistence")["aof_rewrite_in_progress"] == "0")
                db.command("MULTI")
                db.command("SET", "k%d" % number, b"%d" % number * 10000)
                db.command("SADD", "s", number)
                db.command("EXEC")
                replica.follow(b"%d\r\n" % number + encoded("EXEC"))
                places.append(len(replica.stream))
            server.process.kill()
            server.process.wait()
        stream, begin = bytes(replica.stream), replica.offset
        with primary(*settings, "--dir", folder, "--repl-backlog-size", "1mb") as server:
            assert int(fields(server.db, "replication")["repl_backlog_first_byte_offset"]) - 1 - begin == places[-1], "nothing is read before"
            of_last_file = [place for number, place in enumerate(places) if number > 151]
            for place in [places[-1], places[-1] - 1, *of_last_file[::-17], of_last_file[0], of_last_file[0] + 5]:
                back = Replica(server, *VALKEY, psync=(replica.id, begin + place + 1))
                assert back.line().startswith(b"+CONTINUE "), place
                server.db.command("SET", "end", place)
                back.follow(encoded("SET", "end", place))
                news = encoded("PUBLISH", "news", "x" * 201)
                same = stream[place:].replace(news, encoded("PING", " " * (len(news) - 22)))
                assert bytes(back.stream).startswith(same), place
                back.close()
            lacks_more = Replica(server, *VALKEY, psync=(replica.id, begin + places[0] + 1))
            assert lacks_more.line().startswith(b"+FULLRESYNC")
        for number, (settings, rotates, is_there) in enumerate((
            (("--repl-disk-max", "1mb"), False, False),
            (("--repl-backlog-time", "0"), False, False),
            (("--repl-disk-max", "8mb", "--repl-backlog-time", "3600"), True, True),
            (("--repl-disk-max", "2300000"), True, False),
            (("--repl-backlog-time", "1"), True, None),
        )):
            copy = pathlib.Path(folder, "copy%d" % number)
            shutil.copytree(pathlib.Path(folder, "appendonlydir"), copy / "appendonlydir")
            with primary("--appendonly", "yes", "--dir", str(copy), *settings) as server:
                assert server.db.command("SCARD", "s") == 300
                is_kept = lambda: b" type h" in next(copy.glob("*/*.manifest")).read_bytes()
                if rotates:
                    server.db.command("BGREWRITEAOF")
                    server.until(lambda: fields(server.db, "persistence")["aof_rewrite_in_progress"] == "0")
                    server.until(lambda: is_kept() == bool(is_there))
                if is_there is None:
                    continue
                facts = fields(server.db, "replication")
                has_all = (facts["master_replid"].encode(), int(facts["master_repl_offset"]) + 1)
                lacks_some = (replica.id, begin + places[-1] - 2000000 + 1)
                for who, line in ((has_all, b"+CONTINUE"), (lacks_some, b"+CONTINUE" if is_there else b"+FULLRESYNC")):
                    back = Replica(server, *VALKEY, psync=who)
                    assert back.line().startswith(line), (settings, line)
                    back.close()


def a_start_expects_who_lacks_some_though_nothing_that_is_no_data_was_sent():
    settings = ("--appendonly", "yes", "--repl-ping-replica-period", "3600", "--repl-backlog-size", "1mb")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as below:
        with primary(*settings, "--dir", folder) as server:
            follows = ("--replicaof", "127.0.0.1 %d" % server.port, "--dir", below)
            replica = Replica(server, *VALKEY).take()
            replica.acknowledge()
            with primary(*settings, *follows) as second:
                second.until(lambda: fields(second.db, "replication")["master_link_status"] == "up")
                for it in (server, second):
                    it.until(lambda: fields(it.db, "persistence")["aof_rewrite_in_progress"] == "0")
                server.db.command("BGREWRITEAOF")
                server.until(lambda: fields(server.db, "persistence")["aof_rewrite_in_progress"] == "0")
                server.db.command("SET", "early", "1")
                place = replica.offset + len(replica.follow(encoded("SET", "early", "1")).stream)
                server.db.command("SET", "late", "2")
                replica.follow(encoded("SET", "late", "2"))
                in_its_files = lambda: b"".join(it.read_bytes() for it in pathlib.Path(below).glob("appendonlydir/*.incr.aof"))
                second.until(lambda: encoded("SET", "late", "2") in in_its_files())
                second.process.kill()
                second.process.wait()
            with primary(*settings, *follows) as second:
                # Nobody is synced by a server whose own link is not up yet.
                second.until(lambda: fields(second.db, "replication")["master_link_status"] == "up")
                back = Replica(second, *VALKEY, psync=(replica.id, place + 1))
                line = back.line()
                assert line.startswith(b"+CONTINUE "), (line, second.output.read_text())
                back.follow(encoded("SET", "late", "2"))
            server.process.kill()
            server.process.wait()
        with primary(*settings, "--dir", folder) as server:
            back = Replica(server, *VALKEY, psync=(replica.id, place + 1))
            assert back.line().startswith(b"+CONTINUE "), server.output.read_text()
            back.follow(encoded("SET", "late", "2"))


def no_replica_hears_of_an_id_before_the_files_tell_it():
    settings = ("--appendonly", "yes", "--appendfsync", "no")
    with primary() as above:
        for turn in range(5):
            with primary(*settings, "--replicaof", "127.0.0.1 %d" % above.port) as server:
                server.until(lambda: fields(server.db, "replication")["master_link_status"] == "up")
                server.until(lambda: fields(server.db, "persistence")["aof_rewrite_in_progress"] == "0")
                facts = fields(server.db, "replication")
                time.sleep(0.1 * (turn % 2))  # the thread that writes the files rests, or is about to
                replica = Replica(server, *VALKEY, psync=(facts["master_replid"].encode(), int(facts["slave_repl_offset"]) + 1))
                assert replica.line().startswith(b"+CONTINUE ")
                assert server.db.command("REPLICAOF", "NO", "ONE") == b"OK"
                back = Replica(server, *VALKEY, psync=(facts["master_replid"].encode(), int(facts["slave_repl_offset"]) + 1))
                told = back.line().split(b" ")[1]
                server.process.kill()
                server.process.wait()
                files = pathlib.Path(server.folder).glob("appendonlydir/*.incr.aof")
                assert told != facts["master_replid"].encode() and any(told in it.read_bytes() for it in files), turn


def ids_before_the_newest_two_are_known_after_many_starts():
    quiet = ("--repl-ping-replica-period", "3600")
    for kind in (("--appendonly", "yes"), ("--save", "3600 1")):
        with tempfile.TemporaryDirectory() as folder:
            asked = []
            for number in range(10 if kind[0] == "--appendonly" else 4):
                with primary(*quiet, *kind, "--dir", folder) as server:
                    for who, place in asked[-8:]:
                        back = Replica(server, *VALKEY, psync=(who, place + 1))
                        assert back.line().startswith(b"+CONTINUE "), (kind, number)
                        back.close()
                    if len(asked) > 8 and kind[0] == "--appendonly":
                        who, place = asked[-9]
                        assert Replica(server, *VALKEY, psync=(who, place + 1)).line().startswith(b"+FULLRESYNC"), "eight are kept"
                    if kind[0] == "--appendonly" or number == 0:
                        replica = Replica(server, *VALKEY).take()
                        server.db.command("PUBLISH", "news", "by which its files tell that there are replicas")
                        server.db.command("SET", "k", number)
                    facts = fields(server.db, "replication")
                    who, place = facts["master_replid"].encode(), int(facts["master_repl_offset"])
                    asked.append((who, place))
                    if number % 4 and kind[0] == "--appendonly":
                        assert server.db.command("WAITAOF", 1, 0, 5000) == [1, 0]
                        server.process.kill()
                        server.process.wait()
                    else:
                        replica.close()  # or its end would be waited for
                        server.process.terminate()
                        assert server.ends_with_status() == 0
                asked = [(who, min(place, asked[-1][1])) for who, place in asked]
            if kind[0] == "--appendonly":
                with primary(*quiet, *kind, "--dir", folder) as server:
                    server.db.command("BGREWRITEAOF")
                    server.until(lambda: fields(server.db, "persistence")["aof_rewrite_in_progress"] == "0")
                    files = list(pathlib.Path(folder, "appendonlydir").glob("*.incr.aof"))
                    assert all(b"#varve-history " in path.read_bytes() for path in files), "the next file tells them at once"
            if kind[0] == "--appendonly" and are_there():
                with peer("valkey-server", folder, *kind) as db:
                    assert db is None or db.command("DBSIZE") == 1, "others skip the line"


def without_files_nobody_wakes_the_thread_that_writes_them():
    with primary("--repl-backlog-size", "1mb") as server:
        replica = Replica(server, *VALKEY).take()
        replica.acknowledge()
        tasks = pathlib.Path("/proc/%d/task" % server.process.pid)
        journal = [task for task in tasks.iterdir() if (task / "comm").read_text().strip() == "journal"][0]
        switches = lambda: int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (journal / "status").read_text(), re.M)[1])
        value = b"x" * 10000
        for _ in range(200):
            server.db.command("SET", "k", value)
        replica.follow(value)
        replica.stream.clear()
        before = switches()
        for _ in range(500):
            server.db.command("SET", "k", value)
            replica.follow(value)
            replica.stream.clear()
        assert switches() - before < 250, switches() - before


def readers_get_a_length_a_part_or_an_error_as_they_ask():
    with primary() as server:
        db = server.db
        db.command("SET", "k", "v")
        db.command("FUNCTION", "LOAD", "#!lua name=l\nserver.register_function('f', function() return 1 end)")
        old = Replica(server, old=True).take()
        assert old.offset is None and b"\x00\x01k\x01v" in old.snapshot
        db.command("SET", "k", "w")
        old.follow(encoded("SET", "k", "w"))
        other = Replica(server, *WITHOUT_MARK).take()
        assert other.snapshot.startswith(b"REDIS")
        functions = Replica(server, ("capa", "eof"), ("rdb-only", "1"), ("rdb-filter-only", "functions"), old=True).take()
        assert b"register_function" in functions.snapshot and b"\x01k\x01" not in functions.snapshot
        assert functions.is_closed(), "it wants no stream"
        assert fields(db, "replication")["connected_slaves"] == "2", "that was no replica"
        db.command("CONFIG", "SET", "repl-diskless-sync", "no")
        assert Replica(server, *VALKEY).take().received == b""
        db.command("HSETEX", "h", "EX", "1000", "FIELDS", "1", "f", "v")
        assert Replica(server, *VALKEY).take().snapshot.startswith(b"VALKEY080"), "deadlines of fields"
        redis = Replica(server, ("listening-port", "1"), ("capa", "eof"), ("capa", "rdb-channel-repl")).take()
        assert redis.snapshot.startswith(b"REDIS0012")
        assert Replica(server, ("listening-port", "1"), ("capa", "eof"), ("version", "8.1.0")).is_closed(), "it knows no such deadlines"
        assert "deadlines" in server.output.read_text()
        client = server.connect()
        client.send_bytes(encoded("PING") + encoded("PSYNC", "?", "-1"))
        assert client.read() == b"PONG" and client.read() == Error(b"ERR SYNC and PSYNC are invalid with pending output")
        assert client.command("MULTI") == b"OK"
        assert client.command("PSYNC", "?", "-1") == Error(b"ERR Command 'psync' not allowed inside a transaction")
        client.command("DISCARD")
        client.command("SUBSCRIBE", "news")
        assert isinstance(client.command("PSYNC", "?", "-1"), Error)


def who_has_been_refused_rests_for_ten_seconds_and_holds_nobody_up():
    with primary() as server:
        server.db.command("HSETEX", "h", "EX", "1000", "FIELDS", "1", "f", "v")
        of_old = (("listening-port", "1"), ("capa", "eof"), ("version", "8.1.0"))
        assert Replica(server, *of_old).is_closed()
        began = time.monotonic()
        again = Replica(server, *of_old)
        server.db.command("DEL", "h")
        for _ in range(3):
            assert Replica(server, *VALKEY).take().snapshot
        assert server.output.read_text().count("Starting a snapshot") == 4, "each that may have one has had one"
        assert again.take().snapshot.startswith(b"REDIS0011")
        assert 5 < time.monotonic() - began < 60


def who_knows_no_deadlines_of_fields_is_let_go_at_the_first_one_in_the_stream():
    of_old, value = (("listening-port", "1"), ("capa", "eof"), ("capa", "psync2"), ("version", "8.1.0")), encoded("HPERSIST", "h", "FIELDS", "1", "f")
    with primary("--repl-ping-replica-period", "3600") as server:
        db = server.db
        old, new = Replica(server, *of_old).take(), Replica(server, *VALKEY).take()
        for replica in (old, new):
            replica.acknowledge()
            replica.follow(encoded("SELECT", "0"))
        for number in range(50):
            db.command("SET", "k%d" % number, value * 1000)
            db.command("HSET", "h", "f", number)
        old.follow(encoded("HSET", "h", "f", 49))
        place = old.offset + len(old.stream)
        db.command("HSETEX", "h", "EX", "1000", "FIELDS", "1", "f", "v")
        new.follow(encoded("FIELDS", "1", "f")[4:])
        assert old.is_closed()
        assert "knows no deadlines of fields, and HPEXPIREAT" in server.output.read_text()
        again = Replica(server, *of_old, psync=(old.id, place + 1))
        db.command("DEL", "h")
        again.take()
        assert b"k49" in again.snapshot, "it needs a snapshot, as the stream would bring the same again"
        again.acknowledge()
        db.command("SET", "end", "1")
        again.follow(encoded("SET", "end", "1"))
        assert fields(db, "stats")["sync_full"] == "3"


def who_is_slow_costs_files_and_no_memory_and_gets_every_byte():
    with primary("--repl-backlog-size", "1mb", "--repl-ping-replica-period", "3600") as server:
        db = server.db
        slow, quick = Replica(server, *VALKEY).take(), Replica(server, *VALKEY).take()
        for replica in (slow, quick):
            replica.acknowledge()
            replica.follow(encoded("SELECT", "0"))
        before, value = server.resident_mib(), random.Random(1).randbytes(1 << 20)
        for number in range(150):
            db.command("SET", "k", value)
            quick.follow(value)
            quick.stream.clear()
        facts, memory = fields(db, "replication"), fields(db, "memory")
        assert int(facts["repl_backlog_file_bytes"]) > 120 << 20, facts
        assert 1 << 19 < int(memory["mem_replication_backlog"]) < 3 << 20, memory
        assert int(memory["mem_total_replication_buffers"]) >= int(memory["mem_replication_backlog"])
        assert server.resident_mib() - before < 50, server.resident_mib() - before
        assert not [path for path in pathlib.Path(server.folder).iterdir() if "tmp" in path.name], "the files have no names"
        db.command("SET", "end", "1")
        begin = len(slow.stream)
        slow.follow(encoded("SET", "end", "1"))
        assert bytes(slow.stream[begin:]) == encoded("SET", "k", value) * 150 + encoded("SET", "end", "1")
        server.until(lambda: fields(db, "replication")["repl_backlog_file_bytes"] == "0")
        assert db.command("CONFIG", "SET", "repl-disk-max", "20mb") == b"OK"
        for number in range(100):
            db.command("SET", "k", value)
            quick.follow(value)
            quick.stream.clear()
        assert slow.is_closed() and fields(db, "replication")["connected_slaves"] == "1"
        assert "repl-disk-max" in server.output.read_text()


def a_snapshot_is_made_at_its_own_speed_however_slow_its_readers_are():
    with primary("--save", "", "--rdbcompression", "no") as server:
        db = server.db
        value = random.Random(1).randbytes(1 << 20)
        for number in range(200):
            db.command("SET", "k%d" % number, value)
        before = server.resident_mib()
        slow = Replica(server, *VALKEY)
        line = slow.line()
        assert line.startswith(b"+FULLRESYNC")
        slow.offset = int(line.split(b" ")[2])
        assert db.command("BGSAVE") == b"Background saving started", "it follows the one for the replica"
        server.until(lambda: fields(db, "persistence")["rdb_bgsave_in_progress"] == "0")
        assert server.resident_mib() - before < 60, server.resident_mib() - before
        gone = Replica(server, *VALKEY)
        gone.close()
        slow.take()
        assert slow.snapshot.count(value[:1000]) == 200
        slow.acknowledge()
        db.command("SET", "end", "1")
        slow.follow(encoded("SET", "end", "1"))


def what_is_no_data_is_in_no_file_and_files_load_elsewhere():
    settings = ("--appendonly", "yes", "--repl-ping-replica-period", "1")
    with tempfile.TemporaryDirectory() as folder:
        with primary(*settings, "--dir", folder) as server:
            db = server.db
            replica = Replica(server, *VALKEY).take()
            replica.acknowledge()
            for number in range(3):
                db.command("SET", "k%d" % number, "v")
                db.command("PUBLISH", "news", "unheard")
                server.send(db, "WAIT", 1, 0)
                replica.follow(encoded("SET", "k%d" % number, "v"))
                replica.follow(encoded("REPLCONF", "GETACK", "*"))
                replica.acknowledge()
                assert db.read() == 1
                replica.follow(encoded("PING"))
                replica.offset, replica.stream = replica.offset + len(replica.stream), bytearray()
            files = b"".join(path.read_bytes() for path in pathlib.Path(folder, "appendonlydir").glob("*.incr.aof"))
            assert not any(word in files for word in (b"PING", b"GETACK", b"PUBLISH")) and files.count(b"#gap ") >= 3, files
            server.process.terminate()
            assert server.ends_with_status() == 0
        with peer("valkey-server", folder, "--appendonly", "yes") as db:
            assert db is None or db.command("DBSIZE") == 3
        with primary(*settings, "--dir", folder) as server:
            assert server.db.command("DBSIZE") == 3


def what_a_replica_should_not_say_ends_its_link_and_nothing_else():
    rubbish = [b"SET k v\r\n", b"*1\r\n$-5\r\n", b"*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$100000000\r\n", b"\x16\x03\x01" * 100 + b"\r\n", b"x" * 100000]
    with primary() as server:
        db = server.db
        for bytes_sent in rubbish:
            replica = Replica(server, *VALKEY).take()
            replica.socket.sendall(bytes_sent)
            assert replica.is_closed(), bytes_sent
        replica = Replica(server, *VALKEY).take()
        replica.acknowledge()
        replica.follow(encoded("SELECT", "0"))
        for words in (("ACK", "x"), ("GETACK", "*"), ("nosuch", "1"), ("ACK", "1", "FACK", 1 << 62), ("ACK", 1 << 62)):
            replica.send("REPLCONF", *words)
        sent = ",offset=%d," % (replica.offset + len(replica.stream))
        server.until(lambda: sent in fields(db, "replication")["slave0"])
        db.command("SET", "k", "v")
        assert db.command("WAIT", 1, 200) == 0, "what was not sent was not received"
        assert db.command("WAITAOF", 0, 1, 50) == [0, 0]
        replica.socket.sendall(b"\n" * 2000)
        assert db.command("PING") == b"PONG"
        assert db.command("CLIENT", "KILL", "TYPE", "replica") == 1
        assert replica.is_closed()


def writes_are_refused_while_too_few_replicas_are_near():
    with primary("--min-replicas-to-write", "1", "--min-replicas-max-lag", "2") as server:
        db = server.db
        assert db.command("SET", "k", "v") == Error(b"NOREPLICAS Not enough good replicas to write.")
        replica = Replica(server, *VALKEY).take()
        replica.acknowledge()
        server.until(lambda: db.command("SET", "k", "v") == b"OK")
        assert fields(db, "replication")["min_slaves_good_slaves"] == "1"
        server.until(lambda: isinstance(db.command("SET", "k", "v"), Error))
        replica.acknowledge()
        server.until(lambda: db.command("SET", "k", "v") == b"OK")


def other_data_and_a_long_time_alone_end_the_history():
    with primary("--repl-backlog-ttl", "1") as server:
        db = server.db
        replica = Replica(server, *VALKEY).take()
        replica.acknowledge()
        replica.follow(encoded("SELECT", "0"))
        assert db.command("DEBUG", "RELOAD") == b"OK"
        assert replica.is_closed()
        server.until(lambda: fields(db, "replication")["master_replid"].encode() != replica.id)
        again = Replica(server, *VALKEY, psync=(replica.id, replica.offset + 1)).take()
        assert again.offset >= replica.offset and again.id != replica.id
        again.close()
        server.until(lambda: fields(db, "replication")["repl_backlog_active"] == "0")
        db.command("SET", "unseen", "1")
        third = Replica(server, *VALKEY, psync=(again.id, again.offset + 1)).take()
        assert third.id != again.id and b"unseen" in third.snapshot


def the_end_waits_for_replicas_and_not_for_longer_than_the_settings_say():
    with primary("--shutdown-timeout", "100") as server:
        db = server.db
        replica = Replica(server, *VALKEY).take()
        replica.acknowledge()
        replica.follow(encoded("SELECT", "0"))
        db.command("SET", "k", "v")
        server.process.terminate()
        server.until(lambda: "Waiting for replicas before shutting down" in server.output.read_text())
        replica.follow(encoded("SET", "k", "v"))
        writer = server.connect()
        server.send(writer, "SET", "k", "w")
        time.sleep(0.3)
        assert server.process.poll() is None
        replica.acknowledge()
        assert server.ends_with_status() == 0 and "1 of 1 replicas are in sync" in server.output.read_text()
    with primary("--shutdown-timeout", "1") as server:
        replica = Replica(server, *VALKEY).take()
        replica.acknowledge()
        server.until(lambda: ",state=online," in fields(server.db, "replication")["slave0"])
        server.db.command("SET", "k", "v")
        server.process.terminate()
        assert server.ends_with_status() == 0 and "0 of 1 replicas are in sync" in server.output.read_text()


def silent_replicas_are_given_up_and_those_that_load_are_not():
    with primary("--repl-timeout", "2", "--repl-ping-replica-period", "1") as server:
        silent, loading = Replica(server, *VALKEY).take(), Replica(server, *VALKEY).take()
        silent.acknowledge()
        deadline = time.monotonic() + 4
        while time.monotonic() < deadline:
            loading.socket.sendall(b"\n")
            time.sleep(0.2)
        assert silent.is_closed()
        loading.acknowledge()
        loading.follow(encoded("PING"))


COMMANDS = [
    "SET k{i} v{i}", "APPEND k{i} more", "INCR n{j}", "SETEX e{i} 1000 v", "PEXPIRE k{i} 50", "RPUSH l{j} a b {i}", "LPOP l{j} 2",
    "SADD s{j} {i} a b", "SPOP s{j}", "SPOP s{j} 2", "HSET h{j} f{i} v g 1", "HINCRBYFLOAT h{j} g 1.5", "HDEL h{j} f{i}",
    "HPEXPIRE h{j} 60 FIELDS 1 f{i}", "HSETEX h{j} PX 90 FIELDS 1 t{i} v", "ZADD z{j} {i} m{i}", "ZINCRBY z{j} 1.1 m{i}", "ZPOPMIN z{j}",
    "XADD x{j} * f {i}", "XADD x{j} MAXLEN ~ 20 * f {i}", "XTRIM x{j} MAXLEN 5", "XGROUP CREATE x{j} g 0 MKSTREAM", "XREADGROUP GROUP g c COUNT 2 STREAMS x{j} >",
    "XACK x{j} g 1-1", "PFADD p{j} {i}", "SETBIT b{j} {i} 1", "BITFIELD b{j} SET u8 {i} 7", "GEOADD geo{j} 13.3{i} 38.1 p{i}", "COPY k{i} c{i} REPLACE",
    "RENAME c{i} d{j}", "DEL k{i}", "UNLINK l{j}", "GETDEL e{i}", "SORT l{j} ALPHA STORE sorted{j}", "LMOVE l{j} l{i} LEFT RIGHT", "SUNIONSTORE u{j} s{j} s{i}",
    "SELECT {j}", "SELECT 0", "MOVE k{i} 3", "EVAL redis.call('SET',KEYS[1],'s');redis.call('INCR','n') 1 s{j}k", "MSET a{i} 1 b{i} 2", "RESTORE r{i} 0 \\x00",
    "SWAPDB 0 1", "FLUSHDB", "GETEX k{i} PX 80", "LMPOP 2 l{j} l{i} LEFT COUNT 2", "ZRANGESTORE zz{j} z{j} 0 3", "EXPIREAT k{i} 1", "SET k{i} v GET", "HGETDEL h{j} FIELDS 1 g",
]


def write_at_random(db, chance, count):
    """Writes of all kinds, some in transactions."""
    is_queued = False
    for _ in range(count):
        if chance.random() < 0.03:
            db.command("EXEC" if is_queued else "MULTI")
            is_queued = not is_queued
        line = chance.choice(COMMANDS).format(i=chance.randrange(30), j=chance.randrange(4))
        if line in ("FLUSHDB", "SWAPDB 0 1") and chance.random() < 0.9:
            continue
        db.command(*line.split(" "))
    if is_queued:
        db.command("EXEC")
    db.command("SELECT", "0")


def replicas_of_peers_have_the_same_data_through_cuts_and_restarts():
    """Valkey and Redis follow, while connections are cut and a snapshot begins in the middle of changes."""
    if not are_there():
        return "there are no peers"
    chance = random.Random(7)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(primary("--threads", "2", "--threads-fixed", "no"))
        db, clients = server.db, [server.connect() for _ in range(4)]
        write_at_random(db, chance, 500)
        others = []
        for program in ("valkey-server", "redis-server"):
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True))
            give_away(place)
            others.append(stack.enter_context(started(program, place, "--replicaof", "127.0.0.1 %d" % server.port)))
        for turn in range(6):
            for client in clients:
                write_at_random(client, chance, 300)
            if turn % 2:
                db.command("CLIENT", "KILL", "TYPE", "replica")
            db.command("PUBLISH", "news", "x")
        offset = lambda: fields(db, "replication")["master_repl_offset"]
        for name, other in zip(("Valkey", "Redis"), others):
            server.until(lambda: fields(other, "replication")["master_link_status"] == "up" and fields(other, "replication")["slave_repl_offset"] == offset())
            time.sleep(0.2)  # deadlines of milliseconds pass, and are told
            server.until(lambda: digest(db) == digest(other))
        syncs = fields(db, "stats")
        assert int(syncs["sync_full"]) == 2 and int(syncs["sync_partial_ok"]) >= 2, syncs


def digest(db):
    return db.command("DEBUG", "DIGEST")


if __name__ == "__main__":
    sys.exit(run(globals()))
