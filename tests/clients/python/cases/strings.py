"""Strings."""

import os

from .support import binary_client


def keeps_every_byte_of_a_string(db):
    with binary_client(db) as raw:
        everything = bytes(range(256))
        raw.set(everything, everything)
        assert raw.get(everything) == everything


def keeps_a_string_of_10_mib(db):
    with binary_client(db) as raw:
        large = os.urandom(1 << 20) * 10
        raw.set("large", large)
        assert raw.strlen("large") == len(large)
        assert raw.get("large") == large
        assert raw.getrange("large", 5 << 20, (5 << 20) + 99) == large[5 << 20 : (5 << 20) + 100]


def counts(db):
    assert [db.incr("n"), db.incrby("n", 9), db.decr("n"), db.decrby("n", 4)] == [1, 10, 9, 5]
    assert db.incrbyfloat("f", 0.5) == 0.5
    assert db.append("n", "0") == 2 and db.get("n") == "50"


def sets_under_conditions(db):
    assert db.set("c", 1, nx=True) is True and db.set("c", 2, nx=True) is None
    assert db.set("c", 3, xx=True, get=True) == "1"
    assert db.set("absent", 1, xx=True) is None
    assert db.mset({"a": 1, "b": 2}) and db.mget("a", "missing", "b") == ["1", None, "2"]
    assert db.getdel("a") == "1" and db.exists("a", "b") == 1
    assert db.setbit("bits", 7, 1) == 0 and db.bitcount("bits") == 1
