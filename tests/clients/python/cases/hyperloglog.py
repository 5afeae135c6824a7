"""HyperLogLogs."""

from .support import MANY, names, raises


def counts_a_few_elements_exactly(db):
    assert db.pfadd("p", "a", "b", "c") == 1 and db.pfadd("p", "a", "b") == 0
    assert db.pfcount("p") == 3 and db.pfcount("missing") == 0


def counts_10000_elements_within_2_percent(db):
    db.pfadd("p", *names())
    assert abs(db.pfcount("p") - MANY) < MANY / 50


def counts_and_merges_several(db):
    db.pfadd("x", "a", "b", "c")
    db.pfadd("y", "c", "d")
    assert db.pfcount("x", "y") == 4
    assert db.pfmerge("to", "x", "y", "missing") and db.pfcount("to") == 4


def refuses_other_values(db):
    db.set("word", "abc")
    db.rpush("list", "a")
    raises("not a valid HyperLogLog string value", db.pfadd, "word", "a")
    raises("WRONGTYPE", db.pfcount, "list")
