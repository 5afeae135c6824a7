"""Sets."""

from .support import MANY, binary_client, names, raises


def adds_tests_and_removes_members(db):
    assert db.sadd("s", "a", "b", "a") == 2 and db.sadd("s", "a", "c") == 1
    assert db.smembers("s") == {"a", "b", "c"} and db.scard("s") == 3
    assert db.sismember("s", "a") and not db.sismember("s", "z")
    assert db.smismember("s", ["a", "z", "c"]) == [1, 0, 1]
    assert db.srem("s", "a", "z") == 1 and db.srem("s", "b", "c") == 2 and not db.exists("s")


def takes_and_shows_random_members(db):
    db.sadd("s", "a", "b", "c")
    assert db.srandmember("s") in "abc" and len(db.srandmember("s", -5)) == 5
    assert sorted(db.srandmember("s", 5)) == ["a", "b", "c"] and db.scard("s") == 3
    taken = [db.spop("s"), *db.spop("s", 5)]
    assert sorted(taken) == ["a", "b", "c"] and db.spop("s") is None


def moves_a_member(db):
    db.sadd("from", "a", "b")
    assert db.smove("from", "to", "a") and not db.smove("from", "to", "a")
    assert db.smembers("from") == {"b"} and db.smembers("to") == {"a"}


def intersects_unites_and_subtracts(db):
    db.sadd("x", *"abcd")
    db.sadd("y", *"bcde")
    db.sadd("z", *"cd")
    assert db.sinter("x", "y", "z") == {"c", "d"} and db.sinter("x", "missing") == set()
    assert db.sunion("y", "z", "missing") == set("bcde")
    assert db.sdiff("x", "z", "missing") == {"a", "b"}
    assert db.sintercard(2, ["x", "y"]) == 3 and db.sintercard(2, ["x", "y"], limit=2) == 2


def stores_combined_sets(db):
    db.sadd("x", "1", "2", "3")
    db.sadd("y", "2", "3", "word")
    assert db.sinterstore("to", "x", "y") == 2 and db.smembers("to") == {"2", "3"}
    assert db.sunionstore("to", "x", "y") == 4 and db.smembers("to") == {"1", "2", "3", "word"}
    assert db.sdiffstore("to", "x", "y") == 1 and db.smembers("to") == {"1"}
    assert db.sinterstore("to", "x", "missing") == 0 and not db.exists("to")


def keeps_every_byte_of_a_member(db):
    with binary_client(db) as raw:
        members = {b"", bytes(range(256)), b"\r\n", b"-7", b"07", b"x" * 100000}
        assert raw.sadd("s", *members) == len(members)
        assert raw.smembers("s") == members


def refuses_a_key_of_another_type(db):
    db.set("word", "abc")
    db.sadd("s", "a")
    raises("WRONGTYPE", db.sadd, "word", "m")
    raises("WRONGTYPE", db.smembers, "word")
    raises("WRONGTYPE", db.sunion, "s", "word")


def holds_10000_members(db):
    assert db.sadd("s", *names()) == MANY and db.smembers("s") == set(names())
    assert db.sadd("half", *names()[::2]) == 5000
    assert db.sinter("s", "half") == set(names()[::2]) and db.sdiff("s", "half") == set(names()[1::2])
    assert db.srem("s", *names()[::2]) == 5000 and db.scard("s") == 5000


def holds_10000_integers(db):
    assert db.sadd("s", *range(-5000, 5000)) == MANY
    assert {int(member) for member in db.smembers("s")} == set(range(-5000, 5000))
    assert db.sismember("s", -5000) and not db.sismember("s", 5000) and not db.sismember("s", "007")


def scans_10000_members_exactly_once(db):
    db.sadd("s", *names())
    assert sorted(db.sscan_iter("s", count=100)) == sorted(names())
    assert list(db.sscan_iter("s", match="n:777")) == ["n:777"]
