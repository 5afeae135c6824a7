#!/usr/bin/env python3
"""FAILOVER between servers named by VARVE_SERVER, to and from peers where there are any, and with a target that is played.

    VARVE_SERVER=target/release/varve-server tests/process/failover.py [CASE ...]
"""

import contextlib
import itertools
import os
import random
import socket
import sys
import tempfile
import threading
import time

from bounds import encoded
from following import ID, Primary, caught_up, is_absent, link, replica_of, server
from peers import ROOT, are_there, give_away, started
from ports import free_port
from replicas import VALKEY, Replica, digest, fields, write_at_random
from resp import Closed, Connection, Error
from run import PATIENCE, run

QUIET = ("--repl-ping-replica-period", "3600")
READONLY = Error(b"READONLY You can't write against a read only replica.")

# What Valkey 9.1.2 answers that has one replica, at 127.0.0.1.
ANSWERS = [
    ("ABORT", "ERR No failover in progress."),
    ("ABORT x", "ERR syntax error"),
    ("nosuch", "ERR syntax error"),
    ("TO 127.0.0.1", "ERR syntax error"),
    ("TO 127.0.0.1 x", "ERR value is not an integer or out of range"),
    ("TO 127.0.0.1 1", "ERR FAILOVER target HOST and PORT is not a replica."),
    ("TO 127.0.0.1 99999999999", "ERR FAILOVER target HOST and PORT is not a replica."),
    ("TO localhost PORT", "ERR FAILOVER target HOST and PORT is not a replica."),
    ("TO 127.0.0.1 PORT TO 127.0.0.1 PORT", "ERR syntax error"),
    ("TIMEOUT 0", "ERR FAILOVER timeout must be greater than 0"),
    ("TIMEOUT -1", "ERR FAILOVER timeout must be greater than 0"),
    ("TIMEOUT x", "ERR value is not an integer or out of range"),
    ("TIMEOUT 5 TIMEOUT 6", "ERR syntax error"),
    ("FORCE", "ERR FAILOVER with force option requires both a timeout and target HOST and IP."),
    ("FORCE FORCE", "ERR syntax error"),
    ("TIMEOUT 5 FORCE", "ERR FAILOVER with force option requires both a timeout and target HOST and IP."),
    ("TO 127.0.0.1 PORT FORCE", "ERR FAILOVER with force option requires both a timeout and target HOST and IP."),
]


def phase(it):
    return link(it)["master_failover_state"]


def paused(it):
    facts = fields(it.db, "clients")
    return facts["paused_reason"], facts["paused_actions"]


@contextlib.contextmanager
def with_played_replica(*settings):
    """A primary, and a replica of it that says only what it is told to, at a port where a played primary listens."""
    with server(*QUIET, *settings) as primary, Primary() as target:
        told = (("listening-port", str(target.port)), *VALKEY[1:])
        replica = Replica(primary, *told).take()
        replica.acknowledge()
        primary.until(lambda: "state=online" in link(primary).get("slave0", ""))
        primary.db.command("SET", "k", "1")
        replica.follow(encoded("SET", "k", "1"))
        yield primary, replica, target


def held(it, *words):
    """A client whose command waits."""
    client = it.connect(PATIENCE)
    it.send(client, *words)
    return client


def is_waiting(it):
    return int(fields(it.db, "clients")["blocked_clients"])


def what_is_wrong_is_refused_in_the_words_of_valkey():
    with server() as primary:
        assert primary.db.command("FAILOVER") == Error(b"ERR FAILOVER requires connected replicas.")
        with replica_of(primary) as replica:
            caught_up(primary, replica)
            for words, answer in ANSWERS:
                words = words.replace("PORT", str(replica.port)).split()
                assert primary.db.command("FAILOVER", *words) == Error(answer.encode()), words
            assert replica.db.command("FAILOVER") == Error(b"ERR FAILOVER is not valid when server is a replica.")
            assert replica.db.command("FAILOVER", "TIMEOUT", "0") == Error(b"ERR FAILOVER timeout must be greater than 0")
            assert replica.db.command("PSYNC", "x", "1", "FAILOVER") == Error(b"ERR PSYNC FAILOVER replid must match my replid.")
            assert primary.db.command("PSYNC", "x", "1", "FAILOVER") == Error(b"ERR PSYNC FAILOVER can't be sent to a master.")
            primary.db.command("MULTI")
            primary.db.command("FAILOVER", "ABORT")
            assert primary.db.command("EXEC") == [Error(b"ERR No failover in progress.")]
            assert phase(primary) == "no-failover" and paused(primary) == ("none", "none")


def writes_wait_for_the_end_and_reads_and_a_pause_of_clients_do_not():
    with with_played_replica() as (primary, replica, target):
        blocked = held(primary, "BLPOP", "list", 0)
        primary.until(lambda: is_waiting(primary) == 1)
        assert primary.db.command("FAILOVER", "TO", "127.0.0.1", target.port) == b"OK"
        assert (phase(primary), paused(primary)) == ("waiting-for-sync", ("failover_in_progress", "write"))
        assert primary.db.command("FAILOVER") == Error(b"ERR FAILOVER already in progress.")
        assert primary.db.command("REPLICAOF", "NO", "ONE") == Error(b"ERR REPLICAOF not allowed while failing over.")
        assert primary.connect().command("PSYNC", "?", "-1") == Error(b"NOMASTERLINK Can't SYNC while failing over")
        offset = link(primary)["master_repl_offset"]
        waiting = [held(primary, *words) for words in (("SET", "k", "2"), ("PUBLISH", "news", "x"), ("BLPOP", "other", "0"), ("EVAL", "return redis.call('INCR', 'n')", "0"))]
        primary.until(lambda: is_waiting(primary) == 5)
        assert primary.db.command("CLIENT", "PAUSE", "100000", "WRITE") == b"OK" and primary.db.command("CLIENT", "UNPAUSE") == b"OK"
        assert primary.db.command("GET", "k") == b"1" and paused(primary) == ("failover_in_progress", "write"), "each ends its own"
        primary.until(lambda: is_waiting(primary) == 5)
        assert primary.db.command("WAIT", 1, 10) == 0 and link(primary)["master_repl_offset"] == offset, "nothing asks the replica"
        assert primary.db.command("FAILOVER", "ABORT") == b"OK"
        assert [client.read() for client in waiting[:2]] == [b"OK", 0] and waiting[3].read() == 1
        assert primary.db.command("RPUSH", "list", "x") == 1 and blocked.read() == [b"list", b"x"], "who waits waits on"
        assert primary.db.command("FAILOVER", "TIMEOUT", "50") == b"OK"
        assert held(primary, "SET", "k", "3").read() == b"OK"
        assert phase(primary) == "no-failover" and paused(primary) == ("none", "none") and link(primary)["role"] == "master"
        primary.until(lambda: "Replica never caught up before timeout" in primary.output.read_text())


def a_target_that_refuses_leaves_the_primary_what_it_was():
    for answer in (b"-ERR no\r\n", b"-NOMASTERLINK Can't SYNC while not connected with my master\r\n", b"+WHAT\r\n"):
        with with_played_replica() as (primary, replica, target):
            blocked = held(primary, "BLPOP", "list", 0)
            primary.until(lambda: is_waiting(primary) == 1)
            identity = link(primary)["master_replid"]
            assert primary.db.command("FAILOVER") == b"OK"
            client = held(primary, "SET", "k", "2")
            primary.until(lambda: is_waiting(primary) == 2)
            replica.acknowledge()
            offset = replica.offset + len(replica.stream)
            assert target.accept() == [b"PSYNC", identity.encode(), b"%d" % (offset + 1), b"FAILOVER"]
            assert (phase(primary), link(primary)["role"]) == ("failover-in-progress", "slave")
            late = primary.connect(PATIENCE)
            assert late.command("SET", "k", "3") == READONLY
            target.send(answer)
            said = client.read()
            assert said == b"OK", (answer, said)
            assert (phase(primary), link(primary)["role"], link(primary)["master_replid2"]) == ("no-failover", "master", identity)
            assert primary.db.command("RPUSH", "list", "x") == 1 and blocked.read() == [b"list", b"x"]
            back = Replica(primary, *VALKEY, psync=(identity.encode(), offset + 1))
            assert back.line().startswith(b"+CONTINUE ")
            back.follow(encoded("SET", "k", "2"))


def writes_that_waited_are_done_where_the_server_stays_the_primary():
    """Whether the target has refused or somebody has ended it: nobody is told of the role that it had meanwhile."""
    for ends in ("refusal", "ABORT") * 3:
        with with_played_replica("--threads", "4") as (primary, replica, target):
            assert primary.db.command("FAILOVER") == b"OK"
            clients = [held(primary, "INCR", "n") for _ in range(100)]
            primary.until(lambda: is_waiting(primary) == 100)
            replica.acknowledge()
            assert target.accept()[0] == b"PSYNC"
            if ends == "refusal":
                target.send(b"-ERR no\r\n")
            else:
                assert primary.db.command("FAILOVER", "ABORT") == b"OK"
            assert sorted(client.read() for client in clients) == list(range(1, 101)), ends


def a_target_that_cannot_be_reached_is_tried_until_somebody_ends_that():
    with with_played_replica() as (primary, replica, target):
        assert primary.db.command("FAILOVER", "TO", "127.0.0.1", target.port, "TIMEOUT", "100000") == b"OK"
        replica.acknowledge()
        for _ in range(2):
            assert target.accept()[3] == b"FAILOVER"
            target.socket.close()
        client = held(primary, "CLIENT", "CAPA", "redirect")
        assert client.read() == b"OK"
        primary.send(client, "GET", "k")
        primary.until(lambda: is_waiting(primary) == 1)
        primary.db.command("MULTI")
        assert primary.db.command("FAILOVER", "ABORT") == b"QUEUED" and primary.db.command("SET", "k", "2") == READONLY
        assert primary.db.command("DISCARD") == b"OK"
        primary.db.command("MULTI")
        assert primary.db.command("FAILOVER", "ABORT") == b"QUEUED"
        assert primary.db.command("EXEC") == [b"OK"]
        assert client.read() == b"1", "it was neither sent to the other server nor away"
        assert link(primary)["role"] == "master" and primary.db.command("SET", "k", "2") == b"OK"


def who_waits_for_the_end_finds_no_role_that_is_over_whoever_ends_it():
    """Many times and with many clients, as what is between an end and the new role is short."""
    for words in (("FAILOVER", "ABORT"), ("MULTI",)) * 10:
        with with_played_replica() as (primary, replica, target):
            readers = [held(primary, "CLIENT", "CAPA", "redirect") for _ in range(20)]
            assert [client.read() for client in readers] == [b"OK"] * 20
            writers = [primary.connect(PATIENCE) for _ in range(20)]
            assert primary.db.command("FAILOVER", "TO", "127.0.0.1", target.port) == b"OK"
            for client in writers:
                primary.send(client, "SET", "k", "1")
            primary.until(lambda: is_waiting(primary) == 20)
            replica.acknowledge()
            assert target.accept()[3] == b"FAILOVER"
            for client in readers:
                primary.send(client, "GET", "k")
            primary.until(lambda: is_waiting(primary) == 40)
            primary.db.command(*words)
            if words == ("MULTI",):
                assert primary.db.command("FAILOVER", "ABORT") == primary.db.command("FAILOVER", "ABORT") == b"QUEUED"
                assert primary.db.command("EXEC") == [b"OK", Error(b"ERR No failover in progress.")]
            answers = [client.read() for client in readers + writers]
            assert answers == [b"1"] * 20 + [b"OK"] * 20, (words, answers)


def a_target_whose_answer_was_lost_is_followed_when_it_says_that_it_is_the_primary():
    with with_played_replica() as (primary, replica, target):
        identity = link(primary)["master_replid"]
        assert primary.db.command("FAILOVER", "TO", "127.0.0.1", target.port) == b"OK"
        client = held(primary, "SET", "k", "2")
        primary.until(lambda: is_waiting(primary) == 1)
        replica.acknowledge()
        assert target.accept()[3] == b"FAILOVER"
        target.socket.close()
        asked = target.accept()
        assert asked[3] == b"FAILOVER"
        target.send(b"-ERR PSYNC FAILOVER can't be sent to a master.\r\n")
        assert client.read() == READONLY
        assert target.accept() == asked[:3], "now as any replica"
        assert (phase(primary), link(primary)["role"], link(primary)["master_replid"]) == ("no-failover", "slave", identity)


def who_is_told_to_does_so_without_the_target_when_the_time_is_over():
    with with_played_replica() as (primary, replica, target):
        primary.db.command("SET", "k", "2")
        assert primary.db.command("FAILOVER", "TO", "127.0.0.1", target.port, "TIMEOUT", "50", "FORCE") == b"OK"
        asked = target.accept()
        assert asked[2] == b"%d" % (int(link(primary)["master_repl_offset"]) + 1)
        assert "time out exceeded, failing over. It has not acknowledged" in primary.output.read_text()
        target.send(b"+CONTINUE " + b"e" * 40 + b"\r\n" + encoded("SELECT", "0") + encoded("SET", "k", "3"))
        primary.until(lambda: primary.db.command("GET", "k") == b"3")
        assert (phase(primary), link(primary)["role"], link(primary)["master_replid"]) == ("no-failover", "slave", "e" * 40)


def a_replica_that_has_lost_its_link_comes_back_to_a_primary_that_waits_for_it():
    with with_played_replica() as (primary, replica, target):
        identity, told = link(primary)["master_replid"].encode(), (("listening-port", str(target.port)), *VALKEY[1:])
        offset = replica.offset + len(replica.stream)
        assert primary.db.command("FAILOVER") == b"OK"
        replica.close()
        primary.until(lambda: "slave0" not in link(primary))
        beyond = Replica(primary, *told, psync=(identity, offset + 2))
        assert beyond.line() == b"-NOMASTERLINK Can't SYNC while failing over" and beyond.is_closed(), "no snapshot is made meanwhile"
        assert Replica(primary, *told, psync=(b"f" * 40, offset + 1)).line() == b"-NOMASTERLINK Can't SYNC while failing over"
        back = Replica(primary, *told, psync=(identity, offset + 1))
        assert back.line().startswith(b"+CONTINUE ") and phase(primary) == "waiting-for-sync"
        back.acknowledge(offset)
        assert target.accept()[2:] == [b"%d" % (offset + 1), b"FAILOVER"]


@contextlib.contextmanager
def with_played_primary(*settings):
    """A replica of a primary that is played, and the offset up to which it has all."""
    with Primary() as primary, replica_of(primary, "--appendonly", "yes", *settings) as replica:
        primary.accept()
        primary.sync(offset=100)
        stream = encoded("SELECT", "0") + encoded("SET", "k", "1")
        primary.send(stream)
        primary.acknowledged(100 + len(stream))
        yield primary, replica, 100 + len(stream)


def hand_over(replica, identity, offset):
    """Another connection of the primary of a server, which asks it to be the primary. What is at that offset is on its way."""
    return Replica(replica, *VALKEY, psync=(identity, offset + 1, "FAILOVER"))


def what_is_on_its_way_from_who_hands_over_is_waited_for():
    late = encoded("SET", "late", "1")
    with with_played_primary() as (primary, replica, offset):
        asked = hand_over(replica, ID, offset + len(late))
        assert asked.is_silent(0.1) and link(replica)["role"] == "slave"
        primary.send(late)
        assert asked.line().startswith(b"+CONTINUE ")
        assert link(replica)["role"] == "master" and replica.db.command("GET", "late") == b"1"
        assert replica.db.command("SET", "k", "2") == b"OK"
        asked.follow(encoded("SET", "k", "2"))
    with with_played_primary() as (primary, replica, offset):
        primary.send(late[:-3])
        asked = hand_over(replica, ID, offset + len(late))
        assert asked.is_silent(0.1)
        primary.socket.close()
        assert asked.line().startswith(b"+FULLRESYNC "), "it has bytes that nobody will send any more"
        assert link(replica)["role"] == "master" and is_absent(replica.db.command("GET", "late"))
    with with_played_primary() as (primary, replica, offset):
        asked, other = hand_over(replica, ID, offset + len(late)), hand_over(replica, ID, offset + 1)
        assert asked.is_silent(0.1) and link(replica)["connected_slaves"] == "2"
        other.close()
        replica.until(lambda: link(replica)["connected_slaves"] == "1")
        assert asked.line().startswith(b"+FULLRESYNC "), "not for long"
        assert link(replica)["role"] == "master"
    with with_played_primary() as (primary, replica, offset):
        asked = hand_over(replica, ID, offset + len(late))
        assert asked.is_silent(0.1) and replica.db.command("REPLICAOF", "NO", "ONE") == b"OK"
        assert asked.is_closed() and link(replica)["role"] == "master"


def a_target_that_was_promoted_and_follows_again_is_promoted_again_with_what_it_has_taken():
    with with_played_primary() as (primary, replica, offset):
        answer = hand_over(replica, ID, offset).line()
        assert answer.startswith(b"+CONTINUE "), (answer, replica.output.read_text())
        assert replica.db.command("SET", "taken", "1") == b"OK"
        # As a server does that is started with the settings that it had before.
        assert replica.db.command("REPLICAOF", "127.0.0.1", primary.port) == b"OK"
        for identity, at in ((ID, offset + 1), ("f" * 40, offset), (ID, -1)):
            assert hand_over(replica, identity, at).line() == b"-ERR PSYNC FAILOVER replid must match my replid.", (identity, at)
        asked = hand_over(replica, ID, offset)
        assert asked.line() == b"+CONTINUE %s" % link(replica)["master_replid"].encode()
        asked.follow(encoded("SET", "taken", "1"))
        assert link(replica)["role"] == "master"


def who_waits_for_a_key_is_told_when_the_roles_have_changed():
    with server() as primary, replica_of(primary) as replica:
        caught_up(primary, replica)
        blocked, redirected = held(primary, "BLPOP", "list", 0), primary.connect(PATIENCE)
        assert redirected.command("CLIENT", "CAPA", "redirect") == b"OK"
        primary.until(lambda: is_waiting(primary) == 1)
        assert primary.db.command("FAILOVER", "TO", "127.0.0.1", replica.port) == b"OK"
        assert blocked.read().startswith(b"UNBLOCKED ")
        assert redirected.command("GET", "k") == Error(b"REDIRECT 127.0.0.1:%d" % replica.port)
        assert replica.db.command("SET", "k", "1") == b"OK"
        caught_up(replica, primary)
        assert primary.db.command("GET", "k") == b"1" and primary.db.command("SET", "k", "2") == READONLY
        syncs = fields(replica.db, "stats")
        assert (syncs["sync_full"], syncs["sync_partial_ok"]) == ("0", "1"), syncs


def a_replica_that_says_it_has_more_than_it_was_sent_counts_as_having_that():
    with with_played_replica() as (primary, replica, target):
        assert primary.db.command("FAILOVER", "TO", "127.0.0.1", target.port) == b"OK"
        replica.acknowledge(1 << 60)
        asked = target.accept()
        assert asked[2:] == [b"%d" % (int(link(primary)["master_repl_offset"]) + 1), b"FAILOVER"]


def a_client_is_no_target():
    with server() as primary, replica_of(primary) as replica:
        caught_up(primary, replica)
        client = primary.connect()
        assert client.command("REPLCONF", "listening-port", primary.port + 1) == b"OK", "it says so, and follows nothing"
        for port in (client.socket.getsockname()[1], primary.port, primary.port + 1):
            assert primary.db.command("FAILOVER", "TO", "127.0.0.1", port) == Error(b"ERR FAILOVER target HOST and PORT is not a replica.")
        assert (phase(primary), link(primary)["role"]) == ("no-failover", "master")


def hello_messages_of_a_megabyte_reach_who_listens_and_change_no_role():
    with server() as primary, replica_of(primary) as replica:
        caught_up(primary, replica)
        listeners = [it.connect(PATIENCE) for it in (primary, replica)]
        for listener in listeners:
            assert listener.command("SUBSCRIBE", "__sentinel__:hello")[0] == b"subscribe"
        for turn in range(20):
            hello = b"127.0.0.1,26379," + bytes([65 + turn]) * (1 << 20)
            for it, heard in ((primary, listeners), (replica, listeners[1:])):
                assert it.db.command("PUBLISH", "__sentinel__:hello", hello) == 1
                assert [listener.read()[2] == hello for listener in heard] == [True] * len(heard)
        assert (link(primary)["role"], link(replica)["role"]) == ("master", "slave")
        caught_up(primary, replica)


def a_thousand_attempts_and_ends_leave_a_primary_as_it_was():
    with with_played_replica() as (primary, replica, target):
        identity, offset = link(primary)["master_replid"], link(primary)["master_repl_offset"]
        for _ in range(1000):
            assert primary.db.command("FAILOVER", "TO", "127.0.0.1", target.port) == b"OK"
            assert primary.db.command("FAILOVER", "ABORT") == b"OK"
        assert (link(primary)["master_replid"], link(primary)["master_repl_offset"]) == (identity, offset)
        assert paused(primary) == ("none", "none") and primary.db.command("SET", "k", "2") == b"OK"


def who_follows_itself_or_those_who_follow_it_can_be_told_to_be_the_primary():
    with server() as one, server() as other:
        one.db.command("SET", "k", "1")
        for _ in range(3):
            assert one.db.command("REPLICAOF", "127.0.0.1", one.port) == b"OK"
            assert one.db.command("GET", "k") == b"1" and link(one)["master_link_status"] == "down"
            assert other.db.command("REPLICAOF", "127.0.0.1", one.port) == b"OK"
            assert one.db.command("REPLICAOF", "127.0.0.1", other.port) == b"OK"
            assert one.db.command("GET", "k") == b"1"
            assert one.db.command("REPLICAOF", "no such host", "1") == b"OK"
            assert one.db.command("REPLICAOF", "NO", "ONE") == b"OK"
            caught_up(one, other)
            assert other.db.command("GET", "k") == b"1"
            assert other.db.command("REPLICAOF", "NO", "ONE") == b"OK"


def servers_that_know_each_other_by_addresses_of_version_six_change_roles():
    with contextlib.closing(socket.socket(socket.AF_INET6)) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return "no such addresses"
    with server() as primary, server("--replicaof", "::1 %d" % primary.port) as replica:
        caught_up(primary, replica)
        assert link(primary)["slave0"].startswith("ip=::1,port=%d," % replica.port)
        assert primary.db.command("FAILOVER", "TO", "::1", replica.port) == b"OK"
        primary.until(lambda: phase(primary) == "no-failover")
        assert (link(primary)["role"], link(primary)["master_host"]) == ("slave", "::1")
        caught_up(replica, primary)


class Writers:
    """Clients that append numbers to lists of their own, at whichever server takes them. Nothing that is acknowledged may be missing."""

    def __init__(self, ports, count):
        self.ports, self.is_over, self.errors, self.longest = ports, threading.Event(), set(), 0.0
        self.acknowledged = [[] for _ in range(count)]
        self.threads = [threading.Thread(target=self.write, args=(at,)) for at in range(count)]
        for thread in self.threads:
            thread.start()

    def write(self, at):
        numbers, last = itertools.count(), time.monotonic()
        for port in itertools.cycle(self.ports):
            if self.is_over.is_set():
                return
            with contextlib.suppress(OSError, Closed):
                db = Connection("127.0.0.1:%d" % port, PATIENCE)
                while not self.is_over.is_set():
                    number = next(numbers)
                    reply = db.command("RPUSH", "list%d" % at, number)
                    if isinstance(reply, Error):
                        self.errors.add(bytes(reply).split(b" ")[0])
                        break
                    self.acknowledged[at].append(b"%d" % number)
                    now = time.monotonic()
                    self.longest, last = max(self.longest, now - last), now

    def have_written(self, more):
        """A condition that holds once each has written so many more."""
        before = [len(acknowledged) for acknowledged in self.acknowledged]
        return lambda: all(len(now) >= then + more for now, then in zip(self.acknowledged, before))

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def check(self, db):
        for at, acknowledged in enumerate(self.acknowledged):
            assert len(acknowledged) > 20, "it has written"
            assert db.command("LRANGE", "list%d" % at, 0, -1) == acknowledged


def is_online(primary, replica):
    lines = [line for name, line in link(primary).items() if name.startswith("slave")]
    return any("port=%d,state=online," % replica.port in line for line in lines)


def nothing_that_was_acknowledged_is_lost_in_failovers_to_and_fro():
    turns = int(os.environ.get("TURNS", "20"))
    with server("--appendonly", "yes") as one, replica_of(one) as other, replica_of(other) as third:
        caught_up(one, other, third)
        writers, began = Writers([one.port, other.port], 4), time.monotonic()
        try:
            primary, replica = one, other
            for turn in range(turns):
                primary.until(writers.have_written(20))
                # The third knows each id, or it would fall behind by more than the eight that are kept.
                primary.until(lambda: is_online(primary, replica) and link(third)["master_link_status"] == "up" and is_online(other, third))
                is_alone = link(primary)["connected_slaves"] == "1"
                words = () if is_alone else ("TO", "127.0.0.1", replica.port)
                assert primary.db.command("FAILOVER", *words) == b"OK"
                primary.until(lambda: phase(primary) == "no-failover")
                assert link(primary)["role"] == "slave" and link(replica)["role"] == "master"
                primary, replica = replica, primary
        finally:
            writers.end()
        rate = sum(map(len, writers.acknowledged)) / (time.monotonic() - began)
        caught_up(primary, replica, third)
        writers.check(primary.db)
        assert digest(primary.db) == digest(replica.db) == digest(third.db)
        assert writers.errors <= {b"READONLY", b"UNBLOCKED"}, writers.errors
        full = [int(fields(it.db, "stats")["sync_full"]) for it in (one, other)]
        assert full == [1, 1], "the first ones alone: %s" % full
        return "longest time without a write in %d failovers: %d ms, at %d writes per second" % (turns, writers.longest * 1000, rate)


def what_a_sentinel_sends_changes_roles():
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "varve.conf")
        with open(config, "w") as file:
            file.write("save \"\"\n")
        with server() as primary, replica_of(primary) as replica:
            caught_up(primary, replica)
            primary.db.command("CLIENT", "PAUSE", "30000", "WRITE")
            waiting = held(primary, "SET", "k", "0")
            primary.until(lambda: is_waiting(primary) == 1)
            for words in (("MULTI",), ("CLIENT", "PAUSE", "30000", "WRITE"), ("FAILOVER", "TO", "127.0.0.1", replica.port, "TIMEOUT", "30000")):
                primary.db.command(*words)
            assert primary.db.command("EXEC") == [b"OK", b"OK"]
            primary.until(lambda: phase(primary) == "no-failover" and link(replica)["role"] == "master")
            primary.until(lambda: is_waiting(primary) == 1)  # the pause of the sentinel goes on, and until it ends nobody is told that the role is another
            for it in (primary, replica):
                other = it.connect(PATIENCE)
                for words in (("MULTI",), ("CLIENT", "KILL", "TYPE", "normal"), ("CLIENT", "KILL", "TYPE", "pubsub"), ("CLIENT", "UNPAUSE")):
                    other.command(*words)
                assert other.command("EXEC")[1:] == [0, b"OK"]
                it.db = it.connect(PATIENCE)
            with contextlib.suppress(Closed):
                raise AssertionError(waiting.read())
            waiting = primary.connect(PATIENCE)
            primary.db.command("CLIENT", "PAUSE", "100", "WRITE")
            assert waiting.command("SET", "k", "0") == READONLY
            assert replica.db.command("SET", "k", "1") == b"OK"
            caught_up(replica, primary)
            replica.db.command("FAILOVER", "TIMEOUT", "100000")
            for words in (("MULTI",), ("FAILOVER", "ABORT"), ("SLAVEOF", "NO", "ONE")):
                replica.db.command(*words)
            aborted = replica.db.command("EXEC")
            assert aborted[1:] == [b"OK"] and aborted[0] in (b"OK", Error(b"ERR No failover in progress.")), aborted


def peers_fail_over_to_us_and_back():
    if not are_there():
        return "no peers"
    for program in ("valkey-server", "redis-server"):
        with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp") as place:
            give_away(place)
            with started(program, place) as peer:
                port = int(peer.command("CONFIG", "GET", "port")[1])
                facts = lambda: fields(peer, "replication")
                write_at_random(peer, random.Random(5), 500)
                with server("--replicaof", "127.0.0.1 %d" % port) as ours:
                    ours.until(lambda: link(ours)["master_link_status"] == "up")
                    ours.until(lambda: "state=online" in facts().get("slave0", ""))
                    writers = Writers([port, ours.port], 2)
                    try:
                        for _ in range(2):
                            ours.until(writers.have_written(10))
                            assert peer.command("FAILOVER") == b"OK"
                            ours.until(lambda: facts()["master_failover_state"] == "no-failover")
                            assert link(ours)["role"] == "master" and facts()["role"] == "slave", program
                            ours.until(lambda: "state=online" in link(ours).get("slave0", ""))
                            ours.until(writers.have_written(10))
                            assert ours.db.command("FAILOVER", "TO", "127.0.0.1", port) == b"OK"
                            ours.until(lambda: phase(ours) == "no-failover")
                            assert link(ours)["role"] == "slave" and facts()["role"] == "master", program
                            ours.until(lambda: "state=online" in facts().get("slave0", ""))
                    finally:
                        writers.end()
                    ours.until(lambda: facts()["master_repl_offset"] == link(ours)["slave_repl_offset"])
                    writers.check(peer)
                    assert peer.command("DEBUG", "DIGEST") == digest(ours.db), program
                    assert writers.errors <= {b"READONLY", b"UNBLOCKED"}, writers.errors


if __name__ == "__main__":
    sys.exit(run(globals()))
