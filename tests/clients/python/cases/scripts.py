"""Scripts, functions, and the lock that redis-py makes of three scripts."""

import multiprocessing

import redis

from .support import PATIENCE, another, binary_client, raises, wait_until

ADD = "return redis.call('INCRBY', KEYS[1], ARGV[1])"
MISSING = "0" * 40
LIBRARY = """#!lua name=shelf
local function put(keys, arguments)
  return redis.call('RPUSH', keys[1], unpack(arguments))
end
local function count(keys)
  return redis.call('LLEN', keys[1])
end
redis.register_function('put', put)
redis.register_function{function_name = 'count', callback = count, flags = {'no-writes'}}
"""


def a_script_gets_its_keys_and_arguments(db):
    assert db.eval("return {KEYS[1], KEYS[2], ARGV[1], #KEYS, #ARGV}", 2, "k", "l", "a") == ["k", "l", "a", 2, 1]
    assert db.eval("return {1, 'two', {3, {'four'}}, false, 5.9, redis.status_reply('six')}", 0) == [1, "two", [3, ["four"]], None, 5, "six"]
    assert db.eval_ro("return redis.call('EXISTS', KEYS[1])", 1, "k") == 0
    raises("Write commands are not allowed", db.eval_ro, ADD, 1, "k", 1)


def a_script_is_run_by_its_digest(db):
    digest = db.script_load(ADD)
    assert db.script_exists(digest, MISSING) == [True, False]
    assert [db.evalsha(digest, 1, "n", number) for number in (3, 4)] == [3, 7]
    assert db.script_flush("SYNC") and db.script_exists(digest) == [False]
    raises("No matching script", db.evalsha, digest, 1, "n", 1)


def a_registered_script_is_loaded_once_it_is_missing(db):
    add = db.register_script(ADD)
    assert add(keys=["n"], args=[3]) == 3
    db.script_flush()
    assert add(keys=["n"], args=[4]) == 7 and db.script_exists(add.sha) == [True]


def a_pipeline_loads_the_scripts_that_it_needs(db):
    add = db.register_script(ADD)
    db.script_flush()
    for transaction in (True, False):
        with db.pipeline(transaction=transaction) as pipe:
            pipe.set("n", 1)
            add(keys=["n"], args=[2], client=pipe)
            add(keys=["n"], args=[3], client=pipe)
            assert pipe.execute() == [True, 3, 6]


def errors_of_a_script_tell_where_they_arose(db):
    db.set("word", "abc")
    raises("not an integer", db.eval, ADD, 1, "word", 1)
    raises("mine", db.eval, "return redis.error_reply('ERR mine')", 0)
    raises("user_script:2", db.eval, "\nerror('thrown')", 0)
    raises("Error compiling script", db.eval, "return return", 0)
    assert db.eval("return redis.pcall('INCR', KEYS[1]).err", 1, "word").startswith("ERR value is not an integer")
    assert db.get("word") == "abc"


def a_script_passes_binary_values(db):
    every = bytes(range(256))
    with binary_client(db) as binary:
        binary.eval("redis.call('SET', KEYS[1], ARGV[1])", 1, "b", every)
        assert binary.eval("return redis.call('GET', KEYS[1])", 1, "b") == every


def a_library_of_functions_is_called(db):
    db.function_flush()
    assert db.function_load(LIBRARY) == "shelf"
    raises("already exists", db.function_load, LIBRARY)
    assert db.function_load(LIBRARY, replace=True) == "shelf"
    assert db.fcall("put", 1, "l", "a", "b") == 2 and db.lrange("l", 0, -1) == ["a", "b"]
    assert db.fcall_ro("count", 1, "l") == 2
    raises("Can not execute a script with write flag", db.fcall_ro, "put", 1, "l", "c")
    raises("Function not found", db.fcall, "none", 0)
    assert db.function_delete("shelf") and db.function_list() == []


def a_library_is_listed(db):
    db.function_flush()
    db.function_load(LIBRARY)
    (library,) = [_named(library) for library in db.function_list(library="sh*", withcode=True)]
    assert (library["library_name"], library["engine"], library["library_code"]) == ("shelf", "LUA", LIBRARY)
    functions = {each["name"]: set(each["flags"]) for each in map(_named, library["functions"])}
    assert functions == {"put": set(), "count": {"no-writes"}}
    assert db.function_list(library="other") == []
    db.function_flush()


def a_dump_of_functions_is_restored(db):
    with binary_client(db) as binary:
        db.function_flush()
        db.function_load(LIBRARY)
        dump = binary.function_dump()
        raises("already exists", binary.function_restore, dump)
        db.function_flush()
        assert binary.function_restore(dump)
        assert db.fcall("put", 1, "l", "a") == 1
        assert binary.function_restore(dump, "REPLACE") and binary.function_restore(dump, "FLUSH")
        db.function_flush()


def two_processes_with_a_lock_exclude_each_other(db):
    fork = multiprocessing.get_context("fork")
    both = [fork.Process(target=_increment_under_the_lock, args=(db, 50)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(PATIENCE)
    assert [process.exitcode for process in both] == [0, 0] and db.get("n") == "100" and not db.exists("lock")


def a_lock_that_is_taken_is_not_acquired(db):
    mine, other = db.lock("lock", timeout=PATIENCE), db.lock("lock", timeout=PATIENCE)
    assert mine.acquire(blocking=False) and mine.owned() and mine.locked()
    assert not other.acquire(blocking=False) and not other.owned() and other.locked()
    assert not other.acquire(blocking_timeout=0.01)
    mine.release()
    assert other.acquire(blocking=False)
    other.release()
    assert not mine.locked()


def a_lock_is_extended_and_its_time_begins_anew(db):
    lock = db.lock("lock", timeout=100)
    assert lock.acquire() and 90_000 < db.pttl("lock") <= 100_000
    assert lock.extend(100) and 190_000 < db.pttl("lock") <= 200_000
    assert lock.extend(50, replace_ttl=True) and 40_000 < db.pttl("lock") <= 50_000
    assert lock.reacquire() and 90_000 < db.pttl("lock") <= 100_000
    lock.release()


def who_has_lost_a_lock_can_neither_keep_nor_release_it(db):
    lost = db.lock("lock", timeout=0.02)
    assert lost.acquire()
    wait_until(lambda: not db.exists("lock"), "the lock did not expire")
    with another(db) as second, second.lock("lock", timeout=PATIENCE):
        token = db.get("lock")
        for call in (lambda: lost.extend(1), lost.reacquire, lost.release):
            try:
                call()
            except redis.exceptions.LockNotOwnedError:
                assert db.get("lock") == token
            else:
                raise AssertionError("a lock was changed by somebody who had lost it")


def a_waiting_lock_is_acquired_once_it_is_released(db):
    with db.lock("lock", timeout=PATIENCE) as held:
        fork = multiprocessing.get_context("fork")
        waiting = fork.Process(target=_increment_under_the_lock, args=(db, 1))
        waiting.start()
        wait_until(lambda: db.exists("started"), "the process did not start")
        assert held.owned() and not db.exists("n")
    waiting.join(PATIENCE)
    assert waiting.exitcode == 0 and db.get("n") == "1"


def _increment_under_the_lock(db, times):
    """A process: what it reads and writes would be lost in part if it were not alone."""
    with another(db) as own:
        own.set("started", 1)
        for _ in range(times):
            with own.lock("lock", timeout=PATIENCE, sleep=0.001, blocking_timeout=PATIENCE):
                own.set("n", int(own.get("n") or 0) + 1)


def _named(reply):
    """A reply with names, which RESP2 gives as a list."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))
