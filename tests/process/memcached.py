#!/usr/bin/env python3
"""The same keys for clients of Memcached's protocol.

What tests/memcached holds was recorded from Memcached 1.6.45, and is asked of it again where it is at hand.
"""
import contextlib
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "memcached"))

from peers import PEERS, are_there
from play import Line, play
from ports import free_port
from replicas import fields
from resp import Error, Tagged
from run import PATIENCE, Server, run

PLAYED = sorted((pathlib.Path(__file__).resolve().parent.parent / "memcached").glob("*.txt"))


@contextlib.contextmanager
def server(*settings):
    """A server with a client of RESP, and the port of the other protocol."""
    port = free_port()
    with Server("--memcached-port", port, *settings) as it:
        it.db, it.memcached = it.connect(), port
        yield it


def line(it):
    return Line("127.0.0.1", it.memcached)


def answers(it, *lines):
    return line(it).ask(b"".join(each + b"\r\n" for each in lines))


def what_memcached_answers_is_answered():
    for threads in (1, 2):
        with server("--threads", threads, "--memcached-max-item-size", "1mb") as it:
            for path in PLAYED:
                different, count = play("127.0.0.1", it.memcached, path)
                assert not different and count > 5, (path.name, different[:1])
    if not are_there():
        return "there are no peers"
    port = free_port()
    peer = subprocess.Popen([PEERS, "run", "memcached", "-u", "root", "-l", "127.0.0.1", "-U", "0", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(ConnectionRefusedError):
                Line("127.0.0.1", port)
                break
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for path in PLAYED:
            different, _ = play("127.0.0.1", port, path)
            assert not different, (path.name, different[:1])
    finally:
        peer.terminate()
        peer.wait()


def both_protocols_see_the_same_keys():
    with server("--threads", "2", "--notify-keyspace-events", "KEA", "--databases", "4", "--memcached-database", "3") as it:
        it.db.command("SELECT", "3")
        listener = it.connect()
        listener.command("PSUBSCRIBE", "__keyevent@3__:*")
        assert answers(it, b"set k 5 100 3", b"abc", b"incr n 1", b"set n 0 0 1", b"9", b"incr n 1", b"append k 0 0 1", b"d", b"touch k 200", b"delete n") == (
            b"STORED\r\nNOT_FOUND\r\nSTORED\r\n10\r\nSTORED\r\nTOUCHED\r\nDELETED\r\n"
        )
        events = [listener.read()[2:] for _ in range(7)]
        assert events == [[b"__keyevent@3__:" + event, key] for event, key in ((b"set", b"k"), (b"expire", b"k"), (b"set", b"n"), (b"incrby", b"n"), (b"append", b"k"), (b"expire", b"k"), (b"del", b"n"))], events
        assert it.db.command("GET", "k") == b"abcd" and 190 < it.db.command("TTL", "k") <= 200
        it.db.command("SET", "r", "12")
        it.db.command("LPUSH", "list", "x")
        assert answers(it, b"get r list k", b"incr r 5", b"append list 0 0 1", b"x", b"mg list v", b"add list 0 0 1", b"x", b"incr list 1", b"touch list 0", b"cas list 0 0 1 1", b"x") == (
            b"VALUE r 0 2\r\n12\r\nVALUE k 5 4\r\nabcd\r\nEND\r\n17\r\nNOT_STORED\r\nEN\r\nNOT_STORED\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\nTOUCHED\r\nNOT_FOUND\r\n"
        )
        assert answers(it, b"set list 1 0 1", b"y", b"get list") == b"STORED\r\nVALUE list 1 1\r\ny\r\nEND\r\n"
        it.db.command("APPEND", "list", "z")
        assert answers(it, b"get list") == b"VALUE list 1 2\r\nyz\r\nEND\r\n", "flags stay where the value is changed"
        it.db.command("SET", "a b", "x")
        it.db.command("SET", "a\r\nEN", "y")
        assert answers(it, b"mg YSBi b k v", b"mg YQ0KRU4= b k v") == b"VA 1 kYSBi b\r\nx\r\nVA 1 kYQ0KRU4= b\r\ny\r\n", "a key that no line can name ends none"
        it.db.command("SET", "list", "new")
        assert answers(it, b"get list") == b"VALUE list 0 3\r\nnew\r\nEND\r\n", "and go where it is replaced"
        watcher = it.connect()
        watcher.command("SELECT", "3")
        watcher.command("WATCH", "w")
        answers(it, b"set w 0 0 1", b"x")
        watcher.command("MULTI")
        assert isinstance(watcher.command("EXEC"), Tagged)
        monitor = it.connect()
        assert monitor.command("MONITOR") == b"OK"
        answers(it, b"get r")
        assert b'"get" "r"' in monitor.read()
        stats = it.db.command("INFO", "commandstats").decode()
        assert re.search(r"cmdstat_mc\|get:calls=\d", stats) and "cmdstat_mc|set" in stats, stats
        assert repr(it.db.command("COMMAND", "INFO", "mc")) == repr(it.db.command("COMMAND", "INFO", "nosuch"))
        assert it.db.command("MC", "GET", "r").startswith(b"ERR unknown command 'MC'")
        assert answers(it, b"flush_all", b"get r k") == b"OK\r\nEND\r\n" and it.db.command("DBSIZE") == 0


def a_line_of_keys_is_answered_whole_however_it_comes():
    with server("--threads", "2") as it:
        keys = [b"key:%03d" % number for number in range(100)]
        it.db.command("MSET", *(word for key in keys for word in (key, key * 3)))
        whole = b"".join(b"VALUE %s 0 21\r\n%s\r\n" % (key, key * 3) for key in keys) + b"END\r\n"
        asked = b"get " + b" ".join(keys)
        assert answers(it, asked) == whole and answers(it, b"gat 0 " + b" ".join(keys)) == whole
        client = line(it)
        for byte in asked + b"\r\n":
            client.socket.sendall(bytes([byte]))
        assert client.ask(b"") == whole
        it.db.command("CLIENT", "PAUSE", "100000", "WRITE")
        client.socket.sendall(b"gat 0 " + b" ".join(keys) + b"\r\n" + b"gets none\r\n" + asked + b"\r\n")
        it.until(lambda: int(fields(it.db, "clients")["blocked_clients"]) == 1)
        it.db.command("CLIENT", "UNPAUSE")
        assert client.ask(b"") == whole + b"END\r\n" + whole
        many = b"get " + b" ".join(keys * 1000)
        client.socket.sendall(many + b"\r\n" + b"mn\r\n")
        got = b""
        while not got.endswith(b"MN\r\n"):
            got += client.socket.recv(1 << 20)
        assert len(got) == (len(whole) - 5) * 1000 + 9 and got.startswith(whole[:100])
        slow = line(it)
        def send():
            with contextlib.suppress(OSError):
                [slow.socket.sendall(b"get " + b" ".join(keys * 20) + b"\r\n") for _ in range(400)]

        sent = threading.Thread(target=send)
        sent.start()
        assert it.resident_mib() < 400
        slow.socket.shutdown(socket.SHUT_RDWR)
        sent.join()
        assert answers(it, asked) == whole


def a_line_of_many_keys_is_one_command_for_those_who_count():
    with server("--threads", "2", "--slowlog-log-slower-than", "0", "--maxmemory-policy", "noeviction") as it:
        def counts(name):
            return dict(pair.split("=") for pair in fields(it.db, "commandstats").get("cmdstat_mc|" + name, "calls=0,rejected_calls=0,failed_calls=0").split(","))

        def entries():
            found = it.db.command("SLOWLOG", "GET", "-1")
            return [entry[3] for entry in found if entry[3][0].startswith((b"g", b"(empty"))]

        keys = [b"key:%03d" % number for number in range(100)]
        it.db.command("MSET", *(word for key in keys for word in (key, key * 3)))
        for words, name in ((b"get", "get"), (b"gats 1000", "gats")):
            it.db.command("SLOWLOG", "RESET")
            client = line(it)
            asked = words + b" " + b" ".join(keys) + b"\r\n"
            answered = client.ask(asked)
            assert counts(name)["calls"] == "1" and float(counts(name)["usec_per_call"]) >= 1, counts(name)
            histogram = it.db.command("LATENCY", "HISTOGRAM", "mc|" + name)
            assert histogram[1][1] == 1, histogram
            [entry] = entries()
            before, more = len(words.split()), len(words.split()) + len(keys)
            shown = re.fullmatch(rb"\.\.\. \((\d+) more arguments\)", entry[-1])
            assert entry[:before] == words.split() and shown and int(shown[1]) + len(entry) - 1 == more, entry
            number = client.socket.getsockname()[1]
            [told] = [told for told in it.db.command("CLIENT", "LIST").decode().splitlines() if f":{number} " in told]
            facts = dict(pair.split("=", 1) for pair in told.split(" ", 3)[3].split(" ") if "=" in pair)
            assert facts["tot-cmds"] == "2", told  # the other one is mn
            large = it.db.command("COMMANDLOG", "GET", "-1", "large-reply")
            assert not large
            it.db.command("CONFIG", "SET", "commandlog-request-larger-than", len(asked), "commandlog-reply-larger-than", len(answered))
            assert client.ask(asked) == answered
            for kind, size in (("large-request", len(asked)), ("large-reply", len(answered))):
                [entry] = it.db.command("COMMANDLOG", "GET", "-1", kind)
                assert entry[2] == size, (entry, size)
                it.db.command("COMMANDLOG", "RESET", kind)
            it.db.command("CONFIG", "SET", "commandlog-request-larger-than", "1048576", "commandlog-reply-larger-than", "1048576")
        # What a reply lends from where it lies is counted too.
        big = b"x" * (4 << 20)
        assert client.ask(b"set key:big 0 0 %d\r\n" % len(big) + big + b"\r\n") == b"STORED\r\n"
        answered = client.ask(b"get key:big " + b" ".join(keys) + b"\r\n")
        [entry] = it.db.command("COMMANDLOG", "GET", "-1", "large-reply")
        assert entry[2] == len(answered) and entry[3][:3] == [b"get", b"key:big", keys[0]] and entry[3][-1] == b"... (71 more arguments)", entry
        it.db.command("COMMANDLOG", "RESET", "large-reply")
        # One that is refused is one refusal, whether before its first part or in the middle.
        asked = b"gets " + b" ".join(keys)
        errors = lambda: int(fields(it.db, "stats")["total_error_replies"])
        before = errors()
        it.db.command("MSET", *(word for key in keys for word in (key, key)))
        it.db.command("CONFIG", "SET", "maxmemory", "1")
        assert answers(it, asked) == b"SERVER_ERROR out of memory storing object\r\n"
        assert (counts("gets")["calls"], counts("gets")["failed_calls"], counts("gets")["rejected_calls"]) in (("1", "1", "0"), ("0", "0", "1"))
        assert errors() == before + 1
        it.db.command("CONFIG", "SET", "maxmemory", "0")
        it.db.command("ACL", "SETUSER", "default", "-get")
        assert answers(it, asked, b"get key:000") == b"CLIENT_ERROR gets not allowed\r\nCLIENT_ERROR get not allowed\r\n"
        assert errors() == before + 3
        it.db.command("ACL", "SETUSER", "default", "+get")
        # A part in the middle or at the end may be refused: what the others took counts, and stays with this line.
        it.db.command("ACL", "SETUSER", "default", "resetkeys", "~key:*")
        it.db.command("CONFIG", "SET", "commandlog-request-larger-than", "1")
        before = int(counts("get")["calls"])
        client = line(it)
        for at in (0, 40, 100):
            it.db.command("COMMANDLOG", "RESET", "large-request")
            asked = b"get " + b" ".join([*keys[:at], b"secret", *keys[at:]])
            answered = client.ask(asked + b"\r\nget key:001\r\n")
            assert answered.endswith(b"CLIENT_ERROR get not allowed\r\nVALUE key:001 0 7\r\nkey:001\r\nEND\r\n"), answered
            sizes = [entry[2] for entry in it.db.command("COMMANDLOG", "GET", "-1", "large-request") if entry[3][0] == b"get"]
            assert sizes == [13] + [len(asked) + 2] * (at > 0), (at, sizes)
        assert int(counts("get")["calls"]) == before + 5 and counts("get")["rejected_calls"] == "4", counts("get")
        it.db.command("ACL", "SETUSER", "default", "~*")
        it.db.command("CONFIG", "SET", "commandlog-request-larger-than", "1048576")
        monitor = it.connect()
        assert monitor.command("MONITOR") == b"OK"
        answers(it, b"gat 7 " + b" ".join(keys))
        seen = []
        while len(seen) < len(keys):
            words = monitor.read().split(b"] ", 1)[1].split(b" ")
            if words[0] == b'"gat"':
                assert words[1] == b'"7"'
                seen += words[2:]
        assert seen == [b'"' + key + b'"' for key in keys]


def what_is_too_large_is_swallowed_and_kept_nowhere():
    with server("--memcached-max-item-size", "1mb") as it:
        client, before = line(it), it.resident_mib()
        assert client.ask(b"set k 0 0 1\r\nx\r\n") == b"STORED\r\n"
        client.socket.sendall(b"set k 0 0 200000000\r\n")
        for _ in range(200):
            client.socket.sendall(bytes(1000000))
            assert it.resident_mib() - before < 60
        assert client.ask(b"\r\nget k\r\n") == b"SERVER_ERROR object too large for cache\r\nEND\r\n"
        client.socket.sendall(b"ms k 2000000 q\r\n" + bytes(1999999))
        assert client.ask(b"x\r\nmg k\r\n") == b"SERVER_ERROR object too large for cache\r\nEN\r\n"
        assert client.ask(b"add k 0 0 2000000\r\n" + bytes(2000000) + b"\r\n" + b"set " + b"k" * 251 + b" 0 0 3\r\nabc\r\n") == (
            b"SERVER_ERROR object too large for cache\r\nCLIENT_ERROR bad command line format\r\n"
        )
        assert it.db.command("CONFIG", "SET", "memcached-max-item-size", "0") == b"OK"
        for size in (524287, 524288, 524289, 5000000, 100000000):
            value = b"%09d" % size * (size // 9) + b"x" * (size % 9)
            client.socket.sendall(b"set big 7 0 %d\r\n" % size)
            assert client.ask(value + b"\r\n") == b"STORED\r\n"
            assert it.db.command("STRLEN", "big") == size
            assert client.ask(b"get big\r\n") == b"VALUE big 7 %d\r\n%s\r\nEND\r\n" % (size, value)
            assert client.ask(b"mg big v f s\r\n") == b"VA %d f7 s%d\r\n%s\r\n" % (size, size, value)


def a_large_block_is_received_where_it_stays_whatever_its_line():
    size = 60_000_000
    value = b"%09d" % 7 * (size // 9) + b"x" * (size % 9)
    whole = value + b"\r\n"
    for asked, answer in (
        (b"set k 7 0 %d", b"STORED"),
        (b"cas k 7 0 %d {cas}", b"STORED"),
        (b"cas k 7 0 %d 1", b"EXISTS"),
        (b"add k 7 0 %d", b"NOT_STORED"),
        (b"replace k 7 0 %d", b"STORED"),
        (b"ms k %d F7 T100 s k", b"HD s%d kk" % size),
        (b"ms aw== %d b F7 s k", b"HD s%d kaw== b" % size),
        (b"ms k %d F7 C9000000000000 I", b"EX"),
        (b"ms k %d C{cas} MR F7 E12 c", b"HD c12"),
        (b"ms none %d MA", b"NS"),
        (b"ms none %d MA N0 F7", b"HD"),
        (b"ms none %d ME", b"HD"),
    ):
        with server("--threads", "2") as it:
            client, key = line(it), b"none" if b"none" in asked else b"k"
            if key == b"k":
                assert client.ask(b"set k 0 0 3\r\nold\r\n") == b"STORED\r\n"
            drawn = client.ask(b"mg k c\r\n").removeprefix(b"HD c").strip()
            before = it.resident_peak_mib()
            client.socket.sendall(asked.replace(b"{cas}", drawn) % size + b"\r\n")
            assert client.ask(whole) == answer + b"\r\n", asked
            assert it.resident_peak_mib() - before < 1.5 * size / (1 << 20), (asked, it.resident_peak_mib() - before)
            if answer.startswith((b"STORED", b"HD")):
                assert it.db.command("GET", key.decode()) == value, asked
                assert client.ask(b"mg %s f\r\n" % key) == (b"HD f0\r\n" if b"ME" in asked else b"HD f7\r\n"), asked
            elif key == b"k":
                assert it.db.command("GET", "k") == b"old", asked
            assert client.ask(b"mg k v\r\n")[:2] in (b"VA", b"EN")
    # What is there is extended by a block that lies apart, on both sides.
    with server("--threads", "2") as it:
        client = line(it)
        assert client.ask(b"set k 7 0 3\r\nold\r\n") == b"STORED\r\n"
        for asked, expected in ((b"ms k 600000 MA s", b"old" + value[:600000]), (b"ms aw== 600000 MP s b", value[:600000] + b"old" + value[:600000])):
            assert client.ask(asked + b"\r\n" + value[:600000] + b"\r\n") == b"HD s%d\r\n" % len(expected)
            assert it.db.command("GET", "k") == expected and client.ask(b"mg k f\r\n") == b"HD f7\r\n"


def a_large_block_with_a_wrong_end_leaves_nothing_behind():
    with server("--threads", "1") as it:
        it.db.command("SET", "k", "old")
        block = b"\r\nset injected 0 0 1\r\nx\r\n" * 80000
        for behind, answer in ((b"", b""), (b"set k2 7 0 5\r\nhello\r\n", b"STORED\r\n"), (b"set k 7 0 5\r\nhello\r\n", b"STORED\r\n"), (b"get k\r\n", b"VALUE k 7 5\r\nhello\r\nEND\r\n")):
            client = line(it)
            client.socket.sendall(b"set k 0 0 %d\r\n" % len(block) + block[:700000])
            it.until(lambda: "tot-mem" in it.db.command("CLIENT", "LIST").decode())
            client.socket.sendall(block[700000:] + b"XX")
            assert client.ask(behind) == b"CLIENT_ERROR bad data chunk\r\n" + answer, behind
            assert it.db.command("EXISTS", "injected") == 0
        assert it.db.command("GET", "k2") == b"hello" and it.db.command("DBSIZE") == 2
        client.socket.sendall(b"get\r\n" * 2000000)
        other = it.connect()
        began = time.monotonic()
        assert other.command("PING") == b"PONG" and it.resident_mib() < 500
        assert time.monotonic() - began < PATIENCE


def one_client_of_many_is_told_to_write_an_item():
    with server("--threads", "4") as it:
        clients = [line(it) for _ in range(40)]
        for number in range(30):
            told = [None] * len(clients)
            asked = b"mg vivified:%d N30 v\r\n" % number
            ask = lambda at: told.__setitem__(at, clients[at].ask(asked))
            threads = [threading.Thread(target=ask, args=(at,)) for at in range(len(clients))]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            assert sorted(told) == [b"VA 0 W\r\n\r\n"] + [b"VA 0 Z\r\n\r\n"] * 39, sorted(told)


def what_is_refused_is_told_in_lines_of_the_protocol():
    with server("--maxclients", "3", "--maxmemory", "3mb") as it:
        client = line(it)
        it.db.command("SET", "k", "1")
        other, late = line(it), line(it)
        assert late.socket.recv(100) == b"ERROR Too many open connections\r\n"
        value = b"x" * 100000
        refused = [other.ask(b"set k%d 0 0 100000\r\n%s\r\n" % (number, value)) for number in range(60)]
        assert refused[-1] == b"SERVER_ERROR out of memory storing object\r\n" and refused[0] == b"STORED\r\n"
        assert other.ask(b"set k 0 0 100000 noreply\r\n%s\r\n" % value) == b"" and other.ask(b"get k\r\n") == b"VALUE k 0 1\r\n1\r\nEND\r\n"
    with server() as it:
        it.db.command("ACL", "SETUSER", "default", "-set", "+set|0")
        assert it.db.command("SET", "x", "1").startswith(b"NOPERM")
        assert answers(it, b"set secret 0 0 1", b"x", b"set 0 0 0 1", b"x") == b"CLIENT_ERROR set not allowed\r\nSTORED\r\n"
    try:
        with server("--memcached-database", "99"):
            refused = "it starts"
    except AssertionError as error:
        refused = str(error)
    assert "`memcached-database` is 99, and there are 16 databases" in refused, refused
    with server("--requirepass", "secret") as it:
        client = line(it)
        assert client.ask(b"get k\r\nset a 0 0 14\r\ndefault secret\r\n").startswith(b"CLIENT_ERROR unauthenticated\r\nSTORED\r\n")
        it.db.command("AUTH", "secret")
        it.db.command("ACL", "SETUSER", "reader", "on", ">pass", "+get", "~app:*")
        it.db.command("SET", "app:k", "1")
        assert client.ask(b"get app:k\r\n") == b"VALUE app:k 0 1\r\n1\r\nEND\r\n"
        client = line(it)
        client.socket.sendall(b"set a 0 0 11\r\nreader pass\r\n")
        assert client.socket.recv(100) == b"STORED\r\n"
        client.socket.sendall(b"get app:k\r\nget other\r\nset app:k 0 0 1\r\nx\r\n")
        got = b""
        while got.count(b"not allowed") < 2:
            got += client.socket.recv(1000)
        assert got == b"VALUE app:k 0 1\r\n1\r\nEND\r\nCLIENT_ERROR get not allowed\r\nCLIENT_ERROR set not allowed\r\n", got
        client.socket.sendall(b"get " + b" ".join(b"other%d" % number for number in range(100)) + b"\r\nquit\r\n")
        got = b""
        while more := client.socket.recv(1000):
            got += more
        assert got == b"CLIENT_ERROR get not allowed\r\n", "a line is refused once"
    with server() as primary, server("--replicaof", "127.0.0.1 %d" % primary.port) as replica:
        replica.until(lambda: fields(replica.db, "replication")["master_link_status"] == "up")
        answers(primary, b"set k 0 0 1", b"x")
        replica.until(lambda: answers(replica, b"gets k").startswith(b"VALUE k 0 1 "))
        refused = answers(replica, b"set k 0 0 1", b"y", b"incr k 1")
        assert refused == b"SERVER_ERROR READONLY You can't write against a read only replica.\r\n" * 2, refused


def a_password_is_shown_to_nobody():
    with server("--slowlog-log-slower-than", "0") as it:
        it.db.command("ACL", "SETUSER", "u", "on", ">sesame", "~*", "+@all")
        monitor = it.connect()
        assert monitor.command("MONITOR") == b"OK"
        it.db.command("CONFIG", "SET", "requirepass", "zz")
        client = line(it)
        for words, answer in ((b"u wrong1", b"CLIENT_ERROR authentication failure"), (b"u sesame", b"STORED")):
            client.socket.sendall(b"set x 0 0 %d\r\n%s\r\n" % (len(words), words))
            assert client.socket.recv(100) == answer + b"\r\n"
        it.db.command("AUTH", "zz")
        logged = repr(it.db.command("SLOWLOG", "GET", "-1"))
        assert "(redacted)" in logged and "sesame" not in logged and "wrong1" not in logged, logged
        assert client.ask(b"get marker\r\n") == b"END\r\n"
        told = b""
        while b"marker" not in told:
            told += monitor.read()
        assert b"sesame" not in told and b"wrong1" not in told, told


def a_value_that_memory_can_never_hold_is_refused_before_it_comes():
    with server("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru") as it:
        client = line(it)
        it.db.command("MSET", *(word for number in range(1000) for word in ("k%d" % number, "v")))
        client.socket.sendall(b"set big 0 0 100000000\r\n")
        for _ in range(99):
            client.socket.sendall(bytes(1000000))
        assert it.db.command("DBSIZE") == 1000 and it.resident_mib() < 100
        assert client.ask(bytes(1000000) + b"\r\n") == b"SERVER_ERROR object too large for cache\r\n"


def what_is_written_is_there_after_a_restart():
    with tempfile.TemporaryDirectory() as folder:
        with server("--appendonly", "yes", "--appendfsync", "always", "--dir", folder) as it:
            answers(it, b"set k 0 1000 3", b"abc", b"append k 0 0 1", b"d", b"prepend k 0 0 1", b"-", b"set n 0 0 2", b"18", b"incr n 18446744073709551600", b"decr n 7", b"add gone 0 0 1", b"x", b"delete gone", b"mg made N100", b"ma count N0 J7", b"ma count D2", b"ms s 2 T500", b"ok", b"touch s 0", b"md s I", b"mg s v", b"md n I T900", b"mg n R1000 T800 t", b"gat 700 n", b"gats 600 n", b"ma count E99 D0")
            before = [it.db.command(*words) for words in (("MGET", "k", "n", "gone", "made", "count", "s"), ("PEXPIRETIME", "k"), ("PEXPIRETIME", "made"), ("PTTL", "s"), ("DEBUG", "DIGEST"))][:4]
            it.process.kill()
            it.process.wait()
        with server("--appendonly", "yes", "--dir", folder) as it:
            after = [it.db.command(*words) for words in (("MGET", "k", "n", "gone", "made", "count", "s"), ("PEXPIRETIME", "k"), ("PEXPIRETIME", "made"), ("PTTL", "s"))]
            same = lambda reply: [None if isinstance(each, Tagged) else each for each in reply] if isinstance(reply, list) else reply
            assert [same(each) for each in after] == [same(each) for each in before], (before, after)
            assert same(after[0])[:2] == [b"-abcd", b"0"]


def it_listens_where_the_settings_say_and_closes_what_it_cannot_speak():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "memcached.sock")
        with Server("--memcached-unixsocket", path) as it:
            assert path.exists()
            db, port = it.connect(), free_port()
            client = socket.socket(socket.AF_UNIX)
            client.connect(str(path))
            client.sendall(b"version\r\n")
            assert client.recv(100) == b"VERSION 1.6.45\r\n"
            assert db.command("CONFIG", "SET", "memcached-port", port) == b"OK"
            it.memcached = port
            assert answers(it, b"version") == b"VERSION 1.6.45\r\n"
            assert isinstance(db.command("CONFIG", "SET", "memcached-port", it.port), Error)
            binary = socket.create_connection(("127.0.0.1", port), PATIENCE)
            binary.sendall(b"\x80\x07" + bytes(22))
            assert binary.recv(100) == b""
            it.until(lambda: "binary protocol" in it.output.read_text())
            for nonsense in (b"x" * 3000, b"GET / HTTP/1.1\r\n"):
                client = socket.create_connection(("127.0.0.1", port), PATIENCE)
                client.sendall(nonsense)
                with contextlib.suppress(ConnectionResetError):
                    assert client.recv(100) == b""
            assert answers(it, b"*1", b"$4", b"PING") == b"ERROR\r\n" * 3
            assert db.command("CONFIG", "SET", "memcached-port", "0") == b"OK"
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), PATIENCE)
                raise AssertionError("it still listens")
            it.process.terminate()
            assert it.ends_with_status() == 0 and not path.exists()


if __name__ == "__main__":
    sys.exit(run(globals()))
