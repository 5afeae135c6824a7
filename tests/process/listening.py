#!/usr/bin/env python3
"""What clients that listen make the server named by VARVE_SERVER hold: watching, subscribed, tracking and monitoring ones, and those that die.

    VARVE_SERVER=target/release/varve-server tests/process/listening.py [CASE ...]
"""

import contextlib
import socket
import struct
import sys
import threading

from bounds import MIB, Reader, encoded, info, slow_client
from resp import Connection, Error, Tagged
from run import Server, run

TABLES = [
    "watching_clients", "total_watched_keys", "pubsub_clients", "pubsub_channels", "pubsub_patterns", "pubsubshard_channels",
    "tracking_clients", "tracking_total_keys", "tracking_total_items", "tracking_total_prefixes", "blocked_clients", "total_blocking_keys",
]  # fmt: skip


def is_nothing_left(db):
    """True once the only client is the one that asks, and no table knows of another."""
    return info(db, "connected_clients") == 1 and not any(info(db, name) for name in TABLES)


def break_off(client):
    """Ends a connection as a client that dies does: what it has not read is lost, and the server is told at once."""
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def of_clients_that_die_nothing_is_left_in_any_table():
    number = 300
    moments = [
        encoded("MULTI") + encoded("SET", "k", "v") * 100,
        encoded("WATCH", *range(100)),
        encoded("WATCH", "k") + encoded("MULTI") + encoded("SET", "k", "v") + encoded("EXEC")[:7],
        encoded("SUBSCRIBE", *range(100)),
        encoded("PSUBSCRIBE", *("p%d*" % at for at in range(100))),
        encoded("SSUBSCRIBE", *range(100)),
        encoded("SUBSCRIBE", "all") + encoded("UNSUBSCRIBE", "all"),
        encoded("HELLO", 3) + encoded("SUBSCRIBE", "all") + encoded("WATCH", "k") + encoded("MULTI") + encoded("BLPOP", "k", 0),
        encoded("HELLO", 3) + encoded("CLIENT", "TRACKING", "ON") + encoded("MGET", *range(100)),
        encoded("HELLO", 3) + encoded("CLIENT", "TRACKING", "ON", "OPTIN") + encoded("CLIENT", "CACHING", "YES") + encoded("GET", "k"),
        encoded("HELLO", 3) + encoded("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "a", "PREFIX", "k", "NOLOOP") + encoded("SET", "k", "v"),
        encoded("HELLO", 3) + encoded("CLIENT", "TRACKING", "ON") + encoded("BLPOP", "none", 0),
        encoded("MONITOR"),
    ]
    with Server("--threads", "2") as server:
        db = server.connect()
        for waits in (False, True):
            clients = [server.connect() for _ in range(number)]
            for at, client in enumerate(clients):
                client.send_bytes(moments[at % len(moments)])
                if waits:
                    client.read()
                if at % 10 == 0:
                    db.command("PUBLISH", "all", "x" * 10000)
            for client in clients:
                break_off(client)
            for _ in range(100):
                db.command("PUBLISH", "all", "x")
            server.until(lambda: is_nothing_left(db))
        assert db.command("PUBLISH", "all", "x") == 0 and db.command("PUBSUB", "NUMPAT") == 0


def a_million_watched_keys_of_a_client_cost_their_memory_and_go_with_it():
    number, at_once = 1000000, 10000
    with Server("--threads", "2") as server:
        db, client = server.connect(), Connection("127.0.0.1:%d" % server.port, 60)
        before = server.resident_mib()
        for first in range(0, number, at_once):
            assert client.command("WATCH", *("key:%d" % at for at in range(first, first + at_once))) == b"OK"
        assert info(db, "total_watched_keys") == number
        shown = next(line for line in db.command("CLIENT", "LIST").split(b"\n") if b" watch=%d " % number in line)
        told = int(shown.split(b" tot-mem=")[1].split(b" ")[0])
        taken = server.resident_mib() - before
        assert 0.5 * taken < told / MIB < 2 * taken and taken < 400, "%d MiB, %d told" % (taken, told / MIB)
        assert db.command("SET", "key:77", "v") == b"OK"
        assert client.command("MULTI") == b"OK" and client.command("EXEC").kind == "(nil array)"
        assert info(db, "total_watched_keys") == 0
        assert client.command("WATCH", *range(at_once)) == b"OK"
        break_off(client)
        server.until(lambda: is_nothing_left(db))


def a_million_subscriptions_of_a_client_cost_their_memory_and_go_with_it():
    number, at_once = 1000000, 10000
    with Server("--threads", "2") as server:
        db, client = server.connect(), Connection("127.0.0.1:%d" % server.port, 60)
        before = server.resident_mib()
        for first in range(0, number, at_once):
            names = ["channel:%d" % at for at in range(first, first + at_once)]
            client.send_bytes(encoded("SUBSCRIBE", *names))
            Reader(client).read(sum(len(name) + len("*3\r\n$9\r\nsubscribe\r\n$%d\r\n\r\n:%d\r\n" % (len(name), first + at + 1))
                                    for at, name in enumerate(names)))
        assert info(db, "pubsub_channels") == number
        shown = next(line for line in db.command("CLIENT", "LIST").split(b"\n") if b" sub=%d " % number in line)
        told = int(shown.split(b" tot-mem=")[1].split(b" ")[0])
        # Memory of tables that larger ones have replaced is given back a little later.
        taken = lambda: server.resident_mib() - before
        server.until(lambda: 0.5 * taken() < told / MIB < 2 * taken() and taken() < 500)
        assert db.command("PUBLISH", "channel:77", "hello") == 1
        break_off(client)
        server.until(lambda: is_nothing_left(db))


def tables_shrink_behind_clients_that_had_many_keys_and_channels():
    number, at_once = 200000, 10000
    takes = [("WATCH", "UNWATCH"), ("SUBSCRIBE", None), ("PSUBSCRIBE", None), ("SSUBSCRIBE", None), ("SUBSCRIBE", "UNSUBSCRIBE")]
    with Server("--threads", "2") as server:
        db = server.connect()
        server.until(lambda: info(db, "used_memory") > 0)
        before = info(db, "used_memory")
        for take, give in takes:
            client = Connection("127.0.0.1:%d" % server.port, 60)
            for first in range(0, number, at_once):
                names = ["name:%d" % at for at in range(first, first + at_once)]
                client.send_bytes(encoded(take, *names))
                for _ in range(1 if take == "WATCH" else at_once):
                    client.read()
            assert info(db, "used_memory") > before + 20 * MIB, take
            assert info(db, "used_memory_startup") <= before, take
            if give is not None:
                # All but one of the subscriptions.
                names = [] if give == "UNWATCH" else ["name:%d" % at for at in range(1, number)]
                client.send_bytes(encoded(give, *names))
                for _ in range(max(len(names), 1)):
                    client.read()
            else:
                break_off(client)
            server.until(lambda: info(db, "used_memory") < before + 20 * MIB, 30)
            client.close()


def what_one_command_sends_a_client_that_cannot_read_meanwhile_is_bounded_by_its_limit():
    """Events of a million keys, and a message for each of many patterns: the subscriber is closed at its limit."""
    keys, patterns, payload = 1_000_000, 500, 40 * MIB
    with Server("--threads", "2", "--notify-keyspace-events", "KEA") as server, contextlib.ExitStack() as stack:
        db = Connection("127.0.0.1:%d" % server.port, 120)
        words = [b"MSET"]
        for number in range(keys):
            words += (b"k%07d" % number, b"v")
        assert db.command(*words) == b"OK"
        alone = server.resident_peak_mib()
        heard = [stack.enter_context(slow_client(server, encoded("PSUBSCRIBE", "__key*"))) for _ in range(4)]
        server.until(lambda: info(db, "pubsub_clients") == len(heard))
        assert db.command(*words) == b"OK"
        server.until(lambda: info(db, "pubsub_clients") == 0)
        assert server.resident_peak_mib() < alone + 800, "%d MiB, %d without events" % (server.resident_peak_mib(), alone)
        del words
        names = ["a" * len + "*" for len in range(1, patterns + 1)]
        stack.enter_context(slow_client(server, encoded("PSUBSCRIBE", *names)))
        server.until(lambda: info(db, "pubsub_patterns") == patterns)
        before = server.resident_mib()
        assert db.command("PUBLISH", "a" * 1000, b"x" * payload) == patterns
        server.until(lambda: info(db, "pubsub_clients") == 0)
        assert server.resident_peak_mib() < max(before, alone + 800) + 400, "%d MiB, %d before" % (server.resident_peak_mib(), before)


def subscribers_that_do_not_read_hold_messages_together():
    number = 300
    with Server("--threads", "2") as server:
        db, deaf = server.connect(), [server.connect() for _ in range(number)]
        assert all(client.command("SUBSCRIBE", "c")[0] == b"subscribe" for client in deaf)
        before = server.resident_mib()
        while db.command("PUBLISH", "c", "x" * 65536) > 0:
            pass
        assert info(db, "client_output_buffer_limit_disconnections") == number
        # The messages themselves, of which each client may have 32 MiB, and some kilobytes for each client.
        assert server.resident_peak_mib() < before + 100, "%d MiB, %d before" % (server.resident_peak_mib(), before)


def subscribers_that_do_not_read_are_closed_at_their_limit_whatever_the_sizes_of_messages_are():
    """Short messages, of which each client has its own copy, in turns with longer ones that they share: published, and as events of keys."""
    number, keys, at_once = 3, 100_000, 1000
    names = ["key:%d" % at for at in range(at_once)]
    published = "".join("PUBLISH c short\r\nPUBLISH c %s\r\n" % ("x" * 100) for _ in names).encode()
    changed = b"".join(encoded("SET", name, "v") for name in names)
    cases = [
        ("published", (), "SUBSCRIBE", published),
        ("published", ("--maxmemory", "300mb", "--maxmemory-policy", "allkeys-lru"), "SUBSCRIBE", published),
        ("published", ("--maxmemory", "300mb"), "SUBSCRIBE", published),
        ("events", ("--maxmemory", "300mb", "--notify-keyspace-events", "KEA"), "PSUBSCRIBE", changed),
    ]
    for what, settings, subscribe, requests in cases:
        with Server("--threads", "2", *settings) as server, contextlib.ExitStack() as stack:
            db = server.connect()
            for first in range(0, keys, at_once):
                db.command("MSET", *(word for at in range(first, first + at_once) for word in ("key:%d" % at, "v" * 100)))
            deaf = [stack.enter_context(slow_client(server, encoded(subscribe, "c" if subscribe == "SUBSCRIBE" else "*"))) for _ in range(number)]
            server.until(lambda: info(db, "pubsub_clients") == len(deaf))
            told = 0
            while info(db, "pubsub_clients") > 0:
                told = max(told, info(db, "mem_clients_normal") // MIB)
                db.send_bytes(requests)
                answers = [db.read() for _ in range(requests.count(b"PUBLISH") or at_once)]
                assert not any(isinstance(answer, Error) for answer in answers), answers[-1]
                assert db.command("SET", "key:0", "v" * 100) == b"OK"
                assert server.resident_peak_mib() < 150, "%s %s: %d MiB, %d told" % (what, settings, server.resident_peak_mib(), told)
            print("%s: %d MiB resident at most, %d told of clients, with %s" % (what, server.resident_peak_mib(), told, " ".join(settings) or "no limit"))
            assert info(db, "client_output_buffer_limit_disconnections") == number
            assert (db.command("DBSIZE"), info(db, "evicted_keys")) == (keys, 0)


def a_subscriber_without_a_limit_hears_of_every_key_of_a_command():
    keys = 300_000
    with Server("--threads", "2", "--notify-keyspace-events", "E$", "--client-output-buffer-limit", "pubsub 0 0 0") as server:
        db, subscriber = server.connect(), Connection("127.0.0.1:%d" % server.port, 60)
        subscriber.command("SUBSCRIBE", "__keyevent@0__:set")
        words = [b"MSET"]
        for number in range(keys):
            words += (b"k%06d" % number, b"v")
        assert db.command(*words) == b"OK"
        assert [subscriber.read()[2] for _ in range(keys)] == words[1::2]


def who_is_told_of_keys_in_the_place_of_another_and_never_reads_is_closed_at_its_limit():
    for limit, begins in (("pubsub", encoded("SUBSCRIBE", "__redis__:invalidate")), ("normal", encoded("HELLO", 3))):
        with Server("--threads", "2", "--client-output-buffer-limit", limit + " 1mb 0 0") as server, slow_client(server, encoded("CLIENT", "ID")) as target:
            db, reader = server.connect(), server.connect()
            number = int(target.recv(100).strip()[1:])
            target.sendall(begins)
            assert target.recv(1000)[:1] in (b"*", b"%")
            reader.command("HELLO", 3)
            assert reader.command("CLIENT", "TRACKING", "ON", "BCAST", "REDIRECT", number) == b"OK"
            before = server.resident_mib()
            keys = [b"%s%06d" % (b"k" * 1000, at) for at in range(1000)]

            def is_closed():
                assert db.command("MSET", *(word for key in keys for word in (key, b"v"))) == b"OK"
                return info(db, "connected_clients") == 2

            server.until(is_closed)
            assert info(db, "client_output_buffer_limit_disconnections") == 1
            assert server.resident_peak_mib() < before + 100, "%d MiB, %d before" % (server.resident_peak_mib(), before)
            db.command("SET", "k", "v")
            told = reader.read()
            assert (told.kind, told.value) == ("push", [b"tracking-redir-broken", number]), told.value


def a_monitor_that_never_reads_is_closed_at_its_limit():
    with Server("--threads", "2", "--client-output-buffer-limit", "normal 1mb 0 0") as server, slow_client(server, encoded("MONITOR")) as monitor:
        assert monitor.recv(100) == b"+OK\r\n"
        db = server.connect()
        before = server.resident_mib()

        def is_closed():
            assert db.command("ECHO", "x" * 100000) == b"x" * 100000
            return info(db, "connected_clients") == 1

        server.until(is_closed)
        assert info(db, "client_output_buffer_limit_disconnections") == 1
        assert server.resident_peak_mib() < before + 32, "%d MiB, %d before" % (server.resident_peak_mib(), before)


def a_message_of_half_a_gigabyte_comes_whole_or_closes_its_subscriber_and_others_are_served():
    length = 512 * MIB
    whole = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$%d\r\n" % length
    for limit in (None, "pubsub 0 0 0"):
        with Server("--threads", "2", *(() if limit is None else ("--client-output-buffer-limit", limit))) as server:
            db, publisher, subscriber = (Connection("127.0.0.1:%d" % server.port, 60) for _ in range(3))
            assert subscriber.command("SUBSCRIBE", "c")[0] == b"subscribe"
            publisher.send_bytes(b"*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$%d\r\n" % length)
            for _ in range(length // MIB):
                publisher.send_bytes(b"x" * MIB)
            publisher.send_bytes(b"\r\n")
            if limit is None:
                assert publisher.read() == 1
                server.until(lambda: info(db, "pubsub_clients") == 0)
                assert info(db, "client_output_buffer_limit_disconnections") == 1
            else:
                reader = Reader(subscriber)
                thread = threading.Thread(target=reader.read, args=(len(whole) + length + 2,))
                thread.start()
                while thread.is_alive():
                    assert db.command("PING") == b"PONG"
                assert reader.missing == 0 and publisher.read() == 1
            server.until(lambda: info(db, "mem_mailboxes") == 0)
            assert server.resident_peak_mib() < 5 * length // MIB // 2, "%d MiB" % server.resident_peak_mib()
            # What the message took is given back.
            server.until(lambda: server.resident_mib() < length // MIB // 2)


def a_large_message_to_oneself_behind_exec_is_there_once_and_closes_its_client_at_the_limit():
    """It comes for each of many patterns, and the transaction ends a subscription."""
    patterns, payload = 500, b"x" * (20 * MIB)
    with Server("--threads", "1") as server:
        db, client = server.connect(), Connection("127.0.0.1:%d" % server.port, 60)
        client.send_bytes(encoded("HELLO", 3) + encoded("SUBSCRIBE", "other") + encoded("PSUBSCRIBE", *("c%s" % ("*" * number) for number in range(1, patterns + 1))))
        for _ in range(patterns + 2):
            client.read()
        client.send_bytes(encoded("MULTI") + encoded("PUBLISH", "c", payload) + encoded("UNSUBSCRIBE", "other") + encoded("EXEC"))
        server.until(lambda: info(db, "client_output_buffer_limit_disconnections") == 1)
        assert server.resident_peak_mib() < 5 * len(payload) // MIB, "%d MiB" % server.resident_peak_mib()
        assert info(db, "connected_clients") == 1 and info(db, "pubsub_patterns") == 0


def what_the_cleaner_finds_expired_is_told_to_subscribers_and_caches():
    """Nobody touches the keys again, and the sweep of expired keys is off."""
    number = 20000
    settings = "--maxmemory", "64mb", "--notify-keyspace-events", "Ex", "--enable-debug-command", "yes"
    with Server("--threads", "2", *settings) as server:
        db, subscriber, reader = (Connection("127.0.0.1:%d" % server.port, 60) for _ in range(3))
        assert db.command("DEBUG", "SET-ACTIVE-EXPIRE", 0) == b"OK"

        def write(length, *requests):
            value = "v" * length
            db.send_bytes(b"".join(encoded("SET", name % at, value, *options) for at in range(number) for name, *options in requests))
            Reader(db).read(number * len(requests) * len("+OK\r\n"))

        # Side by side, so that the cleaner comes to both.
        write(1000, ("brief%d", "PX", 1), ("kept%d",))
        assert subscriber.command("SUBSCRIBE", "__keyevent@0__:expired", "end")[0] == b"subscribe"
        assert subscriber.read()[0] == b"subscribe"
        reader.command("HELLO", 3)
        assert reader.command("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "brief", "PREFIX", "end") == b"OK"
        for more in range(12):
            # Longer than before, so that it is not written in place.
            write(1000 + 50 * more, ("kept%d",))
        server.until(lambda: info(db, "expired_keys") > number // 4)
        assert db.command("PUBLISH", "end", "") == 1 and db.command("SET", "end", "") == b"OK"
        expired, invalid = set(), set()
        while (message := subscriber.read())[1] != b"end":
            expired.add(message[2])
        while b"end" not in invalid:
            invalid.update(reader.read().value[1])
        assert len(expired & invalid) > number // 8, "%d expired, %d invalidated" % (len(expired), len(invalid))


if __name__ == "__main__":
    sys.exit(run(globals()))
