"""Clients that write at random: all types, deadlines, transactions, scripts, functions, large values, messages, and waits for keys.

No case of its own: what servers have made of it is compared elsewhere.
"""

import contextlib
import random
import re
import threading
import time

from replicas import write_at_random
from resp import Closed, Connection, Error
from run import PATIENCE

# What is between braces is drawn: see DRAWN. Left out is what a peer hands on to its replicas so that they come to other data than it
# has, which is not this server's to mend: SET with IFEQ, whose condition a replica judges anew; a BITFIELD that saturates; a
# negative offset of LIMIT, which finds something in one form of a sorted set and nothing in the other; a negative zero as score; a range
# of members whose scores differ, which hangs on how the set is kept. PFCOUNT of one key stands behind a write: a replica that is asked
# for it keeps the count, and so has other bytes.
LINES = """
SET S{i} {v}|SET S{i} {v} PX {ms}|SET S{i} {v} KEEPTTL|SET S{i} {v} NX EX 1000|SET S{i} {v} XX GET|GETSET S{i} {v}|SETNX S{i} {v}
GETEX S{i} PX {ms}|GETEX S{i} PERSIST|GETDEL S{i}|SETEX S{i} 1000 {v}|PSETEX S{i} {ms} {v}|MSET S{i} {v} S{i} {v}|MSETNX S{i} {v} S{i} {v}
APPEND S{i} {v}|SETRANGE S{i} {n} {v}|INCR N{j}|INCRBY N{j} {n}|DECRBY N{j} {n}|INCRBYFLOAT N{j} 0.25|SET N{j} {n}|SET N{j} {n} PX {ms}
PEXPIRE {k} {ms}|EXPIRE {k} 1000|PEXPIRE {k} {ms} NX|PEXPIRE {k} {ms} GT|PEXPIRE {k} {ms} LT|EXPIREAT {k} 1|PERSIST {k}|PERSIST {k}
DEL {k} {k}|UNLINK {k} {k}|RENAME {k} {k}|RENAMENX {k} {k}|COPY {k} {k} REPLACE|COPY {k} {k} DB 3|MOVE {k} 3|MOVE {k} 5
LPUSH L{j} {e} {v}|RPUSH L{j} {e} {e} {v}|RPUSH L{j} {e}|LPUSHX L{j} {e}|LPOP L{j}|RPOP L{j} 2|LSET L{j} 0 {v}|LREM L{j} 1 {e}
LTRIM L{j} 0 80|LINSERT L{j} BEFORE {e} {v}|LMOVE L{j} L{j} LEFT RIGHT|RPOPLPUSH L{j} L{j}|LMPOP 2 L{j} L{j} RIGHT COUNT 3|SORT L{j} ALPHA STORE L{j}
SADD T{j} {e} {n}|SADD T{j} {n} {n} {n}|SREM T{j} {e} {n}|SPOP T{j}|SPOP T{j} 3|SMOVE T{j} T{j} {e}|SINTERSTORE T{j} T{j} T{j}
SUNIONSTORE T{j} T{j} T{j}|SDIFFSTORE T{j} T{j} T{j}
HSET H{j} {e} {v}|HSET H{j} {e} {v} {e} {n}|HMSET H{j} {e} {v}|HSETNX H{j} {e} {v}|HINCRBY H{j} n {n}|HINCRBYFLOAT H{j} x 0.5|HDEL H{j} {e} {e}
HGETDEL H{j} FIELDS 2 {e} {e}|HPEXPIRE H{j} {fm} FIELDS 2 {e} {e}|HPEXPIRE H{j} {fm} NX FIELDS 1 {e}|HPEXPIRE H{j} {fm} GT FIELDS 1 {e}
HEXPIRE H{j} 100000 FIELDS 1 {e}|HPEXPIREAT H{j} 1 FIELDS 1 {e}|HPERSIST H{j} FIELDS 2 {e} {e}|HGETEX H{j} PX {fm} FIELDS 1 {e}
HGETEX H{j} PERSIST FIELDS 1 {e}|HSETEX H{j} PX {fm} FIELDS 2 {e} {v} {e} {n}|HSETEX H{j} EX 100000 FIELDS 1 {e} {v}|HSETEX H{j} FNX PX {fm} FIELDS 1 {e} {v}
HSETEX H{j} FXX KEEPTTL FIELDS 1 {e} {v}|HSETEX H{j} PXAT 1 FIELDS 1 {e} {v}
ZADD Z{j} {n} {e}|ZADD Z{j} {n} {e} {n}.5 {n}|ZADD Z{j} NX {n} {e}|ZADD Z{j} XX GT CH {n} {e}|ZADD Z{j} INCR {n} {e}|ZINCRBY Z{j} 1.1 {e}
ZREM Z{j} {e}|ZPOPMIN Z{j}|ZPOPMAX Z{j} 2|ZMPOP 2 Z{j} Z{j} MIN COUNT 2|ZREMRANGEBYRANK Z{j} 0 1|ZREMRANGEBYSCORE Z{j} 5 9|ZADD Y{j} 0 {e} 0 {n}
ZREMRANGEBYLEX Y{j} [a1 [a12|ZRANGESTORE Y{j} Y{j} [a (b BYLEX|ZUNIONSTORE Z{j} 2 Z{j} Z{j} WEIGHTS 2 3 AGGREGATE MAX|ZINTERSTORE Z{j} 2 Z{j} T{j}|ZDIFFSTORE Z{j} 2 Z{j} Z{j}|ZRANGESTORE Z{j} Z{j} 0 20
XADD X{j} * f {v}|XADD X{j} * {e} {v} {e} {n}|XADD X{j} MAXLEN ~ 50 * f {n}|XADD X{j} MAXLEN 20 * f {n}|XADD X{j} NOMKSTREAM * f {n}|XTRIM X{j} MAXLEN 10
XTRIM X{j} MINID ~ {n}|XGROUP CREATE X{j} g{p} 0 MKSTREAM|XGROUP CREATE X{j} g{p} $ MKSTREAM|XGROUP SETID X{j} g{p} 0|XGROUP CREATECONSUMER X{j} g{p} c{p}
XGROUP DELCONSUMER X{j} g{p} c{p}|XGROUP DESTROY X{j} g{p}|XREADGROUP GROUP g{p} c{p} COUNT 3 STREAMS X{j} >
XREADGROUP GROUP g{p} c{p} COUNT 3 NOACK STREAMS X{j} >|XREADGROUP GROUP g{p} c{p} COUNT 2 STREAMS X{j} 0|XAUTOCLAIM X{j} g{p} c{p} 0 0 COUNT 3
PFADD P{j} {n} {e}|PFMERGE P{j} P{j} P{j}|PFCOUNT P{j} P{j}|SETBIT B{j} {n} 1|SETBIT B{j} {n} 0|BITOP XOR B{j} B{j} S{i}|BITFIELD B{j} SET u8 {n} 7
BITFIELD B{j} INCRBY i5 {n} 3|GEOADD G{j} 13.3{n} 38.1 {e}|GEOSEARCHSTORE G{j} G{j} FROMLONLAT 13 38 BYRADIUS 200 km ASC COUNT 5
HSETEX U{j} PX {ms} FIELDS 1 {u} {v}|HSETEX U{j} PX {ms} FIELDS 2 {u} {v} {u} {n}|HSET U{j} a {v}
PUBLISH news {v}|SHSETEX U{j} PX {ms} FIELDS 1 {u} {v}|HSETEX U{j} PX {ms} FIELDS 2 {u} {v} {u} {n}|HSET U{j} a {v}
PUBLISH news {v}|WAIT 1 5|SELECT 0|SELECT 3
""".replace("\n", "|").strip("|").split("|")
# Each empties much, and is seldom drawn.
EMPTYING = "FLUSHALL|FLUSHALL ASYNC|FLUSHDB|FLUSHDB SYNC|SWAPDB 0 3|SWAPDB 0 3|SWAPDB 0 5|SWAPDB 3 5|FUNCTION FLUSH".split("|")
WAITING = """
BLPOP L{j} L{j} 0.2|BRPOP L{j} 0.1|BLMOVE L{j} L{j} LEFT RIGHT 0.2|BRPOPLPUSH L{j} L{j} 0.2|BLMPOP 0.2 2 L{j} L{j} LEFT COUNT 3|BZPOPMIN Z{j} Z{j} 0.1
BZPOPMAX Z{j} 0.2|BZMPOP 0.2 1 Z{j} MAX COUNT 2|XREAD BLOCK 200 STREAMS X{j} $|XREADGROUP GROUP g{p} c{p} BLOCK 200 COUNT 2 STREAMS X{j} >
BLPOP W{j} 0|BLMOVE W{j} L{j} LEFT RIGHT 0|BZPOPMIN WZ{j} 0
""".replace("\n", "|").strip("|").split("|")
# Whoever waits without an end is served.
SERVING = "RPUSH W{j} {e} {v}|ZADD WZ{j} {n} {e}".split("|")
SCRIPTS = [
    "redis.call('SET', KEYS[1], ARGV[1]) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return redis.call('INCR', 'N1')",
    "for i = 1, 50 do redis.call('RPUSH', KEYS[1], i .. ARGV[1]) end return redis.call('LTRIM', KEYS[1], -100, -1)",
    "redis.call('SADD', KEYS[1], 'a', 'b', ARGV[1]) return redis.call('SPOP', KEYS[1])",
    "local t = redis.call('TIME')[2] % 10 redis.call('HSET', KEYS[1], t, t) return redis.call('HPEXPIRE', KEYS[1], ARGV[3], 'FIELDS', 1, t)",
    "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('LPUSH', KEYS[1], 'fails behind a write')",
    "redis.call('PUBLISH', 'news', ARGV[1]) redis.call('SELECT', 3) return redis.call('SET', KEYS[1], ARGV[1])",
    "return redis.pcall('XADD', KEYS[1], '*', 'f', ARGV[1])",
    "redis.call('PFADD', 'P1', ARGV[1]) return redis.call('PFCOUNT', 'P1')",
    "redis.call('DEL', KEYS[1]) return redis.call('ZADD', KEYS[1], math.random(), ARGV[1], 1, redis.call('RANDOMKEY') or 'none')",
    "redis.call('RENAME', KEYS[1], 'S1') redis.call('EXPIRE', 'S1', 1000) return redis.call('COPY', 'S1', KEYS[1])",
]
LIBRARY = """#!lua name=lib%d
redis.register_function('f%d', function(keys, args)
    redis.call('SET', keys[1], args[1] .. '%d') redis.call('PEXPIRE', keys[1], args[2]) return redis.call('LPUSH', 'L1', '%d')
end)"""
MILLIS = (1, 5, 20, 60, 150, 400, 1500, 100_000, 10_000_000)
PREFIXES = "SSSNLLTTHHZZXPBG"
DRAWN = {
    "i": lambda chance: chance.randrange(30),
    "j": lambda chance: chance.randrange(4),
    "p": lambda chance: chance.randrange(2),
    "n": lambda chance: chance.randrange(200),
    "e": lambda chance: "a%d" % chance.randrange(20),
    "k": lambda chance: chance.choice(PREFIXES) + str(chance.randrange(4)),
    "v": lambda chance: chance.choice(("v", "%d" % chance.randrange(100_000), "w" * chance.randrange(1, 70), "x" * chance.randrange(1, 2000))),
    "u": lambda chance: "u%d" % chance.getrandbits(60),
    "ms": lambda chance: chance.choice(MILLIS),
    "fm": lambda chance: chance.choice(MILLIS),
}
FAR = 100_000_000  # milliseconds that do not pass while a test runs
LATER = (b"READONLY", b"LOADING", b"MASTERDOWN", b"UNBLOCKED", b"NOREPLICAS", b"REDIRECT")  # begin what is said by who is not, or not yet, the primary
FILLING, FILLING_KEYS = 50_000, 600  # bytes of a value that fills memory, and how many there are


def words(line, chance, drawn=DRAWN):
    """A line with what is drawn in it."""
    return re.sub(r"\{(\w+)\}", lambda found: str(drawn[found[1]](chance)), line).split(" ")


def pipelined(db, requests):
    """The replies to requests that are sent at once."""
    for request in requests:
        db.send([word if isinstance(word, bytes) else str(word).encode() for word in request])
    return [db.read() for _ in requests]


class Client:
    """A thread that is connected to whoever is the primary, and does one step after the other."""

    def __init__(self, nodes, seed):
        self.nodes, self.chance, self.is_over, self.requests = nodes, random.Random(seed), threading.Event(), 0
        self.thread = threading.Thread(target=self.go_on, daemon=True)
        self.thread.start()

    def go_on(self):
        while not self.is_over.is_set():
            with contextlib.suppress(OSError, Closed):
                node = self.nodes.primary
                self.db = Connection("127.0.0.1:%d" % node.port, PATIENCE)
                with contextlib.closing(self.db):
                    while not self.is_over.is_set() and node is self.nodes.primary:
                        self.step()
            time.sleep(0.003)

    def ask(self, *requests):
        """Sends requests at once. Leaves the connection where they are for another node."""
        replies = pipelined(self.db, requests)
        self.requests += len(requests)
        if any(isinstance(reply, Error) and reply.startswith(LATER) for reply in replies):
            raise Closed()
        return replies

    def end(self):
        self.is_over.set()


class Writer(Client):
    """A client that writes. Where nodes spare fields, the deadlines of fields that pass are those of `U`, whose fields are written once.

    Redis 8.0 removes a field that is given a deadline in the past, on a replica that is late as well, so that a later deadline or HPERSIST
    finds nothing there. Valkey 9.1 hands HDEL, HGETDEL and COPY on as they came, and passes over fields that are past their deadline, which
    its replicas do not.
    """

    def __init__(self, nodes, seed):
        self.drawn = DRAWN | {"fm": lambda _: FAR} if nodes.spare_fields else DRAWN
        super().__init__(nodes, seed)

    def words(self, line):
        return words(line, self.chance, self.drawn)

    def step(self):
        steps, weights = zip(*WEIGHTS.items())
        step = self.chance.choices(steps, weights)[0]
        step(self)
        if self.nodes.fills:
            self.fill()

    def lines(self, count, among=LINES):
        return [self.words(self.chance.choice(among)) for _ in range(count)]

    def write_lines(self):
        self.ask(*self.lines(self.chance.choice((1, 5, 20, 60))))

    def write_others(self):
        if self.nodes.spare_fields:
            return  # there are such commands among them
        write_at_random(self.db, self.chance, 20)
        self.requests += 20

    def transaction(self):
        begun = [["WATCH", "S1", "L1"], ["GET", "S1"]] if self.chance.random() < 0.2 else []
        lines = self.lines(self.chance.randrange(1, 9))
        if self.chance.random() < 0.02:
            lines += self.lines(1, EMPTYING)
        self.ask(*begun, ["MULTI"], *lines, ["EXEC" if self.chance.random() < 0.95 else "DISCARD"])

    def script(self):
        script = ["EVAL", self.chance.choice(SCRIPTS), 1, *self.words("{k} {v} {ms} {fm}")]
        in_transaction = self.chance.random() < 0.2
        self.ask(*[["MULTI"], *self.lines(2), script, ["EXEC"]] if in_transaction else [script])

    def function(self):
        name, version = self.chance.randrange(3), self.chance.randrange(1000)
        load = ["FUNCTION", "LOAD", "REPLACE", LIBRARY % (name, name, version, version)]
        call = ["FCALL", "f%d" % name, 1, *self.words("{k} {v} {ms}")]
        self.ask(*self.chance.choice(([load], [call], [call], [load, call], [["MULTI"], load, call, ["EXEC"]], [["FUNCTION", "DELETE", "lib%d" % name]])))
        if self.chance.random() < 0.1:
            payload = self.ask(["FUNCTION", "DUMP"])[0]
            self.ask(["FUNCTION", "FLUSH"], ["FUNCTION", "RESTORE", payload, "REPLACE"])

    def restore(self):
        one, other, millis = self.words("{k} {k} {ms}")
        payload = self.ask(["DUMP", one])[0]
        if isinstance(payload, bytes):
            lives = self.chance.choice(([0], [millis], [int(time.time() * 1000) + int(millis), "ABSTTL"]))
            self.ask(["RESTORE", other, lives[0], payload, "REPLACE", *lives[1:]])

    def large(self):
        """A key of some MB, or a change of one."""
        chance, name = self.chance, "big%d" % self.chance.randrange(3)
        number = lambda count: [chance.randrange(1_000_000) for _ in range(count)]
        fields = [word for at in number(3000) for word in (at, "y" * (at % 300))]
        self.ask(chance.choice((
            ["SETRANGE", name, chance.randrange(6 << 20), "end"], ["SET", name, chance.randbytes(chance.randrange(3 << 20)), "EX", 1000], ["APPEND", name, "z" * 300_000],
            ["RPUSH", name + "l", *number(20_000)], ["LTRIM", name + "l", 5000, -5000], ["HSET", name + "h", *fields], ["SADD", name + "s", *number(10_000)],
            ["ZADD", name + "z", *number(10_000)], ["XADD", name + "x", "*", *fields], ["COPY", name, name + "c", "REPLACE"], ["SPOP", name + "s", 4000],
            ["HPEXPIRE", name + "h", *self.words("{fm}"), "FIELDS", 2000, *fields[::2][:2000]], ["UNLINK", name, name + "l"], ["DEL", name + "h", name + "s", name + "z", name + "x"],
        )))  # fmt: skip

    def empty(self):
        self.ask(*self.lines(1, EMPTYING))

    def serve(self):
        self.ask(*self.lines(3, SERVING))

    def fill(self):
        at = self.chance.randrange(FILLING_KEYS)
        self.ask(["SET", "filling:%d" % at, "v" * FILLING, "EX", 100_000])


WEIGHTS = {
    Writer.write_lines: 50, Writer.write_others: 8, Writer.transaction: 15, Writer.script: 10, Writer.function: 4, Writer.restore: 4, Writer.large: 1,
    Writer.empty: 0.15, Writer.serve: 8,
}  # fmt: skip


class Waiter(Client):
    """A client that waits for keys. Without an end where a line says so, until it is served or its connection breaks."""

    def step(self):
        self.ask(words(self.chance.choice(WAITING), self.chance))

    def end(self):
        super().end()
        with contextlib.suppress(OSError, AttributeError):
            self.db.socket.shutdown(2)
