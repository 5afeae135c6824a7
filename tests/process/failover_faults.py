#!/usr/bin/env python3
"""FAILOVER between servers named by VARVE_SERVER, of which a seed draws what goes wrong, and at which byte or moment.

    VARVE_SERVER=target/release/varve-server tests/process/failover_faults.py [CASE ...]

SEEDS  how many with two servers; of those with three half as many are played (20)
SEED   the first (1)
"""

import collections
import contextlib
import os
import random
import signal
import sys
import threading
import time

from gate import Gate, Node, Writer  # noqa: F401: other tests take the gate from here
from replicas import digest, fields
from resp import Closed, Error
from run import PATIENCE, run

# Where a fault strikes: so long behind FAILOVER, or within the bytes that pass between the two at a step of it.
STEPS = ("a moment", "the acknowledgement", "the request", "the answer")
FAULTS = ("cut", "kill old", "kill new", "kill both", "stop old", "stop new", "nothing")
# What is asked for. Whoever says the last two takes it upon himself that something is lost.
WORDS = ((), ("TO",), ("TIMEOUT", "300"), ("TO", "TIMEOUT", "300"), ("ABORT",), ("TO", "TIMEOUT", "5", "FORCE"))
WEIGHTS = (3, 3, 2, 2, 1, 1)
# With a second replica there are those steps too in which a node comes back that was behind the old primary.
STEPS_OF_THREE = (*STEPS, "a return", "the word to go on")
# PINGs of a primary are in its stream, too, so more of them disturb more.
OF_THREE = ("--repl-ping-replica-period", "1")
# A client that may be redirected finds the primary by so many words at most: from node to node, and from one whose role is about to change.
MOST_REDIRECTIONS = 3
# What a log says of a replica that does not go on with what it has.
SNAPSHOT = "Starting a snapshot for"
# What clients may be told while roles change.
ERRORS = {"READONLY", "UNBLOCKED", "REDIRECT", "EXECABORT", "MASTERDOWN", "LOADING"}


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


def spelled(words, other):
    """Words of FAILOVER, of which TO stands for the other, and ABORT for what is said later."""
    words = () if words == ("ABORT",) else words
    return [part for word in words for part in (("TO", "127.0.0.1", other.gate.port) if word == "TO" else (word,))]


def ask(node, other, words):
    """FAILOVER, in words of which TO stands for the other."""
    try:
        return node.it.connect(PATIENCE).command("FAILOVER", *spelled(words, other))
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
    check(writers, (now, other), is_safe, "seed %d: %s" % (seed, said))
    most = max(writer.written.most_redirections for writer in writers)
    # Two that were both told to follow the other send clients to and fro until somebody decides.
    assert most <= 2 or decided or not is_safe or "kill" in fault.what, "%s: redirected %d times" % (said, most)
    return now, other, (now is not primary, fault.has_struck.is_set(), decided)


def check(writers, nodes, is_safe, said):
    """Holds what clients were told against what is there. The first of the nodes is the primary."""
    accepted = {}
    for writer in writers:
        for identity, node in writer.ids:
            assert accepted.setdefault(identity, node) is node, said + ": two nodes have written under one id"
        found = [int(it) for it in nodes[0].it.db.command("LRANGE", writer.key, 0, -1)]
        written = writer.written
        assert written.errors <= ERRORS, "%s: %s" % (said, written.errors)
        assert sorted(set(found)) == found and set(found) <= set(written.sent), said + ": something is there twice, or was never sent"
        lost = set(written.acknowledged) - set(found)
        assert not (is_safe and lost), "%s: %d of %d are lost, from %d on" % (said, len(lost), len(written.acknowledged), min(lost))
    assert len({digest(node.it.db) for node in nodes}) == 1, said


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


class Blow:
    """What happens to one of three nodes, and where."""

    def __init__(self, chance, nodes):
        self.node = chance.choice(nodes)
        self.name = ("old", "target", "third")[nodes.index(self.node)]
        self.others = [node for node in nodes if node is not self.node]
        self.what, self.step, self.after = chance.choice(("cut", "kill", "stop")), chance.choice(STEPS_OF_THREE), chance.random() * 0.02

    def __str__(self):
        return "%s %s at %s" % (self.what, self.name, self.step)

    def strike(self):
        if self.what == "cut":
            self.node.cut(self.others)
        elif self.what == "stop":
            self.node.signal(signal.SIGSTOP)
        elif self.node.is_alive:
            self.node.kill()


class Blows:
    """What goes wrong, one behind the other: gates and the test itself tell which step is reached."""

    def __init__(self, chance, nodes):
        self.chance, self.nodes = chance, nodes
        self.all = [Blow(chance, nodes) for _ in range(chance.choice((0, 1, 1, 1, 2, 2)))]
        self.long, self.lock, self.is_due, self.struck = chance.choice((0.0, 0.05, 0.4, 1.5)), threading.Lock(), False, []
        self.events = [threading.Event() for _ in self.all]
        for node in nodes:
            node.gate.fault = self

    def __str__(self):
        return "%s, of which %d struck, for %d ms" % ([str(it) for it in self.all], len(self.struck), self.long * 1000)

    def next(self):
        return self.all[len(self.struck)] if len(self.struck) < len(self.all) else None

    def is_at(self, step):
        """True once, when the step of the next one is reached."""
        with self.lock:
            strikes = self.is_due and self.next().step == step
            self.is_due = self.is_due and not strikes
        return strikes

    def strike(self):
        blow, event = self.next(), self.events[len(self.struck)]
        blow.strike()
        with self.lock:
            self.struck.append(blow)
            self.is_due = self.next() is not None
        event.set()

    def has_killed(self):
        return any(blow.what == "kill" for blow in self.struck)

    def wait(self):
        """Waits until all have struck, or a step is not reached: then the failover goes on without."""
        for blow, event in zip(self.all, self.events):
            if blow.step == "a moment":
                time.sleep(blow.after)
                if self.is_at("a moment"):
                    self.strike()
            if not event.wait(0.4):
                with self.lock:
                    was_due, self.is_due = self.is_due, False
                if was_due:
                    return
                event.wait()

    def heal(self, was_told):
        """Ends what has gone wrong. Who is dead is started again with the address that it was told last, outdated or not."""
        for node in self.nodes:
            node.gate.open()
            node.signal(signal.SIGCONT)
        for node in self.chance.sample(self.nodes, len(self.nodes)):
            if not node.is_alive:
                node.follow(was_told[node], *OF_THREE)


def primaries(facts):
    return [at for at, it in enumerate(facts) if it["role"] == "master"]


def parents(nodes, facts):
    """Which node each one follows."""
    ports = {str(node.gate.port): at for at, node in enumerate(nodes)}
    return [ports[it["master_port"]] if it["role"] == "slave" else None for it in facts]


def leads_to(at, primary, parents):
    """True if who follows node after node comes to the primary."""
    for _ in parents:
        at = parents[at] if at is not None and at != primary else at
    return at == primary


def is_well(nodes, facts, is_quiet):
    """True if there is one primary, and the others follow it or each other, and have what it has where nobody writes."""
    if len(primaries(facts)) != 1 or any(it["master_failover_state"] != "no-failover" for it in facts):
        return False
    follows, primary = parents(nodes, facts), primaries(facts)[0]
    for at, it in enumerate(facts):
        if at == primary:
            continue
        known_as = "port=%d,state=online" % nodes[at].gate.port
        is_known = any(known_as in value for name, value in facts[follows[at]].items() if name.startswith("slave"))
        has_all = not is_quiet or it["slave_repl_offset"] == facts[primary]["master_repl_offset"]
        if not (leads_to(at, primary, follows) and it["master_link_status"] == "up" and has_all and is_known):
            return False
    return True


def decide(nodes, facts, may_be_two):
    """
    What somebody has to say who sees that this will not change: a node, and whom it is to follow, which is nobody where
    none can be the primary. None where it will change. Who has most has all that clients were ever told.
    """
    masters, follows = primaries(facts), parents(nodes, facts)
    assert len(masters) < 2 or may_be_two, "two primaries: %s" % [(it["role"], it["master_replid"], it["master_repl_offset"]) for it in facts]
    if len(masters) > 1:
        return masters[1], masters[0]
    if any(it["master_failover_state"] != "no-failover" for it in facts):
        return None
    offsets = [int(it["master_repl_offset"]) for it in facts]
    if not masters:
        return offsets.index(max(offsets)), None
    astray = [at for at in range(len(nodes)) if not leads_to(at, masters[0], follows)]
    return (max(astray, key=lambda at: offsets[at]), masters[0]) if astray else None


def settle_three(nodes, may_be_two=False, is_quiet=True):
    """Waits until all is well. Returns the primary, the nodes that each one follows, and what somebody had to decide."""
    deadline, before, decisions = time.monotonic() + PATIENCE, None, []
    while True:
        facts = [node.facts() for node in nodes]
        assert time.monotonic() < deadline, "no end, after decisions %s: %s" % (decisions, facts)
        stopped = [it["master_link_stopped"] for it in facts if "master_link_stopped" in it]
        assert not stopped, "data have parted: %s" % stopped
        if is_well(nodes, facts, is_quiet):
            return nodes[primaries(facts)[0]], [at is not None and nodes[at] for at in parents(nodes, facts)], decisions
        # What was asked one after the other is seen together only if it is so twice.
        shape = [(it["role"], it.get("master_port"), it["master_failover_state"]) for it in facts]
        if shape == before and (decision := decide(nodes, facts, may_be_two)):
            node, whom = decision
            words = ("NO", "ONE") if whom is None else ("127.0.0.1", nodes[whom].gate.port)
            reply = nodes[node].it.db.command("REPLICAOF", *words)
            assert not isinstance(reply, Error), (decision, reply)
            decisions.append(decision)
        before = shape
        time.sleep(0.003)


def tell(node, *words):
    """Says something to a node that may be dead, or stand still."""

    def say():
        with contextlib.suppress(Closed, OSError):
            said.append(node.it.connect(PATIENCE).command(*words))

    said = []
    thread = threading.Thread(target=say)
    thread.start()
    return thread, said


def play_three(nodes, seed):
    """One failover between three with what goes wrong. Returns what was seen."""
    chance = random.Random(seed)
    primary, follows, _ = settle_three(nodes)
    target = chance.choice([node for node, whom in zip(nodes, follows) if whom is primary])
    third = next(node for node in nodes if node not in (primary, target))
    was_told = dict(zip(nodes, follows)) | {primary: target}
    blows, words = Blows(chance, [primary, target, third]), chance.choices(WORDS, WEIGHTS)[0]
    is_safe = "FORCE" not in words and words != ("ABORT",)
    # When somebody tells the third whom to follow: it may stay where it is, behind the old primary.
    moves = chance.choice(("never", "late", "at once" if "TO" in words else "late"))
    # Whether somebody asks whoever is the primary by then for another one, before all is well.
    again, soon = [target, third] if is_safe and chance.random() < 0.25 else [], chance.random() * 0.06
    writers = [Writer(chance.sample(nodes, 3), "seed%d:%d" % (seed, at), at == 1) for at in range(2)]
    try:
        primary.it.until(lambda: all(len(writer.written.acknowledged) > 5 for writer in writers))
        blows.is_due = bool(blows.all)
        asked = [tell(primary, "FAILOVER", *spelled(words, target))]
        asked[0][0].join(0.05)
        if moves == "at once":
            was_told[third] = target
            asked.append(tell(third, "REPLICAOF", "127.0.0.1", target.gate.port))
        blows.wait()
        if words == ("ABORT",):
            asked.append(tell(primary, "FAILOVER", "ABORT"))
        time.sleep(soon if again else 0)
        asked += [tell(node, "FAILOVER") for node in again]
        time.sleep(blows.long if blows.struck else 0)
        blows.heal(was_told)
        for thread, _ in asked:
            thread.join()
        now, follows, decisions = settle_three(nodes, may_be_two=not is_safe, is_quiet=False)
        if moves == "late":
            for node, whom in zip(nodes, follows):
                assert node is now or whom is now or node.it.db.command("REPLICAOF", "127.0.0.1", now.gate.port) == b"OK"
        before = [len(writer.written.acknowledged) for writer in writers]
        now.it.until(lambda: all(len(writer.written.acknowledged) > count for writer, count in zip(writers, before)))
    finally:
        for writer in writers:
            writer.end()
    last, follows, later = settle_three(nodes)
    said = "FAILOVER %s (%s), %s, third moves %s, decided %s" % (" ".join(words), [it for _, it in asked], blows, moves, decisions)
    assert last is now and not later, said + ": another is the primary than before, and nobody has asked for that"
    if not any(b"OK" in answers for _, answers in asked[len(asked) - len(again) :]):
        assert now in (primary, target) or "TO" not in words or decisions, said + ": not who was named"
        if words in ((), ("TO",)) and b"OK" in asked[0][1] and not blows.has_killed():
            assert now is not primary, said + ": it was neither given up nor refused, and has changed nothing"
    check_three(nodes, writers, (now, is_safe, decisions, blows), said)
    snapshots = sum(node.says().count(SNAPSHOT) for node in nodes)
    return {"faults": len(blows.struck), "changes": now is not primary, "chains": follows.count(now) < 2, "decisions": len(decisions), "snapshots": snapshots}


def check_three(nodes, writers, seen, said):
    """Holds what clients and logs have told against what is there."""
    now, is_safe, decisions, blows = seen
    check(writers, [now, *(node for node in nodes if node is not now)], is_safe, said)
    if is_safe:
        logs = "".join(node.says() for node in nodes)
        assert "does not have, and drops them" not in logs, said + ": bytes are dropped"
        assert SNAPSHOT not in logs or blows.has_killed(), said + ": a snapshot, though nobody has died"
        most = max(writer.written.most_redirections for writer in writers)
        assert most <= MOST_REDIRECTIONS or decisions, "%s: redirected %d times" % (said, most)
    now.it.db.command("DEL", *(writer.key for writer in writers))


def rotate(node):
    """Has the files of a node tell only what is there, as it loads them whenever it is started."""
    assert node.it.db.command("BGREWRITEAOF").startswith(b"Background append only file rewriting")
    node.it.until(lambda: fields(node.it.db, "persistence")["aof_rewrite_in_progress"] == "0")


def one_writes_and_nothing_is_lost_with_a_second_replica():
    seeds, first = (int(os.environ.get("SEEDS", "20")) + 1) // 2, int(os.environ.get("SEED", "1"))
    counts = collections.Counter()
    with contextlib.ExitStack() as stack:
        nodes = [Node(stack) for _ in range(3)]
        nodes[0].begin(*OF_THREE)
        for node in nodes[1:]:
            node.follow(nodes[0], *OF_THREE)
        settle_three(nodes)
        for seed in range(first, first + seeds):
            for node in nodes:
                if seed % 16 == 0:
                    rotate(node)
                node.forget()
            try:
                counts.update(play_three(nodes, seed))
            except Exception:
                print("seed %d" % seed, *("%d, %d behind its gate:\n%s" % (node.port, node.gate.port, node.says()) for node in nodes), sep="\n---\n")
                raise
    return "%d failovers of three, %s; none lost" % (seeds, ", ".join("%d %s" % (count, name) for name, count in sorted(counts.items())))


if __name__ == "__main__":
    sys.exit(run(globals()))
