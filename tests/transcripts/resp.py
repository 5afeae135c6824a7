"""A small RESP2/RESP3 client and the readable rendering of replies that transcripts use.

Kept independent of every client library, so that a transcript sees exactly what the server sent: a simple
string and a bulk string, or a null array and a null bulk string, are different things here.
"""

import functools
import hashlib
import os
import socket
import ssl

LONG_STRING = 200  # bytes; longer strings are rendered by length, beginning and digest
LINE_WIDTH = 100  # characters; longer aggregates are rendered with one item per line
MANY_ITEMS = 60  # items; larger aggregates are rendered by their number, beginning and digest


@functools.cache
def tls_context():
    """How connections to a port are encrypted: SERVER_TLS names a folder with ca.crt, client.crt and client.key. None
    without it."""
    folder = os.environ.get("SERVER_TLS")
    if not folder:
        return None
    context = ssl.create_default_context(cafile=os.path.join(folder, "ca.crt"))
    context.check_hostname = False
    context.load_cert_chain(os.path.join(folder, "client.crt"), os.path.join(folder, "client.key"))
    return context


class Closed(Exception):
    """The server closed the connection."""


class Simple(bytes):
    """A simple string (`+`)."""


class Error(bytes):
    """An error reply (`-`, or `!` in RESP3)."""


class Verbatim(bytes):
    """A verbatim string (`=`), with its three-letter format in front."""


class Tagged:
    """A reply that carries a tag in the rendering: doubles, big numbers, sets, pushes, maps, attributes, nulls."""

    def __init__(self, kind, value=None):
        self.kind, self.value = kind, value


class Connection:
    """One connection, to HOST:PORT or to the path of a Unix socket; replies are read on demand, so a caller may send ahead."""

    def __init__(self, address, timeout=15):
        self.buffer = bytearray()
        if address.startswith("/"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
            return
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls_context():
            self.socket = tls_context().wrap_socket(self.socket)

    def send_bytes(self, data):
        """Sends bytes as they are. A server that has closed already shows when its reply is read."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass

    def send(self, arguments):
        """Sends one command as an array of bulk strings."""
        parts = [b"*%d\r\n" % len(arguments)]
        for argument in arguments:
            parts.append(b"$%d\r\n%s\r\n" % (len(argument), argument))
        self.send_bytes(b"".join(parts))

    def command(self, *arguments):
        """Sends one command and returns its reply."""
        self.send([a if isinstance(a, bytes) else str(a).encode() for a in arguments])
        return self.read()

    def close(self):
        """Closes the connection."""
        self.socket.close()

    def _fill(self):
        try:
            data = self.socket.recv(1 << 16)
        except (ConnectionResetError, ssl.SSLEOFError):
            data = b""
        if not data:
            raise Closed()
        self.buffer += data

    def take(self, size):
        """Reads exactly `size` bytes."""
        while len(self.buffer) < size:
            self._fill()
        data = bytes(memoryview(self.buffer)[:size])
        del self.buffer[:size]
        return data

    def at_end(self):
        """True when the server closed the connection and sent nothing more."""
        if self.buffer:
            return False
        try:
            self._fill()
        except Closed:
            return True
        return False

    def line(self):
        """Reads up to the next CRLF, which it leaves out."""
        while (end := self.buffer.find(b"\r\n")) < 0:
            self._fill()
        return self.take(end + 2)[:-2]

    def read(self):
        """Reads one reply."""
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind in b"$!=":
            size = int(rest)
            if size < 0:
                return Tagged("(nil)")
            data = self.take(size + 2)[:-2]
            return {b"$": bytes, b"!": Error, b"=": Verbatim}[kind](data)
        if kind in b"*~>":
            size = int(rest)
            if size < 0:
                return Tagged("(nil array)")
            items = [self.read() for _ in range(size)]
            return items if kind == b"*" else Tagged({b"~": "set", b">": "push"}[kind], items)
        if kind in b"%|":
            pairs = [(self.read(), self.read()) for _ in range(int(rest))]
            if kind == b"%":
                return Tagged("map", pairs)
            return Tagged("attribute", (pairs, self.read()))
        scalars = {b"+": Simple, b"-": Error, b":": int}
        if kind in scalars:
            return scalars[kind](rest)
        if kind == b"_":
            return Tagged("(nil)")
        if kind == b"#":
            return Tagged("(true)" if rest == b"t" else "(false)")
        if kind == b",":
            return Tagged("(double) " + rest.decode())
        if kind == b"(":
            return Tagged("(big number) " + rest.decode(errors="backslashreplace"))
        raise ValueError("not a reply: %r" % line)


def escape(data):
    """Bytes between double quotes, with the escapes that the tokenizer undoes."""
    named = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x07: "\\a", 0x08: "\\b"}
    return "".join(named.get(b) or (chr(b) if 0x20 <= b < 0x7F else "\\x%02x" % b) for b in data)


def _string(data, full=False):
    if len(data) > LONG_STRING and not full:
        return '(%d bytes) "%s..." sha1 %s' % (len(data), escape(data[:24]), hashlib.sha1(data).hexdigest()[:12])
    return '"%s"' % escape(data)


def _items(reply, full=False):
    """The opening, the rendered items and the closing of an aggregate; None for anything else."""
    if isinstance(reply, list):
        return "[", [render(item, full) for item in reply], "]"
    if isinstance(reply, Tagged) and reply.kind in ("set", "push"):
        return "(%s) [" % reply.kind, [render(item, full) for item in reply.value], "]"
    if isinstance(reply, Tagged) and reply.kind == "map":
        return "{", ["%s: %s" % (render(k, full), render(v, full)) for k, v in reply.value], "}"
    return None


def render(reply, full=False):
    """A reply on one line; `full` shows long strings and aggregates whole instead of by their digest."""
    parts = _items(reply, full)
    if parts and len(parts[1]) > MANY_ITEMS and not full:
        digest = hashlib.sha1("\n".join(parts[1]).encode()).hexdigest()[:12]
        return "(%d items) %s%s, ...%s sha1 %s" % (len(parts[1]), parts[0], ", ".join(parts[1][:3]), parts[2], digest)
    if parts:
        return parts[0] + ", ".join(parts[1]) + parts[2]
    if isinstance(reply, Tagged):
        if reply.kind == "attribute":
            return "(attribute) %s %s" % (render(Tagged("map", reply.value[0])), render(reply.value[1]))
        return reply.kind
    if isinstance(reply, int):
        return "(integer) %d" % reply
    if isinstance(reply, Error):
        return "(error) " + escape(reply).replace('\\"', '"').replace("\\\\", "\\")
    if isinstance(reply, Simple):
        return escape(reply)
    if isinstance(reply, Verbatim):
        return "(verbatim %s) %s" % (reply[:3].decode(), _string(reply[4:], full))
    return _string(reply, full)


def render_lines(reply):
    """The lines a transcript shows: one line where it fits, otherwise one item per line, each numbered."""
    whole = render(reply)
    parts = _items(reply)
    if not parts or len(whole) <= LINE_WIDTH or len(parts[1]) > MANY_ITEMS:
        return [whole]
    body = ["  %d) %s" % (number + 1, item) for number, item in enumerate(parts[1])]
    return [parts[0]] + body + [parts[2]]
