#!/usr/bin/env python3
"""Kills the server named by VARVE_SERVER again and again while clients write, and checks what it finds in its files when it starts.

    VARVE_SERVER=target/release/varve-server tests/process/kills.py [--kills N] [--seconds S] [--fsync always|everysec|no] [--seed N]

What is there must be a prefix of what was done, for each connection and across all keys, with no command, no transaction and no
script half executed. Under `always` every acknowledged command must be there; otherwise all that was in the files, and how much more was missing is printed.
Between kills, copies of the files are cut, get garbage behind them or one bit flipped, and are given to peers.
"""

import argparse
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import tempfile
import threading
import time

from appending import Files
from numbered import PATIENCE, Flusher, FlushingTransactor, Scripter, Sharer, Transactor, Writer, encoded, plain
from run import Closed, Error
from saving import Saving
from peers import peer

SETTINGS = ("--appendonly", "yes", "--save", "", "--threads", "2")
ROTATING = ("--auto-aof-rewrite-min-size", "300kb", "--auto-aof-rewrite-percentage", "50")
SHARED = ("shared:count", "shared:list", "shared:queue", "shared:done", "shared:source")
LINE = re.compile(rb"#varve position=\d+ id=\w+ bytes=\d+ safe=(\d+) crc64=\w+\r\n")
STATIC = 2000  # keys that are written once, so that a base takes its time


class Consumer:
    """A client that waits for elements and takes them, one after the other."""

    def __init__(self, *words):
        self.words, self.got = words, []

    def consume(self, connection):
        with contextlib.suppress(Closed, ConnectionError, TimeoutError):
            while True:
                self.got.append(connection.command(*self.words))


class Survival:
    """One history of data over many lives of a server."""

    def __init__(self, folder, fsync, chance, has_rotation):
        self.folder, self.fsync, self.chance, self.has_rotation = folder, fsync, chance, has_rotation
        self.writers = [Writer("w%d" % at, database) for at, database in enumerate((0, 0, 1, 3))] + [Flusher("f", 9)]
        self.writers += [Transactor("t", 5), Scripter("v", 7), FlushingTransactor("u", 11)]
        self.sharers = [Sharer("s%d" % at, 0) for at in range(2)]
        self.everyone = self.writers + self.sharers
        self.consumers, self.floors, self.tokens, self.first_token = [], {}, 0, 0
        self.killed, self.was_killed = 0.0, False
        self.counts = dict.fromkeys(("kills", "ends", "commands", "rewrites", "copies", "peers"), 0)
        self.longest_loss = 0.0

    def settings(self):
        rotating = ROTATING if self.has_rotation else ("--auto-aof-rewrite-percentage", "0")
        return ("--appendfsync", self.fsync, *SETTINGS, *rotating)

    def start(self):
        return Saving(*self.settings(), folder=self.folder)

    def fill(self, server):
        """Writes what never changes."""
        db = server.connect()
        db.send_bytes(b"".join(encoded(("SET", "static:%d" % at, "%d" % at * 20)) for at in range(STATIC)))
        assert all(db.read() == b"OK" for _ in range(STATIC))
        db.command("SADD", "static", *range(STATIC))

    def live(self, server):
        """One life: load until the end, which comes at any moment."""
        db, files = server.connect(PATIENCE), Files(self.folder)
        db.command("DEL", *SHARED)
        self.first_token = self.tokens + 1
        self.tokens = files.until_written(db, self.tokens)
        self.floors = {writer.name: writer.begun for writer in self.everyone}
        # What stands before the newest token is of lives before.
        self.sizes = {path.name: path.read_bytes().rfind(b"\r\ntoken\r\n") + 1 for path in files.paths("i")}
        self.consumers = [Consumer("BLMOVE", "shared:queue", "shared:done", "LEFT", "RIGHT", 0), Consumer("BLPOP", "shared:source", 0)]
        threads = self.threads(server)
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + self.chance.uniform(0.02, 1.2)
        while time.monotonic() < deadline:
            self.meanwhile(db, files)
        self.end(server, db)
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a client goes on waiting behind the server's end"
        assert not self.problems, self.problems
        self.counts["commands"] += sum(len(writer.commands) for writer in self.everyone)

    def threads(self, server):
        self.problems = []

        def guarded(work, *arguments):
            try:
                work(*arguments)
            except Exception as problem:  # told by the thread that waits for this one
                self.problems.append(repr(problem))

        works = [(writer.write, server.connect(PATIENCE), random.Random(self.chance.random())) for writer in self.everyone]
        works += [(consumer.consume, server.connect(PATIENCE)) for consumer in self.consumers]
        return [threading.Thread(target=guarded, args=work, daemon=True) for work in works]

    def meanwhile(self, db, files):
        """What happens beside the load: rotations, and looks at what is in the files already."""
        if self.has_rotation and self.chance.random() < 0.3:
            reply = db.command("BGREWRITEAOF")
            self.counts["rewrites"] += not isinstance(reply, Error)
        acknowledged = {writer.name: writer.acknowledged() for writer in self.everyone}
        self.tokens = files.until_written(db, self.tokens)
        self.floors = acknowledged
        time.sleep(self.chance.uniform(0, 0.1))

    def end(self, server, db):
        """Kills the server, or now and then has it end by itself, which must lose nothing."""
        self.was_killed = self.chance.random() < 0.9
        self.killed = time.monotonic()
        if self.was_killed:
            server.process.send_signal(signal.SIGKILL)
            self.counts["kills"] += 1
            assert server.process.wait(PATIENCE) == -signal.SIGKILL, "it had ended by itself"
            return
        self.counts["ends"] += 1
        if self.chance.random() < 0.5:
            server.process.send_signal(signal.SIGTERM)
        else:
            server.send(db, "SHUTDOWN")
        assert server.process.wait(PATIENCE) == 0, server.output.read_text()

    def has_all(self):
        """True if all that was acknowledged had to survive."""
        return self.fsync == "always" or not self.was_killed

    def least(self, writer, is_cut):
        """The last command of a writer that had to survive."""
        if is_cut:
            return writer.begun
        return writer.acknowledged() if self.has_all() else self.floors[writer.name]

    def check(self, db, is_cut=False, is_copy=False):
        """Holds what is there against what was done; less of it where the files were cut since."""
        found = {}
        for writer in self.everyone:
            found[writer.name] = list(writer.found_after(writer.read_all(db), self.least(writer, is_cut)))
        db.command("SELECT", 0)
        shown = db.command("MGET", *("static:%d" % at for at in range(STATIC)))
        assert shown == [(b"%d" % at) * 20 for at in range(STATIC)], "keys that nobody changed have changed"
        assert db.command("SCARD", "static") == STATIC
        if self.is_of_this_life(db):
            self.check_shared(db, found, self.has_all() and not is_cut)
        self.check_order(found)
        if not is_copy:
            self.measure_loss(found)
            for writer in self.everyone:
                writer.go_on_from(*found[writer.name][1:])

    def is_of_this_life(self, db):
        """True if the keys that all share were removed for this life: a file may be cut before that."""
        token = plain(db.command("GET", "token"))
        return bool(token) and int(token.split(b":")[1]) >= self.first_token

    def check_shared(self, db, found, has_all):
        """A counter and lists of all writers end at the same moment as the writers' own keys."""
        count = int(plain(db.command("GET", "shared:count")) or 0)
        lists = {name: db.command("LRANGE", "shared:" + name, 0, -1) for name in ("list", "queue", "done", "source")}
        pushed = {"shared:list": lists["list"], "shared:queue": lists["done"] + lists["queue"]}
        for name, elements in pushed.items():
            self.check_sequence(name, elements)
        for sharer in self.sharers:
            self.narrow(sharer, found[sharer.name], count, {name: set(elements) for name, elements in pushed.items()})
        least, most = (sum(number_of("INCR", sharer, found[sharer.name][at]) for sharer in self.sharers) for at in (0, 1))
        assert least <= count <= most, "the counter is %d, but was incremented %d to %d times" % (count, least, most)
        self.check_taken(found, lists["done"], lists["source"], has_all)

    def check_sequence(self, name, elements):
        """Elements of a list stand in the order in which they were sent and acknowledged."""
        commands = {command.words[2].encode(): command for sharer in self.sharers for command in sharer.commands if command.words[1] == name}
        assert len(elements) == len(set(elements)) and set(elements) <= set(commands), "%s has elements that nobody sent, or twice" % name
        newest = 0
        for command in map(commands.get, elements):
            assert not command.acknowledged or command.read > newest, "%s: %r stands too late" % (name, command.words)
            newest = max(newest, command.sent)

    @staticmethod
    def narrow(sharer, range_, count, pushed):
        """Which command was the last one, by what is in the keys that all share."""
        for at, command in enumerate(sharer.commands, sharer.begun + 1):
            if command.words[1] in pushed:
                is_there = command.words[2].encode() in pushed[command.words[1]]
            elif command.words[0] == "INCR" and command.acknowledged:
                is_there = command.reply <= count
            else:
                continue
            range_[0], range_[1] = (max(range_[0], at), range_[1]) if is_there else (range_[0], min(range_[1], at - 1))
        assert range_[0] <= range_[1], "%s and the shared keys end at different moments: commands %r" % (sharer.name, range_[:2])

    def check_taken(self, found, done, source, has_all):
        """What was taken from a list is gone, and nothing else."""
        moved, popped = ([element_of(reply) for reply in consumer.got] for consumer in self.consumers)
        if has_all:
            assert moved == done[: len(moved)], "elements that were moved are not where they were moved to"
            assert not set(popped) & set(source), "elements that were taken are there again"
        certain = [command for sharer in self.sharers for command in sharer.commands[: found[sharer.name][0] - sharer.begun]]
        pushed = {command.words[2].encode() for command in certain if command.words[1] == "shared:source"}
        lost = pushed - set(source) - set(popped)
        assert len(lost) <= 1, "elements are gone that nobody took: %r" % sorted(lost)[:5]

    def check_order(self, found):
        """Nothing is there that was sent after the reply to something that is missing."""
        last = [writer.commands[found[writer.name][0] - writer.begun - 1] for writer in self.everyone if found[writer.name][0] > writer.begun]
        newest = max((command.sent for command in last), default=0)
        for writer, command in self.missing(found):
            assert command.read > newest, "%s: %r is missing, and later ones are there" % (writer.name, command.words)

    def missing(self, found):
        """The first command of each writer that was acknowledged and is not there."""
        for writer in self.everyone:
            for command in writer.commands[found[writer.name][1] - writer.begun :][:1]:
                if command.acknowledged:
                    yield writer, command

    def measure_loss(self, found):
        for _, command in self.missing(found):
            self.longest_loss = max(self.longest_loss, self.killed - command.time)

    def broken_copy(self):
        """Does something to a copy of the files that a dying machine or disk may do, and starts a server there."""
        self.counts["copies"] += 1
        with tempfile.TemporaryDirectory(prefix="varve-kills-") as folder:
            shutil.copytree(pathlib.Path(self.folder, "appendonlydir"), pathlib.Path(folder, "appendonlydir"))
            self.chance.choice([self.cut, self.extend, self.flip, self.cut_before])(Files(folder), folder)

    def cut(self, files, folder):
        """The last file ends anywhere in what this life has added: what is there is still a prefix."""
        last = files.paths("i")[-1]
        size, least = last.stat().st_size, self.sizes.get(last.name, 0)
        at = self.chance.randrange(max(least, size - 2000), size + 1) if self.chance.random() < 0.7 else self.chance.randrange(least, size + 1)
        os.truncate(files.paths("i")[-1], at)
        with Saving(*self.settings(), folder=folder) as server:
            self.check(server.connect(PATIENCE), is_cut=True, is_copy=True)

    def extend(self, files, folder):
        """Something that is no whole unit stands at the end: it is cut off. What no machine's death
        leaves is somebody's, and nobody starts without it unasked; only in another sector may it be
        there. A server that ended by itself says that it has nothing to add."""
        whole = encoded(("SET", "static:0", "x"))
        hidden = b"*1\r\n$-1\r\n" + whole
        noise = self.chance.randbytes(500)
        tails = [bytes(4096), noise, whole[: self.chance.randrange(1, len(whole))], encoded(("MULTI",)) + whole, b"#", hidden]
        tail = self.chance.choice(tails)
        last = files.paths("i")[-1]
        with last.open("ab") as file:
            file.write(tail)
        if tail is hidden and not self.was_killed:
            self.refused(folder, last.name, "a command behind a broken one, after the end")
            return
        server = Saving(*self.settings(), folder=folder)
        server.until(lambda: server.process.poll() is not None or "Ready to accept" in server.output.read_text())
        if tail in (noise, hidden) and server.process.poll() is not None:
            self.has_refused(server, last.name, "%r behind the end" % tail)
            return
        with server:
            self.check(server.connect(PATIENCE), is_copy=True)

    def flip(self, files, folder):
        """A bit is flipped in what was safe: the server names the file, and does not start."""
        path = self.chance.choice(files.paths())
        data = bytearray(path.read_bytes())
        safe = max([int(line) for line in LINE.findall(data)], default=0) if path.name.endswith(".incr.aof") else len(data)
        if safe == 0:
            return
        at = self.chance.randrange(safe)
        data[at] ^= 1 << self.chance.randrange(8)
        path.write_bytes(data)
        self.refused(folder, path.name, "a bit flipped at byte %d of %d" % (at, len(data)))

    def cut_before(self, files, folder):
        """A file that is not the last one is torn: the server names it, and does not start."""
        paths = [path for path in files.paths()[:-1] if path.stat().st_size > 0]
        if not paths:
            return
        path = self.chance.choice(paths)
        data = path.read_bytes()
        # Between two lines a whole command may be missing and nobody sees it.
        ends = [line.end() for line in LINE.finditer(data)] or [len(data)]
        at = self.chance.choice(ends) - 1
        os.truncate(path, at)
        self.refused(folder, path.name, "cut to %d of %d bytes" % (at, len(data)))

    def refused(self, folder, name, damage):
        """Starts a server that must name the file and end."""
        self.has_refused(Saving(*self.settings(), folder=folder), name, damage)

    def has_refused(self, server, name, damage):
        """Holds that a server names the file and ends."""
        try:
            status = server.process.wait(PATIENCE)
            output = server.output.read_text()
            assert status == 1 and name in output and "panicked" not in output, "%s, %s: status %d: %s" % (name, damage, status, output)
        finally:
            server.__exit__(None, None, None)

    def read_by_peer(self):
        """Valkey starts from the same files and holds the same. Redis has other bases of fields with deadlines."""
        with peer("valkey-server", self.folder, "--appendonly", "yes") as db:
            if db:
                self.counts["peers"] += 1
                self.check(db, is_copy=True)

    def next(self, is_first):
        """A start, sometimes ended at once, the check, and another life."""
        while not is_first and self.chance.random() < 0.3:
            self.die_young()
        with self.start() as server:
            try:
                db = server.connect(PATIENCE)
                if is_first:
                    self.fill(server)
                else:
                    self.check(db)
                db.close()
                self.live(server)
            except BaseException:
                print(server.output.read_text()[-3000:])
                raise

    def die_young(self):
        """A life that ends while it begins: nothing is written, so nothing may change."""
        server = Saving(*self.settings(), folder=self.folder)
        try:
            time.sleep(self.chance.uniform(0, 0.3))
            assert server.process.poll() is None, server.output.read_text()
            server.process.kill()
            self.counts["kills"] += 1
        finally:
            server.__exit__(None, None, None)


def number_of(word, writer, last):
    """Number of the commands of a kind up to one."""
    return sum(command.words[0] == word for command in writer.commands[: last - writer.begun])


def element_of(reply):
    """What a client that waited got."""
    return reply[1] if isinstance(reply, list) else reply


def survive(fsync, options, seconds, kills):
    """Kills a server so often, or for so long; what was done, in words."""
    chance = random.Random("%d %s" % (options.seed, fsync))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="varve-kills-") as folder:
        survival = Survival(folder, fsync, chance, options.rotate)
        try:
            survival.next(is_first=True)
            while survival.counts["kills"] < kills and time.monotonic() - began < seconds:
                if chance.random() < 0.4:
                    survival.broken_copy()
                if chance.random() < 0.1:
                    survival.read_by_peer()
                survival.next(is_first=False)
            with survival.start() as server:
                survival.check(server.connect(PATIENCE))
        except BaseException:
            kept = tempfile.mkdtemp(prefix="varve-kills-failed-")
            shutil.copytree(folder, kept, dirs_exist_ok=True)
            print("the files are kept in %s; seed %d, after %r" % (kept, options.seed, survival.counts), flush=True)
            raise
    done = ", ".join("%d %s" % (count, name) for name, count in survival.counts.items())
    missing = "" if fsync == "always" else "; %.0f ms missing at most" % (survival.longest_loss * 1000)
    print("passed   %s: %s%s" % (fsync, done, missing), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10**9, help="how often, for each way to sync")
    parser.add_argument("--seconds", type=float, default=None, help="how long at most, for all ways together")
    parser.add_argument("--fsync", choices=["always", "everysec", "no"], help="one way to sync alone")
    parser.add_argument("--no-rotation", dest="rotate", action="store_false", help="let the files grow")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    ways = [options.fsync] if options.fsync else ["always", "everysec"]
    seconds = options.seconds or (10**9 if options.kills < 10**9 else 40)
    for fsync in ways:
        survive(fsync, options, seconds / len(ways), options.kills)


if __name__ == "__main__":
    main()
