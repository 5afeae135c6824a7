#!/usr/bin/env python3
"""Prints scripts drawn at random, of codecs, replies and numbers, for record.py: draw.py SEED COUNT"""
import random
import sys

NUMBERS = """2^31 2^32 2^53 -2^31 2^62 -2^62 2^63 -2^63 1e15 1e16 1e100 -0.0 0.1 1/3 1e-7 123456.789 65535 65536 -32769 1e300 5e-324
2^62+2^11 1e21 123456789012345680""".split()
PIECES = ["a", "b", "Z", "0", " ", "\\000", "\\n", "\\r", "\\\\", '\\"', "/", "\\255", "\\195\\169", "\\127", "\\031"]
KEYS = ["a", "b", "key", "long_key_name", "x1", "x2", "zz", "id", "name", "value", "1", "2", "field", "some.other.key"]
HEX = "local function h(s) return (s:gsub('.',function(c) return string.format('%02x',c:byte()) end)) end "
DUMP = ("local function d(x) if type(x)=='table' then local r='{' for k,v in pairs(x) do r=r..d(k)..'='..d(v)..',' end "
        "return r..'}' end return type(x)..':'..tostring(x) end ")


def number():
    kind = random.random()
    if kind < 0.3:
        return str(random.randint(-300, 300))
    if kind < 0.5:
        return random.choice(NUMBERS)
    if kind < 0.9:
        return repr(random.uniform(-1e6, 1e6))
    return repr(random.uniform(-1, 1) * 10 ** random.randint(-300, 300))


def text():
    return "'" + "".join(random.choices(PIECES, k=random.choice([0, 1, 2, 3, 5, 8, 31, 32, 33, 40]))) + "'"


def fields(count, value):
    return "{" + ",".join("['%s']=%s" % (key, value()) for key in random.sample(KEYS, count)) + "}"


def value(depth, empty):
    kind = random.random()
    if depth == 0 or kind < 0.45:
        return random.choice([number, number, text, text, lambda: random.choice(["true", "false"] + empty)])()
    if kind < 0.7:
        return "{" + ",".join(value(depth - 1, empty) for _ in range(random.randint(0, 5))) + "}"
    return fields(random.randint(1, 6), lambda: value(depth - 1, empty))


def reply(depth):
    if depth == 0 or random.random() < 0.4:
        return random.choice([number, text, lambda: random.choice(["true", "false", "nil"])])()
    return random.choice([
        lambda: "{" + ",".join(reply(depth - 1) for _ in range(random.randint(0, 4))) + "}",
        lambda: "{err=%s}" % text(),
        lambda: "{ok=%s}" % text(),
        lambda: "{double=%s}" % number(),
        lambda: "{map=%s}" % fields(random.randint(0, 3), lambda: reply(depth - 1)),
        lambda: "{set=%s}" % fields(random.randint(0, 3), lambda: "true"),
        lambda: "{big_number=%s}" % text(),
        lambda: "{verbatim_string={format=%s,string=%s}}" % (text(), text()),
    ])()


def packed():
    options, values = "", ""
    for _ in range(random.randint(1, 5)):
        option = random.choice("b B h H i I l L i3 I5 i7 f d s c0 x > < ! !4".split())
        options += option
        if option[0] in "bBhHiIlLfd":
            values += "," + number()
        if option in ("s", "c0"):
            values += "," + text()
    return "'%s'%s" % (options, values)


def script(kind):
    return [
        lambda: "return cjson.encode(%s)" % value(3, []),
        lambda: HEX + "return h(cmsgpack.pack(%s))" % value(4, ["nil"]),
        lambda: DUMP + "return d(cmsgpack.unpack(cmsgpack.pack(%s)))" % value(4, ["nil"]),
        lambda: DUMP + "return d(cjson.decode(cjson.encode(%s)))" % value(3, []),
        lambda: "return " + reply(3),
        lambda: "redis.setresp(3) return " + reply(3),
        lambda: "redis.call('set','n',%s) return redis.call('get','n')" % number(),
        lambda: HEX + "return h(struct.pack(%s))" % packed(),
    ][kind]()


if __name__ == "__main__":
    random.seed(int(sys.argv[1]))
    print("# Drawn at random, by draw.py.\n")
    for number_of_script in range(int(sys.argv[2])):
        print("%d> %s" % (random.choice([2, 3]), script(number_of_script % 8)))
