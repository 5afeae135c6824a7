"""Servers behind gates, at which a test sees what passes and lets something go wrong, and clients that write to them."""

import contextlib
import dataclasses
import os
import re
import signal
import socket
import tempfile
import threading
import time

from following import link
from ports import free_port
from replicas import AT_ONCE, DEBUG
from resp import Closed, Connection, Error
from run import PATIENCE, Server

FACTS = b"master_replid:"
# By this a replica tells its primary who it is: by the port of its gate.
TELLS_PORT = re.compile(rb"listening-port\r\n\$\d+\r\n(\d+)\r\n")


class Gate:
    """A port before the one of a node. It hands bytes on in both directions, and shows them to the fault first."""

    def __init__(self, node_port):
        self.node_port, self.listener = node_port, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock, self.sockets, self.is_closed, self.fault = threading.Lock(), set(), False, None
        self.barred, self.known = set(), []  # ports of those that are not let in; what is known of each connection
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
            says = {"FAILOVER": False, "PSYNC": False, "port": None, "sockets": {client, node}}
            with self.lock:
                self.sockets |= {client, node}
                self.known = [it for it in self.known if it["sockets"] & self.sockets] + [says]
            for ends in ((client, node), (node, client)):
                threading.Thread(target=self.hand_on, args=(*ends, says, ends[0] is client), daemon=True).start()

    def hand_on(self, source, sink, says, is_to_node):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                fault, step = self.fault, step_of(data, says, is_to_node)
                if says["port"] in self.barred:
                    break
                if step and fault and fault.is_at(step):
                    first = fault.chance.randrange(len(data) + 1)
                    # What was due strikes also where the other side has gone meanwhile.
                    with contextlib.suppress(OSError):
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

    def bar(self, port):
        """Lets nobody in any more who has this port, and ends what he has here."""
        self.barred.add(port)
        for says in list(self.known):
            if says["port"] == port:
                self.let_go(says["sockets"])

    def open(self):
        self.is_closed = False
        self.barred.clear()


def step_of(data, says, is_to_node):
    """The step of a failover, or of a return behind one, to which bytes belong that pass; None if they belong to none."""
    if is_to_node:
        if told := TELLS_PORT.search(data):
            says["port"] = int(told.group(1))
        says["PSYNC"] |= b"PSYNC" in data
        if b"FAILOVER" in data:
            says["FAILOVER"] = True
            return "the request"
        if b"\r\nACK\r\n" in data:
            return "the acknowledgement"
        return "a return" if b"PSYNC" in data else None
    if says["FAILOVER"] and data[:1] in b"+-":
        return "the answer"
    return "the word to go on" if says["PSYNC"] and data[:9] == b"+CONTINUE" else None


class Node:
    """A server whose files outlast it, known to the others by its gate."""

    def __init__(self, stack):
        self.stack, self.port = stack, free_port()
        self.gate, self.folder = Gate(self.port), stack.enter_context(tempfile.TemporaryDirectory(dir=memory()))
        self.is_alive, self.logs = False, {}

    def begin(self, *settings):
        known_as = ("--replica-announce-ip", "127.0.0.1", "--replica-announce-port", self.gate.port)
        files = ("--dir", self.folder, "--appendonly", "yes", "--appendfsync", "always")
        self.it = self.stack.enter_context(Server(*AT_ONCE, *DEBUG, *files, *known_as, *settings, port=self.port))
        self.logs[self.it.output] = 0
        self.it.db = self.it.connect(PATIENCE)
        self.is_alive = True

    def follow(self, other, *settings):
        self.begin("--replicaof", "127.0.0.1 %d" % other.gate.port, *settings)

    def kill(self):
        self.is_alive = False
        self.it.process.kill()
        self.it.process.wait()

    def signal(self, which):
        if self.is_alive:
            self.it.process.send_signal(which)

    def cut(self, others):
        """Ends all links from and to the others, until all gates are opened."""
        self.gate.close()
        for other in others:
            other.gate.bar(self.gate.port)

    def facts(self):
        return link(self.it)

    def forget(self):
        """Passes over what its logs have so far."""
        self.logs = {self.it.output: self.it.output.stat().st_size}

    def says(self):
        """What its logs have got since then, also those of lives that have ended."""
        said = []
        for output, at in list(self.logs.items()):
            with open(output, "rb") as log:
                log.seek(at)
                said.append(log.read().decode(errors="replace"))
        return "".join(said)


def memory():
    """A folder in memory, where files that are forced to disk after each write cost little."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


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
                # Nobody has sent it on: it looks for a primary by itself.
                time.sleep(0.001)
                node, redirections = self.nodes[(self.nodes.index(node) + 1) % len(self.nodes)], 0

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
