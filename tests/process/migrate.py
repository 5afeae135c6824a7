#!/usr/bin/env python3
"""MIGRATE from the server named by VARVE_SERVER to another one, to valkey-server, and to a target that answers when it is told to.

    VARVE_SERVER=target/release/varve-server tests/process/migrate.py [CASE ...]

PEERS   the script that runs valkey-server (default ../shared/peers/peers); cases that need it are skipped, and that is said,
        where it is missing
"""

import inspect
import os
import pathlib
import socket
import subprocess
import sys
import time
import traceback

from run import PATIENCE, Error, Server, Tagged
from ports import free_port
from resp import Closed, Connection

PEERS = pathlib.Path(os.environ.get("PEERS", pathlib.Path(__file__).resolve().parents[2] / "../shared/peers/peers")).resolve()
TIMEOUT = 5000  # milliseconds for each step; nothing here waits for it to pass but where that is said


class Skipped(Exception):
    """What the case needs is not there."""


class Valkey:
    """A valkey-server without files."""

    def __enter__(self):
        if not PEERS.exists():
            raise Skipped("%s is missing" % PEERS)
        self.port = free_port()
        words = [str(PEERS), "run", "valkey-server", "--port", str(self.port), "--save", "", "--enable-debug-command", "yes"]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while True:
            assert self.process.poll() is None and time.monotonic() < deadline, "valkey-server did not start"
            try:
                if self.connect().command("PING") == b"PONG":
                    return self
            except OSError:
                time.sleep(0.02)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def connect(self):
        return Connection("127.0.0.1:%d" % self.port, PATIENCE)


class Target:
    """A target that reads requests and answers when it is told to."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE)
        self.port = self.listener.getsockname()[1]
        self.socket, self.file = None, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self.listener.close()

    def close(self):
        if self.socket:
            self.file.close()
            self.socket.close()
            self.socket = None

    def accept(self):
        self.socket, _ = self.listener.accept()
        self.socket.settimeout(PATIENCE)
        self.file = self.socket.makefile("rb")

    def request(self):
        """The words of the next request."""
        line = self.file.readline()
        assert line, "there is no further request"
        count = int(line[1:])
        words = []
        for _ in range(count):
            length = int(self.file.readline()[1:])
            words.append(self.file.read(length + 2)[:-2])
        return words

    def expect(self, *words):
        """Reads a request that begins with these words."""
        request = self.request()
        assert request[: len(words)] == list(words), request
        return request

    def reply(self, *lines):
        self.socket.sendall(b"".join(line + b"\r\n" for line in lines))


def varve(*settings, **how):
    return Server("--enable-debug-command", "yes", "--save", "", *settings, **how)


def to(target, key, *options, timeout=TIMEOUT, database=0):
    return ["MIGRATE", "127.0.0.1", target.port, key, database, timeout, *options]


def ask(client, words):
    return client.command(*[word if isinstance(word, bytes) else str(word) for word in words])


def fill(client):
    """A key of each type, small and large, with deadlines."""
    client.command("SET", "string", b"\x00\xff" * 100)
    client.command("SET", "number", "42", "PXAT", "33000000000123")
    client.command("SET", "long", "x" * 3_000_000)
    for name, count in (("", 5), (":large", 3000)):
        client.command("RPUSH", "list" + name, *["element %d" % number for number in range(count)])
        client.command("SADD", "set" + name, *["member %d" % number for number in range(count)])
        client.command("ZADD", "zset" + name, *[word for number in range(count) for word in ("%d.5" % number, "m%d" % number)])
        client.command("HSET", "hash" + name, *[word for number in range(count) for word in ("f%d" % number, "v")])
    client.command("HPEXPIREAT", "hash", "33000000000123", "FIELDS", "1", "f1")
    for number in range(20):
        client.command("XADD", "stream", "%d-1" % (number + 1), "f", "v")
    client.command("XGROUP", "CREATE", "stream", "group", "0")
    client.command("XREADGROUP", "GROUP", "group", "alice", "COUNT", "7", "STREAMS", "stream", ">")
    return sorted(client.command("KEYS", "*"))


def facts(client, keys):
    return [(key, client.command("DEBUG", "DIGEST-VALUE", key), client.command("PEXPIRETIME", key)) for key in keys]


def near(one, other):
    """Relative deadlines are sent, as Valkey does, so they may differ by a moment."""
    assert [fact[:2] for fact in one] == [fact[:2] for fact in other], (one, other)
    for before, after in zip(one, other):
        assert abs(before[2] - after[2]) < 15_000, (before, after)


def moves_everything(source, target):
    here, there = source.connect(), target.connect()
    keys = fill(here)
    before = facts(here, keys)
    assert ask(here, to(target, "string")) == b"OK"
    assert here.command("EXISTS", "string") == 0
    assert ask(here, to(target, "", "KEYS", *keys)) == b"OK", "those that are gone are passed over"
    assert here.command("DBSIZE") == 0
    near(before, facts(there, keys))
    assert ask(here, to(target, "string")) == b"NOKEY"
    assert ask(there, to(source, "", "COPY", "KEYS", *keys, "nothing")) == b"OK"
    near(before, facts(here, keys))
    near(before, facts(there, keys))


def keys_of_every_type_move_to_another_server():
    with varve() as source, varve() as target:
        moves_everything(source, target)


def keys_move_to_valkey_and_valkey_moves_them_back():
    with varve() as source, Valkey() as target:
        moves_everything(source, target)


def another_database_is_selected_and_remembered():
    with varve() as source, varve() as target:
        here, there = source.connect(), target.connect()
        for number, database in enumerate((3, 3, 0, 5)):
            here.command("SET", "k%d" % number, "v")
            assert ask(here, to(target, "k%d" % number, database=database)) == b"OK"
        assert b"migrate_cached_sockets:1\r\n" in here.command("INFO", "stats"), "all went through one"
        for number, database in enumerate((3, 3, 0, 5)):
            there.command("SELECT", database)
            assert there.command("EXISTS", "k%d" % number) == 1
        here.command("SET", "k", "v")
        answer = ask(here, to(target, "k", database=99))
        assert answer == Error(b"ERR Target instance replied with error: ERR DB index is out of range"), answer
        assert here.command("EXISTS", "k") == 1


def keys_that_the_target_has_are_replaced_only_where_that_is_said():
    with varve() as source, varve() as target:
        here, there = source.connect(), target.connect()
        for key in ("a", "b", "c"):
            here.command("SET", key, "new")
        there.command("SET", "b", "old")
        answer = ask(here, to(target, "", "KEYS", "a", "b", "c"))
        assert answer == Error(b"ERR Target instance replied with error: BUSYKEY Target key name already exists."), answer
        assert here.command("MGET", "a", "b", "c")[1] == b"new" and here.command("EXISTS", "a", "c") == 0
        assert ask(here, to(target, "b", "REPLACE")) == b"OK"
        assert there.command("MGET", "a", "b", "c") == [b"new"] * 3


def a_password_opens_the_target():
    with varve() as source, varve(config="requirepass secret\n") as target:
        here, there = source.connect(), target.connect()
        there.command("AUTH", "secret")
        here.command("SET", "k", "v")
        answer = ask(here, to(target, "k"))
        assert answer == Error(b"ERR Target instance replied with error: NOAUTH Authentication required."), answer
        answer = ask(here, to(target, "k", "AUTH", "wrong"))
        assert answer.startswith(b"ERR Target instance replied with error: WRONGPASS"), answer
        assert ask(here, to(target, "k", "COPY", "AUTH", "secret")) == b"OK"
        assert ask(here, to(target, "k", "REPLACE", "AUTH2", "default", "secret")) == b"OK"
        assert here.command("EXISTS", "k") == 0 and there.command("GET", "k") == b"v"


def others_go_on_while_the_target_is_silent():
    with varve("--threads", "1") as source, Target() as target:
        here, other = source.connect(), source.connect()
        here.command("SET", "k", "v")
        here.send([str(word).encode() for word in to(target, "k")])
        target.accept()
        target.expect(b"SELECT", b"0")
        restore = target.expect(b"RESTORE", b"k", b"0")
        assert len(restore) == 4
        assert other.command("GET", "k") == b"v" and other.command("SET", "another", "v") == b"OK"
        identity = here_id(other)
        assert "flags=b" in [line for line in other.command("CLIENT", "LIST").decode().splitlines() if "cmd=migrate" in line][0]
        assert other.command("CLIENT", "UNBLOCK", identity) == 0, "nothing but the target ends it"
        target.reply(b"+OK", b"+OK")
        assert here.read() == b"OK"
        assert other.command("EXISTS", "k") == 0


def here_id(other):
    """The id of the client that waits."""
    line = [line for line in other.command("CLIENT", "LIST").decode().splitlines() if "cmd=migrate" in line][0]
    return line.split("id=")[1].split(" ")[0]


def a_target_that_never_answers_costs_the_timeout_and_no_key():
    with varve() as source, Target() as target:
        here = source.connect()
        here.command("SET", "k", "v")
        answer = ask(here, to(target, "k", timeout=300))
        assert answer == Error(b"IOERR error or timeout reading to target instance"), answer
        assert here.command("GET", "k") == b"v"
        counts = here.command("INFO", "commandstats").decode().split("cmdstat_migrate:")[1].split("\r\n")[0]
        counts = dict(field.split("=") for field in counts.split(","))
        assert (counts["calls"], counts["failed_calls"]) == ("1", "1"), counts
        assert b"errorstat_IOERR:count=1\r\n" in here.command("INFO", "errorstats")
        # The time of the target is its own.
        assert int(counts["usec"]) >= 300_000, counts


class Full:
    """A port at which connections wait for ever, as its line of those to be accepted is full."""

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.port = self.listener.getsockname()[1]
        self.waiting = []
        while True:
            client = socket.socket()
            client.settimeout(0.5)
            self.waiting.append(client)
            try:
                client.connect(("127.0.0.1", self.port))
            except TimeoutError:
                return self

    def __exit__(self, *_):
        for client in [*self.waiting, self.listener]:
            client.close()


def why_there_is_no_connection_is_told_as_valkey_tells_it():
    with varve() as source, Valkey() as valkey, Full() as full:
        for port, way in ((full.port, "connecting to the client"), (free_port(), "writing to target instance")):
            answers = []
            for here in (source.connect(), valkey.connect()):
                here.command("SET", "k", "v")
                answers.append(ask(here, ["MIGRATE", "127.0.0.1", port, "k", 0, 300]))
                assert here.command("GET", "k") == b"v"
            assert answers == [Error(b"IOERR error or timeout %s" % way.encode())] * 2, answers


def a_key_that_changes_on_its_way_is_sent_again():
    with varve() as source, Target() as target:
        here, other = source.connect(), source.connect()
        here.command("SET", "a", "old")
        here.command("SET", "b", "same")
        here.send([str(word).encode() for word in to(target, "", "KEYS", "a", "b")])
        target.accept()
        target.expect(b"SELECT", b"0")
        old = target.expect(b"RESTORE", b"a")
        target.expect(b"RESTORE", b"b")
        other.command("SET", "a", "new", "PXAT", "33000000000123")
        target.reply(b"+OK", b"+OK", b"+OK")
        new = target.expect(b"RESTORE", b"a")
        assert new[3] != old[3] and int(new[2]) > 0 and new[4:] == [b"REPLACE"], new
        assert other.command("EXISTS", "a", "b") == 1
        target.reply(b"+OK")
        assert here.read() == b"OK"
        assert other.command("EXISTS", "a", "b") == 0


def a_key_that_is_loaded_anew_on_its_way_is_sent_again():
    # With two reloads the keys are where they were before.
    for reloads in (1, 2):
        with varve() as source, Target() as target:
            here, other = source.connect(), source.connect()
            here.command("SET", "k", "v")
            source.send(here, *to(target, "k"))
            target.accept()
            target.expect(b"SELECT")
            target.expect(b"RESTORE", b"k")
            for _ in range(reloads):
                assert other.command("DEBUG", "RELOAD") == b"OK"
            target.reply(b"+OK", b"+OK")
            target.expect(b"RESTORE", b"k")
            target.reply(b"+OK")
            assert here.read() == b"OK" and other.command("EXISTS", "k") == 0


def a_key_that_is_deleted_on_its_way_does_not_come_back():
    with varve() as source, Target() as target:
        here, other = source.connect(), source.connect()
        here.command("SET", "a", "v")
        here.send([str(word).encode() for word in to(target, "a")])
        target.accept()
        target.expect(b"SELECT", b"0")
        target.expect(b"RESTORE", b"a")
        assert other.command("DEL", "a") == 1
        target.reply(b"+OK", b"+OK")
        target.expect(b"DEL", b"a")
        target.reply(b":1")
        assert here.read() == b"OK"


def a_key_that_arrives_in_a_pause_of_writes_leaves_when_it_ends():
    with varve() as source, Target() as target:
        here, other = source.connect(), source.connect()
        here.command("SET", "a", "v")
        here.send([str(word).encode() for word in to(target, "a")])
        target.accept()
        target.expect(b"SELECT", b"0")
        target.expect(b"RESTORE", b"a")
        assert other.command("CLIENT", "PAUSE", 100000, "WRITE") == b"OK"
        target.reply(b"+OK", b"+OK")
        for _ in range(1000):
            assert other.command("GET", "a") == b"v"
        assert other.command("CLIENT", "UNPAUSE") == b"OK"
        assert here.read() == b"OK"
        assert other.command("EXISTS", "a") == 0


def a_key_that_another_server_sends_back_stays():
    with varve() as source, Target() as target:
        here, other = source.connect(), source.connect()
        here.command("SET", "a", "same")
        here.send([str(word).encode() for word in to(target, "a")])
        target.accept()
        target.expect(b"SELECT", b"0")
        payload = target.expect(b"RESTORE", b"a")[3]
        # The target has sent it here meanwhile, and forgets it: it has the very value that was sent.
        assert other.command("RESTORE", "a", 0, payload, "REPLACE") == b"OK"
        target.reply(b"+OK", b"+OK")
        assert target.expect(b"RESTORE", b"a")[3:] == [payload, b"REPLACE"]
        assert other.command("GET", "a") == b"same"
        target.reply(b"+OK")
        assert here.read() == b"OK"
        assert other.command("EXISTS", "a") == 0


def a_key_stays_that_is_sent_to_the_server_that_has_it():
    with varve() as source:
        here = source.connect()
        here.command("SET", "a", "v")
        refusal = Error(b"IOERR error or timeout reading to target instance")
        for options in (["REPLACE"], [], ["COPY", "REPLACE"], ["AUTH", "none"]):
            for database in (0, 1):
                answer = ask(here, to(source, "a", *options, database=database))
                assert answer == refusal, (answer, options)
        assert here.command("GET", "a") == b"v" and here.command("DBSIZE") == 1
        assert here.command("SELECT", 1) == b"OK" and here.command("DBSIZE") == 0


def two_servers_that_send_each_other_a_key_keep_it():
    with varve("--threads", "2") as one, varve("--threads", "2") as other:
        clients = (one.connect(), other.connect())
        for number in range(40):
            for client in clients:
                client.command("SET", number, "same")
            clients[0].send([str(word).encode() for word in to(other, number, "REPLACE")])
            clients[1].send([str(word).encode() for word in to(one, number, "REPLACE")])
            answers = [client.read() for client in clients]
            there = [client.command("EXISTS", number) for client in clients]
            assert sum(there) > 0, (number, answers, there)


def a_key_that_always_changes_stays():
    with varve() as source, Target() as target:
        here, other = source.connect(), source.connect()
        here.command("SET", "a", "0")
        here.send([str(word).encode() for word in to(target, "a")])
        target.accept()
        target.expect(b"SELECT", b"0")
        rounds = 0
        while True:
            target.expect(b"RESTORE", b"a")
            rounds += 1
            other.command("INCR", "a")
            target.reply(*([b"+OK"] * (2 if rounds == 1 else 1)))
            if rounds == 5:
                break
        answer = here.read()
        assert isinstance(answer, Error) and answer.startswith(b"ERR keys changed"), answer
        assert other.command("GET", "a") == b"5"


def a_socket_that_was_closed_meanwhile_is_opened_again():
    with varve() as source, Target() as target:
        here = source.connect()
        for number in range(3):
            here.command("SET", "k", number)
            here.send([str(word).encode() for word in to(target, "k")])
            target.accept()
            target.expect(b"SELECT", b"0")
            target.expect(b"RESTORE", b"k")
            target.reply(b"+OK", b"+OK")
            assert here.read() == b"OK"
            target.close()


def a_socket_is_used_again_and_its_database_is_known():
    with varve() as source, Target() as target:
        here = source.connect()
        for number in range(3):
            here.command("SET", "k", number)
            here.send([str(word).encode() for word in to(target, "k")])
            if number == 0:
                target.accept()
                target.expect(b"SELECT", b"0")
                target.reply(b"+OK")
            target.expect(b"RESTORE", b"k")
            target.reply(b"+OK")
            assert here.read() == b"OK"


def a_client_that_leaves_and_a_server_that_stops_do_not_wait_for_the_target():
    with varve() as source, Target() as target:
        here, other = source.connect(), source.connect()
        here.command("SET", "k", "v")
        here.send([str(word).encode() for word in to(target, "k", timeout=600_000)])
        target.accept()
        target.expect(b"SELECT", b"0")
        assert other.command("CLIENT", "KILL", "ID", here_id(other)) == 1
        try:
            here.read()
            raise AssertionError("it was to be closed")
        except (Closed, OSError):
            pass
        source.until(lambda: "blocked_clients:0" in other.command("INFO", "clients").decode())
        other.send([b"SHUTDOWN", b"NOSAVE"])
        assert source.ends_with_status() == 0


def who_waits_for_a_stream_hears_that_it_has_left():
    with varve() as source, varve() as target:
        here, other = source.connect(), source.connect()
        here.command("XADD", "s", "1-1", "f", "v")
        here.command("XGROUP", "CREATE", "s", "g", "$")
        other.send([b"XREADGROUP", b"GROUP", b"g", b"c", b"BLOCK", b"0", b"STREAMS", b"s", b">"])
        source.until(lambda: "blocked_clients:1" in here.command("INFO", "clients").decode())
        assert ask(here, to(target, "s")) == b"OK"
        answer = other.read()
        assert isinstance(answer, Error) and not isinstance(answer, Tagged), answer


def main():
    cases = {name: case for name, case in globals().items() if inspect.isfunction(case) and case.__module__ == __name__}
    cases = {name: case for name, case in cases.items() if not inspect.signature(case).parameters and name != "main"}
    failed = 0
    for name in sys.argv[1:] or cases:
        began, title = time.monotonic(), name.replace("_", " ")
        try:
            cases[name]()
            print("ok      %-75s %5.1f s" % (title, time.monotonic() - began))
        except Skipped as why:
            print("skipped %s: %s" % (title, why))
        except (AssertionError, OSError, subprocess.SubprocessError):
            failed += 1
            print("FAILED  " + title)
            traceback.print_exc()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
