"""go-redis' own specifications, those for one server."""

import json
import os
import shutil
import subprocess

from harness import DidNotEnd, Suite, need, run
from junit import read_junit

MODULE = "github.com/redis/go-redis/v9"
# Names of groups: what needs more than one server, TLS, or modules.
WITHOUT = (
    "Cluster|cluster|Ring|Sentinel|Failover|UniversalClient|Command Tips|Credentials Provider|TLS|JSON|RediSearch|FT.HYBRID"
    "|Probabilistic|RedisTimeseries|VectorSet|HotKeys|withConn|Modules"
)


class GoRedis(Suite):
    name, version = "go-redis", "9.23.0"
    protocols = ("3",)
    small = ["Commands strings", "Commands hashes", "Commands sets", "Pipelining"]
    patience = 900

    @property
    def source(self):
        return self.work / "source"

    @property
    def program(self):
        return self.work / "go-redis.test"

    def install(self, small):
        need("go")
        if self.program.exists():
            return
        self.work.mkdir(parents=True, exist_ok=True)
        outside = {**os.environ, "GOFLAGS": "-mod=mod"}
        told = run("go", "mod", "download", "-json", "%s@v%s" % (MODULE, self.version), cwd=self.work, env=outside)
        shutil.rmtree(self.source, ignore_errors=True)
        shutil.copytree(json.loads(told)["Dir"], self.source)
        run("chmod", "-R", "u+w", self.source)
        run("go", "test", "-c", "-o", self.program, ".", cwd=self.source)

    def outcomes(self, server, protocol, chosen):
        report, log = self.report(server, protocol, "xml"), self.report(server, protocol, "log")
        endpoint = self.report(server, protocol, "json")
        report.unlink(missing_ok=True)
        options = ["-test.run", "TestGinkgoSuite", "-ginkgo.junit-report", report, "-ginkgo.no-color"]
        options += ["-ginkgo.skip", WITHOUT] + [word for part in chosen for word in ("-ginkgo.focus", part)]
        with server.started(), open(log, "wb") as output:
            database = {"raw_endpoints": [{"dns_name": "127.0.0.1", "port": server.port}]}
            endpoint.write_text(json.dumps({"suite": database}))
            # As for a cluster which was set up elsewhere, it asks for no more than that one server.
            told = {"RE_CLUSTER": "true", "REDIS_VERSION": "8.0", "REDIS_ENDPOINTS_CONFIG_PATH": str(endpoint)}
            environment = {**os.environ, **told}
            command = [self.program, *options]
            subprocess.run(command, cwd=self.source, env=environment, stdout=output, stderr=output, timeout=self.patience)
        try:
            return read_junit(report, self.case_name)
        except OSError:
            raise DidNotEnd("the tests left no report: see %s" % log)

    def case_name(self, case):
        """Labels stand in brackets behind a name."""
        return case.get("name").removeprefix("[It] ").split(" [")[0]

    def part(self, case):
        return "".join("\\" + letter if letter in r".+*?()|[]{}^$\\" else letter for letter in case)
