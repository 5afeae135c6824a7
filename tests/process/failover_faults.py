#!/usr/bin/env python3
"""FAILOVER between two servers named by VARVE_SERVER, of which a seed draws what goes wrong, and at which byte or moment.

    VARVE_SERVER=target/release/varve-server tests/process/failover_faults.py

SEEDS  how many (20)
SEED   the first (1)
"""

import contextlib
import dataclasses
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time

from following import link
from ports import free_port
from replicas import AT_ONCE, DEBUG, digest
from resp import Closed, Connection, Error
from run import PATIENCE, Server, run

FACTS = b"master_replid:"
# Where a fault strikes: so long behind FAILOVER, or within the bytes that pass between the two at a step of it.
STEPS = ("a moment", "the acknowledgement", "the request", "the answer")
FAULTS = ("cut", "kill old", "kill new", "kill both", "stop old", "stop new", "nothing")
# What is asked for. Whoever says the last two takes it upon himself that something is lost.
WORDS = ((), ("TO",), ("TIMEOUT", "300"), ("TO", "TIMEOUT", "300"), ("ABORT",), ("TO", "TIMEOUT", "5", "FORCE"))
WEIGHTS = (3, 3, 2, 2, 1, 1)


class Gate:
    """A port before the one of a node. It hands bytes on in both directions, and shows them to the fault first."""

    def __init__(self, node_port):
        self.node_port, self.listener = node_port, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock, self.sockets, self.is_closed, self.fault = threading.Lock(), set(), False, None
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            if self.is_closed:
                client.close()
                continue
            try:
                node = socket.create_connection(("127.0.0.1", self.node_port))
            except OSError:
                client.close()
                continue
            for it in (client, node):
                it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.sockets |= {client, node}
            says = {"FAILOVER": False}
            for ends in ((client, node), (node, client)):
                threading.Thread(target=self.hand_on, args=(*ends, says, ends[0] is client), daemon=True).start()

    def hand_on(self, source, sink, says, is_to_node):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                fault, step = self.fault, None
                if is_to_node and b"FAILOVER" in data:
                    says["FAILOVER"], step = True, "the request"
                elif is_to_node and b"\r\nACK\r\n" in data:
                    step = "the acknowledgement"
                elif not is_to_node and says["FAILOVER"] and data[:1] in b"+-":
                    step = "the answer"
                if step and fault and fault.is_at(step):
                    first = fault.chance.randrange(len(data) + 1)
                    sink.sendall(data[:first])
                    fault.strike()
                    data = data[first:]
                sink.sendall(data)
        self.let_go({source, sink})

    def let_go(self, sockets):
        with self.lock:
            self.sockets -= sockets
        for it in sockets:
            with contextlib.suppress(OSError):
                it.shutdown(socket.SHUT_RDWR)
            it.close()

    def close(self):
        self.is_closed = True
        self.let_go(set(self.sockets))

    def open(self):
        self.is_closed = False


class Node:
    """A server whose files outlast it, known to the other by its gate."""

    def __init__(self, stack):
        self.stack, self.port = stack, free_port()
        self.gate, self.folder = Gate(self.port), stack.enter_context(tempfile.TemporaryDirectory(dir=memory()))
        self.is_alive = False

    def begin(self, *settings):
        known_as = ("--replica-announce-ip", "127.0.0.1", "--replica-announce-port", self.gate.port)
        files = ("--dir", self.folder, "--appendonly", "yes", "--appendfsync", "always")
        self.it = self.stack.enter_context(Server(*AT_ONCE, *DEBUG, *files, *known_as, *settings, port=self.port))
        self.it.db = self.it.connect(PATIENCE)
        self.is_alive = True

    def follow(self, other):
        self.begin("--replicaof", "127.0.0.1 %d" % other.gate.port)

    def kill(self):
        self.is_alive = False
        self.it.process.kill()
        self.it.process.wait()

    def signal(self, which):
        if self.is_alive:
            self.it.process.send_signal(which)

    def facts(self):
        return link(self.it)


def memory():
    """A folder in memory, where files that are forced to disk after each write cost little."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Fault:
    """What goes wrong once, and where."""

    def __init__(self, chance, old, new):
        self.chance, self.old, self.new = chance, old, new
        self.what, self.step = chance.choice(FAULTS), chance.choice(STEPS)
        self.after, self.long = chance.random() * 0.02, chance.choice((0.0, 0.05, 0.4, 1.5))
        self.lock, self.is_due, self.has_struck = threading.Lock(), False, threading.Event()

    def __str__(self):
        return "%s at %s for %d ms" % (self.what, self.step, self.long * 1000)

    def is_at(self, step):
        """True once, when the step is reached."""
        with self.lock:
            strikes = self.is_due and self.step == step
            self.is_due = self.is_due and not strikes
        return strikes

    def strike(self):
        old, new = self.old, self.new
        if self.what == "cut":
            old.gate.close()
            new.gate.close()
        for node, name in ((old, "old"), (new, "new")):
            if self.what in ("kill " + name, "kill both"):
                node.kill()
            if self.what == "stop " + name:
                node.signal(signal.SIGSTOP)
        self.has_struck.set()

    def heal(self):
        """Ends what goes wrong. Who is dead is started again, and told to follow the other."""
        for node, other in ((self.old, self.new), (self.new, self.old)):
            node.gate.open()
            node.signal(signal.SIGCONT)
            if not node.is_alive:
                node.follow(other)


@dataclasses.dataclass
class Written:
    """What one client has been told of its writes."""

    sent: list
    acknowledged: list
    errors: set
    most_redirections: int = 0


class Writer:
    """A client that appends numbers to a list, and hears with each under which id that was done."""

    def __init__(self, nodes, key, is_redirected):
        self.nodes, self.key, self.is_redirected = nodes, key, is_redirected
        self.ids, self.written, self.is_over = [], Written([], [], set()), threading.Event()
        self.ports = {node.gate.port: node for node in nodes}
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        node, redirections = self.nodes[0], 0
        while not self.is_over.is_set():
            reply = None
            with contextlib.suppress(OSError, Closed):
                db = Connection("127.0.0.1:%d" % node.port, PATIENCE)
                if self.is_redirected:
                    db.command("CLIENT", "CAPA", "redirect")
                while not self.is_over.is_set():
                    reply = self.append(db, node)
                    if isinstance(reply, Error):
                        break
                    redirections = 0
            if isinstance(reply, Error):
                self.written.errors.add(bytes(reply).split(b" ")[0].decode())
            if isinstance(reply, Error) and reply.startswith(b"REDIRECT "):
                redirections += 1
                self.written.most_redirections = max(redirections, self.written.most_redirections)
                node = self.ports[int(reply.rsplit(b":", 1)[1])]
            else:
                time.sleep(0.001)
                node = self.nodes[1 - self.nodes.index(node)]

    def append(self, db, node):
        """Appends a number. Returns an error, or what the server says of itself."""
        number = len(self.written.sent)
        for words in (("MULTI",), ("RPUSH", self.key, number), ("INFO", "replication")):
            reply = db.command(*words)
            if isinstance(reply, Error):
                return reply
        self.written.sent.append(number)
        reply = db.command("EXEC")
        if isinstance(reply, Error):
            return reply
        assert isinstance(reply[0], int), reply
        facts = bytes(reply[1])
        at = facts.index(FACTS) + len(FACTS)
        self.written.acknowledged.append(number)
        self.ids.append((facts[at : at + 40], node))
        return reply

    def end(self):
        self.is_over.set()
        self.thread.join()


def settle(nodes, may_be_two):
    """Waits until one is the primary and the other follows it. Where neither is, and neither will be, somebody decides for the one that has more."""
    deadline, decided = time.monotonic() + PATIENCE, False
    while True:
        assert time.monotonic() < deadline, "no end: %s" % [node.facts() for node in nodes]
        facts = [node.facts() for node in nodes]
        roles = [it["role"] for it in facts]
        if roles == ["master", "master"]:
            facts = [node.facts() for node in nodes]
            is_so = [it["role"] for it in facts] == roles
            assert not is_so or may_be_two, "two primaries: %s" % facts
            if is_so:
                nodes[1].it.db.command("REPLICAOF", "127.0.0.1", nodes[0].gate.port)
        elif roles == ["slave", "slave"] and all(it["master_failover_state"] == "no-failover" for it in facts):
            offsets = [int(it["slave_repl_offset"]) for it in facts]
            nodes[offsets.index(max(offsets))].it.db.command("REPLICAOF", "NO", "ONE")
            decided = True
        elif "slave" in roles and "master" in roles:
            primary, replica = roles.index("master"), roles.index("slave")
            offset = facts[primary]["master_repl_offset"]
            if facts[replica]["master_link_status"] == "up" and facts[replica]["slave_repl_offset"] == offset and "state=online" in facts[primary].get("slave0", ""):
                return nodes[primary], nodes[replica], decided
        time.sleep(0.003)


def ask(node, other, words):
    """FAILOVER, in words of which TO stands for the other."""
    if words == ("ABORT",):
        words = ()
    said = [part for word in words for part in (("TO", "127.0.0.1", other.gate.port) if word == "TO" else (word,))]
    try:
        return node.it.connect(PATIENCE).command("FAILOVER", *said)
    except (Closed, OSError):
        return "no answer, as it has died"


def play(nodes, primary, replica, seed):
    """One failover with its fault. Returns who is what then, and what was seen."""
    chance = random.Random(seed)
    fault, words = Fault(chance, primary, replica), chance.choices(WORDS, WEIGHTS)[0]
    is_safe = "FORCE" not in words and words != ("ABORT",)
    for node in nodes:
        node.gate.fault = fault
    writers = [Writer([primary, replica], "seed%d:%d" % (seed, at), at == 1) for at in range(2)]
    try:
        primary.it.until(lambda: all(len(writer.written.acknowledged) > 5 for writer in writers))
        fault.is_due = True
        reply = ask(primary, replica, words)
        if fault.step == "a moment":
            time.sleep(fault.after)
            if fault.is_at("a moment"):
                fault.strike()
        # Where the step is not reached, the failover ends without a fault.
        fault.has_struck.wait(0.4)
        if fault.is_due:
            fault.is_at(fault.step)
        else:
            fault.has_struck.wait()
        if words == ("ABORT",) and primary.is_alive and fault.what != "stop old":
            with contextlib.suppress(Closed, OSError):
                primary.it.connect(PATIENCE).command("FAILOVER", "ABORT")
        time.sleep(fault.long if fault.has_struck.is_set() else 0)
        fault.heal()
        now, other, decided = settle(nodes, may_be_two=not is_safe)
        before = [len(writer.written.acknowledged) for writer in writers]
        now.it.until(lambda: all(len(writer.written.acknowledged) > count for writer, count in zip(writers, before)))
    finally:
        for writer in writers:
            writer.end()
    now, other, _ = settle(nodes, may_be_two=False)
    said = "FAILOVER %s (%s), %s" % (" ".join(words), reply, fault if fault.has_struck.is_set() else "no fault")
    check(writers, now, other, is_safe, "seed %d: %s" % (seed, said))
    most = max(writer.written.most_redirections for writer in writers)
    # Two that were both told to follow the other send clients to and fro until somebody decides.
    assert most <= 2 or decided or not is_safe or "kill" in fault.what, "%s: redirected %d times" % (said, most)
    return now, other, (now is not primary, fault.has_struck.is_set(), decided)


def check(writers, primary, replica, is_safe, said):
    accepted = {}
    for writer in writers:
        for identity, node in writer.ids:
            assert accepted.setdefault(identity, node) is node, said + ": two nodes have written under one id"
        found = [int(it) for it in primary.it.db.command("LRANGE", writer.key, 0, -1)]
        written = writer.written
        assert written.errors <= {"READONLY", "UNBLOCKED", "REDIRECT", "EXECABORT", "MASTERDOWN", "LOADING"}, "%s: %s" % (said, written.errors)
        assert sorted(set(found)) == found and set(found) <= set(written.sent), said + ": something is there twice, or was never sent"
        lost = set(written.acknowledged) - set(found)
        assert not (is_safe and lost), "%s: %d of %d are lost, from %d on" % (said, len(lost), len(written.acknowledged), min(lost))
    assert digest(primary.it.db) == digest(replica.it.db), said


def whatever_goes_wrong_at_a_step_of_a_failover_one_writes_and_nothing_is_lost():
    seeds, first = int(os.environ.get("SEEDS", "20")), int(os.environ.get("SEED", "1"))
    changed = struck = decisions = 0
    with contextlib.ExitStack() as stack:
        nodes = [Node(stack), Node(stack)]
        nodes[0].begin()
        nodes[1].follow(nodes[0])
        primary, replica, _ = settle(nodes, may_be_two=False)
        for seed in range(first, first + seeds):
            try:
                primary, replica, (has_changed, has_struck, decided) = play(nodes, primary, replica, seed)
            except Exception:
                print("seed %d" % seed, *(node.it.output.read_text()[-3000:] for node in nodes), sep="\n---\n")
                raise
            changed, struck, decisions = changed + has_changed, struck + has_struck, decisions + decided
    return "%d failovers with %d faults: %d changed the roles, %d times somebody had to decide; none lost" % (seeds, struck, changed, decisions)


if __name__ == "__main__":
    sys.exit(run(globals()))
