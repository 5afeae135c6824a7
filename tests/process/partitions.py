#!/usr/bin/env python3
"""Three servers named by VARVE_SERVER and three sentinels, each pair in a network of its own, while networks are cut.

    VARVE_SERVER=target/release/varve-server tests/process/partitions.py [CASE ...]

FAULTS  number of cuts (20)        SEED  what they are drawn from (1)        NODES  varve, or valkey-server to compare (varve)

It needs to be root, Linux with network namespaces, and the peers. It is not part of the tests that run each time.
"""

import collections
import contextlib
import ctypes
import itertools
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

from following import link
from peers import PEERS, ROOT, are_there, give_away
from replicas import AT_ONCE, DEBUG, digest
from resp import Closed, Connection, Error
from run import Server, run

NET, PORT, SENTINEL = "10.197.3", 6379, 26379
PATIENCE = 120  # seconds after the last cut until all is well
CLONE_NEWNET = 0x40000000


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True)


class Place:
    """A network with one address, connected to a bridge."""

    def __init__(self, stack, number):
        self.name, self.inside, self.host = "varve-%d" % number, "vvp%d" % number, "%s.%d" % (NET, number)
        ip("netns", "add", self.name)
        stack.callback(ip, "netns", "del", self.name)
        ip("link", "add", self.inside, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        stack.callback(ip, "link", "del", self.inside)  # a thread may still be in there
        ip("link", "set", self.inside, "master", "vvbridge", "up")
        ip("-n", self.name, "addr", "add", self.host + "/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip("-n", self.name, "link", "set", device, "up")

    def enter(self):
        """Moves the thread that calls there."""
        with open("/var/run/netns/" + self.name) as namespace:
            assert ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())

    def cut(self):
        ip("link", "set", self.inside, "down")

    def heal(self):
        ip("link", "set", self.inside, "up")

    def cut_from(self, other):
        """Nothing goes from here to there, and so nothing comes of what is sent back."""
        ip("-n", self.name, "route", "add", "blackhole", other.host + "/32")

    def heal_to(self, other):
        ip("-n", self.name, "route", "del", "blackhole", other.host + "/32")


class Node(Server):
    """A server in a place; tests reach it from the bridge."""

    def __init__(self, place, *settings):
        self.place, self.host, self.before = place, place.host, ("ip", "netns", "exec", place.name)
        super().__init__(*AT_ONCE, *DEBUG, "--bind", place.host, "--protected-mode", "no", "--repl-timeout", "5", *settings, config="appendonly yes\n", port=PORT)


class PeerNode(Node):
    """The same of a peer."""

    def __init__(self, stack, program, place):
        self.place, self.host, self.port, folder = place, place.host, PORT, folder_of_peers(stack)
        words = ["--port", PORT, "--bind", place.host, "--protected-mode", "no", "--repl-timeout", 5, "--repl-diskless-sync-delay", 0, "--appendonly", "yes"]
        words += ["--save", "", "--enable-debug-command", "yes", "--dir", "/" + os.path.relpath(folder, ROOT)]
        command = ["ip", "netns", "exec", place.name, PEERS, "run", program, *words]
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        self.until(self.reachable)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def node_of(stack, place):
    kind = os.environ.get("NODES", "varve")
    return stack.enter_context(Node(place) if kind == "varve" else PeerNode(stack, kind, place))


def folder_of_peers(stack):
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True))
    give_away(folder)
    return folder


def sentinel(stack, program, place, primary):
    folder = folder_of_peers(stack)
    config = pathlib.Path(folder, "sentinel.conf")
    lines = ["port %d" % SENTINEL, "bind %s" % place.host, "protected-mode no", "sentinel monitor all %s %d 2" % (primary.host, PORT)]
    lines += ["sentinel down-after-milliseconds all 1000", "sentinel failover-timeout all 5000", ""]
    config.write_text("\n".join(lines))
    give_away(folder)
    command = ["ip", "netns", "exec", place.name, PEERS, "run", program, "/" + os.path.relpath(config, ROOT)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)


class Writer:
    """A client in one place, of the node that it finds to be the primary. It knows which numbers one replica had acknowledged, and which both."""

    def __init__(self, place, places):
        self.place, self.places, self.is_over, self.safe = place, places, threading.Event(), {1: [], 2: []}
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        self.place.enter()
        numbers = itertools.count()
        for place in itertools.cycle(self.places):
            if self.is_over.is_set():
                return
            with contextlib.suppress(OSError, Closed):
                db = Connection("%s:%d" % (place.host, PORT), 1)
                while not self.is_over.is_set():
                    number = next(numbers)
                    if isinstance(db.command("RPUSH", "list:" + self.place.name, number), Error):
                        break
                    count = db.command("WAIT", 2, 500)
                    if count in (1, 2):
                        self.safe[count].append(b"%d" % number)
            time.sleep(0.01)


def primary_of(nodes):
    """The node that is the primary, once it is one and the others follow it."""
    found = None
    for node in nodes:
        try:
            facts = link(node)
        except (OSError, Closed):
            node.db = node.connect(2)
            return None
        if facts["role"] == "master":
            if found is not None:
                return None
            found = node
    if found is None:
        return None
    followed = all(facts.get("master_host") == found.host and facts.get("master_link_status") == "up" for facts in (link(node) for node in nodes if node is not found))
    return found if followed else None


@contextlib.contextmanager
def three_places(program):
    with contextlib.ExitStack() as stack:
        ip("link", "add", "vvbridge", "type", "bridge")
        stack.callback(ip, "link", "del", "vvbridge")
        ip("addr", "add", NET + ".254/24", "dev", "vvbridge")
        ip("link", "set", "vvbridge", "up")
        places = [Place(stack, number) for number in (1, 2, 3)]
        nodes = [node_of(stack, place) for place in places]
        for node in nodes:
            node.db = node.connect(5)
        for node in nodes[1:]:
            assert node.db.command("REPLICAOF", nodes[0].host, PORT) == b"OK"
        nodes[0].until(lambda: primary_of(nodes) is nodes[0], PATIENCE)
        for place in places:
            sentinel(stack, program, place, nodes[0])
        knows_all = lambda: all(facts.get(b"num-slaves") == b"2" and facts.get(b"num-other-sentinels") == b"2" for facts in map(told, places))
        nodes[0].until(knows_all, PATIENCE)
        yield places, nodes


def told(place):
    with contextlib.suppress(OSError, Closed):
        reply = Connection("%s:%d" % (place.host, SENTINEL), 2).command("SENTINEL", "MASTER", "all")
        if isinstance(reply, list):
            return dict(zip(reply[::2], reply[1::2]))
    return {}


def nothing_that_all_replicas_had_is_lost_however_networks_are_cut():
    if not are_there() or os.geteuid() != 0:
        return "no peers, or not root"
    faults, seed = int(os.environ.get("FAULTS", "20")), int(os.environ.get("SEED", "1"))
    chance, counts, changes = random.Random(seed), collections.Counter(), 0
    program = ("valkey-sentinel", "redis-sentinel")[seed % 2]
    with three_places(program) as (places, nodes):
        writers = [Writer(place, places[at:] + places[:at]) for at, place in enumerate(places)]
        was = nodes[0]
        for _ in range(faults):
            one, other = chance.sample(places, 2)
            kind = chance.choice(["a place", "a place", "one way between two", "both ways between two", "one by one"])
            counts[kind] += 1
            if kind == "a place":
                one.cut()
                time.sleep(chance.random() * 6)
                one.heal()
            elif kind == "one by one":
                for place in places:
                    place.cut()
                    time.sleep(chance.random() * 3)
                    place.heal()
            else:
                pairs = [(one, other), (other, one)][: 1 + kind.startswith("both")]
                for there, here in pairs:
                    there.cut_from(here)
                time.sleep(chance.random() * 6)
                for there, here in pairs:
                    there.heal_to(here)
            time.sleep(chance.random() * 4)
            now = primary_of(nodes)
            if now is not None:
                changes, was = changes + (now is not was), now
        began = time.monotonic()
        nodes[0].until(lambda: primary_of(nodes) is not None, PATIENCE)
        healed = time.monotonic() - began
        for writer in writers:
            writer.is_over.set()
            writer.thread.join()
        nodes[0].until(lambda: primary_of(nodes) is not None and len({digest(node.db) for node in nodes}) == 1, PATIENCE)
        primary, lost, safe = primary_of(nodes), {1: [], 2: []}, {1: 0, 2: 0}
        for writer in writers:
            found = set(primary.db.command("LRANGE", "list:" + writer.place.name, 0, -1))
            for replicas, numbers in writer.safe.items():
                safe[replicas] += len(numbers)
                lost[replicas] += [number for number in numbers if number not in found]
    told_of = ", ".join("%d x %s" % (count, kind) for kind, count in sorted(counts.items()))
    said = "%s; at least %d changes of role; %d writes that both replicas had, %d lost; %d that one had, %d lost; well again after %.0f s"
    said %= (told_of, changes, safe[2], len(lost[2]), safe[1], len(lost[1]), healed)
    # A replica that is not chosen may vouch for what a primary takes before it is told that it is none; both cannot.
    assert safe[2] > 100 and not lost[2], said
    return said


if __name__ == "__main__":
    sys.exit(run(globals()))
