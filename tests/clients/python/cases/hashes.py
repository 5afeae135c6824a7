"""Hashes, and fields that expire."""

from .support import MANY, binary_client, names, raises, wait_until


def sets_reads_and_deletes_fields(db):
    assert db.hset("h", mapping={"a": 1, "b": 2}) == 2 and db.hset("h", "a", 3) == 0
    assert db.hget("h", "a") == "3" and db.hget("h", "z") is None
    assert db.hmget("h", "b", "z", "a") == ["2", None, "3"]
    assert db.hgetall("h") == {"a": "3", "b": "2"} and db.hgetall("missing") == {}
    assert sorted(db.hkeys("h")) == ["a", "b"] and sorted(db.hvals("h")) == ["2", "3"]
    assert db.hexists("h", "a") and not db.hexists("h", "z")
    assert db.hdel("h", "a", "z") == 1 and db.hlen("h") == 1
    assert db.hdel("h", "b") == 1 and not db.exists("h")


def sets_a_field_only_once(db):
    assert db.hsetnx("h", "f", "first") and not db.hsetnx("h", "f", "second")
    assert db.hget("h", "f") == "first" and db.hstrlen("h", "f") == 5


def counts_in_fields(db):
    assert db.hincrby("h", "n", 5) == 5 and db.hincrby("h", "n", -7) == -2
    assert db.hincrbyfloat("h", "f", 0.25) == 0.25 and db.hincrbyfloat("h", "f", 1) == 1.25
    db.hset("h", "word", "abc")
    raises("hash value is not an integer", db.hincrby, "h", "word", 1)
    raises("hash value is not a float", db.hincrbyfloat, "h", "word", 1)


def draws_random_fields(db):
    db.hset("h", mapping={"a": 1, "b": 2, "c": 3})
    assert db.hrandfield("h") in ("a", "b", "c")
    assert sorted(db.hrandfield("h", 5)) == ["a", "b", "c"] and len(db.hrandfield("h", -5)) == 5
    assert sorted(db.hrandfield("h", 3, withvalues=True)) == [["a", "1"], ["b", "2"], ["c", "3"]]


def keeps_every_byte_of_fields_and_values(db):
    with binary_client(db) as raw:
        everything = bytes(range(256))
        fields = {b"": b"", everything: everything, b"\r\n": b"x" * 100000}
        raw.hset("h", mapping=fields)
        assert raw.hgetall("h") == fields


def gives_fields_a_time_to_live(db):
    db.hset("h", mapping={"a": 1, "b": 2})
    assert db.hexpire("h", 100, "a", "z") == [1, -2]
    left = db.httl("h", "a", "b", "z")
    assert 99 <= left[0] <= 100 and left[1:] == [-1, -2]
    assert db.hpersist("h", "a", "b", "z") == [1, -1, -2] and db.httl("h", "a") == [-1]
    assert db.hpexpireat("h", 33177117420000, "a") == [1]
    assert db.hexpiretime("h", "a") == [33177117420] and db.hpexpiretime("h", "a") == [33177117420000]


def a_field_disappears_when_its_time_is_over(db):
    db.hset("h", mapping={"short": 1, "long": 2})
    assert db.hpexpire("h", 1, "short") == [1]
    wait_until(lambda: not db.hexists("h", "short"), "the field did not expire")
    assert db.hget("h", "short") is None and db.hgetall("h") == {"long": "2"}


def the_key_disappears_with_its_last_field(db):
    db.hset("h", mapping={"a": 1, "b": 2})
    assert db.hpexpire("h", 1, "a", "b") == [1, 1]
    wait_until(lambda: not db.exists("h"), "the key did not go with its fields")


def sets_and_reads_fields_together_with_their_time_to_live(db):
    assert db.hsetex("h", mapping={"a": 1, "b": 2}, ex=100) == 1
    assert all(99 <= left <= 100 for left in db.httl("h", "a", "b"))
    assert db.hgetex("h", "a", "z", persist=True) == ["1", None]
    assert db.httl("h", "a") == [-1] and db.httl("h", "b") != [-1]


def refuses_a_key_of_another_type(db):
    db.set("word", "abc")
    raises("WRONGTYPE", db.hget, "word", "f")
    raises("WRONGTYPE", db.hset, "word", "f", "v")
    raises("WRONGTYPE", db.hgetall, "word")


def holds_10000_fields(db):
    fields = dict(zip(names("f"), names("v")))
    assert db.hset("h", mapping=fields) == MANY
    assert db.hgetall("h") == fields and db.hlen("h") == MANY
    assert db.hmget("h", "f:0", "f:5000", "f:9999") == ["v:0", "v:5000", "v:9999"]
    assert db.hdel("h", *names("f")[:5000]) == 5000 and db.hlen("h") == 5000


def scans_10000_fields_exactly_once(db):
    db.hset("h", mapping=dict(zip(names("f"), names("v"))))
    assert sorted(db.hscan_iter("h", count=100)) == sorted(zip(names("f"), names("v")))
    assert sorted(db.hscan_iter("h", count=100, no_values=True)) == sorted(names("f"))
    assert [field for field, _ in db.hscan_iter("h", match="f:777")] == ["f:777"]
