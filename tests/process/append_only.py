#!/usr/bin/env python3
"""Starts the server named by VARVE_SERVER on append-only files, whole, torn and damaged ones, and checks what it makes of them.

    VARVE_SERVER=target/release/varve-server tests/process/append_only.py [CASE ...]
"""

import inspect
import pathlib
import random
import select
import subprocess
import sys
import tempfile
import time
import traceback

from run import PATIENCE, Error, Server

FIRST = "appendonly.aof.1.incr.aof"


def command(*words):
    """A command as files have it."""
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def manifest(*names):
    """The manifest of files, whose kind is in their names."""
    line = "file %s seq %s type %s\n"
    return "".join(line % (name, name.split(".")[2], "b" if ".base." in name else "i") for name in names).encode()


class Loading(Server):
    """A server that finds files when it starts: by name in the directory of the set, or above it behind `../`."""

    awaits_data = False

    def __init__(self, files, *settings):
        self.source = tempfile.TemporaryDirectory(prefix="varve-append-only-")
        folder = pathlib.Path(self.source.name, "appendonlydir")
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        super().__init__("--appendonly", "yes", "--enable-debug-command", "yes", *settings, "--dir", self.source.name)

    def __exit__(self, *rest):
        super().__exit__(*rest)
        self.source.cleanup()

    def loaded(self):
        """Waits until everything is loaded, and returns a connection."""
        client = self.connect()
        self.until(lambda: not isinstance(client.command("PING"), Error))
        return client

    def file(self, name):
        return pathlib.Path(self.source.name, "appendonlydir", name).read_bytes()


def one(data, *settings):
    """A server with one incremental file."""
    return Loading({FIRST: data, "appendonly.aof.manifest": manifest(FIRST)}, *settings)


def fails(server):
    """What a server says that must not start."""
    try:
        status = server.process.wait(PATIENCE)
        output = server.output.read_text()
        assert status == 1, "status %d: %s" % (status, output)
        assert "panicked" not in output, output
        return output
    finally:
        server.__exit__(None, None, None)


def case_files_are_executed_in_the_order_of_the_manifest():
    base, second = "appendonly.aof.1.base.aof", "appendonly.aof.3.incr.aof"
    files = {
        base: command("RPUSH", "l", "base"),
        FIRST: command("SELECT", 3) + command("SET", "k", "v"),
        second: b"#TS:1\r\n" + command("RPUSH", "l", "second"),
        "appendonly.aof.manifest": manifest(base, FIRST, second),
    }
    with Loading(files) as server:
        client = server.loaded()
        assert client.command("LRANGE", "l", 0, -1) == [b"base", b"second"], "each file begins in database 0"
        client.command("SELECT", 3)
        assert client.command("GET", "k") == b"v"


def case_a_single_file_of_an_old_server_becomes_the_base():
    for has_manifest in (False, True):
        files = {"../appendonly.aof": command("SET", "k", "v")}
        if has_manifest:  # a start that ended before the file was moved
            files["appendonly.aof.manifest"] = b"file appendonly.aof seq 1 type b\n"
        with Loading(files) as server:
            assert server.loaded().command("GET", "k") == b"v"
            assert server.file("appendonly.aof.manifest").startswith(b"file appendonly.aof seq 1 type b\n")
            assert server.file("appendonly.aof") == command("SET", "k", "v")


def case_a_file_that_was_adopted_is_not_replaced_by_one_that_came_later():
    files = {
        "../appendonly.aof": command("SET", "outer", "v"),
        "appendonly.aof": command("SET", "inner", "v"),
        "appendonly.aof.manifest": b"file appendonly.aof seq 1 type b\n",
    }
    with Loading(files) as server:
        assert server.loaded().command("KEYS", "*") == [b"inner"]


def case_what_is_not_whole_at_the_end_is_cut_off_and_counted():
    whole = command("SET", "k", "v")
    for tail in (command("SET", "k", "w")[:-1], command("MULTI") + command("SET", "k", "w"), b"*", b"\0" * 100):
        with one(whole + tail) as server:
            client = server.loaded()
            assert client.command("GET", "k") == b"v"
            assert server.file(FIRST) == whole, tail
            info = client.command("INFO", "persistence").decode()
            assert "aof_last_load_truncated_bytes:%d\r\n" % len(tail) in info, info
            assert "are cut off" in server.output.read_text()


def case_a_file_cut_at_any_byte_holds_its_whole_units():
    units = [command("SET", "k", "1"), command("MULTI") + command("INCR", "k") + command("INCR", "k") + command("EXEC"), command("INCR", "k")]
    data = b"".join(units)
    ends = [len(b"".join(units[:count])) for count in range(4)]
    values = [b"", b"1", b"3", b"4"]
    for cut in range(len(data) + 1):
        with one(data[:cut]) as server:
            whole = sum(end <= cut for end in ends) - 1
            found = server.loaded().command("GETRANGE", "k", 0, -1)
            assert found == values[whole], (cut, found)
            assert whole == 0 or len(server.file(FIRST)) == ends[whole], "a bare file is replaced"


def case_flipped_bits_are_found():
    chance = random.Random(3)
    with Loading({}) as server:
        client = server.loaded()
        for number in range(200):
            client.command("SET", "key%d" % number, "value-%d" % number)
            client.command("INCR", "sum")
        server.send(client, "SHUTDOWN", "NOSAVE")
        server.process.wait(PATIENCE)
        folder = pathlib.Path(server.source.name, "appendonlydir")
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
    name = max((name for name in files if ".incr." in name), key=lambda name: len(files[name]))
    with Loading(files) as server:
        assert server.loaded().command("GET", "sum") == b"200"
    for _ in range(40):
        damaged = bytearray(files[name])
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        server = Loading({**files, name: bytes(damaged)})
        try:
            server.until(lambda: server.process.poll() is not None or "Ready to accept" in server.output.read_text())
            output = server.output.read_text()
            assert "panicked" not in output, output
            if server.process.poll() is None:
                assert "are cut off" in output, output
        finally:
            server.__exit__(None, None, None)


def case_what_is_not_whole_stops_the_start_where_the_setting_says_so():
    whole = command("SET", "k", "v")
    for tail in (command("SET", "k", "w")[:-1], command("MULTI") + command("SET", "k", "w")):
        output = fails(one(whole + tail, "--aof-load-truncated", "no"))
        assert "Unexpected end of file reading the append only file appendonlydir/" + FIRST in output, output
        assert "at byte %d" % len(whole) in output and "varve-check --fix" in output, output


def case_damage_with_whole_commands_behind_it_stops_the_start():
    whole = command("SET", "k", "v")
    output = fails(one(whole + b"!!!" + whole))
    assert "Bad file format reading the append only file" in output and "at byte %d" % len(whole) in output, output
    assert "varve-check --fix appendonlydir/" + FIRST in output, output


def case_only_the_last_file_may_be_torn():
    second = "appendonly.aof.2.incr.aof"
    files = {FIRST: command("SET", "k", "v")[:-1], second: b"", "appendonly.aof.manifest": manifest(FIRST, second)}
    output = fails(Loading(files))
    assert "is not the last one" in output, output


def case_what_is_past_its_deadline_stays_until_all_is_loaded():
    with one(command("RPUSH", "l", "a") + command("PEXPIREAT", "l", 1000) + command("RPUSH", "l", "b")) as server:
        assert server.loaded().command("LLEN", "l") == 0
    with one(command("SET", "k", "v") + command("PEXPIREAT", "k", 1000) + command("PERSIST", "k")) as server:
        assert server.loaded().command("GET", "k") == b"v"


def case_a_manifest_that_is_wrong_is_named():
    text = "appendonly.aof.manifest"
    for data, words in (
        (manifest(FIRST), FIRST + " is named in the manifest: No such file or directory"),
        (manifest(FIRST).replace(b"seq 1", b"seq 2") + b"file x seq 1 type i\n", "Found a non-monotonic sequence number"),
        (b"\n", "Invalid AOF manifest file format"),
        (b"file a seq 1 type b\nfile b seq 2 type b\n", "Found duplicate base file information"),
        (b"file a seq 1 type x\n", "Unknown AOF file type"),
        (b"file " + b"a" * 2000 + b" seq 1 type i\n", "The AOF manifest file contains too long line"),
        (b"", "Found an empty AOF manifest"),
        (b"file ../../etc/passwd seq 1 type b\n", "may not be a path"),
    ):
        output = fails(Loading({text: data}))
        assert words in output, output
    assert "no manifest" in fails(Loading({"appendonly.aof.1.base.aof": command("SET", "k", "v" * 1000)}))


def case_the_rdb_file_is_ignored_where_append_only_files_are_on():
    rdb = b"REDIS0011\x00\x01k\x01v\xff" + bytes(8)
    with Loading({"../dump.rdb": rdb}) as server:
        assert server.loaded().command("DBSIZE") == 0


def keys(server):
    return server.loaded().command("DBSIZE")


def written(settings, count, end):
    """The file of a server that was given commands, and ended so."""
    with Loading({}, *settings) as server:
        client = server.loaded()
        for number in range(count):
            client.command("SET", "k%d" % number, "v")
        if end == "shutdown":
            server.send(client, "SHUTDOWN")
            server.process.wait(PATIENCE)
        else:
            last = command("SET", "k%d" % (count - 1), "v")
            server.until(lambda: last in server.file(FIRST))
            server.process.kill()
            server.process.wait(PATIENCE)
        return server.file(FIRST)


def case_a_slow_write_is_a_latency_event_where_these_are_wanted():
    with Loading({}, "--appendfsync", "always", "--enable-debug-command", "yes") as server:
        client = server.loaded()
        client.command("DEBUG", "AOF-FLUSH-SLEEP", "30000")
        client.command("SET", "k", "v")
        assert client.command("LATENCY", "LATEST") == []
        client.command("CONFIG", "SET", "latency-monitor-threshold", "20")
        client.command("SET", "k", "w")
        names = {row[0] for row in client.command("LATENCY", "LATEST")}
        assert {b"aof-write", b"aof-write-alone"} <= names, names


def case_settings_choose_the_word_for_keys_that_expire():
    with Loading({}) as server:
        client = server.loaded()
        for key, lazy, word in (("a", "yes", "UNLINK"), ("b", "no", "DEL"), ("c", "yes", "UNLINK")):
            client.command("CONFIG", "SET", "lazyfree-lazy-expire", lazy)
            client.command("SET", key, "v", "PX", 1)
            server.until(lambda: client.command("EXISTS", key) == 0)
            server.until(lambda: command(word, key) in server.file(FIRST))


def case_what_others_append_behind_padding_is_loaded():
    for end in ("shutdown", "kill"):
        own = written(("--appendfsync", "always"), 50, end)
        assert own.endswith(b"#\n") == (end == "kill"), own[-100:]
        more = b"".join(command("SET", "other%d" % number, "v") for number in range(1000))
        with one(own + more) as server:
            assert keys(server) == 1050
        assert "no torn end" in fails(one(own + more[:2002] + b"x" + more[2002:]))


def case_where_nothing_is_synced_damage_with_commands_behind_stops_the_start():
    own = written(("--appendfsync", "no"), 3000, "kill")
    at = own.index(command("SET", "k10", "v"))
    assert "no torn end" in fails(one(own[:at] + b"+" + own[at + 1 :]))


def case_what_is_cut_off_with_whole_commands_in_it_is_kept():
    own = written(("--appendfsync", "everysec"), 50, "kill")
    behind = b"\0\0\0\0\r\n" + command("SET", "other", "v")
    with one(own + behind) as server:
        assert keys(server) == 50 and server.file(FIRST + ".cut-off") == behind
        assert FIRST + ".cut-off" in server.output.read_text()


def case_what_is_changed_beside_a_long_command_gets_into_the_file():
    with Loading({}, "--threads", "2") as server:
        server.loaded()
        clients = [server.connect() for _ in range(8)]
        for client in clients:  # most changes are made there, so it is to become the home database
            client.command("SELECT", 5)
        long = server.connect()
        long.command("SADD", "few", *range(2_000))
        long.command("SADD", "others", *range(10_000, 13_000))
        # A minute at least on any machine; the server is killed meanwhile.
        server.send(long, "SDIFF", "few", *["others"] * 1_000_000)
        time.sleep(0.1)  # for the worker that executes it
        for client in clients:
            server.send(client, "PING")
        answered, _, _ = select.select([client.socket for client in clients], [], [], 5)
        client = next(client for client in clients if client.socket in answered)
        client.read()
        began, number = time.monotonic(), 0
        while time.monotonic() < began + 2.5:  # the home moves once a second
            client.command("SET", "k", number)
            number += 1
        server.until(lambda: command("SET", "k", number - 1) in server.file(FIRST), 5)
        assert not select.select([long.socket], [], [], 0)[0], "the long command goes on"


def case_starts_without_changes_leave_one_file():
    files = {}
    for number in range(4):
        with Loading(files) as server:
            client = server.loaded()
            if number == 1:
                client.command("SELECT", 5)
                client.command("SET", "k", "v")
                server.until(lambda: command("SET", "k", "v") in server.file(FIRST))
            server.until(lambda: b" type h" not in server.file("appendonly.aof.manifest"))
            folder = pathlib.Path(server.source.name, "appendonlydir")
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert [name for name in files if "incr" in name] == [FIRST], files.keys()
    with Loading(files) as server:
        client = server.loaded()
        client.command("SELECT", 5)
        assert client.command("GET", "k") == b"v"


def case_there_may_be_more_files_than_can_be_open():
    names = ["appendonly.aof.%d.incr.aof" % number for number in range(1, 2001)]
    files = {name: command("SET", "k%d" % number, "v") for number, name in enumerate(names)}
    with Loading({**files, "appendonly.aof.manifest": manifest(*names)}, "--maxclients", "100") as server:
        assert keys(server) == 2000


def case_a_file_of_another_kind_stops_the_start():
    base = "appendonly.aof.1.base.rdb"
    for bad in (b"\x1f\x8b\x08" + bytes(1000), b"RFDIS0011" + bytes(1000)):
        assert "no torn end" in fails(one(bad))
        files = {base: bad, "appendonly.aof.manifest": manifest(base)}
        assert "no torn end" in fails(Loading(files))


def case_function_libraries_of_command_files_are_kept_until_they_are_flushed():
    one_library, other = (b"#!lua name=%s\nredis.register_function('%s', function() return 7 end)" % (name, name) for name in (b"one", b"two"))
    data = command("FUNCTION", "LOAD", one_library) + command("SET", "k", "v") + command("FUNCTION", "LOAD", other)
    data += command("FUNCTION", "LOAD", "REPLACE", other) + command("FUNCTION", "DELETE", "two")

    def sources(client):
        return [library[7] for library in client.command("FUNCTION", "LIST", "WITHCODE")]

    def files(server):
        lines = [line.split() for line in server.file("appendonly.aof.manifest").splitlines()]
        named = [line[1].decode() for line in lines if line[5] != b"h"]
        return {name: server.file(name) for name in [*named, "appendonly.aof.manifest"]}

    for preamble in ("yes", "no"):
        settings = ("--aof-use-rdb-preamble", preamble, "--appendfsync", "always")
        with one(data, *settings) as server:
            client = server.loaded()
            assert sources(client) == [one_library]
            client.command("BGREWRITEAOF")
            server.until(lambda: b"aof_rewrites:1\r\n" in client.command("INFO", "persistence"))
            server.until(lambda: b"aof_rewrite_in_progress:0\r\n" in client.command("INFO", "persistence"))
            rewritten = files(server)
            assert client.command("FUNCTION", "FLUSH") == b"OK"
            flushed = files(server)
        with Loading(rewritten, *settings) as server:
            client = server.loaded()
            assert (sources(client), client.command("GET", "k")) == ([one_library], b"v")
            assert client.command("FCALL", "one", 0) == 7
        with Loading(flushed, *settings) as server:
            assert sources(server.loaded()) == []


def case_debug_loadaof_loads_the_files_again():
    with one(command("SET", "k", "v")) as server:
        client = server.loaded()
        client.command("SET", "other", "x")
        for _ in range(2):
            assert client.command("DEBUG", "LOADAOF") == b"OK"
            assert [client.command("GET", key) for key in ("k", "other")] == [b"v", b"x"]
            client.command("SET", "other", "x")


def case_files_that_were_turned_off_and_on_again_hold_what_is_there_now_however_often():
    with Loading({}) as server:
        client = server.loaded()
        for turn in range(300):
            for setting in ("no", "yes"):
                assert client.command("CONFIG", "SET", "appendonly", setting) == b"OK"
            server.until(lambda: b"aof_rewrite_in_progress:0\r\n" in client.command("INFO", "persistence"))
            assert b"aof_last_bgrewrite_status:ok" in client.command("INFO", "persistence"), server.output.read_text()
            client.command("SET", "turn", turn)
            assert client.command("DEBUG", "LOADAOF") == b"OK"
            assert client.command("GET", "turn") == b"%d" % turn


def case_data_stays_where_debug_loadaof_fails():
    with one(command("SET", "k", "v")) as server:
        client = server.loaded()
        client.command("SET", "other", "x")
        file = pathlib.Path(server.source.name, "appendonlydir", FIRST)
        for bad in (command("SET", "k", "w") + command("EVAL", "x", 0), command("SELECT", 2) + command("SET", "k", "w") + b"*1"):
            file.write_bytes(bad + command("SET", "k", "w") * 10)
            answer = client.command("DEBUG", "LOADAOF")
            assert answer == Error(b"ERR Error trying to load the AOF files, check server logs."), answer
            assert [client.command("GET", key) for key in ("k", "other")] == [b"v", b"x"]
            assert client.command("SELECT", 2) == b"OK" and client.command("DBSIZE") == 0
            assert client.command("SELECT", 0) == b"OK"


def main():
    cases = {name[5:]: case for name, case in globals().items() if name.startswith("case_") and inspect.isfunction(case)}
    failed = 0
    for name in sys.argv[1:] or cases:
        began = time.monotonic()
        try:
            cases[name]()
            print("ok      %-70s %5.1f s" % (name.replace("_", " "), time.monotonic() - began))
        except (AssertionError, OSError, subprocess.SubprocessError):
            failed += 1
            print("FAILED  " + name.replace("_", " "))
            traceback.print_exc()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
