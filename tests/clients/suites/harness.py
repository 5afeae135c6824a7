"""What the suites share: where things lie, the two servers, what was recorded, and what a suite is."""

import contextlib
import glob
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path.append(str(ROOT / "tests/transcripts"))
from ports import free_port  # noqa: E402

WORK = ROOT / "target/clients"
PEERS = os.environ.get("PEERS", str(ROOT / "../shared/peers/peers"))
PEERS_DIR = os.environ.get("PEERS_DIR", "/opt/peers")
PASSED, SKIPPED = "passed", "skipped"


class NotHere(Exception):
    """What a suite needs can't be had on this machine."""


class DidNotEnd(Exception):
    """The tests left no report."""


def run(*command, **options):
    """A step of an installation; its output is shown only where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        words = " ".join(str(word) for word in command)
        raise NotHere("%s: %s" % (words, done.stdout.decode(errors="replace").strip()[-600:]))
    return done.stdout.decode(errors="replace")


def need(*tools):
    run(ROOT / "scripts/need", *tools)


def debian_source(package, version, release, work):
    """The archive of a source package of Debian as its authors published it, fetched with lists of packages of its own."""
    known = sorted(work.glob("%s_%s.orig.tar.*" % (package, version.rsplit("-", 1)[0])))
    if known:
        return known[0]
    lists = WORK / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (lists / folder).mkdir(parents=True, exist_ok=True)
    mirrors = [line for path in glob.glob("/etc/apt/sources.list*") for line in mirrors_of(path)]
    if not shutil.which("apt-get") or not mirrors:
        raise NotHere("it comes as a source package of Debian, and this is no Debian")
    line = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n" % (mirrors[0], release)
    (lists / "sources.list").write_text(line)
    own = {"Dir::Etc::sourcelist": lists / "sources.list", "Dir::Etc::sourceparts": "/dev/null"}
    own |= {"Dir::State::lists": lists / "lists", "Dir::Cache": lists / "cache", "APT::Sandbox::User": "root"}
    options = [word for name, value in own.items() for word in ("-o", "%s=%s" % (name, value))]
    run("apt-get", *options, "update")
    run("apt-get", *options, "source", "--tar-only", "--download-only", "%s=%s" % (package, version), cwd=work)
    return next(work.glob("%s_*.orig.tar.*" % package))


def mirrors_of(path):
    """The addresses of Debian's archive that a file or folder of apt's sources names."""
    files = [path] if os.path.isfile(path) else glob.glob(path + "/*")
    for name in files:
        text = pathlib.Path(name).read_text(errors="replace")
        yield from re.findall(r"https?://\S+/debian/?(?=\s)", text)


class Server:
    """A server that a suite is run against.

    `command` starts one, in a folder that the server knows as `seen(folder)`; `address` is that of the one which runs,
    None where the suite starts its own.
    """

    def __init__(self, name, command, settings=(), outside=None, prefix=""):
        self.name, self.command, self.settings = name, command, settings
        self.outside, self.prefix = outside, prefix
        self.address = None

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    def seen(self, path):
        return str(path).removeprefix(self.prefix)

    @contextlib.contextmanager
    def folder(self):
        with tempfile.TemporaryDirectory(prefix="varve-suite-", dir=self.outside) as folder:
            os.chmod(folder, 0o777)
            yield folder

    @contextlib.contextmanager
    def started(self):
        with self.folder() as folder:
            port = free_port()
            settings = ["--port", port, "--bind", "127.0.0.1", "--dir", self.seen(folder), "--save", ""]
            settings += ["--enable-debug-command", "yes"]
            words = [*self.command, *map(str, settings), *self.settings]
            with open(os.path.join(folder, "log"), "wb") as log:
                process = subprocess.Popen(words, stdout=log, stderr=log)
            try:
                self._wait(process, port)
                self.address = "127.0.0.1:%d" % port
                yield self
                if process.poll() is not None:
                    last = pathlib.Path(folder, "log").read_text(errors="replace")[-3000:]
                    raise DidNotEnd("%s ended:\n%s" % (self.name, last))
            finally:
                process.kill()
                process.wait()

    def _wait(self, process, port):
        deadline = time.monotonic() + 60
        while True:
            if process.poll() is not None or time.monotonic() > deadline:
                raise DidNotEnd("%s did not start" % self.name)
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            time.sleep(0.02)

    @contextlib.contextmanager
    def program(self, name):
        """A folder with a program of this name which starts the server: for suites that look for it on the PATH.

        The folder is also the one for temporary files: paths in it are given to the server as it sees them.
        """
        with self.folder() as folder:
            program = pathlib.Path(folder, "bin", name)
            program.parent.mkdir()
            words = '"${@/#$prefix/}"' if self.prefix else '"$@"'
            start = "exec %s %s %s" % (shlex.join(self.command), words, shlex.join(self.settings))
            program.write_text("#!/usr/bin/env bash\nprefix=%s\n%s\n" % (shlex.quote(self.prefix), start))
            program.chmod(0o755)
            yield pathlib.Path(folder)


class Running(Server):
    """One that somebody else has started."""

    @contextlib.contextmanager
    def started(self):
        yield self

    def program(self, name):
        raise NotHere("it starts servers of its own, and SERVER_ADDR names one that runs")


def varve():
    words = shlex.split(os.environ.get("VARVE_SERVER", str(ROOT / "target/release/varve-server")))
    if "SERVER_ADDR" not in os.environ:
        return Server("varve", words[:1], words[1:])
    server = Running("varve", None)
    server.address = os.environ["SERVER_ADDR"]
    return server


def valkey():
    """It runs in a root of its own: that is taken off the front of paths."""
    root = os.path.join(PEERS_DIR, "root")
    command = [os.path.abspath(PEERS), "run", "valkey-server"]
    return Server("valkey", command, outside=os.path.join(root, "tmp"), prefix=root)


def valkey_is_here():
    return os.access(PEERS, os.X_OK) and subprocess.run([PEERS, "install"], capture_output=True).returncode == 0


class Suite:
    """The tests of one client library.

    `protocols`: the variants, "2" and "3" of RESP. `small`: parts of names of the cases that `make test` runs.
    A suite in a folder says how it is installed and run:
    `install(small)` raises NotHere; `outcomes(server, protocol, chosen)` gives for the name of each case PASSED, SKIPPED or
    what was wrong; `chosen` has parts of names, and is empty for all.
    """

    name = version = ""
    protocols = ("2", "3")
    small = ()

    def __init__(self, folder):
        self.folder = folder
        self.work = WORK / self.name

    def part(self, case):
        """What `outcomes` takes to run a case again."""
        return case

    def report(self, server, protocol, kind):
        """The path of a file that a run writes."""
        self.work.mkdir(parents=True, exist_ok=True)
        return self.work / ("%s-resp%s.%s" % (server.name, protocol, kind))

    def lines(self, name):
        for line in (self.folder / name).read_text().splitlines():
            if line and not line.startswith("#"):
                yield line

    def recorded(self):
        """(protocol, case) of what passed on Valkey."""
        wanted = (line.split(" ", 1) for line in self.lines("valkey.txt"))
        return {(protocol, case) for protocols, case in wanted for protocol in protocols}

    def record(self, found):
        """Writes which cases pass on Valkey: `found` has {(protocol, case): outcome}."""
        passing = {}
        for protocol, case in sorted(found):
            if found[protocol, case] == PASSED:
                passing[case] = passing.get(case, "") + protocol
        head = "# Cases of %s %s that pass on Valkey, and over which protocols. Written by run --record."
        lines = [head % (self.name, self.version)]
        lines += ["%s %s" % (passing[case], case) for case in sorted(passing) if not self.left_out(case)]
        (self.folder / "valkey.txt").write_text("\n".join(lines) + "\n")
        return len(lines) - 1

    def exceptions(self):
        """Pattern, reason: in a pattern, `*` stands for anything."""
        return dict(line.split("\t") for line in self.lines("exceptions.txt"))

    def left_out(self, case):
        """Whether it is listed as one that passes on Valkey by chance."""
        return any(reason.startswith("unsteady") and matches(pattern, case) for pattern, reason in self.exceptions().items())


def matches(pattern, case):
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), case, re.DOTALL) is not None
