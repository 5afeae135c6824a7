#!/usr/bin/env python3
"""Runs units of Valkey's suite one by one and compares the passed cases with the record. Started by `run`."""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "transcripts"))
from ports import free_port  # noqa: E402

UNITS = """dump type/string type/incr type/list type/list-2 type/list-3 type/hash type/set type/zset type/stream type/stream-cgroups hashexpire geo sort bitops bitfield hyperloglog keyspace expire scan protocol querybuf limits info-command quit networking violations multi pubsub pubsubshard commandlog slowlog latency-monitor tracking introspection introspection-2 pause obuf-limits client-eviction other info auth scripting functions lazyfree replybufsize shutdown oom-score-adj fuzzer integration/valkey-cli""".split()
OWN_SERVER = {"dump", "type/string", "type/set", "type/zset", "type/list", "expire", "hashexpire", "multi", "limits", "networking", "obuf-limits", "client-eviction", "info", "auth", "shutdown", "oom-score-adj", "scripting", "functions"}  # every case of these is left out on an external server
STARTED = """unit/dump unit/aofrw unit/acl unit/acl-v2 integration/rdb integration/aof integration/aof-multi-part integration/convert-ziplist-hash-on-load integration/convert-ziplist-zset-on-load integration/convert-zipmap-hash-on-load integration/corrupt-dump integration/corrupt-dump-fuzzer integration/aof-race unit/wait integration/block-repl integration/replication-2 integration/replication-3 integration/replication-4 integration/replication-aof-sync integration/psync2-reg integration/psync2-pingoff integration/psync2-master-restart integration/failover integration/replica-redirect integration/psync2 integration/replication-psync""".split()
TLS = ["unit/tls"] + UNITS[:10]  # the first in servers that the suite starts, the others as without TLS
FILES = {"passed": "passed.txt", "exceptions": "exceptions.txt", "ceiling": "valkey.txt"}
STARTED_FILES = {"passed": "started.txt", "exceptions": "started-exceptions.txt", "ceiling": "started-valkey.txt"}
TLS_FILES = {"passed": "tls.txt", "exceptions": "tls-exceptions.txt", "ceiling": "tls-valkey.txt"}
TIME_LIMIT = 300  # seconds for one unit
LONGER = {"integration/replication-psync": 900}  # for those that wait for long
PORTS = os.environ.get("COMPAT_PORTS", "21111")  # the first port of the suite and of servers that it starts
ELSEWHERE = "runs with --started"  # reason of cases that need a server which the suite starts, in units of which others do not
LINE = re.compile(r"^\[(ok|err|exception|skip|ignore|TIMEOUT)\]: (.*)$")


def read_counts(path):
    """The passed counts of a record file: unit -> number."""
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    return {unit: int(count) for unit, count in pairs}


def write_counts(path, counts, title, units):
    """Writes a record file."""
    path.write_text("# %s\n" % title + "".join("%s %d\n" % (unit, counts[unit]) for unit in units if unit in counts))


def read_exceptions(path):
    """The cases that may fail: unit -> {case name: skip or run}."""
    found = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            unit, treatment, name, _ = line.split("\t")
            found.setdefault(unit, {})[name] = treatment
    return found


def read_elsewhere():
    """The cases of units on an external server that run in servers which the suite starts: unit -> names."""
    found = {}
    for line in (HERE / FILES["exceptions"]).read_text().splitlines():
        if line.endswith("\t" + ELSEWHERE):
            unit, _, name, _ = line.split("\t")
            found.setdefault(unit if "integration/" in unit else "unit/" + unit, []).append(name)
    return {unit: names for unit, names in found.items() if unit not in STARTED}


class Server:
    """The server under test: a fresh one with a folder of its own, or the one that SERVER_ADDR names."""

    def __init__(self, log, certificates=None):
        self.process = self.folder = None
        if os.environ.get("SERVER_ADDR"):
            self.host, self.port = os.environ["SERVER_ADDR"].rsplit(":", 1)
            return
        self.host, self.port, self.folder = "127.0.0.1", str(free_port()), tempfile.mkdtemp(prefix="varve-compat-")
        command = shlex.split(os.environ["VARVE_SERVER"])
        command += ["--port", self.port, "--dir", self.folder, "--save", "", "--enable-debug-command", "yes"]
        if certificates:
            self.port = str(free_port())
            command += ["--tls-port", self.port, "--tls-cert-file", certificates / "server.crt", "--tls-key-file", certificates / "server.key"]
            command += ["--tls-ca-cert-file", certificates / "ca.crt"]
        self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
        self.await_answer()

    def await_answer(self):
        """Waits until the port accepts connections."""
        for _ in range(500):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection((self.host, int(self.port)), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise SystemExit("compat: the server did not start: " + " ".join(self.process.args))

    def stop(self):
        """Stops the server that was started; returns a complaint if it had died before."""
        if not self.process:
            return None
        died = self.process.poll()
        if died is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        return None if died is None else "the server died during the unit (status %d)" % died


def run_unit(unit, options, skipped):
    """Runs one unit; returns its output without colours and a complaint about the run itself or None."""
    log_path = options.work / (unit.replace("/", "-") + ".log")
    skip_path = log_path.with_suffix(".skip")
    skip_path.write_text("\n".join(skipped))
    is_started = options.started or unit == "unit/tls"
    path = unit if is_started or "integration/" in unit else "unit/" + unit
    command = ["./runtest", "--single", path, "--clients", "1", "--skipfile", str(skip_path), "--baseport", PORTS]
    trouble, server, limit = None, None, LONGER.get(unit, TIME_LIMIT)
    with open(log_path, "wb") as log, open(log_path.with_suffix(".server.log"), "wb") as server_log:
        if not is_started and unit not in OWN_SERVER:
            server = Server(server_log, options.suite / "tests" / "tls" if options.tls else None)
            command += ["--host", server.host, "--port", server.port]
        if options.started:
            names = read_elsewhere().get(unit, [])
            command += ["--tags", "-cluster"] if names else []
            for name in names:
                command += ["--only", name]
        # --durable turns a Tcl exception inside a case into a failure of that case, so that the others still run.
        command += ["--durable", "--tls"] if options.tls else ["--durable"]
        suite = subprocess.Popen(command, cwd=options.suite, stdout=log, stderr=log, start_new_session=True)
        try:
            suite.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(suite.pid, signal.SIGKILL)
            suite.wait()
            trouble = "stopped after %d s" % limit
        trouble = (server.stop() if server else None) or trouble
    output = re.sub(r"\x1b\[[0-9;]*m", "", log_path.read_text(errors="replace"))
    if not trouble and "[1/1 done]" not in output:
        trouble = "the unit did not reach its end"
    return output, trouble


def outcome(output, unit):
    """The names of the cases by outcome."""
    found = {kind: [] for kind in ("ok", "err", "exception", "skip", "ignore", "TIMEOUT")}
    body = output.split("The End", 1)[0]
    for line in body.splitlines():
        match = LINE.match(line)
        if match:
            name = re.sub(r" \(\d+ ms\)$", "", match.group(2))
            found[match.group(1)].append(re.sub(r" in tests/(unit/)?%s\.tcl.*$" % re.escape(unit), "", name))
    return found


def judge(unit, output, trouble, exceptions, before):
    """The complaints about one unit and its passed count."""
    found = outcome(output, unit)
    complaints = [trouble] if trouble else []
    complaints += ["fails: " + name for name in found["err"] + found["exception"] + found["TIMEOUT"] if name not in exceptions]
    passed = len([name for name in found["ok"] if name not in exceptions])
    if passed < before:
        complaints.append("%d cases pass, %d did" % (passed, before))
    print("%-28s %3d passed, %d failed, %d listed, %d not for this mode" % (
        unit, passed, len(complaints), len(exceptions), len(found["ignore"])), flush=True)
    for name in found["ok"]:
        if name in exceptions:
            print("    passes now, take it off the exceptions: " + name)
    return complaints, passed


def main():
    """Runs the units named on the command line, or all of the slice."""
    parser = argparse.ArgumentParser(prog="tests/compat/run", description="Runs units of Valkey's suite against Varve.")
    parser.add_argument("--suite", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--started", action="store_true", help="the units of persistence, whose servers the suite starts")
    parser.add_argument("--tls", action="store_true", help="the unit of TLS and some others, whose clients all speak it")
    parser.add_argument("--record", action="store_true", help="raise the counts in passed.txt (started.txt)")
    parser.add_argument("--listed", action="store_true", help="run the cases of exceptions too, and name those that pass")
    parser.add_argument("--ceiling", action="store_true", help="write valkey.txt: the server under test is Valkey itself")
    parser.add_argument("units", nargs="*", metavar="unit")
    options = parser.parse_args()
    units = TLS if options.tls else STARTED + list(read_elsewhere()) if options.started else UNITS
    unknown = [unit for unit in options.units if unit not in units]
    if unknown:
        parser.error("unknown unit %s; known: %s" % (unknown[0], " ".join(units)))
    files = TLS_FILES if options.tls else STARTED_FILES if options.started else FILES
    record = HERE / files["ceiling" if options.ceiling else "passed"]
    counts, exceptions, bad = read_counts(record), read_exceptions(HERE / files["exceptions"]), 0
    if options.tls:
        counts.update(read_counts(HERE / FILES["passed"]))
        exceptions.update(read_exceptions(HERE / FILES["exceptions"]))
    for unit in options.units or units:
        listed = {} if options.ceiling else exceptions.get(unit, {})
        skipped = [name for name in listed if listed[name] == "skip" and not options.listed]
        output, trouble = run_unit(unit, options, skipped)
        complaints, passed = judge(unit, output, trouble, listed, 0 if options.ceiling else counts.get(unit, 0))
        for complaint in complaints:
            print("    " + complaint)
        bad += bool(complaints)
        if options.ceiling or (options.record and passed > counts.get(unit, -1)):
            counts[unit] = passed
    if options.ceiling:
        title = "Cases that pass with Valkey 9.1.2 as the server, with nothing listed: what can be reached."
        write_counts(record, counts, title, units)
    elif options.record:
        title = "Cases of Valkey's suite that pass: they may only rise. Written by `tests/compat/run --record`."
        write_counts(record, counts, title, units[:1] if options.tls else units)
    print("compat: %s; logs are in %s" % ("%d units are wrong" % bad if bad else "all units as expected", options.work))
    return 1 if bad and not options.ceiling else 0


if __name__ == "__main__":
    sys.exit(main())
