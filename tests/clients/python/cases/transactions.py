"""MULTI, EXEC and WATCH, as redis-py's pipelines use them."""

import redis

from .support import another, raises


def runs_a_transaction_as_one(db):
    with db.pipeline() as pipe:
        pipe.set("s", 1).incr("s").rpush("l", "a", "b").lrange("l", 0, -1).hset("h", "f", "v").hgetall("h")
        assert pipe.execute() == [True, 2, 2, ["a", "b"], 1, {"f": "v"}]


def an_error_inside_leaves_the_other_commands(db):
    with db.pipeline() as pipe:
        pipe.set("s", "x").lpush("s", "y").incr("s").set("t", 1)
        first, pushed, added, last = pipe.execute(raise_on_error=False)
    assert first is True and last is True and db.get("t") == "1"
    assert "WRONGTYPE" in str(pushed) and "not an integer" in str(added)


def a_command_that_is_refused_makes_exec_run_none(db):
    with db.pipeline() as pipe:
        pipe.set("s", 1).execute_command("NOSUCH").set("s", 2)
        raises("unknown command", pipe.execute)
    assert db.get("s") is None


def a_watched_key_that_changes_makes_exec_run_none(db):
    db.set("s", 1)
    with db.pipeline() as pipe, another(db) as other:
        pipe.watch("s", "t")
        assert pipe.get("s") == "1"
        other.incr("s")
        pipe.multi()
        pipe.set("s", 7)
        try:
            pipe.execute()
        except redis.WatchError:
            pass
        else:
            raise AssertionError("EXEC was run all the same")
    assert db.get("s") == "2"


def what_was_not_changed_or_is_not_watched_any_more_lets_exec_run(db):
    with db.pipeline() as pipe, another(db) as other:
        pipe.watch("s")
        other.set("t", 1)
        pipe.multi()
        assert pipe.set("s", 1).execute() == [True]
        pipe.watch("s")
        other.set("s", 2)
        pipe.unwatch()
        pipe.multi()
        assert pipe.get("s").execute() == ["2"]


def a_transaction_is_tried_again_until_nobody_interferes(db):
    tries = []

    def increment(pipe):
        number = int(pipe.get("s") or 0)
        if len(tries) < 3:
            tries.append(db.set("s", number + 10))
        pipe.multi()
        pipe.set("s", number + 1)

    assert db.transaction(increment, "s") == [True] and len(tries) == 3 and db.get("s") == "31"


def discards_what_was_queued(db):
    with db.pipeline() as pipe:
        pipe.set("s", 1).reset()
        assert pipe.get("s").execute() == [None]
    raises("DISCARD without MULTI", db.execute_command, "DISCARD")
    raises("EXEC without MULTI", db.execute_command, "EXEC")


def a_transaction_of_1000_commands_is_answered_in_order(db):
    with db.pipeline() as pipe:
        for number in range(500):
            pipe.incr("n").rpush("l", number)
        assert pipe.execute() == [number // 2 + 1 for number in range(1000)]
