#!/usr/bin/env python3
"""Plays lines to a server of Memcached's protocol, and compares what it answers with what stands here.

play.py --addr HOST:PORT [--record] FILE...

A file has cases, with empty lines between them. What begins with `> ` is sent, all of a case at once; what begins with `< ` is
the answer of Memcached 1.6.45, `<` alone is none; `# ` begins a comment. Numbers of CAS that nobody has given are `CAS`. `\\x`
and two digits stand for a byte, `{k*250}` for 250 letters; `{CAS}` is sent as the number that was told last, `{CAS-1}` as the one below. Of statistics the
names and their order count, and the values of COUNTED; lines of a dump stand in the order of their keys. `--record` writes what the server answers into the file.
"""
import argparse
import pathlib
import re
import socket
import sys

PATIENCE = 30
END = b"MN\r\n"
GIVEN_MAX = 100_000
DUMP = re.compile(rb"^ *lru_crawler m\w+ (?!.*noreply)", re.MULTILINE)
DUMP_END = re.compile(rb"^(END?|ERROR.*|BADCLASS.*)\r\n\Z", re.MULTILINE)
# Statistics whose values are the same.
COUNTED = re.compile(
    rb"cmd_(get|set|touch|meta|flush)|(get|touch|incr|decr|delete|cas)_(hits|misses)|get_expired|cas_badval|store_too_large|auth_\w+"
    rb"|curr_items|version|pointer_size|accepting_conns|sizes_status|items:1:number|1:used_chunks|udpport|shutdown_command"
    rb"|stat_key_prefix|detail_enabled|cas_enabled|auth_\w+|flush_enabled|(track|temp|proxy)_\w+|client_flags_size|maxconns_fast"
)


class Line:
    """A connection."""

    def __init__(self, host, port):
        self.socket = socket.create_connection((host, int(port)), PATIENCE)

    def ask(self, data):
        """What is answered, up to the end of a command that is sent behind it."""
        answer = bytearray()
        if b"lru_crawler m" in data and DUMP.search(data):
            # Memcached leaves what stands behind a dump until something comes.
            self.socket.sendall(data)
            while not DUMP_END.search(answer):
                answer += self.socket.recv(1 << 20)
            data = b""
        self.socket.sendall(data + b"mn\r\n")
        while not answer.endswith(END):
            more = self.socket.recv(1 << 20)
            if not more:
                return bytes(answer) + b"closed\r\n"
            answer += more
        return bytes(answer[: -len(END)])


def is_drawn(number):
    return int(number) > GIVEN_MAX or int(number) < 20_000


def shown(answer, given=()):
    """The answer with the numbers of CAS that were drawn made alike."""
    alike = lambda found: found[0] if int(found[2]) in given else found[1] + b"CAS"
    answer = re.sub(rb"^(VALUE \S+ \d+ \d+ )(\d+)", alike, answer, flags=re.MULTILINE)
    answer = re.sub(rb"( c)(\d+)", alike, answer)
    answer = shown_lists(answer)
    return re.sub(rb"^(ME .* cas=)\d+( fetch=\w+ cls=)\d+ size=\d+", rb"\1CAS\g<2>1 size=N", answer, flags=re.MULTILINE)


def shown_statistic(found):
    """A statistic without what may be another one each time; none of a further class of items."""
    name, value = found[1], found[2]
    if re.match(rb"(items:)?([2-9]|\d\d+):(?!addr|listen_addr|state|secs)", name):
        return b""
    name = re.sub(rb"^\d+:(addr|listen_addr|state|secs_since_last_cmd)$", rb"FD:\1", name)
    return b"STAT %s %s\r\n" % (name, value if COUNTED.fullmatch(name) else b"N")


def shown_lists(answer):
    """Statistics and dumps as they are compared."""
    answer = re.sub(rb"^STAT (\S+) (.*)\r\n", shown_statistic, answer, flags=re.MULTILINE)
    # However many clients there are.
    answer = re.sub(rb"(STAT FD:.*\r\n)+", lambda found: b"".join(sorted(set(found[0].splitlines(True)))), answer)
    answer = re.sub(rb"^(key=.* exp=-?\d).* la=\d+ cas=\d+ (fetch=\w+) cls=\d+ size=\d+", rb"\1 la=N cas=CAS \2 cls=1 size=N", answer, flags=re.MULTILINE)
    in_order = lambda found: b"".join(sorted(found[0].splitlines(True)))
    return re.sub(rb"(^(?:key=|mg ).*\n){2,}", in_order, answer, flags=re.MULTILINE)


def last_cas(answer):
    """The last number of CAS in an answer."""
    numbers = re.findall(rb"^VALUE \S+ \d+ \d+ (\d+)| c(\d+)", answer, flags=re.MULTILINE)
    return int(numbers[-1][0] or numbers[-1][1]) if numbers else None


def filled(sent, cas):
    return re.sub(rb"\{CAS(-\d+)?\}", lambda found: b"%d" % ((cas or 1) + int(found[1] or 0)), sent)


def bytes_of(text):
    text = re.sub(r"\{(.)\*(\d+)\}", lambda found: found[1] * int(found[2]), text)
    return text.encode().decode("unicode_escape").encode("latin-1")


def text_of(line):
    text = re.sub(rb"[^ -~]|\\", lambda found: b"\\x%02x" % found[0][0], line).decode()
    return re.sub(r"(.)\1{99,}", lambda found: "{%s*%d}" % (found[1], len(found[0])), text)


def cases_of(path):
    for block in re.split(r"\n\n+", path.read_text().rstrip("\n")):
        lines = block.split("\n")
        sent = b"".join(bytes_of(line[2:]) + b"\r\n" for line in lines if line.startswith("> "))
        answer = b"".join(bytes_of(line[2:]) + b"\r\n" for line in lines if line.startswith("< "))
        yield lines, sent, answer


def play(host, port, path, record=False):
    """Plays a file; the cases that are answered otherwise, and how many there are."""
    line, different, count, blocks, cas = Line(host, port), [], 0, [], None
    line.ask(b"flush_all\r\n")
    for lines, sent, expected in cases_of(path):
        given = {int(number) for number in re.findall(rb" E(\d+)", sent)}
        answer = line.ask(filled(sent, cas)) if sent else b""
        cas = last_cas(answer) or cas
        answer = shown(answer, given)
        count += bool(sent)
        if answer != expected:
            different.append((sent, expected, answer))
        if answer.endswith(b"closed\r\n"):
            line = Line(host, port)
        kept = [it for it in lines if not it.startswith("<")]
        told = ["< " + text_of(it) for it in answer.split(b"\r\n")[:-1]] if sent else []
        blocks.append("\n".join(kept + (told or (["<"] if sent else []))))
    if record:
        path.write_text("\n\n".join(blocks) + "\n")
    return different, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--addr", required=True)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    asked = parser.parse_args()
    failed = 0
    for path in asked.files:
        different, count = play(*asked.addr.split(":"), path, asked.record)
        for sent, expected, answer in different if not asked.record else ():
            print("%s: %r\n  expected %r\n  answered %r" % (path.name, sent, expected, answer))
        failed += bool(different)
        print("%s: %d cases, %d differ" % (path.name, count, len(different)))
    return bool(failed) and not asked.record


if __name__ == "__main__":
    sys.exit(main())
