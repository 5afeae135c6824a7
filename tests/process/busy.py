#!/usr/bin/env python3
"""Scripts that run for long in the server named by VARVE_SERVER: who is served meanwhile, who waits, and what ends them.

    VARVE_SERVER=target/release/varve-server tests/process/busy.py [CASE ...]
"""

import contextlib
import select
import signal
import sys
import tempfile
import time

from run import PATIENCE, Closed, Error, Server, run
from saving import Saving

LOOP = "while true do end"
STUBBORN = "local f = coroutine.wrap(function() while true do pcall(function() while true do end end) end end) while true do pcall(f) end"
WRITER = "redis.call('set', 'half', '1') while true do end"
FUNCTIONS = ("#!lua name=lib\n"
             "redis.register_function('loop', function() while true do pcall(function() while true do end end) end end)\n"
             "redis.register_function('writer', function() redis.call('set', 'half', '1') while true do end end)")
BUSY = "BUSY Valkey is busy running a script. You can only call %s KILL or SHUTDOWN NOSAVE."
NEVER = ("--busy-reply-threshold", "0")
SOON = ("--busy-reply-threshold", "20")
THREADS = (1, 4)


def servers(*settings):
    """Servers with one thread and with several, of which each has clients."""
    for threads in THREADS:
        with Server("--threads", str(threads), "--enable-debug-command", "yes", *settings) as server:
            yield server


def clients(server, count=4):
    """Clients, spread over the threads."""
    return [server.connect() for _ in range(count)]


def until(is_so):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def text(reply):
    assert isinstance(reply, Error), reply
    return reply.decode()


def is_nil(reply):
    return getattr(reply, "kind", "") == "(nil)"


def nothing_from(db):
    """A client has no reply by now."""
    assert not db.buffer and not select.select([db.socket], [], [], 0)[0]


def runs_for_long(db):
    """Waits until a script counts as long: then it can be killed."""
    until(lambda: isinstance(db.command("FUNCTION", "STATS"), Error))


def runs_slowly(db):
    until(lambda: isinstance(db.command("PING"), Error))


def free_key(server, other):
    """The name of a key whose shard no script has: few keys share one, and which do is drawn at each start."""
    for number in range(PATIENCE):
        name, db = "free%d" % number, server.connect()
        Server.send(db, "GET", name)
        for _ in range(100):
            other.command("PING")
            if select.select([db.socket], [], [], 0)[0]:
                db.read()
                return name
    raise AssertionError("no key is free")


@contextlib.contextmanager
def running(db, other, *command):
    """A client's script that loops until it is killed at the end of the block."""
    Server.send(db, *(command or ("EVAL", LOOP, "1", "k")))
    yield
    assert other.command("SCRIPT", "KILL") == b"OK"
    assert "Script killed by user with SCRIPT KILL." in text(db.read())


def before_a_script_is_slow_those_wait_who_want_its_keys_and_the_others_are_served():
    for server in servers(*NEVER):
        script, other, writer, reader = clients(server)
        assert other.command("SET", "k", "1") == b"OK"
        with running(script, other):
            runs_for_long(other)
            Server.send(writer, "SET", "k", "2")
            Server.send(reader, "MGET", "k", "other")
            for _ in range(100):
                assert other.command("PING") == b"PONG"
            free = free_key(server, other)
            assert other.command("SET", free, "1") == b"OK" and other.command("MGET", free, free) == [b"1", b"1"]
            assert other.command("CONFIG", "GET", "threads-fixed")
            newcomer = server.connect()
            assert newcomer.command("ECHO", "hello") == b"hello"
            nothing_from(writer)
            nothing_from(reader)
        assert writer.read() == b"OK"
        assert reader.read()[0] in (b"1", b"2")
        assert other.command("GET", "k") == b"2"


def while_a_script_is_slow_all_get_busy_but_for_the_commands_that_are_for_that():
    for server in servers(*SOON):
        script, other, held, queuing = clients(server)
        Server.send(script, "EVAL", LOOP, "1", "k")
        Server.send(held, "GET", "k")
        runs_slowly(other)
        for command in (["PING"], ["GET", "k"], ["SET", "k", "1"], ["EVAL", "return 1", "0"], ["FUNCTION", "LIST"], ["SHUTDOWN"],
                        ["CONFIG", "GET", "save"], ["SCRIPT", "EXISTS", "x"], ["KEYS", "*"], ["FLUSHALL"], ["INFO"], ["FUNCTION", "STATS"]):
            assert text(other.command(*command)) == BUSY % "SCRIPT", command
        assert text(other.command("FUNCTION", "KILL")) == BUSY % "SCRIPT"
        assert isinstance(other.command("CLIENT", "ID"), int)
        for command in (["MULTI"], ["DISCARD"], ["WATCH", "k"], ["UNWATCH"], ["RESET"]):
            assert not isinstance(other.command(*command), Error), command
        assert other.command("HELLO", "2")[:2] == [b"server", b"valkey"]
        assert queuing.command("MULTI") == b"OK"
        assert text(queuing.command("SET", "k", "1")) == BUSY % "SCRIPT"
        assert text(queuing.command("EXEC")) == "EXECABORT Transaction discarded because of: " + BUSY % "SCRIPT"
        assert other.command("SCRIPT", "KILL") == b"OK"
        assert text(script.read()) == "ERR Script killed by user with SCRIPT KILL. script: on @user_script:1."
        # It had come before the script was slow, and may have waited for its lock already.
        reply = held.read()
        assert is_nil(reply) or text(reply) == BUSY % "SCRIPT"
        assert other.command("PING") == b"PONG"
        assert text(other.command("SCRIPT", "KILL")) == "NOTBUSY No scripts in execution right now."
        assert b"errorstat_BUSY:count=" in other.command("INFO", "errorstats")


def whatever_a_script_catches_it_is_killed():
    for server in servers(*SOON):
        script, other, *_ = clients(server)
        for source in (LOOP, STUBBORN, "while true do pcall(redis.call, 'PING') end", "while true do redis.pcall('NOSUCH') end",
                       "local t = {} while true do for i = 1, 1000 do t[i] = cjson.encode({i, {i}}) end end",
                       "while true do string.rep('x', 1000):gsub('x', string.upper) end"):
            with running(script, other, "EVAL", source, "0"):
                runs_slowly(other)
        assert script.command("EVAL", "return 'as before'", "0") == b"as before"


def a_script_is_killed_at_once_also_if_it_is_served_by_the_only_thread():
    times = []
    with Server("--threads", "1", *NEVER) as server:
        script, other = clients(server, 2)
        for _ in range(50):
            Server.send(script, "EVAL", STUBBORN, "0")
            runs_for_long(other)
            began = time.monotonic()
            assert other.command("SCRIPT", "KILL") == b"OK"
            script.read()
            times.append(1000 * (time.monotonic() - began))
    times.sort()
    return "%.1f ms from SCRIPT KILL to both replies, %.1f at most of %d" % (times[len(times) // 2], times[-1], len(times))


def a_killed_script_does_not_live_on_by_catching_the_error_of_its_first_write():
    catch = "local e = redis.pcall('incr', KEYS[1]) pcall(redis.call, 'incr', KEYS[1]) return 'lives'"
    with Server("--threads", "1", *NEVER) as server:
        script, other = clients(server, 2)
        loop, lived = "local n = 0 for i = 1, %d do n = n + i %% 3 end", 0
        began = time.monotonic()
        assert is_nil(script.command("EVAL", loop % 1_000_000, "0"))
        per_milli = 1000 / (time.monotonic() - began)
        for at in range(150):
            other.command("DEL", "n")
            # A script is killed from 5 ms on, at the next of its looks at others.
            source = "%s %s" % (loop % (per_milli * (3 + at / 15)), catch)
            Server.send(script, "EVAL", source, "1", "n")
            while not script.buffer and not select.select([script.socket], [], [], 0.0003)[0]:
                other.command("SCRIPT", "KILL")
            reply = script.read()
            if reply == b"lives":
                lived += 1
                assert other.command("GET", "n") == b"2"
            else:
                assert "Script killed by user with SCRIPT KILL." in text(reply) and other.command("EXISTS", "n") == 0
    return "%d of 150 were too fast to be killed" % lived


def functions_are_killed_by_their_own_command_and_stats_show_the_one_that_runs():
    for server in servers(*NEVER):
        script, other, *_ = clients(server)
        assert script.command("FUNCTION", "LOAD", FUNCTIONS) == b"lib"
        Server.send(script, "FCALL", "loop", "0", "word")
        until(lambda: not is_nil(other.command("FUNCTION", "STATS")[1]))
        stats = other.command("FUNCTION", "STATS")[1]
        assert stats[:4] == [b"name", b"loop", b"command", [b"FCALL", b"loop", b"0", b"word"]] and stats[4] == b"duration_ms"
        assert text(other.command("SCRIPT", "KILL")) == BUSY % "FUNCTION"
        assert other.command("FUNCTION", "KILL") == b"OK"
        assert text(script.read()) == "ERR Script killed by user with FUNCTION KILL. script: on @user_function:2."
        assert is_nil(other.command("FUNCTION", "STATS")[1])


def a_script_that_has_written_is_not_killed_and_the_end_of_the_server_loses_it_whole():
    for command in (("EVAL", WRITER, "0"), ("FCALL", "writer", "0")):
        for end in (lambda server, db: Server.send(db, "SHUTDOWN", "NOSAVE"), lambda server, db: server.process.send_signal(signal.SIGTERM)):
            for threads in THREADS:
                settings = ("--threads", str(threads), "--appendonly", "yes", "--shutdown-timeout", "1", *SOON)
                with tempfile.TemporaryDirectory() as folder:
                    with Saving(*settings, folder=folder) as server:
                        script, other = clients(server, 2)
                        assert script.command("FUNCTION", "LOAD", FUNCTIONS) == b"lib"
                        assert other.command("SET", "whole", "1") == b"OK"
                        Server.send(script, *command)
                        runs_slowly(other)
                        for kind in ("SCRIPT", "FUNCTION"):
                            assert text(other.command(kind, "KILL")).startswith("UNKILLABLE Sorry the script already executed write")
                        end(server, other)
                        assert server.ends_with_status() == 0
                    with Saving(*settings, folder=folder) as server:
                        db = server.connect()
                        assert db.command("EXISTS", "whole") == 1 and db.command("EXISTS", "half") == 0


def sigterm_ends_a_script_that_has_only_read_and_keeps_the_data():
    for threads in THREADS:
        with tempfile.TemporaryDirectory() as folder:
            settings = ("--threads", str(threads), "--save", "3600 1", *NEVER)
            with Saving(*settings, folder=folder) as server:
                script, other = clients(server, 2)
                assert other.command("SET", "k", "v") == b"OK"
                Server.send(script, "EVAL", STUBBORN, "0")
                runs_for_long(other)
                server.process.send_signal(signal.SIGTERM)
                assert server.ends_with_status() == 0
            with Saving(*settings, folder=folder) as server:
                assert server.connect().command("GET", "k") == b"v"


def the_server_ends_though_a_script_begins_at_that_moment():
    for threads in THREADS:
        for source in (STUBBORN, WRITER) * 3:
            with tempfile.TemporaryDirectory() as folder:
                settings = ("--threads", str(threads), "--save", "3600 1", "--shutdown-timeout", "1", *NEVER)
                with Saving(*settings, folder=folder) as server:
                    script, other = clients(server, 2)
                    assert other.command("SET", "k", "v") == b"OK"
                    Server.send(script, "EVAL", source, "0")
                    server.process.send_signal(signal.SIGTERM)
                    assert server.ends_with_status() == 0


def with_the_scope_keys_nobody_gets_busy():
    for server in servers(*SOON, "--busy-reply-scope", "keys"):
        script, other, held, _ = clients(server)
        with running(script, other):
            until(lambda: "Slow script detected" in server.output.read_text())
            assert other.command("PING") == b"PONG"
            Server.send(held, "GET", "k")
            nothing_from(held)
        assert is_nil(held.read())


def a_script_ends_at_its_time_limit_unless_it_has_written():
    for server in servers(*NEVER, "--script-time-limit", "20"):
        script, other, *_ = clients(server)
        assert "Script ran for longer than script-time-limit." in text(script.command("EVAL", STUBBORN, "0"))
        assert script.command("EVAL", "redis.call('set', 'n', 0) for i = 1, 300000 do redis.call('incr', 'n') end return redis.call('get', 'n')", "0") == b"300000"


def a_script_behind_the_closed_gate_is_killed_too():
    for server in servers(*SOON):
        script, other, held, _ = clients(server)
        with running(script, other, "EVAL", "local word = 'flushall' " + LOOP, "0"):
            Server.send(held, "SET", "k", "v")
            until(lambda: isinstance(other.command("CLIENT", "ID"), int) and "Slow script detected" in server.output.read_text())
        assert held.read() == b"OK" or held.command("SET", "k", "v") == b"OK"
        assert other.command("GET", "k") == b"v"


def who_acts_on_everything_waits_for_a_script_and_keeps_nobody_out():
    for server in servers(*NEVER):
        script, other, flusher, _ = clients(server)
        assert other.command("SET", "k", "v") == b"OK"
        with running(script, other):
            runs_for_long(other)
            Server.send(flusher, "FLUSHALL")
            for _ in range(200):
                assert other.command("PING") == b"PONG"
            nothing_from(flusher)
        assert flusher.read() == b"OK"
        assert other.command("DBSIZE") == 0


def a_script_keeps_what_it_has_reached_and_whoever_wants_that_waits():
    for server in servers(*NEVER):
        script, other, writer, second = clients(server)
        assert other.command("MSET", "a", "1", "b", "2") == b"OK"
        Server.send(script, "EVAL", "local sum = 0 for _, name in ipairs({'a', 'b'}) do sum = sum + redis.call('incr', name .. '') end while not redis.call('get', 'a' .. 'x') do end return sum", "0")
        runs_for_long(other)
        free = free_key(server, other)
        assert other.command("SET", free, "3") == b"OK"
        Server.send(writer, "MSET", free, "9", "b", "9")
        Server.send(second, "EVAL", "return redis.call('get', KEYS[1])", "1", "a")
        assert text(other.command("SCRIPT", "KILL")).startswith("UNKILLABLE")
        for _ in range(100):
            assert other.command("GET", free) == b"3"
        nothing_from(writer)
        nothing_from(second)
        Server.send(other, "SHUTDOWN", "NOSAVE")
        assert server.ends_with_status() == 0


def those_who_came_together_with_a_script_are_served_meanwhile():
    for server in servers(*NEVER):
        other, many = server.connect(), clients(server, 16)
        for db in many:
            assert db.command("PING") == b"PONG"
        for _ in range(5):
            for at, db in enumerate(many):
                Server.send(db, *(["EVAL", LOOP, "0"] if at == 2 else ["ECHO", str(at)]))
            for at, db in enumerate(many):
                if at != 2:
                    assert db.read() == b"%d" % at
            runs_for_long(other)
            assert other.command("SCRIPT", "KILL") == b"OK"
            assert isinstance(many[2].read(), Error)


def what_happens_to_clients_meanwhile_happens_in_order():
    for server in servers(*NEVER):
        script, other, subscriber, blocked = clients(server)
        killed, leaving = clients(server, 2)
        assert subscriber.command("SUBSCRIBE", "c") == [b"subscribe", b"c", 1]
        Server.send(blocked, "BLPOP", "list", "0")
        Server.send(leaving, "BLPOP", "list", "0")
        until(lambda: b"blocked_clients:2" in other.command("INFO", "clients"))
        victim = killed.command("CLIENT", "ID")
        # Behind the script its client has more requests.
        Server.send(script, "EVAL", LOOP, "1", "list")
        Server.send(script, "RPUSH", "list", "a")
        Server.send(script, "ECHO", "behind")
        runs_for_long(other)
        for number in range(100):
            assert other.command("PUBLISH", "c", str(number)) == 1
            assert subscriber.read() == [b"message", b"c", b"%d" % number]
        assert other.command("CLIENT", "KILL", "ID", str(victim)) == 1
        leaving.close()
        until(lambda: b"blocked_clients:1" in other.command("INFO", "clients"))
        try:
            killed.command("PING")
            raise AssertionError("it was killed")
        except (Closed, OSError):
            pass
        Server.send(other, "RPUSH", "list", "b")
        nothing_from(blocked)
        killer = server.connect()
        assert killer.command("SCRIPT", "KILL") == b"OK"
        assert isinstance(script.read(), Error)
        assert blocked.read() in ([b"list", b"a"], [b"list", b"b"])
        assert isinstance(script.read(), int) and script.read() == b"behind"
        assert isinstance(other.read(), int)
        assert other.command("LLEN", "list") == 1


def a_client_that_leaves_does_not_end_its_script():
    for server in servers(*NEVER):
        script, other, *_ = clients(server)
        Server.send(script, "EVAL", LOOP, "0")
        runs_for_long(other)
        script.close()
        assert other.command("PING") == b"PONG"
        assert isinstance(other.command("FUNCTION", "STATS"), Error), "it still runs"
        assert other.command("SCRIPT", "KILL") == b"OK"
        until(lambda: not isinstance(other.command("FUNCTION", "STATS"), Error))


def served_before(db, other, name):
    """How often another client is served, who sends one request after the other, before this one's reply is there."""
    served = 0
    while not db.buffer and not select.select([db.socket], [], [], 0)[0]:
        assert other.command("GET", name) == b"0"
        served += 1
    return served


def others_are_served_between_the_commands_of_a_long_transaction_and_the_elements_of_a_long_reply():
    with Server("--threads", "1") as server:
        db, other = clients(server, 2)
        elements = [b"%030d" % number for number in range(10_000)]
        for _ in range(80):
            db.command("RPUSH", "list", *elements)
        for number in range(PATIENCE):
            name = "free%d" % number
            assert other.command("SET", name, "0") == b"OK"
            # A shard that the transaction has is waited for: few keys share one.
            queued = [[b"SET", b"k", b"%d" % number] for number in range(100_000)]
            db.send_bytes(b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
                                   for words in [[b"MULTI"], *queued]))
            assert [db.read() for _ in range(len(queued) + 1)] == [b"OK"] + [b"QUEUED"] * len(queued)
            Server.send(db, "EXEC")
            transaction = served_before(db, other, name)
            assert db.read() == [b"OK"] * len(queued)
            Server.send(db, "LRANGE", "list", 0, -1)
            reply = served_before(db, other, name)
            assert len(db.read()) == 800_000
            if transaction > 3 and reply > 3:
                return "%d requests during EXEC, %d during LRANGE" % (transaction, reply)
        raise AssertionError("nobody was served meanwhile")


def a_script_in_a_transaction_is_killed_and_what_stands_behind_it_runs():
    for server in servers(*SOON):
        script, other, *_ = clients(server)
        for words in (["MULTI"], ["EVAL", LOOP, "0"], ["SET", "k", "v"]):
            assert script.command(*words) in (b"OK", b"QUEUED")
        Server.send(script, "EXEC")
        runs_slowly(other)
        assert other.command("SCRIPT", "KILL") == b"OK"
        killed, done = script.read()
        assert isinstance(killed, Error) and done == b"OK"
        assert other.command("GET", "k") == b"v"


if __name__ == "__main__":
    sys.exit(run(globals()))
