"""What a server holds, as lines that do not depend on the server: asked, written, read and compared.

A line is a head, which says what it is about, and attributes `name=value`. A comparison looks at the attributes that
the expectation has, so that an old server, which knows less, can still say what a new one must hold.
"""

import hashlib
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "transcripts"))
import data
import resp

NO_FUNCTIONS = "no functions"  # the head that says that the server knows none
LITERAL = 80  # characters of a value's canonical form; a longer one is given by its SHA-1
TOKEN = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*")+')


class Unknown(Exception):
    """The server has no such command, or not this form of it."""


class Asked:
    """One connection on which errors mean that the server cannot tell."""

    def __init__(self, connection):
        self.connection = connection

    def __call__(self, *arguments):
        reply = self.connection.command(*arguments)
        if isinstance(reply, resp.Error):
            raise Unknown("%s: %s" % (arguments[0], reply.decode(errors="replace")))
        return reply

    def maybe(self, *arguments):
        try:
            return self(*arguments)
        except Unknown:
            return None


def quote(value):
    return '"%s"' % resp.escape(value)


def score(value):
    """A score as the shortest text that reads back as the same number.

    The sign of zero is left out: a server may lose it when it makes the compact form of what it read.
    """
    return repr(float(value) + 0.0).encode()


def canonical(items):
    """A short list of strings as it is, a long one by its SHA-1 over length-prefixed items."""
    literal = ",".join(map(quote, items))
    if len(literal) <= LITERAL and literal:
        return literal
    digest = hashlib.sha1(b"".join(b"%d:%s," % (len(item), item) for item in items)).hexdigest()
    return "sha1:" + digest


def pairs(flat):
    return list(zip(flat[::2], flat[1::2]))


def flat_map(reply):
    """A reply of names and values as a dictionary."""
    return {bytes(name).decode(): value for name, value in pairs(reply)}


def deadline(ask, key):
    """The deadline in milliseconds; a server without PEXPIRETIME tells the rest, which names one of the known ones."""
    at = ask.maybe("PEXPIRETIME", key)
    if at is None:
        rest = ask("PTTL", key)
        at = rest if rest < 0 else int(time.time() * 1000) + rest
        at = next((known for known in data.DEADLINES if abs(at - known) < 2000), at)
    return "-" if at < 0 else str(at)


def value_of(ask, kind, key):
    """The number of elements and the elements in canonical order."""
    if kind == "string":
        return [ask("GET", key)]
    if kind == "list":
        return ask("LRANGE", key, 0, -1)
    if kind == "set":
        return sorted(ask("SMEMBERS", key))
    if kind == "zset":
        found = pairs(ask("ZRANGE", key, 0, -1, "WITHSCORES"))
        return [part for member, at in found for part in (member, score(at))]
    if kind == "hash":
        return [part for pair in sorted(pairs(ask("HGETALL", key))) for part in pair]
    if kind == "stream":
        return [part for name, fields in ask("XRANGE", key, "-", "+") for part in (name, *fields)]
    raise Unknown("type %s" % kind)


def key_lines(ask, database, key, policy):
    head = "%d %s" % (database, quote(key))
    kind = bytes(ask("TYPE", key)).decode()
    weights = {}
    if "lfu" in policy:
        weights["freq"] = ask.maybe("OBJECT", "FREQ", key)
    elif "lru" in policy:
        weights["idle"] = ask.maybe("OBJECT", "IDLETIME", key)
    at = deadline(ask, key)
    items = value_of(ask, kind, key)
    line = {"type": kind, "deadline": at, "items": len(items), "value": canonical(items)}
    line.update((name, value) for name, value in weights.items() if value is not None)
    yield "key " + head, line
    if kind == "hash":
        yield from field_lines(ask, head, key, items[::2])
    if kind == "stream":
        yield from stream_lines(ask, head, key)


def field_lines(ask, head, key, fields):
    found = ask.maybe("HPEXPIRETIME", key, "FIELDS", len(fields), *fields)
    for field, at in zip(fields, found or ()):
        if at >= 0:
            yield "field %s %s" % (head, quote(field)), {"deadline": at}


def stream_lines(ask, head, key):
    full = ask.maybe("XINFO", "STREAM", key, "FULL", "COUNT", 0)
    if full is None:
        yield from old_stream_lines(ask, head, key)
        return
    full = flat_map(full)
    known = {"last-id": full.get("last-generated-id"), "max-deleted": full.get("max-deleted-entry-id"),
             "added": full.get("entries-added")}
    yield "stream " + head, attributes(known)
    for group in map(flat_map, full["groups"]):
        yield from group_lines(head, group)


def old_stream_lines(ask, head, key):
    """Redis 5 tells of groups only by XINFO GROUPS and CONSUMERS."""
    info = flat_map(ask("XINFO", "STREAM", key))
    yield "stream " + head, attributes({"last-id": info["last-generated-id"]})
    for group in map(flat_map, ask("XINFO", "GROUPS", key)):
        where = "%s %s" % (head, quote(group["name"]))
        yield "group " + where, attributes({"last-id": group["last-delivered-id"], "pending": group["pending"]})
        for consumer in map(flat_map, ask("XINFO", "CONSUMERS", key, group["name"])):
            whose = "%s %s" % (where, quote(consumer["name"]))
            yield "consumer " + whose, {"pending": consumer["pending"]}
            for name, _, _, count in ask("XPENDING", key, group["name"], "-", "+", 1000, consumer["name"]):
                yield "pending %s %s" % (whose, name.decode()), {"count": count}


def group_lines(head, group):
    where = "%s %s" % (head, quote(group["name"]))
    known = {"last-id": group["last-delivered-id"], "pending": group["pel-count"]}
    if "entries-read" in group:
        read = group["entries-read"]
        known["read"] = read if isinstance(read, int) else "-"
    yield "group " + where, attributes(known)
    for consumer in map(flat_map, group["consumers"]):
        whose = "%s %s" % (where, quote(consumer["name"]))
        yield "consumer " + whose, attributes({"seen": consumer["seen-time"], "active": consumer.get("active-time"),
                                               "pending": consumer["pel-count"]})
        for name, at, count in consumer["pending"]:
            yield "pending %s %s" % (whose, name.decode()), {"time": at, "count": count}


def attributes(known):
    return {name: value.decode() if isinstance(value, bytes) else value
            for name, value in known.items() if value is not None}


def function_lines(ask):
    libraries = ask.maybe("FUNCTION", "LIST", "WITHCODE")
    if libraries is None:
        yield NO_FUNCTIONS, {}
    for library in map(flat_map, libraries or ()):
        code = hashlib.sha1(library["library_code"]).hexdigest()
        yield "function %s" % quote(library["library_name"]), {"engine": library["engine"].decode(), "code": code}


def databases(ask):
    """The numbers of the databases that hold keys."""
    return [int(n) for n in re.findall(r"^db(\d+):", bytes(ask("INFO", "keyspace")).decode(), re.M)]


def setting(ask, name):
    reply = ask.maybe("CONFIG", "GET", name)
    return bytes(reply[1]).decode() if reply else ""


def describe(connection):
    """All that the server holds: a dictionary of heads and their attributes."""
    ask = Asked(connection)
    policy = setting(ask, "maxmemory-policy") if setting(ask, "maxmemory") not in ("", "0") else ""
    found = {}
    for database in databases(ask):
        ask("SELECT", database)
        for key in sorted(ask("KEYS", "*")):
            found.update(key_lines(ask, database, key, policy))
    ask("SELECT", 0)
    found.update(function_lines(ask))
    return {head: {name: str(value) for name, value in line.items()} for head, line in found.items()}


def parse_line(line):
    tokens = TOKEN.findall(line)
    start = next((n for n, token in enumerate(tokens) if re.match(r"[a-z-]+=", token)), len(tokens))
    return " ".join(tokens[:start]), dict(token.split("=", 1) for token in tokens[start:])


def read(path):
    """An expectation, and the payloads of DUMP that the file holds besides."""
    with open(path, encoding="ascii") as file:
        lines = [line for line in map(str.strip, file) if line and not line.startswith("#")]
    payloads = [parse_line(line) for line in lines if line.startswith("dump ")]
    return dict(parse_line(line) for line in lines if not line.startswith("dump ")), payloads


def lines_of(found):
    return ["%s %s" % (head, " ".join("%s=%s" % pair for pair in line.items()))
            for head, line in found.items() if head != NO_FUNCTIONS]


def unquote(token):
    """The bytes of a quoted token."""
    named = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b'"': b'"', b"\\": b"\\"}

    def one(match):
        code = match.group(1)
        return bytes([int(code[1:], 16)]) if code[:1] == b"x" else named[code]

    return re.sub(rb"\\(x[0-9a-f]{2}|.)", one, token.strip('"').encode() if token != '""' else b"")


def agrees(name, expected, actual):
    """Idle times grow while a server runs, and frequencies fall; everything else is equal. Varve keeps frequencies in steps
    of seventeen, which an access may raise or a minute lower by one."""
    if name == "idle":
        return -60 <= int(actual) - int(expected) <= 3600
    if name == "freq":
        return abs(int(expected) - int(actual)) <= 34
    return expected == actual


def differences(expected, actual):
    """What is wrong, as sentences; and how many attributes the server could not tell."""
    wrong, untold = [], 0
    for head, line in expected.items():
        if head not in actual:
            if head.startswith("function ") and NO_FUNCTIONS in actual:
                untold += 1
                continue
            wrong.append("missing: %s" % head)
            continue
        for name, value in line.items():
            if name not in actual[head]:
                untold += 1
            elif not agrees(name, value, actual[head][name]):
                wrong.append("%s: %s is %s, not %s" % (head, name, actual[head][name], value))
    extra = [head for head in actual if head not in expected and head != NO_FUNCTIONS]
    return wrong + ["not expected: %s" % head for head in extra], untold
