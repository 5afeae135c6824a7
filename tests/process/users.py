#!/usr/bin/env python3
"""Users of the server named by VARVE_SERVER: files, and changes while others run commands on several threads.

    VARVE_SERVER=target/release/varve-server tests/process/users.py [CASE ...]
"""

import os
import pathlib
import re
import signal
import sys
import tempfile
import threading
import time

from bounds import encoded
from resp import Closed, Error
from run import Server, run

THREADS = ("--threads", "4", "--threads-fixed", "no", "--enable-debug-command", "yes")
CLIENTS = 24
CHANGES = 60


def is_denied(reply):
    return isinstance(reply, Error) and reply.startswith(b"NOPERM")


class Rule:
    """What the clients' user may do, as far as it is known: nothing while it is being changed."""

    def __init__(self):
        self.known, self.changes = True, 0

    def change(self, db, is_allowed):
        self.known, self.changes = None, self.changes + 1
        assert db.command("ACL", "SETUSER", "ann", "+get" if is_allowed else "-get") == b"OK"
        self.known = is_allowed


class Reader(threading.Thread):
    """A client that reads all the time, and holds each answer against the rule that held while it asked."""

    def __init__(self, server, rule):
        super().__init__(daemon=True)
        self.client, self.rule, self.is_over = server.connect(), rule, False
        assert self.client.command("AUTH", "ann", "any") == b"OK"
        self.answers, self.checked, self.wrong = 0, {True: 0, False: 0}, []

    def run(self):
        while not self.is_over:
            changes, known = self.rule.changes, self.rule.known
            self.client.send_bytes(encoded("GET", "k") * 4)
            replies = [self.client.read() for _ in range(4)]
            self.answers += 4
            if known is None or (self.rule.known, self.rule.changes) != (known, changes):
                continue
            self.checked[known] += 1
            if any(is_denied(reply) == known for reply in replies):
                self.wrong.append((known, replies))


def checks(readers):
    """How often a reader knew the rule all the time while it asked."""
    return sum(sum(reader.checked.values()) for reader in readers)


def what_is_sent_behind_the_answer_to_a_change_runs_under_the_new_rules():
    with Server(*THREADS) as server:
        db, rule = server.connect(), Rule()
        assert db.command("DEBUG", "MOVE-CONNECTIONS", 1) == b"OK"
        assert db.command("ACL", "SETUSER", "ann", "on", "nopass", "~*", "+get") == b"OK"
        readers = [Reader(server, rule) for _ in range(CLIENTS)]
        for reader in readers:
            reader.start()
        for at in range(CHANGES):
            rule.change(db, at % 2 == 1)
            # Readers ask under each rule, so many times at least.
            before = checks(readers)
            while checks(readers) < before + CLIENTS:
                time.sleep(0.001)
        for reader in readers:
            reader.is_over = True
        for reader in readers:
            reader.join(60)
            assert not reader.is_alive() and not reader.wrong, reader.wrong[:3]
        checked = [sum(reader.checked[known] for reader in readers) for known in (True, False)]
        assert min(checked) > 0, checked
        print("     %d answers under a known rule, %d of them refusals" % (sum(checked), checked[1]))


def clients_of_a_user_that_is_deleted_run_nothing_behind_the_answer():
    with Server(*THREADS) as server:
        db = server.connect()
        for number in range(20):
            assert db.command("ACL", "SETUSER", "bob", "on", "nopass", "~*", "+incr") == b"OK"
            clients = [server.connect() for _ in range(16)]
            for client in clients:
                assert client.command("AUTH", "bob", "any") == b"OK"
            for client in clients:
                client.send_bytes(encoded("INCR", "before") * 50)
            assert db.command("ACL", "DELUSER", "bob") == 1
            assert b"user=bob" not in db.command("CLIENT", "LIST"), number
            for client in clients:
                try:
                    client.send_bytes(encoded("INCR", "behind") * 50)
                except OSError:
                    pass
            assert is_over(clients), number
            assert db.command("EXISTS", "behind") == 0, number
        assert db.command("EXISTS", "before") == 1


def is_over(clients):
    """True once all connections are closed, whatever they were sent before."""
    for client in clients:
        try:
            while True:
                client.read()
        except (OSError, Closed):
            pass
    return True


def lines(path):
    return sorted(line for line in pathlib.Path(path).read_text().splitlines() if line)


def users_are_saved_to_their_file_and_are_there_after_the_next_start():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "users.acl")
        pathlib.Path(path).write_text("user ann on nopass ~a:* +@read\n\nuser default on nopass ~* &* +@all\n")
        with Server("--aclfile", path) as server:
            db = server.connect()
            assert db.command("ACL", "USERS") == [b"ann", b"default"]
            assert db.command("ACL", "SETUSER", "bob", "on", ">secret", "(%R~x:* +get)", "db=1,3") == b"OK"
            assert db.command("ACL", "SAVE") == b"OK"
            saved, listed = lines(path), db.command("ACL", "LIST")
            assert saved == sorted(line.decode() for line in listed), saved
            assert os.listdir(folder) == ["users.acl"], "nothing else is left"
        with Server("--aclfile", path) as server:
            db = server.connect()
            assert db.command("ACL", "LIST") == listed
            # A file that is wrong changes nothing, and all that is wrong with it is told.
            pathlib.Path(path).write_text("user ann on +nosuch\n# a comment\nuser default on nopass\n")
            told = db.command("ACL", "LOAD").decode()
            assert "%s:1:" % path in told and "%s:2 " % path in told, told
            assert db.command("ACL", "LIST") == listed


def a_file_that_cannot_be_written_stays_as_it_was():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "users.acl")
        pathlib.Path(path).write_text("user ann on\n")
        with Server("--aclfile", path) as server:
            db = server.connect()
            os.rename(folder, folder + ".away")
            try:
                told = db.command("ACL", "SAVE").decode()
                assert told.startswith("ERR There was an error trying to save the ACLs."), told
            finally:
                os.rename(folder + ".away", folder)
            assert pathlib.Path(path).read_text() == "user ann on\n"
            assert b"ann" in db.command("ACL", "USERS")


def a_file_is_whole_whenever_the_server_dies_while_it_saves():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "users.acl")
        pathlib.Path(path).write_text("".join("user u%05d on nopass ~k:* +@read\n" % at for at in range(2000)))
        for number in range(12):
            server = Server("--aclfile", path)
            with server:
                db = server.connect()
                assert len(db.command("ACL", "USERS")) == 2001, number
                for at in range(0, 2000, 200):
                    db.command("ACL", "SETUSER", "u%05d" % at, "+set" if number % 2 else "-set")
                db.send_bytes(encoded("ACL", "SAVE") * 5)
                time.sleep(0.002 * number)
                server.process.send_signal(signal.SIGKILL)
                server.process.wait()
            found = lines(path)
            assert len(found) in (2000, 2001), (number, len(found))


def a_file_of_settings_is_whole_whenever_the_server_dies_while_it_is_rewritten():
    config = "# mine\n" + "".join("user u%05d on nopass ~k:* +@read\n" % at for at in range(2000))
    for number in range(12):
        with Server(config=config) as server:
            db = server.connect()
            assert len(db.command("ACL", "USERS")) == 2001, number
            for at in range(0, 2000, 200):
                db.command("ACL", "SETUSER", "u%05d" % at, "+set" if number % 2 else "-set")
            db.command("CONFIG", "SET", "hz", 20 + number)
            db.send_bytes(encoded("CONFIG", "REWRITE") * 5)
            time.sleep(0.004 * number)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
            config = re.sub("(?m)^dir .*\n", "", server.config.read_text())
        found = [line for line in config.splitlines() if line.startswith("user u")]
        assert len(found) == 2000 and config.startswith("# mine\n"), (number, len(found))
        assert len({"+set" in line for line in found[::200]}) == 1, number


def subscribers_that_lose_a_channel_have_all_messages_of_before_and_none_of_after():
    with Server(*THREADS) as server:
        owner = server.connect()
        for round in range(20):
            owner.command("ACL", "SETUSER", "reader", "reset", "on", "nopass", "&*", "+@all")
            readers = [server.connect() for _ in range(16)]
            for number, reader in enumerate(readers):
                reader.command("AUTH", "reader", "x")
                reader.command(*(["PSUBSCRIBE", "new*"] if number % 2 else ["SUBSCRIBE", "news"]))
            number = 50 + round
            owner.send_bytes(b"".join(encoded("PUBLISH", "news", "%d" % at) for at in range(number))
                             + encoded("ACL", "SETUSER", "reader", "resetchannels", "&other")
                             + b"".join(encoded("PUBLISH", "news", "after") for _ in range(10)))
            replies = [owner.read() for _ in range(number + 11)]
            assert replies == [16] * number + [b"OK"] + [0] * 10, replies
            for reader in readers:
                heard = []
                try:
                    while True:
                        heard.append(reader.read()[-1])
                except (Closed, OSError):
                    pass
                assert heard == [b"%d" % at for at in range(number)], (round, heard[-3:])


def rules_of_any_size_are_judged_in_no_time_and_given_back():
    with Server(*THREADS) as server:
        owner, other = server.connect(), server.connect()
        before = server.resident_mib()
        for _ in range(3):
            long = "~" + "x" * (1 << 20)
            assert owner.command("ACL", "SETUSER", "big", "on", "nopass", "+@all", long, "~" + "a*" * 40 + "b") == b"OK"
            patterns = ["~k%d:*" % at for at in range(100_000)]
            assert owner.command("ACL", "SETUSER", "big", *patterns) == b"OK"
            big = server.connect()
            assert big.command("AUTH", "big", "x") == b"OK"
            began = time.monotonic()
            assert isinstance(big.command("GET", "a" * 3000), Error), "patterns that go back do so without end"
            assert not isinstance(big.command("GET", "k99999:1"), Error)
            assert time.monotonic() - began < 5, "others would wait as long"
            assert isinstance(owner.command("ACL", "SETUSER", "big", "(" * 100_000), Error)
            assert isinstance(owner.command("ACL", "SETUSER", "big", "(~" + "y" * (1 << 20)), Error)
            assert other.command("PING") == b"PONG"
            assert owner.command("ACL", "DELUSER", "big") == 1
            big.close()
        after = server.resident_mib()
        assert after < before + 64, (before, after)


def who_is_not_logged_in_cannot_send_a_large_password():
    with Server("--requirepass", "open", *THREADS) as server:
        for size in (64 << 20, 512 << 20):
            client = server.connect()
            client.send_bytes(b"*2\r\n$4\r\nAUTH\r\n$%d\r\n" % size)
            refused = client.read()
            assert isinstance(refused, Error) and b"unauthenticated bulk length" in refused, refused
            client.close()
        owner = server.connect()
        assert owner.command("AUTH", "open") == b"OK"
        log = owner.command("ACL", "LOG")
        for number in range(2000):
            stranger = owner if number == 0 else stranger
            stranger = server.connect() if number % 200 == 0 else stranger
            assert isinstance(stranger.command("AUTH", "u%d" % number, "p" * 1000), Error)
        assert len(owner.command("ACL", "LOG", "1000")) <= 128 and len(log) == 0


def a_file_that_several_clients_save_and_load_at_once_is_always_whole():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "users.acl")
        pathlib.Path(path).write_text("".join("user u%05d on nopass ~k:* +@read\n" % at for at in range(500)))
        with Server("--aclfile", path, *THREADS) as server:
            clients = [server.connect() for _ in range(4)]
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline:
                for client, word in zip(clients, ("SAVE", "SAVE", "SAVE", "LOAD")):
                    client.send_bytes(encoded("ACL", word) * 4)
                for client in clients:
                    replies = [client.read() for _ in range(4)]
                    assert replies == [b"OK"] * 4, replies
                    assert len(lines(path)) == 501
            assert len(clients[0].command("ACL", "USERS")) == 501
            assert os.listdir(folder) == ["users.acl"]


def users_of_a_file_of_settings_are_rewritten_with_it():
    config = '# mine\nuser ann on nopass ~a:* +@read\nrequirepass open\n'
    with Server(config=config) as server:
        db = server.connect()
        assert db.command("AUTH", "open") == b"OK"
        rules = ["on", ">two words", '~a"b*', "~'c'", "&ch", "+@all", "-@dangerous", '(%R~x"y +get)']
        assert db.command("ACL", "SETUSER", "bob", *rules) == b"OK"
        assert db.command("CONFIG", "REWRITE") == b"OK"
        listed, text = db.command("ACL", "LIST"), server.config.read_text()
    assert text.startswith("# mine\nuser ann ") and "\nuser default on #" in text, text
    with Server(config=re.sub("(?m)^dir .*", "", text)) as server:
        db = server.connect()
        assert db.command("AUTH", "open") == b"OK"
        assert db.command("ACL", "LIST") == listed
        assert db.command("AUTH", "bob", "two words") == b"OK"


def what_is_wrong_with_users_is_told_at_the_start():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "users.acl")
        pathlib.Path(path).write_text("user ann on >secret +nosuch\n")
        wrong = [
            (["--user", "ann", "+nosuch"], "'+nosuch': Unknown command or category name in ACL"),
            (["--user", "ann", "on", "--user", "ann", "off"], "Duplicate user"),
            (["--user", "ann", "(+get"], "Unmatched parenthesis in acl selector starting at '(+get'."),
            (["--user", "ann", "on", "--aclfile", path], "exclude each other"),
            (["--aclfile", path], "%s:1: Error in applying operation '+nosuch'" % path),
            (["--aclfile", path + ".none"], "No such file or directory"),
            (["--aclfile", folder], "Is a directory"),
        ]
        for options, told in wrong:
            output = output_of_start(*options)
            assert told in output, (options, output)
            assert "secret" not in output, "a password is told"


def output_of_start(*options):
    """What a server says that does not start."""
    try:
        with Server(*options):
            pass
    except AssertionError as error:
        return str(error)
    raise AssertionError("it has started: %r" % (options,))


if __name__ == "__main__":
    sys.exit(run(globals()))
