#!/usr/bin/env python3
"""Sends messages under load through the server named by VARVE_SERVER, and checks who gets which, and in which order.

    VARVE_SERVER=target/debug/varve-server tests/process/messages.py [CASE ...]
"""

import contextlib
import itertools
import os
import random
import sys
import threading
import time

from numbered import encoded
from run import Server, Tagged, run

SECONDS = float(os.environ.get("SECONDS", "2"))  # of load, for each case
THREADS = ("--threads", "4")
CHANNELS = ("one", "two", "three")
MOMENTS = itertools.count(1)  # of all threads in one order


class Together:
    """Threads whose failures are those of the case; leaving a `with` block waits for all of them."""

    def __init__(self):
        self.threads, self.problems, self.is_over = [], [], threading.Event()

    def __enter__(self):
        return self

    def start(self, work, *arguments):
        def guarded():
            try:
                work(*arguments)
            except BaseException as problem:
                self.problems.append("%s: %r" % (work.__name__, problem))
                self.is_over.set()

        self.threads.append(threading.Thread(target=guarded, daemon=True))
        self.threads[-1].start()

    def last(self, seconds=SECONDS):
        """Lets the threads work for a while, then tells them to end."""
        self.is_over.wait(seconds)
        self.is_over.set()

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive(), "a thread goes on waiting"
        assert not self.problems, self.problems


class Publisher:
    """Sends numbered messages to all channels, and notes between which moments each was sent."""

    def __init__(self, server, number):
        self.name, self.db, self.chance = b"%d" % number, server.connect(60), random.Random(number)
        self.sent, self.answered = [], []

    def publish(self, is_over, word="PUBLISH"):
        while not is_over.is_set():
            count = self.chance.choice([1, 1, 5, 40])
            numbers = range(len(self.sent), len(self.sent) + count)
            self.sent += [next(MOMENTS)] * count
            self.db.send_bytes(b"".join(encoded((word, channel, b"%s:%d" % (self.name, n))) for n in numbers for channel in CHANNELS))
            for _ in numbers:
                assert all(isinstance(self.db.read(), int) for _ in CHANNELS)
                self.answered.append(next(MOMENTS))
            time.sleep(0.001)


class Subscriber:
    """Reads messages, and holds what one subscription got against what was sent."""

    def __init__(self, server, is_resp3):
        self.db = server.connect(60)
        if is_resp3:
            self.db.command("HELLO", 3)

    def next(self):
        """The next message or confirmation, without the difference between the protocols."""
        reply = self.db.read()
        return reply.value if isinstance(reply, Tagged) else reply

    def collect(self, subscribe, channels, hold):
        """Subscribes, reads until `hold` has returned and the end is confirmed: moments of both, and messages by channel."""
        self.db.send([word.encode() for word in (subscribe, *channels)])
        confirmed = [self.next() for _ in channels]
        assert [kind for kind, *_ in confirmed] == [subscribe.lower().encode()] * len(channels), confirmed
        began, ended = next(MOMENTS), []
        end = subscribe.replace("SUB", "UNSUB")

        def leave():
            hold()
            ended.append(next(MOMENTS))
            self.db.send([end.encode(), *map(str.encode, channels)])

        thread = threading.Thread(target=leave, daemon=True)
        thread.start()
        got, open_ones = {}, set(map(str.encode, channels))
        while open_ones:
            kind, *rest = self.next()
            if kind == end.lower().encode():
                open_ones.remove(rest[0])
                continue
            assert rest[0] in open_ones, "a message behind the end of %r" % rest[0]
            got.setdefault((rest[0], rest[-2]), []).append(rest[-1])
        thread.join()
        return began, ended[0], got


def check(publishers, began, ended, got, subscriptions, least=0):
    """Of each publisher each message once and in order, all of those that were sent while the subscription stood."""
    total = 0
    for by_subscription, channel in itertools.product(subscriptions, CHANNELS):
        found = got.get((by_subscription or channel.encode(), channel.encode()), [])
        for publisher in publishers:
            numbers = [int(text.split(b":")[1]) for text in found if text.startswith(publisher.name + b":")]
            total += len(numbers)
            assert numbers == list(range(numbers[0], numbers[-1] + 1)) if numbers else True, "%r: not one after the other" % channel
            due = [n for n, (sent, answered) in enumerate(zip(publisher.sent, publisher.answered)) if sent > began and answered < ended]
            missing = set(due) - set(numbers)
            assert not missing, "%r: of publisher %r %d messages are lost" % (channel, publisher.name, len(missing))
    assert total >= least, "only %d messages came" % total


def under_load(server, subscribe, publish, subscriptions):
    """Publishers, subscribers that stay, and some that come and go."""
    publishers = [Publisher(server, number) for number in range(3)]
    names = [name or channel for name in subscriptions for channel in CHANNELS if name is None or channel == CHANNELS[0]]
    results = []
    with Together() as together:
        # Nobody publishes before those who stay are there, or after.
        go_on = threading.Event()

        def stay(is_resp3):
            results.append((Subscriber(server, is_resp3).collect(subscribe, names, go_on.wait), 100))

        def come_and_go(number):
            chance, subscriber = random.Random(number), Subscriber(server, number % 2)
            while not together.is_over.is_set():
                results.append((subscriber.collect(subscribe, names, lambda: time.sleep(chance.uniform(0, 0.05))), 0))

        for is_resp3 in (False, True, True):
            together.start(stay, is_resp3)
        for number in range(4):
            together.start(come_and_go, number)
        publishing = [threading.Thread(target=publisher.publish, args=(together.is_over, publish)) for publisher in publishers]
        for thread in publishing:
            thread.start()
        together.last()
        for thread in publishing:
            thread.join(60)
        go_on.set()
    for (began, ended, got), least in results:
        check(publishers, began, ended, got, [name and name.encode() for name in subscriptions], least)
    assert len(results) > 10, "hardly anybody came and went"


def each_message_comes_once_and_in_order():
    with Server(*THREADS) as server:
        under_load(server, "SUBSCRIBE", "PUBLISH", [None])
        under_load(server, "PSUBSCRIBE", "PUBLISH", ["*"])
        under_load(server, "SSUBSCRIBE", "SPUBLISH", [None])
        nothing_is_left(server)


def what_a_client_causes_comes_right_behind_the_reply():
    with Server(*THREADS, "--notify-keyspace-events", "KEA") as server, Together() as together:
        for number in range(2):
            together.start(Publisher(server, number).publish, together.is_over)
        for number in range(4):
            together.start(hear_oneself, server, number, together.is_over)
        together.last()


def hear_oneself(server, number, is_over):
    """Commands in one pipeline, and the messages that they cause, at their places."""
    db = server.connect(60)
    db.command("HELLO", 3)
    own, key = "own:%d" % number, "key:%d" % number
    events = "__keyspace@0__:" + key
    for channel in (own, events):
        assert db.command("SUBSCRIBE", channel).value[0] == b"subscribe"
    rounds = 0
    while not is_over.is_set():
        text = "%d" % rounds
        steps = [
            (("PUBLISH", own, text), 1, [[own, text]]),
            (("SET", key, text), b"OK", [[events, "set"]]),
            (("GET", key), text.encode(), []),
            (("MULTI",), b"OK", []),
            (("PUBLISH", own, "first"), b"QUEUED", []),
            (("RPUSH", key + ":l", "x"), b"QUEUED", []),
            (("SET", key, "inside", "EX", "100"), b"QUEUED", []),
            (("PUBLISH", own, "second"), b"QUEUED", []),
            (("EXEC",), [1, rounds + 1, b"OK", 1], [[own, "first"], [events, "set"], [events, "expire"], [own, "second"]]),
            (("DEL", key), 1, [[events, "del"]]),
            (("PING",), b"PONG", []),
        ]
        db.send_bytes(b"".join(encoded(words) for words, _, _ in steps))
        for words, reply, messages in steps:
            got = db.read()
            assert got == reply, "%r: %r" % (words, getattr(got, "value", got))
            for message in messages:
                push = db.read()
                expected = [b"message", *map(str.encode, message)]
                assert isinstance(push, Tagged) and push.value == expected, "%r: %r, not %r" % (words, getattr(push, "value", push), expected)
        rounds += 1
    assert rounds > 10, rounds


# What several clients do to one key at once, and the events of it: which may follow which, and which tell of what was done.
TURNS = {
    "text": ((("SET", "text", "v", "NX"), "set"), (("DEL", "text"), "del")),
    "hash": ((("HSETNX", "hash", "f", "v"), "hset"), (("HDEL", "hash", "f"), "hdel")),
    "many": ((("SADD", "many", "m"), "sadd"), (("SREM", "many", "m"), "srem")),
    "brief": ((("SET", "brief", "v", "NX", "PX", "2"), "set"), (("GETDEL", "brief"), "del")),
}
FOLLOWS = {
    "text": {"set": ["del"], "del": ["set"]},
    "hash": {"hset": ["hdel"], "hdel": ["del"], "del": ["hset"]},
    "many": {"sadd": ["srem"], "srem": ["del"], "del": ["sadd"]},
    "brief": {"set": ["expire"], "expire": ["del", "expired"], "del": ["set"], "expired": ["set"]},
}  # fmt: skip


def no_message_comes_behind_a_transaction_that_ends_its_subscription():
    with Server(*THREADS) as server:
        with Together() as publishing:
            for number in range(2):
                publishing.start(Publisher(server, number).publish, publishing.is_over)
            with Together() as together:
                for _ in range(4):
                    together.start(come_and_go_in_transactions, server, together.is_over)
                together.last()
        nothing_is_left(server)


def come_and_go_in_transactions(server, is_over):
    """Subscribes and ends its subscriptions in transactions; messages come between both and nowhere else."""
    db = server.connect(60)
    db.command("HELLO", 3)
    rounds = 0

    def transaction(word, has_messages):
        requests = [("MULTI",), *((word, channel) for channel in CHANNELS), ("EXEC",), ("PING",)]
        db.send_bytes(b"".join(map(encoded, requests)))
        replies = []
        while len(replies) < len(requests):
            reply = db.read()
            is_message = isinstance(reply, Tagged) and reply.value[0] == b"message"
            is_in_place = len(replies) < len(requests) - 1 if has_messages else len(replies) == len(requests) - 1
            assert is_in_place if is_message else True, "%s: a message behind %d replies" % (word, len(replies))
            replies += [] if is_message else [reply]
        confirmed = [push.value[:2] for push in replies[-2]]
        assert confirmed == [[word.lower().encode(), channel.encode()] for channel in CHANNELS], confirmed

    while not is_over.is_set():
        transaction("SUBSCRIBE", False)
        assert db.read().value[0] == b"message"
        transaction("UNSUBSCRIBE", True)
        rounds += 1
    assert rounds > 10, rounds


def events_of_a_key_come_in_their_order():
    with Server(*THREADS, "--notify-keyspace-events", "KA") as server:
        with Together() as together:
            heard, done = [], []
            subscribers = [Subscriber(server, at % 2) for at in range(3)]
            for subscriber in subscribers:
                subscriber.db.send([b"PSUBSCRIBE", b"__keyspace@0__:*"])
                assert subscriber.next()[0] == b"psubscribe"
                together.start(hear_events, subscriber, heard)
            with Together() as changing:
                for number in range(6):
                    changing.start(change, server, number, done, changing.is_over)
                changing.last()
            server.connect(60).command("RPUSH", "end", "x")
        # Those of different keys may come to one subscriber in another order than to the next.
        for events in heard:
            check_events(events, done)


def change(server, number, done, is_over):
    """Changes the keys, alone and in transactions; notes the events that it must have caused."""
    db, chance = server.connect(60), random.Random(number)
    while not is_over.is_set():
        chosen = [(key, *chance.choice(turns)) for key, turns in chance.sample(sorted(TURNS.items()), chance.randint(1, 4))]
        words = [words for _, words, _ in chosen]
        if chance.random() < 0.5:
            words = [("MULTI",), *words, ("EXEC",)]
        db.send_bytes(b"".join(map(encoded, words)))
        replies = [db.read() for _ in words]
        replies = replies[-1] if len(words) > len(chosen) else replies
        done += [(key, event) for (key, _, event), reply in zip(chosen, replies) if reply in (1, b"OK", b"v")]


def hear_events(subscriber, heard):
    events = []
    while not events or events[-1][0] != "end":
        _, _, channel, event = subscriber.next()
        events.append((channel.decode().split(":")[1], event.decode()))
    heard.append(events[:-1])


def check_events(events, done):
    """The events of a key follow each other, and each change has exactly one."""
    for key, follows in FOLLOWS.items():
        of_key = [event for name, event in events if name == key]
        assert len(of_key) > 10, "hardly anything happened to %r" % key
        for event, next_one in itertools.pairwise(of_key):
            assert next_one in follows[event], "%r: %r behind %r" % (key, next_one, event)
        for _, event in TURNS[key]:
            told, caused = of_key.count(event), done.count((key, event))
            assert told == caused, "%r: %d of %r, which happened %d times" % (key, told, event, caused)


def clients_that_die_leave_nothing():
    with Server(*THREADS) as server:
        for number in range(200):
            db = server.connect()
            requests = [("WATCH", "k", "other"), ("MULTI",), ("SET", "k", "x" * 1000), ("SUBSCRIBE", "one", "two")]
            if number % 2:
                requests = [("HELLO", 3), ("SUBSCRIBE", "one", "own"), ("PSUBSCRIBE", "t*"), ("SSUBSCRIBE", "s"), *requests, ("PUBLISH", "own", "x")]
            db.send_bytes(b"".join(map(encoded, requests)))
            if number % 3:
                db.read()
            db.close()
        nothing_is_left(server)
        db = server.connect()
        assert db.command("GET", "k").kind == "(nil)"


def nothing_is_left(server):
    """No table names a client that is gone."""
    db = server.connect()
    fields = ("pubsub_clients", "watching_clients", "total_watched_keys", "pubsub_channels", "pubsub_patterns", "pubsubshard_channels")

    def left():
        lines = dict(line.split(b":", 1) for line in b"".join(db.command("INFO", part) for part in ("clients", "stats")).split(b"\r\n") if b":" in line)
        return {name: int(lines[name.encode()]) for name in fields if int(lines[name.encode()])}

    with contextlib.suppress(AssertionError):
        server.until(lambda: not left())
    assert not left(), left()
    assert db.command("PUBSUB", "CHANNELS") == [] and db.command("PUBSUB", "SHARDCHANNELS") == []
    assert db.command("PUBLISH", "two", "x") == 0 and db.command("SPUBLISH", "s", "x") == 0


if __name__ == "__main__":
    sys.exit(run(globals()))
