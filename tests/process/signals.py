#!/usr/bin/env python3
"""Sends the server named by VARVE_SERVER signals that would end a process which does not expect them, and takes its log file and terminal away.

    VARVE_SERVER=target/release/varve-server tests/process/signals.py [CASE ...]
"""

import fcntl
import os
import pathlib
import pty
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import termios

from run import PATIENCE, Server, run

UNEXPECTED = [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPIPE, signal.SIGXFSZ]


def a_signal_that_means_nothing_does_nothing():
    with Server() as server:
        db = server.connect()
        assert db.command("SET", "k", "v") == b"OK"
        for number in UNEXPECTED:
            server.process.send_signal(number)
        # Those of one number are delivered before a later one is acted upon, which shows in the log.
        server.until(lambda: "Received signal %d, which has no effect" % signal.SIGUSR2 in server.output.read_text())
        assert db.command("GET", "k") == b"v" and server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_with_status() == 0


def a_log_file_that_was_renamed_or_removed_is_begun_anew():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "log")
        with Server("--logfile", path, "--loglevel", "notice") as server:
            db = server.connect()
            rotated = path.with_suffix(".1")
            server.until(lambda: "Ready to accept" in path.read_text())
            path.rename(rotated)
            server.process.send_signal(signal.SIGHUP)
            server.until(lambda: path.exists() and "Received SIGHUP" in path.read_text())
            assert "Ready to accept" in rotated.read_text() and "Received SIGHUP" not in rotated.read_text()
            path.unlink()
            # Without a signal too: any line will do.
            assert db.command("SAVE") == b"OK"
            server.until(lambda: path.exists() and "DB saved on disk" in path.read_text())


def a_terminal_that_is_closed_ends_nothing():
    ours, theirs = pty.openpty()

    def lead_a_session():
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    with tempfile.TemporaryDirectory() as folder:
        command = [*shlex.split(os.environ["VARVE_SERVER"]), "--port", "0", "--unixsocket", folder + "/socket", "--dir", folder, "--save", ""]
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=lead_a_session)
        try:
            os.close(theirs)
            said = b""
            while b"Ready to accept" not in said:
                said += os.read(ours, 1 << 16)
            raw = socket.socket(socket.AF_UNIX)
            raw.settimeout(PATIENCE)
            raw.connect(folder + "/socket")

            def ask(request):
                raw.sendall(request + b"\r\n")
                return raw.recv(100)

            assert ask(b"SET k v") == b"+OK\r\n"
            os.close(ours)
            for _ in range(3):
                assert ask(b"SAVE") == b"+OK\r\n", "it says so in a log that nobody takes"
            assert ask(b"GET k") == b"$1\r\nv\r\n" and process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(run(globals()))
