#!/usr/bin/env python3
"""Has the server named by VARVE_SERVER load append-only files as other servers write them, whole and broken.

    VARVE_SERVER=target/release/varve-server tests/process/foreign_files.py [CASE ...]

What Valkey 9.1.2 and Redis 8.0.6 write is kept here as samples; where they are (peers.py), they also write files of their own.
"""

import pathlib
import sys
import tempfile
import time

from append_only import FIRST, Loading, command, fails, manifest, one
from peers import ROOT, are_there, give_away, started
from run import Error, PATIENCE, run

FUTURE, PAST = 33_000_000_000_123, 1_000_000_000_000
ABOVE = 3 << 20  # bytes, more than proto-max-bulk-len allows in the tests

# What a file may hold though the same would be refused to a client, or would do something else there: commands before it, the
# command, and a question with its answer.
FILE_ONLY = [
    # MAXLEN and MINID with ~ and LIMIT stand there with = and what was found, and the LIMIT of the request.
    (["XADD s 1-1 f v", "XADD s 2-1 f v"], "XADD s MAXLEN = 2 LIMIT 250 3-1 f v", "XLEN s", 2),
    (["XADD s 1-1 f v", "XADD s 2-1 f v"], "XADD s NOMKSTREAM MAXLEN = 1 LIMIT 250 3-1 f v", "XLEN s", 1),
    (["XADD s 1-1 f v", "XADD s 2-1 f v"], "XADD s MINID = 2-1 LIMIT 1 3-1 f v", "XLEN s", 2),
    (["XADD s 1-1 f v", "XADD s 2-1 f v"], "XADD s MAXLEN = 0 LIMIT 0 3-1 f v", "XLEN s", 0),
    (["XADD s 1-1 f v", "XADD s 2-1 f v"], "XTRIM s MAXLEN = 1 LIMIT 100", "XLEN s", 1),
    (["XADD s 1-1 f v", "XADD s 2-1 f v"], "XTRIM s MINID = 2-1 LIMIT 7", "XLEN s", 1),
    # Under another proto-max-bulk-len.
    (["SET k v"], "SETRANGE k %d x" % ABOVE, "STRLEN k", ABOVE + 1),
    (["SET k v"], "SETBIT k %d 1" % (8 * ABOVE), "STRLEN k", ABOVE + 1),
    (["SET k v"], "BITFIELD k SET u8 %d 1" % (8 * ABOVE), "STRLEN k", ABOVE + 1),
]
# The same of deadlines that have passed since: what follows names whatever is to go.
PASSED = [
    (["SET k v"], "PEXPIREAT k %d" % PAST, "PERSIST k", "GET k", b"v"),
    ([], "SET k v PXAT %d" % PAST, "PERSIST k", "GET k", b"v"),
    ([], "SET k v PXAT %d" % PAST, "SET k w KEEPTTL", "GET k", None),
    (["RPUSH l a"], "PEXPIREAT l %d" % PAST, "PEXPIREAT l %d" % FUTURE, "LRANGE l 0 -1", [b"a"]),
    (["HSET h f v"], "HPEXPIREAT h %d FIELDS 1 f" % PAST, "HPERSIST h FIELDS 1 f", "HGET h f", b"v"),
    ([], "HSETEX h PXAT %d FIELDS 1 f v" % PAST, "HPERSIST h FIELDS 1 f", "HGET h f", b"v"),
    (["HSET h other v"], "HSETEX h PXAT %d FIELDS 1 f v" % PAST, "HSETEX h KEEPTTL FIELDS 1 f w", "HGET h f", None),
    (["HSETEX h PXAT %d FIELDS 1 f 1" % PAST], "HSETEX h KEEPTTL FIELDS 1 f 2", "HPEXPIREAT h %d FIELDS 1 f" % FUTURE, "HGET h f", b"2"),
    (["HSET h f 1"], "HPEXPIREAT h %d FIELDS 1 f" % PAST, "HSET h f 3", "HGET h f", b"3"),
    (["HSETEX h PXAT %d FIELDS 1 f 1" % PAST], "HINCRBY h f 1", "HPERSIST h FIELDS 1 f", "HGET h f", b"2"),
]


def words(text):
    return command(*text.split())


def asked(client, text):
    return client.command(*text.split())


def forms_that_only_a_file_may_hold_are_loaded_and_refused_to_clients():
    """One file with all samples, a database for each."""
    data = b""
    for number, (before, form, _, _) in enumerate(FILE_ONLY):
        data += words("SELECT %d" % number) + b"".join(map(words, before)) + words(form)
    with one(data, "--proto-max-bulk-len", "1mb") as server:
        client = server.loaded()
        for number, (_, form, question, answer) in enumerate(FILE_ONLY):
            asked(client, "SELECT %d" % number)
            assert asked(client, question) == answer, (form, asked(client, question))
            assert isinstance(asked(client, form), Error), form
            assert asked(client, question) == answer, form


def a_deadline_that_has_passed_counts_once_all_is_loaded():
    data = b""
    for number, (before, form, behind, _, _) in enumerate(PASSED):
        data += words("SELECT %d" % number) + b"".join(map(words, [*before, form, behind]))
    with one(data) as server:
        client = server.loaded()
        for number, (_, form, behind, question, answer) in enumerate(PASSED):
            asked(client, "SELECT %d" % number)
            found = asked(client, question)
            assert found == answer or answer is None and not isinstance(found, (bytes, Error)), (form, behind, found)


def files_in(folder):
    """The append-only files of a server that worked in a folder."""
    return {path.name: path.read_bytes() for path in pathlib.Path(folder, "appendonlydir").iterdir()}


SESSION = """XADD s MAXLEN ~ 100 LIMIT 250 1-1 f v
XADD s 1-2 f v
XADD s NOMKSTREAM MAXLEN ~ 1 LIMIT 250 1-3 f v
XADD s MINID ~ 1-2 LIMIT 5 1-4 f v
XADD s MINID ~ 1 LIMIT 0 1-5 f v
XADD t MAXLEN 1 1-6 f v
XADD t MAXLEN ~ 1 LIMIT 10 * f v
XGROUP CREATE s g 0 MKSTREAM
XGROUP CREATE s h $ ENTRIESREAD 3
XREADGROUP GROUP g c COUNT 2 STREAMS s >
XREADGROUP GROUP g c2 NOACK COUNT 1 STREAMS s >
XAUTOCLAIM s g d 0 0 COUNT 1
XCLAIM s g e 0 1-1 IDLE 5 RETRYCOUNT 7
XACK s g 1-1
XDEL s 1-3
XSETID s 9999999999999-1 ENTRIESADDED 50 MAXDELETEDID 1-3
HSET h a 1 b 2 c 3 z 1
HINCRBY h a 5
HINCRBYFLOAT h a 0.5
HINCRBYFLOAT h b 0.5
HSETNX h y 1
HGETDEL h FIELDS 1 z
SET k v EX 10000
SET k v KEEPTTL
SET k v XX GET
GETEX k EX 5000
SET k2 v NX
GETEX k2 PXAT 1
SET i 1
INCRBYFLOAT i 0.5
SET gone 1
GETDEL gone
APPEND ap xyz
SETRANGE ap 10 x
SETBIT bits 7 1
BITFIELD bits SET u8 0 255 INCRBY u8 8 3
BITOP AND dest bits bits
EXPIRE ap 10000
EXPIRE bits 20000 NX
SADD set 1 2 3 4 5 6 7 8 9 a b c
SPOP set
SPOP set 3
RPUSH l 1 2 3 4 5 6 7 8 9
LMPOP 1 l LEFT COUNT 2
BLPOP l 1
BLMOVE l l2 LEFT RIGHT 1
BRPOPLPUSH l l2 1
BLMPOP 1 1 l LEFT COUNT 2
ZADD z 1.5 a 2 b 3 c 4 d inf e 6 f 7 g
ZINCRBY z 0.1 a
ZADD z INCR 0.2 a
ZADD z GT CH 5 b
BZPOPMIN z 1
ZMPOP 1 z MAX COUNT 2
GEOADD geo 13.36 38.11 P 15.08 37.5 C
GEORADIUS geo 15 37 200 km STORE gs
GEOSEARCHSTORE gs2 geo FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST
SORT l2 ALPHA STORE sorted
PFADD hll a b c
PFADD hll2 d
PFMERGE hll3 hll hll2
PFCOUNT hll3
COPY hll3 hll4
RENAME hll4 hll5
MOVE hll5 3
SWAPDB 0 3
SWAPDB 0 3
MSET a 1 b 2
MSETNX a2 1 b2 2
UNLINK a
PUBLISH a b
MULTI
SET m 1
INCR m
EXEC
RESTORE-ASKING asked 0 DUMP-OF-K
RESTORE restored 99999999999999 DUMP-OF-K REPLACE ABSTTL IDLETIME 5"""
OF_VALKEY = """HSET h a 9
HPEXPIRE h 1000000 FIELDS 1 a
HINCRBY h a 5
HSETEX h EX 10000 FIELDS 2 a 5 q 6
HSETEX h KEEPTTL FIELDS 1 a 7
HSETEX h FNX EX 7700 FIELDS 1 n 7
HGETEX h PERSIST FIELDS 1 q
HEXPIRE h 0 FIELDS 1 q
SET k w IFEQ v
MSETEX 1 mk v EX 10000
DELIFEQ i 1.5"""


def perform(db, session):
    payload = b""
    for line in session.splitlines():
        if "DUMP-OF-K" in line:
            payload = db.command("DUMP", "k")
        reply = db.command(*[payload if word == "DUMP-OF-K" else word for word in line.split()])
        assert not isinstance(reply, Error), (line, reply)


def what_valkey_and_redis_write_is_loaded_to_the_last_command():
    if not are_there():
        print("skipped  what Valkey and Redis write: there is no valkey-server and no redis-server")
        return
    for program, more in (("valkey-server", "\n" + OF_VALKEY), ("redis-server", "")):
        for rewritten in (False, True):
            with tempfile.TemporaryDirectory(prefix="varve-peer-", dir=ROOT / "tmp", ignore_cleanup_errors=True) as place:
                give_away(place)
                with started(program, place, "--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no") as db:
                    perform(db, SESSION + more)
                    if rewritten:
                        db.command("BGREWRITEAOF")
                        wait_for(lambda: b"aof_rewrite_in_progress:0\r\n" in db.command("INFO", "persistence"))
                        db.command("SET", "behind", "it")
                    expected = db.command("DEBUG", "DIGEST")
                give_away(place)
                with Loading(files_in(place)) as server:
                    client = server.loaded()
                    assert client.command("DEBUG", "DIGEST") == expected, (program, rewritten, server.output.read_text())
                    assert passed_over(client) == 0, server.output.read_text()


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def fact(client, name):
    lines = client.command("INFO").decode().splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split(":")[1])


def passed_over(client):
    return fact(client, "aof_last_load_passed_over")


# What changes no data, wherever it is executed. Valkey 9.1.2 loads a file with any of them.
HARMLESS = """WATCH a
UNWATCH
EXEC
DISCARD
AUTH x
AUTH user x
HELLO 3
CONFIG SET maxmemory 1
CONFIG RESETSTAT
SAVE
BGSAVE
BGREWRITEAOF
SUBSCRIBE c
PSUBSCRIBE c
SSUBSCRIBE c
UNSUBSCRIBE
WAIT 0 0
WAITAOF 0 0 0
REPLCONF GETACK *
REPLICAOF NO ONE
FAILOVER ABORT
CLUSTER SETSLOT 7 STABLE
CLUSTER SYNCSLOTS ESTABLISH NAME a SLOTSRANGE 7 7
CLUSTER SYNCSLOTS FINISH STATE failed NAME a
SYNC
ACL SETUSER x on
ACL LIST
SCRIPT EXISTS x
EVAL_RO return 0
CLIENT SETNAME x
CLIENT REPLY OFF
CLIENT PAUSE 100000
CLIENT KILL TYPE normal
CLIENT NO-EVICT on
RESET
QUIT
PING
ECHO x
MONITOR
COMMAND COUNT
INFO
TIME
ROLE
SLOWLOG GET
MEMORY DOCTOR
OBJECT ENCODING a
DEBUG SLEEP 0
GET a
KEYS *
FUNCTION LIST
FUNCTION STATS
FUNCTION DELETE nolib
FUNCTION RESTORE payload
FUNCTION LOAD payload""".splitlines()


def what_changes_no_data_is_passed_over_counted_and_told():
    data = b"".join(words("INCR a") + words(line) for line in HARMLESS)
    with one(data, "--aof-load-truncated", "no") as server:
        client = server.loaded()
        assert int(client.command("GET", "a")) == len(HARMLESS)
        assert client.command("CONFIG", "GET", "maxmemory") == [b"maxmemory", b"0"]
        assert passed_over(client) == len(HARMLESS)
        output = server.output.read_text()
        assert "%d commands that change no data were passed over" % len(HARMLESS) in output and "CLIENT (5)" in output, output
        for failed in ("DELETE", "RESTORE", "LOAD"):
            assert '"FUNCTION" "%s" .. has failed: ERR ' % failed in output, output


# What may have changed data and cannot be executed.
LOST = """LPUSH a x
INCRBY a x
XGROUP SETID nostream g 0
RESTORE a 0 payload
SWAPDB 0 99
RENAME nokey x
SET a b EX
MIGRATE 127.0.0.1 1 a 0 1
CLUSTER FLUSHSLOT 7
EVALSHA abc 0
FCALL f 0
NOSUCH a
XGROUP NOSUCH a
FUNCTION NOSUCH
GET
SET a""".splitlines()
# Without which nothing behind them can be executed either.
FATAL = ["SELECT 99", "SELECT x"]


def a_file_that_cannot_be_executed_whole_stops_the_start_unless_a_setting_says_to_go_on():
    first = words("SET a v")
    for line in LOST + FATAL:
        output = fails(one(first + words(line) + words("SET z 9")))
        assert FIRST in output and "byte %d" % len(first) in output and '"%s"' % line.split()[0] in output, output
        assert ("propagation-error-behavior ignore" in output) == (line in LOST), output
    data = first + b"".join(words(line) + words("INCR z") for line in LOST)
    for behavior in ("ignore", "panic-on-replicas"):
        with one(data, "--propagation-error-behavior", behavior) as server:
            client = server.loaded()
            assert (client.command("GET", "z"), client.command("GET", "a")) == (b"%d" % len(LOST), b"v")
            assert fact(client, "unexpected_error_replies") == len(LOST)
            output = server.output.read_text()
            assert "byte %d: " % len(first) in output and '"LPUSH" "a" .., refused with ' in output, output
            assert "%d commands have failed in all" % len(LOST) in output, output
    for line in FATAL:
        assert "DB index" in fails(one(first + words(line), "--propagation-error-behavior", "ignore")) or line == "SELECT x"


# Numbers as Valkey 9.1.2 reads them.
ODD = [
    b"*+3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\n2\r\n",
    b"*03\r\n$003\r\nSET\r\n$1\r\nb\r\n$+1\r\n2\r\n",
    b"* 3\r\n$ 3\r\nSET\r\n$1 \r\nb\r\n$1\r\n2\r\n",
    b"*3\n$3\nSET\r\n$1\nb\r\n$1\n2\r\n",
]
# Ends that it does not start with.
FOREIGN = [
    b"SET b 2\r\n",
    b"SET b 2\r\n" * 200,
    b"*3\n$3\nSET\n$1\nb\n$1\n2\n" * 200,
    b"*0\r\n",
    b"\r\n",
    b"REDIS0011\xfa\x09redis-ver\x057.2.0\xff" + bytes(8),
    bytes(range(1, 256)) * 4,
]


def numbers_are_read_as_valkey_reads_them():
    whole = words("SET a 1")
    for odd in ODD:
        with one(whole + odd + words("SET c 3")) as server:
            assert server.loaded().command("MGET", "a", "b", "c") == [b"1", b"2", b"3"], odd


def an_end_that_is_no_command_stops_the_start():
    own = b""
    with Loading({}) as server:
        server.loaded().command("SET", "a", 1)
        server.send(server.connect(), "SHUTDOWN")
        server.process.wait(PATIENCE)
        own = server.file(FIRST)
    # The end of a sector, which a machine's death may leave to something else, must not come.
    own += words("SET padding " + "x" * (600 - len(own) % 512))
    for whole in (words("SET a 1"), own):
        for end in FOREIGN:
            output = fails(one(whole + end))
            assert "Bad file format reading the append only file" in output and "at byte %d" % len(whole) in output, output
            assert "varve-check --fix" in output, output


def what_is_cut_off_is_kept_beside_the_file():
    """As is a transaction that was not finished, with what follows it: Redis goes on behind one."""
    whole, unfinished = words("SET a 1"), words("MULTI") + words("SET a 2")
    for end in (words("SET a 2")[:-2], words("SET a 2")[:-1], bytes(1000), unfinished, unfinished + words("SET a 3")[:-5]):
        with one(whole + end) as server:
            client = server.loaded()
            assert client.command("GET", "a") == b"1"
            assert server.file(FIRST + ".cut-off") == end and server.file(FIRST) == whole, end
            output = server.output.read_text()
            assert "The %d bytes that are cut off are kept in appendonlydir/%s.cut-off" % (len(end), FIRST) in output, output


def what_is_written_behind_a_torn_transaction_is_there_after_another_start():
    torn = words("SET a 1") + words("MULTI") + words("INCR a") + words("INCR a")[:-3]
    with one(torn, "--appendfsync", "always") as server:
        client = server.loaded()
        assert client.command("INCRBY", "a", 10) == 11
        server.process.kill()
        server.process.wait(PATIENCE)
        with Loading(files_in(server.source.name)) as second:
            assert second.loaded().command("GET", "a") == b"11"
            assert "cut off" not in second.output.read_text()


def sizes_of_slots_between_keys_are_passed_over():
    """Valkey in cluster mode writes them as a note, Redis as an opcode."""
    base = "appendonly.aof.1.base.rdb"
    for name, mark in (("valkey-9.1.2-cluster", b"\xfa\tslot-info"), ("redis-8.0.6-cluster", b"value 0\xf4")):
        data = (pathlib.Path(__file__).resolve().parent.parent / "rdb" / (name + ".rdb")).read_bytes()
        assert mark in data
        with Loading({base: data, "appendonly.aof.manifest": manifest(base)}) as server:
            client = server.loaded()
            assert client.command("DBSIZE") == 9 and client.command("GET", "slot:7") == b"value 7", name


if __name__ == "__main__":
    sys.exit(run(globals()))
