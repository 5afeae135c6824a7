#!/usr/bin/env python3
"""Plays transcripts against a running server and compares its replies. README.md defines the format.

    run.py --addr HOST:PORT [--record] [FILE ...]

Without files every `*.txt` beside this script is played. `--record` writes the server's replies into the files
(lines with `<~` that match stay): use it against the reference server and read the result over.
"""

import argparse
import os
import pathlib
import re
import sys
import time

from resp import Closed, Connection, Tagged, escape, render, render_lines

PATIENCE = 10  # seconds that @until and @blocked wait for a condition, and @read for a reply
IMPATIENCE = 1  # the same after the first failure of a file, for others are likely to follow
BURST = 100  # commands that @each sends before it reads their replies


class BadTranscript(Exception):
    """A transcript that does not follow the format."""


def kept(reply):
    """A reply as `${name}` puts it into a line: as it is if it is one plain word, otherwise quoted."""
    if isinstance(reply, int):
        return str(reply)
    plain = re.fullmatch(rb"[!#-&(-\[\]-z|~]+", bytes(reply))
    return bytes(reply).decode() if plain else '"%s"' % escape(bytes(reply))


def unescape(text, position):
    """Reads a double-quoted string whose opening quote is at `position`; returns its bytes and where it ends."""
    out, named = bytearray(), {"n": 10, "r": 13, "t": 9, "b": 8, "a": 7}
    position += 1
    while position < len(text):
        char = text[position]
        if char == '"':
            return bytes(out), position + 1
        if char == "\\":
            following = text[position + 1 : position + 2]
            if following == "x":
                out.append(int(text[position + 2 : position + 4], 16))
                position += 4
                continue
            out += bytes([named[following]]) if following in named else following.encode()
            position += 2
            continue
        out += char.encode()
        position += 1
    raise BadTranscript("unbalanced quotes: " + text)


def tokens(text):
    """Splits a line as redis-cli does; `"..."*N` repeats a quoted string N times, and `{A..B}` outside quotes gives
    an argument for every integer from A to B."""
    found, position = [], 0
    while position < len(text):
        if text[position] == " ":
            position += 1
            continue
        if text[position] == '"':
            data, position = unescape(text, position)
            times = re.match(r"\*(\d+)", text[position:])
            if times:
                data, position = data * int(times.group(1)), position + times.end()
        elif text[position] == "'":
            end = text.index("'", position + 1)
            data, position = text[position + 1 : end].encode(), end + 1
        else:
            end = text.find(" ", position)
            end = len(text) if end < 0 else end
            word, position = text[position:end], end
            counted = re.fullmatch(r"(.*)\{(-?\d+)\.\.(-?\d+)\}(.*)", word)
            if counted:
                before, first, last, after = counted.groups()
                found += [("%s%d%s" % (before, n, after)).encode() for n in range(int(first), int(last) + 1)]
                continue
            data = word.encode()
        found.append(data)
    return found


def numbered(text, i):
    """`text` with `i` in place of each `{i}`; `{i*7}`, `{i%10}` and `{i*7%10}` calculate, `{i:04}` pads with zeros."""

    def number(found):
        times, modulus, width = found.groups()
        value = i * int(times or 1)
        value = value % int(modulus) if modulus else value
        return str(value).zfill(int(width or 0))

    return re.sub(r"\{i(?:\*(\d+))?(?:%(\d+))?(?::0(\d+))?\}", number, text)


def matches(pattern, text):
    """True when `text` fits: `*` any text, `?` one character, `{n}` an integer, `{a..b}` an integer in a range."""
    ranges, expression = [], ""
    for part in re.split(r"(\*|\?|\{n\}|\{-?\d+\.\.-?\d+\})", pattern):
        if part == "*":
            expression += ".*"
        elif part == "?":
            expression += "."
        elif part == "{n}":
            expression += r"-?\d+"
        elif re.fullmatch(r"\{-?\d+\.\.-?\d+\}", part):
            ranges.append([int(bound) for bound in part[1:-1].split("..")])
            expression += r"(-?\d+)"
        else:
            expression += re.escape(part)
    found = re.fullmatch(expression, text, re.DOTALL)
    return bool(found) and all(low <= int(n) <= high for (low, high), n in zip(ranges, found.groups()))


def sorted_reply(reply):
    """The reply with the items of an array, set or map in order, for replies whose order is free."""
    if isinstance(reply, list):
        return sorted(reply, key=render)
    if isinstance(reply, Tagged) and isinstance(reply.value, list):
        return Tagged(reply.kind, sorted(reply.value, key=lambda v: render(list(v)) if isinstance(v, tuple) else render(v)))
    return reply


def in_pairs(reply):
    """A flat array of fields and values as a map, so that a field is sorted together with its value."""
    return Tagged("map", list(zip(reply[::2], reply[1::2]))) if isinstance(reply, list) else reply


def counted(reply):
    """How many items an array, set or map has, and how many different ones, for replies that are drawn by lot."""
    items = reply.value if isinstance(reply, Tagged) else reply
    if not isinstance(items, list):
        return reply
    shown = [render(list(item)) if isinstance(item, tuple) else render(item) for item in items]
    return Tagged("(%d items, %d different)" % (len(shown), len(set(shown))))


class Player:
    """Plays one transcript and collects the lines of its recorded form."""

    def __init__(self, address, path, record):
        self.address, self.path, self.record = address, path, record
        self.connections, self.current, self.raw, self.parked = {}, "A", None, None
        self.variables, self.shape_next, self.keep_next, self.observer = {}, None, None, None
        self.passed, self.failures, self.output = 0, [], []

    def connection(self):
        """The connection of the current client, opened when first used."""
        if self.raw:
            return self.raw
        if self.current not in self.connections:
            self.connections[self.current] = Connection(self.address)
        return self.connections[self.current]

    def play(self):
        """Plays the file from its first line to its last; failures do not stop it, so that its clean-up runs."""
        lines = self.path.read_text().splitlines()
        self.connection().command("FLUSHALL")
        index = 0
        while index < len(lines):
            line, start = lines[index], index
            index += 1
            expected = []
            while index < len(lines) and lines[index].startswith("<"):
                expected.append(lines[index])
                index += 1
            self.output.append(line)
            if not line.strip() or line.startswith("#"):
                continue
            try:
                replied = self.step(self.fill_in(line), expected)
            except (Closed, TimeoutError) as problem:
                replied = ["(closed)" if isinstance(problem, Closed) else "(no reply)"]
                self.connections.pop(self.current, None)
            if replied is False:
                if expected:
                    self.failures.append((start + 1, line, expected, ["nothing is read here"]))
                continue
            self.compare(start + 1, line, expected, replied)
        for connection in [*self.connections.values(), self.raw, self.parked, self.observer]:
            if connection:
                connection.close()
        if self.record:
            self.path.write_text("\n".join(self.output) + "\n")

    def fill_in(self, text):
        """Replaces `${name}` by what @keep stored."""
        return re.sub(r"\$\{(\w+)\}", lambda m: self.variables[m.group(1)], text)

    def step(self, line, expected):
        """Runs one line; returns the lines of the reply, or False when there is none to compare."""
        if line.startswith(">> "):
            self.connection().send(tokens(line[3:]))
            return False
        if line.startswith("> "):
            if self.raw:
                return self.exchange(line[2:], expected)
            self.connection().send(tokens(line[2:]))
            return self.take_reply()
        if line.startswith("@"):
            word, _, rest = line[1:].partition(" ")
            return getattr(self, "do_" + word, self.unknown)(rest)
        raise BadTranscript("%s: what is this line? %s" % (self.path.name, line))

    def unknown(self, rest):
        raise BadTranscript("%s: unknown directive before: %s" % (self.path.name, rest))

    def take_reply(self):
        """Reads one reply and applies @sorted, @count and @keep."""
        reply = self.connection().read()
        if self.keep_next:
            self.variables[self.keep_next] = kept(reply)
            self.keep_next = None
        if self.shape_next:
            reply, self.shape_next = self.shape_next(reply), None
        self.last = reply
        return render_lines(reply)

    def exchange(self, text, expected):
        """Sends exact bytes; each expected line is exact bytes to read, or `(closed)`."""
        self.raw.send_bytes(b"".join(tokens(text)))
        got = []
        for line in expected:
            if line.endswith("(closed)"):
                got.append("(closed)" if self.raw.at_end() else "(open)")
            elif line.startswith("<~"):
                got.append('"%s"' % escape(self.raw.line() + b"\r\n"))
            elif self.record:
                got.append('"%s"' % escape(self.raw.line() + b"\r\n"))
            else:
                got.append('"%s"' % escape(self.raw.take(len(b"".join(tokens(line[2:]))))))
        self.last = None
        return got if expected else False

    def do_client(self, name):
        """@client NAME: the following commands go over the connection of that name."""
        self.parked = self.raw or self.parked
        self.raw, self.current = None, name
        return False

    def do_raw(self, _):
        """@raw: a new connection over which bytes are sent and read exactly, until @client."""
        for old in (self.raw, self.parked):
            if old:
                old.close()
        self.raw, self.parked = Connection(self.address), None
        return False

    def do_resume(self, _):
        """@resume: back to the raw connection that @client left."""
        self.raw, self.parked = self.parked, None
        return False

    def do_resp3(self, _):
        """@resp3: HELLO 3 on the current connection."""
        self.connection().command("HELLO", "3")
        return False

    def do_resp2(self, _):
        """@resp2: HELLO 2 on the current connection."""
        self.connection().command("HELLO", "2")
        return False

    def do_sorted(self, rest):
        """@sorted: the order of the next reply is free. @sorted pairs: the reply is a flat array of pairs."""
        self.shape_next = (lambda reply: sorted_reply(in_pairs(reply))) if rest == "pairs" else sorted_reply
        return False

    def do_count(self, rest):
        """@count: of the next reply only the numbers of items and of different items. @count pairs: of pairs."""
        self.shape_next = (lambda reply: counted(in_pairs(reply))) if rest == "pairs" else counted
        return False

    def do_keep(self, name):
        """@keep NAME: the next reply is available as ${NAME}."""
        self.keep_next = name
        return False

    def do_read(self, _):
        """@read: the next reply or push message, without sending anything."""
        self.connection().socket.settimeout(self.patience())
        return self.take_reply()

    def do_closed(self, _):
        """@closed: the server has closed the current connection."""
        closed = self.connection().at_end()
        self.connection().close()
        self.connections.pop(self.current, None)
        self.last = None
        return ["(closed)" if closed else "(open)"]

    def do_close(self, _):
        """@close: closes the current connection; its next command opens a new one."""
        self.connection().close()
        self.connections.pop(self.current, None)
        return False

    def do_fill(self, rest):
        """@fill N PREFIX: sets PREFIX0 to PREFIX(N-1)."""
        number, prefix = rest.split()
        for key in range(int(number)):
            self.connection().send([b"SET", b"%s%d" % (prefix.encode(), key), b"v"])
        for _ in range(int(number)):
            self.connection().read()
        return False

    def do_each(self, rest):
        """@each A..B COMMAND: sends the command for every integer from A to B in place of `{i}`; the last reply counts."""
        numbers, _, command = rest.partition(" ")
        first, last = map(int, numbers.split(".."))
        for start in range(first, last + 1, BURST):
            burst = range(start, min(start + BURST, last + 1))
            for number in burst:
                self.connection().send(tokens(numbered(command, number)))
            for _ in burst[:-1]:
                self.connection().read()
            self.last = self.connection().read()
        return render_lines(self.last)

    def do_scan(self, rest):
        """@scan OPTIONS: a whole iteration; the reply is every key found, each once, in order."""
        return self.iterate([b"SCAN"], tokens(rest))

    def do_sscan(self, rest):
        """@sscan KEY OPTIONS: a whole iteration of a set; the reply is every member, each once, in order."""
        return self.iterate([b"SSCAN", tokens(rest)[0]], tokens(rest)[1:])

    def do_hscan(self, rest):
        """@hscan KEY OPTIONS: a whole iteration of a hash; the reply is every field with its value, each once, in order."""
        options = tokens(rest)[1:]
        return self.iterate([b"HSCAN", tokens(rest)[0]], options, pairs=b"NOVALUES" not in options)

    def do_zscan(self, rest):
        """@zscan KEY OPTIONS: a whole iteration of a sorted set; the reply is every member with its score, in order."""
        options = tokens(rest)[1:]
        return self.iterate([b"ZSCAN", tokens(rest)[0]], options, pairs=b"NOSCORES" not in options)

    def iterate(self, command, options, pairs=False):
        """Runs a command with a cursor to the end; the reply is what was found, each once, in order."""
        cursor, found = b"0", set()
        while True:
            reply = self.connection().command(*command, cursor, *options)
            if not isinstance(reply, list):
                self.last = reply
                return render_lines(reply)
            cursor = reply[0]
            found.update(zip(reply[1][::2], reply[1][1::2]) if pairs else reply[1])
            if cursor == b"0":
                self.last = Tagged("map", sorted(found)) if pairs else sorted(found)
                return render_lines(self.last)

    def do_blocked(self, number):
        """@blocked N: waits until N clients wait in blocking commands, seen over a connection of its own."""
        self.observer = self.observer or Connection(self.address)
        return self.wait_for(self.observer, "INFO clients", "*\\r\\nblocked_clients:%s\\r\\n*" % number, "@blocked " + number)

    def do_until(self, rest):
        """@until COMMAND => REPLY: repeats the command until it answers so."""
        command, _, wanted = rest.partition(" => ")
        return self.wait_for(self.connection(), command, wanted, "@until " + rest)

    def patience(self):
        """Seconds to wait for what should come."""
        return IMPATIENCE if self.failures else PATIENCE

    def wait_for(self, connection, command, wanted, line):
        """Repeats a command until its reply fits; `line` names the failure when it never does."""
        deadline, got = time.monotonic() + self.patience(), None
        while time.monotonic() < deadline:
            connection.send(tokens(command))
            got = render(connection.read(), full=True)
            if matches(wanted, got):
                self.passed += 1
                return False
            time.sleep(0.005)
        self.failures.append((0, line, [wanted], [str(got)]))
        return False

    def do_needs(self, command):
        """@needs COMMAND|SUBCOMMAND: ends the file here when the server does not have that command."""
        reply = self.connection().command("COMMAND", "INFO", command)
        if isinstance(reply, list) and isinstance(reply[0], list):
            return False
        raise EOFError(command)

    def compare(self, number, line, expected, replied):
        """Notes success or failure of one exchange and keeps the lines for recording."""
        texts = [self.fill_in(re.sub("^<~? ?", "", text)) for text in expected]
        loose = [text.startswith("<~") for text in expected]
        if len(expected) == 1 and loose[0] and getattr(self, "last", None) is not None:
            replied = [render(self.last, full=True)]
        fits = len(texts) == len(replied) and all(
            matches(text, got) if free else text == got for text, free, got in zip(texts, loose, replied)
        )
        if fits:
            self.passed += 1
            self.output += expected
        elif self.record:
            self.output += ["< " + got for got in replied]
        else:
            self.failures.append((number, line, [text for text in expected], replied))


def play(path, address, record):
    """Plays one file; returns the numbers of passed and failed exchanges and prints what differs."""
    player = Player(address, path, record)
    try:
        player.play()
    except EOFError as missing:
        print("%s: the rest is skipped, the server has no %s" % (path.name, missing))
    except (OSError, Closed) as problem:
        player.failures.append((0, "connection", [], [repr(problem)]))
    for number, line, expected, replied in player.failures:
        print("%s:%d: %s" % (path.name, number, line[:200]))
        print("".join("    expected %s\n" % text for text in expected) or "    nothing expected\n", end="")
        print("".join("    got      < %s\n" % text for text in replied), end="")
    return player.passed, len(player.failures)


def unsent(paths):
    """Returns the commands of the manual that no transcript sends."""
    manual = (pathlib.Path(__file__).resolve().parents[2] / "docs/manual/commands.md").read_text()
    names = [name for name in re.findall(r"^\| ([A-Z][A-Z0-9_ -]*) \|", manual, re.M)]
    sent = set()
    for words in (line.upper().split() for path in paths for line in path.read_text(errors="replace").splitlines()):
        if words and words[0].startswith((">", "@")):
            # A line of the transcript's own, as `@each 1..9 COMMAND`, may have a word before the command.
            for at in range(1, 2 if words[0].startswith(">") else 3):
                sent.update((" ".join(words[at:at + 1]), " ".join(words[at:at + 2])))
    return [name for name in names if name not in sent]


def main():
    """Plays the files named on the command line, or all; of all it wants that they send every command."""
    parser = argparse.ArgumentParser(description="Plays transcripts against a running server.")
    parser.add_argument("--addr", default=os.environ.get("SERVER_ADDR", "127.0.0.1:6379"))
    parser.add_argument("--record", action="store_true", help="write the server's replies into the files")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    passed = failed = 0
    for path in options.files or sorted(here.glob("*.txt")):
        counts = play(path, options.addr, options.record)
        passed, failed = passed + counts[0], failed + counts[1]
    print("%d passed, %d failed" % (passed, failed))
    missing = [] if options.files else unsent(here.glob("*.txt"))
    if missing:
        print("no transcript sends %s" % ", ".join(missing))
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
