"""Lets redis-py's tests take the server for a newer one than it says.

Valkey and Varve call themselves Redis 7.2.4, for the sake of clients. The tests would leave out what came later, and
redis-py itself would cache nothing, though both servers have client-side caching and deadlines of fields.
"""

from unittest import mock

import pytest
from redis.connection import CacheProxyConnection

CacheProxyConnection.MIN_ALLOWED_VERSION = "7.2.0"
CacheProxyConnection.DEFAULT_SERVER_NAME = mock.ANY


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    session.config.REDIS_INFO["version"] = "9.0.0"
