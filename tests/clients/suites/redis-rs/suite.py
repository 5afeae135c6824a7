"""redis-rs' own tests. Each starts a server of its own: the program is found by the name of redis-server on the PATH."""

import json
import os
import re
import shutil
import subprocess

from harness import PASSED, SKIPPED, NotHere, Suite, need, run

HELPER = "1.0.4"  # redis-test, which the published package leaves out of its dependencies
FEATURES = "tokio-comp,connection-manager,cache-aio"
TESTS = ("basic", "streams", "geospatial", "acl", "script", "bignum", "types", "async", "cache")
TESTS_SMALL = TESTS[:2]
PATIENCE = 900

STUB = """[package]
name = "suite"
version = "0.0.0"
edition = "2024"
[lib]
path = "empty.rs"
[dependencies]
redis = "=%s"
redis-test = "=%s"
[workspace]
"""
MACROS = """[package]
name = "test_macros"
version = "0.0.0"
edition = "2024"
[lib]
proc-macro = true
path = "macros.rs"
"""
ADDED = """
[dev-dependencies.test_macros]
path = "../macros"
[dev-dependencies.redis-test]
version = "=%s"
[patch.crates-io.redis]
path = "."
[workspace]
[profile.dev]
debug = 0
"""


class RedisRs(Suite):
    name, version = "redis-rs", "1.4.1"
    small = ("test_hash", "test_zadd", "test_set", "test_xadd", "test_xgroup")

    @property
    def source(self):
        return self.work / ("redis-" + self.version)

    def install(self, small):
        need("cc", "rust")
        if not self.source.exists():
            self.unpack()
        self.programs = self.build(TESTS_SMALL if small else TESTS)

    def unpack(self):
        stub = self.work / "stub"
        stub.mkdir(parents=True, exist_ok=True)
        (stub / "empty.rs").write_text("")
        (stub / "Cargo.toml").write_text(STUB % (self.version, HELPER))
        packages = json.loads(run("cargo", "metadata", "-q", "--format-version", "1", cwd=stub))["packages"]
        manifest = next(each["manifest_path"] for each in packages if each["name"] == "redis")
        macros = self.work / "macros"
        macros.mkdir(exist_ok=True)
        (macros / "Cargo.toml").write_text(MACROS)
        shutil.copy(self.folder / "macros.rs.txt", macros / "macros.rs")
        begun = self.work / "begun"
        shutil.rmtree(begun, ignore_errors=True)
        shutil.copytree(os.path.dirname(manifest), begun)
        text = (begun / "Cargo.toml").read_text()
        # Benchmarks and TLS take long to build, and no test here needs them.
        unneeded = r"\[bench\]\]|dev-dependencies\.(criterion|rustls)\]"
        text = re.sub(r"(?ms)^\[(%s)\n.*?(?=^\[)" % unneeded, "", text)
        (begun / "Cargo.toml").write_text(text + ADDED % HELPER)
        begun.rename(self.source)

    def build(self, tests):
        """The programs that hold the tests: {name: path}."""
        command = ["cargo", "test", "--no-run", "--no-default-features", "--message-format", "json", "--features"]
        command += ["acl,streams,geospatial,script,num-bigint," + FEATURES]
        command += [word for name in tests for word in ("--test", "test_" + name)]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(self.work / "target")}
        done = subprocess.run(command, cwd=self.source, env=environment, capture_output=True)
        if done.returncode:
            raise NotHere("cargo: " + done.stderr.decode(errors="replace")[-600:])
        told = [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith("{")]
        return {each["target"]["name"]: each["executable"] for each in told if each.get("executable")}

    def part(self, case):
        return case.split("::", 1)[1]

    def outcomes(self, server, protocol, chosen):
        found = {}
        with server.program("redis-server") as folder, open(self.report(server, protocol, "log"), "wb") as log:
            environment = {**os.environ, "PROTOCOL": "RESP" + protocol, "TMPDIR": str(folder)}
            environment["PATH"] = "%s:%s" % (folder / "bin", environment["PATH"])
            for name, program in self.programs.items():
                # Its asynchronous tests hear the panics of others that run meanwhile.
                command = [program, "--test-threads", "1", *chosen]
                told = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
                done = subprocess.run(command, cwd=self.source, env=environment, timeout=PATIENCE, **told)
                log.write(done.stdout)
                found.update(outcomes_of(name, done.stdout.decode(errors="replace")))
        return found


def outcomes_of(program, told):
    """From the lines of libtest: test NAME ... ok"""
    outcomes = {"ok": PASSED, "ignored": SKIPPED}
    lines = re.findall(r"(?m)^test (\S+)(?: - should panic)? \.\.\. (\w+)", told)
    return {program + "::" + name: outcomes.get(outcome, reason(name, told)) for name, outcome in lines}


def reason(name, told):
    """The line with which a test panicked."""
    part = told.partition("---- %s stdout ----" % name)[2]
    return " ".join(part.split()[:40])[:200] or "failed"
