#!/usr/bin/env python3
"""Starts the server named by VARVE_SERVER on RDB files, good ones and damaged ones, and checks what clients and operators see.

    VARVE_SERVER=target/release/varve-server tests/process/loading.py [CASE ...]
"""

import inspect
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time
import traceback

from run import PATIENCE, Error, Server, Tagged

SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "rdb"
HEAD, END = b"REDIS0011", b"\xff" + bytes(8)  # a checksum of zero stands for none


def text(value):
    """A text of less than 16,384 bytes, as it is."""
    return (bytes([len(value)]) if len(value) < 64 else struct.pack(">H", 0x4000 | len(value))) + value


def pair(number, value, deadline=None):
    """A string under the name of a number."""
    when = b"" if deadline is None else b"\xfc" + struct.pack("<q", deadline)
    return when + b"\x00" + text(b"key%d" % number) + text(value)


class Loading(Server):
    """A server that finds a file when it starts."""

    awaits_data = False

    def __init__(self, data, *settings):
        self.source = tempfile.TemporaryDirectory(prefix="varve-loading-")
        pathlib.Path(self.source.name, "dump.rdb").write_bytes(data)
        super().__init__(*settings, "--dir", self.source.name)

    def __exit__(self, *rest):
        super().__exit__(*rest)
        self.source.cleanup()

    def loaded(self):
        """Waits until everything is loaded, and returns a connection."""
        client = self.connect()
        self.until(lambda: not isinstance(client.command("PING"), Error))
        return client


def fails(data, *settings):
    """Starts a server that must refuse its file; what it says."""
    server = Loading(data, *settings)
    try:
        status = server.process.wait(PATIENCE)
        output = server.output.read_text()
        assert status == 1, "status %d: %s" % (status, output)
        assert "panicked" not in output, output
        return output
    finally:
        server.__exit__(None, None, None)


def case_clients_wait_while_data_is_loaded_and_see_how_far_it_is():
    count = 1_000_000
    body = b"\xfa" + text(b"used-mem") + text(b"1234567") + b"".join(pair(number, b"value") for number in range(count))
    with Loading(HEAD + body + END) as server:
        client = server.connect()
        answer = client.command("GET", "key1")
        assert answer == Error(b"LOADING Valkey is loading the dataset in memory"), answer
        told = lambda: client.command("INFO", "persistence").decode()
        server.until(lambda: "loading_rdb_used_mem:1234567" in told())
        info = told()
        for field in ("loading:1", "loading_total_bytes:%d" % (len(body) + 18), "loading_loaded_perc:", "loading_eta_seconds:"):
            assert field in info, info
        client = server.loaded()
        assert client.command("DBSIZE") == count
        info = client.command("INFO", "persistence").decode()
        assert "loading:0" in info and "rdb_last_load_keys_loaded:%d" % count in info, info


def case_a_transaction_of_what_is_refused_while_data_is_loaded_is_discarded():
    data = HEAD + b"".join(pair(number, b"v") for number in range(1000)) + END
    with Loading(data, "--key-load-delay", "1000000", "--threads", "2") as server:
        refused, allowed, watching = (server.connect() for _ in range(3))
        loading = Error(b"LOADING Valkey is loading the dataset in memory")
        assert [refused.command(*words) for words in (("MULTI",), ("GET", "key1"))] == [b"OK", loading]
        assert [allowed.command(*words) for words in (("MULTI",), ("ECHO", "x"), ("EXEC",))] == [b"OK", b"QUEUED", [b"x"]]
        assert watching.command("WATCH", "key999") == b"OK"
        assert watching.command("CONFIG", "SET", "key-load-delay", "0") == b"OK"
        client = server.loaded()
        assert client.command("DBSIZE") == 1000
        assert refused.command("EXEC") == Error(b"EXECABORT Transaction discarded because of previous errors.")
        assert refused.command("GET", "key1") == b"v"
        # What is loaded is not a change.
        assert [watching.command(*words) for words in (("MULTI",), ("GET", "key999"), ("EXEC",))] == [b"OK", b"QUEUED", [b"v"]]


def case_memory_has_no_limit_while_data_is_loaded():
    body = b"".join(pair(number, b"x" * 1000) for number in range(30_000))
    with Loading(HEAD + body + END, "--maxmemory", "24mb", "--maxmemory-policy", "noeviction") as server:
        client = server.loaded()
        assert client.command("DBSIZE") == 30_000
        answer = client.command("SET", "a", "b")
        assert isinstance(answer, Error) and answer.startswith(b"OOM"), answer


def case_keys_past_their_deadline_are_left_out():
    now = int(time.time() * 1000)
    body = pair(1, b"a", 1) + pair(2, b"b", now + 100_000) + pair(3, b"c")
    with Loading(HEAD + body + END) as server:
        client = server.loaded()
        values = [client.command("GET", "key%d" % number) for number in (1, 2, 3)]
        assert isinstance(values[0], Tagged) and values[1:] == [b"b", b"c"], values
        assert 0 < client.command("PTTL", "key2") <= 100_000
        assert "rdb_last_load_keys_expired:1" in client.command("INFO", "persistence").decode()


def case_a_damaged_file_stops_the_start_and_is_named_with_the_place():
    output = fails(HEAD + pair(1, b"a") + b"\x00" + text(b"key2") + b"\xc9")
    assert "dump.rdb" in output and "byte 23" in output, output
    assert "wrong checksum" in fails(HEAD + pair(1, b"a") + b"\xff" + b"\x01" * 8)
    assert "twice" in fails(HEAD + pair(1, b"a") + pair(1, b"a") + END)
    assert "databases" in fails(HEAD + b"\xfe\x10" + pair(1, b"a") + END)
    assert "no RDB file" in fails(b"something else")
    assert "version 50" in fails(b"REDIS0050" + END)
    assert "module type" in fails((SAMPLES / "redis-8.0.6-module.rdb").read_bytes())


def case_a_shutdown_or_a_signal_ends_loading_at_once():
    data = HEAD + b"".join(pair(number, b"v") for number in range(1000)) + END
    for end in ("signal", "command", "settings"):
        with Loading(data, "--key-load-delay", "1000000", "--threads", "2") as server:
            client = server.connect()
            assert isinstance(client.command("GET", "key1"), Error)
            if end == "signal":
                server.process.terminate()
            elif end == "command":
                server.send(client, "SHUTDOWN", "NOSAVE")
            else:
                assert client.command("CONFIG", "SET", "key-load-delay", "-5") == b"OK"
                assert server.loaded().command("DBSIZE") == 1000
                continue
            assert server.process.wait(PATIENCE) == 0, server.output.read_text()


def case_a_file_that_is_refused_leaves_no_pid_file_and_no_socket():
    with tempfile.TemporaryDirectory(prefix="varve-loading-") as folder:
        files = [pathlib.Path(folder, "pid"), pathlib.Path(folder, "socket")]
        settings = ["--pidfile", str(files[0]), "--unixsocket", str(files[1])]
        assert "no RDB file" in fails(b"something else", *settings)
        assert not any(file.exists() for file in files)
        assert "appendonlydir" in fails(END, *settings, "--appendonly", "yes", "--appenddirname", "dump.rdb/appendonlydir")
        assert not any(file.exists() for file in files)


def case_a_server_restores_what_it_dumps_and_a_journal_whatever_it_says():
    # The version of a payload in which DUMP writes deadlines of fields for Redis, which clients may not bring from elsewhere.
    with Loading(HEAD + END, "--rdb-reader", "redis") as server:
        client = server.loaded()
        client.command("HSET", "timed", "f", "v")
        client.command("HPEXPIREAT", "timed", "33000000000000", "FIELDS", "1", "f")
        payload = client.command("DUMP", "timed")
        assert payload[-10] == 12 and client.command("RESTORE", "again", 0, payload) == b"OK"
        assert client.command("HPEXPIRETIME", "again", "FIELDS", "1", "f") == [33000000000000]
        client.command("CONFIG", "SET", "rdb-reader", "valkey")
        assert b"payload version" in client.command("RESTORE", "third", 0, payload)
    words = [b"RESTORE", b"third", b"0", payload]
    with tempfile.TemporaryDirectory(prefix="varve-loading-") as folder:
        pathlib.Path(folder, "appendonly.aof").write_bytes(b"*4\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        with Server("--appendonly", "yes", "--dir", folder) as server:
            client = server.connect()
            server.until(lambda: not isinstance(client.command("PING"), Error))
            assert client.command("HPEXPIRETIME", "third", "FIELDS", "1", "f") == [33000000000000]


def case_several_threads_load_what_one_loads():
    chance = random.Random(5)
    # Values around the borders between one piece and many, packed and not.
    members = [b"".join(text(b"%d-%d" % (at, number)) for number in range(count)) for at, count in enumerate((1, 100, 130, 5000, 200_000))]
    counts = (1, 100, 130, 5000, 200_000)
    size = lambda count: b"\x80" + struct.pack(">I", count)
    body = b""
    for kind in (b"\x01", b"\x02"):
        body += b"".join(kind + text(b"c%d%d" % (kind[0], count)) + size(count) + rows for count, rows in zip(counts, members))
    scored = b"".join(text(b"m%d" % number) + struct.pack("<d", number % 1000) for number in range(200_000))
    body += b"\x05" + text(b"z") + size(200_000) + scored
    body += b"\x04" + text(b"h") + size(100_000) + b"".join(text(b"f%d" % number) + text(b"v%d" % number) for number in range(100_000))
    body += b"\x00" + text(b"long") + b"\x80" + struct.pack(">I", 3_000_000) + chance.randbytes(3_000_000)
    body += b"".join(pair(number, b"v" * (number % 300)) for number in range(20_000))
    digests = set()
    for threads in (1, 2, 5):
        with Loading(HEAD + body + END, "--threads", str(threads), "--enable-debug-command", "yes") as server:
            client = server.loaded()
            assert client.command("DBSIZE") == 20_013
            assert client.command("SCARD", "c2200000") == 200_000 and client.command("LLEN", "c1200000") == 200_000
            digests.add(client.command("DEBUG", "DIGEST"))
            assert client.command("DEBUG", "RELOAD") == b"OK"
            digests.add(client.command("DEBUG", "DIGEST"))
    assert len(digests) == 1, digests


def case_a_large_hash_needs_less_than_twice_its_size_while_it_is_loaded():
    count, value = 1_800_000, b"v" * 100
    rows = b"".join(b"\x0dfield:%07d\x40\x64%b" % (number, value) for number in range(count))
    size = len(rows)
    with Loading(HEAD + b"\x04" + text(b"h") + b"\x80" + struct.pack(">I", count) + rows + END) as server:
        del rows
        client = server.loaded()
        assert client.command("HLEN", "h") == count
        assert client.command("HGET", "h", "field:%07d" % (count - 1)) == value
        status = pathlib.Path("/proc/%d/status" % server.process.pid).read_text()
        peak = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
        assert peak < 2 * size, "%d MB at the peak for %d MB" % (peak >> 20, size >> 20)


def case_data_stays_where_another_file_fails_in_its_place():
    good = b"".join(pair(number, b"v" * (number % 50)) for number in range(3000)) + b"\xfe\x03" + pair(7, b"elsewhere")
    with Loading(HEAD + good + END, "--enable-debug-command", "yes") as server:
        client = server.loaded()
        digest, file = client.command("DEBUG", "DIGEST"), pathlib.Path(server.source.name, "dump.rdb")
        members = b"".join(text(b"member-%d" % number) for number in range(200_000))
        large = b"\x02" + text(b"large") + b"\x80" + struct.pack(">I", 200_000) + members
        bad = [large + pair(7, b"other") * 2 + END, large + b"\xfe\x05" + pair(7, b"cut short")[:-3], b"\x00\x01k\xc9", b""]
        for body in bad:
            file.write_bytes(HEAD + body)
            answer = client.command("DEBUG", "RELOAD", "NOSAVE")
            assert answer == Error(b"ERR Error trying to load the RDB dump, check server logs."), answer
            assert client.command("DEBUG", "DIGEST") == digest and client.command("DBSIZE") == 3000
        file.write_bytes(HEAD + large + b"\xfe\x05" + pair(7, b"five") + END)
        assert client.command("DEBUG", "RELOAD", "NOSAVE") == b"OK"
        assert client.command("DBSIZE") == 1 and client.command("SCARD", "large") == 200_000
        assert client.command("SELECT", 3) == b"OK" and client.command("DBSIZE") == 0
        assert client.command("SELECT", 5) == b"OK" and client.command("GET", "key7") == b"five"


def case_damage_far_behind_is_told_with_its_place_however_many_load():
    good = b"".join(pair(number, b"v" * 100) for number in range(100_000))
    twice = b"\x02" + text(b"twice") + b"\x80" + struct.pack(">I", 200_001)
    twice += b"".join(text(b"member-%d" % number) for number in range(200_000)) + text(b"member-77")
    for bad, words in ((pair(77, b"w"), "twice"), (b"\x00" + text(b"k") + b"\xc9", "byte"), (twice, "the same member twice"), (b"\x02\x01s\x81" + b"\x7f" * 8, "ends too early")):
        for threads in ("1", "3"):
            output = fails(HEAD + good + bad + good[:0] + (END if words != "ends too early" else b""), "--threads", threads)
            assert words in output, output


def case_another_file_is_loaded_where_the_setting_names_it():
    with Loading(HEAD + pair(1, b"a") + END, "--dbfilename", "other.rdb") as server:
        assert server.loaded().command("DBSIZE") == 0


def case_files_that_are_cut_or_changed_are_refused_or_loaded():
    chance = random.Random(7)
    whole = (SAMPLES / "valkey-9.1.2.rdb").read_bytes()
    for at in [chance.randrange(len(whole)) for _ in range(25)]:
        assert "byte" in fails(whole[:at])
    for _ in range(25):
        changed = bytearray(whole)
        changed[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        assert "dump.rdb" in fails(bytes(changed)), "the checksum does not fit"


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
