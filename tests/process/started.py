#!/usr/bin/env python3
"""What programs that start the server named by VARVE_SERVER rely on: its configuration, its log, its version, its standing in the background.

    VARVE_SERVER=target/release/varve-server tests/process/started.py [CASE ...]
"""

import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from run import PATIENCE, Closed, Error, Server, run
from ports import free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEGACY = r"\d+:M \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d\.\d{3} [.*#-] .+"


def program():
    """The words that start the server."""
    return shlex.split(os.environ["VARVE_SERVER"])


def taken():
    """Lines of a configuration that the server takes, one for each setting of Valkey and Redis."""
    lines = (ROOT / "crates/settings/src/file/known.txt").read_text().split("\n# Refused")[0].splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def a_configuration_with_all_settings_of_other_servers_starts():
    # These would make the server hard to reach here, or need what this machine may not have.
    own = ("aclfile aof-load-truncated appendonly bind bgsave aof-rewrite-cpulist aof_rewrite_cpulist commandlog- daemonize databases dir "
           "enable- import-mode key-load-delay logfile log- maxclients maxmemory oom-score pidfile port protected-mode rdb-key-save-delay "
           "replicaof requirepass save slaveof slowlog- supervised timeout tls-cluster tls-port tls-replication unixsocket").split()  # fmt: skip
    config = [line for line in taken() if not line.startswith(tuple(own))]
    assert len(config) > 180, len(config)
    with Server(config="\n".join(config)) as server:
        db = server.connect()
        assert db.command("PING") == b"PONG"
        assert db.command("CONFIG", "GET", "io-threads") == [b"io-threads", b"4"]
        assert db.command("CONFIG", "GET", "masterauth") == [b"masterauth", b"other"]
        log = server.output.read_text()
        for name in ("io-threads", "cluster-node-timeout", "syslog-ident", "active-defrag-cycle-us"):
            assert log.count("`%s` has no effect" % name) == 1, name
        assert db.command("CONFIG", "SET", "cluster-node-timeout", "61") == b"OK"
        assert server.output.read_text().count("`cluster-node-timeout` has no effect") == 2
        assert db.command("CONFIG", "REWRITE") == b"OK"
        assert "user default on nopass" in server.config.read_text()


def what_would_be_open_or_lost_without_it_is_refused_with_what_to_do():
    for line in ("rdma-port 6380", "cluster-enabled yes",
                 'rename-command FLUSHALL ""'):  # fmt: skip
        server = Server(config=line)
        try:
            assert server.ends_with_status() == 1
            assert "remove the line" in server.output.read_text(), server.output.read_text()
        finally:
            server.__exit__()


def lines_of_the_log_have_the_form_of_valkey():
    with tempfile.TemporaryDirectory() as folder, Server("--unixsocket", folder + "/socket", "--io-threads", 3) as server:
        server.connect().command("PING")
        server.until(lambda: "unix" in server.output.read_text())
        lines = server.output.read_text().splitlines()
        assert all(re.fullmatch(LEGACY, line) for line in lines), lines
        for text in ("* Running mode=standalone, port=%d." % server.port, "* Ready to accept connections tcp", "* Ready to accept connections unix"):
            assert any(line.endswith(text) for line in lines), (text, lines)
        assert any(" # `io-threads` has no effect" in line for line in lines), lines
        server.process.send_signal(signal.SIGTERM)
        assert server.ends_with_status() == 0
        lines = server.output.read_text().splitlines()
        assert all(re.fullmatch(LEGACY, line) for line in lines), lines
        assert lines[-1].endswith("is now ready to exit, bye bye..."), lines


def the_form_of_lines_can_be_changed():
    with Server("--log-format", "json", "--log-timestamp-format", "milliseconds") as server:
        db = server.connect()
        server.until(lambda: "Ready" in server.output.read_text())
        ready = [line for line in map(json.loads, server.output.read_text().splitlines()) if line["message"].startswith("Ready")][0]
        assert ready["pid"] == server.process.pid and ready["role"] == "primary" and ready["level"] == "notice", ready
        assert abs(int(ready["timestamp"]) / 1000 - time.time()) < 60, ready
        for form, stamp, pattern in [
            ("logfmt", "iso8601", r'pid=\d+ role=primary timestamp="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d" level=warning message="[^"]+"'),
            ("plain", "legacy", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  WARN .+"),
            ("legacy", "legacy", LEGACY),
        ]:
            assert db.command("CONFIG", "SET", "log-format", form, "log-timestamp-format", stamp, "io-threads", len(form)) == b"OK"
            last = server.output.read_text().splitlines()[-1]
            assert re.fullmatch(pattern, last), last


def why_a_start_has_failed_stands_in_the_log_file_too():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Server("--bind", "127.0.0.1", "--port", port, "--logfile", "server.log", config="io-threads 2\n")
        log = pathlib.Path(server.folder, "server.log")
        try:
            assert server.ends_with_status() == 1
            # A relative path starts at `dir`.
            text = log.read_text()
            assert "Could not create server TCP listening socket 127.0.0.1:%d: bind: Address already in use" % port in text, text
            assert "Failed listening on port %d (tcp), aborting." % port in text, text
            assert "Address already in use" in server.output.read_text()
        finally:
            server.__exit__()


def the_version_is_that_of_info():
    with Server() as server:
        info = server.connect().command("INFO", "server").decode()
        version, own = (re.search(name + r"_version:(\S+)", info).group(1) for name in ("valkey", "varve"))
        for option in ("-v", "--version"):
            line = subprocess.run([*program(), option], capture_output=True, text=True, check=True).stdout
            assert re.fullmatch(r"Varve server v=%s .*\bmalloc=\S+ bits=64 .*varve=%s\n" % (re.escape(version), re.escape(own)), line), line
            assert re.search(r"v=(\d+\.\d+\.\d+)", line).group(1) == version


def a_server_in_the_background_has_left_the_program_that_started_it():
    with tempfile.TemporaryDirectory() as place:
        folder, port = pathlib.Path(place), free_port()
        pid_file, log = folder / "pid", folder / "log"
        options = ["--port", str(port), "--dir", str(folder), "--save", "", "--pidfile", str(pid_file), "--logfile", str(log)]
        config = "daemonize yes\ntimeout 77\n"
        # What is read from standard input reaches the server too.
        started = subprocess.run([*program(), "-", *options], input=config, capture_output=True, text=True, timeout=PATIENCE)
        pid = None
        try:
            assert started.returncode == 0 and not started.stdout + started.stderr, started
            deadline = time.monotonic() + PATIENCE
            while not (pid_file.exists() and pid_file.read_text().endswith("\n") and "Ready to accept" in log.read_text()):
                assert time.monotonic() < deadline, log.read_text() if log.exists() else "no log"
                time.sleep(0.005)
            pid = int(pid_file.read_text())
            assert os.getsid(pid) == pid != os.getsid(0)
            assert [os.readlink("/proc/%d/fd/%d" % (pid, number)) for number in (1, 2)] == ["/dev/null"] * 2
            server = Server.__new__(Server)
            server.port = port
            db = server.connect()
            assert db.command("CONFIG", "GET", "timeout") == [b"timeout", b"77"]
            assert all(re.fullmatch(LEGACY, line) and line.startswith("%d:" % pid) for line in log.read_text().splitlines()), log.read_text()
            db.send([b"SHUTDOWN", b"NOSAVE"])
            deadline = time.monotonic() + PATIENCE
            while pathlib.Path("/proc/%d/stat" % pid).exists() and " Z " not in pathlib.Path("/proc/%d/stat" % pid).read_text():
                assert time.monotonic() < deadline, "it does not end"
                time.sleep(0.005)
            assert not pid_file.exists()
            pid = None
        finally:
            if pid:
                os.kill(pid, signal.SIGKILL)
    # What is wrong is told by the program that was started.
    wrong = subprocess.run([*program(), "--daemonize", "yes", "--logfile", "/nosuch/folder/log"], capture_output=True, text=True, timeout=PATIENCE)
    assert wrong.returncode == 1 and "opening the log file" in wrong.stderr, wrong


def systemd_is_told_when_the_server_is_ready_and_when_it_ends():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.bind(folder + "/notify")
        notices.settimeout(PATIENCE)
        os.environ["NOTIFY_SOCKET"] = folder + "/notify"
        try:
            with Server("--supervised", "systemd", "--daemonize", "yes") as server:
                assert b"READY=1\n" in notices.recv(1000)
                assert b"process_supervised:systemd\r\n" in server.connect().command("INFO", "server")
                server.process.send_signal(signal.SIGTERM)
                assert notices.recv(1000) == b"STOPPING=1\n"
                assert server.ends_with_status() == 0
        finally:
            del os.environ["NOTIFY_SOCKET"]
    with Server("--supervised", "systemd") as server:
        assert "NOTIFY_SOCKET not found" in server.output.read_text()


def the_group_of_a_unix_socket_can_be_chosen():
    groups = dict(line.split(":")[0:3:2] for line in pathlib.Path("/etc/group").read_text().splitlines())
    name = next((name for name, number in groups.items() if int(number) in set(os.getgroups()) | ({2} if os.geteuid() == 0 else set())), None)
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/socket"
        if name:
            with Server("--unixsocket", path, "--unixsocketgroup", name, "--unixsocketperm", "770") as server:
                # The socket is there before it is anybody's: who is answered finds it as it was asked for.
                assert server.connect().command("PING") == b"PONG"
                status = os.stat(path)
                assert status.st_gid == int(groups[name]) and status.st_mode & 0o777 == 0o770, status
        else:
            print("skipped  a group that can be chosen: this process is in none that /etc/group names")
        server = Server("--unixsocket", path, "--unixsocketgroup", "no such group")
        try:
            assert server.ends_with_status() == 1 and "/etc/group has no group" in server.output.read_text()
        finally:
            server.__exit__()


def debug_sleep_freezes_the_whole_server():
    seconds, number = 1, 8
    with Server("--threads", "4", "--enable-debug-command", "yes") as server, Server() as other:
        sleeper, gaps, replies, is_over = server.connect(), [0.0] * number, [0] * number, threading.Event()

        def ping(at, client):
            before = time.monotonic()
            while not is_over.wait(0.02):
                assert client.command("PING") == b"PONG"
                now = time.monotonic()
                gaps[at], before, replies[at] = max(gaps[at], now - before), now, replies[at] + 1

        threads = [threading.Thread(target=ping, args=(at, server.connect()), daemon=True) for at in range(number)]
        for thread in threads:
            thread.start()
        for request in ([("DEBUG", "SLEEP", seconds)], [("MULTI",), ("DEBUG", "SLEEP", seconds), ("EXEC",)]):
            server.until(lambda: min(replies) > 0)
            gaps[:] = [0.0] * number
            for words in request:
                Server.send(sleeper, *words)
            answers = [sleeper.read() for _ in request]
            assert not any(isinstance(answer, Error) for answer in answers), answers
            # The first reply behind the pause ends the gap.
            before = list(replies)
            server.until(lambda: all(now > then for now, then in zip(replies, before)))
            # Without a pause they are fiftieths of a second. A thread that is kept from running notes its last reply late.
            assert min(gaps) > 0.5 * seconds, gaps
        is_over.set()
        for thread in threads:
            thread.join(PATIENCE)
        # Who moves a key to it gives up, and keeps the key.
        db = other.connect()
        assert db.command("SET", "k", "v") == b"OK"
        Server.send(sleeper, "DEBUG", "SLEEP", 60)
        probe = server.connect(0.2)
        try:
            for _ in range(10000):
                probe.command("PING")
            raise AssertionError("it is not frozen")
        except (Closed, TimeoutError):
            pass
        assert db.command("MIGRATE", "127.0.0.1", server.port, "k", 0, 100).startswith(b"IOERR")
        assert db.command("GET", "k") == b"v"


if __name__ == "__main__":
    sys.exit(run(globals()))
