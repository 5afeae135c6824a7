#!/usr/bin/env python3
"""Random users and commands at the server named by VARVE_SERVER and at Valkey: the same rules, decisions, reasons and ACL LOG.

    VARVE_SERVER=target/release/varve-server tests/process/users_beside_valkey.py [--seconds N] [--seed N]

Half of the time rules are drawn, and what they make is compared by ACL GETUSER and DRYRUN; the other half a client runs commands as
a user that is changed meanwhile, and replies and ACL LOG are compared. Where peers (peers.py) are missing, it says so and ends.
"""

import argparse
import random
import sys
import tempfile
import time

from peers import ROOT, are_there, started
from resp import Closed, Connection, render
from run import Server

COMMANDS = """get set GET config config|get CONFIG|set client client|id client|kill select select|0 select|A set|k get|x acl acl|list
    object|encoding memory|usage script function|load mget del publish subscribe nosuch config|nosuch config|get|x | get| x|y flushall
    multi exec auth debug debug|object cluster|info pubsub|channels eval sort xgroup|create latency|doctor copy migrate swapdb
    move""".split()
CATEGORIES = """read write all ALL keyspace fast slow admin dangerous connection pubsub transaction scripting string set sortedset hash
    list geo bitmap hyperloglog stream blocking nosuch Read""".split() + [""]
SETS = """allkeys resetkeys allchannels resetchannels alldbs resetdbs allcommands nocommands ALLKEYS reset on bogus * ~* &*""".split()
LOGINS = """on off nopass resetpass reset clearselectors >one >two <one <two #x sanitize-payload skip-sanitize-payload ON""".split()
LOGINS += ["#" + "a" * 64, "!" + "a" * 64, "#" + "A" * 64, ""]
DATABASES = "0 1 0,1 3,2,1 15 16 x 1, -1 007 +1 2147483648 1,1".split() + [""]
REQUESTS = [line.split("/") for line in """get/a|get/bk|set/a/1|mget/a/b/k|config/get/x|config/set/x/y|client/id|client/list|select/0
    select/a|select/3|publish/a/m|subscribe/a/b1|psubscribe/a*|set/k/v/get|copy/a/b/db/2|copy/a/b|move/a/3|swapdb/0/3|flushall|dbsize
    eval/x/2/a/b|sort/a/store/b|object/encoding/a|memory/usage/b|acl/list|ping|multi|auth/x|migrate/h/1//0/1/keys/a/b
    xreadgroup/group/g/c/streams/a/b/>/>|spublish/b/m|pubsub/channels/a|debug/object/a|keys/a|scan/0|georadius/a/1/1/1/m/store/b
    bitop/not/a/b|del/a/b|exec|cluster/info|latency/doctor|xgroup/create/a/g/0|function/load/x|script/flush""".replace("\n    ", "|").split("|")]
CHANGES = """+@all -@all +get -get +set -set ~* resetkeys ~a %R~b %W~b ~k* &* resetchannels &c db=0 db=1 db=0,1 alldbs resetdbs +select
    -select +multi -exec +exec (+get|~b) (db=1|+@all|~*) clearselectors (+@all) (~*|+@read) -@write +@read +eval -eval +publish -fcall
    +swapdb -move on +config|get -config +acl|whoami +@transaction reset allkeys +select|0 +@scripting +@fast -discard
    +client|id""".split()
SCRIPTS = [
    "return server.pcall('get', ARGV[1])",
    "return server.pcall('select', ARGV[2])",
    "server.pcall('select', '1') return server.pcall('get', 'a')",
    "return {server.acl_check_cmd('get', ARGV[1]), server.acl_check_cmd('select', ARGV[2]), server.acl_check_cmd('publish', 'c', 'm')}",
]


class Pair:
    """The same requests to both servers."""

    def __init__(self, ports):
        self.clients = [Connection("127.0.0.1:%d" % port, 60) for port in ports]

    def ask(self, *words):
        """The replies as they are shown: to a client that was closed none."""
        return [self.shown(client, words) for client in self.clients]

    @staticmethod
    def shown(client, words):
        try:
            return render(client.command(*words), full=True)
        except (Closed, OSError):
            return None

    def close(self):
        for client in self.clients:
            client.close()


class Drawing:
    """Random rules and commands. No rule for a command has a blank in it."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def one_of(self, things):
        return self.chance.choice(things)

    def pattern(self):
        parts = ["a", "b", "*", "?", "[ab]", "\\*", "[^a]", "k", "1"]
        return "".join(self.one_of(parts) for _ in range(self.chance.randint(0, 3)))

    def rule_of_selector(self):
        kind = self.chance.random()
        if kind < 0.3:
            return self.one_of("+-") + self.one_of(COMMANDS)
        if kind < 0.5:
            return self.one_of("+-") + "@" + self.one_of(CATEGORIES)
        if kind < 0.65:
            return "~" + self.pattern()
        if kind < 0.75:
            return "%" + self.one_of("R W RW WR rw r w X RR".split() + [""]) + self.one_of(["~", "~", "~", ""]) + self.pattern()
        if kind < 0.85:
            return "&" + self.pattern()
        return "db=" + self.one_of(DATABASES) if kind < 0.9 else self.one_of(SETS)

    def rules(self):
        """One rule, which may be several words."""
        kind = self.chance.random()
        if kind < 0.6:
            return [self.rule_of_selector()]
        if kind < 0.7:
            return [self.one_of(LOGINS)]
        inside = [self.rule_of_selector() for _ in range(self.chance.randint(0, 4))]
        selector = "(%s)" % " ".join(filter(None, inside))
        kind = self.chance.random()
        if kind < 0.5:
            return [selector]
        if kind < 0.9:
            return selector.split(" ")
        return [selector[:-1]] if kind < 0.95 else ["(%s)" % selector]

    def change(self):
        return [rule.replace("|", " ") if rule.startswith("(") else rule for rule in self.chance.sample(CHANGES, self.chance.randint(1, 3))]

    def command(self):
        key, other, database = self.one_of("abkz"), self.one_of("abkz"), self.one_of("012")
        return self.one_of([
            ["GET", key], ["GET", key], ["SET", key, "1"], ["SET", key, "1", "GET"], ["MGET", key, other], ["MSET", key, "1", other, "2"],
            ["DEL", key], ["SELECT", self.one_of(["0", "1", "2", "x", "99"])], ["MULTI"], ["MULTI"], ["EXEC"], ["EXEC"], ["DISCARD"], ["PING"],
            ["PUBLISH", self.one_of("cd"), "m"], ["EVAL", self.one_of(SCRIPTS), "1", key, other, database],
            ["EVAL", "return server.call('set', ARGV[1], 'one')", "0", key], ["EVAL_RO", "return server.pcall('set', 'a', 1)", "1", key],
            ["COPY", key, other, "DB", database], ["MOVE", key, database], ["SWAPDB", database, self.one_of("012")], ["FLUSHDB"], ["FLUSHALL"],
            ["DBSIZE"], ["UNWATCH"], ["AUTH", "ann", "x"], ["ACL", "WHOAMI"], ["CONFIG", "GET", "appendonly"], ["SORT", key, "GET", "b*"],
            ["SORT", key, "STORE", other], ["ACL", "SETUSER", "ann", *self.change()], ["ACL", "DRYRUN", "ann", "get", key],
            ["NOSUCH"], ["GET"], ["RPOP", key], ["LPUSH", key, "1"], ["BITOP", "NOT", key, other],
        ])  # fmt: skip


def differ(words, replies, told):
    """True for replies that differ otherwise than decision 0054 says: `%RW~*` is printed so that it can be read again."""
    one, other = replies
    if one == other or (one and other and "%RW~*" in other):
        return False
    print("%r\n    Valkey %s\n    Varve  %s\nbehind %r" % (words, one, other, told), flush=True)
    return True


def draw_rules(owner, drawing):
    """Makes a user by random rules, and compares it and decisions; the number of requests, or `None` after a difference."""
    told, asked = [], 0
    owner.ask("ACL", "DELUSER", "drawn")
    for _ in range(10):
        rules = [word for _ in range(drawing.chance.randint(1, 5)) for word in drawing.rules()]
        told.append(rules)
        for words in [["ACL", "SETUSER", "drawn", *rules], ["ACL", "GETUSER", "drawn"], ["ACL", "LIST"]]:
            if differ(words, owner.ask(*words), told):
                return None
        for request in drawing.chance.sample(REQUESTS, 6):
            if differ(request, owner.ask("ACL", "DRYRUN", "drawn", *request), told):
                return None
        asked += 9
    return asked


def entries(client):
    """What ACL LOG has, but for times, numbers and clients."""
    return [(entry[1], entry[3], entry[5], entry[7], entry[9]) for entry in client.command("ACL", "LOG", "100")]


def run_commands(owner, ports, drawing):
    """Runs random commands as a user that is changed meanwhile; as `draw_rules`."""
    for words in ["FLUSHALL", "SCRIPT FLUSH", "ACL DELUSER ann", "ACL LOG RESET", "ACL SETUSER ann on nopass +@all ~* &*"]:
        owner.ask(*words.split())
    ann, told = Pair(ports), []
    try:
        ann.ask("AUTH", "ann", "x")
        for _ in range(40):
            is_change = drawing.chance.random() < 0.3
            words = ["ACL", "SETUSER", "ann", *drawing.change()] if is_change else drawing.command()
            told.append((is_change, words))
            replies = (owner if is_change else ann).ask(*words)
            if differ(words, replies, told):
                return None
            if replies[0] is None:
                break
        logs = [entries(client) for client in owner.clients]
        return None if differ(["ACL", "LOG"], logs, told) else len(told)
    finally:
        ann.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    if not are_there():
        print("users beside Valkey: there is no Valkey")
        return 0
    drawing, asked, deadline = Drawing(options.seed), 0, time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="varve-users-", dir=ROOT / "tmp") as place, started("valkey-server", place) as db:
        with Server("--threads", "4", "--enable-debug-command", "yes") as server:
            ports = [int(dict(zip(*[iter(db.command("CONFIG", "GET", "port"))] * 2))[b"port"]), server.port]
            owner = Pair(ports)
            while time.monotonic() < deadline:
                for act in (lambda: draw_rules(owner, drawing), lambda: run_commands(owner, ports, drawing)):
                    done = act()
                    if done is None:
                        print("users beside Valkey: they differ; seed %d" % options.seed)
                        return 1
                    asked += done
    print("users beside Valkey: %d requests, no difference; seed %d" % (asked, options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
