"""Suites that pytest runs, from the source package of a library."""

import os
import subprocess
import sys
import tarfile

from harness import DidNotEnd, Suite, need, run
from junit import read_junit


class PythonSuite(Suite):
    """`package`: its name in the registry. `files`: what pytest is given. `options(server, protocol)`: its options."""

    package = ""
    files = ()
    patience = 900

    @property
    def source(self):
        return self.work / ("%s-%s" % (self.package, self.version))

    @property
    def python(self):
        return self.work / "venv/bin/python"

    def install(self, small):
        need("python")
        self.work.mkdir(parents=True, exist_ok=True)
        if not self.python.exists():
            run(sys.executable, "-m", "venv", "--clear", self.work / "venv")
        pip = [self.python, "-m", "pip", "-q", "--disable-pip-version-check"]
        run(*pip, "install", "-r", self.folder / "requirements.txt")
        if not self.source.exists():
            wanted = ["--no-deps", "--no-binary", self.package, "%s==%s" % (self.package, self.version), "-d", self.work]
            run(*pip, "download", *wanted)
            with tarfile.open(self.work / (self.source.name + ".tar.gz")) as archive:
                archive.extractall(self.work, filter="data")

    def options(self, server, protocol):
        return []

    def environment(self, server, protocol):
        return {}

    def outcomes(self, server, protocol, chosen):
        report, log = self.report(server, protocol, "xml"), self.report(server, protocol, "log")
        report.unlink(missing_ok=True)
        command = [self.python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:warnings", "--tb", "short"]
        # Some of the suites give a case half a minute, which a busy machine needs for the report of a failure.
        command += ["--timeout", "300"]
        with server.started(), open(log, "wb") as output:
            command += ["--junitxml", report, "-k", " or ".join(chosen), *self.options(server, protocol), *self.files]
            environment = {**os.environ, "PYTHONPATH": str(self.folder), **self.environment(server, protocol)}
            subprocess.run(command, cwd=self.source, env=environment, stdout=output, stderr=output, timeout=self.patience)
        try:
            return read_junit(report, self.case_name)
        except OSError:
            raise DidNotEnd("the tests left no report: see %s" % log)

    def case_name(self, case):
        """As the list has it: test_pubsub.TestPubSubMessages.test_published_message."""
        return case.get("classname").removeprefix("tests.") + "." + case.get("name")

    def part(self, case):
        return case.split("[")[0].rsplit(".", 1)[1]
