#!/usr/bin/env python3
"""Runs a program beside a fresh server, whose address is SERVER_ADDR meanwhile. The server must end without a fault.

    VARVE_SERVER=target/release/varve-server tests/with_server.py [--threads N] [--moving] [--tls] COMMAND...

With --moving, connections move between the server's threads at random, as no load would have them do. With --tls the
address is that of TLS, and SERVER_TLS names the folder of the certificates.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "process"))
from certificates import Authority  # noqa: E402
from run import Server, free_port  # noqa: E402


def serve(options, settings, folder):
    """The server, with TLS if that is asked for."""
    if options.tls:
        authority = Authority(folder).person("server").person("client").archive("client")
        settings = [*settings, "--tls-port", free_port(), *authority.settings()]
    return Server("--enable-debug-command", "yes", *settings)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--threads")
    options.add_argument("--moving", action="store_true")
    options.add_argument("--tls", action="store_true")
    options.add_argument("command", nargs=argparse.REMAINDER)
    options = options.parse_args()
    threads = ["--threads", options.threads, "--threads-fixed", "no"] if options.threads else []
    with tempfile.TemporaryDirectory() as folder, serve(options, threads, folder) as server:
        if options.moving:
            assert server.connect().command("DEBUG", "MOVE-CONNECTIONS", 1) == b"OK"
        env = {**os.environ, "SERVER_ADDR": "127.0.0.1:%d" % server.port}
        if options.tls:
            port = server.connect().command("CONFIG", "GET", "tls-port")[1].decode()
            env.update(SERVER_ADDR="127.0.0.1:" + port, SERVER_TLS=folder)
        status = subprocess.run(options.command, env=env, check=False).returncode
        server.process.send_signal(signal.SIGTERM)
        ended = server.ends_with_status()
        if ended != 0:
            print("the server ended with status %d\n%s" % (ended, server.output.read_text()[-4000:]))
    return status or ended != 0


if __name__ == "__main__":
    sys.exit(main())
