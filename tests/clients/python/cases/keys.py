"""Keys of every type: expiry, scanning, types, removal."""

from .support import MANY, names, wait_until


def expires(db):
    db.set("e", "v", ex=100)
    assert 99 <= db.ttl("e") <= 100
    assert db.persist("e") and db.ttl("e") == -1
    assert db.pexpire("e", 1)
    wait_until(lambda: not db.exists("e"), "the key did not expire")
    assert db.get("e") is None and db.ttl("e") == -2


def scans_10000_keys(db):
    pipe = db.pipeline(transaction=False)
    for name in names("s"):
        pipe.set(name, 1)
    pipe.execute()
    assert set(db.scan_iter(match="s:*", count=100)) == set(names("s"))
    assert db.dbsize() == MANY


def tells_the_type_of_a_key(db):
    _one_key_of_each_type(db)
    for name in ("string", "list", "hash", "set", "zset", "stream"):
        assert db.type(name) == name
        assert list(db.scan_iter(_type=name)) == [name]
    assert db.type("missing") == "none"


def expires_renames_copies_and_deletes_a_key_of_each_type(db):
    _one_key_of_each_type(db)
    for name in ("string", "list", "hash", "set", "zset", "stream"):
        assert db.expire(name, 100) and 99 <= db.ttl(name) <= 100
        assert db.rename(name, "renamed") and 99 <= db.ttl("renamed") <= 100
        assert db.copy("renamed", "copied") and db.type("copied") == name
        assert db.pexpire("renamed", 1)
        wait_until(lambda: not db.exists("renamed"), "a %s did not expire" % name)
        assert db.delete("copied") == 1
    assert db.dbsize() == 0


def _one_key_of_each_type(db):
    db.set("string", "v")
    db.rpush("list", "v")
    db.hset("hash", "f", "v")
    db.sadd("set", "v")
    db.zadd("zset", {"v": 1})
    db.xadd("stream", {"f": "v"})
