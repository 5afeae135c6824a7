"""Sorted sets."""

from .support import MANY, binary_client, names, raises

INFINITE = float("inf")


def orders_members_by_score_then_name(db):
    assert db.zadd("z", {"c": 2, "b": 2, "a": 3, "d": -INFINITE}) == 4
    assert db.zrange("z", 0, -1) == ["d", "b", "c", "a"]
    assert db.zrange("z", 0, -1, withscores=True) == [["d", -INFINITE], ["b", 2.0], ["c", 2.0], ["a", 3.0]]
    assert db.zrevrange("z", 0, 1) == ["a", "c"] and db.zcard("z") == 4
    assert db.zrem("z", "a", "b", "missing") == 2 and db.zrem("z", "c", "d") == 2 and not db.exists("z")


def adds_under_conditions(db):
    db.zadd("z", {"a": 5})
    assert db.zadd("z", {"a": 1, "b": 1}, nx=True) == 1 and db.zscore("z", "a") == 5
    assert db.zadd("z", {"a": 6, "c": 1}, xx=True, ch=True) == 1 and db.zcard("z") == 2
    assert db.zadd("z", {"a": 4}, gt=True, ch=True) == 0 and db.zadd("z", {"a": 4}, lt=True, ch=True) == 1
    assert db.zadd("z", {"a": 1.5}, incr=True) == 5.5 and db.zadd("z", {"a": 1}, incr=True, nx=True) is None
    raises("not a valid float", db.zadd, "z", {"a": "many"})


def counts_with_scores(db):
    assert db.zincrby("z", 2.5, "a") == 2.5 and db.zincrby("z", -3, "a") == -0.5
    assert db.zscore("z", "a") == -0.5 and db.zscore("z", "missing") is None
    assert db.zmscore("z", ["a", "missing"]) == [-0.5, None]


def keeps_every_digit_of_a_score(db):
    scores = [0.1, 1 / 3, 1e300, -1e-300, 9007199254740993.0, 3.0]
    db.zadd("z", {str(place): score for place, score in enumerate(scores)})
    assert [db.zscore("z", str(place)) for place in range(len(scores))] == scores


def tells_ranks(db):
    db.zadd("z", {"a": 1, "b": 2, "c": 3})
    assert db.zrank("z", "a") == 0 and db.zrevrank("z", "a") == 2 and db.zrank("z", "missing") is None
    assert db.zrank("z", "c", withscore=True) == [2, 3.0]


def gives_ranges_by_score(db):
    db.zadd("z", {"a": 1, "b": 2, "c": 3, "d": 4})
    assert db.zrangebyscore("z", "(1", 3) == ["b", "c"] and db.zrangebyscore("z", 5, "+inf") == []
    assert db.zrevrangebyscore("z", "+inf", "-inf", start=1, num=2) == ["c", "b"]
    assert db.zrange("z", 4, "(1", byscore=True, desc=True, offset=1, num=2) == ["c", "b"]
    assert db.zcount("z", "-inf", "(3") == 2


def gives_ranges_by_name(db):
    db.zadd("z", dict.fromkeys("abcde", 0))
    assert db.zrangebylex("z", "[b", "(d") == ["b", "c"] and db.zrevrangebylex("z", "+", "(c") == ["e", "d"]
    assert db.zrange("z", "-", "+", bylex=True, offset=1, num=2) == ["b", "c"]
    assert db.zlexcount("z", "-", "[c") == 3


def removes_ranges(db):
    db.zadd("z", {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5})
    assert db.zremrangebyrank("z", 0, 0) == 1 and db.zremrangebyscore("z", "(4", "+inf") == 1
    assert db.zrange("z", 0, -1) == ["b", "c", "d"]
    assert db.zremrangebylex("z", "-", "+") == 3 and not db.exists("z")


def pops_the_lowest_and_the_highest(db):
    db.zadd("z", {"a": 1, "b": 2, "c": 3, "d": 4})
    assert db.zpopmin("z") == [["a", 1.0]] and db.zpopmax("z", 2) == [["d", 4.0], ["c", 3.0]]
    assert db.zmpop(2, ["missing", "z"], min=True, count=5) == ["z", [["b", 2.0]]]
    assert db.zpopmin("z") == [] and db.zmpop(1, ["z"], max=True) is None


def shows_random_members(db):
    db.zadd("z", {"a": 1, "b": 2})
    assert db.zrandmember("z") in ("a", "b") and len(db.zrandmember("z", -5)) == 5
    assert sorted(db.zrandmember("z", 5, withscores=True)) == [["a", 1.0], ["b", 2.0]]


def intersects_unites_and_subtracts(db):
    db.zadd("x", {"a": 1, "b": 2})
    db.zadd("y", {"b": 10, "c": 20})
    assert db.zunion(["x", "y"], withscores=True) == [["a", 1.0], ["b", 12.0], ["c", 20.0]]
    assert db.zinter({"x": 2, "y": 3}, withscores=True) == [["b", 34.0]]
    assert db.zinter(["x", "y"], aggregate="MIN", withscores=True) == [["b", 2.0]]
    assert db.zdiff(["x", "y"], withscores=True) == [["a", 1.0]]
    assert db.zintercard(2, ["x", "y"]) == 1


def stores_combined_sets_and_ranges(db):
    db.zadd("x", {"a": 1, "b": 2})
    db.sadd("y", "b", "c")
    assert db.zunionstore("to", {"x": 2, "y": 1}, aggregate="MAX") == 3
    assert db.zrange("to", 0, -1, withscores=True) == [["c", 1.0], ["a", 2.0], ["b", 4.0]]
    assert db.zinterstore("to", ["x", "y"]) == 1 and db.zscore("to", "b") == 3
    assert db.zdiffstore("to", ["x", "y"]) == 1 and db.zrange("to", 0, -1) == ["a"]
    assert db.zrangestore("to", "x", "(1", "+inf", byscore=True) == 1 and db.zrange("to", 0, -1) == ["b"]
    assert db.zrangestore("to", "x", 5, 9) == 0 and not db.exists("to")


def keeps_every_byte_of_a_member(db):
    with binary_client(db) as raw:
        members = {b"": 1, bytes(range(256)): 2, b"\r\n": 3, b"x" * 100000: 4}
        assert raw.zadd("z", members) == 4
        assert raw.zrange("z", 0, -1) == list(members)


def refuses_a_key_of_another_type(db):
    db.set("word", "abc")
    raises("WRONGTYPE", db.zadd, "word", {"m": 1})
    raises("WRONGTYPE", db.zrange, "word", 0, -1)
    raises("WRONGTYPE", db.zunion, ["word"])


def holds_10000_members_in_order(db):
    assert db.zadd("z", {name: -place for place, name in enumerate(names())}) == MANY
    assert db.zrange("z", 0, -1) == names()[::-1] and db.zrank("z", "n:0") == 9999
    assert db.zrangebyscore("z", -5001, "(-4999") == ["n:5001", "n:5000"] and db.zcount("z", -99, 0) == 100
    assert db.zincrby("z", 20000, "n:5000") == 15000 and db.zrevrank("z", "n:5000") == 0
    assert db.zremrangebyrank("z", 0, 4999) == 5000 and db.zrange("z", 0, 0) == ["n:4998"]


def scans_10000_members_exactly_once(db):
    scores = {name: float(place) for place, name in enumerate(names())}
    db.zadd("z", scores)
    assert sorted(map(tuple, db.zscan_iter("z", count=100))) == sorted(scores.items())
    assert [tuple(pair) for pair in db.zscan_iter("z", match="n:777")] == [("n:777", 777.0)]
