#!/usr/bin/env python3
"""What clients can make the server named by VARVE_SERVER hold besides data: buffers, replies, waits, messages between its threads.

    VARVE_SERVER=target/release/varve-server tests/process/bounds.py [CASE ...]
"""

import contextlib
import os
import random
import resource
import socket
import struct
import sys
import threading
import time

from run import PATIENCE, Server, allow_descriptors, run
from resp import Closed, Connection

MIB = 1 << 20


class Reader:
    """Reads replies of one size on a connection, as they come, and counts their bytes."""

    def __init__(self, connection, pause=0.0):
        self.socket, self.pause, self.missing = connection.socket, pause, 0

    def read(self, size):
        """Reads so many bytes; raises if they do not come."""
        room, self.missing = bytearray(256 << 10), size
        while self.missing > 0:
            got = self.socket.recv_into(room, min(len(room), self.missing))
            assert got > 0, "the server closed with %d bytes missing" % self.missing
            self.missing -= got
            time.sleep(self.pause)


def encoded(*words):
    """A request as bytes."""
    parts = [str(word).encode() if not isinstance(word, bytes) else word for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def bulk_len(size):
    """Bytes of a reply that holds a string of `size` bytes."""
    return len("$%d\r\n" % size) + size + 2


@contextlib.contextmanager
def slow_client(server, *sent):
    """A connection with a small window, on which requests were sent and nothing was read."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    raw.settimeout(PATIENCE)
    raw.connect(("127.0.0.1", server.port))
    for request in sent:
        raw.sendall(request)
    yield raw
    raw.close()


def info(db, field):
    """A field of INFO as a number."""
    for line in db.command("INFO", "everything").split(b"\r\n"):
        if line.startswith(field.encode() + b":"):
            return int(line.split(b":")[1])
    raise AssertionError("INFO has no " + field)


def a_client_that_reads_slowly_costs_little_memory():
    number = 500
    with Server("--threads", "1") as server:
        db = server.connect()
        db.command("SET", "k", "x" * MIB)
        before = server.resident_mib()
        db.send_bytes(encoded("GET", "k") * number)
        Reader(db, 0.0002).read(number * bulk_len(MIB))
        assert server.resident_peak_mib() < before + 32, "%d MiB" % server.resident_peak_mib()


def a_pipeline_sent_before_anything_is_read_is_answered_to_its_end():
    """Neither side waits for the other for ever, whatever the sizes of requests and replies are."""
    for value, megabytes in ((None, 200), (b"v" * 4000, 30)):
        with Server("--threads", "1") as server:
            db = Connection("127.0.0.1:%d" % server.port, 60)
            key, reply = "k" * 1000, 5
            if value:
                db.command("SET", key, value)
                reply = bulk_len(len(value))
            request = encoded("GET", key)
            number = megabytes * MIB // len(request)
            for _ in range(number // 1000):
                db.send_bytes(request * 1000)
            Reader(db).read(number // 1000 * 1000 * reply)
            assert db.command("PING") == b"PONG"


def a_client_that_waits_is_not_closed_by_the_timeout():
    with Server("--timeout", "1") as server:
        waiting = server.connect()
        server.send(waiting, "BLPOP", "nokey", 2.5)
        assert waiting.read().kind == "(nil array)"
        time.sleep(0.6)  # it has just been answered, so it is not silent for a second yet
        assert waiting.command("PING") == b"PONG"
        assert waiting.at_end()


def a_wait_that_has_ended_leaves_nothing_behind():
    with Server("--threads", "2") as server:
        db, waiting = server.connect(), server.connect()
        for turn in range(20):
            server.send(waiting, "BLPOP", "queue", "k" * 1000, 100000)
            server.until(lambda: info(db, "blocked_clients") == 1)
            assert info(db, "clients_in_timeout_table") == 1
            assert info(db, "mem_waits") > 2000, info(db, "mem_waits")
            if turn % 2:
                db.command("RPUSH", "queue", "x")
                waiting.read()
            else:
                waiting.close()
                waiting = server.connect()
            gone = lambda: info(db, "clients_in_timeout_table") + info(db, "mem_waits") + info(db, "mem_mailboxes") == 0
            server.until(gone)


def buffers_of_clients_are_told_as_they_are():
    """What a client does not read, or sends without being served, shows in INFO and CLIENT LIST at once."""
    with Server("--threads", "2") as server, contextlib.ExitStack() as stack:
        db = server.connect()
        db.command("SET", "k", "x" * MIB)
        for _ in range(10):
            stack.enter_context(slow_client(server, encoded("GET", "k") * 20))
        # Of each client at least a megabyte waits, less what its socket takes meanwhile.
        server.until(lambda: info(db, "mem_clients_normal") > 7 * MIB)
        reader = stack.enter_context(slow_client(server, encoded("CLIENT", "SETNAME", "reader"), encoded("GET", "k") * 6))

        def listed():
            lines = db.command("CLIENT", "LIST")[4:].decode().splitlines()
            fields = [dict(field.split("=", 1) for field in line.split()) for line in lines]
            return next(({name: int(fields[name]) for name in ("omem", "tot-mem")} for fields in fields if fields["name"] == "reader"), None)

        server.until(lambda: (listed() or {"omem": 0})["omem"] > MIB // 2)
        missing = len("+OK\r\n") + 6 * bulk_len(MIB)
        while missing > 0:
            missing -= len(reader.recv(MIB))
        server.until(lambda: listed()["omem"] == 0 and listed()["tot-mem"] < 100000)
        waiting = server.connect()
        server.send(waiting, "BLPOP", "nokey", 0)
        waiting.send_bytes(encoded("SET", "other", "y" * 500000))
        server.until(lambda: info(db, "client_recent_max_input_buffer") >= 500000)


def maxmemory_covers_the_buffers_of_clients():
    with Server("--threads", "2", "--maxmemory", "100mb") as server, contextlib.ExitStack() as stack:
        db = server.connect()
        db.command("SET", "k", "x" * MIB)
        assert db.command("SET", "other", "y") == b"OK"
        for _ in range(100):
            stack.enter_context(slow_client(server, encoded("GET", "k") * 20))
        server.until(lambda: str(db.command("SET", "other", "y"), "ascii").startswith("OOM"))


def values_that_grow_in_place_are_not_refused_while_keys_may_go():
    """Each request is short, and the list that it makes longer has to move as a whole."""
    number, at_once, request = 10000, 500, "RPUSH list:%d %s\r\n"
    with Server("--threads", "2", "--maxmemory", "40mb", "--maxmemory-policy", "allkeys-lru") as server:
        clients, chance = [server.connect() for _ in range(12)], random.Random(5)
        watch = server.connect()
        while info(watch, "evicted_keys") < 2000:
            for client in clients:
                client.send_bytes("".join(request % (chance.randrange(number), "x" * 100) for _ in range(at_once)).encode())
            replies = [client.read() for client in clients for _ in range(at_once)]
            refused = [reply for reply in replies if not isinstance(reply, int)]
            assert not refused, "%d of %d refused, %d keys evicted: %r" % (len(refused), len(replies), info(watch, "evicted_keys"), refused[0])


def what_waits_for_the_append_only_file_does_not_count_and_is_little():
    """A small limit leaves the file small buffers, though the disk is slow, and nothing is evicted for their sake."""
    most, length, at_once = 40, 5000, 40
    settings = ("--maxmemory-policy", "allkeys-lru", "--appendonly", "yes", "--enable-debug-command", "yes")
    with Server("--threads", "2", "--maxmemory", "%dmb" % most, *settings) as server:
        clients, chance, told = [server.connect(60) for _ in range(4)], random.Random(6), 0
        watch = server.connect()
        server.until(lambda: watch.command("PING") == b"PONG")
        own = server.resident_mib()  # does not count
        some = lambda: b"".join(encoded("SET", chance.randrange(100000), "v" * length) for _ in range(at_once))
        while info(watch, "evicted_keys") < 1000:
            for client in clients:
                client.send_bytes(some())
            assert all(client.read() == b"OK" for client in clients for _ in range(at_once))
        assert watch.command("DEBUG", "AOF-FLUSH-SLEEP", 500000) == b"OK"
        rounds = 15
        for _ in range(rounds):
            for client in clients:
                client.send_bytes(some())
            told = max(told, info(watch, "mem_aof_buffer"))
        assert all(client.read() == b"OK" for client in clients for _ in range(rounds * at_once))
        peak = server.resident_peak_mib() - own
        print("%d MiB at most beside %d of its own, with %d MiB allowed, %d KiB of it for the append-only file" % (peak, own, most, told >> 10))
        assert peak <= most + 4 + (told >> 20) and told <= 16 << 20, (peak, own, told)


def ending_a_pause_costs_one_message_for_each_worker():
    with Server("--threads", "2", "--maxclients", "2000") as server:
        idle, db = [server.connect() for _ in range(1000)], server.connect()
        server.until(lambda: info(db, "connected_clients") == 1001)
        before, unpauses = server.resident_mib(), 2000
        db.send_bytes(encoded("CLIENT", "UNPAUSE") * unpauses)
        assert [db.read() for _ in range(unpauses)] == [b"OK"] * unpauses
        assert server.resident_peak_mib() < before + 16, "%d MiB, %d before" % (server.resident_peak_mib(), before)
        server.until(lambda: info(db, "mem_mailboxes") == 0)
        assert all(client.command("PING") == b"PONG" for client in idle[::50])


def a_slot_is_free_when_info_says_so():
    with Server("--maxclients", "3", "--threads", "4") as server:
        for _ in range(200):
            clients = []

            def is_alone():
                clients[:] = [server.connect()]
                try:
                    return clients[0].command("PING") == b"PONG" and info(clients[0], "connected_clients") == 1
                except Closed:
                    return False

            server.until(is_alone)
            clients += [server.connect() for _ in range(2)]
            assert [client.command("PING") for client in clients] == [b"PONG"] * 3
            assert info(clients[1], "connected_clients") == 3
            for client in clients:
                client.close()


def connections_that_came_while_no_descriptor_was_free_are_served_once_there_is_one():
    with Server("--threads", "1") as server:
        db = server.connect()
        assert db.command("PING") == b"PONG"
        used = len(os.listdir("/proc/%d/fd" % server.process.pid))
        hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 2, hard))
        clients = [server.connect() for _ in range(6)]
        for client in clients:
            server.send(client, "PING")
        assert [client.read() for client in clients[:2]] == [b"PONG"] * 2
        assert info(db, "connected_clients") == 3
        for client in clients[:2]:
            client.close()
        assert [client.read() for client in clients[2:4]] == [b"PONG"] * 2
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (hard, hard))
        assert [client.read() for client in clients[4:]] == [b"PONG"] * 2


def collections_of(db, number):
    """Fills one key of each type with so many elements of a hundred bytes, and so many plain keys in database 1."""
    names = ["%0100d" % name for name in range(number)]
    db.command("SADD", "s", *names)
    db.command("RPUSH", "l", *names)
    db.command("HSET", "h", *(word for name in names for word in (name, name)))
    db.command("ZADD", "z", *(word for name in names for word in (1, name)))
    db.send_bytes(b"".join(encoded("XADD", "x", "*", "f", name) for name in names))
    assert all(db.read() for _ in names)
    db.command("SELECT", 1)
    db.command("MSET", *(word for name in names for word in (name, name)))
    db.command("SELECT", 0)
    db.command("SET", "long", "v" * (2 * MIB))


def a_reply_beyond_the_output_limit_closes_its_client_and_nobody_waits_for_it():
    endless, half = -(2**63 - 1), -(2**62 - 1)
    with Server("--threads", "1", "--client-output-buffer-limit", "normal 1mb 0 0") as server:
        db = server.connect()
        collections_of(db, 20000)
        before, closed = server.resident_mib(), 0
        requests = [
            (0, "SRANDMEMBER", "s", endless), (0, "HRANDFIELD", "h", endless), (0, "HRANDFIELD", "h", half, "WITHVALUES"),
            (0, "ZRANDMEMBER", "z", endless), (0, "ZRANDMEMBER", "z", half, "WITHSCORES"), (0, "SRANDMEMBER", "s", 19000),
            (0, "SMEMBERS", "s"), (0, "SUNION", "s", "s"), (0, "SINTER", "s", "s"), (0, "LRANGE", "l", 0, -1), (0, "HGETALL", "h"),
            (0, "HKEYS", "h"), (0, "HVALS", "h"), (0, "HSCAN", "h", 0, "COUNT", 20000), (0, "ZRANGE", "z", 0, -1),
            (0, "ZREVRANGE", "z", 0, -1), (0, "ZUNION", 1, "z"), (0, "XRANGE", "x", "-", "+"), (0, "XREVRANGE", "x", "+", "-"),
            (0, "XREAD", "STREAMS", "x", 0), (0, "XREAD", "BLOCK", 0, "STREAMS", "x", 0), (0, "SORT", "l", "ALPHA"), (0, "GET", "long"),
            (0, "GETRANGE", "long", 0, -1), (0, "MGET", "long", "long"), (0, "SPOP", "s", 15000), (1, "KEYS", "*"), (1, "SCAN", 0, "COUNT", 20000),
        ]  # fmt: skip
        for database, *request in requests:
            client = server.connect()
            client.command("SELECT", database)
            client.send_bytes(encoded(*request) + encoded("SET", "after", "the reply"))
            began = time.monotonic()
            assert db.command("PING") == b"PONG"
            assert time.monotonic() - began < 1, request
            assert client.at_end(), request
            closed += 1
            assert info(db, "client_output_buffer_limit_disconnections") == closed, request
        assert (db.command("EXISTS", "after"), db.command("SCARD", "s")) == (0, 5000)
        assert server.resident_peak_mib() < before + 64, "%d MiB, %d before" % (server.resident_peak_mib(), before)


def an_answer_beyond_the_output_limit_closes_the_client_that_waited():
    with Server("--threads", "2", "--client-output-buffer-limit", "normal 1mb 0 0") as server:
        db, waiting = server.connect(), server.connect()
        server.send(waiting, "BLMPOP", 0, 1, "queue", "LEFT", "COUNT", 1000)
        server.until(lambda: info(db, "blocked_clients") == 1)
        db.command("RPUSH", "queue", *("x" * 100000 for _ in range(20)))
        assert waiting.at_end()
        assert db.command("EXISTS", "queue") == 0
        assert info(db, "client_output_buffer_limit_disconnections") == 1


def a_client_that_wants_no_replies_is_not_closed_for_them():
    with Server("--threads", "1", "--client-output-buffer-limit", "normal 1mb 0 0") as server:
        db = server.connect()
        db.command("SADD", "s", "x" * 100)
        before = server.resident_mib()
        server.send(db, "CLIENT", "REPLY", "OFF")
        server.send(db, "SRANDMEMBER", "s", -(10**12))
        server.send(db, "CLIENT", "REPLY", "ON")
        assert (db.read(), db.command("PING")) == (b"OK", b"PONG")
        assert server.resident_peak_mib() < before + 16


def replies_to_a_client_that_is_gone_reach_nobody_else():
    with Server("--threads", "1") as server:
        db = server.connect()
        db.command("SET", "k", "x" * 10000)
        for _ in range(300):
            hasty = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
            hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            hasty.sendall(encoded("GET", "k") * 50)
            hasty.close()
            assert db.command("PING") == b"PONG"


def clients_that_leave_right_behind_a_request_are_forgotten():
    waits = encoded("BLPOP", "nokey", 0)
    parts = (waits, waits + encoded("PING", "x" * MIB) + encoded("PING", "x" * 50000), encoded("SET", "k", "x" * 40000)[:-5], b"*1\r\n$4\r\nPI", encoded("PING"))
    with Server("--threads", "1", "--enable-debug-command", "yes") as server:
        db = server.connect()
        hasty = [server.connect() for _ in range(40)]
        assert all(client.command("PING") == b"PONG" for client in hasty)
        # What they send and their end are there together when the worker comes to them.
        db.send_bytes(encoded("DEBUG", "SLEEP", "0.3"))
        for number, client in enumerate(hasty):
            client.send_bytes(parts[number % len(parts)])
            client.close()
        assert db.read() == b"OK"
        server.until(lambda: info(db, "connected_clients") == 1)


def clients_that_never_read_hold_little_or_are_closed():
    number, limit = 30, ("--client-output-buffer-limit", "normal 4mb 0 0")
    for limits, connected in (((), number + 1), (limit, 1)):
        with Server("--threads", "2", *limits) as server, contextlib.ExitStack() as stack:
            db = server.connect()
            db.command("SET", "k", "x" * MIB)
            before = server.resident_mib()
            for _ in range(number):
                stack.enter_context(slow_client(server, encoded("GET", "k") * 200))
            server.until(lambda: info(db, "connected_clients") == connected)
            if not limits:
                server.until(lambda: info(db, "mem_clients_normal") > number * MIB)
                assert server.resident_peak_mib() < before + 4 * number, "%d MiB" % server.resident_peak_mib()


def a_client_that_ends_its_side_of_a_connection_gets_what_its_socket_takes():
    with Server("--threads", "1") as server:
        size = MIB
        assert server.connect().command("SET", "k", "x" * size) == b"OK"
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * size)
        raw.settimeout(PATIENCE)
        raw.connect(("127.0.0.1", server.port))
        raw.sendall(encoded("GET", "k"))
        raw.shutdown(socket.SHUT_WR)
        got = b""
        while more := raw.recv(size):
            got += more
        assert len(got) == bulk_len(size), "%d bytes came" % len(got)


def a_pipeline_that_is_read_as_it_is_answered_takes_no_memory():
    requests, rounds = encoded("SET", "key", "value") * 1000, 300
    with Server("--threads", "1") as server:
        db = Connection("127.0.0.1:%d" % server.port, 60)
        before, reader = server.resident_mib(), Reader(db)
        thread = threading.Thread(target=reader.read, args=(rounds * 1000 * len("+OK\r\n"),))
        thread.start()
        for _ in range(rounds):
            db.send_bytes(requests)
        thread.join()
        assert reader.missing == 0
        assert server.resident_peak_mib() < before + 16, "%d MiB" % server.resident_peak_mib()


def an_idle_connection_takes_about_a_kilobyte():
    allow_descriptors()
    number = 5000
    with Server("--threads", "2", "--maxclients", number + 600) as server:
        db, first = server.connect(), [server.connect() for _ in range(500)]
        # What the server needs once, whoever comes, is there by then.
        assert all(client.command("PING") == b"PONG" for client in first)
        before = server.resident_kib()
        idle = [server.connect() for _ in range(number)]
        assert all(client.command("PING") == b"PONG" for client in idle)
        kept = (server.resident_kib() - before) * 1024 / number
        assert kept < 1100, "%d bytes" % kept
        clients = info(db, "mem_clients_normal")
        # What a request in pieces needed is given back when its client has been silent.
        for client in idle[::5]:
            client.send_bytes(b"*1\r\n$4\r\nPI")
        for client in idle[::5]:
            client.send_bytes(b"NG\r\n")
            assert client.read() == b"PONG"
        server.until(lambda: info(db, "mem_clients_normal") < clients + 100000)


def a_transaction_beyond_the_query_limit_is_closed_and_one_of_a_million_commands_runs():
    """TIMES=14 has 14 million commands, and 2.1 GB of them beyond the limit."""
    times = int(os.environ.get("TIMES", 1))
    number = 1000000 * times
    with Server("--threads", "2", "--client-query-buffer-limit", "%dmb" % (30 * times)) as server:
        db, client = server.connect(), Connection("127.0.0.1:%d" % server.port, 60 * times)
        reader = Reader(client)
        queued = threading.Thread(target=reader.read, args=(len("+OK\r\n") + number * len("+QUEUED\r\n"),))
        queued.start()
        client.send_bytes(encoded("MULTI"))
        for _ in range(number // 1000):
            client.send_bytes(encoded("INCR", "n") * 1000)
        client.send_bytes(encoded("EXEC"))
        queued.join()
        assert client.read()[-1] == number and db.command("GET", "n") == b"%d" % number
        for commands, blocks in ((encoded("SET", "k", "x" * MIB), 150 * times), (encoded("SET", "k", "x") * 1000, 2 * number // 1000)):
            greedy = Connection("127.0.0.1:%d" % server.port, 60 * times)
            with contextlib.suppress(OSError):
                greedy.send_bytes(encoded("MULTI"))
                for _ in range(blocks):
                    greedy.send_bytes(commands)
                greedy.send_bytes(encoded("EXEC"))
            server.until(lambda: info(db, "connected_clients") == 2)
            greedy.close()
        assert info(db, "client_query_buffer_limit_disconnections") == 2 and db.command("EXISTS", "k") == 0
        server.until(lambda: info(db, "mem_clients_normal") < 10 * MIB)
        # A queued INCR takes some 90 bytes, and one reply to all of them stands behind it.
        assert server.resident_peak_mib() < 50 + 150 * times, server.resident_peak_mib()


def a_transaction_takes_the_memory_of_its_commands_while_it_is_queued():
    limit, value = 64 * MIB, b"v" * 1000
    with Server("--threads", "1", "--maxmemory", limit, "--maxmemory-policy", "allkeys-lru") as server:
        db, client = server.connect(), server.connect()
        for first in range(0, 2 * limit // 1000, 1000):
            db.send_bytes(b"".join(encoded("SET", "k%d" % number, value) for number in range(first, first + 1000)))
            Reader(db).read(1000 * len("+OK\r\n"))
        keys = db.command("DBSIZE")
        assert client.command("MULTI") == b"OK"
        for _ in range(2400):
            server.send(client, "SET", "t", "w" * 10240)
            assert client.read() == b"QUEUED"
        looked_at = info(db, "lru_clock")
        server.until(lambda: info(db, "lru_clock") > looked_at + 1)
        assert db.command("DBSIZE") > keys // 3, "%d of %d keys are left" % (db.command("DBSIZE"), keys)


def the_log_names_clients_and_what_they_say_of_themselves_unless_that_is_hidden():
    for hidden, names in (("no", True), ("yes", False)):
        with Server("--hide-user-data-from-log", hidden, "--client-output-buffer-limit", "normal 1mb 0 0") as server:
            db = server.connect()
            db.command("SET", "k", "x" * MIB)
            with slow_client(server, encoded("CLIENT", "SETNAME", "private-name"), encoded("GET", "k") * 20):
                server.until(lambda: b"output buffer is over its limit" in server.output.read_bytes())
            assert (b"private-name" in server.output.read_bytes()) == names, hidden


def a_request_of_hundreds_of_megabytes_arrives():
    with Server("--threads", "1") as server:
        db, client = server.connect(), server.connect()
        length = 400 * MIB
        client.send_bytes(b"*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$%d\r\n" % length)
        for _ in range(length // MIB):
            client.send_bytes(b"x" * MIB)
            assert db.command("PING") == b"PONG"
        client.send_bytes(b"\r\n")
        assert client.read() == 0
        assert server.resident_peak_mib() < 3 * length // MIB // 2


def clients_beyond_their_memory_are_closed_from_the_largest_down():
    allow_descriptors()
    number, large, limit = 2000, 100, 40 * MIB
    with Server("--threads", "2", "--maxmemory-clients", limit, "--maxclients", number + 600) as server:
        db = server.connect()
        assert db.command("CLIENT", "NO-EVICT", "ON") == b"OK"
        small = [server.connect() for _ in range(number)]
        assert all(client.command("PING") == b"PONG" for client in small)
        others = [server.connect() for _ in range(large)]
        for client in others:
            with contextlib.suppress(OSError):
                client.send_bytes(b"*2\r\n$4\r\nECHO\r\n$2000000\r\n" + b"x" * 1900000)
        server.until(lambda: info(db, "evicted_clients") >= large - limit // 1900000)
        server.until(lambda: info(db, "mem_clients_normal") <= limit)
        closed = lambda: number + 1 + large - info(db, "connected_clients")
        server.until(lambda: info(db, "evicted_clients") == closed())
        assert all(client.command("PING") == b"PONG" for client in small), "a small one was closed"


if __name__ == "__main__":
    sys.exit(run(globals()))
