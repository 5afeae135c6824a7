"""Predis' own tests of commands: one class for each, those that ask a server."""

import subprocess
import tarfile

from harness import DidNotEnd, Suite, debian_source, need
from junit import read_junit

PACKAGE = ("php-nrk-predis", "2.4.0-1", "trixie")
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<phpunit bootstrap="tests/bootstrap.php">
  <testsuites><testsuite name="commands"><directory>tests/Predis/Command/Redis</directory></testsuite></testsuites>
  <groups>
    <include><group>connected</group></include>
    <exclude><group>realm-stack</group><group>realm-webdis</group><group>cluster</group><group>ext-relay</group></exclude>
  </groups>
  <php>
    <const name="REDIS_SERVER_HOST" value="127.0.0.1" />
    <const name="REDIS_SERVER_PORT" value="%d" />
    <const name="REDIS_SERVER_DBNUM" value="0" />
    <env name="USE_RELAY" value="false" />
  </php>
</phpunit>
"""


class Predis(Suite):
    name, version = "predis", "2.4.0"
    protocols = ("2",)
    small = ("SET_Test", "HSET_Test", "ZADD_Test", "XADD_Test", "LPOS_Test", "GEOSEARCH_Test", "BITFIELD_Test")
    patience = 600

    def install(self, small):
        need("php")
        self.work.mkdir(parents=True, exist_ok=True)
        archive = debian_source(*PACKAGE, self.work)
        with tarfile.open(archive) as packed:
            self.source = self.work / packed.getnames()[0].split("/")[0]
            if not self.source.exists():
                packed.extractall(self.work, filter="data")
                # It looks for a server outside this machine.
                (self.source / "tests/Predis/Command/Redis/MIGRATE_Test.php").unlink()

    def outcomes(self, server, protocol, chosen):
        report, log = self.report(server, protocol, "xml"), self.report(server, protocol, "log")
        # PHPUnit takes what its settings name to lie beside them.
        settings = self.source / ("phpunit-%s.xml" % server.name)
        report.unlink(missing_ok=True)
        command = ["phpunit", "-c", settings, "--log-junit", report]
        command += ["--filter", "|".join(chosen)] if chosen else []
        with server.started(), open(log, "wb") as output:
            settings.write_text(SETTINGS % server.port)
            subprocess.run(command, cwd=self.source, stdout=output, stderr=output, timeout=self.patience)
        try:
            return read_junit(report, self.case_name)
        except OSError:
            raise DidNotEnd("the tests left no report: see %s" % log)

    def case_name(self, case):
        """As the list has it: APPEND_Test.testReturnsTheLengthOfTheStringAfterAppend."""
        return case.get("class").rsplit("\\", 1)[1] + "." + case.get("name")

    def part(self, case):
        return case.split(" with data set")[0].replace(".", "::")
