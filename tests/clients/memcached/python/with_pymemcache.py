"""Cases with pymemcache."""

from pymemcache import serde
from pymemcache.client.base import Client

from cases import HOST, LARGE, PORT, run

CLIENT = Client((HOST, int(PORT)), serde=serde.pickle_serde, default_noreply=False)


def flags():
    values = {"text": "é", "bytes": b"\0\r\n\xff", "number": 7, "list": [1, {"a": None}]}
    assert CLIENT.set_many(values) == []
    assert CLIENT.get_many(list(values)) == values


def compression():
    packed = Client((HOST, int(PORT)), serde=serde.compressed_serde, default_noreply=False)
    text = "packed " * 10000
    assert packed.set("packed", text) and packed.get("packed") == text
    length, flag = CLIENT.raw_command(b"get packed", b"END\r\n").split(b"\r\n")[0].split()[3:1:-1]
    assert int(length) < len(text) // 10 and int(flag) & serde.FLAG_COMPRESSED


def many_keys():
    values = {"many:%d" % number: number for number in range(0, 1000, 2)}
    CLIENT.set_many(values)
    assert CLIENT.get_many(["many:%d" % number for number in range(1000)]) == values
    found = CLIENT.gets_many(list(values))
    assert {key: value for key, (value, _) in found.items()} == values
    assert len({cas for _, cas in found.values()}) == len(values)


def values_of_5_mb():
    assert CLIENT.set("large", LARGE) and CLIENT.get("large") == LARGE


def conditions():
    CLIENT.delete("condition")
    assert CLIENT.cas("condition", "x", b"5") is None
    assert CLIENT.add("condition", "1") and not CLIENT.add("condition", "2")
    _, cas = CLIENT.gets("condition")
    assert CLIENT.incr("condition", 41) == 42 and CLIENT.decr("condition", 2) == 40
    assert CLIENT.cas("condition", "x", cas) is False
    assert CLIENT.append("condition", "b") and CLIENT.prepend("condition", "a") and CLIENT.get("condition") == "a40b"
    assert CLIENT.touch("condition", 100)


def a_key_of_resp():
    assert CLIENT.get("from-resp") in (b"written elsewhere", "written elsewhere")


def add(count):
    while count:
        value, cas = CLIENT.gets("sum")
        count -= CLIENT.cas("sum", str(int(value) + 1).encode(), cas)


run([flags, compression, many_keys, values_of_5_mb, conditions, a_key_of_resp], add)
