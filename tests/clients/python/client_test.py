"""redis-py against the server at SERVER_ADDR: one line per case, status 1 when a case fails."""

import os
import sys
import time
import traceback

import redis

HOST, PORT = os.environ.get("SERVER_ADDR", "127.0.0.1:6379").rsplit(":", 1)


def client(protocol=2):
    """A client that speaks the given version of RESP."""
    return redis.Redis(host=HOST, port=int(PORT), protocol=protocol)


def connects_with_resp2_and_resp3():
    for protocol in (2, 3):
        with client(protocol) as db:
            assert db.ping()
            assert db.execute_command("HELLO")[b"proto" if protocol == 3 else 5] == protocol


def answers_a_pipeline_of_1000_commands_in_order():
    with client(3) as db:
        pipe = db.pipeline(transaction=False)
        for number in range(500):
            pipe.set("p:%d" % number, number)
            pipe.get("p:%d" % number)
        replies = pipe.execute()
        assert replies[0::2] == [True] * 500
        assert replies[1::2] == [b"%d" % number for number in range(500)]


def keeps_every_byte_of_a_string():
    with client() as db:
        everything = bytes(range(256))
        db.set(everything, everything)
        assert db.get(everything) == everything
        large = os.urandom(1 << 20) * 10
        db.set("large", large)
        assert db.strlen("large") == len(large)
        assert db.get("large") == large
        assert db.getrange("large", 5 << 20, (5 << 20) + 99) == large[5 << 20 : (5 << 20) + 100]


def counts():
    with client() as db:
        assert [db.incr("n"), db.incrby("n", 9), db.decr("n"), db.decrby("n", 4)] == [1, 10, 9, 5]
        assert db.incrbyfloat("f", 0.5) == 0.5
        assert db.append("n", "0") == 2 and db.get("n") == b"50"


def sets_under_conditions():
    with client() as db:
        assert db.set("c", 1, nx=True) is True and db.set("c", 2, nx=True) is None
        assert db.set("c", 3, xx=True, get=True) == b"1"
        assert db.set("absent", 1, xx=True) is None
        assert db.mset({"a": 1, "b": 2}) and db.mget("a", "missing", "b") == [b"1", None, b"2"]
        assert db.getdel("a") == b"1" and db.exists("a", "b") == 1
        assert db.setbit("bits", 7, 1) == 0 and db.bitcount("bits") == 1


def expires():
    with client() as db:
        db.set("e", "v", ex=100)
        assert 99 <= db.ttl("e") <= 100
        assert db.persist("e") and db.ttl("e") == -1
        assert db.pexpire("e", 1)
        deadline = time.monotonic() + 5
        while db.exists("e"):
            assert time.monotonic() < deadline, "the key did not expire"
        assert db.get("e") is None and db.ttl("e") == -2


def scans_10000_keys():
    with client() as db:
        db.flushdb()
        pipe = db.pipeline(transaction=False)
        for number in range(10000):
            pipe.set("s:%d" % number, 1)
        pipe.execute()
        found = set(db.scan_iter(match="s:*", count=100))
        assert found == {b"s:%d" % number for number in range(10000)}
        assert db.dbsize() == 10000


def raises_errors():
    with client() as db:
        db.set("word", "abc")
        for arguments, part in [
            (("NOSUCHCOMMAND", "x"), "unknown command"),
            (("GET",), "wrong number of arguments"),
            (("INCR", "word"), "not an integer"),
            (("SET", "k", "v", "EX", "0"), "invalid expire time"),
        ]:
            try:
                db.execute_command(*arguments)
            except redis.ResponseError as error:
                assert part in str(error), error
            else:
                raise AssertionError("%s raised nothing" % (arguments,))
        assert db.ping()


def main():
    with client() as db:
        db.flushall()
    failed = 0
    for case in (
        connects_with_resp2_and_resp3,
        answers_a_pipeline_of_1000_commands_in_order,
        keeps_every_byte_of_a_string,
        counts,
        sets_under_conditions,
        expires,
        scans_10000_keys,
        raises_errors,
    ):
        try:
            case()
            print("ok   " + case.__name__)
        except Exception:
            failed += 1
            print("FAIL %s\n%s" % (case.__name__, traceback.format_exc()))
    return 1 if failed else 0


sys.exit(main())
