"""Load whose every command is known, so that what is left of it tells which commands were executed: those up to one, or not.

A writer sends commands that depend on their number alone, to keys of its own, and keeps a model of these keys. After a
crash its keys must be what they were behind one of its commands, which is at least the last one that had to survive; and what
several writers did must end everywhere at the same moment.
"""

import copy
import itertools
import time

from run import Closed, Error, Tagged

PATIENCE = 120  # seconds for a reply: a machine that is busy with other things is no failure
MOMENTS = itertools.count(1)  # moments of all writers in one order: of sending, and of having read the reply


class OneOf:
    """A value that is not known exactly, because time decides it."""

    def __init__(self, *values):
        self.values = values

    def fits(self, actual):
        return actual in self.values


class Bag:
    """A set from which some members were drawn by lot: a part of what is known, of a known size."""

    def __init__(self, members):
        self.members, self.size = set(members), len(members)

    def draw(self, count, reply):
        """Takes note of SPOP, whose reply may be unknown."""
        self.size -= count
        self.members -= set(reply or ())

    def fits(self, actual):
        return actual is not None and len(actual) == self.size and set(actual) <= self.members


def fits(expected, actual):
    """True if a value is what it should be."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return all(fits(expected.get(name), actual.get(name)) for name in {*expected, *actual})
    return expected.fits(actual) if hasattr(expected, "fits") else expected == actual


def plain(reply):
    """A reply without the differences between kinds of nothing."""
    return None if isinstance(reply, Tagged) else reply


def pairs(reply):
    return dict(zip(reply[::2], reply[1::2]))


def number(value):
    return b"%d" % value


# How a key is read, and what of it is compared. Those that nearly always differ come first, large ones last.
READINGS = {
    "count": (("GET",), plain), "last": (("GET",), plain), "list": (("LRANGE", "0", "-1"), plain), "a": (("GET",), plain),
    "b": (("GET",), plain), "c": (("GET",), plain), "old": (("GET",), plain), "new": (("GET",), plain),
    "one": (("LRANGE", "0", "-1"), plain), "other": (("LRANGE", "0", "-1"), plain), "bag": (("SMEMBERS",), sorted),
    "half": (("GET",), lambda reply: None if plain(reply) is None else float(reply)), "short": (("GET",), plain),
    "fading": (("HGETALL",), pairs), "stream": (("XREVRANGE", "+", "-", "COUNT", "3"), lambda reply: [fields for _, fields in reply]),
    "from": (("SMEMBERS",), sorted), "to": (("SMEMBERS",), sorted), "ranks": (("ZRANGE", "0", "-1", "WITHSCORES"), pairs),
    "big": (("HGETALL",), pairs),
}  # fmt: skip
FIELDS = 2000  # of the large hash and the large sorted set


class Command:
    """A command that was sent: what it does to the model, and what is known of it."""

    def __init__(self, words, change):
        self.words, self.change = words, change
        self.sent, self.reply, self.read, self.time = None, None, None, None

    @property
    def acknowledged(self):
        return self.read is not None

    def bytes(self):
        return encoded(self.words)

    def take_reply(self, connection):
        self.reply = connection.read()
        assert not isinstance(self.reply, Error), (self.words, self.reply)


class Transaction(Command):
    """Commands that are sent between MULTI and EXEC, and executed as one."""

    def bytes(self):
        return b"".join(map(encoded, [("MULTI",), *self.words, ("EXEC",)]))

    def take_reply(self, connection):
        queued = [connection.read() for _ in range(len(self.words) + 1)]
        assert queued == [b"OK"] + [b"QUEUED"] * len(self.words), (self.words, queued)
        self.reply = connection.read()
        assert isinstance(self.reply, list), (self.words, self.reply)
        assert not any(isinstance(reply, Error) for reply in self.reply), (self.words, self.reply)


class Script(Command):
    """Commands that a script calls one after the other. Half of the scripts declare the keys."""

    def bytes(self):
        keys, others, source = [], [], ""
        is_declared = sum(map(len, self.words[0])) % 2 == 0
        for name, *rest in self.words:
            places = ["'%s'" % name]
            for word in rest:
                table, words = ("KEYS", keys) if is_declared and isinstance(word, bytes) and b":" in word else ("ARGV", others)
                words.append(word)
                places.append("%s[%d]" % (table, len(words)))
            source += "redis.call(%s) " % ", ".join(places)
        return encoded(("EVAL", source + "return 'done'", len(keys), *keys, *others))

    def take_reply(self, connection):
        self.reply = connection.read()
        assert self.reply == b"done", (self.words, self.reply)


class Writer:
    """Commands one after the other in one database, to keys whose names begin with the writer's."""

    kind = Command

    def __init__(self, name, database, readings=None):
        self.name, self.database = name, database
        self.base = {}  # the model behind the command `begun`
        self.begun = 0
        self.commands = []  # those since then
        self.names = readings or list(READINGS)
        self.length = len(self.cycle(1))

    def key(self, name):
        return ("%s:%s" % (self.name, name)).encode()

    def cycle(self, n):
        """The commands of one cycle, as pairs of words and what they do: a function of the model and the reply, or None."""
        key, value = self.key, number(n)

        def put(**values):
            return lambda model, _: model.update(values)

        def push(model, _):
            model["list"] = model.get("list", []) + [value]

        def move(model, _):
            model["one"], model["other"] = [], model.get("other", []) + [value]

        def increment_short(model, reply):
            kept, new = OneOf(b"6", None), b"1"
            model["short"] = {None: OneOf(b"6", b"1", None), 6: kept, 1: new}[reply]

        def increment_fading(model, reply):
            more = OneOf(number(n + 1), None)
            f = {None: OneOf(number(n + 1), b"1", None), n + 1: more, 1: b"1"}[reply]
            model["fading"] = {**model["fading"], b"f": f}

        def change_big(model, _):
            model.setdefault("big", {})[b"f%d" % (n % FIELDS)] = value

        def change_ranks(model, _):
            model.setdefault("ranks", {})[b"m%d" % (n % FIELDS)] = value

        def entry(model, _):
            model["stream"] = [[b"f", value]] + model.get("stream", [])[:2]

        members = [b"%d:%d" % (n, at) for at in range(5)]
        return [
            (("INCR", key("count")), put(count=value)),
            (("SET", key("last"), value), put(last=value)),
            (("RPUSH", key("list"), value), push),
            (("LTRIM", key("list"), "-20", "-1"), lambda model, _: model.update(list=model["list"][-20:])),
            (("MSET", key("a"), value, key("b"), value, key("c"), value), put(a=value, b=value, c=value)),
            (("SADD", key("bag"), *members), lambda model, _: model.update(bag=Bag(members))),
            (("SET", key("short"), "5", "PX", str(n % 7 + 1)), put(short=OneOf(b"5", None))),
            (("HSET", key("fading"), "f", value, "g", value), put(fading={b"f": value, b"g": value})),
            (("HPEXPIRE", key("fading"), str(n % 5 + 1), "FIELDS", "1", "f"), put(fading={b"f": OneOf(value, None), b"g": value})),
            (("SPOP", key("bag"), "2"), lambda model, reply: model["bag"].draw(2, reply)),
            (("SET", key("old"), value), put(old=value)),
            (("RENAME", key("old"), key("new")), put(old=None, new=value)),
            (("RPUSH", key("one"), value), put(one=[value])),
            (("LMOVE", key("one"), key("other"), "LEFT", "RIGHT"), move),
            (("LTRIM", key("other"), "-3", "-1"), lambda model, _: model.update(other=model["other"][-3:])),
            (("SPOP", key("bag")), lambda model, reply: model["bag"].draw(1, reply and [reply])),
            (("INCRBYFLOAT", key("half"), "0.5"), put(half=n / 2)),
            (("SADD", key("from"), value), put(**{"from": [value]})),
            (("SMOVE", key("from"), key("to"), value), put(**{"from": [], "to": [value]})),
            (("HSET", key("big"), "f%d" % (n % FIELDS), value), change_big),
            (("ZADD", key("ranks"), value, "m%d" % (n % FIELDS)), change_ranks),
            (("XADD", key("stream"), "MAXLEN", "~", "100", "*", "f", value), entry),
            (("INCR", key("short")), increment_short),
            (("HINCRBY", key("fading"), "f", "1"), increment_fading),
            (("DEL", key("bag"), key("to")), put(bag=[], to=[])),
        ]  # fmt: skip

    def number_of(self, at):
        """The cycle of a command and its place there."""
        return at // self.length + 1, at % self.length

    def next_commands(self, count):
        """The commands that follow, which are noted as sent."""
        at, found = self.begun + len(self.commands), []
        while len(found) < count:
            n, place = self.number_of(at + len(found))
            found += [self.kind(*pair) for pair in self.cycle(n)[place:]]
        self.commands += found[:count]
        return found[:count]

    def write(self, connection, chance):
        """Sends commands until the connection ends."""
        try:
            connection.command("SELECT", self.database)
            while True:
                batch = self.next_commands(chance.choice([1, 1, 4, 16, 64]))
                sent = next(MOMENTS)
                for command in batch:
                    command.sent = sent
                connection.send_bytes(b"".join(command.bytes() for command in batch))
                for command in batch:
                    command.take_reply(connection)
                    command.read, command.time = next(MOMENTS), time.monotonic()
        except (Closed, OSError) as end:
            assert not isinstance(end, TimeoutError), "%s: no reply" % self.name

    def acknowledged(self):
        """Number of the commands that were acknowledged, from the first of the writer on."""
        return self.begun + sum(command.acknowledged for command in self.commands)

    def read_all(self, connection):
        """The keys as they are."""
        connection.command("SELECT", self.database)
        found = {}
        for name in self.names:
            (command, *rest), understood = READINGS[name]
            found[name] = understood(connection.command(command, self.key(name), *rest))
        return found

    def found_after(self, actual, least):
        """The first and the last command behind which the keys were so, and the model there; `least` had to survive."""
        model, first, last, at_last = copy.deepcopy(self.base), None, None, None
        for at in range(self.begun, self.begun + len(self.commands) + 1):
            if at > self.begun:
                command = self.commands[at - self.begun - 1]
                command.change(model, command.reply if command.acknowledged else None)
            if all(fits(model.get(name, nothing(actual[name])), actual[name]) for name in self.names):
                first, last, at_last = at if first is None else first, at, copy.deepcopy(model)
        assert last is not None, self.explain(actual)
        assert last >= least, "%s is as behind command %d, but %d had to survive" % (self.name, last, least)
        return first, last, at_last

    def explain(self, actual):
        """The keys, and the model where it agrees with the counter."""
        text = "%s is as it never was: " % self.name
        model, best = copy.deepcopy(self.base), (-1, None)
        for at, command in enumerate([None, *self.commands]):
            if command:
                command.change(model, command.reply if command.acknowledged else None)
            wrong = [name for name in self.names if not fits(model.get(name, nothing(actual[name])), actual[name])]
            agreeing = len(self.names) - len(wrong)
            if agreeing > best[0]:
                values = ["%s is %.300r, not %.300r" % (name, actual[name], getattr(model.get(name), "__dict__", model.get(name))) for name in wrong]
                best = agreeing, "behind command %d %s (of %d), %s" % (self.begun + at, command and command.words, self.begun + len(self.commands), values)
        return text + str(best[1])

    def go_on_from(self, last, model):
        """Makes what was found the begin of what follows."""
        self.base, self.begun, self.commands = model, last, []


class Transactor(Writer):
    """A writer of whole transactions in two databases: the keys agree behind each of them, and never within one."""

    kind = Transaction

    def __init__(self, name, database):
        super().__init__(name, database, ["count", "last", "list", "a", "b", "half", "new", "one", "other", "there"])

    def cycle(self, n):
        key, value = self.key, number(n)

        def agree(model, _):
            model.update(last=value, a=value, b=value, there=value, list=(model.get("list", []) + [value])[-20:])

        def count(model, _):
            model.update(count=value, half=n / 2, new=value, one=[], other=(model.get("other", []) + [value])[-3:])

        def undo(model, _):
            model.update(a=None, b=None, there=None)

        return [
            ((
                ("SET", key("last"), value), ("RPUSH", key("list"), value), ("SET", key("a"), value),
                ("LTRIM", key("list"), "-20", "-1"), ("SELECT", self.database + 1), ("SET", key("there"), value),
                ("SELECT", self.database), ("RENAME", key("a"), key("b")), ("SET", key("a"), value),
            ), agree),
            ((
                ("INCR", key("count")), ("SET", key("short"), "5", "PX", str(n % 7 + 1)), ("INCRBYFLOAT", key("half"), "0.5"),
                ("SET", key("old"), value), ("RENAME", key("old"), key("new")), ("RPUSH", key("one"), value),
                ("LMOVE", key("one"), key("other"), "LEFT", "RIGHT"), ("LTRIM", key("other"), "-3", "-1"), ("GET", key("a")),
            ), count),
            ((
                ("DEL", key("a")), ("SELECT", self.database + 1), ("UNLINK", key("there")), ("SELECT", self.database),
                ("SET", key("b"), "x", "PX", "1"), ("GETDEL", key("b")),
            ), undo),
        ]  # fmt: skip

    def read_all(self, connection):
        self.names.remove("there")
        found = super().read_all(connection)
        self.names.append("there")
        connection.command("SELECT", self.database + 1)
        return {**found, "there": plain(connection.command("GET", self.key("there")))}


class Scripter(Transactor):
    """The same with scripts in place of transactions."""

    kind = Script


class Flusher(Writer):
    """A writer of two databases that are swapped and flushed."""

    def __init__(self, name, database):
        super().__init__(name, database, ["here", "there"])

    def cycle(self, n):
        value = number(n)

        def fill(model, _):
            model["here"] = [value] * 3

        def swap(model, _):
            model["here"], model["there"] = model.get("there", [None] * 3), model["here"]

        return [
            (("MSET", "x", value, "y", value, "z", value), fill),
            (("SWAPDB", self.database, self.database + 1), swap),
            (("FLUSHDB",), lambda model, _: model.update(here=[None] * 3)),
        ]

    def read_all(self, connection):
        found = {}
        for name, database in (("here", self.database), ("there", self.database + 1)):
            connection.command("SELECT", database)
            found[name] = [plain(value) for value in connection.command("MGET", "x", "y", "z")]
        return found


class FlushingTransactor(Flusher):
    """The same in transactions, which are executed while nobody else is."""

    kind = Transaction

    def cycle(self, n):
        value = number(n)
        fill = ("MSET", "x", value, "y", value, "z", value)

        def refill(model, _):
            model["here"] = [value] * 3

        def turn(model, _):
            model["here"], model["there"] = [value] * 3, model["here"]

        swap = ("SWAPDB", self.database, self.database + 1)
        return [((("FLUSHDB",), fill), refill), ((swap, ("SET", "x", "?"), ("FLUSHDB",), fill), turn)]


class Sharer(Writer):
    """A writer to keys that others write to as well: a counter and a list, whose order is that of all."""

    def __init__(self, name, database):
        super().__init__(name, database, ["last"])

    def cycle(self, n):
        value = number(n)
        return [
            (("SET", self.key("last"), value), lambda model, _: model.update(last=value)),
            (("INCR", "shared:count"), None),
            (("RPUSH", "shared:list", "%s:%d" % (self.name, n)), None),
            (("RPUSH", "shared:queue", "%s:%d" % (self.name, n)), None),
            (("RPUSH", "shared:source", "%s:%d" % (self.name, n)), None),
        ]

    def next_commands(self, count):
        found = super().next_commands(count)
        for command in found:
            command.change = command.change or (lambda model, _: None)
        return found


def nothing(actual):
    """What a key is that does not exist, as a value like this one."""
    return type(actual)() if isinstance(actual, (list, dict)) else None


def encoded(words):
    """A request as bytes."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
