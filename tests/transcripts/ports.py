"""Ports for the servers of tests, of which several run at the same time."""

import fcntl
import itertools
import os
import random
import socket
import tempfile

# Below those that the system gives to clients, so that no connection takes one between its choice and the server's start.
PORTS = range(10_000, 20_000)
# A byte for each port is locked by the process that has it. All locks of a process end with it.
LOCKS = os.open(os.path.join(tempfile.gettempdir(), "varve-ports"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
CANDIDATES = itertools.cycle(random.sample(PORTS, len(PORTS)))


def free_port():
    """A port that nobody listens on, and that no other process of tests is given until this one ends."""
    for port in itertools.islice(CANDIDATES, len(PORTS)):
        try:
            fcntl.lockf(LOCKS, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
            return port
        except OSError:
            pass  # it is another process's, or something listens there
    raise OSError("no port from %d to %d is free" % (PORTS.start, PORTS.stop - 1))
