#!/usr/bin/env bash
# Neither redis-py nor ioredis resumes a session of TLS: each of twenty connections is a whole handshake.
#
# Software   redis 8.1.0 (redis-py), a package of PyPI, and ioredis 5.8.2, of npm, against a server of Python's ssl module that gives
#            two tickets to each client and counts how many handshakes went on with a session
# Guess      A pool that opens many connections to one server with TLS hands the session of the first to the others, as browsers do,
#            so that only the first costs the server a signature. A Redis server with tls-session-caching yes is there for that.
# Seen       The server is never asked to resume one, with TLS 1.3 as with 1.2, and also when a client connects again after the loss of
#            its connection. Python's own ssl module resumes where it is handed the session, and Node's tls where it is: the
#            libraries do not. So what a storm of reconnects costs a server is its signatures, whatever its cache.
# Output     TLSv1.3, ssl module with the session of before: 1 of 2 resumed
#            TLSv1.3, redis-py, 20 connections of a pool: 0 of 20 resumed
#            TLSv1.3, redis-py, the pool connects again: 0 of 20 resumed
#            TLSv1.3, ioredis, 20 clients: 0 of 20 resumed
#            TLSv1.3, ioredis, they connect again: 0 of 20 resumed
#            TLSv1.2, ssl module with the session of before: 1 of 2 resumed
#            TLSv1.2, redis-py, 20 connections of a pool: 0 of 20 resumed
#            TLSv1.2, redis-py, the pool connects again: 0 of 20 resumed
#            TLSv1.2, ioredis, 20 clients: 0 of 20 resumed
#            TLSv1.2, ioredis, they connect again: 0 of 20 resumed
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, openssl, Python 3 with pip and venv, Node.js and npm.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check redis==8.1.0
npm install --silent --no-audit --no-fund --prefix "$scratch" ioredis@5.8.2 >/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out certificate.pem \
  2>/dev/null

cat >clients.js <<'JS'
const fs = require("fs"), Redis = require("ioredis");
const tls = { ca: fs.readFileSync("certificate.pem"), servername: "localhost", maxVersion: process.argv[3] };
const all = Array.from({ length: 20 }, () => new Redis({ host: "127.0.0.1", port: Number(process.argv[2]), tls, lazyConnect: true, enableReadyCheck: false }));
async function pings() { for (const one of all) await one.ping(); }
async function main() {
  await pings();
  console.log("connected");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  // The server has closed the connections, and the clients connect again by themselves.
  await pings();
  console.log("again");
  process.exit(0);
}
main();
JS

cat >measure.py <<'PYTHON'
import socket
import ssl
import subprocess
import sys
import threading
import time

import redis


class Server:
    """Answers every command with PONG, HELLO with an error, and counts handshakes."""

    def __init__(self, version):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain("certificate.pem", "key.pem")
        self.context.maximum_version = version
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port, self.open, self.counted = self.listener.getsockname()[1], [], (0, 0)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            plain, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(plain,), daemon=True).start()

    def serve(self, plain):
        try:
            client = self.context.wrap_socket(plain, server_side=True)
            self.open.append(client)
            buffer = b""
            while data := client.recv(65536):
                buffer += data
                while buffer.startswith(b"*") and b"\r\n" in buffer:
                    words, rest = self.command(buffer)
                    if words is None:
                        break
                    buffer = rest
                    refused = words[0].upper() in (b"HELLO", b"CLIENT", b"INFO")
                    client.sendall(b"-ERR unknown command\r\n" if refused else b"+PONG\r\n")
        except OSError:
            pass

    @staticmethod
    def command(buffer):
        line, _, rest = buffer.partition(b"\r\n")
        words = []
        for _ in range(int(line[1:])):
            head, found, rest = rest.partition(b"\r\n")
            if not found or len(rest) < int(head[1:]) + 2:
                return None, buffer
            words.append(rest[: int(head[1:])])
            rest = rest[int(head[1:]) + 2 :]
        return words, rest

    def close_all(self):
        for client in self.open:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            client.close()
        self.open = []
        time.sleep(0.3)

    def told(self, what):
        """Handshakes since this was last asked, and how many of them went on with a session."""
        stats = self.context.session_stats()
        now = (stats["accept_good"], stats["hits"])
        done, resumed = now[0] - self.counted[0], now[1] - self.counted[1]
        self.counted = now
        print("%s: %d of %d resumed" % (what, resumed, done), flush=True)


def run(version, name):
    server = Server(version)
    trusting = ssl.create_default_context(cafile="certificate.pem")
    session = None
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            with trusting.wrap_socket(plain, server_hostname="localhost", session=session) as client:
                client.sendall(b"*1\r\n$4\r\nPING\r\n")
                client.recv(100)
                session = client.session
    server.told(name + ", ssl module with the session of before")

    pool = redis.ConnectionPool(connection_class=redis.SSLConnection, host="localhost", port=server.port, ssl_ca_certs="certificate.pem",
                                protocol=2, socket_timeout=20)
    for what in ("20 connections of a pool", "the pool connects again"):
        held = [pool.get_connection() for _ in range(20)]
        for one in held:
            one.send_command("PING")
            assert one.read_response() == b"PONG"
        for one in held:
            pool.release(one)
        server.told("%s, redis-py, %s" % (name, what))
        for one in held:
            one.disconnect()
        server.close_all()

    with subprocess.Popen(["node", "clients.js", str(server.port), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
        assert clients.stdout.readline() == "connected\n"
        server.told(name + ", ioredis, 20 clients")
        server.close_all()
        clients.stdin.write("go on\n")
        clients.stdin.flush()
        assert clients.stdout.readline() == "again\n"
        server.told(name + ", ioredis, they connect again")


run(ssl.TLSVersion.TLSv1_3, "TLSv1.3")
run(ssl.TLSVersion.TLSv1_2, "TLSv1.2")
PYTHON

told=$(venv/bin/python measure.py)
printf '%s\n' "$told"
[[ $(grep -c ': 0 of 20 resumed$' <<<"$told") == 8 && $(grep -c ': 1 of 2 resumed$' <<<"$told") == 2 ]] || {
  echo "it has changed" >&2
  exit 1
}
