"""Users: logging in by options and URL, pools, what is refused, changed passwords, deleted users."""

from contextlib import contextmanager
from secrets import token_hex
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .support import HOST, PORT, client, protocol_of, wait_until

RIGHTS = {
    "categories": ["+@read", "+@write", "+@connection", "+@transaction", "-@dangerous"],
    "commands": ["+acl|whoami"],
    "keys": ["u:*"],
}


def logs_in_by_options(db):
    with _user(db) as (name, password), _as(db, name, password) as user:
        assert user.acl_whoami() == name and user.set("u:1", "v") and user.get("u:1") == "v"
        assert [user.acl_whoami(), user.ping()] == user.pipeline().acl_whoami().ping().execute() == [name, True]
        assert _connections(db, name) == [(user.client_id(), str(protocol_of(db)))]


def logs_in_by_url(db):
    with _user(db) as (name, password):
        url = "redis://%s:%s@%s:%s/0?protocol=%d" % (name, quote(password, ""), HOST, PORT, protocol_of(db))
        with redis.Redis.from_url(url, decode_responses=True) as user:
            assert user.acl_whoami() == name
            assert _connections(db, name) == [(user.client_id(), str(protocol_of(db)))]


def each_connection_of_a_pool_is_the_user(db):
    with _user(db) as (name, password), _as(db, name, password, max_connections=4) as user:
        ones = [user.client() for _ in range(4)]
        assert [one.acl_whoami() for one in ones] == [name] * 4
        assert [number for number, _ in _connections(db, name)] == sorted(one.client_id() for one in ones)
        for one in ones:
            one.close()
        assert user.acl_whoami() == name and len(_connections(db, name)) == 4


def a_wrong_password_is_an_error_of_its_own(db):
    with _user(db) as (name, _):
        _fails_to_log_in(db, name, "wrong")
        tried = {(entry["reason"], entry["object"], entry["count"]) for entry in db.acl_log() if entry["username"] == name}
        assert tried == {("auth", "HELLO" if protocol_of(db) == 3 else "AUTH", 2)}, tried


def what_a_user_may_not_do_is_an_error_of_its_own(db):
    with _user(db) as (name, password), _as(db, name, password) as user:
        for call, part in [(user.flushall, "'flushall'"), (lambda: user.get("other"), "key")]:
            try:
                call()
            except redis.exceptions.NoPermissionError as error:
                assert part in str(error), error
            else:
                raise AssertionError("it was allowed")
        assert user.get("u:1") is None


def a_changed_password_is_asked_of_new_connections(db):
    with _user(db) as (name, password), _as(db, name, password) as user:
        with user.client() as held:
            assert held.acl_whoami() == name
            db.acl_setuser(name, enabled=True, passwords=["+new", "-" + password])
            assert held.set("u:1", "v") and held.acl_whoami() == name
            _fails(user.get, "u:1")  # on a second connection
            with _as(db, name, "new") as other:
                assert other.get("u:1") == "v"
        assert user.get("u:1") == "v"


def a_deleted_user_is_cut_off(db):
    with _user(db) as (name, password), _as(db, name, password) as user:
        assert user.acl_whoami() == name
        assert db.acl_deluser(name) == 1
        wait_until(lambda: not _connections(db, name), "the connection stays")
        _fails(user.ping)
        _fails_to_log_in(db, name, password)


@contextmanager
def _user(db):
    """Name and password of a user who may read and write what begins with `u:`."""
    name, password = "user-" + token_hex(4), token_hex(4) + "@:/ %"
    assert db.acl_setuser(name, enabled=True, passwords=["+" + password], **RIGHTS)
    try:
        yield name, password
    finally:
        db.acl_deluser(name)
        db.acl_log_reset()


def _as(db, name, password, **options):
    """A client like `db` that logs in, and tries once more when it fails: without `retry` redis-py does so ten times."""
    return client(protocol_of(db), username=name, password=password, retry=Retry(NoBackoff(), 1), **options)


def _fails_to_log_in(db, name, password):
    with _as(db, name, password) as user:
        _fails(user.ping)


def _fails(call, *arguments):
    """Fails unless the call needs a connection that cannot log in: redis-py makes a class out of WRONGPASS."""
    try:
        call(*arguments)
    except redis.AuthenticationError as error:
        assert "invalid username-password pair" in str(error), error
    else:
        raise AssertionError("it is logged in")


def _connections(db, name):
    """Number and protocol of each connection of a user."""
    return [(int(one["id"]), one["resp"]) for one in db.client_list() if one["user"] == name]
