"""fakeredis' state machines: hypothesis draws commands, and a server must answer them as fakeredis does."""

from python_suite import PythonSuite

EXAMPLES = "10"  # runs of each machine, of fifty commands each


class Fakeredis(PythonSuite):
    """Nothing of it is in `make test`: what hypothesis draws depends on the modules that are loaded, so another machine draws
    other commands, and fakeredis differs from Valkey too. Beside Valkey, which is given the same commands, that is no difference.
    """

    name = "fakeredis"
    package, version = "fakeredis", "2.41.0"
    protocols = ("2",)
    files = ["test/test_hypothesis"]

    def install(self, small):
        super().install(small)
        conftest = self.source / "test/conftest.py"
        text = conftest.read_text()
        if "SUITE_PORT" not in text:
            port = 'int(__import__("os").environ["SUITE_PORT"])'
            conftest.write_text(text.replace('"localhost", 6390', '"127.0.0.1", ' + port))

    def options(self, server, protocol):
        return ["-p", "as_redis", "--hypothesis-seed", "1"]

    def environment(self, server, protocol):
        return {"SUITE_PORT": str(server.port), "FAKEREDIS_HYPOTHESIS_EXAMPLES": EXAMPLES}

    def case_name(self, case):
        return case.get("classname").removeprefix("test.test_hypothesis.") + "." + case.get("name")
