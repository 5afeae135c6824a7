#!/usr/bin/env bash
# meta-memcache 4.3.0 takes a CAS of 2^32 or more for none, and writes without a condition then.
#
# Software   meta-memcache 4.3.0 with meta-memcache-socket 0.3.1 (PyPI); a few lines of Python answer as a server of the meta protocol, whose CAS has 64 bits
# Guess      A number that the client cannot keep is an error, or it is kept: the token of get_cas is the number that the server told, or the call fails.
# Seen       Up to 2^32 - 1 get_cas returns the number, and set with it sends flag C. From 2^32 on it returns None, without an error. set with that token
#            sends no C, which is a write without a condition: of two clients that count with get_cas and set, one overwrites what the other has
#            counted, and is told that all is well. A server gets there by four billion writes, or at once where it begins elsewhere or items are
#            given numbers of their own (flag E, as for times in milliseconds).
# Output     4294967295: token 4294967295, sent C4294967295; 4294967296: token None, sent no C
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3.9 or later, and pip.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/python"
"$scratch/python/bin/pip" -q --disable-pip-version-check install meta-memcache==4.3.0 meta-memcache-socket==0.3.1

said=$("$scratch/python/bin/python" - <<'PYTHON'
import socketserver
import threading

from meta_memcache import CacheClient, ServerAddress, connection_pool_factory_builder

VALUE, facts, sent = b"1", {}, []


class Server(socketserver.StreamRequestHandler):
    """Answers mg with one item, and ms with its success."""

    def handle(self):
        while line := self.rfile.readline():
            name, _, *words = line.split()
            if name == b"ms":
                sent.append([word for word in words if word.startswith(b"C")])
                self.rfile.read(int(words[0]) + 2)
                self.wfile.write(b"HD\r\n")
                continue
            told = {b"f": b"f2", b"s": b"s1", b"t": b"t-1", b"c": b"c%d" % facts["cas"]}
            asked = [told.get(word, b"") for word in words]
            self.wfile.write(b"VA 1 " + b" ".join(filter(None, asked)) + b"\r\n" + VALUE + b"\r\n")


with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Server) as server:
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = ServerAddress("127.0.0.1", server.server_address[1])
    client = CacheClient.cache_client_from_servers([address], connection_pool_factory_builder())
    lines = []
    for facts["cas"] in (2**32 - 1, 2**32):
        token = client.get_cas("k")[1]
        assert client.set("k", 2, ttl=0, cas_token=token)
        flags = b" ".join(sent.pop()).decode() or "no C"
        lines.append("%d: token %s, sent %s" % (facts["cas"], token, flags))
    print("; ".join(lines))
    server.shutdown()
PYTHON
)
echo "$said"
[[ $said == "4294967295: token 4294967295, sent C4294967295; 4294967296: token None, sent no C" ]]
