#!/usr/bin/env python3
"""Has the server named by VARVE_SERVER keep an append-only file while it plays random rounds and all transcripts, and compares what
Varve, Valkey and Redis make of the files: the fingerprint of all data.

    VARVE_SERVER=target/debug/varve-server tests/process/journaled.py [--lives N] [--rounds N] [--seed N] [--transcripts N]

Rounds come from `varve-torture rounds` (VARVE_TORTURE, by default beside the server; left out where there is none). Keys and fields expire
meanwhile, keys are evicted, files rotate, clients wait, and each life has another protocol, policy and form of the base. Of the
transcripts every Nth is played (1: all; 0: none). Without peers (peers.py) Varve alone reads the files.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from appending import TRANSCRIPTS, Appending
from numbered import encoded
from peers import ROOT, are_there, give_away, peer, started
from saving import facts

SOON = 3_600_000  # milliseconds: what expires sooner is made to expire later before data is compared
LATER = 10 * 24 * SOON
DATABASES = 16
PATIENCE = 30  # seconds until what has expired is removed
# The policy of eviction, the protocol of all connections (none: some of each), and the form of the base.
LIVES = [("allkeys-lru", 3, "no"), ("allkeys-random", None, "no"), ("allkeys-lfu", 2, "yes"), ("allkeys-lru", None, "yes")]
LIVES += [("volatile-ttl", None, "no"), ("volatile-lru", 3, "yes"), ("volatile-random", 2, "no")]
# The form of a sketch hangs on a setting that whoever reads the files does not know, in Valkey too; that of WAITAOF turns the
# file off; what a replica's clients write is in no file.
LEFT_OUT = {"failover.txt", "hyperloglog-forms.txt", "replication.txt", "wait.txt"}
EVICTING = ("--maxmemory", "48mb")  # of which the program and its buffers take half
ROTATING = ("--auto-aof-rewrite-min-size", "4mb", "--auto-aof-rewrite-percentage", "100")


def asked(db, requests):
    """The replies to requests, which are sent in pieces."""
    replies = []
    for begin in range(0, len(requests), 500):
        piece = requests[begin : begin + 500]
        db.send_bytes(b"".join(map(encoded, piece)))
        replies += [db.read() for _ in piece]
    return replies


class Data:
    """All keys of a server, with their types."""

    def __init__(self, db):
        self.db, self.keys = db, []
        for database in range(DATABASES):
            db.command("SELECT", database)
            names = db.command("KEYS", "*")
            kinds = asked(db, [("TYPE", name) for name in names])
            self.keys += [(database, name, bytes(kind)) for name, kind in zip(names, kinds)]
        db.command("SELECT", 0)

    def asked(self, database, requests):
        """The replies to requests in a database."""
        self.db.command("SELECT", database)
        replies = asked(self.db, requests)
        self.db.command("SELECT", 0)
        return replies

    def each(self, *kinds):
        """Databases with the names of their keys, those of some types."""
        for database in range(DATABASES):
            names = [name for at, name, kind in self.keys if at == database and (not kinds or kind in kinds)]
            if names:
                yield database, names

    def put_off_deadlines(self):
        """Nothing expires soon; what has expired already goes by itself."""
        later = int(time.time() * 1000) + LATER
        for database, names in self.each():
            left = self.asked(database, [("PTTL", name) for name in names])
            soon = [name for name, left in zip(names, left) if 0 <= left < SOON]
            self.asked(database, [("PEXPIREAT", name, later) for name in soon])
        for database, name, fields in self.hashes():
            left = self.asked(database, [("HPTTL", name, "FIELDS", 1, field) for field in fields])
            soon = [field for field, left in zip(fields, left) if isinstance(left, list) and 0 <= left[0] < SOON]
            self.asked(database, [("HPEXPIREAT", name, later, "FIELDS", 1, field) for field in soon])

    def remove_zeros(self):
        """Whether a zero keeps its sign hangs on the form of its sorted set, and with that on settings that readers do not know."""
        for database, names in self.each(b"zset"):
            self.asked(database, [("ZREMRANGEBYSCORE", name, 0, 0) for name in names])

    def persist_fields(self):
        """No field has a deadline."""
        for database, name, fields in self.hashes():
            self.asked(database, [("HPERSIST", name, "FIELDS", 1, field) for field in fields])

    def hashes(self):
        """The databases, names and fields of all hashes."""
        for database, names in self.each(b"hash"):
            for name, fields in zip(names, self.asked(database, [("HKEYS", name) for name in names])):
                if isinstance(fields, list):
                    yield database, name, fields

    def hidden(self):
        """Databases with the number of their keys, and hashes with their fields, where that counts some that have expired."""
        found = []
        for database in range(DATABASES):
            size, shown = self.asked(database, [("DBSIZE",)])[0], sum(at == database for at, _, _ in self.keys)
            if size != shown:
                found.append((database, size, shown))
        for database, names in self.each(b"hash"):
            pairs = zip(names, self.asked(database, [("HKEYS", name) for name in names]), self.asked(database, [("HLEN", name) for name in names]))
            found += [(database, name, fields, count) for name, fields, count in pairs if len(fields) != count]
        return found

    def digests(self):
        """The fingerprint of each value."""
        found = {}
        for database, names in self.each():
            replies = self.asked(database, [("DEBUG", "DIGEST-VALUE", name) for name in names])
            found.update({(database, name): reply[0] for name, reply in zip(names, replies)})
        return found


def at_rest(db):
    """Data in which nothing expires any more, and nothing that has expired is left."""
    assert db.command("CONFIG", "SET", "maxmemory", "0") == b"OK"
    deadline = time.monotonic() + PATIENCE
    while True:
        data = Data(db)
        data.put_off_deadlines()
        data.remove_zeros()
        data = Data(db)
        hidden = data.hidden()
        if not hidden:
            return data
        assert time.monotonic() < deadline, "something that has expired stays: %s" % hidden


def held(server, db):
    """All values of a server, once a file has all of them. An eviction that was at work when the limit was lifted may still end."""
    evicted = lambda: re.search(rb"evicted_keys:\d+", db.command("INFO", "stats")).group()
    while True:
        before = evicted()
        server.until_written(db)
        server.until(lambda: facts(db)["aof_rewrite_in_progress"] == "0")
        found = db.command("DEBUG", "DIGEST"), Data(db).digests()
        server.until_written(db)
        if evicted() == before:
            return db.command("DEBUG", "DIGEST"), {**found[1], (0, b"token"): db.command("DEBUG", "DIGEST-VALUE", "token")[0]}


def assert_same(who, db, expected):
    """Holds the data of a server against what is expected, and names keys that differ."""
    digest, values = expected
    if db.command("DEBUG", "DIGEST") == digest:
        return
    found = Data(db).digests()
    differing = sorted(key for key in values.keys() | found.keys() if values.get(key) != found.get(key))
    raise AssertionError("%s has other data: %s" % (who, differing[:20] or "deadlines of keys"))


def same_behind(server, expected, programs):
    """Holds what Varve and some peers make of a server's files against what it held."""
    for program in programs:
        with peer(program, server.place, "--appendonly", "yes") as db:
            if db:
                assert_same(program, db, expected)


class Life:
    """A server that plays random rounds, and ends."""

    def __init__(self, number, torture, seed, rounds):
        self.policy, self.resp, self.preamble = LIVES[number % len(LIVES)]
        self.command = [torture, "rounds", "--seed", seed, "--round", number * rounds, "--rounds", rounds, "--fill", 4]
        self.command += ["--resp", self.resp] if self.resp else []

    def settings(self):
        return ("--maxmemory-policy", self.policy, "--aof-use-rdb-preamble", self.preamble, *EVICTING, *ROTATING)

    def run(self):
        """Plays the rounds; what was done."""
        with Appending(*self.settings()) as server:
            played = [str(word) for word in [*self.command, "--port", server.port]]
            said = subprocess.run(played, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
            db = server.connect()
            at_rest(db)
            counts = dict(line.split(":") for line in db.command("INFO").decode().split() if line.count(":") == 1)
            expected = held(server, db)
            server.kill()
            same_behind(server, expected, ["valkey-server"])
            self.once_more(server, expected)
            names = ("expired_keys", "expired_fields", "evicted_keys", "aof_rewrites")
            return "%s, %s: %d keys; %s" % (said, self.policy, len(expected[1]), ", ".join("%s %s" % (it, counts.get(it)) for it in names))

    def once_more(self, server, expected):
        """Starts from the files of a server, and has Redis read them too: without deadlines of fields, of which it has other
        fingerprints, and with a base that it knows."""
        with Appending("--aof-use-rdb-preamble", "no", folder=server.place) as second:
            db = second.connect()
            assert_same("Varve", db, expected)
            Data(db).persist_fields()
            if self.preamble == "yes":
                second.rewritten(db)
            expected = held(second, db)
            second.kill()
            same_behind(second, expected, ["redis-server"])
        with Appending(folder=server.place) as third:
            assert_same("Varve", third.connect(), expected)


@contextlib.contextmanager
def reader(program):
    """A peer that reads files of others again and again: a function that has it do so, and a connection."""
    with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True) as place:
        give_away(place)
        with started(program, place, "--appendonly", "yes") as db:

            def read(files):
                shutil.rmtree(pathlib.Path(place, "appendonlydir"))
                shutil.copytree(files, pathlib.Path(place, "appendonlydir"))
                give_away(place)
                assert db.command("DEBUG", "LOADAOF") == b"OK", program

            yield read, db


def transcripts(every):
    """Plays transcripts, and compares behind each of them."""
    paths = sorted(path for path in TRANSCRIPTS.parent.glob("*.txt") if path.name not in LEFT_OUT)[::every]
    with contextlib.ExitStack() as stack:
        programs = ("valkey-server", "redis-server") if are_there() else ()
        readers = [(program, *stack.enter_context(reader(program))) for program in programs]
        for begin in range(0, len(paths), 12):
            with Appending() as server:
                for path in paths[begin : begin + 12]:
                    transcript(server, path, readers)
    return "%d transcripts" % len(paths)


def transcript(server, path, readers):
    """Plays a transcript, and has the peers and the server itself read the files. Whether its replies are right is no matter here."""
    play = [sys.executable, TRANSCRIPTS, "--addr", "127.0.0.1:%d" % server.port, path]
    subprocess.run(play, stdout=subprocess.DEVNULL, check=False)
    db = server.connect()
    data = at_rest(db)
    expected = held(server, db)
    for program, read, other in readers:
        if program == "redis-server":
            data.persist_fields()
            expected = held(server, db)
        read(server.appended.place)
        assert_same("%s behind %s" % (program, path.name), other, expected)
    assert db.command("DEBUG", "LOADAOF") == b"OK"
    assert_same("Varve behind %s" % path.name, db, expected)


def main():
    """Plays what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="number of the first life")
    parser.add_argument("--rounds", type=int, default=25, help="of each life")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transcripts", type=int, default=1)
    options = parser.parse_args()
    program = shlex.split(os.environ["VARVE_SERVER"])[0]
    torture = pathlib.Path(os.environ.get("VARVE_TORTURE", pathlib.Path(program).parent / "varve-torture"))
    if options.transcripts:
        print(transcripts(options.transcripts), flush=True)
    for number in range(options.first, options.first + options.lives if torture.exists() else 0):
        try:
            print("life %d: %s" % (number, Life(number, torture, options.seed, options.rounds).run()), flush=True)
        except AssertionError as problem:
            raise SystemExit("--seed %d --rounds %d, life %d: %s" % (options.seed, options.rounds, number, problem)) from problem
    if not torture.exists():
        print("no %s: no random rounds" % torture)


if __name__ == "__main__":
    main()
