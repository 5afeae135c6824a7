#!/usr/bin/env python3
"""Writes the replies of a Valkey server into the recordings beside this file.

  record.py PORT [FILE ...]

A line of a recording that begins with `2>` or `3>` is a script for a client of that version of RESP; below it stands the
reply, which is written anew; `¶` ends a line of a script. Lines with `#` and empty ones stay. Bytes that cannot be read stand as in
C. The server needs `--enable-debug-command yes` for some.
"""
import pathlib
import socket
import sys


class Client:
    def __init__(self, port):
        self.file = socket.create_connection(("127.0.0.1", port)).makefile("rwb")

    def call(self, *arguments):
        parts = [argument if isinstance(argument, bytes) else str(argument).encode() for argument in arguments]
        self.file.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        self.file.flush()
        return self.read()

    def read(self):
        reply, left = b"", 1
        while left:
            line = self.file.readline()
            kind, size, left = line[:1], line[1:].strip(), left - 1
            reply += line
            if kind in b"$=!" and size != b"-1":
                reply += self.file.read(int(size) + 2)
            elif kind in b"*~>%" and size != b"-1":
                left += int(size) * (2 if kind == b"%" else 1)
        return reply


def escape(text):
    names = {13: "\\r", 10: "\\n", 92: "\\\\"}
    return "".join(names.get(byte) or (chr(byte) if 32 <= byte < 127 else "\\x%02x" % byte) for byte in text)


def record(port, path):
    lines, client = [], Client(port)
    client.call("DEBUG", "SET-DISABLE-DENY-SCRIPTS", 1)
    client.call("FLUSHALL")
    client.call("SET", "a", "x")
    for line in path.read_text().splitlines():
        if line.startswith("< "):
            continue
        lines.append(line)
        if line[:2] in ("2>", "3>"):
            client.call("HELLO", line[0])
            lines.append("< " + escape(client.call("EVAL", line[3:].replace("¶", "\n"), 0)))
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    names = sys.argv[2:] or sorted(pathlib.Path(__file__).parent.glob("*.txt"))
    for name in names:
        record(int(sys.argv[1]), pathlib.Path(name))
