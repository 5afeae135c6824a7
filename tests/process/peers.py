"""Valkey and Redis on files of Varve's, where they are installed.

PEERS      the program that starts them (default ../shared/peers/peers)
PEERS_DIR  where it has put them (default /opt/peers)
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from run import Error
from ports import free_port
from resp import Connection

PEERS = pathlib.Path(os.environ.get("PEERS", pathlib.Path(__file__).resolve().parent.parent.parent / "../shared/peers/peers"))
ROOT = pathlib.Path(os.environ.get("PEERS_DIR", "/opt/peers"), "root")
PATIENCE = 60  # seconds for a start


def are_there():
    return PEERS.exists() and (ROOT / ".complete").exists()


@contextlib.contextmanager
def peer(program, files, *settings):
    """A connection to a peer that has loaded copies of a folder's files; `None` where there are no peers."""
    if not are_there():
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True) as place:
        shutil.copytree(files, place, dirs_exist_ok=True)
        give_away(place)
        with started(program, place, *settings) as db:
            yield db


def checked(program, files, name):
    """What a peer's checker of files says of one in a folder; nothing where there are no peers. It must find no fault."""
    if not are_there():
        return None
    with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp") as place:
        shutil.copytree(files, place, dirs_exist_ok=True)
        seen = "/" + os.path.relpath(os.path.join(place, name), ROOT)
        found = subprocess.run([PEERS, "run", program, seen], capture_output=True, text=True)
    assert found.returncode == 0, "%s: %s%s" % (program, found.stdout, found.stderr)
    return found.stdout


@contextlib.contextmanager
def started(program, place, *settings):
    """A connection to a peer in a folder below its root, when it has loaded what is there."""
    port = free_port()
    seen = "/" + os.path.relpath(place, ROOT)
    command = [PEERS, "run", program, "--port", port, "--dir", seen, "--save", "", "--enable-debug-command", "yes", *settings]
    log = pathlib.Path(place, "log")
    with log.open("wb") as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output)
    try:
        yield answering(process, port, log)
    finally:
        process.kill()
        process.wait()


def answering(process, port, log):
    """A connection, once the data is loaded."""
    deadline, db = time.monotonic() + PATIENCE, None
    while db is None or isinstance(db.command("PING"), Error):
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)
        with contextlib.suppress(OSError):
            db = db or Connection("127.0.0.1:%d" % port, PATIENCE)
    return db


def give_away(folder):
    """Lets a server that runs as somebody else write there."""
    for place, _, names in os.walk(folder):
        os.chmod(place, 0o777)
        for name in names:
            os.chmod(os.path.join(place, name), 0o666)
