#!/usr/bin/env python3
"""Runs the files of Memcached's own suite one by one and compares the passed cases with the record. See ../README.md."""

import argparse
import fnmatch
import hashlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path.append(str(ROOT / "tests" / "process"))
from run import Server  # noqa: E402

VERSION = "1.6.45"
SUM = "c383a2ad8f973b627c3de472702f46ee33b402750de4fd2d25cef65a00140110"
TIME_LIMIT = 300  # seconds for one file
VARIES = {"dash-M", "maxconns"}  # the number of their cases hangs on sizes and on moments
# What is changed in the suite's copy: file, its words, others.
CHANGES = [
    # `debugtime` moves the clock of a build for tests. Others have to wait, a second longer as they count whole ones.
    (
        "lib/MemcachedTest.pm",
        'print $sock "debugtime $move\\r\\n";\n    <$sock>;\n',
        "MemcachedTest::sleep($move + 1);\n",
    ),
    # Statistics that are refused end with the refusal, or the file would wait for more.
    (
        "lib/MemcachedTest.pm",
        "last if /^(\\.|END)/;\n        /^(STAT",
        "last if /^(\\.|END|CLIENT_ERROR)/;\n        /^(STAT",
    ),
    # A dump that is made where it should be refused is read to its end.
    (
        "lru-crawler.t",
        'is(scalar <$sock>, "ERROR cannot pipeline',
        'my $line = <$sock>; if ($line =~ /^OK/) { 1 until <$sock> =~ /^END/ }\n    is($line, "ERROR cannot pipeline',
    ),
]
CASE = re.compile(r"^(not )?ok (\d+)(?: - )?(.*)$")


def mirror():
    """Debian's mirror, as this machine's apt knows it."""
    folder = pathlib.Path("/etc/apt")
    for path in [folder / "sources.list", *sorted(folder.glob("sources.list.d/*"))]:
        found = re.search(r"https?://\S+/debian/?(?=\s|$)", path.read_text()) if path.is_file() else None
        if found:
            return found[0].rstrip("/")
    raise SystemExit("compat: apt names no mirror of Debian; set MEMCACHED_SRC to Memcached's sources")


def fetch(archive):
    """Brings the archive of the sources."""
    address = "%s/pool/main/m/memcached/memcached_%s.orig.tar.xz" % (mirror(), VERSION)
    print("compat: fetching Memcached's sources", flush=True)
    try:
        with urllib.request.urlopen(address, timeout=120) as reply:
            data = reply.read()
    except OSError as fault:
        raise SystemExit("compat: %s: %s; set MEMCACHED_SRC to Memcached's sources" % (address, fault)) from fault
    if hashlib.sha256(data).hexdigest() != SUM:
        raise SystemExit("compat: %s is not the archive of %s that is known" % (address, VERSION))
    archive.write_bytes(data)


def unpack(suite):
    """Lays the suite into a folder, beside the programs that it starts."""
    if not (suite / "t").exists():
        sources = os.environ.get("MEMCACHED_SRC")
        suite.mkdir(parents=True, exist_ok=True)
        if sources:
            for folder in ("t", "scripts"):
                shutil.copytree(pathlib.Path(sources, folder), suite / folder)
        else:
            archive = suite / "sources.tar.xz"
            fetch(archive)
            with tarfile.open(archive) as opened:
                found = [it for it in opened.getmembers() if it.name.split("/")[1:2] in (["t"], ["scripts"])]
                for member in found:
                    member.name = member.name.split("/", 1)[1]
                opened.extractall(suite, found)
        for name, words, others in CHANGES:
            path = suite / "t" / name
            text = path.read_text()
            assert text.count(words) == 1, "%s of the suite is another" % name
            path.write_text(text.replace(words, others))
    shutil.copy(HERE / "memcached-debug", suite)
    (suite / "timedrun").write_text('#!/bin/sh\nshift; exec "$@"\n')
    (suite / "timedrun").chmod(0o755)


def peer_program(work):
    """A program that starts Memcached outside of the file system of the peers, so that it sees files and sockets."""
    peers = pathlib.Path(os.environ.get("PEERS_DIR", "/opt/peers"), "root")
    loader, libraries = next(peers.glob("lib*/ld-linux-*.so.*")), next(peers.glob("usr/lib/*-linux-gnu"))
    program = peers / "usr" / "bin" / "memcached"
    path = work / "memcached"
    path.write_text('#!/bin/sh\nexec %s --library-path %s --argv0 memcached %s "$@"\n' % (loader, libraries, program))
    path.chmod(0o755)
    return path


def empty_bytes():
    """Bytes that a server takes without a key."""
    with Server() as server:
        return int(re.search(rb"\nused_memory:(\d+)", server.connect().command("INFO", "memory"))[1])


def lines_of(name):
    """The lines of a record."""
    path = HERE / name
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")] if path.exists() else []


def read_counts(name):
    """The passed counts of a record: file -> number."""
    return {file: int(count) for file, count in (line.split() for line in lines_of(name))}


def write_counts(name, title, counts):
    """Writes a record."""
    (HERE / name).write_text("# %s\n" % title + "".join("%s %d\n" % pair for pair in sorted(counts.items())))


def read_exceptions(names):
    """The cases that may fail: file -> list of first and last number. A later record stands for an earlier one."""
    found = {}
    for name in names:
        own = {}
        for line in lines_of(name):
            file, numbers, _, _ = line.split("\t")
            first, _, last = numbers.partition("-")
            last = int(last or sys.maxsize) if "-" in numbers else int(first)
            own.setdefault(file, []).append((int(first), last))
        found.update(own)
    return found


def is_absent(file, options):
    """Whether a file is not run."""
    lines = lines_of("absent.txt") + (lines_of("tls-absent.txt") if options.tls else ["ssl_*\t"])
    return any(fnmatch.fnmatch(file, line.split("\t")[0]) for line in lines)


def run_file(file, options, environment):
    """Runs one file; its output, and a complaint about the run itself or None."""
    log = options.work / (file + ".log")
    trouble = None
    with tempfile.TemporaryDirectory(prefix="varve-memcached-") as folder, open(log, "wb") as output:
        errors = open(log.with_suffix(".errors"), "w+b")
        command = ["perl", "t/%s.t" % file]
        environment = {**environment, "VARVE_FOLDER": folder}
        process = subprocess.Popen(
            command, cwd=options.suite, env=environment, stdout=output, stderr=errors, start_new_session=True
        )
        try:
            process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            trouble = "stopped after %d s" % TIME_LIMIT
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        logs = [path.read_bytes() for path in pathlib.Path(folder).glob("*/log")]
        errors.seek(0)
        if any(b"panicked" in text for text in [errors.read(), *logs]):
            trouble = "a server panicked"
        errors.close()
    return log.read_text(errors="replace"), trouble


def judge(file, output, trouble, exceptions, records):
    """The complaints about one file, and its passed count."""
    passed, failed, plan, skipped = [], [], None, 0
    for line in output.splitlines():
        case = CASE.match(line)
        if case:
            (failed if case[1] else passed).append((int(case[2]), case[3]))
            skipped += "# skip" in line
        planned = re.match(r"^1\.\.(\d+)", line)
        plan = int(planned[1]) if planned else plan
    ended = max([number for number, _ in passed + failed], default=0)
    missing = range(ended + 1, (plan or ended + 1) + 1)
    is_listed = lambda number: any(first <= number <= last for first, last in exceptions)
    complaints = [trouble] if trouble else []
    complaints += ["fails: %d %s" % case for case in failed if not is_listed(case[0])]
    if any(not is_listed(number) for number in missing):
        complaints.append("ends after %d of %s cases" % (ended, plan or "an unknown number of"))
    count, before, peer = len(passed) - skipped, records[0].get(file, 0), records[1].get(file)
    if count < before and file not in VARIES:
        complaints.append("%d cases pass, %d did" % (count, before))
    unlike = len(failed) + len(missing) - len(complaints)
    print("%-18s %6d passed, %d wrong, %d listed; Memcached %s" % (
        file, count, len(complaints), max(unlike, 0), peer), flush=True)
    for number, name in passed:
        if is_listed(number):
            print("    passes now, take it off the exceptions: %d %s" % (number, name))
    return complaints, count


def environment_of(options):
    """What the programs of the suite are told."""
    environment = {**os.environ, "VARVE_EMPTY": "0"}
    environment.pop("MEMCACHED_PEER", None)
    if options.tls:
        environment["SSL_TEST"] = "1"
    if options.peer:
        environment["MEMCACHED_PEER"] = str(peer_program(options.work))
    else:
        environment["VARVE_SERVER"] = os.path.realpath(os.environ["VARVE_SERVER"])
        environment["VARVE_EMPTY"] = str(empty_bytes())
    return environment


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(prog="tests/compat/run --memcached", description=__doc__)
    parser.add_argument("--memcached", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peer", action="store_true", help="Memcached is the server: what can be reached; writes its record")
    parser.add_argument("--tls", action="store_true", help="all clients speak TLS")
    parser.add_argument("--record", action="store_true", help="raise the counts of passed cases")
    parser.add_argument("--unpack", action="store_true", help="fetch the suite, and no more")
    parser.add_argument("files", nargs="*", metavar="file")
    return parser.parse_args()


def main():
    """Runs the files named on the command line, or all."""
    options = parse()
    options.suite = ROOT / "target" / "memcached-suite"
    options.work = ROOT / "target" / "compat" / ("memcached-tls" if options.tls else "memcached")
    options.work.mkdir(parents=True, exist_ok=True)
    unpack(options.suite)
    if options.unpack:
        return 0
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    prefix = "tls-" if options.tls else ""
    lists = ["", "tls-"] if options.tls else [""]
    there = sorted(path.stem for path in (options.suite / "t").glob("*.t"))
    files = options.files or [file for file in there if not is_absent(file, options)]
    records = [read_counts(prefix + "passed.txt"), read_counts(prefix + "peer.txt")]
    exceptions = {} if options.peer else read_exceptions([it + "exceptions.txt" for it in lists])
    environment, bad, total = environment_of(options), 0, 0
    if options.peer:
        records[0] = {}
    for file in files:
        output, trouble = run_file(file, options, environment)
        complaints, count = judge(file, output, trouble, exceptions.get(file, []), records)
        for complaint in complaints[:20]:
            print("    " + complaint)
        bad, total = bad + bool(complaints), total + count
        if options.peer:
            records[1][file] = count
        elif options.record and count > records[0].get(file, -1):
            records[0][file] = count
    if options.peer:
        write_counts(prefix + "peer.txt", "Cases that pass with Memcached %s as the server: what can be reached." % VERSION, records[1])
    elif options.record:
        title = "Cases of Memcached's suite that pass: they may only rise. Written by `tests/compat/run --memcached --record`."
        write_counts(prefix + "passed.txt", title, records[0])
    state = "%d are wrong" % bad if bad else "all as expected"
    print("compat: %d cases pass in %d files, %s; logs are in %s" % (total, len(files), state, options.work))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
