"""Channels, patterns and shard channels; events of keys."""

from contextlib import contextmanager

from .support import another, wait_until


def a_message_comes_to_all_subscribers_of_its_channel(db):
    with _subscriber(db, "a", "b") as one, _subscriber(db, "a") as other:
        assert db.publish("a", "first") == 2 and db.publish("b", "second") == 1 and db.publish("c", "third") == 0
        assert _next(one) == ("message", None, "a", "first") and _next(one) == ("message", None, "b", "second")
        assert _next(other) == ("message", None, "a", "first")
        assert db.pubsub_numsub("a", "b", "c") in ([("a", 2), ("b", 1), ("c", 0)], [["a", 2], ["b", 1], ["c", 0]], {"a": 2, "b": 1, "c": 0})
        assert sorted(db.pubsub_channels()) == ["a", "b"]


def a_pattern_gets_what_matches(db):
    with db.pubsub() as heard:
        heard.psubscribe("n.*", "[xy]")
        assert [_confirmed(heard) for _ in range(2)] == [("psubscribe", "n.*", 1), ("psubscribe", "[xy]", 2)]
        assert db.pubsub_numpat() == 2
        assert [db.publish(channel, "1") for channel in ("n.1", "m.1", "x", "z")] == [1, 0, 1, 0]
        assert _next(heard) == ("pmessage", "n.*", "n.1", "1") and _next(heard) == ("pmessage", "[xy]", "x", "1")


def a_shard_channel_is_a_channel_of_its_own(db):
    with db.pubsub() as heard:
        heard.ssubscribe("s")
        assert _confirmed(heard) == ("ssubscribe", "s", 1)
        assert db.publish("s", "no") == 0 and db.execute_command("SPUBLISH", "s", "yes") == 1
        assert _next(heard) == ("smessage", None, "s", "yes")
        heard.sunsubscribe("s")
        assert _confirmed(heard) == ("sunsubscribe", "s", 0)


def nothing_comes_behind_the_end_of_a_subscription(db):
    with _subscriber(db, "a", "b") as heard:
        heard.unsubscribe("a")
        assert _confirmed(heard) == ("unsubscribe", "a", 1)
        assert db.publish("a", "no") == 0 and db.publish("b", "yes") == 1
        assert _next(heard) == ("message", None, "b", "yes")
        heard.unsubscribe()
        assert _confirmed(heard) == ("unsubscribe", "b", 0)
    wait_until(lambda: db.pubsub_channels() == [], "a channel is left")


def messages_of_one_publisher_come_in_order(db):
    with _subscriber(db, "a") as heard, another(db) as publisher:
        pipe = publisher.pipeline(transaction=False)
        for number in range(2000):
            pipe.publish("a", number)
        assert pipe.execute() == [1] * 2000
        assert [_next(heard)[3] for _ in range(2000)] == ["%d" % number for number in range(2000)]


def a_transaction_publishes_too(db):
    with _subscriber(db, "a") as heard:
        with db.pipeline() as pipe:
            pipe.publish("a", "one").set("s", 1).publish("a", "two")
            assert pipe.execute() == [1, True, 1]
        assert [_next(heard)[3] for _ in range(2)] == ["one", "two"]


def a_large_message_comes_whole(db):
    with _subscriber(db, "a") as heard:
        assert db.publish("a", "x" * 1000000) == 1 and _next(heard)[3] == "x" * 1000000


def events_of_keys_are_messages(db):
    db.config_set("notify-keyspace-events", "KEA")
    try:
        with _subscriber(db, "__keyspace@0__:s") as heard:
            db.set("s", 1, px=20)
            assert [_next(heard)[3] for _ in range(3)] == ["set", "expire", "expired"]
    finally:
        db.config_set("notify-keyspace-events", "")


def a_handler_is_called(db):
    got = []
    with db.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(a=got.append)
        wait_until(lambda: heard.get_message() is None and db.publish("a", "x"), "nobody has subscribed")
        wait_until(lambda: heard.get_message() or got, "the handler was not called")
    assert got[0]["data"] == "x"


@contextmanager
def _subscriber(db, *channels):
    """Somebody who has subscribed to channels."""
    with db.pubsub() as heard:
        heard.subscribe(*channels)
        assert [_confirmed(heard) for _ in channels] == [("subscribe", name, at + 1) for at, name in enumerate(channels)]
        yield heard


def _confirmed(heard):
    message = heard.get_message(timeout=10)
    return message["type"], message["channel"], message["data"]


def _next(heard):
    message = heard.get_message(timeout=10)
    return message["type"], message["pattern"], message["channel"], message["data"]
