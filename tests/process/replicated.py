#!/usr/bin/env python3
"""Servers that follow each other, some of them peers, while clients write at random and links and nodes break: at each rest all have the same data.

    VARVE_SERVER=target/release/varve-server tests/process/replicated.py [CASE ...]

TURNS         for each topology (2); each ends with a rest
SECONDS_EACH  for each topology, in place of TURNS
SEED          what is drawn comes of it (1); what threads do beside each other does not
KEEP          a folder: files of nodes whose data differ are kept there
"""

import collections
import contextlib
import itertools
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from gate import Gate, memory
from peers import PEERS, ROOT, are_there, give_away
from ports import free_port
from random_writes import Waiter, Writer, pipelined
from replicas import AT_ONCE, DEBUG, digest, fields
from resp import Closed, Error, render
from run import PATIENCE, Server, run

WRITERS, WAITERS = 3, 2
TOPOLOGIES = ("varve>varve", "valkey>varve", "redis>varve", "varve>valkey", "varve>redis", "varve>valkey>varve", "varve>varve>varve")
PROGRAMS = {"valkey": "valkey-server", "redis": "redis-server"}
DATABASES = range(6)  # that are written to
BACKLOG = 64 << 20
# What must not make a snapshot necessary: nobody has lost anything, and the backlog is large enough unless much is written.
LOSES_NOTHING = {"nothing", "links cut", "links halved", "links slow", "links killed", "stopped", "saved", "failover", "cut while stopped"}


class Way(Gate):
    """A gate that hands bytes on late, or ends a connection in the middle of some."""

    def __init__(self, node_port):
        super().__init__(node_port)
        self.delay, self.halves = 0.0, None

    def hand_on(self, source, sink, says, is_to_node):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if self.delay:
                    time.sleep(self.delay)
                chance = self.halves
                if chance and chance.random() < 0.3:
                    sink.sendall(data[: chance.randrange(len(data))])
                    break
                sink.sendall(data)
        self.let_go({source, sink})

    def heal(self):
        self.delay, self.halves = 0.0, None
        self.open()


class Peer(Server):
    """A server of another maker."""

    def __init__(self, program, folder, *settings, port):
        self.folder, self.port, self.has_log = tempfile.mkdtemp(prefix="varve-process-"), port, False
        command = [PEERS, "run", program, "--port", port, "--dir", "/" + os.path.relpath(folder, ROOT), "--save", "", *settings]
        self.output = pathlib.Path(self.folder, "output")
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output)


class Node:
    """A server whose files outlast it. Others follow it through its gate."""

    def __init__(self, stack, maker, name, chance):
        self.maker, self.name, self.chance, self.port = maker, name, chance, free_port()
        self.gate, self.above, self.is_alive, self.said = Way(self.port), None, False, ""
        place = memory() if maker == "varve" else ROOT / "tmp"
        self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="varve-replicated-", dir=place, ignore_cleanup_errors=True))
        if maker != "varve":
            give_away(self.folder)
        stack.callback(self.kill)

    def settings(self):
        draw, words = self.chance.choice, [*AT_ONCE, *DEBUG, "--appendonly", "yes", "--repl-backlog-size", BACKLOG]
        words += ["--replica-announce-ip", "127.0.0.1", "--replica-announce-port", self.gate.port]
        words += ["--repl-diskless-sync", draw(("yes", "no")), "--appendfsync", draw(("everysec", "everysec", "always", "no"))]
        if self.maker == "varve":
            words += ["--dir", self.folder, "--threads", draw((1, 2)), "--repl-diskless-load", draw(("disabled", "disabled", "swapdb", "flush-before-load"))]
            words += ["--auto-aof-rewrite-min-size", draw(("4mb", "64mb"))]
        else:
            words += ["--repl-diskless-load", draw(("disabled", "swapdb"))]
        return words + (["--replicaof", "127.0.0.1 %d" % self.above.gate.port] if self.above else [])

    def begin(self):
        words = self.settings()
        self.it = Server(*words, port=self.port) if self.maker == "varve" else Peer(PROGRAMS[self.maker], self.folder, *words, port=self.port)
        self.is_alive = True
        self.it.__enter__()
        self.db = self.it.connect(PATIENCE)

    def kill(self, loses_files=False):
        if self.is_alive:
            self.is_alive = False
            assert self.it.process.poll() is None, "%s has ended by itself: %d" % (self, self.it.process.returncode)
            self.it.process.kill()
            self.it.process.wait()
            self.said = (self.said + self.it.output.read_text(errors="replace"))[-200_000:]
            self.it.__exit__()
        if loses_files:
            for path in pathlib.Path(self.folder).iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def ask(self, *words):
        """The reply of a node that runs, on a connection of the test's own."""
        with contextlib.suppress(OSError, Closed):
            return self.db.command(*words)
        self.db = self.it.connect(PATIENCE)
        return self.db.command(*words)

    def facts(self, section="replication"):
        return fields(self, section)

    def command(self, *words):
        return self.ask(*words)

    def set(self, name, value):
        assert self.ask("CONFIG", "SET", name, value) == b"OK", (self, name)

    def log(self):
        return self.said + (self.it.output.read_text(errors="replace") if self.is_alive else "")

    def follow(self, above):
        """Changes its role. Who loads data refuses that."""
        self.above = above
        words = ("127.0.0.1", above.gate.port) if above else ("NO", "ONE")
        self.it.until(lambda: not isinstance(self.ask("REPLICAOF", *words), Error))

    def keep_expired(self, is_so):
        """Has nothing expire, and what is past its deadline be seen by this connection, so that data do not change with time."""
        if self.maker == "redis":
            self.ask("DEBUG", "SET-ACTIVE-EXPIRE", 0 if is_so else 1)
            return
        if not is_so:
            assert self.ask("CLIENT", "IMPORT-SOURCE", "OFF") == b"OK"
        self.set("import-mode", "yes" if is_so else "no")
        if is_so:
            assert self.ask("CLIENT", "IMPORT-SOURCE", "ON") == b"OK"

    def __str__(self):
        return self.name


class Nodes:
    """All nodes of a topology, and what is done to them."""

    def __init__(self, stack, topology, chance):
        self.chance, self.fills, self.keeps, self.counts = chance, False, False, collections.Counter()
        makers = topology.split(">")
        self.have_redis, self.have_peers, self.spare_fields = "redis" in makers, set(makers) != {"varve"}, False
        self.all = [Node(stack, maker, "%s %d" % (maker, at), chance) for at, maker in enumerate(makers, 1)]
        for above, node in zip([None, *self.all], self.all):
            node.above = above
            node.begin()
        self.primary, self.is_home = self.all[0], True
        self.level()

    def replicas(self):
        return [node for node in self.all if node.above]

    def followed(self):
        return [node for node in self.all if any(other.above is node for other in self.all)]

    def settings_of_turn(self, changes_roles):
        """Limits of memory, and keys that stay behind their deadline."""
        self.fills = self.chance.random() < 0.25
        may_be_peers = self.have_peers and (changes_roles or self.primary.maker != "varve")
        self.spare_fields = self.have_redis or may_be_peers
        self.keeps = self.chance.random() < 0.5 and not (changes_roles and may_be_peers)
        limit = int(self.primary.facts("memory")["used_memory"]) + (8 << 20)
        policy = self.chance.choice(("allkeys-lru", "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-ttl"))
        for node in self.all:
            if self.fills:
                node.set("maxmemory-policy", policy)
                node.set("maxmemory", limit)
            if self.keeps:
                node.ask("DEBUG", "SET-ACTIVE-EXPIRE", 0)

    # What may go wrong in a turn.

    def nothing(self):
        time.sleep(self.chance.random())

    def links_cut(self):
        for _ in range(self.chance.randrange(1, 4)):
            gate = self.chance.choice(self.followed()).gate
            gate.close()
            time.sleep(self.chance.random() * 0.5)
            gate.open()
            time.sleep(self.chance.random() * 0.5)

    def links_halved(self):
        for node in self.followed():
            node.gate.halves = random.Random(self.chance.random())
        time.sleep(0.3 + self.chance.random())

    def links_slow(self):
        for node in self.followed():
            node.gate.delay = self.chance.choice((0.001, 0.01, 0.03))
        time.sleep(0.3 + self.chance.random())

    def links_killed(self):
        for _ in range(self.chance.randrange(1, 4)):
            self.chance.choice(self.followed()).ask("CLIENT", "KILL", "TYPE", "replica")
            time.sleep(self.chance.random() * 0.3)

    def stopped(self):
        node = self.chance.choice(self.all)
        node.it.process.send_signal(signal.SIGSTOP)
        time.sleep(self.chance.choice((0.1, 0.3, 0.6, 2)))
        node.it.process.send_signal(signal.SIGCONT)

    def cut_while_stopped(self):
        """The network is gone before a node that stands still can say or hear anything."""
        node = self.chance.choice(self.all)
        node.it.process.send_signal(signal.SIGSTOP)
        time.sleep(self.chance.choice((0.1, 0.5)))
        for it in self.all:
            it.gate.close()
        node.it.process.send_signal(signal.SIGCONT)

    def saved(self):
        for _ in range(self.chance.randrange(1, 4)):
            self.chance.choice(self.all).ask(self.chance.choice(("BGSAVE", "BGREWRITEAOF")))
            time.sleep(self.chance.random() * 0.4)

    def killed(self, *nodes):
        for node in nodes or self.chance.sample(self.all, self.chance.choice((1, 1, 2))):
            if self.chance.random() < 0.3:
                node.it.process.send_signal(signal.SIGSTOP)
            node.kill()
        time.sleep(self.chance.random() * 0.3)

    def replica_killed(self):
        self.killed(self.chance.choice(self.replicas()))

    def primary_killed(self):
        self.killed(self.primary)

    def begun_anew(self):
        """A replica without files takes a snapshot under writes, of which the link may break in the middle."""
        node = self.chance.choice(self.replicas())
        node.kill(loses_files=True)
        node.begin()
        for _ in range(self.chance.randrange(3)):
            time.sleep(self.chance.random() * 0.2)
            node.above.gate.close()
            node.above.gate.open()

    def parted(self):
        """A replica has been a primary with writes of its own for a while."""
        node, above = self.chance.choice([(node, node.above) for node in self.replicas()])
        node.follow(None)
        for _ in range(self.chance.randrange(3)):
            node.ask("SET", "parted", self.chance.random())
            node.ask("FLUSHALL" if self.chance.random() < 0.1 else "INCR", "parted" * 2)
        time.sleep(self.chance.random() * 0.3)
        node.follow(above)

    def roles(self):
        """Another order, or that of the topology again."""
        order = self.all if not self.is_home else self.chance.choice([order for order in itertools.permutations(self.all) if order[0] is not self.primary])
        self.is_home = not self.is_home
        if self.chance.random() < 0.5:
            self.chance.choice(self.all).gate.close()
        order[0].follow(None)
        self.primary = order[0]
        for above, node in zip(order, order[1:]):
            time.sleep(self.chance.choice((0, 0, 0.1)))
            node.follow(above)

    def failover(self):
        old, new = self.primary, self.chance.choice([node for node in self.all if node.above is self.primary])
        reply = old.ask("FAILOVER", "TO", "127.0.0.1", new.gate.port, "TIMEOUT", 5000)
        if reply != b"OK":
            self.counts["failover refused"] += 1
            return
        old.it.until(lambda: old.facts()["master_failover_state"] == "no-failover")
        if old.facts()["role"] == "slave":
            self.primary, old.above, new.above, self.is_home = new, new, None, False
            self.counts["failover done"] += 1

    # How a turn ends.

    def heal(self):
        for node in self.all:
            node.gate.heal()
            if node.is_alive:
                node.it.process.send_signal(signal.SIGCONT)
            else:
                node.begin()

    def is_level(self):
        offset = self.primary.facts()["master_repl_offset"]
        facts = [node.facts() for node in self.replicas()]
        stopped = [it["master_link_stopped"] for it in facts if "master_link_stopped" in it]
        assert not stopped, "a link is stopped: %s" % stopped
        return all((it["role"], it.get("master_link_status"), it.get("slave_repl_offset")) == ("slave", "up", offset) for it in facts) and offset

    def level(self):
        """Waits until all have what the primary has; its offset."""
        found = []
        self.primary.it.until(lambda: found.append(self.is_level()) or found[-1], 3 * PATIENCE)
        return found[-1]

    def compare(self):
        """Holds that all have the same data, what is past its deadline and not removed included: none of it changes any more."""
        for node in self.all:
            node.keep_expired(True)
        seen = 0
        while True:
            offset = self.level()
            sums = self.sums()
            if self.is_level() != offset:
                seen = 0
            elif all(it == sums[0] for it in sums):
                break
            else:
                # A digest may have met the last change on its way, or a deadline of a field has passed meanwhile.
                seen += 1
                assert seen < 8, "data differ at offset %s: %s\n%s" % (offset, sums_shown(sums), "\n".join(differing(self.primary, *self.replicas())))
            time.sleep(0.05 * seen)
        self.counts["keys"] += sum(sums[0][0])

    def sums(self):
        """What is to be the same on all nodes: the number of keys of each database, and the digest."""
        counts = [[node.ask(*words) for at in DATABASES for words in (("SELECT", at), ("DBSIZE",))][1::2] for node in self.all]
        if not self.have_peers:
            return [(count, digest(node)) for count, node in zip(counts, self.all)]
        names = [self.names(at) for at in DATABASES]
        return [(count, [by_key(node, *it) for it in enumerate(names)]) for count, node in zip(counts, self.all)]

    def names(self, database):
        """The names of all keys, those past their deadline too, of which peers tell none: of hashes that clients see, and of others."""
        node, now = next(node for node in self.all if node.maker == "varve"), time.time() * 1000
        node.ask("SELECT", database)
        hashes, others = [], []
        names = sorted(node.ask("KEYS", "*"))
        told = pipelined(node.db, [words for name in names for words in (["TYPE", name], ["PEXPIRETIME", name])])
        for name, kind, deadline in zip(names, told[::2], told[1::2]):
            if kind != b"hash":
                others.append(name)
            elif not 0 <= deadline <= now:
                hashes.append(name)
        return hashes, others

    def go_on(self):
        """Lets expire what was kept, and holds that all of it goes, and that deadlines, groups and functions are the same as well."""
        for node in self.all:
            node.keep_expired(False)
            node.ask("DEBUG", "SET-ACTIVE-EXPIRE", 1)
        deadline = time.monotonic() + PATIENCE
        while True:
            states = [state(node) for node in self.all]
            is_gone = not any(states[self.all.index(self.primary)]["hidden"]) or self.primary.maker != "varve"
            if all(it == states[0] for it in states) and is_gone:
                return
            assert time.monotonic() < deadline, "states differ, or what has expired stays:\n" + "\n".join(differing_states(states))
            time.sleep(0.05)

    def fulls(self):
        return sum(int(node.facts("stats")["sync_full"]) for node in self.all)

    def forgot(self):
        """How many times a Redis that runs has forgotten its place: its link broke in the midst of a FLUSHALL."""
        return sum(node.log().count("Partial resynchronization not possible (no cached master)") for node in self.all if node.maker == "redis")

    def play(self, turn, what):
        """A turn: writes, and meanwhile what goes wrong; then a rest."""
        self.counts[what] += 1
        before, offset, forgot = self.fulls(), int(self.primary.facts()["master_repl_offset"]), self.forgot()
        self.settings_of_turn(what in ("roles", "failover"))
        clients = [Writer(self, self.chance.random()) for _ in range(WRITERS)] + [Waiter(self, self.chance.random()) for _ in range(WAITERS)]
        try:
            time.sleep(0.1 + self.chance.random() * 0.3)
            getattr(self, what.replace(" ", "_"))()
            time.sleep(0.1)
            self.heal()
            time.sleep(self.chance.random() * 0.3)
        finally:
            for client in clients:
                client.end()
            for client in clients:
                client.thread.join(PATIENCE)
        self.counts["requests"] += sum(client.requests for client in clients)
        self.counts["evicted"] += int(self.primary.facts("stats")["evicted_keys"]) if self.fills else 0
        for node in self.all:
            node.set("maxmemory", 0)
        # Who comes back without any key does not empty its replicas.
        self.primary.ask("SET", "turn", turn)
        self.level()
        for node in self.all:
            assert node.it.process.poll() is None, "%s has ended by itself" % node
        self.compare()
        snapshots, written = self.fulls() - before, int(self.primary.facts()["master_repl_offset"]) - offset
        assert what not in LOSES_NOTHING or snapshots <= self.forgot() - forgot or written > BACKLOG, "%d snapshots" % snapshots
        self.go_on()


def by_key(node, database, names):
    """Digests of keys. Those of hashes do not tell in all servers of fields that have deadlines: of hashes what clients see."""
    hashes, others = names
    node.ask("SELECT", database)
    found = [others and node.ask("DEBUG", "DIGEST-VALUE", *others)]
    with contextlib.closing(node.it.connect(PATIENCE)) as db:
        db.command("SELECT", database)
        told = pipelined(db, [["HGETALL", name] for name in hashes])
    return found + [isinstance(pairs, list) and sorted(zip(pairs[::2], pairs[1::2])) for pairs in told]


def state(node):
    """What a digest does not tell: deadlines, groups of streams, functions."""
    found, hidden = {}, []
    for database in DATABASES:
        node.ask("SELECT", database)
        names = sorted(node.ask("KEYS", "*"))
        hidden.append(node.ask("DBSIZE") - len(names))
        told = pipelined(node.db, [word for name in names for word in (["TYPE", name], ["PEXPIRETIME", name])])
        for name, kind, deadline in zip(names, told[::2], told[1::2]):
            found[database, name] = (bytes(kind), deadline)
        hashes, streams = ([name for name, kind in zip(names, told[::2]) if kind == wanted] for wanted in (b"hash", b"stream"))
        told = pipelined(node.db, [words for name in hashes for words in (["HKEYS", name], ["HLEN", name])])
        for name, its, count in zip(hashes, told[::2], told[1::2]):
            its = sorted(its) if isinstance(its, list) else []
            hidden.append(count != len(its))
            its = its or [b""]
            found[database, name] += (list(zip(its, pipelined(node.db, [["HPEXPIRETIME", name, "FIELDS", len(its), *its]])[0])),)
        for name, groups in zip(streams, pipelined(node.db, [["XINFO", "GROUPS", name] for name in streams])):
            groups = [dict(zip(it[::2], it[1::2])) for it in groups] if isinstance(groups, list) else []
            found[database, name] += (render([it[word] for it in groups for word in (b"name", b"pending", b"last-delivered-id", b"entries-read")], full=True),)
    node.ask("SELECT", 0)
    libraries = [dict(zip(it[::2], it[1::2])) for it in node.ask("FUNCTION", "LIST", "WITHCODE")]
    found["functions"] = sorted((it[b"library_name"], it[b"library_code"]) for it in libraries)
    found["hidden"] = hidden
    return found


def differing_states(states):
    first = states[0]
    for other in states[1:]:
        for key in list(dict.fromkeys([*first, *other])):
            if first.get(key) != other.get(key):
                yield "%s: %s, %s" % (key, first.get(key), other.get(key))


def differing(primary, *others):
    """The first keys that differ, and how."""
    for node in others:
        by_digest = primary.maker == node.maker
        for database in DATABASES:
            for it in (primary, node):
                it.ask("SELECT", database)
            for name in sorted({*primary.ask("KEYS", "*"), *node.ask("KEYS", "*")}):
                digests = [it.ask("DEBUG", "DIGEST-VALUE", name) for it in (primary, node)]
                one, other = (parts(it, name) for it in (primary, node))
                if digests[0] != digests[1] and (by_digest or one != other):
                    yield "database %d, %s, which expires at %s and %s:" % (database, name, *(it.ask("PEXPIRETIME", name) for it in (primary, node)))
                    yield from ("  %s alone: %s" % (it, shown(has - lacks)) for it, has, lacks in ((primary, one, other), (node, other, one)))


def parts(db, name):
    """A value as a set of what it consists of."""
    words = {b"string": ["GET"], b"list": ["LRANGE", 0, -1], b"set": ["SMEMBERS"], b"zset": ["ZRANGE", 0, -1, "WITHSCORES"], b"hash": ["HGETALL"], b"stream": ["XRANGE", "-", "+"]}
    kind = bytes(db.command("TYPE", name))
    found = words.get(kind) and db.command(words[kind][0], name, *words[kind][1:])
    if kind in (b"zset", b"hash"):
        found = list(zip(found[::2], found[1::2]))
    if kind == b"hash" and found:
        deadlines = db.command("HPEXPIRETIME", name, "FIELDS", len(found), *(field for field, _ in found))
        found = [(*pair, deadline) for pair, deadline in zip(found, deadlines)]
    return set(map(repr, enumerate(found) if kind == b"list" else found if isinstance(found, list) else [found]))


def sums_shown(sums):
    """What was summed on each node, shortened."""
    return "; ".join(repr(it)[:300] for it in sums)


def shown(those):
    """Some of them, with long runs of a letter shortened."""
    return re.sub(r"(\w)\1{9,}", r"\1..\1", " ".join(sorted(those)))[:1500]


FAULTS = ["nothing", "links cut", "links halved", "links slow", "links killed", "stopped", "cut while stopped", "saved", "killed", "replica killed", "primary killed"]
FAULTS += ["begun anew", "parted", "roles", "roles", "failover"]


def deck(seed, topology):
    """What goes wrong, turn by turn. The first turns of all topologies have all of it."""
    faults = list(FAULTS)
    random.Random(seed).shuffle(faults)
    begin = 2 * TOPOLOGIES.index(topology)
    yield from faults[begin:] + faults[:begin]
    chance = random.Random("%s %s deck" % (seed, topology))
    while True:
        chance.shuffle(faults)
        yield from faults


def survive(topology):
    """As many turns as are asked for."""
    if topology.count("varve") <= topology.count(">") and not are_there():
        return "there are no peers"
    seed, seconds, turns = os.environ.get("SEED", "1"), float(os.environ.get("SECONDS_EACH", 0)), int(os.environ.get("TURNS", 2))
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        nodes = Nodes(stack, topology, random.Random("%s %s" % (seed, topology)))
        for turn, what in enumerate(deck(seed, topology)):
            if time.monotonic() - began > seconds if seconds else turn == turns:
                break
            try:
                nodes.play(turn, what)
            except BaseException:
                tell(nodes, "%s, seed %s, turn %d: %s" % (topology, seed, turn, what))
                raise
    return ", ".join("%d %s" % (count, what) for what, count in sorted(nodes.counts.items()))


def tell(nodes, what):
    """What there is to know of a failure."""
    print("%s; fills %s, keeps %s" % (what, nodes.fills, nodes.keeps))
    for node in nodes.all:
        print("--- %s, under %s, %s" % (node, node.above, "alive" if node.is_alive else "dead"))
        if node.is_alive and node.it.process.poll() is None:
            node.it.process.send_signal(signal.SIGCONT)
            with contextlib.suppress(OSError, Closed):
                print(node.facts())
        print(node.log()[-3000:], flush=True)
    if "KEEP" in os.environ:
        for node in nodes.all:
            shutil.copytree(node.folder, pathlib.Path(os.environ["KEEP"], what, node.name), dirs_exist_ok=True)


def a_varve_under_a_varve_has_the_same_data():
    return survive("varve>varve")


def a_varve_under_a_valkey_has_the_same_data():
    return survive("valkey>varve")


def a_varve_under_a_redis_has_the_same_data():
    return survive("redis>varve")


def a_valkey_under_a_varve_has_the_same_data():
    return survive("varve>valkey")


def a_redis_under_a_varve_has_the_same_data():
    return survive("varve>redis")


def a_varve_under_a_valkey_under_a_varve_has_the_same_data():
    return survive("varve>valkey>varve")


def a_varve_under_a_varve_under_a_varve_has_the_same_data():
    return survive("varve>varve>varve")


if __name__ == "__main__":
    sys.exit(run(globals()))
