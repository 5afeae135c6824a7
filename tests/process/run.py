#!/usr/bin/env python3
"""Starts the server named by VARVE_SERVER again and again, and checks what belongs to the process: configuration, signals, limits.

    VARVE_SERVER=target/release/varve-server tests/process/run.py [CASE ...]
"""

import ctypes
import functools
import inspect
import os
import pathlib
import random
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "transcripts"))
from ports import free_port  # noqa: E402
from resp import Closed, Connection, Error, Tagged  # noqa: E402

PATIENCE = 120  # seconds until something that must happen counts as not happening: a machine that is busy is no failure


def allow_descriptors():
    """Lets this process, and the servers that it starts, open as many files as the system allows; how many that are."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def allow_no_more_than(descriptors):
    """Bounds the files that this process may open, for good: also where it would be allowed to raise its limits."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    drop_from_bounding_set, of_limits = 24, 24
    ctypes.CDLL(None).prctl(drop_from_bounding_set, of_limits, 0, 0, 0)


def spread(settings):
    """Settings by which a test that names the number of threads has clients on each of them, though none is busy."""
    return ["--threads-fixed", "yes"] if "--threads" in settings and "--threads-fixed" not in settings else []


class Server:
    """A server process with a folder of its own; stopped and removed at the end of a `with` block."""

    awaits_data = True  # or clients may be told LOADING, also of files that are made at the start
    host = "127.0.0.1"
    before = ()  # words before those that start it

    def __init__(self, *settings, config=None, descriptors=None, port=None):
        self.folder = tempfile.mkdtemp(prefix="varve-process-")
        self.port = port or free_port()
        command = [*self.before, *shlex.split(os.environ["VARVE_SERVER"])]
        if config is not None:
            self.config = pathlib.Path(self.folder, "varve.conf")
            self.config.write_text(config)
            command.append(str(self.config))
        command += ["--port", str(self.port), "--dir", self.folder, "--save", "", *map(str, settings), *spread(settings)]
        self.has_log = "--logfile" in command
        self.output = pathlib.Path(self.folder, "output")
        with open(self.output, "wb") as output:
            limit = descriptors and functools.partial(allow_no_more_than, descriptors)
            self.process = subprocess.Popen(command, stdout=output, stderr=output, preexec_fn=limit)

    def __enter__(self):
        self.until(lambda: self.process.poll() is not None or self.reachable() and self.has_data())
        assert self.process.poll() is None, "the server did not start: " + self.output.read_text()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def until(self, condition, patience=PATIENCE):
        """Waits for a condition."""
        deadline = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in %d s" % patience
            time.sleep(0.005)

    def reachable(self):
        """True when the port accepts connections."""
        try:
            self.connect().close()
            return True
        except OSError:
            return False

    def has_data(self):
        """False while clients may be told LOADING. With a log of its own that is not seen."""
        return not self.awaits_data or self.has_log or "Ready to accept connections" in self.output.read_text()

    def connect(self, patience=PATIENCE):
        """A new connection."""
        return Connection("%s:%d" % (self.host, self.port), patience)

    @staticmethod
    def send(client, *words):
        """Sends a command without reading the reply."""
        client.send([str(word).encode() for word in words])

    def ends_with_status(self):
        """The exit status of a process that ends by itself."""
        return self.process.wait(PATIENCE)

    def resident_kib(self, field="VmRSS"):
        """Resident memory of the process."""
        for line in pathlib.Path("/proc/%d/status" % self.process.pid).read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        return 0

    def resident_mib(self, field="VmRSS"):
        """The same in whole megabytes, rounded down."""
        return self.resident_kib(field) // 1024

    def resident_peak_mib(self):
        """The most resident memory that the process ever had."""
        return self.resident_mib("VmHWM")


def a_bad_line_in_the_file_ends_the_start_and_is_named():
    for config, line, words in [
        ("# fine\ntimeout 0\ntimeout abc\n", "3", ["timeout"]),
        ("nosuchsetting 1\n", "1", ["nosuchsetting"]),
        ("databases 16\n\nmaxmemory-policy perhaps\n", "3", ["maxmemory-policy", "noeviction"]),
        ("tcp-keepalive -1\n", "1", ["tcp-keepalive"]),
        ("maxmemory\n", "1", ["maxmemory"]),
    ]:
        server = Server(config=config)
        try:
            assert server.ends_with_status() != 0
            output = server.output.read_text()
            for word in ["line " + line, *words]:
                assert word in output, "%r does not name %r: %s" % (config, word, output)
        finally:
            server.__exit__()


def the_command_line_wins_over_the_file():
    with Server("--maxmemory", "64mb", config='timeout 77\nmaxmemory 10mb\nrequirepass "with space"\n') as server:
        db = server.connect()
        assert isinstance(db.command("GET", "k"), Error)
        assert db.command("AUTH", "with space") == b"OK"
        assert db.command("CONFIG", "GET", "timeout") == [b"timeout", b"77"]
        assert db.command("CONFIG", "GET", "maxmemory") == [b"maxmemory", b"67108864"]


def config_rewrite_keeps_comments_and_saves_what_was_set():
    with Server(config="# a comment of mine\ntimeout 77\n") as server:
        db = server.connect()
        assert db.command("CONFIG", "SET", "timeout", "88", "maxclients", "500") == b"OK"
        assert db.command("CONFIG", "REWRITE") == b"OK"
        text = server.config.read_text()
        assert "# a comment of mine" in text and "timeout 88" in text and "maxclients 500" in text, text
        with Server(config=text.replace("port %d" % server.port, "")) as second:
            assert second.connect().command("CONFIG", "GET", "timeout") == [b"timeout", b"88"]


def config_rewrite_without_a_file_is_an_error():
    with Server() as server:
        assert server.connect().command("CONFIG", "REWRITE") == b"ERR The server is running without a config file"


def a_port_in_use_ends_the_start():
    with Server() as server:
        second = Server("--port", server.port)
        try:
            assert second.ends_with_status() != 0
        finally:
            second.__exit__()
        assert server.connect().command("PING") == b"PONG"


def sigterm_and_sigint_end_it_cleanly():
    for number in (signal.SIGTERM, signal.SIGINT):
        with Server() as server:
            server.process.send_signal(number)
            assert server.ends_with_status() == 0


def shutdown_ends_it_cleanly():
    for arguments in (["NOSAVE"], []):
        with Server("--save", "") as server:
            db = server.connect()
            assert isinstance(db.command("SHUTDOWN", "BADOPTION"), Error)
            db.send([b"SHUTDOWN", *(word.encode() for word in arguments)])
            assert db.at_end()
            assert server.ends_with_status() == 0


def who_sees_the_end_of_a_connection_finds_nobody_at_the_port():
    for _ in range(5):
        with Server("--threads", "4") as server:
            clients = [server.connect() for _ in range(8)]
            clients[0].send([b"SHUTDOWN", b"NOSAVE"])
            for client in clients:
                assert client.at_end()
                assert not server.reachable()
            assert server.ends_with_status() == 0


def a_unix_socket_answers():
    with Server() as probe:
        path = os.path.join(probe.folder, "socket")
        with Server("--unixsocket", path, "--unixsocketperm", "700") as server:
            server.until(lambda: os.path.exists(path))
            raw = socket.socket(socket.AF_UNIX)
            raw.connect(path)
            raw.sendall(b"PING\r\n")
            assert raw.recv(100) == b"+PONG\r\n"
            assert os.stat(path).st_mode & 0o777 == 0o700


def one_client_too_many_is_refused():
    with Server("--maxclients", "3") as server:
        clients = []
        has_one_client = lambda db: b"connected_clients:1\r\n" in db.command("INFO", "clients")
        server.until(lambda: clients.append(server.connect()) or has_one_client(clients[-1]) or clients.clear())
        clients += [server.connect() for _ in range(2)]
        for db in clients:
            assert db.command("PING") == b"PONG"
        fourth = server.connect()
        assert fourth.read() == b"ERR max number of clients reached"
        assert fourth.at_end()
        clients.pop().close()

        def accepted():
            try:
                return server.connect().command("PING") == b"PONG"
            except Closed:
                return False

        server.until(accepted)


def clients_leave_the_descriptors_that_the_server_needs_itself():
    """More connections press than files may be open: snapshots, rotations and MIGRATE go on, and `maxclients` is what is left."""
    allow_descriptors()
    number, pressing = 1024, 1100
    with Server() as other, Server("--threads", "2", "--appendonly", "yes", descriptors=number) as server:
        db = server.connect()
        most = int(db.command("CONFIG", "GET", "maxclients")[1])
        assert number - 48 <= most <= number - 32, most
        assert "maxclients has been reduced to %d" % most in server.output.read_text()
        clients = [server.connect() for _ in range(pressing)]
        opened = lambda: len(os.listdir("/proc/%d/fd" % server.process.pid))
        server.until(lambda: info_of(db, "clients", "connected_clients") == most)
        for kind, words in (("last_bgsave", ["BGSAVE"]), ("aof_last_bgrewrite", ["BGREWRITEAOF"]), ("last_bgsave", ["SAVE"])):
            assert not isinstance(db.command("SET", "k", "v" * 1000), Error)
            assert not isinstance(reply := db.command(*words), Error), reply
            server.until(lambda: info_of(db, "persistence", "rdb_bgsave_in_progress") + info_of(db, "persistence", "aof_rewrite_in_progress") == 0)
            assert b"%s_status:ok" % kind.encode() in db.command("INFO", "persistence")
        for at in range(20):
            assert db.command("SET", "moved%d" % at, "v") == b"OK"
            assert db.command("MIGRATE", ("127.0.0.1", "localhost")[at % 2], other.port, "moved%d" % at, at % 4, 5000) == b"OK"
        used = opened()
        assert used < number, used
        assert info_of(db, "stats", "rejected_connections") >= pressing - most
        print("%d of %d files are open with %d clients, %d are kept back" % (used, number, most, number - most))
        refused = "ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able to handle the specified number of clients, try with %d"
        assert db.command("CONFIG", "SET", "maxclients", 5000) == (refused % most).encode()
        assert db.command("CONFIG", "GET", "maxclients") == [b"maxclients", b"%d" % most]
        assert db.command("CONFIG", "SET", "maxclients", most - 1) == b"OK" and db.command("CONFIG", "SET", "maxclients", most) == b"OK"
        for client in clients:
            client.close()


def info_of(db, section, field):
    """A field of a section of INFO as a number."""
    lines = db.command("INFO", section).split(b"\r\n")
    return next(int(line.split(b":")[1]) for line in lines if line.startswith(field.encode() + b":"))


def too_few_descriptors_end_the_start_and_are_named():
    server = Server("--threads", "2", "--maxclients", "100", descriptors=24)
    try:
        assert server.ends_with_status() != 0
        output = server.output.read_text()
        assert "Your current 'ulimit -n' of 24 is not enough for the server to start" in output, output
    finally:
        server.__exit__()


def sets(db, count, size, at_once=100):
    """Sets so many keys of values of this size; the number of those that were refused."""
    refused, value = 0, b"v" * size
    for first in range(0, count, at_once):
        words = [b"$3\r\nSET\r\n$%d\r\nkey:%d\r\n$%d\r\n%s\r\n" % (len("key:%d" % at), at, size, value) for at in range(first, first + at_once)]
        db.send_bytes(b"".join(b"*3\r\n" + each for each in words))
        replies = [db.read() for _ in range(at_once)]
        assert all(reply == b"OK" or reply.startswith(b"OOM ") for reply in replies), replies[:3]
        refused += sum(isinstance(reply, Error) for reply in replies)
    return refused


LRU = ("--maxmemory-policy", "allkeys-lru", "--maxmemory")


def a_small_limit_of_memory_holds_the_keys_that_fit_and_refuses_none():
    """What the server has for itself does not count: a limit of 8 MB is for data."""
    for limit, threads, least in (("8mb", 1, 4800), ("8mb", 2, 4800), ("16mb", 4, 11000), ("32mb", 2, 26000)):
        with Server("--threads", threads, *LRU, limit) as server:
            db = server.connect()
            assert sets(db, 60000, 1000) == 0, limit
            keys, used, most = db.command("DBSIZE"), int(info_of(db, "memory", "used_memory")), int(info_of(db, "memory", "maxmemory"))
            assert keys > least and used <= most, (limit, threads, keys, used)
        print("%5s, %d threads: %d keys of 1,000 bytes" % (limit, threads, keys))


def more_data_than_the_limit_is_loaded_and_evicted_down_to_it():
    with tempfile.TemporaryDirectory() as folder:
        there = ("--threads", "2", "--dir", folder, "--appendonly", "yes", "--auto-aof-rewrite-percentage", "0")
        with Server(*there) as server:
            server.until(lambda: "Ready to accept" in server.output.read_text())
            db = server.connect()
            assert sets(db, 20000, 1000) == 0
            db.send([b"SHUTDOWN", b"NOSAVE"])
            assert server.ends_with_status() == 0
        with Server(*there, *LRU, "8mb") as server:
            server.until(lambda: "Ready to accept" in server.output.read_text())
            db = server.connect()
            server.until(lambda: int(info_of(db, "memory", "used_memory")) <= 8 << 20)
            time.sleep(0.5)
            keys = db.command("DBSIZE")
            assert keys > 3500, keys
            assert sets(db, 5000, 1000) == 0
            # What waits for the file does not count, however slow the disk is.
            left, waiting = db.command("DBSIZE"), int(info_of(db, "memory", "mem_aof_buffer"))
            print("%d of 20,000 keys are kept, %d behind 5,000 SETs with %d KiB for the file" % (keys, left, waiting >> 10))
            assert left > 3500, left


def a_limit_that_nothing_fits_into_refuses_or_evicts_at_once():
    for limit in ("1", "1kb", "100kb", "1mb", "1500kb"):
        for policy in ("noeviction", "allkeys-lru"):
            with Server("--threads", "2", "--maxmemory-policy", policy, "--maxmemory", limit) as server:
                db = server.connect()
                refused = sets(db, 300, 1000)
                assert refused > 100 or policy != "noeviction", (limit, policy, refused)
                assert db.command("DBSIZE") <= 300 and db.command("PING") == b"PONG"
                assert limit == "1500kb" or "`maxmemory`" in server.output.read_text(), limit
                assert db.command("CONFIG", "SET", "maxmemory", "64mb") == b"OK"
                server.until(lambda: sets(db, 100, 1000) == 0)
                assert db.command("CONFIG", "SET", "maxmemory", limit) == b"OK"
                server.until(lambda: policy == "noeviction" or db.command("DBSIZE") < 100)
                assert db.command("PING") == b"PONG"


def many_threads_share_a_small_limit():
    with Server("--threads", "64", *LRU, "16mb") as server:
        clients = [server.connect() for _ in range(64)]
        for round in range(4):
            for db in clients:
                assert sets(db, 300, 1000) == 0
        assert clients[0].command("DBSIZE") == 300 and sets(clients[0], 20000, 1000) == 0
        assert clients[0].command("DBSIZE") > 4000
        for large in range(3):
            assert clients[1].command("SET", "large:%d" % large, b"x" * (2 << 20)) == b"OK"
        assert sets(clients[2], 2000, 100) == 0


def ten_thousand_idle_connections_are_kept():
    hard = allow_descriptors()
    number = min(10000, hard - 500 if hard > 0 else 10000)
    with Server("--maxclients", number + 100) as server:
        idle = [server.connect() for _ in range(number)]
        db = server.connect()
        server.until(lambda: b"connected_clients:%d\r\n" % (number + 1) in db.command("INFO", "clients"))
        assert server.resident_mib() < 400, "%d MiB" % server.resident_mib()
        for connection in idle[:: max(1, number // 100)]:
            assert connection.command("PING") == b"PONG"
        for connection in idle:
            connection.close()
        server.until(lambda: b"connected_clients:1\r\n" in db.command("INFO", "clients"))


def a_client_that_never_reads_is_closed_at_its_limit():
    with Server("--client-output-buffer-limit", "normal 4mb 0 0") as server:
        db, deaf = server.connect(), socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        deaf.settimeout(PATIENCE)
        deaf.connect(("127.0.0.1", server.port))
        db.command("SET", "k", "x" * (1 << 20))

        def closed_after_more_requests():
            try:
                deaf.sendall(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" * 10)
            except OSError:
                return True
            return False

        server.until(closed_after_more_requests)
        assert server.resident_mib() < 300
        assert db.command("STRLEN", "k") == 1 << 20


def a_request_beyond_the_query_buffer_limit_is_closed():
    with Server("--client-query-buffer-limit", "1mb") as server:
        greedy = server.connect()
        greedy.send_bytes(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8000000\r\n")
        for _ in range(8):
            greedy.send_bytes(b"x" * 1000000)
        assert greedy.at_end()
        assert server.connect().command("EXISTS", "k") == 0


def announced_lengths_cost_no_memory():
    with Server() as server:
        before = server.resident_mib()
        announcing = []
        for head in (b"*2147483647\r\n$4\r\nPING\r\n", b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\nabc", b"*1000000\r\n"):
            for _ in range(100):
                connection = server.connect()
                connection.send_bytes(head)
                announcing.append(connection)
        db = server.connect()
        server.until(lambda: b"connected_clients:301\r\n" in db.command("INFO", "clients"))
        assert server.resident_mib() < before + 200, "%d MiB, %d before" % (server.resident_mib(), before)


def every_request_of_many_deep_pipelines_is_answered():
    """A connection that was not read to the end goes on in the next turn, whatever else comes for it meanwhile."""
    request, reply, full = b"GET 0123456789\r\n", b"$-1\r\n", 1024  # so many requests fill a read
    with Server("--threads", "1") as server:
        clients = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(8)]
        for client in clients:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for counts in [(full, 1), (full, 1, 1), (3 * full,)] * 100:
            for count in counts:
                for client in clients:
                    client.sendall(request * count)
            for client in clients:
                missing = sum(counts) * len(reply)
                while missing > 0:
                    missing -= len(client.recv(65536))
                assert missing == 0


def an_idle_client_is_closed_after_the_timeout():
    with Server("--timeout", "1") as server:
        assert server.connect().at_end()


def the_largest_value_is_kept_whole():
    chunk, pieces = os.urandom(1 << 20), 512
    with Server() as server:
        db = Connection("127.0.0.1:%d" % server.port, 120)
        db.send_bytes(b"*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$%d\r\n" % (len(chunk) * pieces))
        for _ in range(pieces):
            db.send_bytes(chunk)
        db.send_bytes(b"\r\n")
        assert db.read() == b"OK"
        assert db.command("STRLEN", "large") == 1 << 29
        for start in (0, 1, 300 * len(chunk) + 12345, (1 << 29) - 100):
            end = min(start + 99, (1 << 29) - 1)
            assert db.command("GETRANGE", "large", start, end) == (chunk + chunk)[start % len(chunk) :][: end - start + 1]
        assert isinstance(db.command("APPEND", "large", "x"), Error)
        assert db.command("SETRANGE", "large", (1 << 29) - 3, "end") == 1 << 29
        assert db.command("GETRANGE", "large", -4, -1)[1:] == b"end"
        assert db.command("DEL", "large") == 1


def waiting_clients_are_served_in_the_order_in_which_they_came():
    """Three hundred clients of several threads wait for one list; each gets one element, in its turn."""
    with Server("--threads", "3") as server:
        db, clients = server.connect(), [server.connect() for _ in range(300)]

        def waiting():
            lines = db.command("INFO", "clients").split(b"\r\n")
            return next(int(line.split(b":")[1]) for line in lines if line.startswith(b"blocked_clients:"))

        for number, client in enumerate(clients):
            server.send(client, "BLPOP", "other", "queue", 0)
            server.until(lambda: waiting() > number)
        for client in clients[::10]:
            client.close()
        server.until(lambda: waiting() == 270)
        for number in range(0, 270, 3):
            db.command("RPUSH", "queue", number, number + 1, number + 2)
        left = [client for number, client in enumerate(clients) if number % 10]
        for number, client in enumerate(left):
            assert client.read() == [b"queue", str(number).encode()], number
        assert (db.command("EXISTS", "queue"), waiting()) == (0, 0)


def what_is_pushed_comes_to_one_of_those_who_wait():
    """Clients wait for several lists, pass elements on to lists for which others wait, and take them away beside that."""
    chance, queues, pushed, taken = random.Random(2), ["queue%d" % number for number in range(5)], 0, []
    with Server("--threads", "4") as server:
        db, clients, pushers = server.connect(), [server.connect() for _ in range(32)], [server.connect() for _ in range(4)]
        for _ in range(100):
            for client in clients:
                asked = chance.sample(queues, chance.randint(1, 3))
                kind = chance.choice(["BLPOP", "BLPOP", "BLMOVE", "BLMPOP", "LPOP"])
                if kind == "BLPOP":
                    server.send(client, kind, *asked, 0.02)
                elif kind == "BLMOVE":
                    server.send(client, kind, *chance.sample(queues, 2), "LEFT", "RIGHT", 0.02)
                elif kind == "BLMPOP":
                    server.send(client, kind, 0.02, len(asked), *asked, "RIGHT", "COUNT", 3)
                else:
                    server.send(client, kind, asked[0])
                client.asked = kind
            for client in pushers:
                count = chance.randint(1, 4)
                server.send(client, "RPUSH", chance.choice(queues), *range(pushed, pushed + count))
                pushed += count
            for client in pushers:
                assert not isinstance(client.read(), Error)
            for client in clients:
                reply = client.read()
                assert not isinstance(reply, Error), reply
                if not isinstance(reply, Tagged) and client.asked != "BLMOVE":
                    elements = reply[1] if isinstance(reply, list) else reply
                    taken += elements if isinstance(elements, list) else [elements]
        for queue in queues:
            taken += db.command("LRANGE", queue, 0, -1)
        assert sorted(map(int, taken)) == list(range(pushed))


def a_pause_inside_a_transaction_lets_nobody_between_its_commands_and_locks_nobody_out():
    """Who empties or swaps databases waits for the end of a transaction that sleeps in the middle."""
    others = [("FLUSHALL",), ("SWAPDB", 0, 1), ("FUNCTION", "FLUSH"), ("DEBUG", "POPULATE", 1000), ("SET", "k", 2)]
    pauses = [("DEBUG", "SLEEP", 0.3), ("DEBUG", "POPULATE", 20000, "many")]
    with Server("--threads", "2", "--enable-debug-command", "yes") as server:
        clients = [server.connect() for _ in range(2)]
        for at, (other, pause) in enumerate((other, pause) for pause in pauses for other in others):
            one, two = clients[at % 2], clients[1 - at % 2]
            assert one.command("SET", "k", 1) == b"OK" and one.command("WATCH", "k") == b"OK"
            for request in [("MULTI",), ("SET", "y", at), pause, ("GET", "y"), ("EXEC",)]:
                server.send(one, *request)
            time.sleep(0.1)
            assert not isinstance(two.command(*other), Error), other
            assert [one.read() for _ in range(4)][-1] == b"QUEUED"
            assert one.read() == [b"OK", b"OK", b"%d" % at], (other, pause)
        assert one.command("MULTI") == b"OK"
        for request in [("FLUSHALL",), ("DEBUG", "SLEEP", 0.01), ("DEBUG", "POPULATE", 1000), ("DBSIZE",)]:
            assert one.command(*request) == b"QUEUED"
        assert one.command("EXEC") == [b"OK", b"OK", b"OK", 1000]


def what_many_clients_move_at_once_is_neither_lost_nor_doubled():
    """Elements go from list to list and from set to set, through small forms and large ones, under a limit of memory."""
    chance, lists, members = random.Random(1), 12, 6000
    with Server("--threads", "3", "--maxmemory", "64mb") as server:
        db, clients = server.connect(), [server.connect() for _ in range(16)]
        for number in range(members):
            db.command("RPUSH", "list%d" % (number % lists), "token%d" % number)
            db.command("SADD", "set%d" % (number % lists), "token%d" % number)
        for _ in range(150):
            for client in clients:
                for _ in range(16):
                    one, other = chance.randrange(lists), chance.randrange(lists)
                    ends = [chance.choice(["LEFT", "RIGHT"]) for _ in range(2)]
                    server.send(client, "LMOVE", "list%d" % one, "list%d" % other, *ends)
                    server.send(client, "SMOVE", "set%d" % one, "set%d" % other, "token%d" % chance.randrange(members))
                server.send(client, "BLMOVE", "list%d" % one, "list%d" % other, *ends, 0.01)
            for client in clients:
                assert not any(isinstance(client.read(), Error) for _ in range(33))
        expected = sorted(b"token%d" % number for number in range(members))
        for name, command in (("list", ("LRANGE", "0", "-1")), ("set", ("SMEMBERS",))):
            found = [db.command(command[0], "%s%d" % (name, number), *command[1:]) for number in range(lists)]
            assert sorted(element for part in found for element in part) == expected, name


def run(names):
    """Runs the cases among the names of a program, or those that its arguments choose; its exit status. What a case returns is printed."""
    cases = [value for value in names.values() if callable(value) and getattr(value, "__module__", "") == "__main__"]
    is_helper = lambda case: inspect.isgeneratorfunction(inspect.unwrap(case))
    is_case = lambda case: "_" in case.__name__ and not inspect.signature(case).parameters and not is_helper(case)
    cases = [case for case in cases if is_case(case) and case.__name__ != "allow_descriptors"]
    wanted = sys.argv[1:]
    failed = 0
    for case in cases:
        if wanted and case.__name__ not in wanted:
            continue
        try:
            said = case()
            print("passed   " + case.__name__ + (": " + said if said else ""), flush=True)
        except Exception:
            failed += 1
            print("FAILED   %s\n%s" % (case.__name__, traceback.format_exc()), flush=True)
    print("process: %d passed, %d failed" % ((len(wanted) or len(cases)) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(globals()))
