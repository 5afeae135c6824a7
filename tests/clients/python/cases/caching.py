"""Client-side caching: redis-py keeps what it read until the server says that it has changed."""

from redis.cache import CacheConfig
from redis.connection import CacheProxyConnection

from .support import client, wait_until


def what_was_read_is_kept_until_it_changes(db):
    with _caching(db) as cached:
        db.set("s", 1)
        assert cached.get("s") == "1" and len(cached.get_cache().collection) == 1
        db.set("s", 2)
        wait_until(lambda: cached.get("s") == "2", "the old value is kept")


def other_keys_stay(db):
    with _caching(db) as cached:
        db.mset({"s": 1, "t": 1})
        assert [cached.get("s"), cached.get("t"), cached.mget("s", "t")] == ["1", "1", ["1", "1"]]
        db.set("s", 2)
        wait_until(lambda: cached.mget("s", "t") == ["2", "1"], "the old value is kept")
        assert cached.get("t") == "1"


def a_key_that_expires_is_told(db):
    with _caching(db) as cached:
        db.set("s", 1, px=1000)
        assert cached.get("s") == "1"
        wait_until(lambda: cached.get("s") is None, "what has expired is kept")


def flushall_empties_the_cache(db):
    with _caching(db) as cached:
        db.mset({"s": 1, "t": 1})
        assert cached.get("s") == "1" and cached.get("t") == "1"
        db.flushall()
        wait_until(lambda: cached.get("s") is None and cached.get("t") is None, "what was flushed is kept")


def what_a_transaction_changes_is_told(db):
    with _caching(db) as cached:
        db.mset({"s": 1, "t": 1})
        assert cached.get("s") == "1" and cached.get("t") == "1"
        db.pipeline().set("s", 2).set("t", 2).execute()
        wait_until(lambda: (cached.get("s"), cached.get("t")) == ("2", "2"), "an old value is kept")


def _caching(db):
    """A client with a cache, which only RESP3 keeps fresh."""
    return client(3, cache_config=CacheConfig())


# redis-py asks for a server that calls itself Redis 7.4, which Valkey and Varve do not.
CacheProxyConnection.MIN_ALLOWED_VERSION = "7.2.0"
CacheProxyConnection.DEFAULT_SERVER_NAME = "valkey"
