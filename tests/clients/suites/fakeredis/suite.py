"""fakeredis' state machines: hypothesis draws commands, and a server must answer them as fakeredis does."""

from python_suite import PythonSuite

EXAMPLES = {True: "3", False: "10"}  # runs of each machine, of fifty commands each


class Fakeredis(PythonSuite):
    name = "fakeredis"
    package, version = "fakeredis", "2.41.0"
    protocols = ("2",)
    files = ["test/test_hypothesis"]
    small = ["test_hypothesis"]

    def install(self, small):
        super().install(small)
        conftest = self.source / "test/conftest.py"
        text = conftest.read_text()
        if "SUITE_PORT" not in text:
            port = 'int(__import__("os").environ["SUITE_PORT"])'
            conftest.write_text(text.replace('"localhost", 6390', '"127.0.0.1", ' + port))
        self.examples = EXAMPLES[small]

    def options(self, server, protocol):
        return ["-p", "as_redis", "--hypothesis-seed", "1"]

    def environment(self, server, protocol):
        return {"SUITE_PORT": str(server.port), "FAKEREDIS_HYPOTHESIS_EXAMPLES": self.examples}

    def case_name(self, case):
        return case.get("classname").removeprefix("test.test_hypothesis.") + "." + case.get("name")
