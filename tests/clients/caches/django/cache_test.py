"""Django's cache by django-redis against the server at SERVER_ADDR, one line for each case, status 1 when one fails.

cache_test.py [PART ...]      only the cases with these parts in their names

`incr` and `decr` are scripts, as are the locks, which are redis-py's.
"""

import os
import sys
import threading
import time
import traceback

from django.conf import settings

URL = "redis://%s" % os.environ.get("SERVER_ADDR", "127.0.0.1:6379")
BACKEND = "django_redis.cache.RedisCache"
ZIPPED = {
    "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
    "COMPRESSOR": "django_redis.compressors.zlib.ZlibCompressor",
}
settings.configure(
    SECRET_KEY="of a test",
    CACHES={
        "default": {"BACKEND": BACKEND, "LOCATION": URL + "/0"},
        "other": {"BACKEND": BACKEND, "LOCATION": URL + "/1", "KEY_PREFIX": "a[b]*"},
        "zipped": {"BACKEND": BACKEND, "LOCATION": URL + "/0", "KEY_PREFIX": "zipped", "OPTIONS": ZIPPED},
    },
)

from django.contrib.sessions.backends.cache import SessionStore  # noqa: E402
from django.core.cache import caches  # noqa: E402
from redis.exceptions import LockError, LockNotOwnedError  # noqa: E402

PATIENCE = 60  # seconds after which a case that waits for something gives up
LARGEST = (1 << 63) - 1


def a_value_is_set_and_got(cache):
    values = [0, -7, True, None, 1.5, "text", b"\0\xff", ["list", {"of": (1, 2)}], "x" * 100_000]
    for value in values:
        assert cache.set("key", value) and cache.get("key", "other") == value and 240 < cache.ttl("key") <= 300
    assert "key" in cache and cache.delete("key") and not cache.delete("key")
    assert "key" not in cache and cache.get("key") is None and cache.get("key", "other") == "other"


def a_number_is_counted_up_and_down(cache):
    cache.set("n", 5)
    assert [cache.incr("n"), cache.incr("n", 10), cache.decr("n"), cache.decr("n", 20)] == [6, 16, 15, -5]
    assert cache.get("n") == -5 and cache.incr("n", 0) == -5


def a_missing_number_is_not_counted(cache):
    for count in (cache.incr, cache.decr):
        _raises(ValueError, lambda: count("n"))
    assert not cache.has_key("n")
    assert cache.incr("n", 3, ignore_key_check=True) == 3 and cache.ttl("n") is None
    assert cache.incr("n", ignore_key_check=True) == 4


def a_number_keeps_its_timeout_when_it_is_counted(cache):
    cache.set("n", 1, timeout=100)
    cache.set("for ever", 1, timeout=None)
    cache.set("short", 1, timeout=100)
    before = cache.pttl("n")
    assert cache.incr("n") == 2 and cache.decr("n", 5) == -3 and before - 60_000 < cache.pttl("n") <= before
    assert cache.incr("for ever") == 2 and cache.ttl("for ever") is None
    assert cache.incr("short") == 2 and cache.pexpire("short", 1)
    _wait_until(lambda: not cache.has_key("short"), "the number has not expired")
    _raises(ValueError, lambda: cache.incr("short"))


def a_number_that_is_too_large_is_counted_by_the_library(cache):
    cache.set("n", LARGEST, timeout=100)
    assert cache.incr("n") == LARGEST + 1 and cache.get("n") == LARGEST + 1 and 40 < cache.ttl("n") <= 100
    assert cache.incr("n", 5) == LARGEST + 6 and cache.decr("n", 7) == LARGEST - 1
    cache.set("text", "x")
    _raises(TypeError, lambda: cache.incr("text"))
    assert cache.get("text") == "x"


def a_number_is_counted_by_many_at_once(cache):
    cache.set("n", 0)
    cache.set("m", 0)
    work = [lambda: cache.incr("n"), lambda: cache.incr("n", 2), lambda: cache.incr("m"), lambda: cache.decr("m")]
    _at_once([lambda each=each: [each() for _ in range(200)] for each in work])
    assert cache.get("n") == 600 and cache.get("m") == 0


def a_value_is_added_once(cache):
    assert cache.add("key", 1, timeout=100) and not cache.add("key", 2) and cache.get("key") == 1
    assert not cache.add("key", 2, timeout=0) and cache.add("none", 2, timeout=0) and not cache.has_key("none")
    assert not cache.set("key", 3, nx=True) and cache.set("key", 4, xx=True) and cache.get("key") == 4
    assert not cache.set("none", 5, xx=True) and not cache.has_key("none")


def a_default_is_kept_once_it_was_asked_for(cache):
    asked = []
    made = [cache.get_or_set("key", lambda: asked.append(1) or "made", timeout=100) for _ in range(3)]
    assert made == ["made"] * 3 and len(asked) == 1 and 40 < cache.ttl("key") <= 100
    assert cache.get_or_set("none", None) is None and cache.get_or_set("plain", 7) == 7


def a_timeout_is_read_and_changed(cache):
    cache.set("key", 1, timeout=100)
    assert 40 < cache.ttl("key") <= 100 and 40_000 < cache.pttl("key") <= 100_000
    assert cache.persist("key") and not cache.persist("key") and cache.ttl("key") is None and cache.pttl("key") is None
    assert cache.expire("key", 1000) and 900 < cache.ttl("key") <= 1000
    assert cache.pexpire("key", 500_000) and 400 < cache.ttl("key") <= 500
    assert cache.expire_at("key", int(time.time()) + 2000) and 1900 < cache.ttl("key") <= 2000
    assert cache.pexpire_at("key", int(time.time() * 1000) + 3_000_000) and 2900 < cache.ttl("key") <= 3000
    assert cache.touch("key", 50) and 0 < cache.ttl("key") <= 50 and cache.touch("key", None) and cache.ttl("key") is None
    assert cache.ttl("none") == 0 and not cache.expire("none", 5) and not cache.touch("none") and not cache.persist("none")
    assert cache.expire("key", -1) and not cache.has_key("key")


def a_value_expires_at_its_time(cache):
    cache.set("key", 1, timeout=0.2)
    cache.set("gone", 1)
    assert cache.set("gone", 2, timeout=0) and not cache.has_key("gone")
    assert cache.pttl("key") <= 200
    _wait_until(lambda: cache.get("key") is None, "the value has not expired")
    assert cache.ttl("key") == 0 and list(cache.iter_keys("*")) == []


def a_version_is_raised_and_lowered(cache):
    cache.set("key", "value", timeout=100)
    cache.set("key", "another", version=7)
    assert cache.incr_version("key") == 2 and cache.get("key") is None and cache.get("key", version=2) == "value"
    assert 40 < cache.ttl("key", version=2) <= 100
    assert cache.incr_version("key", 3, version=2) == 5 and cache.decr_version("key", version=5) == 4
    assert cache.get_many(["key"], version=4) == {"key": "value"} and cache.get("key", version=7) == "another"
    _raises(ValueError, lambda: cache.incr_version("none"))


def many_values_are_set_and_got(cache):
    many = {"key %d" % number: number * number for number in range(500)}
    cache.set_many({**many, "text": "x"}, timeout=100)
    assert cache.get_many([*many, "none"]) == many and 40 < cache.ttl("key 499") <= 100 and cache.get("text") == "x"
    assert cache.delete_many(list(many)[:100]) == 100 and len(cache.get_many(many)) == 400


def keys_are_told_and_deleted_by_their_pattern(cache):
    cache.set_many({"%s:%d" % (name, number): 1 for name in ("one", "two") for number in range(100)})
    cache.set("one:hidden", 1, version=2)
    wanted = sorted("one:%d" % number for number in range(100))
    assert sorted(set(cache.iter_keys("one:*"))) == wanted and sorted(cache.keys("one:*")) == wanted
    assert sorted(set(cache.iter_keys("one:*", itersize=7))) == wanted
    assert cache.delete_pattern("two:?", itersize=5) == 10 and cache.delete_pattern("*:[12]*") == 42
    assert cache.delete_pattern("none:*") == 0 and len(cache.keys("*")) == 148 and cache.has_key("one:hidden", version=2)


def a_cache_is_told_from_others(cache):
    other = caches["other"]
    cache.set("key", 1)
    other.set_many({"key": 2, "more": 3})
    assert cache.get("key") == 1 and other.get("key") == 2 and sorted(other.keys("*")) == ["key", "more"]
    assert other.incr("key") == 3 and cache.get("key") == 1
    assert other.delete_pattern("mo*") == 1
    cache.clear()
    assert cache.get("key") is None and other.get("key") == 3


def values_are_packed_otherwise(cache):
    zipped = caches["zipped"]
    value = {"list": [1, None, "x" * 5000]}
    zipped.set_many({"value": value, "n": 41})
    assert zipped.get("value") == value and zipped.incr("n") == 42 and zipped.get_many(["n", "value"]) == {"n": 42, "value": value}
    assert cache.client.get_client().strlen(zipped.make_key("value")) < 200


def a_lock_has_one_holder(cache):
    held = cache.lock("lock", timeout=100)
    other = cache.lock("lock", timeout=100, blocking=False)
    assert held.acquire() and not other.acquire() and held.owned() and held.locked() and 40 < cache.ttl("lock") <= 100
    _raises(LockError, other.release)
    assert held.extend(1000) and 900 < cache.ttl("lock") <= 1100 and held.reacquire() and 40 < cache.ttl("lock") <= 100
    held.release()
    assert not held.locked() and other.acquire()
    cache.delete("lock")
    _raises(LockNotOwnedError, other.release)


def a_lock_is_had_after_scripts_are_forgotten(cache):
    client = cache.client.get_client()
    for _ in range(3):
        with cache.lock("lock", timeout=100) as held:
            client.script_flush()
            assert held.reacquire()
            client.script_flush()
        assert not cache.has_key("lock")


def a_lock_is_waited_for(cache):
    inside, most, done = [], [], []

    def work():
        for _ in range(10):
            with cache.lock("lock", timeout=100, sleep=0.001, blocking_timeout=PATIENCE):
                inside.append(1)
                most.append(len(inside))
                done.append(1)
                inside.pop()

    _at_once([work] * 4)
    assert len(done) == 40 and max(most) == 1


def sets_and_sorted_sets_hold_values(cache):
    assert cache.sadd("a", 1, "two", (3, 4)) == 3 and cache.sadd("b", "two") == 1
    assert cache.smembers("a") == {1, "two", (3, 4)} and cache.sinter("a", "b") == {"two"} and cache.sismember("a", (3, 4))
    assert cache.zadd("z", {"low": 1, "high": 9}) == 2 and cache.zincrby("z", 10, "low") == 11
    assert cache.zrange("z", 0, -1, withscores=True) == [("high", 9.0), ("low", 11.0)]


def a_session_is_kept_in_the_cache(cache):
    session = SessionStore()
    session["name"] = {"of": ["a", "user"]}
    session.set_expiry(100)
    session.save()
    key = session.session_key
    assert SessionStore(key)["name"] == {"of": ["a", "user"]} and len(cache.keys("*" + key)) == 1
    session.cycle_key()
    assert SessionStore(session.session_key)["name"] and not session.exists(key)
    session.flush()
    assert cache.keys("*") == []


def _raises(kind, does):
    try:
        does()
    except kind:
        return
    raise AssertionError("no %s" % kind.__name__)


def _at_once(work):
    failed = []

    def does(each):
        try:
            each()
        except Exception:
            failed.append(traceback.format_exc())

    threads = [threading.Thread(target=does, args=(each,)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "it did not end"
    assert not failed, failed[0]


def _wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def _passes(title, case):
    cache = caches["default"]
    cache.client.get_client().flushall()
    try:
        case(cache)
    except Exception:
        print("FAIL %s\n%s" % (title, traceback.format_exc()), flush=True)
        return False
    print("ok   " + title, flush=True)
    return True


def main(chosen):
    cases = [(name, case) for name, case in globals().items() if getattr(case, "__module__", None) == __name__]
    named = [("django: " + name.replace("_", " "), case) for name, case in cases if not name.startswith("_") and case is not main]
    passed = [_passes(title, case) for title, case in named if not chosen or any(part in title for part in chosen)]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
