#!/usr/bin/env python3
"""Random scripts at the server named by VARVE_SERVER and at Valkey: the same values, errors and replies, in both protocols.

    VARVE_SERVER=target/release/varve-server tests/process/scripts_beside_valkey.py [--seconds N] [--seed N]

Each script makes random values and returns them, sends them through cjson, cmsgpack or struct, or calls commands with them and
returns what came; none whose answers are left to chance, and no INCRBYFLOAT of long fractions, which is exact here. Where peers (peers.py) are missing, it says so and ends.
"""

import argparse
import random
import sys
import tempfile
import time

from peers import ROOT, are_there, started
from resp import Connection, render
from run import Server

KEYS = ("s", "n", "l", "h", "z", "x", "none", "e")
SETUP = [
    ("SET", "s", "text\0\r\n"), ("SET", "n", "10"), ("RPUSH", "l", "a", "1", ""), ("HSET", "h", "f", "v", "g", "2.5"),
    ("ZADD", "z", "1.5", "a", "-inf", "b", "3", "c"), ("XADD", "x", "1-1", "f", "v"), ("SADD", "e", "only"),
]
NUMBERS = """0 1 -1 2 3.5 -2.75 1e3 1e15 1e16 2^31 2^53 -2^53 2^62 2^63 1e20 1e300 1/0 -1/0 0/0 0.1 1e-7 123456789012 255 256 65535 -128
    -129 4294967296 1.0000001""".split()
STRINGS = ["''", "'a'", "'OK'", "'two words'", "'\\0\\1'", "'\\r\\n'", "'\\195\\164'", "'\\255'", "'10'", "'1.5'", "('x'):rep(40)", "('y'):rep(300)", "'[]'", "'{\"a\":1}'"]
COMMANDS = [line.split() for line in """GET K|SET K V|STRLEN K|INCR K|INCRBYFLOAT K 0.5|LRANGE K 0 -1|LPOP K|RPUSH K V|HGETALL K|HGET K V|HSET K V V
    ZRANGE K 0 -1 WITHSCORES|ZSCORE K V|ZADD K V V|SMEMBERS K|SADD K V|TYPE K|EXISTS K|DEL K|XRANGE K - +|APPEND K V|MGET K K
    GETRANGE K V V|SETRANGE K V V|EXPIRE K V|TTL K|PERSIST K|COPY K K REPLACE|RENAME K K|ECHO V|PING|LPOS K V|ZINCRBY K V V|HINCRBY K V V
    BITCOUNT K|PFADD K V|PFCOUNT K|SORT K|nosuch V|GET|SET K|ZRANK K V WITHSCORE|HELLO 3|MULTI|SUBSCRIBE c|CLIENT ID V|DBSIZE V
    LMPOP 1 K LEFT|GETEX K PERSIST|OBJECT FREQ K|EVAL V 0|SPUBLISH K V|SELECT V|SWAPDB 0 V""".replace("\n    ", "|").split("|")]
FORMATS = [">I2 i4 B", "<h l", "!4 b i8 s", "c0", "bBhHiIlL", ">d f", "c3 s", "i3 I5", "Bc0 x b", "!8 b d", "zz", "i17", "", "   ", "=I4"]


class Drawing:
    """Random pieces of scripts."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def one_of(self, things):
        return self.chance.choice(things)

    def scalar(self):
        kinds = [lambda: self.one_of(NUMBERS), lambda: self.one_of(STRINGS), lambda: self.one_of(["true", "false", "nil"]),
                 lambda: str(self.chance.randint(-10**self.chance.randint(1, 17), 10**17)), lambda: repr(self.chance.uniform(-1e6, 1e6))]
        return self.one_of(kinds)()

    def key(self):
        return self.one_of(["a", "b", "ok", "err", "double", "map", "set", "big_number", "verbatim_string", "string", "format"])

    def value(self, depth=3):
        """A literal of any shape; tables with one key at most besides what is in order, as the order of others is the table's."""
        if depth == 0 or self.chance.random() < 0.35:
            return self.scalar()
        parts = [self.value(depth - 1) for _ in range(self.chance.randint(0, 4))]
        kind = self.chance.random()
        if kind < 0.5:
            return "{%s}" % ",".join(parts)
        if kind < 0.8:
            return "{%s=%s}" % (self.key(), self.value(depth - 1))
        if kind < 0.9:
            return "{[%s]=%s}" % (self.chance.randint(-1, 5), self.value(depth - 1))
        return "{%s}" % ",".join([*parts, "%s=%s" % (self.key(), self.value(depth - 1))])

    def call(self):
        words = []
        for word in self.one_of(COMMANDS):
            words.append({"K": lambda: "'%s'" % self.one_of(KEYS), "V": lambda: self.one_of([self.scalar(), self.value(1)])}.get(word, lambda word=word: "'%s'" % word)())
        return "redis.%s(%s)" % (self.one_of(["call", "pcall", "pcall"]), ",".join(words))

    def script(self):
        """Statements and what is returned."""
        kind = self.chance.random()
        begin = self.one_of(["", "", "redis.setresp(3) ", "redis.setresp(2) "])
        if kind < 0.25:
            return begin + "return " + self.value()
        if kind < 0.4:
            return "return cjson.encode(%s)" % self.value()
        if kind < 0.5:
            return "return cjson.encode(cjson.decode(%s))" % self.one_of(["cjson.encode(%s)" % self.value(), *STRINGS, "'[1,2,{\"a\":[]}]'", "'[1e2,01,NaN,0x10,-0]'", "'\"\\\\u00e4\\\\ud83d\"'"])
        if kind < 0.6:
            return "return cmsgpack.pack(%s)" % ",".join(self.value() for _ in range(self.chance.randint(1, 3)))
        if kind < 0.7:
            return "return {cmsgpack.unpack(cmsgpack.pack(%s))}" % self.value()
        if kind < 0.8:
            return "return {struct.unpack('%s', struct.pack('%s', %s))}" % (*[self.one_of(FORMATS)] * 2, ",".join(self.scalar() for _ in range(4)))
        if kind < 0.9:
            return begin + "local r = {} for i = 1, 2 do r[i] = %s end return r" % self.call()
        return begin + "local a = %s local b = %s return {a, b, type(a), tostring(type(b))}" % (self.call(), self.call())


def shown(reply):
    return render(reply, full=True)


def differs(clients, drawing):
    """A script whose replies differ, with them; `None` if they do not."""
    if drawing.chance.random() < 0.1:
        for client in clients:
            client.command("FLUSHALL")
            for words in SETUP:
                client.command(*words)
    if drawing.chance.random() < 0.1:
        protocol = drawing.one_of("23")
        for client in clients:
            client.command("HELLO", protocol)
    text = drawing.script()
    replies = [shown(client.command("EVAL", text, "0")) for client in clients]
    return None if replies[0] == replies[1] else (text, *replies)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    if not are_there():
        print("skipped  scripts beside Valkey: there are no peers here")
        return 0
    drawing, count, found = Drawing(options.seed), 0, []
    with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp") as place, Server("--threads", "2") as ours, \
            started("valkey-server", place) as theirs:
        clients = [ours.connect(60), theirs]
        ends = time.monotonic() + options.seconds
        while time.monotonic() < ends and len(found) < 20:
            difference = differs(clients, drawing)
            count += 1
            if difference:
                found.append(difference)
    for text, own, other in found:
        print("DIFFERS  %s\n  Varve   %s\n  Valkey  %s" % (text, own, other))
    print("scripts: %d alike, %d not, seed %d" % (count - len(found), len(found), options.seed))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
