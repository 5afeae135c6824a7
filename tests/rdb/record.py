#!/usr/bin/env python3
"""Fills a server with the data set and records its files, its payloads and what they must hold.

    record.py --server COMMAND --flavor redis|valkey --scratch DIR [--inside ROOT] [SAMPLE ...]

The names of the files carry the version that the server tells of itself. SAMPLE is one or more of main, plain, weighed,
functions, cluster, module, dumps and aof; without any, all that the version has.
"""

import argparse
import os
import re
import shutil
import sys

import data
import expectation
import resp
from ports import free_port
from server import Server

AOF = os.path.join(expectation.HERE, "..", "aof")
WEIGHED = (("lfu", "allkeys-lfu", "FREQ", data.FREQUENCY), ("lru", "allkeys-lru", "IDLETIME", data.IDLE))
DUMPED = ["string:short", "string:int:-129", "string:20k-text", "string:binary", "list:compact", "list:large",
          "set:int16", "set:int64", "set:compact", "set:large", "zset:compact", "zset:large", "hash:compact",
          "hash:large", "hll:sparse", "stream:many", "stream:emptied", "stream:trimmed", "fields:compact",
          "fields:large"]


ALL = ("main", "plain", "weighed", "functions", "cluster", "module", "dumps", "aof")


class Recorder:
    """One server version and the folders it works in."""

    def __init__(self, options):
        self.options = options
        self.scratch = os.path.join(options.scratch, "record-%d" % os.getpid())
        with self.start() as server:
            info = server.connection.command("INFO", "server").decode()
        name = "valkey" if options.flavor == "valkey" else "redis"
        self.version = re.search(r"^%s_version:(\S+)" % name, info, re.M).group(1)
        self.name = "%s-%s" % (name, self.version)
        self.number = tuple(map(int, self.version.split(".")))
        self.knows = data.Knows(options.flavor, self.number)

    def start(self, *settings):
        """A server in an empty folder."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        os.chmod(self.scratch, 0o777)
        return self.again(*settings)

    def again(self, *settings):
        debug = ["--enable-debug-command", "yes"] if getattr(self, "number", (0,)) >= (7, 0) else []
        return Server(self.options.server, self.scratch, self.options.inside, [*debug, *settings])

    def expect(self, connection, path, payloads=(), leave_out=()):
        found = expectation.describe(connection)
        for line in found.values():
            for name in leave_out:
                line.pop(name, None)
        with open(path, "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in [*payloads, *expectation.lines_of(found)])

    def save(self, connection, name, expected=None):
        """Saves, keeps the file and writes beside it what it must hold."""
        say(connection, "SAVE")
        target = os.path.join(expectation.HERE, name)
        shutil.copyfile(os.path.join(self.scratch, "dump.rdb"), target + ".rdb")
        if expected is None:
            self.expect(connection, target + ".txt")
            return
        with open(target + ".txt", "w", encoding="ascii") as file:
            file.write(expected)

    def main(self):
        with self.start() as server:
            run(server.connection, data.everything(self.knows))
            self.save(server.connection, self.name)

    def plain(self):
        """Nothing is compressed and there is no checksum."""
        with self.start("--rdbcompression", "no", "--rdbchecksum", "no") as server:
            run(server.connection, data.everything(self.knows))
            run(server.connection, [("DEL", "list:huge-element", "string:20k-noise", "string:20k-text")])
            self.save(server.connection, self.name + "-plain")

    def weighed(self):
        """Idle times and frequencies, and lists that are compressed in memory."""
        for name, policy, option, value in WEIGHED if self.knows.restore_lfu else ():
            with self.start("--maxmemory", "1gb", "--maxmemory-policy", policy, "--lfu-decay-time", "0") as server:
                run(server.connection, [*data.compressed_lists(), *data.weighed()])
                for command in list(data.weighed()):
                    if command[0] != "PEXPIREAT":
                        key = command[1]
                        at = max(0, int(server.connection.command("PTTL", key)))
                        payload = server.connection.command("DUMP", key)
                        say(server.connection, "RESTORE", key, at, payload, "REPLACE", option, value)
                        if at:
                            say(server.connection, "PEXPIREAT", key, data.FAR_MS)
                self.save(server.connection, "%s-%s" % (self.name, name))

    def functions(self):
        if self.knows.functions:
            with self.start() as server:
                say(server.connection, "FUNCTION", "LOAD", data.LIBRARY)
                say(server.connection, "SET", "key", "beside a library")
                self.save(server.connection, self.name + "-functions")

    def cluster(self):
        """With the sizes of slots."""
        if self.knows.slots:
            with self.start("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as server:
                say(server.connection, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
                wait_for_cluster(server.connection)
                run(server.connection, data.of_a_cluster())
                self.save(server.connection, self.name + "-cluster")

    def module(self):
        """Data of a module beside a string; who does not know the module refuses the file and names its type."""
        if self.knows.vectors:
            with self.start() as server:
                say(server.connection, "SET", "before", "a string")
                say(server.connection, "VADD", "vectors", "VALUES", 3, "0.1", "0.2", "0.3", "element")
                self.save(server.connection, self.name + "-module", "refused type=vectorset\n")

    def dumps(self):
        """Payloads of DUMP, each with what it must hold after RESTORE."""
        with self.start() as server:
            connection = server.connection
            run(connection, data.everything(self.knows))
            present = {key.encode() for key in DUMPED}
            for database in (1, 9):
                run(connection, [("SELECT", database), ("FLUSHDB",), ("SELECT", 0)])
            for key in connection.command("KEYS", "*"):
                if key not in present:
                    say(connection, "DEL", key)
            payloads = ["dump 0 %s payload=%s" % (expectation.quote(key), connection.command("DUMP", key).hex())
                        for key in sorted(connection.command("KEYS", "*"))]
            self.expect(connection, os.path.join(expectation.HERE, "dumps-%s.txt" % self.name), payloads)

    def aof(self):
        """Append-only files of the forms that the version has."""
        forms = [("plain", [])]
        if self.number >= (4, 0):
            forms = [("plain", ["--aof-use-rdb-preamble", "no"]), ("preamble", ["--aof-use-rdb-preamble", "yes"])]
        if self.number >= (7, 0):
            forms.append(("timestamps", ["--aof-use-rdb-preamble", "yes", "--aof-timestamp-enabled", "yes"]))
        for form, settings in forms:
            self.record_aof("%s-%s" % (self.name, form), settings, rewrites=True)
        self.record_aof(self.name + "-whole", forms[0][1], rewrites=False)
        self.record_aof(self.name + "-torn", forms[-1][1], rewrites=True, torn=True)
        if self.number >= (7, 0):
            self.record_aof(self.name + "-broken-off", forms[-1][1], rewrites=True, breaks_off=True)
        else:
            self.record_aof(self.name + "-script", forms[0][1], rewrites=False, more=data.script())

    def record_aof(self, name, settings, rewrites, torn=False, breaks_off=False, more=()):
        """One form, and what the same server holds after it read its files again.

        A torn one is cut inside the transaction at its end, so that none of it counts. Servers before 5.0 took what they
        had read of it; the expectation does not.
        """
        settings = ["--appendonly", "yes", "--appendfsync", "always", *settings]
        target = os.path.join(AOF, name)
        with self.start(*settings) as server:
            if breaks_off:
                say(server.connection, "CONFIG", "SET", "rdb-key-save-delay", 10000000)
            run(server.connection, [*data.history(self.knows), *more], rewrites, waits=not breaks_off)
        shutil.rmtree(target, ignore_errors=True)
        copy_aof(self.scratch, target)
        if torn:
            tear(target)
            shutil.rmtree(self.scratch)
            copy_aof(target, self.scratch)
            os.chmod(self.scratch, 0o777)
        with self.again(*settings) as server:
            if torn:
                run(server.connection, [("SELECT", 3), ("DEL", "b:last"), ("SELECT", 0)])
            self.expect(server.connection, target + ".txt", leave_out=("seen", "active"))


def copy_aof(source, target):
    os.makedirs(target)
    for name in os.listdir(source):
        if name.startswith("appendonly"):
            place = os.path.join(source, name)
            (shutil.copytree if os.path.isdir(place) else shutil.copyfile)(place, os.path.join(target, name))


def tear(directory):
    """Cuts the end off the last file, in the middle of its last transaction."""
    files = [os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names]
    last = sorted(file for file in files if file.endswith((".incr.aof", "appendonly.aof")))[-1]
    with open(last, "r+b") as file:
        content = file.read()
        file.truncate(content.rindex(b"b:list") + 3)


def say(connection, *command):
    reply = connection.command(*command)
    if isinstance(reply, resp.Error):
        raise SystemExit("%s: %s" % (" ".join(map(str, command[:3])), reply.decode()))
    return reply


def wait_for_cluster(connection):
    while b"cluster_state:ok" not in connection.command("CLUSTER", "INFO"):
        pass


def rewrite(connection, waits):
    """Writes the file anew, and waits for the end of it or only for its begin."""
    say(connection, "BGREWRITEAOF")
    while True:
        info = connection.command("INFO", "persistence").decode()
        runs = "aof_rewrite_in_progress:1" in info
        if runs != waits and "aof_rewrite_scheduled:0" in info:
            return


def run(connection, commands, rewrites=False, waits=True):
    for command in commands:
        if command[0] == "?":
            connection.command(*command[1:])
        elif command[0] == "*":
            if rewrites:
                rewrite(connection, waits)
        else:
            say(connection, *command)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--flavor", choices=("redis", "valkey"), default="redis")
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--inside", default="")
    parser.add_argument("samples", nargs="*")
    options = parser.parse_args()
    recorder = Recorder(options)
    for sample in options.samples or ALL:
        getattr(recorder, sample)()
        print("%s: %s" % (recorder.name, sample), flush=True)
    shutil.rmtree(recorder.scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
