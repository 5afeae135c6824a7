"""Lists."""

from .support import MANY, binary_client, names, raises


def pushes_and_pops_at_both_ends(db):
    assert db.rpush("l", "c", "d") == 2 and db.lpush("l", "b", "a") == 4
    assert db.lrange("l", 0, -1) == ["a", "b", "c", "d"]
    assert db.lpop("l") == "a" and db.rpop("l") == "d" and db.llen("l") == 2
    assert db.lpop("l", 5) == ["b", "c"]
    assert db.lpop("l") is None and db.rpop("l", 2) is None


def pushes_only_onto_a_list_that_is_there(db):
    assert db.lpushx("l", "v") == 0 and db.rpushx("l", "v") == 0 and not db.exists("l")
    db.rpush("l", "v")
    assert db.lpushx("l", "first") == 2 and db.rpushx("l", "last") == 3
    assert db.lrange("l", 0, -1) == ["first", "v", "last"]


def reads_and_replaces_by_index(db):
    db.rpush("l", "a", "b", "c")
    assert [db.lindex("l", index) for index in (0, 2, -1, -3, 3)] == ["a", "c", "c", "a", None]
    assert db.lset("l", -2, "B") and db.lrange("l", 1, 1) == ["B"]
    raises("index out of range", db.lset, "l", 3, "d")
    raises("no such key", db.lset, "missing", 0, "a")


def inserts_removes_and_trims(db):
    db.rpush("l", "a", "x", "b", "x", "c", "x")
    assert db.linsert("l", "BEFORE", "b", "new") == 7 and db.linsert("l", "AFTER", "absent", "n") == -1
    assert db.lrem("l", -2, "x") == 2 and db.lrange("l", 0, -1) == ["a", "x", "new", "b", "c"]
    assert db.ltrim("l", 1, -2) and db.lrange("l", 0, -1) == ["x", "new", "b"]
    assert db.ltrim("l", 5, 9) and not db.exists("l")


def finds_positions(db):
    db.rpush("l", "a", "b", "a", "c", "a")
    assert db.lpos("l", "a") == 0 and db.lpos("l", "a", rank=-1) == 4 and db.lpos("l", "z") is None
    assert db.lpos("l", "a", count=0) == [0, 2, 4] and db.lpos("l", "a", rank=2, count=1) == [2]


def moves_elements_between_lists(db):
    db.rpush("from", "a", "b", "c")
    assert db.lmove("from", "to", "LEFT", "RIGHT") == "a" and db.rpoplpush("from", "to") == "c"
    assert db.lrange("to", 0, -1) == ["c", "a"]
    assert db.lmove("to", "to", "LEFT", "RIGHT") == "c" and db.lrange("to", 0, -1) == ["a", "c"]
    assert db.lmove("missing", "to") is None


def pops_from_the_first_list_that_has_elements(db):
    db.rpush("second", "a", "b", "c")
    assert db.lmpop(2, "first", "second", direction="RIGHT", count=2) == ["second", ["c", "b"]]
    assert db.lmpop(1, "first", direction="LEFT") is None


def keeps_every_byte_of_an_element(db):
    with binary_client(db) as raw:
        elements = [b"", bytes(range(256)), b"\r\n", b"-7", b"x" * 100000]
        raw.rpush("l", *elements)
        assert raw.lrange("l", 0, -1) == elements


def removes_the_key_with_its_last_element(db):
    db.rpush("l", "a")
    assert db.rpop("l") == "a" and not db.exists("l")


def refuses_a_key_of_another_type(db):
    db.set("word", "abc")
    for call in (db.lpop, db.llen, lambda key: db.rpush(key, "v"), lambda key: db.lrange(key, 0, -1)):
        raises("WRONGTYPE", call, "word")
    assert db.get("word") == "abc"


def holds_10000_elements_in_order(db):
    assert db.rpush("l", *names()) == MANY
    assert db.lrange("l", 0, -1) == names()
    for index in (0, 4999, 9999, -1, -5000):
        assert db.lindex("l", index) == names()[index]
    assert db.lset("l", 5000, "changed") and db.linsert("l", "AFTER", "changed", "new") == MANY + 1
    assert db.lrange("l", 4999, 5002) == ["n:4999", "changed", "new", "n:5001"]
    assert db.lpop("l", 6000)[-1] == "n:5998" and db.llen("l") == 4001
