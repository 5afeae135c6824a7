#!/usr/bin/env python3
"""Runs varve-check and varve-import on the samples of other servers, on damaged files, and between servers.

    VARVE_SERVER=target/debug/varve-server tests/tools/run.py [CASE ...]

VARVE_TOOLS  the folder of the two programs (default: that of VARVE_SERVER)
PEERS        the script that runs valkey-server and redis-server (default ../shared/peers/peers); cases that need them are
             skipped, and that is said, where it is missing
"""

import inspect
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

TESTS = pathlib.Path(__file__).resolve().parent.parent
for folder in ("transcripts", "rdb", "process"):
    sys.path.insert(0, str(TESTS / folder))
import byhand  # noqa: E402
import check as expected  # noqa: E402
from certificates import Authority  # noqa: E402
from run import Server  # noqa: E402
from ports import free_port  # noqa: E402
from resp import Connection  # noqa: E402

TOOLS = pathlib.Path(os.environ.get("VARVE_TOOLS") or pathlib.Path(shlex.split(os.environ["VARVE_SERVER"])[0]).parent)
PEERS = pathlib.Path(os.environ.get("PEERS", TESTS.parent / "../shared/peers/peers")).resolve()
RDB, AOF = TESTS / "rdb", TESTS / "aof"
PATIENCE = 120  # seconds that a program may take


class Skipped(Exception):
    """What the case needs is not there."""


def tool(name, *words, status=None):
    """Runs a program to its end; its status and what it said."""
    done = subprocess.run([str(TOOLS / name), *map(str, words)], capture_output=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
    output = (done.stdout + done.stderr).decode(errors="replace")
    assert "panicked" not in output and done.returncode >= 0, output
    assert status is None or done.returncode == status, "status %d: %s" % (done.returncode, output)
    return done.returncode, output


def varve(**how):
    return Server("--enable-debug-command", "yes", "--save", "", **how)


class Peer:
    """A server of another project, without files."""

    def __init__(self, program, *settings):
        if not PEERS.exists():
            raise Skipped("%s is missing" % PEERS)
        self.port = free_port()
        words = [str(PEERS), "run", program, "--port", str(self.port), "--save", "", "--enable-debug-command", "yes"]
        words += ["--dbfilename", "none-%d.rdb" % self.port, *settings]  # whatever lies in the folder where it starts
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        deadline = time.monotonic() + PATIENCE
        while True:
            assert self.process.poll() is None and time.monotonic() < deadline, "the peer did not start"
            try:
                client = self.connect()
                if client.command("PING") == b"PONG":
                    return self
            except OSError:
                time.sleep(0.02)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def connect(self):
        return Connection("127.0.0.1:%d" % self.port)


def at(server):
    return "127.0.0.1:%d" % server.port


def fill(port, salt=b"", strings=300):
    """Every type, over two databases, with deadlines."""
    client = Connection("127.0.0.1:%d" % port)
    for number in range(strings):
        client.command("SET", b"%sstring:%d" % (salt, number), b"v" * (number * 7 % 900), *(["EX", "90000"] if number % 3 else []))
    for number in range(1200):
        client.command("RPUSH", salt + b"list", b"element %d" % number)
        client.command("HSET", salt + b"hash", b"field %d" % number, b"%d" % number)
        client.command("ZADD", salt + b"zset", b"%d.25" % number, b"member %d" % number)
        client.command("SADD", salt + b"set", b"%d" % (number * 3))
        client.command("XADD", salt + b"stream", b"%d-1" % (number + 1), b"f", b"%d" % number)
    client.command("XGROUP", "CREATE", salt + b"stream", "group", "0")
    client.command("XREADGROUP", "GROUP", "group", "alice", "COUNT", "1100", "STREAMS", salt + b"stream", ">")
    client.command("HSET", salt + b"timed", "a", "1", "b", "2")
    client.command("HPEXPIREAT", salt + b"timed", "33000000000123", "FIELDS", "1", "a")
    client.command("SELECT", 7)
    client.command("SET", salt + b"elsewhere", "\x00\xff\r\n")
    return client


def samples():
    return sorted(path for path in RDB.glob("*.rdb"))


def every_whole_sample_is_whole_and_told():
    for path in samples():
        output = tool("varve-check", path, status=0)[1]
        assert "state        whole" in output and "version " in output, output
        listed = [line for line in path.with_suffix(".txt").read_text().splitlines() if line.startswith("key ")]
        keys = int(re.search(r"keys +all +(\d+)", output)[1])
        assert keys == len(listed) or "module" in path.name, "%s: %d keys, %d expected" % (path, keys, len(listed))
    for path in sorted(AOF.iterdir()):
        if path.is_dir() and not path.name.endswith("-torn"):
            tool("varve-check", path, status=0)


def samples_tell_who_cannot_read_them():
    def verdict(name, reader):
        return re.search(r"reader +\S+ +(.*)", tool("varve-check", RDB / name, "--reader", reader, status=0)[1])[1]

    assert verdict("valkey-9.1.2.rdb", "valkey-9.1") == "reads it"
    assert "RDB version 80" in verdict("valkey-9.1.2.rdb", "redis-8.0")
    assert "RDB version 12" in verdict("redis-8.0.6.rdb", "valkey-9")
    assert verdict("redis-8.0.6.rdb", "varve") == "reads it"
    assert "vectorset" in verdict("redis-8.0.6-module.rdb", "varve")
    assert "functions" in tool("varve-check", RDB / "valkey-9.1.2-functions.rdb", status=0)[1]
    assert tool("varve-check", RDB / "valkey-9.1.2.rdb", "--reader", "redis-99")[0] == 2
    assert tool("varve-check", "/nowhere/at/all")[0] == 2


def nobody_reads_a_damaged_file_and_an_empty_one_is_no_rdb_file():
    whole = (RDB / "valkey-9.1.2.rdb").read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 4
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as server:
        path = pathlib.Path(scratch, "dump.rdb")
        for data in (b"", whole[:9], whole[: len(whole) // 2], bytes(flipped), b"X" + whole[1:], command_of(b"SET", b"a", b"1")):
            path.write_bytes(data)
            for what in (path, scratch):
                output = tool("varve-check", what, status=1)[1]
                assert "reads it" not in output and "does not: it is damaged" in output, output
            tool("varve-import", path, "--to", at(server), status=2)


def torn_files_are_cut_only_when_asked_and_load_afterwards():
    for sample in sorted(AOF.glob("*-torn")):
        with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch:
            copy = pathlib.Path(scratch, "data")
            shutil.copytree(sample, copy)
            before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
            output = tool("varve-check", copy, status=1)[1]
            assert "torn at byte" in output and "87 bytes behind it" in output, output
            tool("varve-check", copy, "--fix", status=1)  # nobody can be asked
            assert before == {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
            tool("varve-check", copy, "--fix", "--yes", status=0)
            tool("varve-check", copy, status=0)
            cut = {path: path.read_bytes() for path in copy.rglob("*.cut-off")}
            assert len(cut) == 1
            for path, rest in cut.items():
                whole = pathlib.Path(str(path)[: -len(".cut-off")])
                assert whole.read_bytes() + rest == before[whole] and len(rest) == 87
            with varve() as server:
                tool("varve-import", copy, "--to", at(server), status=0)
                wrong = expected.check(server.connect(), str(sample) + ".txt")[0]
                assert not wrong, (sample, wrong)


def fixed_files_load_in_valkey():
    root = pathlib.Path(os.environ.get("PEERS_DIR", "/opt/peers"), "root")
    if not PEERS.exists() or not os.access(root / "tmp", os.W_OK):
        raise Skipped("%s or the folder of its servers is missing" % PEERS)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="varve-tools-", dir=root / "tmp"))
    try:
        sample = AOF / "valkey-9.1.2-torn"
        shutil.copytree(sample, folder / "data")
        tool("varve-check", folder / "data", "--fix", "--yes", status=0)
        for path, _, names in os.walk(folder):
            os.chmod(path, 0o777)
            for name in names:
                os.chmod(os.path.join(path, name), 0o666)
        seen = "/" + str((folder / "data").relative_to(root))
        with Peer("valkey-server", "--dir", seen, "--appendonly", "yes", "--aof-load-truncated", "no") as peer:
            wrong = expected.check(peer.connect(), str(sample) + ".txt")[0]
            assert not wrong, wrong
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def damage_in_the_middle_is_cut_only_where_that_is_said():
    def command(*words):
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)

    first, second = command(b"SET", b"a", b"1"), command(b"SET", b"b", b"2")
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch:
        path = pathlib.Path(scratch, "x.aof")
        whole = first + b"*x\r\n" + second
        path.write_bytes(whole)
        output = tool("varve-check", path, "--fix", status=1)[1]
        assert "%d bytes would be lost" % (len(second) + 4) in output and path.read_bytes() == whole, output
        tool("varve-check", path, "--fix", "--cut-at", len(first), status=0)
        assert path.read_bytes() == first
        assert pathlib.Path(str(path) + ".cut-off").read_bytes() == b"*x\r\n" + second
        path.write_bytes(whole)
        tool("varve-check", path, "--fix", "--yes", status=0)
        assert path.read_bytes() == first


def damage_of_any_kind_is_reported_and_never_a_panic():
    chance = random.Random(11)
    whole = (RDB / "valkey-9.1.2.rdb").read_bytes()
    commands = (AOF / "valkey-9.1.2-whole/appendonlydir/appendonly.aof.1.incr.aof").read_bytes()
    length = b"\x81" + struct.pack(">Q", 1 << 61)
    hostile = [b"REDIS0011\x00\x01k" + length, b"REDIS0011\x02\x01k" + length, b"REDIS0011\xfa" + length, b"REDIS0011\x0f\x01k" + length + length]
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch:
        path = pathlib.Path(scratch, "x")

        def status(data):
            path.write_bytes(data)
            return tool("varve-check", path)[0]

        for data in hostile + [whole[: chance.randrange(len(whole))] for _ in range(30)] + [b"nothing that is known"]:
            assert status(data) == (1 if data else 0), data[:40]
        for _ in range(60):
            changed = bytearray(whole)
            changed[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            assert status(bytes(changed)) == 1
            changed = bytearray(commands)
            changed[chance.randrange(len(commands))] ^= 1 << chance.randrange(8)
            assert status(bytes(changed)) in (0, 1)
        for data in (b"*9223372036854775807\r\n", b"*1\r\n$9223372036854775807\r\n", b"*2\r\n$-1\r\n", b"#" * 5000 + b"x"):
            assert status(data) == 1
        # Padding, as a writer leaves ahead of what it writes.
        assert status(b"#" * 5000) == 0


def rdb_of(*parts, version=11, behind=b""):
    """A file of these parts, without a checksum."""
    return b"REDIS%04d" % version + b"".join(parts) + b"\xff" + bytes(8) + behind


def stream_of(name, told=2, groups=()):
    """A key with a stream of two entries, which says that it has so many."""
    node = byhand.listpack([2, 0, 1, b"f", 0, 2, 0, 0, b"v", 4, 2, 2, 0, b"v", 4])
    key = struct.pack(">QQ", 5, 1)
    facts = b"".join(byhand.length(number) for number in (told, 7, 1, 5, 1, 0, 0, max(told, 2), len(groups)))
    return b"\x15" + byhand.string(name) + b"\x01" + byhand.length(16) + key + byhand.length(len(node)) + node + facts + b"".join(groups)


def group_of(name, pending, consumers):
    """A group with entries that are pending, and consumers that each have a name and some of these."""
    def entry(ms):
        return struct.pack(">QQ", ms, 1)

    def consumer(name, owned):
        return byhand.string(name) + bytes(16) + bytes([len(owned)]) + b"".join(map(entry, owned))

    body = b"".join(entry(ms) + bytes(8) + b"\x01" for ms in pending)
    ends = bytes([len(consumers)]) + b"".join(consumer(*it) for it in consumers)
    return byhand.string(name) + b"\x07\x01\x02" + bytes([len(pending)]) + body + ends


EMPTY = [b"\x01\x01e\0", b"\x02\x01e\0", b"\x04\x01e\0", b"\x05\x01e\0", b"\x12\x01e\0", b"\x10\x01e\x07" + byhand.listpack([])]
KEY, OTHER = b"\0\x01k\x01v", b"\0\x01k\x01w"
FACTS = b"\xfc" + struct.pack("<q", 1 << 45)
SOUND = {
    "a key": rdb_of(KEY),
    "empty collections": rdb_of(KEY, *EMPTY),
    "a name in two databases": rdb_of(KEY, b"\xfe\x0f", OTHER),
    "the last database": rdb_of(b"\xfe\x0f", KEY),
    "facts apart": rdb_of(FACTS, b"\xfa\x01a\x01b", KEY, FACTS),
    "bytes behind": rdb_of(KEY, behind=b"noise"),
    "commands behind": rdb_of(KEY, behind=b"*1\r\n$4\r\nPING\r\n"),
    "a group": rdb_of(stream_of(b"s", groups=[group_of(b"g", [5, 7], [(b"a", [7]), (b"b", [5])])])),
}
REFUSED = {
    "the key is there twice": rdb_of(KEY, b"\xfa\x01a\x01b", OTHER),
    "database 16 is in it": rdb_of(KEY, b"\xfe\x10", KEY),
    "database 17 is in it": rdb_of(KEY, b"\xfe\x11", b"\xfe\0"),
    "the same member twice": rdb_of(b"\x02\x01s\x02\x01a\x01a"),
    "the same member twice ": rdb_of(b"\x04\x01h\x02\x01a\x01b\x01a\x01c"),
    "the same member twice  ": rdb_of(b"\x11\x01z", byhand.blob(byhand.listpack([b"m", 1, b"m", 2]))),
    "a group twice": rdb_of(stream_of(b"s", groups=[group_of(b"g", [], [])] * 2)),
    "a consumer twice": rdb_of(stream_of(b"s", groups=[group_of(b"g", [], [(b"a", [])] * 2)])),
    "a pending entry without a consumer": rdb_of(stream_of(b"s", groups=[group_of(b"g", [5], [])])),
    "an entry that is not pending": rdb_of(stream_of(b"s", groups=[group_of(b"g", [], [(b"a", [5])])])),
    "a pending entry with two consumers": rdb_of(stream_of(b"s", groups=[group_of(b"g", [5], [(b"a", [5]), (b"b", [5])])])),
    "it says that it has 3 entries, and has 2": rdb_of(stream_of(b"s", told=3)),
    "a deadline of a field": rdb_of(b"\x16\x01h\x01\x01f\x01v", struct.pack("<q", -2)).replace(b"REDIS0011", b"VALKEY080"),
}


def a_check_says_what_a_load_says():
    with varve() as server:
        client, path = server.connect(), pathlib.Path(server.folder, "dump.rdb")
        server.until(lambda: "Ready to accept" in server.output.read_text())
        for name, data in {**SOUND, **REFUSED}.items():
            path.write_bytes(data)
            status, output = tool("varve-check", path)
            loaded = client.command("DEBUG", "RELOAD", "NOSAVE") == b"OK"
            assert (status == 0) == loaded == (name in SOUND), (name, loaded, output)
            assert name in SOUND or name.strip() in output, (name, output)
        path.write_bytes(REFUSED["database 16 is in it"])
        assert re.search("varve +reads it", tool("varve-check", path, "--databases", "17", status=0)[1])
        path.write_bytes(SOUND["empty collections"])
        assert re.search(r"empty +6 collections", tool("varve-check", path)[1])


def bytes_behind_the_end_of_an_rdb_file_are_a_note():
    commands = command_of(b"SET", b"a", b"1")
    base = b"\xfa\x08aof-base\x01" + b"1"
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as server:
        client = server.connect()
        for name, data, behind, keys in [
            ("dump.rdb", rdb_of(KEY, behind=b"noise"), 5, 1),
            ("dump.rdb", rdb_of(KEY, behind=commands), len(commands), 1),
            ("backup", rdb_of(KEY, behind=b"noise"), 5, 1),
            ("backup", rdb_of(KEY, behind=commands), 0, 2),
            ("base.rdb", rdb_of(base, KEY, behind=commands), 0, 2),
        ]:
            path = pathlib.Path(scratch, name)
            path.write_bytes(data)
            output = tool("varve-check", path, status=0)[1]
            assert ("%d bytes behind byte %d, which no server reads" % (behind, len(data) - behind) in output) == (behind > 0), output
            client.command("FLUSHALL")
            output = tool("varve-import", path, "--to", at(server), status=0)[1]
            assert ("%d bytes behind the end" % behind in output) == (behind > 0), output
            assert client.command("DBSIZE") == keys, (name, behind)
        path.write_bytes(rdb_of(base, KEY, behind=b"noise"))
        assert "damaged at byte" in tool("varve-check", path, status=1)[1]


def empty_collections_are_left_out_and_counted_by_themselves():
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as server:
        path = pathlib.Path(scratch, "dump.rdb")
        path.write_bytes(SOUND["empty collections"])
        output = tool("varve-import", path, "--to", at(server), status=0)[1]
        assert "1 keys and 0 commands were sent; 0 failed" in output, output
        assert "6 collections without elements were left out" in output, output
        assert server.connect().command("DBSIZE") == 1


def streams_with_a_wrong_number_of_entries_are_mended_or_arrive_mended():
    groups = [group_of(b"g", [5], [(b"a", [5])])]
    wrong = rdb_of(KEY, stream_of(b"more", 70_000, groups), stream_of(b"fewer", 1), stream_of(b"right"), stream_of(b"none", 0))

    def holds(client):
        assert client.command("DBSIZE") == 5
        for name in ("more", "fewer", "right", "none"):
            assert client.command("XLEN", name) == 2 and len(client.command("XRANGE", name, "-", "+")) == 2, name
        assert client.command("XPENDING", "more", "g")[0] == 1

    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as server:
        client, path = server.connect(), pathlib.Path(scratch, "dump.rdb")
        path.write_bytes(wrong)
        output = tool("varve-import", path, "--to", at(server), status=0)[1]
        assert 'mended: database 0, "more": 2 entries, not 70000' in output and "3 streams got their real number" in output, output
        holds(client)
        output = tool("varve-check", path, status=1)[1]
        assert '"fewer" of database 0 at byte' in output and "3 streams say a wrong number of entries" in output, output
        assert re.search("redis-8.0 +reads it", output) and re.search("varve +does not: streams with a wrong number", output), output
        assert "nobody can be asked" in tool("varve-check", path, "--fix", status=1)[1]
        assert path.read_bytes() == wrong and len(os.listdir(scratch)) == 1
        in_server = pathlib.Path(server.folder, "dump.rdb")
        in_server.write_bytes(wrong)
        assert client.command("DEBUG", "RELOAD", "NOSAVE") != b"OK"
        assert "varve-check --fix" in server.output.read_text()
        output = tool("varve-check", path, "--fix", "--yes", status=0)[1]
        assert "3 numbers were written" in output and pathlib.Path(scratch, "dump.rdb.before-fix").read_bytes() == wrong, output
        tool("varve-check", path, status=0)
        in_server.write_bytes(path.read_bytes())
        assert client.command("DEBUG", "RELOAD", "NOSAVE") == b"OK"
        holds(client)

        # The base of a set, with commands behind it.
        base = pathlib.Path(scratch, "a.1.base.rdb")
        base.write_bytes(rdb_of(stream_of(b"s", 9), behind=command_of(b"SET", b"k", b"v")))
        pathlib.Path(scratch, "a.1.incr.aof").write_bytes(command_of(b"XADD", b"s", b"8-1", b"f", b"v"))
        pathlib.Path(scratch, "a.manifest").write_text("file a.1.base.rdb seq 1 type b\nfile a.1.incr.aof seq 1 type i\n")
        manifest = pathlib.Path(scratch, "a.manifest")
        output = tool("varve-check", manifest, status=1)[1]
        assert output.count("to write the right numbers: varve-check --fix %s" % base) == 1, output
        assert tool("varve-check", manifest, "--fix", status=1)[1].count("nobody can be asked") == 1
        whole = manifest.read_text()
        manifest.write_text(whole.splitlines(keepends=True)[0])
        assert tool("varve-check", manifest, "--fix", status=1)[1].count("nobody can be asked") == 1
        manifest.write_text(whole)
        tool("varve-check", manifest, "--fix", "--yes", status=0)
        tool("varve-check", manifest, status=0)
        client.command("FLUSHALL")
        tool("varve-import", manifest, "--to", at(server), status=0)
        assert client.command("XLEN", "s") == 3 and client.command("GET", "k") == b"v"


def samples_arrive_in_a_running_server():
    with varve() as server:
        client = server.connect()
        for path in samples():
            if "-lfu" in path.name or "-lru" in path.name:
                continue
            client.command("FLUSHALL")
            client.command("FUNCTION", "FLUSH")
            status, output = tool("varve-import", path, "--to", at(server))
            assert status == (1 if "module" in path.name else 0), output
            if "module" in path.name:
                assert "vector" in output, output
                continue
            wrong = expected.check(client, str(path.with_suffix(".txt")))[0]
            wrong = [line for line in wrong if "function" not in line]
            assert not wrong, (path, wrong)
        for path in sorted(path for path in AOF.iterdir() if path.is_dir()):
            client.command("FLUSHALL")
            tool("varve-import", path, "--to", at(server), status=0)
            wrong = expected.check(client, str(path) + ".txt")[0]
            assert not wrong, (path, wrong)


def there_and_back(program):
    with varve() as first, Peer(program) as peer, varve() as last:
        fill(peer.port)
        tool("varve-import", at(peer), "--to", at(first), status=0)
        output = tool("varve-import", "--compare", at(peer), at(first), status=0)[1]
        assert "0 have another value" in output and "307 keys are equal" in output, output
        peer.connect().command("FLUSHALL")
        tool("varve-import", "redis://" + at(first), "--to", at(peer), "--connections", 2, status=0)
        tool("varve-import", at(peer), "--to", at(last), "--no-comparison", status=0)
        tool("varve-import", "--compare", at(first), at(last), "--tolerance", 0, status=0)


def data_of_valkey_comes_and_goes_back():
    there_and_back("valkey-server")


def data_of_redis_comes_and_goes_back():
    there_and_back("redis-server")


def a_comparison_tells_each_kind_of_difference():
    with varve() as first, varve() as second:
        one, other = fill(first.port), fill(second.port)
        assert tool("varve-import", "--compare", at(first), at(second), "--tolerance", 60_000)[0] == 0
        one.command("SELECT", 0)
        other.command("SELECT", 0)
        changes = [("LSET", "list", "700", "x"), ("PEXPIREAT", "string:1", "44000000000000"), ("DEL", "string:2"), ("SET", "new", "1")]
        changes += [("XACK", "stream", "group", "5-1"), ("HPEXPIREAT", "timed", "44000000000000", "FIELDS", "1", "b")]
        for change in changes:
            other.command(*change)
        output = tool("varve-import", "--compare", at(first), at(second), "--tolerance", 60_000, status=1)[1]
        counts = "3 have another value, 1 another deadline, 1 are only in the first, 1 only in the second"
        assert counts in output, output
        for line in ('"list": another value', '"stream": another value', '"timed": another value', '"string:1": another deadline', '"string:2": only in the first'):
            assert line in output, output


class Gate(threading.Thread):
    """Passes bytes on to a server, and breaks all connections after some."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.target, self.left, self.pairs = port, None, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.target))
            self.pairs += [client, server]
            threading.Thread(target=self.pass_on, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, False), daemon=True).start()

    def pass_on(self, source, target, counts):
        try:
            while data := source.recv(65536):
                if counts and self.left is not None:
                    self.left -= len(data)
                    if self.left < 0:
                        break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def interrupted(source, keys, port, scratch):
    """Imports through a gate that breaks off, and again, until all has arrived; how often it was broken off."""
    gate, state = Gate(port), pathlib.Path(scratch, "state")
    for limit in (300_000, 900_000, 1_500_000, None):
        gate.left = limit
        status, output = tool("varve-import", source, "--to", "127.0.0.1:%d" % gate.port, "--resume", state, "--no-comparison")
        assert status == (0 if limit is None else 2), output
    sent = int(re.search(r"(\d+) keys and", output)[1])
    assert sent < keys, "the last run did not go on where the others had stopped: " + output
    status, output = tool("varve-import", source, "--to", "127.0.0.1:%d" % gate.port, "--resume", state, "--no-comparison", status=0)
    assert "0 keys and 0 commands" in output, output


def an_import_that_breaks_off_goes_on_where_it_was():
    count = 40_000
    body = b"".join(b"\x00" + bytes([len(b"key:%d" % number)]) + b"key:%d" % number + b"\x40\x64" + b"%0100d" % number for number in range(count))
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as first, varve() as second:
        path = pathlib.Path(scratch, "large.rdb")
        path.write_bytes(b"REDIS0011" + body + b"\xff" + bytes(8))
        interrupted(path, count, first.port, scratch)
        assert first.connect().command("DBSIZE") == count
        os.remove(pathlib.Path(scratch, "state"))
        interrupted("127.0.0.1:%d" % first.port, count, second.port, scratch)
        tool("varve-import", "--compare", at(first), at(second), status=0)


def command_of(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def ended_early(words, state, how, times):
    """Runs an import that gets a signal each time it has come further, so many times, and then to its end; the statuses."""
    statuses, seen = [], None
    while True:
        process = subprocess.Popen([str(TOOLS / "varve-import"), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + PATIENCE
        while len(statuses) < times and process.poll() is None and time.monotonic() < deadline:
            now = state.read_bytes() if state.exists() else None
            if now != seen:
                seen = now
                process.send_signal(how)
                break
        output = process.communicate(timeout=PATIENCE)[0].decode(errors="replace")
        statuses.append(process.returncode)
        if process.returncode in (0, 1) or len(statuses) > times:
            return statuses, output


def function_libraries_arrive_or_are_missed_by_name():
    code = "#!lua name=%s\nredis.register_function('%s', function() return %d end)"
    with Peer("valkey-server") as first, Peer("redis-server") as second, varve() as here, tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch:
        client, other = first.connect(), second.connect()
        client.command("SET", "a", "1")
        for name in ("one", "two"):
            client.command("FUNCTION", "LOAD", code % (name, name, 1))
        output = tool("varve-import", "--compare", at(first), at(second), status=1)[1]
        assert 'function library "one": only in the first' in output and "2 function libraries differ" in output, output
        output = tool("varve-import", at(first), "--to", at(second), status=0)[1]
        assert "2 function libraries were sent, 0 left out" in output, output
        assert other.command("FCALL", "two", 0) == 1
        other.command("FUNCTION", "LOAD", "REPLACE", code % ("two", "two", 2))
        other.command("FUNCTION", "LOAD", code % ("three", "three", 1))
        output = tool("varve-import", "--compare", at(first), at(second), status=1)[1]
        assert 'function library "two": another code' in output and 'library "three": only in the second' in output, output
        tool("varve-import", "--compare", at(first), at(second), "--no-functions", status=0)
        output = tool("varve-import", at(first), "--to", at(second), status=0)[1]
        assert 'library "three": only in the second' in output, output

        output = tool("varve-import", at(first), "--to", at(here), status=0)[1]
        assert "2 function libraries were sent, 0 left out" in output, output
        own = here.connect()
        assert own.command("FCALL", "two", 0) == 1
        # Functions of another library are in the way.
        own.command("FUNCTION", "FLUSH")
        both = "".join("\nredis.register_function('%s', function() end)" % name for name in ("one", "two"))
        assert own.command("FUNCTION", "LOAD", "#!lua name=other" + both) == b"other"
        output = tool("varve-import", at(first), "--to", at(here), status=1)[1]
        assert 'failed: function library "one"' in output and "2 failed" in output, output
        output = tool("varve-import", at(first), "--to", at(here), "--no-functions", status=0)[1]
        assert "0 function libraries were sent, 2 left out" in output, output
        path = pathlib.Path(scratch, "x.aof")
        path.write_bytes(command_of(b"FUNCTION", b"LOAD", (code % ("one", "one", 1)).encode()) + command_of(b"SET", b"b", b"1"))
        assert "function library" in tool("varve-import", path, "--to", at(here), status=1)[1]
        tool("varve-import", path, "--to", at(here), "--no-functions", status=0)
        tool("varve-import", RDB / "valkey-9.1.2-functions.rdb", "--to", at(here), status=0)


def commands_that_do_the_same_twice_go_on_after_a_sudden_death():
    count = 150_000
    commands = [command_of(b"SELECT", b"3")]
    for number in range(count):
        key, value = b"%d" % (number % 5000), b"%d" % number
        commands += [command_of(b"SET", b"string:" + key, value), command_of(b"HSET", b"hash", key, value), command_of(b"DEL", b"string:%d" % (number % 7))]
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as server:
        path, state = pathlib.Path(scratch, "x.aof"), pathlib.Path(scratch, "state")
        path.write_bytes(b"".join(commands))
        statuses, output = ended_early([path, "--to", at(server), "--resume", state], state, signal.SIGKILL, 10)
        assert statuses == [-signal.SIGKILL] * 10 + [0], (statuses, output)
        client = server.connect()
        client.command("SELECT", 3)
        assert client.command("DBSIZE") == 5000 - 7 + 1 and client.command("HLEN", "hash") == 5000
        for number in range(count - 4000, count):
            key = "%d" % (number % 5000)
            assert client.command("HGET", "hash", key) == b"%d" % number
            assert client.command("GET", "string:" + key) == b"%d" % number


def an_import_that_is_asked_to_stop_ends_behind_what_is_under_way():
    count = 300_000
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as server:
        path, state = pathlib.Path(scratch, "x.aof"), pathlib.Path(scratch, "state")
        path.write_bytes(command_of(b"INCR", b"a") * count)
        words = [path, "--to", at(server), "--resume", state]
        for how in (signal.SIGINT, signal.SIGTERM):
            server.connect().command("FLUSHALL")
            statuses, output = ended_early(words, state, how, 10)
            # Between two batches it ends at once.
            assert statuses[-1] == 0 and set(statuses[:-1]) <= {2, -how} and 2 in statuses, (statuses, output)
            assert server.connect().command("GET", "a") == b"%d" % count
            state.unlink()


def forms_of_files_arrive_as_clients_may_send_them_and_nothing_else_is_done_to_the_server():
    stream = [command_of(b"XADD", b"s", b"%d-1" % number, b"f", b"v") for number in range(1, 4)]
    trimmed = [
        command_of(b"XADD", b"s", b"MAXLEN", b"=", b"3", b"LIMIT", b"250", b"4-1", b"f", b"v"),
        command_of(b"XTRIM", b"s", b"MINID", b"=", b"3-1", b"LIMIT", b"7"),
    ]
    others = [b"CONFIG SET maxmemory 1", b"CLIENT REPLY OFF", b"EXEC", b"SUBSCRIBE c", b"MONITOR", b"AUTH x", b"SHUTDOWN"]
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as server:
        client, path = server.connect(), pathlib.Path(scratch, "x.aof")
        path.write_bytes(b"".join(stream + trimmed + [command_of(*other.split()) for other in others] + [command_of(b"SET", b"behind", b"it")]))
        output = tool("varve-import", path, "--to", at(server), status=0)[1]
        assert "7 commands that change no data were left out" in output, output
        assert (client.command("XLEN", "s"), client.command("GET", "behind")) == (2, b"it")
        assert client.command("CONFIG", "GET", "maxmemory") == [b"maxmemory", b"0"]


def keys_whose_deadlines_were_moved_arrive_in_import_mode_and_are_warned_of_without_it():
    now = int(time.time() * 1000)
    moved = [command_of(b"PEXPIREAT", b"a", b"%d" % (now + after)) for after in (-20_000, -10_000, 1_000_000)]
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as server:
        client, path = server.connect(), pathlib.Path(scratch, "x.aof")
        path.write_bytes(command_of(b"HSET", b"a", b"f", b"1") + b"".join(moved))
        output = tool("varve-import", path, "--to", at(server), status=0)[1]
        assert "CONFIG SET import-mode yes" in output and client.command("EXISTS", "a") == 0, output
        client.command("CONFIG", "SET", "import-mode", "yes")
        output = tool("varve-import", path, "--to", at(server), status=0)[1]
        client.command("CONFIG", "SET", "import-mode", "no")
        assert "import-mode" not in output and client.command("HGET", "a", "f") == b"1", output
        assert client.command("PEXPIRETIME", "a") == now + 1_000_000


def commands_whose_fate_is_not_known_are_not_sent_twice():
    with tempfile.TemporaryDirectory(prefix="varve-tools-") as scratch, varve() as server:
        path, state = pathlib.Path(scratch, "x.aof"), pathlib.Path(scratch, "state")
        path.write_bytes(b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n" * 50_000)
        gate = Gate(server.port)
        gate.left = 500_000
        to = "127.0.0.1:%d" % gate.port
        tool("varve-import", path, "--to", to, "--resume", state, status=2)
        gate.left = None
        output = tool("varve-import", path, "--to", to, "--resume", state, status=2)[1]
        assert re.search(r"bytes \d+ to \d+ were under way .*: 1000 commands .*for example .INCR a.:", output), output


def passwords_come_from_options_or_the_environment():
    with varve(config="requirepass secret\n") as server:
        sample = RDB / "valkey-9.1.2.rdb"
        assert tool("varve-import", sample, "--to", at(server))[0] == 2
        tool("varve-import", sample, "--to", at(server), "--password", "secret", status=0)
        tool("varve-import", sample, "--to", "redis://:secret@" + at(server), status=0)
        assert tool("varve-import", sample, "--to", "127.0.0.1:1")[0] == 2
        assert tool("varve-import", "no-such-file", "--to", at(server))[0] == 2


def servers_behind_tls_are_read_filled_and_compared():
    with tempfile.TemporaryDirectory() as folder:
        ca = Authority(folder).person("server").person("client")
        files = ["--cacert", ca.path("ca", "crt"), "--cert", ca.path("client", "crt"), "--key", ca.path("client", "key")]
        with Server("--tls-port", free_port(), *ca.settings()) as source, varve() as target:
            fill(source.port, strings=50)
            encrypted = "rediss://127.0.0.1:%s" % source.connect().command("CONFIG", "GET", "tls-port")[1].decode()
            tool("varve-import", encrypted, "--to", at(target), *files, status=0)
            tool("varve-import", "--compare", encrypted, at(target), *files, status=0)
            target.connect().command("SET", "more", "1")
            tool("varve-import", "--compare", at(target), encrypted, *files, status=1)
            tool("varve-import", at(target), "--to", encrypted, *files, status=0)
            tool("varve-import", "--compare", at(target), encrypted, *files, status=0)
            assert "rediss:// needs --cacert FILE" in tool("varve-import", encrypted, "--to", at(target), status=2)[1]
            wrong = ["--cacert", ca.path("client", "crt")]
            assert tool("varve-import", encrypted, "--to", at(target), *wrong)[0] == 2
            assert tool("varve-import", encrypted, "--to", at(target), *files[:2])[0] == 2, "it has to show a certificate"


def a_library_that_a_server_refuses_is_told():
    with tempfile.TemporaryDirectory() as folder:
        path, sample = pathlib.Path(folder, "dump.rdb"), RDB / "valkey-9.1.2-functions.rdb"
        damaged = sample.read_bytes().replace(b"register_function", b"register_functiom")
        path.write_bytes(damaged[:-8] + bytes(8))  # without a checksum
        output = tool("varve-check", path, status=1)[1]
        assert "whole, but refused: the library '#!lua name=" in output and "nonexistent global" in output, output


def settings_are_judged_with_their_users_and_files():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ca = Authority(folder).person("server").person("other").person("old", days="-1")

        def judged(*lines, status=1):
            (folder / "varve.conf").write_text("\n".join(map(str, ("dir " + str(folder), *lines))) + "\n")
            return tool("varve-check", folder / "varve.conf", status=status)[1]

        def of_tls(who, key=None):
            return ["tls-port 1", "tls-cert-file " + who + ".crt", "tls-key-file " + (key or who) + ".key", "tls-ca-cert-file ca.crt"]

        assert "a server can start with them" in judged("port 1", *of_tls("server"), "user app on >x ~app:* +@read", status=0)
        assert "the certificate has expired" in judged(*of_tls("old"), status=0)
        assert "no-such-setting" in judged("no-such-setting 1")
        assert "other.key" in judged(*of_tls("server", "other"))
        assert "`tls-cert-file`: nobody.crt" in judged(*of_tls("nobody", "server"))
        assert "an existing directory" in judged("dir /nowhere/at/all")
        both = judged("user app +nothing", *of_tls("server", "other"))
        assert "user app: '+nothing'" in both and "Failed to configure TLS" in both, both
        assert "SECRET" not in judged("user app >SECRET +nothing")
        (folder / "users.acl").write_text("user app on +nothing\n")
        assert "users.acl:1" in judged("aclfile users.acl")
        assert tool("varve-check", folder / "varve.conf", "--fix")[0] == 2


CASES = [case for case in list(globals().values()) if inspect.isfunction(case) and case.__module__ == __name__ and not inspect.signature(case).parameters]
CASES = [case for case in CASES if case.__name__ not in ("samples", "varve", "main")]


def main():
    missing = [name for name in ("varve-check", "varve-import") if not (TOOLS / name).exists()]
    assert not missing, "%s: not in %s; build them" % (", ".join(missing), TOOLS)
    failed = 0
    for case in CASES:
        if len(sys.argv) > 1 and case.__name__ not in sys.argv[1:]:
            continue
        began, name = time.monotonic(), case.__name__.replace("_", " ")
        try:
            case()
            print("ok      %-70s %5.1f s" % (name, time.monotonic() - began))
        except Skipped as why:
            print("skipped %s: %s" % (name, why))
        except (AssertionError, OSError, subprocess.SubprocessError):
            failed += 1
            print("FAILED  " + name)
            traceback.print_exc()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
