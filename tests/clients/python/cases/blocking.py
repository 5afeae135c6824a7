"""Commands that wait for elements which another connection brings."""

import time
from concurrent.futures import ThreadPoolExecutor

from .support import PATIENCE, reply_once_served, waiters, wait_until


def a_push_from_another_connection_serves_a_blocked_pop(db):
    for blocking_call, reply in [
        (lambda: db.blpop(["other", "l"], PATIENCE), ["l", "v"]),
        (lambda: db.brpop("l", PATIENCE), ["l", "v"]),
        (lambda: db.blmpop(PATIENCE, 2, "other", "l", direction="LEFT"), ["l", ["v"]]),
        (lambda: db.blmove("l", "to", PATIENCE), "v"),
        (lambda: db.brpoplpush("l", "to", PATIENCE), "v"),
    ]:
        assert _plain(reply_once_served(db, blocking_call, lambda: db.rpush("l", "v"))) == reply
        assert not db.exists("l")
    assert db.lrange("to", 0, -1) == ["v", "v"]


def an_added_member_serves_a_blocked_pop(db):
    for blocking_call, reply in [
        (lambda: db.bzpopmin(["other", "z"], PATIENCE), ["z", "m", 1.5]),
        (lambda: db.bzpopmax("z", PATIENCE), ["z", "m", 1.5]),
        (lambda: db.bzmpop(PATIENCE, 1, ["z"], min=True), ["z", [["m", 1.5]]]),
    ]:
        assert _plain(reply_once_served(db, blocking_call, lambda: db.zadd("z", {"m": 1.5}))) == reply
        assert not db.exists("z")


def an_appended_entry_serves_blocked_readers(db):
    db.xgroup_create("s", "g", id="0", mkstream=True)
    read = reply_once_served(
        db, lambda: db.xread({"s": "$"}, block=PATIENCE * 1000), lambda: db.xadd("s", {"n": 1}, id="1-0")
    )
    assert read["s"][0][0] == "1-0"
    db.xreadgroup("g", "ann", {"s": ">"})
    read = reply_once_served(
        db,
        lambda: db.xreadgroup("g", "bob", {"s": ">"}, block=PATIENCE * 1000),
        lambda: db.xadd("s", {"n": 2}, id="2-0"),
    )
    assert read["s"][0][0] == "2-0" and db.xpending("s", "g")["pending"] == 2


def blocked_calls_give_up_after_their_timeout(db):
    db.xgroup_create("s", "g", mkstream=True)
    calls = [
        lambda: db.blpop("l", 0.1),
        lambda: db.brpop(["l", "other"], 0.1),
        lambda: db.blmpop(0.1, 1, "l", direction="LEFT"),
        lambda: db.blmove("l", "to", 0.1),
        lambda: db.bzpopmin("z", 0.1),
        lambda: db.bzmpop(0.1, 1, ["z"], max=True),
        lambda: db.xread({"s": "$"}, block=100),
        lambda: db.xreadgroup("g", "ann", {"s": ">"}, block=100),
    ]
    with ThreadPoolExecutor(len(calls)) as pool:
        for reply, seconds in pool.map(_timed, calls):
            assert not reply, reply
            assert 0.1 <= seconds < 5, seconds
    assert waiters(db) == 0


def elements_that_are_there_are_given_at_once(db):
    db.rpush("l", "a", "b")
    db.zadd("z", {"m": 1})
    assert _plain(db.blpop("l", PATIENCE)) == ["l", "a"] and db.blmove("l", "to", PATIENCE) == "b"
    assert _plain(db.bzpopmax("z", PATIENCE)) == ["z", "m", 1.0]


def blocked_clients_are_served_in_the_order_of_their_arrival(db):
    with ThreadPoolExecutor(5) as pool:
        replies = []
        for place in range(5):
            replies.append(pool.submit(db.blpop, "l", PATIENCE))
            wait_until(lambda: replies[-1].done() or waiters(db) == place + 1, "the call did not block")
        db.rpush("l", *range(5))
        assert [reply.result(PATIENCE)[1] for reply in replies] == ["0", "1", "2", "3", "4"]
    assert not db.exists("l")


def a_queue_passes_1000_elements_to_a_waiting_consumer(db):
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(lambda: [db.blpop("l", PATIENCE)[1] for _ in range(1000)])
        for number in range(1000):
            db.rpush("l", number)
        assert received.result(PATIENCE) == ["%d" % number for number in range(1000)]


def _timed(call):
    """What a call gives, and the seconds that it took."""
    began = time.monotonic()
    return call(), time.monotonic() - began


def _plain(reply):
    """The reply with lists in place of tuples."""
    return list(reply) if isinstance(reply, tuple) else reply
