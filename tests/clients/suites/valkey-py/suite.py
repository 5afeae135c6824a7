"""valkey-py's own tests, of its plain and its asyncio clients."""

from python_suite import PythonSuite

PLAIN = ("commands", "pipeline", "pubsub", "cache", "connection", "encoding", "lock", "monitor", "scripting", "function")
ASYNC = ("commands", "pipeline", "pubsub", "cache", "lock", "monitor", "scripting")


class ValkeyPy(PythonSuite):
    name = "valkey-py"
    package, version = "valkey", "6.2.0"
    files = ["tests/test_%s.py" % name for name in PLAIN] + ["tests/test_asyncio/test_%s.py" % name for name in ASYNC]
    small = ["test_published_message", "test_zadd", "test_xread", "test_bitfield"]

    def options(self, server, protocol):
        without = "not onlycluster and not valkeymod and not redismod and not ssl"
        return ["-m", without, "--protocol", protocol, "--valkey-url", "valkey://%s/0" % server.address]
