#!/usr/bin/env python3
"""Statistics, dumps, delayed flushes and settings for clients and tools of Memcached's protocol, where time or many bytes matter."""
import pathlib
import re
import socket
import sys
import threading
import time
import urllib.parse

from memcached import answers, line, server
from replicas import fields
from run import run

DEBUG = ("--enable-debug-command", "yes")


def statistics(it, *words):
    told = answers(it, b" ".join([b"stats", *words])).decode()
    return dict(re.findall(r"STAT (\S+) (.*)\r\n", told))


def counts(it, *names):
    told = statistics(it)
    return [int(told[name]) for name in names]


def what_is_told_agrees_with_what_there_is():
    with server("--maxmemory", "64mb", "--maxclients", "20", "--databases", "4", "--memcached-database", "2", "--timeout", "77", *DEBUG) as it:
        it.db.command("SET", "elsewhere", "x" * 100000)
        assert counts(it, "bytes", "curr_items", "limit_maxbytes", "max_connections") == [0, 0, 64 << 20, 20]
        it.db.command("SELECT", "2")
        it.db.command("SET", "r", "x" * 1000)
        it.db.command("GET", "r")
        it.db.command("GET", "none")
        told = statistics(it)
        assert 1000 < int(told["bytes"]) < 1100 and told["curr_items"] == "1" and told["total_items"] == told["cmd_get"] == told["get_misses"] == "0", told
        assert int(told["pid"]) == it.process.pid and abs(int(told["time"]) - time.time()) < 60 and int(told["uptime"]) < 120 and float(told["rusage_user"]) >= 0
        assert told["threads"] == fields(it.db, "server")["threads"] and told["pointer_size"] == "64" and int(told["bytes_read"]) > 1000
        answers(it, b"set short 0 1 1", b"x", b"get short")
        before = counts(it, "get_expired", "expired_unfetched")
        it.db.command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        answers(it, b"set short 0 1 1", b"x")
        time.sleep(1.1)
        assert answers(it, b"get short", b"mg short v") == b"END\r\nEN\r\n"
        assert [now - then for now, then in zip(counts(it, "get_expired", "expired_unfetched"), before)] == [1, 1]
        received = fields(it.db, "stats")["total_net_input_bytes"]
        assert answers(it, b"stats reset") == b"RESET\r\n" and counts(it, "cmd_get", "get_expired") == [0, 0]
        assert int(fields(it.db, "stats")["total_net_input_bytes"]) > int(received) - 1, "what INFO counts goes on"
        answers(it, b"set stored 0 0 1", b"x", b"add stored 0 0 1", b"x", b"set stored 0 0 1", b"y")
        assert counts(it, "total_items", "cmd_set") == [2, 3]
        told = statistics(it, b"settings")
        assert (told["maxbytes"], told["maxconns"], told["tcpport"], told["evictions"], told["idle_timeout"], told["verbosity"], told["auth_enabled_ascii"]) == (
            str(64 << 20), "20", str(it.memcached), "off", "77", "0", "no"
        ), told
        told = statistics(it, b"conns")
        own = [name.split(":")[0] for name, value in told.items() if value == "conn_parse_cmd"]
        assert len(own) == 1 and told[own[0] + ":listen_addr"] == "tcp:127.0.0.1:%d" % it.memcached and "conn_listening" in told.values(), told
        refused = answers(it, b"stats detail on", b"stats d", b"stats cachedump 1 0", b"stats c", b"watch", b"watch fetchers noreply")
        assert refused == b"CLIENT_ERROR stats detail not allowed\r\n" * 2 + b"CLIENT_ERROR stats cachedump not allowed\r\n" * 2 + b"CLIENT_ERROR watch commands not allowed\r\n" * 2
        held = [line(it) for _ in range(25)]
        assert held[-1].socket.recv(100) == b"ERROR Too many open connections\r\n"
        [client.socket.close() for client in held]
        it.until(lambda: int(fields(it.db, "clients")["connected_clients"]) < 5)
        assert counts(it, "rejected_connections")[0] >= 5


def memory_that_ends_is_counted():
    with server("--maxmemory", "4mb") as it:
        client = line(it)
        sets = b"".join(b"set k%d 0 0 10000\r\n%s\r\n" % (number, b"x" * 10000) for number in range(600))
        refused = client.ask(sets).count(b"SERVER_ERROR out of memory")
        assert refused > 0 and counts(it, "store_no_memory", "evictions") == [refused, 0]
        assert it.db.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru") == b"OK"
        client.ask(b"get k1\r\n")
        assert b"SERVER" not in client.ask(sets)
        evictions, unfetched = counts(it, "evictions", "evicted_unfetched")
        assert evictions > 100 and evictions - 5 <= unfetched <= evictions, (evictions, unfetched)
        told = statistics(it, b"items")
        assert int(told["items:1:evicted"]) >= evictions and told["items:1:number"] == statistics(it, b"slabs")["1:used_chunks"] == statistics(it)["curr_items"]


def settings_are_set_as_there():
    with server() as it:
        setting = lambda name: it.db.command("CONFIG", "GET", name)[1]
        assert answers(it, b"cache_memlimit 100", b"verbosity 2") == b"OK\r\nOK\r\n"
        assert (setting("maxmemory"), setting("loglevel"), statistics(it, b"settings")["verbosity"]) == (b"104857600", b"debug", "2")
        assert answers(it, b"cache_memlimit 7", b"cache_memlimit 4000000000", b"cache_memlimit 8 noreply", b"verbosity 1 noreply") == (
            b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\nMEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n"
        )
        assert (setting("maxmemory"), setting("loglevel")) == (b"8388608", b"verbose")
        answers(it, b"verbosity 0")
        assert setting("loglevel") == b"notice"


def rights_are_those_of_the_commands_that_do_the_same():
    with server() as it:
        it.db.command("ACL", "SETUSER", "default", "-info", "-scan", "-config|set", "-flushdb")
        asked = (b"stats", b"stats reset", b"lru_crawler metadump all", b"lru_crawler mgdump all", b"cache_memlimit 64", b"verbosity 1", b"flush_all 5")
        names = (b"stats", b"stats", b"metadump", b"mgdump", b"cache_memlimit", b"verbosity", b"flush_all")
        client = line(it)
        client.socket.sendall(b"".join(each + b"\r\n" for each in asked) + b"version\r\n")
        told = b""
        while not told.endswith(b"VERSION 1.6.45\r\n"):
            told += client.socket.recv(1000)
        assert told == b"".join(b"CLIENT_ERROR %s not allowed\r\n" % name for name in names) + b"VERSION 1.6.45\r\n", told
    with server("--requirepass", "secret") as it:
        client = line(it)
        client.socket.sendall(b"set a 0 0 13\r\ndefault wrong\r\n")
        assert client.socket.recv(1000) == b"CLIENT_ERROR authentication failure\r\n"
        assert client.ask(b"set a 0 0 14\r\ndefault secret\r\n") == b"STORED\r\n"
        told = client.ask(b"stats\r\n")
        assert b"STAT auth_cmds 2\r\n" in told and b"STAT auth_errors 1\r\n" in told


def all_of(client, end):
    """What comes up to an end, line by line."""
    told = b""
    while not told.endswith(end):
        told += client.socket.recv(1 << 20)
    return told


def a_dump_leaves_in_pieces():
    count = 200_000
    with server("--threads", "2", *DEBUG) as it:
        it.db.command("DEBUG", "POPULATE", count, "key", "10")
        answers(it, b"set flagged 7 1000 1", b"x", b"ms Zm9vIGJhcg== 1 b", b"x", b"set over 0 1 1", b"x")
        it.db.command("LPUSH", "list", "x")
        for key in ("with blank", "line\nend", "l" * 251, "n " + "l" * 190):
            it.db.command("SET", key, "x")
        time.sleep(1.1)
        it.db.command("CONFIG", "RESETSTAT")
        monitor = it.connect()
        assert monitor.command("MONITOR") == b"OK"
        client = line(it)
        client.socket.sendall(b"get flagged\r\nlru_crawler metadump all\r\nlru_crawler mgdump hash\r\nget list\r\n")
        told = all_of(client, b"\r\nEN\r\nEND\r\n")
        assert told.startswith(b"VALUE flagged 7 1\r\nx\r\nEND\r\nOK\r\nkey=")
        facts, requests = told.split(b"OK\r\n")[1:]
        listed = [each.split(b" ") for each in facts.split(b"\n")[:-2]]
        keys = [urllib.parse.unquote_to_bytes(words[0][4:]) for words in listed]
        others = {b"flagged", b"foo bar", b"with blank", b"line\nend", b"n " + b"l" * 190}
        assert {key for key in keys if not key.startswith(b"key:")} == others, "what is no item, or has expired, is not listed"
        assert len(set(keys)) == count + len(others) and len(keys) < len(set(keys)) + 1000 and all(words[-1] == b"" for words in listed)
        of_flagged = dict(word.split(b"=") for word in next(words for words in listed if words[0] == b"key=flagged")[:-1])
        assert of_flagged[b"flags"] == b"7" and of_flagged[b"fetch"] == b"yes" and of_flagged[b"cas"] == b"0" and 900 < int(of_flagged[b"exp"]) - time.time() < 1001
        lines = requests.split(b"\r\n")[:-3]
        assert {each for each in lines if not each.startswith(b"mg key:")} == {b"mg flagged", b"mg Zm9vIGJhcg== b", b"mg d2l0aCBibGFuaw== b", b"mg bGluZQplbmQ= b"}
        found = line(it).ask(b"".join(each + b" k\r\n" for each in lines[:1000])).split(b"\r\n")
        assert all(each.startswith(b"HD k") for each in found[:-1]), found[:3]
        stats = it.db.command("INFO", "commandstats").decode()
        assert "cmdstat_mc|metadump:calls=1," in stats and "cmdstat_mc|mgdump:calls=1," in stats, stats
        shown = [monitor.read() for _ in range(4)]
        assert [each.split(b'"')[1] for each in shown] == [b"config", b"get", b"lru_crawler", b"lru_crawler"] or b"metadump" in shown[1] or b"metadump" in shown[2], shown


def a_dump_that_nobody_reads_takes_little():
    count = 500_000
    with server("--threads", "2", *DEBUG) as it:
        it.db.command("DEBUG", "POPULATE", count, "key", "10")
        before = it.resident_mib()
        clients = [line(it) for _ in range(20)]
        for number, client in enumerate(clients):
            if number > 0:  # The first one reads in the end, and fast.
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.socket.sendall(b"lru_crawler metadump all\r\nlru_crawler mgdump all\r\n" * 10)
        for _ in range(20):
            assert answers(it, b"get key:1", b"get none").endswith(b"END\r\n") and it.db.command("PING") == b"PONG"
            time.sleep(0.05)
        assert it.resident_mib() - before < 100, (before, it.resident_mib())
        told = clients[0].socket.recv(1 << 16)
        assert told.startswith(b"OK\r\nkey=")
        it.db.command("CLIENT", "PAUSE", "200", "ALL")
        it.db.command("FLUSHDB")
        told += all_of(clients[0], b"OK\r\nEN\r\n")
        [client.socket.close() for client in clients[1:]]
        it.until(lambda: int(fields(it.db, "clients")["connected_clients"]) < 4)


def a_dump_goes_on_where_its_connection_moves_to():
    with server("--threads", "3", *DEBUG) as it:
        it.db.command("DEBUG", "POPULATE", 50000, "key", "10")
        it.db.command("DEBUG", "MOVE-CONNECTIONS", "1")
        told = {}

        def dump(number):
            client = line(it)
            for _ in range(5):
                client.socket.sendall(b"lru_crawler mgdump all\r\n")
                lines = all_of(client, b"\r\nEN\r\n").split(b"\r\n")
                told[number] = told.get(number, 0) + len(set(lines))

        threads = [threading.Thread(target=dump, args=(number,)) for number in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert all(lines == 5 * 50003 for lines in told.values()), told


def a_flush_comes_with_its_delay_and_a_later_one_replaces_it():
    with server("--appendonly", "yes", "--repl-diskless-sync-delay", "0") as it, server("--replicaof", "127.0.0.1 %d" % it.port) as replica:
        replica.until(lambda: fields(replica.db, "replication")["master_link_status"] == "up")
        size = lambda who: who.db.command("DBSIZE")
        answers(it, b"set k 0 0 1", b"x")
        began = time.monotonic()
        assert answers(it, b"flush_all 5", b"get k", b"set late 0 0 1", b"x", b"get k late").count(b"VALUE") == 3
        it.until(lambda: answers(it, b"get k late") == b"END\r\n")
        assert time.monotonic() - began > 3.95, "when four seconds are over"
        assert answers(it, b"set k 0 0 1", b"x", b"flush_all 2", b"flush_all 1000", b"get k") == b"STORED\r\nOK\r\nOK\r\nVALUE k 0 1\r\nx\r\nEND\r\n"
        assert 990 < int(statistics(it, b"settings")["oldest"]) < 1000
        time.sleep(1.3)
        assert size(it) == 1, "the later one counts"
        assert answers(it, b"flush_all 2", b"flush_all", b"set k 0 0 1", b"x") == b"OK\r\nOK\r\nSTORED\r\n"
        time.sleep(1.3)
        assert size(it) == 1 and statistics(it, b"settings")["oldest"] == "0", "one without a delay too"
        answers(it, b"flush_all %d" % (time.time() + 5))
        it.db.command("CLIENT", "PAUSE", "100000", "WRITE")
        time.sleep(5.3)
        assert size(it) == 1, "a pause holds it back as it does a client's"
        it.db.command("CLIENT", "UNPAUSE")
        it.until(lambda: size(it) == 0)
        replica.until(lambda: size(replica) == 0)
        assert it.db.command("CONFIG", "GET", "appendonly")[1] == b"yes"
        written = "".join(path.read_text(errors="replace") for path in pathlib.Path(it.folder).glob("appendonlydir/*.aof"))
        assert "FLUSHDB" in written, written
        # Who becomes a replica leaves it to its primary.
        assert answers(replica, b"flush_all 2").startswith(b"SERVER_ERROR READONLY")
        it.db.command("SET", "k", "x")
        replica.until(lambda: size(replica) == 1)
        replica.db.command("REPLICAOF", "NO", "ONE")
        assert answers(replica, b"flush_all 2") == b"OK\r\n"
        replica.db.command("REPLICAOF", "127.0.0.1", it.port)
        replica.until(lambda: fields(replica.db, "replication")["master_link_status"] == "up")
        time.sleep(1.5)
        assert size(replica) == 1 and statistics(replica, b"settings")["oldest"] == "0"


def tools_read_what_they_need():
    """What memcached-tool and exporters read of a server."""
    with server() as it:
        answers(it, *(word for number in range(50) for word in (b"set k%d 3 0 2" % number, b"ok")))
        items, slabs = statistics(it, b"items"), statistics(it, b"slabs")
        for name in ("number", "age", "evicted", "evicted_time", "outofmemory", "evicted_nonzero", "tailrepairs"):
            assert items["items:1:" + name].isdigit()
        for name in ("chunk_size", "chunks_per_page", "total_pages", "total_chunks", "used_chunks", "free_chunks", "mem_requested"):
            assert (slabs | {"1:mem_requested": items["items:1:mem_requested"]})["1:" + name].isdigit()
        assert slabs["1:used_chunks"] == "50" and items["items:1:number"] == "50"


if __name__ == "__main__":
    sys.exit(run(globals()))
