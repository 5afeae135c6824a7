#!/usr/bin/env python3
"""Runs a program beside a fresh server, whose address is SERVER_ADDR meanwhile. The server must end without a fault.

    VARVE_SERVER=target/release/varve-server tests/with_server.py [--threads N] [--moving] COMMAND...

With --moving, connections move between the server's threads at random, as no load would have them do.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "process"))
from run import Server  # noqa: E402


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--threads")
    options.add_argument("--moving", action="store_true")
    options.add_argument("command", nargs=argparse.REMAINDER)
    options = options.parse_args()
    threads = ["--threads", options.threads, "--threads-fixed", "no"] if options.threads else []
    with Server("--enable-debug-command", "yes", *threads) as server:
        if options.moving:
            assert server.connect().command("DEBUG", "MOVE-CONNECTIONS", 1) == b"OK"
        address = "127.0.0.1:%d" % server.port
        status = subprocess.run(options.command, env={**os.environ, "SERVER_ADDR": address}, check=False).returncode
        server.process.send_signal(signal.SIGTERM)
        ended = server.ends_with_status()
        if ended != 0:
            print("the server ended with status %d\n%s" % (ended, server.output.read_text()[-4000:]))
    return status or ended != 0


if __name__ == "__main__":
    sys.exit(main())
