#!/usr/bin/env python3
"""Links between servers with TLS and with users, of the server named by VARVE_SERVER and of peers, where there are any.

    VARVE_SERVER=target/release/varve-server tests/process/links.py [CASE ...]
"""

import contextlib
import pathlib
import random
import shutil
import sys
import tempfile

from certificates import Authority
from following import caught_up, link, replica_of, server
from peers import ROOT, are_there, give_away, started
from ports import free_port
from replicas import digest, fields, write_at_random
from run import run

WORDS = 9 << 20  # a value that no buffer of a link holds


@contextlib.contextmanager
def authority(*people):
    with tempfile.TemporaryDirectory(prefix="varve-links-") as folder:
        ca = Authority(folder)
        for person in people:
            ca.person(person)
        yield ca


def encrypted(ca, who):
    """Settings of a server that has TLS beside its port, and speaks it to its primary."""
    return [*ca.settings(who), "--tls-port", free_port(), "--tls-replication", "yes"]


def tls_port(it):
    return it.db.command("CONFIG", "GET", "tls-port")[1].decode()


def a_link_with_tls_has_the_data_through_cuts_and_certificates_are_asked_for():
    with authority("one", "two") as ca, authority("other") as others:
        with server(*encrypted(ca, "one"), "--threads", "2") as primary:
            chance = random.Random(3)
            write_at_random(primary.db, chance, 500)
            primary.db.command("SET", "large", chance.randbytes(WORDS))
            encrypted_primary = ["--replicaof", "127.0.0.1 " + tls_port(primary)]
            with server(*encrypted_primary, *encrypted(ca, "two"), "--appendonly", "yes") as replica:
                caught_up(primary, replica)
                assert ",port=%s,state=online" % tls_port(replica) in link(primary)["slave0"]
                for turn in range(6):
                    write_at_random(primary.db, chance, 300)
                    primary.db.command("SET", "large", chance.randbytes(WORDS))
                    if turn % 2:
                        primary.until(lambda: "state=online" in link(primary).get("slave0", ""))
                        primary.db.command("CLIENT", "KILL", "TYPE", "replica")
                assert primary.db.command("WAIT", 1, 0) == 1
                primary.until(lambda: digest(primary.db) == digest(replica.db))
                syncs = fields(primary.db, "stats")
                assert (syncs["sync_full"], syncs["sync_partial_ok"]) == ("1", "3"), (syncs["sync_full"], syncs["sync_partial_ok"], primary.output.read_text())
            for settings in (encrypted(others, "other"), []):
                with server(*encrypted_primary, *settings) as stranger:
                    stranger.db.command("SET", "kept", "1")
                    stranger.until(lambda: stranger.output.read_text().count("Link to the primary") > 1)
                    assert link(stranger)["master_link_status"] == "down" and stranger.db.command("DBSIZE") == 0
            assert link(primary)["connected_slaves"] == "0"


def a_link_logs_in_as_the_user_that_settings_name():
    with server() as primary:
        db = primary.db
        db.command("SET", "k", "v")
        db.command("ACL", "SETUSER", "follower", "on", ">secret word", "+psync", "+replconf", "+ping")
        db.command("ACL", "SETUSER", "default", "resetpass", ">other")
        named = ["--primaryuser", "follower", "--primaryauth"]
        with replica_of(primary, *named, '"wrong word"') as replica:
            replica.until(lambda: replica.output.read_text().count("WRONGPASS") > 1)
            assert link(replica)["master_link_status"] == "down"
            assert replica.db.command("CONFIG", "SET", "primaryauth", "secret word") == b"OK"
            caught_up(primary, replica)
            assert replica.db.command("GET", "k") == b"v"
            for change, said in ((["-psync"], "NOPERM"), (["off"], "WRONGPASS")):
                before = replica.output.read_text().count(said)
                assert db.command("ACL", "SETUSER", "follower", *change) == b"OK"
                if change == ["off"]:
                    # As with all clients, whoever has logged in stays.
                    assert link(primary)["connected_slaves"] == "1"
                    db.command("CLIENT", "KILL", "TYPE", "replica")
                replica.until(lambda: replica.output.read_text().count(said) > before)
                assert link(replica)["master_link_status"] == "down"
                db.command("ACL", "SETUSER", "follower", "on", "+psync")
                caught_up(primary, replica)
            assert db.command("ACL", "DELUSER", "follower") == 1
            replica.until(lambda: link(replica)["master_link_status"] == "down")
            assert link(primary)["connected_slaves"] == "0", "a user who is gone has no connections"


def links_with_tls_lead_to_peers_and_from_them():
    if not are_there():
        return "there are no peers"
    for program in ("valkey-server", "redis-server"):
        with contextlib.ExitStack() as stack:
            ca = stack.enter_context(authority("server"))
            chance = random.Random(5)
            places = [stack.enter_context(tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True)) for _ in range(2)]
            seen = []
            for place in places:
                for name in ("server.crt", "server.key", "ca.crt"):
                    shutil.copy(ca.folder / name, place)
                give_away(place)
                root = "/" + str(pathlib.Path(place).relative_to(ROOT)) + "/"
                seen.append(["--tls-cert-file", root + "server.crt", "--tls-key-file", root + "server.key", "--tls-ca-cert-file", root + "ca.crt",
                             "--tls-port", free_port(), "--tls-replication", "yes", "--repl-diskless-sync-delay", "0"])  # fmt: skip
            above = stack.enter_context(started(program, places[0], *seen[0]))
            write_at_random(above, chance, 300)
            port = above.command("CONFIG", "GET", "tls-port")[1].decode()
            middle = stack.enter_context(server(*encrypted(ca, "server"), "--replicaof", "127.0.0.1 " + port))
            below = stack.enter_context(started(program, places[1], *seen[1], "--replicaof", "127.0.0.1 " + tls_port(middle)))
            for turn in range(4):
                write_at_random(above, chance, 300)
                above.command("SET", "large", chance.randbytes(WORDS))
                if turn % 2:
                    middle.db.command("CLIENT", "KILL", "TYPE", "replica")
            offset = lambda db, name: fields(db, "replication")[name]
            end = lambda: offset(above, "master_repl_offset")
            middle.until(lambda: offset(middle.db, "slave_repl_offset") == end() and offset(below, "slave_repl_offset") == end())
            middle.until(lambda: digest(above) == digest(middle.db) == digest(below))
            assert ",port=%s," % seen[1][7] in link(middle)["slave0"], link(middle)["slave0"]


if __name__ == "__main__":
    sys.exit(run(globals()))
