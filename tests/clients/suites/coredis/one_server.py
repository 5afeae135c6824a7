"""Gives coredis' tests the server at SUITE_PORT for those that they would start in containers.

What asks for servers of other kinds is not run, nor is what Valkey's container is given: it is the same as with Redis'.
They leave out, too, what is younger than the server says it is. Valkey and Varve call themselves Redis 7.2.4, for the sake
of clients, and have deadlines of fields.
"""

import os

import anyio
import coredis.connection._tcp
import pytest
from packaging import version

OTHERS = {"cluster", "auth", "ssl", "sentinel", "stack", "dragonfly", "valkey", "uds"}


async def connect_tcp(host, port, **options):
    """The tests name the usual port."""
    return await anyio.connect_tcp("127.0.0.1", int(os.environ["SUITE_PORT"]), **options)


coredis.connection._tcp.connect_tcp = connect_tcp


class Services:
    """The containers."""

    def start(self, name):
        pass

    def wait_for_service(self, name, port, check):
        pass


@pytest.fixture(scope="session")
def docker_services():
    return Services()


class Versions(dict):
    def __setitem__(self, client, told):
        super().__setitem__(client, max(told, version.parse("8.0.0")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    import tests.conftest

    tests.conftest.REDIS_VERSIONS = Versions()
    others = [item for item in items if OTHERS & asked_for(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if not OTHERS & asked_for(item)]


def asked_for(item):
    """The words of the names of a test's fixtures, and of the one that stands for its client."""
    client = getattr(item, "callspec", None) and item.callspec.params.get("client")
    names = [*item.fixturenames, getattr(client, "name", "")]
    return {word for name in names for word in name.split("_")}
