#!/usr/bin/env python3
"""Three servers named by VARVE_SERVER under three sentinels of each peer, where there are peers.

    VARVE_SERVER=target/release/varve-server tests/process/sentinel.py [CASE ...]
"""

import collections
import contextlib
import itertools
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from following import caught_up, link
from peers import PEERS, ROOT, answering, are_there, give_away
from ports import free_port
from replicas import AT_ONCE, DEBUG, digest, fields
from resp import Closed, Connection, Error
from run import PATIENCE, Server, run

KINDS = ("valkey-sentinel", "redis-sentinel")
RULES = "+subscribe +publish +failover +script|kill +ping +info +multi +slaveof +config +client +exec &__sentinel__:hello"


class Node:
    """A server whose settings and data outlast it."""

    def __init__(self, stack, lines=""):
        self.stack, self.port, self.config = stack, free_port(), "appendonly yes\n" + lines
        self.folder = stack.enter_context(tempfile.TemporaryDirectory())
        self.begin()

    def begin(self):
        self.it = self.stack.enter_context(Server(*AT_ONCE, *DEBUG, "--dir", self.folder, config=self.config, port=self.port))
        self.it.db = self.db = self.it.connect(PATIENCE)

    def end(self, how):
        self.it.process.send_signal(how)
        self.it.process.wait()
        self.config = self.it.config.read_text()

    def role(self):
        with contextlib.suppress(OSError, Closed):
            return self.it.connect(PATIENCE).command("ROLE")[0]

    def again(self):
        """A connection in place of one that a sentinel has closed."""
        self.it.db = self.db = self.it.connect(PATIENCE)
        return self.db


class Sentinels:
    def __init__(self, stack, program, primary, *lines, down_after=3000):
        self.all = []  # three seconds: a machine that is busy for one is no failure
        for _ in range(3):
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True))
            port = free_port()
            monitor = "sentinel monitor all 127.0.0.1 %d 2" % primary.port
            times = ["sentinel down-after-milliseconds all %d" % down_after, "sentinel failover-timeout all 10000", "sentinel parallel-syncs all 1"]
            config = pathlib.Path(place, "sentinel.conf")
            config.write_text("\n".join(["port %d" % port, "bind 127.0.0.1", monitor, *times, *lines, ""]))
            give_away(place)
            log = pathlib.Path(place, "log")
            with log.open("wb") as output:
                command = [PEERS, "run", program, "/" + os.path.relpath(config, ROOT)]
                process = subprocess.Popen(command, stdout=output, stderr=output)
            stack.callback(process.wait)
            stack.callback(process.kill)
            self.all.append(answering(process, port, log))
            self.log = log

    def primary(self):
        """The port at which all say that the primary is, if they agree."""
        said = {self.all[at].command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "all")[1] for at in range(3)}
        return int(said.pop()) if len(said) == 1 else None

    def know_all(self, replicas):
        """True once each knows the others and all replicas."""
        for db in self.all:
            reply = db.command("SENTINEL", "MASTER", "all")
            facts = dict(zip(reply[::2], reply[1::2]))
            if (facts[b"num-slaves"], facts[b"num-other-sentinels"]) != (b"%d" % replicas, b"2") or facts[b"flags"] != b"master":
                return False
        return True


@contextlib.contextmanager
def watched(program, **how):
    """Three nodes, the first of which is the primary, and sentinels."""
    with contextlib.ExitStack() as stack:
        nodes = [Node(stack) for _ in range(3)]
        for node in nodes[1:]:
            assert node.db.command("REPLICAOF", "127.0.0.1", nodes[0].port) == b"OK"
            assert node.db.command("CONFIG", "REWRITE") == b"OK"
        caught_up(*(node.it for node in nodes))
        sentinels = Sentinels(stack, program, nodes[0], **how)
        nodes[0].it.until(lambda: sentinels.know_all(2))
        yield nodes, sentinels


class Writer:
    """A client that writes to whichever node is the primary, and knows which numbers so many replicas had acknowledged."""

    def __init__(self, nodes, replicas=1):
        self.ports, self.replicas, self.is_over, self.safe = [node.port for node in nodes], replicas, threading.Event(), []
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        numbers = itertools.count()
        for port in itertools.cycle(self.ports):
            if self.is_over.is_set():
                return
            with contextlib.suppress(OSError, Closed):
                db = Connection("127.0.0.1:%d" % port, 2)
                while not self.is_over.is_set():
                    number = next(numbers)
                    if isinstance(db.command("RPUSH", "list", number), Error):
                        break
                    count = db.command("WAIT", self.replicas, 1000)
                    if isinstance(count, Error):
                        break
                    if count >= self.replicas:
                        self.safe.append(b"%d" % number)
            time.sleep(0.01)

    def end(self):
        self.is_over.set()
        self.thread.join()


@contextlib.contextmanager
def writing(nodes, replicas=1):
    writer = Writer(nodes, replicas)
    try:
        yield writer
    finally:
        writer.end()


def are_one(nodes, primary):
    """True once one is the primary and the others follow it with the same data."""
    for node in nodes:
        try:
            facts = link(node.it)
        except (OSError, Closed):
            node.again()
            return False
        if node is primary and facts["role"] != "master" or node is not primary and (facts["role"], facts.get("master_port"), facts.get("master_link_status")) != ("slave", str(primary.port), "up"):
            return False
    return True


def follows(node, port):
    with contextlib.suppress(OSError, Closed):
        role = node.it.connect(PATIENCE).command("ROLE")
        return role[0] == b"slave" and role[2:4] == [port, b"connected"]


def check(nodes, sentinels, writer):
    """Waits until all follow whom the sentinels name, and looks for what was safe; who that is."""
    at = lambda: next((node for node in nodes if node.port == sentinels.primary()), None)
    nodes[0].it.until(lambda: (primary := at()) is not None and are_one(nodes, primary))
    primary = at()
    writer.end()
    for node in nodes:
        node.again()
    caught_up(primary.it, *(node.it for node in nodes if node is not primary))
    found = set(primary.db.command("LRANGE", "list", 0, -1))
    lost = [number for number in writer.safe if number not in found]
    assert len(writer.safe) > 20 and not lost, "%d of %d are lost, from %s to %s" % (len(lost), len(writer.safe), lost[0], lost[-1])
    assert len({digest(node.db) for node in nodes}) == 1
    return primary


def a_primary_that_dies_is_replaced_and_comes_back_as_a_replica():
    if not are_there():
        return "no peers"
    for program in KINDS:
        with watched(program) as (nodes, sentinels), writing(nodes) as writer:
            nodes[0].it.until(lambda: len(writer.safe) > 50)
            dead = nodes[0]
            dead.end(signal.SIGKILL)
            nodes[1].it.until(lambda: sentinels.primary() not in (None, dead.port))
            before = len(writer.safe)
            nodes[1].it.until(lambda: len(writer.safe) > before + 20)
            dead.begin()
            nodes[1].it.until(lambda: dead.role() == b"slave")
            port = check(nodes, sentinels, writer).port
            dead.it.until(lambda: "replicaof 127.0.0.1 %d" % port in dead.it.config.read_text())


def a_primary_that_stands_still_is_replaced_and_follows():
    if not are_there():
        return "no peers"
    for program in KINDS:
        with watched(program) as (nodes, sentinels), writing(nodes) as writer:
            nodes[0].it.until(lambda: len(writer.safe) > 50)
            still = nodes[0]
            still.it.process.send_signal(signal.SIGSTOP)
            nodes[1].it.until(lambda: sentinels.primary() not in (None, still.port))
            port = sentinels.primary()
            # Or who follows it yet would vouch for what it takes before it is told.
            others = [node for node in nodes[1:] if node.port != port]
            nodes[1].it.until(lambda: all(follows(node, port) for node in others))
            still.it.process.send_signal(signal.SIGCONT)
            nodes[1].it.until(lambda: still.role() == b"slave")
            before = len(writer.safe)
            nodes[1].it.until(lambda: len(writer.safe) > before + 20)
            check(nodes, sentinels, writer)


def roles_change_when_somebody_asks_a_sentinel():
    if not are_there():
        return "no peers"
    for program in KINDS:
        with watched(program) as (nodes, sentinels), writing(nodes, 2) as writer:
            # The primary goes on until it is told, with the replica that was not chosen.
            for words in ((), ("COORDINATED",)):
                if words and program != "valkey-sentinel":
                    continue
                old = sentinels.primary()
                before = len(writer.safe)
                nodes[0].it.until(lambda: len(writer.safe) > before + 50 and sentinels.know_all(2))
                asked = lambda: sentinels.all[0].command("SENTINEL", "FAILOVER", "all", *words)
                nodes[0].it.until(lambda: asked() == b"OK")
                nodes[0].it.until(lambda: sentinels.primary() not in (None, old))
            check(nodes, sentinels, writer)


def a_sentinel_is_a_user_with_few_rights():
    if not are_there():
        return "no peers"
    with contextlib.ExitStack() as stack:
        nodes = [Node(stack, "user watcher on >secret %s\n" % RULES) for _ in range(3)]
        for node in nodes[1:]:
            assert node.db.command("REPLICAOF", "127.0.0.1", nodes[0].port) == b"OK"
        caught_up(*(node.it for node in nodes))
        sentinels = Sentinels(stack, "valkey-sentinel", nodes[0], "sentinel auth-user all watcher", "sentinel auth-pass all secret")
        nodes[0].it.until(lambda: sentinels.know_all(2))
        nodes[0].end(signal.SIGKILL)
        nodes[1].it.until(lambda: sentinels.primary() not in (None, nodes[0].port))
        assert answer(nodes[1], "ACL", "LOG") == []


def answer(node, *words):
    """What a node answers, also while sentinels close connections to it."""
    found = []

    def has_answered():
        with contextlib.suppress(OSError, Closed):
            found.append(node.again().command(*words))
        return bool(found)

    wait_for(has_answered)
    return found[0]


class PeerNode:
    """The same as `Node`, of Valkey, without what the measurement does not need."""

    def __init__(self, stack, program):
        self.stack, self.program, self.port = stack, program, free_port()
        self.begin()

    def begin(self):
        self.place = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True))
        log = pathlib.Path(self.place, "log")
        give_away(self.place)
        command = [PEERS, "run", self.program, "--port", self.port, "--save", "", "--repl-diskless-sync-delay", 0, "--dir", "/" + os.path.relpath(self.place, ROOT)]
        with log.open("wb") as output:
            self.process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output)
        self.stack.callback(self.process.wait)
        self.stack.callback(self.process.kill)
        self.db = answering(self.process, self.port, log)

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait()


def seconds_until_a_write(program, kinds, kills):
    """For each kill of a primary: how long a client that asks a sentinel for the primary could not write."""
    with contextlib.ExitStack() as stack:
        nodes = [Node(stack) if kinds == "varve" else PeerNode(stack, kinds) for _ in range(3)]
        for node in nodes[1:]:
            node.db.command("REPLICAOF", "127.0.0.1", nodes[0].port)
        sentinels = Sentinels(stack, program, nodes[0], down_after=1000)
        found = []
        for _ in range(kills):
            wait_for(lambda: sentinels.know_all(2))
            wait_for(lambda: sum(is_up(node) for node in nodes) == 2)
            primary = next(node for node in nodes if node.port == sentinels.primary())
            primary.end(signal.SIGKILL)
            began = time.monotonic()
            while True:
                with contextlib.suppress(OSError, Closed):
                    port = int(sentinels.all[0].command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "all")[1])
                    if Connection("127.0.0.1:%d" % port, 2).command("SET", "k", "v") == b"OK":
                        break
                time.sleep(0.01)
            found.append(time.monotonic() - began)
            primary.begin()
        return found


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in %d s" % PATIENCE
        time.sleep(0.02)


def is_up(node):
    with contextlib.suppress(OSError, Closed):
        facts = fields(Connection("127.0.0.1:%d" % node.port, 2), "replication")
        return facts.get("master_link_status") == "up"
    return False


def settled(nodes, sentinels):
    """True once all sentinels know all nodes, and two follow the third."""
    return sentinels.know_all(2) and sum(is_up(node) for node in nodes) == 2


def until_replaced(nodes, sentinels, primary):
    """Waits until sentinels have chosen another primary and the third follows that. What takes writes until it is told has no replica then that would
    vouch for them."""
    wait_for(lambda: sentinels.primary() not in (None, primary.port))
    port = sentinels.primary()
    wait_for(lambda: all(follows(node, port) for node in nodes if node.port not in (port, primary.port)))


def whatever_happens_to_nodes_nothing_that_wait_has_counted_is_lost():
    """FAULTS of them, drawn from SEED: deaths, stops, deaths of two and of all at once; between two, all is well again. With ONLY="kill primary"
    a replica alone has to have what was written; where two die at once, the only one that has it may be among them, so both have to have it. Nor does
    it help that one has it if the dead one is back as a primary while its sentinels choose another: that has clients then, and a replica that is told
    to follow the other a moment later, by Valkey's servers too. So it stays dead until the third follows who was chosen."""
    if not are_there():
        return "no peers"
    faults, seed = int(os.environ.get("FAULTS", "1")), int(os.environ.get("SEED", "1"))
    chance, counts, slowest = random.Random(seed), collections.Counter(), 0
    only = os.environ.get("ONLY")
    with watched(KINDS[seed % 2], down_after=1000) as (nodes, sentinels), writing(nodes, 1 if only else 2) as writer:
        for _ in range(faults):
            nodes[0].it.until(lambda: settled(nodes, sentinels))
            before = len(writer.safe)
            nodes[0].it.until(lambda: len(writer.safe) > before + 20)
            primary = next(node for node in nodes if node.port == sentinels.primary())
            replica = chance.choice([node for node in nodes if node is not primary])
            fault = only or chance.choice(["kill primary"] * 4 + ["stop primary", "kill replica", "kill all", "kill two"])
            counts[fault] += 1
            began = time.monotonic()
            victims = {"kill all": nodes, "kill two": [primary, replica], "kill replica": [replica]}.get(fault, [primary])
            if fault == "stop primary":
                primary.it.process.send_signal(signal.SIGSTOP)
                until_replaced(nodes, sentinels, primary)
                primary.it.process.send_signal(signal.SIGCONT)
            else:
                for node in victims:
                    node.end(signal.SIGKILL)
                if only:
                    until_replaced(nodes, sentinels, primary)
                else:
                    time.sleep(chance.random() * 4)
                for node in victims:
                    node.begin()
            nodes[0].it.until(lambda: settled(nodes, sentinels))
            slowest = max(slowest, time.monotonic() - began)
        check(nodes, sentinels, writer)
    told = ", ".join("%d x %s" % (count, fault) for fault, count in sorted(counts.items()))
    return "%s; %d writes that %s had, none lost; all well again within %.0f s" % (told, len(writer.safe), "a replica" if only else "both replicas", slowest)


def a_client_writes_again_after_the_primary_was_killed():
    if not are_there():
        return "no peers"
    kills = int(os.environ.get("KILLS", "1"))
    said = []
    for kinds in ("varve", "valkey-server") if kills > 1 else ("varve",):
        found = sorted(seconds_until_a_write("valkey-sentinel", kinds, kills))
        said.append("%s: median %.2f s, longest %.2f" % (kinds, found[len(found) // 2], found[-1]))
    return "; ".join(said)


if __name__ == "__main__":
    sys.exit(run(globals()))
