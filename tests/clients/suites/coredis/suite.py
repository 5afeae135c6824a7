"""coredis' own tests, with its plain client, the one that does not decode, and the one that caches.

6.0.0 is the last version whose source package has tests. It speaks RESP3 only.
"""

from python_suite import PythonSuite

LEFT_OUT = ("modules", "recipes", "cluster", "test_sentinel.py", "commands/test_cluster.py", "commands/test_vector_sets.py")


class Coredis(PythonSuite):
    name = "coredis"
    package, version = "coredis", "6.0.0"
    protocols = ("3",)
    files = ["tests"]
    small = ["TestScripting", "TestFunctions", "TestLibrary", "TestPipeline"]

    def options(self, server, protocol):
        left_out = [word for name in LEFT_OUT for word in ("--ignore", "tests/" + name)]
        return ["-p", "one_server", "-o", "addopts=", *left_out]

    def environment(self, server, protocol):
        return {"SUITE_PORT": str(server.port), "COREDIS_RUNTIME_CHECKS": "true"}
