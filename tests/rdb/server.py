"""A server that is started for one sample and stopped again."""

import os
import shlex
import subprocess
import time

import expectation  # also finds the protocol
import resp
from ports import free_port


class Server:
    """A running server; `command` may be several words.

    `directory` is where it keeps its files, and `inside` the root folder that it takes for its own, if it runs in one.
    """

    def __init__(self, command, directory, inside="", options=()):
        self.port = free_port()
        self.log = os.path.join(directory, "server.log")
        seen = "/" + os.path.relpath(directory, inside) if inside else directory
        settings = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", seen, "--save", "", *options]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(shlex.split(command) + settings, stdout=log, stderr=log, cwd=directory)
        self.connection = self._connect()

    def _connect(self):
        """Waits until the server answers and has loaded its files."""
        for _ in range(2400):
            if self.process.poll() is not None:
                raise RuntimeError("the server stopped: " + self.last_words())
            try:
                connection = resp.Connection("127.0.0.1:%d" % self.port)
                reply = connection.command("PING")
                if reply == b"PONG":
                    return connection
                connection.close()
            except (OSError, resp.Closed):
                pass
            time.sleep(0.05)
        self.stop()
        raise RuntimeError("the server did not answer: " + self.last_words())

    def last_words(self):
        with open(self.log, errors="replace") as log:
            return " | ".join(log.read().strip().splitlines()[-4:])

    def stop(self):
        """Ends the server without saving."""
        try:
            self.connection.send([b"SHUTDOWN", b"NOSAVE"])
        except (AttributeError, OSError):
            pass
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
