"""SORT of lists, sets and sorted sets."""

from .support import names, raises


def sorts_numbers_and_words(db):
    db.rpush("l", "10", "9", "-1.5", "2")
    assert db.sort("l") == ["-1.5", "2", "9", "10"] and db.sort("l", desc=True)[0] == "10"
    assert db.sort("l", alpha=True) == ["-1.5", "10", "2", "9"]
    assert db.sort("l", start=1, num=2) == ["2", "9"] and db.sort("missing") == []
    db.rpush("l", "word")
    raises("can't be converted into double", db.sort, "l")


def sorts_sets_and_sorted_sets(db):
    db.sadd("s", 3, 1, 2)
    db.zadd("z", {"3": 1, "1": 2, "2": 3})
    assert db.sort("s") == ["1", "2", "3"] and db.sort("z", desc=True) == ["3", "2", "1"]


def sorts_by_other_keys_and_gives_their_values(db):
    db.rpush("l", "a", "b", "c")
    db.mset({"weight:a": 3, "weight:b": 1, "weight:c": 2})
    for name in "abc":
        db.hset("about:" + name, "title", name.upper())
    assert db.sort("l", by="weight:*") == ["b", "c", "a"]
    assert db.sort("l", by="weight:*", get="about:*->title") == ["B", "C", "A"]
    assert db.sort("l", by="weight:*", get=["#", "weight:*"]) == ["b", "1", "c", "2", "a", "3"]
    assert db.sort("l", by="nosort") == ["a", "b", "c"]
    assert db.sort("l", by="nosort", get="missing:*") == [None, None, None]


def stores_what_it_sorted(db):
    db.rpush("l", 3, 1, 2)
    assert db.sort("l", store="to") == 3 and db.lrange("to", 0, -1) == ["1", "2", "3"]
    assert db.sort("missing", store="to") == 0 and not db.exists("to")
    assert db.sort_ro("l") == ["1", "2", "3"]


def sorts_10000_elements(db):
    db.sadd("s", *names())
    assert db.sort("s", alpha=True) == sorted(names())
    db.rpush("l", *range(9999, -1, -1))
    assert db.sort("l", start=5000, num=2) == ["5000", "5001"]
