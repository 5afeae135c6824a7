#!/usr/bin/env python3
"""Writes RDB files of the versions of which no server could be had: 1 to 5 (Redis 1.2 to 2.5) and 8 (Redis 4.0).

    byhand.py [DIR]

Also `by-hand-facts`: deadlines, idle times and frequencies that do not stand side by side before their key, as KeyDB writes each
deadline ahead of an auxiliary field.

Version 1 has plain forms, zipmaps and deadlines in seconds; 2 adds ziplists, intsets and sorted sets in ziplists; 3 deadlines in
milliseconds; 4 hashes in ziplists; 5 a checksum; 8 (over what 6 and 7 brought) quicklists, scores as eight bytes, auxiliary
fields and the sizes of the tables. Each file comes with its expectation. Redis 2.8.19 and 6.2.14 read them all.
"""

import os
import struct
import sys

import data
import expectation

VERSIONS = (1, 2, 3, 4, 5, 8)


def length(number):
    if number < 1 << 6:
        return bytes([number])
    if number < 1 << 14:
        return bytes([0x40 | number >> 8, number & 0xFF])
    return b"\x80" + struct.pack(">I", number)


def string(value):
    """A string in the form a server would choose: an integer, compressed, or as it is."""
    if value and value.lstrip(b"-").isdigit() and str(int(value)).encode() == value:
        for code, (form, bits) in enumerate((("<b", 8), ("<h", 16), ("<i", 32))):
            if -(1 << bits - 1) <= int(value) < 1 << bits - 1:
                return bytes([0xC0 | code]) + struct.pack(form, int(value))
    packed = compress(value) if len(value) > 20 else value
    if len(packed) < len(value) - 4:
        return b"\xc3" + length(len(packed)) + length(len(value)) + packed
    return length(len(value)) + value


def compress(value):
    """LZF: runs of up to 32 literal bytes, and copies of 3 to 264 bytes from up to 8192 bytes before."""
    out, literal, at, seen = bytearray(), bytearray(), 0, {}

    def flush():
        for start in range(0, len(literal), 32):
            run = literal[start:start + 32]
            out.append(len(run) - 1)
            out.extend(run)
        literal.clear()

    while at < len(value):
        before = seen.get(value[at:at + 3], -1)
        seen[value[at:at + 3]] = at
        size = 0
        if before >= 0 and at - before <= 8192:
            while at + size < len(value) and size < 264 and value[before + size] == value[at + size]:
                size += 1
        if size < 3:
            literal.append(value[at])
            at += 1
            continue
        flush()
        back, over = at - before - 1, size - 2
        out.append(min(over, 7) << 5 | back >> 8)
        if over >= 7:
            out.append(over - 7)
        out.append(back & 0xFF)
        at += size
    flush()
    return bytes(out)


def zipmap(pairs):
    """Old small hashes; every third value is followed by free bytes, as after it became shorter."""
    def size(item):
        return bytes([len(item)]) if len(item) < 254 else b"\xfe" + struct.pack("<I", len(item))

    out = bytes([min(len(pairs), 254)])
    for number, (field, value) in enumerate(pairs):
        free = number % 3
        out += size(field) + field + size(value) + bytes([free]) + value + b"?" * free
    return out + b"\xff"


def ziplist(items, short_integers):
    out, before = b"", 0
    for item in items:
        last = len(out)
        out += bytes([before]) if before < 254 else b"\xfe" + struct.pack("<I", before)
        out += ziplist_entry(item, short_integers)
        before = len(out) - last
        tail = last + 10
    return struct.pack("<IIH", len(out) + 11, tail, len(items)) + out + b"\xff"


def ziplist_entry(item, short_integers):
    if item and len(item) < 32 and item.lstrip(b"-").isdigit() and str(int(item)).encode() == item:
        number = int(item)
        if short_integers and 0 <= number <= 12:
            return bytes([0xF1 + number])
        forms = [(8, 0xFE), (16, 0xC0), (24, 0xF0), (32, 0xD0), (64, 0xE0)]
        for bits, code in forms:
            if -(1 << bits - 1) <= number < 1 << bits - 1 and (short_integers or bits not in (8, 24)):
                return bytes([code]) + number.to_bytes(bits // 8, "little", signed=True)
    if len(item) < 1 << 6:
        return bytes([len(item)]) + item
    if len(item) < 1 << 14:
        return struct.pack(">H", 0x4000 | len(item)) + item
    return b"\x80" + struct.pack(">I", len(item)) + item


def listpack(items):
    """Small numbers and short texts, one after the other."""
    out = b"".join(bytes([item, 1]) if isinstance(item, int) else bytes([0x80 | len(item)]) + item + bytes([len(item) + 1]) for item in items)
    return struct.pack("<IH", len(out) + 7, len(items)) + out + b"\xff"


def blob(content):
    return length(len(content)) + content


def intset(numbers):
    size = next(s for s in (2, 4, 8) if all(-(1 << s * 8 - 1) <= n < 1 << s * 8 - 1 for n in numbers))
    return struct.pack("<II", size, len(numbers)) + b"".join(n.to_bytes(size, "little", signed=True)
                                                             for n in sorted(numbers))


def old_score(score):
    number = float(score)
    if number in (float("inf"), float("-inf")):
        return b"\xfe" if number > 0 else b"\xff"
    text = ("%.17g" % number).encode()
    return bytes([len(text)]) + text


def checksum(content):
    """CRC-64 with the polynomial of Jones, reflected."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x95AC9329AC4BC9B5 if byte & 1 else 0)
        table.append(byte)
    crc = 0
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return struct.pack("<Q", crc)


class File:
    """An RDB file in the making, and what it must hold."""

    def __init__(self, version):
        self.version, self.expected = version, {}
        self.out = b"REDIS%04d" % version
        self.short_integers = version >= 4
        if version >= 8:
            for name, value in (("redis-ver", "4.0.0"), ("redis-bits", "64"), ("aof-preamble", "0")):
                self.out += b"\xfa" + string(name.encode()) + string(value.encode())

    def database(self, number, keys, with_deadline):
        self.number = number
        self.out += b"\xfe" + length(number)
        if self.version >= 8:
            self.out += b"\xfb" + length(keys) + length(with_deadline)

    def key(self, code, key, kind, items, body, deadline=None):
        key, before = key.encode(), b""
        if deadline is not None and self.version >= 3:
            before = b"\xfc" + struct.pack("<q", deadline)
        elif deadline is not None:
            before = b"\xfd" + struct.pack("<i", deadline // 1000)
        self.out += before + bytes([code]) + string(key) + body
        head = "key %d %s" % (self.number, expectation.quote(key))
        self.expected[head] = {"type": kind, "deadline": deadline or "-", "items": len(items),
                               "value": expectation.canonical(items)}

    def write(self, folder, name=None):
        path = os.path.join(folder, "by-hand-%s" % (name or self.version))
        content = self.out + b"\xff"
        with open(path + ".rdb", "wb") as file:
            file.write(content + (checksum(content) if self.version >= 5 else b""))
        with open(path + ".txt", "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in expectation.lines_of(self.expected))


def counted(items):
    return length(len(items)) + b"".join(map(string, items))


def of_pairs(pairs):
    return [part for pair in pairs for part in pair]


def plain_forms(file, elements):
    """What every version can write."""
    for name, value in (("empty", b""), ("text", data.text("t", 2000)), ("noise", data.noise("n", 100)),
                        ("int8", b"-128"), ("int16", b"-129"), ("int32", b"2147483647"), ("int64", b"2147483648")):
        file.key(0, "string:" + name, "string", [value], string(value))
    file.key(1, "list:linked", "list", elements, counted(elements))
    members = sorted({b"m%d" % number for number in range(20)})
    file.key(2, "set:hashtable", "set", members, counted(members))
    pairs = sorted((b"f%d" % number, element) for number, element in enumerate(elements))
    file.key(4, "hash:hashtable", "hash", of_pairs(pairs), length(len(pairs)) + b"".join(map(string, of_pairs(pairs))))
    scores = [(b"m%02d" % number, score) for number, score in enumerate(data.SCORES) if score != "-0"]
    items = [part for member, score in scores for part in (member, expectation.score(score))]
    old = length(len(scores)) + b"".join(string(member) + old_score(score) for member, score in reversed(scores))
    file.key(3, "zset:skiplist", "zset", items, old)
    if file.version >= 8:
        new = length(len(scores)) + b"".join(string(m) + struct.pack("<d", float(score)) for m, score in reversed(scores))
        file.key(5, "zset:skiplist-8", "zset", items, new)


def compact_forms(file, elements):
    """The compact forms that the version has."""
    small = sorted([(b"", b""), (b"1", b"12345"), (b"field", b"value"), (b"long", data.text("z", 300)),
                    (data.text("field", 260), b"v")])
    many = sorted((b"field %d" % number, b"%d" % number) for number in range(300))
    if file.version < 4:
        file.key(9, "hash:zipmap", "hash", of_pairs(small), string(zipmap(small)))
        file.key(9, "hash:zipmap-many", "hash", of_pairs(many), string(zipmap(many)))
    else:
        file.key(13, "hash:ziplist", "hash", of_pairs(small), string(ziplist(of_pairs(small), True)))
    if file.version < 2:
        return
    packed = ziplist(elements, file.short_integers)
    if file.version >= 8:
        nodes = [elements[at:at + 7] for at in range(0, len(elements), 7)]
        body = length(len(nodes)) + b"".join(string(ziplist(node, True)) for node in nodes)
        file.key(14, "list:quicklist", "list", elements, body)
    file.key(10, "list:ziplist", "list", elements, string(packed))
    for bits in (16, 32, 64):
        numbers = sorted([1, -2, 3, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))])
        file.key(11, "set:int%d" % bits, "set", sorted(b"%d" % n for n in numbers), string(intset(numbers)))
    pairs = [(b"low", b"-inf"), (b"m", b"-1.5"), (b"pi", b"3.1415926535897931"), (b"12", b"7"), (b"top", b"inf")]
    items = [part for member, score in pairs for part in (member, expectation.score(score))]
    file.key(12, "zset:ziplist", "zset", items, string(ziplist(of_pairs(pairs), file.short_integers)))


def facts_apart(file):
    """Keys whose facts hold over what stands between, and a deadline that no key follows."""
    apart = {"aux": b"\xfa" + string(b"mvcc-tstamp") + string(b"1782800000000000"), "select": b"\xfe\0", "resize": b"\xfb\x09\x09",
             "slot": b"\xf4\x07\x01\x01", "all": b"\xfa" + string(b"a") + string(b"b") + b"\xf4\x07\x01\x01\xfb\x01\x01\xfe\0"}
    for number, (name, between) in enumerate(apart.items()):
        deadline = data.FAR_MS + number
        file.out += b"\xfc" + struct.pack("<q", deadline) + between + b"\xf8" + length(300 + number) + between
        file.out += b"\xf9" + bytes([number]) + between
        file.key(0, "apart:" + name, "string", [b"v"], string(b"v"))
        file.expected['key 0 "apart:%s"' % name]["deadline"] = deadline
        file.key(0, "behind:" + name, "string", [b"v"], string(b"v"))
    # The last one counts, and minus one is none.
    for name, told in (("later", (5, data.FAR_MS)), ("none", (5, -1))):
        file.out += b"".join(b"\xfc" + struct.pack("<q", deadline) + apart["aux"] for deadline in told)
        file.key(0, "apart:" + name, "string", [b"v"], string(b"v"))
        if told[1] > 0:
            file.expected['key 0 "apart:%s"' % name]["deadline"] = told[1]
    file.out += b"\xfc" + struct.pack("<q", data.FAR_MS) + b"\xf8\x07\xf9\x07"


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else expectation.HERE
    elements = [b"%d" % number for number in data.INTEGERS]
    elements += [value.encode() for value in data.NOT_INTEGERS] + [data.text("s", size) for size in data.LENGTHS]
    for version in VERSIONS:
        file = File(version)
        file.database(0, 24, 2)
        plain_forms(file, elements)
        compact_forms(file, elements)
        file.key(0, "deadline:1", "string", [b"v"], string(b"v"), data.OLD_SECONDS[1] * 1000)
        file.key(1, "deadline:2", "list", [b"a", b"b"], counted([b"a", b"b"]),
                 data.FAR_MS if version >= 3 else data.OLD_SECONDS[0] * 1000)
        file.database(9, 1, 0)
        file.key(0, "database", "string", [b"nine"], string(b"nine"))
        file.write(folder)
    file = File(11)
    file.database(0, 12, 6)
    facts_apart(file)
    file.write(folder, "facts")


if __name__ == "__main__":
    main()
