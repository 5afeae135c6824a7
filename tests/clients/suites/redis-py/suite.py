"""redis-py's own tests. `as_newer.py` keeps them from leaving out what Valkey has."""

from python_suite import PythonSuite


class RedisPy(PythonSuite):
    name = "redis-py"
    package, version = "redis", "6.4.0"
    files = ["tests/test_%s.py" % name for name in ("commands", "pipeline", "pubsub", "cache", "connection")]
    small = ["test_published_message", "test_zadd", "test_xread", "test_hash", "test_transaction"]

    def options(self, server, protocol):
        without = "not onlycluster and not redismod and not ssl and not cp_integration"
        return ["-p", "as_newer", "-m", without, "--protocol", protocol, "--redis-url", "redis://%s/0" % server.address]
