"""What the cases share: clients, expected errors, and large collections."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import redis

HOST, PORT = os.environ.get("SERVER_ADDR", "127.0.0.1:6379").rsplit(":", 1)
PATIENCE = 10  # seconds after which a case that waits for something gives up
MANY = 10000  # elements of a large collection


def tls_options():
    """Options for TLS, if SERVER_TLS names a folder with ca.crt, client.crt and client.key."""
    folder = os.environ.get("SERVER_TLS")
    if not folder:
        return {}
    files = {"ssl_ca_certs": "ca.crt", "ssl_certfile": "client.crt", "ssl_keyfile": "client.key"}
    return {"ssl": True, **{option: os.path.join(folder, name) for option, name in files.items()}}


def client(protocol, **options):
    """A client that speaks the given version of RESP and gives the same Python values over both."""
    options = {"decode_responses": True, "legacy_responses": False, **tls_options(), **options}
    return redis.Redis(host=HOST, port=int(PORT), protocol=protocol, **options)


def binary_client(db):
    """A client like `db` that gives bytes instead of text."""
    return client(protocol_of(db), decode_responses=False)


def another(db):
    """One more client of the same kind."""
    return client(protocol_of(db))


def protocol_of(db):
    """The version of RESP that `db` speaks."""
    return db.get_connection_kwargs()["protocol"]


def raises(part, call, *arguments, **options):
    """Fails unless the server refuses the call with an error that contains `part`."""
    try:
        reply = call(*arguments, **options)
    except redis.ResponseError as error:
        assert part in str(error), error
    else:
        raise AssertionError("%r was answered where %r was expected" % (reply, part))


def wait_until(condition, what):
    """Returns once the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.001)


def waiters(db):
    """How many clients are blocked."""
    return int(db.info("clients")["blocked_clients"])


def reply_once_served(db, blocking_call, serve):
    """What a call gives that is blocked, on a connection of its own, until `serve` is run."""
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(blocking_call)
        wait_until(lambda: reply.done() or waiters(db) == 1, "the call did not block")
        assert not reply.done(), "the call did not block: %r" % (reply.result(),)
        serve()
        return reply.result(PATIENCE)


def names(prefix="n"):
    """The names of the elements of a large collection."""
    return ["%s:%d" % (prefix, number) for number in range(MANY)]
