"""The data set that every recorded server was filled with, as far as its version knows the types.

Everything is derived from fixed seeds, so recording again gives the same keys and values. Thresholds are moved while the
data is written: first wide, so that compact forms hold elements of every size, then tight, so that a few dozen elements
reach the large forms and the files stay small.
"""

import hashlib

FAR_MS = 33000000000123  # a deadline in the year 3015 that needs its milliseconds
FAR_SECONDS = 34000000000  # one in the year 3047 in whole seconds
OLD_SECONDS = (2000000000, 2147483647)  # two that fit the 32 bits of the oldest files
DEADLINES = (FAR_MS, FAR_SECONDS * 1000, *(seconds * 1000 for seconds in OLD_SECONDS))
FREQUENCY, IDLE = 77, 86400  # of the keys that carry them

# Around every border of the integer forms in strings, intsets, ziplists and listpacks.
INTEGERS = [0, 1, 12, 13, -1, 127, 128, -128, -129, 255, 256, 4095, 4096, -4096, -4097, 32767, 32768, -32768, -32769,
            2**23 - 1, 2**23, -(2**23), -(2**23) - 1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, -(2**63)]
NOT_INTEGERS = ["9223372036854775808", "-9223372036854775809", "007", "+7", "-0", " 1", "1 ", "1.0", "0x10"]
LENGTHS = [0, 1, 31, 32, 63, 64, 127, 128, 253, 254, 255, 4095, 4096]  # around the borders of length forms
SCORES = ["-inf", "-1e308", "-3.5", "-1", "-5e-324", "-0", "0", "5e-324", "0.1", "1", "3.141592653589793", "17",
          "9007199254740993", "1e17", "1.7976931348623157e308", "inf"]

WIDE = {"list-max-ziplist-entries": "500", "list-max-ziplist-value": "20000", "list-max-ziplist-size": "-5",
        "hash-max-zipmap-entries": "500", "hash-max-ziplist-entries": "500", "hash-max-ziplist-value": "20000",
        "zset-max-ziplist-entries": "500", "zset-max-ziplist-value": "20000", "set-max-intset-entries": "500",
        "set-max-listpack-entries": "500", "set-max-listpack-value": "20000", "stream-node-max-entries": "100"}
TIGHT = {"list-max-ziplist-entries": "4", "list-max-ziplist-value": "64", "list-max-ziplist-size": "5",
         "hash-max-zipmap-entries": "4", "hash-max-ziplist-entries": "4", "hash-max-ziplist-value": "64",
         "zset-max-ziplist-entries": "4", "zset-max-ziplist-value": "64", "set-max-intset-entries": "4",
         "set-max-listpack-entries": "4", "set-max-listpack-value": "64", "stream-node-max-entries": "4"}

LIBRARY = "#!lua name=varvelib\nredis.register_function('answer', function(keys, args) return 42 end)\n"


class Knows:
    """What a server of one version understands."""

    def __init__(self, flavor, version):
        self.flavor = flavor
        self.hll = version >= (2, 8, 9)
        self.geo = version >= (3, 2)
        self.streams = self.restore_lfu = version >= (5, 0)
        self.functions = version >= (7, 0)
        self.stream_counters = version >= (7, 0)
        self.field_deadlines = version >= ((9, 0) if flavor == "valkey" else (7, 4))
        self.packed_threshold = version >= (7, 0)
        self.slots = version >= ((8, 0) if flavor == "valkey" else (7, 4))
        self.vectors = flavor == "redis" and version >= (8, 0)


def noise(seed, size):
    """Bytes that do not compress."""
    blocks = (hashlib.sha256(b"%s %d" % (seed.encode(), n)).digest() for n in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def text(seed, size):
    """Bytes that compress well: numbered lines."""
    line = b"%s line %d of many that say the same words over and over, so that few bytes of them remain\n"
    return b"".join(line % (seed.encode(), n) for n in range(size // 60 + 1))[:size]


def thresholds(table):
    return [("?", "CONFIG", "SET", name, value) for name, value in table.items()]


def strings():
    yield "SET", "string:empty", ""
    yield "SET", "string:short", "hello"
    for number in INTEGERS:
        yield "SET", "string:int:%d" % number, number
    for number, value in enumerate(NOT_INTEGERS):
        yield "SET", "string:no-int:%d" % number, value
    for size in (20, 21, 63, 64, 16383, 16384):
        yield "SET", "string:text:%d" % size, text("t", size)
    yield "SET", "string:20k-text", text("long", 20000)
    yield "SET", "string:20k-noise", noise("string", 20000)
    yield "SET", "string:zeros", b"\x00" * 100
    yield "SET", "string:binary", bytes(range(256))
    yield "SET", "string:appended", "part"
    yield "APPEND", "string:appended", " and part"
    yield "SETBIT", "string:bits", 99, 1
    yield "SET", "", "the key without a name"
    yield "SET", "12345", "a key that is a number"
    yield "SET", b"key\x00\xff\r\n", "a key of bytes"
    yield "SET", "key:long:" + "k" * 300, "a long key"


def compact():
    sizes = [text("s", size) for size in LENGTHS]
    yield ("RPUSH", "list:compact", *INTEGERS, *NOT_INTEGERS, *sizes, text("s", 16383), text("s", 16384), "last")
    yield "RPUSH", "list:one", "one"
    yield "SADD", "set:int16", 1, 2, -3, 32767, -32768
    yield "SADD", "set:int32", 1, 32768, -32769, 2147483647, -2147483648
    yield "SADD", "set:int64", 1, 2147483648, -2147483649, 2**63 - 1, -(2**63)
    yield "SADD", "set:compact", "a", "b", "", 7, 300, 70000, "x" * 70, text("member", 300)
    for number, score in enumerate(SCORES):
        yield "ZADD", "zset:compact", score, "m%d" % number
    yield "ZADD", "zset:compact", 5, "", 5, 12, 5, 70000, 5, text("member", 300)
    for number, value in enumerate(INTEGERS):
        yield "HSET", "hash:compact", "f%d" % number, value
    for size in LENGTHS:
        yield "HSET", "hash:compact", "len%d" % size, text("v", size)
    yield "HSET", "hash:compact", "", "the field without a name"
    yield "HSET", "hash:compact", "77", "a field that is a number"
    yield "HSET", "hash:one", "field", "value"


def large():
    yield ("RPUSH", "list:large", *["element %d" % n for n in range(60)])
    yield "LPUSH", "list:large", *INTEGERS
    yield "RPUSH", "list:huge-element", "before", text("huge", 70000), "after"
    yield ("SADD", "set:ints-large", *[n * n for n in range(60)])
    yield ("SADD", "set:large", *["member %d" % n for n in range(60)])
    for number, score in enumerate(SCORES):
        yield "ZADD", "zset:large", score, "m%d" % number
    for number in range(40):
        yield "ZADD", "zset:large", number * 1.1, "member %d" % number
    for number in range(60):
        yield "HSET", "hash:large", "field %d" % number, "value %d" % number
    yield "HSET", "hash:large-value", "big", text("value", 3000)
    yield "HSET", "hash:large-value", "noise", noise("value", 300)


def streams(knows):
    for number in range(1, 15):
        yield "XADD", "stream:many", "%d-%d" % (1000 + number // 3, number), "n", number, "word", "w%d" % number
    yield "XADD", "stream:many", "2000-0", "other", "fields", "than", "before", "number", -70000
    yield "XDEL", "stream:many", "1001-3", "1004-14", "1002-6"
    for name, start in (("first", "0"), ("second", "1002-7"), ("idle", "$")):
        yield "XGROUP", "CREATE", "stream:many", name, start
    yield "XREADGROUP", "GROUP", "first", "alice", "COUNT", 5, "STREAMS", "stream:many", ">"
    yield "XREADGROUP", "GROUP", "first", "bob", "COUNT", 3, "STREAMS", "stream:many", ">"
    yield "XREADGROUP", "GROUP", "second", "carol", "COUNT", 2, "STREAMS", "stream:many", ">"
    yield "XACK", "stream:many", "first", "1000-1"
    for who, entry, moment, count in (("alice", "1000-2", 1600000000000, 4), ("bob", "1001-4", 1600000000001, 1)):
        yield ("XCLAIM", "stream:many", "first", who, 0, entry, "TIME", moment, "RETRYCOUNT", count, "FORCE", "JUSTID")
    yield "XADD", "stream:emptied", "5-5", "a", "b"
    yield "XDEL", "stream:emptied", "5-5"
    yield "XGROUP", "CREATE", "stream:emptied", "g", "$"
    yield "XGROUP", "CREATE", "stream:never-filled", "g", "0", "MKSTREAM"
    yield "XADD", "stream:trimmed", "1-1", "f", "v"
    for number in range(2, 12):
        yield "XADD", "stream:trimmed", "MAXLEN", 3, "%d-1" % number, "f", text("entry", 100)
    yield "XADD", "stream:largest-id", "18446744073709551615-18446744073709551615", "f", "v"
    if knows.stream_counters:
        yield "XGROUP", "CREATE", "stream:many", "counted", "1002-7", "ENTRIESREAD", 7
        yield "XGROUP", "CREATECONSUMER", "stream:many", "counted", "nobody"
        yield "XSETID", "stream:trimmed", "900-1", "ENTRIESADDED", 1000, "MAXDELETEDID", "8-1"


def deadlines():
    yield "SET", "deadline:ms", "v"
    yield "PEXPIREAT", "deadline:ms", FAR_MS
    yield "SET", "deadline:s", 1234
    yield "EXPIREAT", "deadline:s", FAR_SECONDS
    yield "RPUSH", "deadline:list", "a", "b"
    yield "PEXPIREAT", "deadline:list", FAR_MS
    yield "HSET", "deadline:hash", "f", "v"
    yield "PEXPIREAT", "deadline:hash", FAR_MS


def field_deadlines():
    for key, count in (("fields:compact", 4), ("fields:large", 30)):
        for number in range(count):
            yield "HSET", key, "f%d" % number, "value %d" % number
        yield "HPEXPIREAT", key, FAR_MS, "FIELDS", 2, "f0", "f2"
        yield "HPEXPIREAT", key, FAR_SECONDS * 1000, "FIELDS", 1, "f3"
    yield "HSET", "fields:all", "f", "v"
    yield "HPEXPIREAT", "fields:all", FAR_MS, "FIELDS", 1, "f"
    yield "PEXPIREAT", "fields:all", FAR_MS


def other_databases():
    yield "SELECT", 1
    yield "SET", "database", "one"
    yield "SADD", "set", "a", "b"
    yield "SELECT", 9
    yield "SET", "database", "nine"
    yield "PEXPIREAT", "database", FAR_MS
    yield "SELECT", 0


def everything(knows):
    """All commands that fill a server; one that begins with `?` may be refused."""
    yield from thresholds(WIDE)
    yield from strings()
    yield from compact()
    yield from deadlines()
    if knows.hll:
        yield ("PFADD", "hll:sparse", *["e%d" % n for n in range(20)])
    if knows.geo:
        yield "GEOADD", "geo", "13.361389", "38.115556", "Palermo", "15.087269", "37.502669", "Catania"
    yield from thresholds(TIGHT)
    if knows.packed_threshold:
        yield "?", "DEBUG", "QUICKLIST-PACKED-THRESHOLD", "30kb"
    yield from large()
    if knows.streams:
        yield from streams(knows)
    if knows.field_deadlines:
        yield from field_deadlines()
    yield from other_databases()


def compressed_lists():
    """Lists whose inner nodes the server keeps compressed."""
    yield from thresholds(TIGHT)
    yield "?", "CONFIG", "SET", "list-compress-depth", "1"
    for number in range(40):
        yield "RPUSH", "list:compressed", text("element %d" % number, 60 + number)
    yield "LPOP", "list:compressed"


def weighed():
    """A few keys of each kind, to carry idle times or frequencies."""
    yield "SET", "weighed:string", "value"
    yield "RPUSH", "weighed:list", 1, 2, 3
    yield "HSET", "weighed:hash", "f", "v"
    yield "SADD", "weighed:set", "a", "b"
    yield "SET", "weighed:deadline", "v"
    yield "PEXPIREAT", "weighed:deadline", FAR_MS


def of_a_cluster():
    """Keys of several slots, one of them with its deadline."""
    for number in range(8):
        yield "SET", "slot:%d" % number, "value %d" % number
    yield "PEXPIREAT", "slot:3", FAR_MS
    yield "RPUSH", "{slot:3}:list", "a", "b"


def history(knows):
    """The commands of the append-only files, with transactions; `*` stands where the file is written anew."""
    yield from thresholds(TIGHT)
    yield "SET", "a:string", "first"
    yield ("RPUSH", "a:list", *["element %d" % n for n in range(12)])
    yield "SADD", "a:set", "x", "y", 3
    yield "ZADD", "a:zset", 1.5, "one", "-inf", "low", 3, "three"
    yield "HSET", "a:hash", "f", "v"
    yield "INCRBY", "a:count", 40
    yield "SET", "a:binary", bytes(range(256))
    yield "SET", "a:deadline", "v"
    yield "PEXPIREAT", "a:deadline", FAR_MS
    yield "SET", "a:gone", "soon"
    if knows.streams:
        for number in range(1, 8):
            yield "XADD", "a:stream", "%d-1" % number, "n", number
        yield "XGROUP", "CREATE", "a:stream", "g", "0"
        yield "XREADGROUP", "GROUP", "g", "alice", "COUNT", 3, "STREAMS", "a:stream", ">"
        yield "XDEL", "a:stream", "2-1"
    yield "*",
    yield "MULTI",
    yield "SET", "a:transaction", "one"
    yield "INCR", "a:count"
    yield "LPOP", "a:list"
    yield "EXEC",
    yield "SPOP", "a:set"
    yield "INCRBYFLOAT", "a:float", "10.5"
    yield "HINCRBYFLOAT", "a:hash", "n", "0.25"
    yield "SETEX", "a:seconds", 1000000000, "v"
    yield "EXPIREAT", "a:seconds", FAR_SECONDS
    yield "DEL", "a:gone"
    if knows.field_deadlines:
        yield "HPEXPIREAT", "a:hash", FAR_MS, "FIELDS", 1, "f"
    if knows.streams:
        yield "XACK", "a:stream", "g", "1-1"
        yield "XADD", "a:stream", "MAXLEN", 4, "9-1", "n", 9
    yield "SELECT", 3
    yield "SET", "b:other", "database three"
    yield "MULTI",
    yield "SET", "b:last", "of the transaction"
    yield "RPUSH", "b:list", "a", "b", "c"
    yield "EXEC",


def script():
    """A script that old servers wrote down as it was sent."""
    yield "SELECT", 0
    yield "EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", 1, "a:script", "written by a script"
