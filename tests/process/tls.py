#!/usr/bin/env python3
"""TLS of the server named by VARVE_SERVER: who may connect and how, files that change, and those who never finish.

    VARVE_SERVER=target/release/varve-server tests/process/tls.py [CASE ...]
"""

import contextlib
import os
import pathlib
import random
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from bounds import encoded
from certificates import Authority, openssl
from ports import free_port
from resp import Closed, Connection, Error, Tagged
from run import Server, run

SUITES = [
    ("TLSv1.3", "TLS_AES_128_GCM_SHA256"), ("TLSv1.3", "TLS_AES_256_GCM_SHA384"), ("TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256"),
    ("TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256"), ("TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384"),
    ("TLSv1.2", "ECDHE-RSA-CHACHA20-POLY1305"), ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"),
    ("TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"), ("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305"),
]
ABSENT = [("TLSv1.2", "AES128-SHA256"), ("TLSv1.2", "ECDHE-RSA-AES128-SHA256"), ("TLSv1.2", "DHE-RSA-AES128-GCM-SHA256"),
          ("TLSv1.1", "ALL:@SECLEVEL=0"), ("TLSv1", "ALL:@SECLEVEL=0")]
ROUNDS = 40  # batches of each client that works
NOT_UPDATED = b"Unable to update TLS configuration. Check server logs."


class Encrypted(Connection):
    """A connection with TLS."""

    def __init__(self, port, context, timeout=30, session=None):
        self.buffer = bytearray()
        plain = socket.create_connection(("127.0.0.1", port), timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname="localhost", session=session)


class World:
    """A CA, a server with TLS, and ways to connect to it."""

    def __init__(self, folder, server):
        self.ca, self.server = folder, server
        self.port = int(server.connect().command("CONFIG", "GET", "tls-port")[1])
        self.db = server.connect()

    def context(self, who="client", ca=None):
        context = ssl.create_default_context(cafile=str((ca or self.ca).path("ca", "crt")))
        if who:
            context.load_cert_chain(str(self.ca.path(who, "crt")), str(self.ca.path(who, "key")))
        return context

    def connect(self, who="client", **how):
        return Encrypted(self.port, self.context(who), **how)

    def refuses(self, who="client", context=None):
        """True if nobody can connect so: with TLS 1.3 the refusal comes behind what the client takes for the end."""
        try:
            client = Encrypted(self.port, context or self.context(who), timeout=10)
            return client.command("PING") != b"PONG"
        except (OSError, Closed):
            return True

    def set(self, *words):
        """What CONFIG SET answers."""
        return self.db.command("CONFIG", "SET", *words)

    def info(self, section="tls"):
        lines = self.db.command("INFO", section).decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def log(self):
        return self.server.output.read_text()

    def until(self, condition, patience=60):
        self.server.until(condition, patience)


@contextlib.contextmanager
def world(*settings, people=("server", "client")):
    with tempfile.TemporaryDirectory() as folder:
        ca = Authority(folder)
        for name in people:
            ca.person(name)
        with Server("--tls-port", free_port(), *ca.settings(), *settings) as server:
            yield World(ca, server)


def plain_and_encrypted_clients_are_served_at_their_ports():
    with world("--threads", "2") as at:
        encrypted, plain = at.connect(), at.server.connect()
        assert encrypted.command("SET", "k", "v") == b"OK" and plain.command("GET", "k") == b"v"
        for size in (0, 1, 16383, 16384, 16385, 70000, 3000000):
            assert encrypted.command("SET", "k", b"x" * size) == b"OK"
            assert encrypted.command("GET", "k") == b"x" * size, size
        encrypted.send_bytes(encoded("INCR", "n") * 5000)
        assert [encrypted.read() for _ in range(5000)] == list(range(1, 5001))
        info = at.info("server")
        assert info["listener2"].startswith("name=tls,bind=") and info["listener2"].endswith("port=%d" % at.port), info
        assert int(info["tcp_port"]) == at.server.port
        stats = at.info("stats")
        assert (stats["tls_handshakes"], stats["tls_handshakes_failed"]) == ("1", "0"), stats
        assert "Ready to accept connections tls" in at.log()


def who_must_show_a_certificate_is_as_the_settings_say():
    with world() as at, tempfile.TemporaryDirectory() as folder:
        Authority(folder).person("client")
        stranger = at.context(None)
        stranger.load_cert_chain(os.path.join(folder, "client.crt"), os.path.join(folder, "client.key"))
        for asks, nobody, client, other in (("yes", True, False, True), ("no", False, False, False),
                                            ("optional", False, False, True), ("yes", True, False, True)):
            assert at.set("tls-auth-clients", asks) == b"OK"
            assert (at.refuses(None), at.refuses(), at.refuses(context=stranger)) == (nobody, client, other), asks


def versions_and_suites_are_those_that_the_manual_names():
    with tempfile.TemporaryDirectory() as folder:
        ca = Authority(folder).person("client")
        ca.person("rsa", kind="rsa:2048").person("server")
        with Server("--tls-port", free_port(), *ca.settings()) as server:
            at = World(ca, server)
            for version, suite in SUITES + ABSENT:
                who = "rsa" if "RSA" in suite and "ECDSA" not in suite else "server"
                assert at.set("tls-cert-file", ca.path(who, "crt"), "tls-key-file", ca.path(who, "key")) == b"OK"
                spoken = of_s_client(at, version, suite)
                assert spoken == ((version, suite) if (version, suite) in SUITES else None), (version, suite, spoken)
            assert at.set("tls-protocols", "TLSv1.2") == b"OK"
            assert of_s_client(at, *SUITES[0]) is None and of_s_client(at, *SUITES[-1]) == SUITES[-1]
            assert at.set("tls-protocols", "TLSv1.3") == b"OK"
            assert of_s_client(at, *SUITES[0]) == SUITES[0] and of_s_client(at, *SUITES[-1]) is None
            assert at.set("tls-protocols", "", "tls-ciphersuites", "TLS_AES_256_GCM_SHA384") == b"OK"
            assert of_s_client(at, *SUITES[0]) is None and of_s_client(at, *SUITES[1]) == SUITES[1]
            assert at.set("tls-ciphersuites", "", "tls-ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384:AES128-SHA") == b"OK"
            assert of_s_client(at, *SUITES[6]) is None and of_s_client(at, *SUITES[7]) == SUITES[7]
            assert "this server does not have: AES128-SHA" in at.log()
            refused = at.set("tls-ciphers", "AES128-SHA256")
            assert isinstance(refused, Error) and NOT_UPDATED in refused
            assert "`tls-ciphers` or `tls-ciphersuites`: 'AES128-SHA256' has no suite that exists here" in at.log()
            assert NOT_UPDATED in at.set("tls-protocols", "TLSv1.1") and NOT_UPDATED in at.set("tls-protocols", "SSLv3")


def of_s_client(at, version, suite):
    """Version and suite that openssl's client agrees on with the server; None where it does not."""
    flag = {"TLSv1.3": "-tls1_3", "TLSv1.2": "-tls1_2", "TLSv1.1": "-tls1_1", "TLSv1": "-tls1"}[version]
    which = "-ciphersuites" if version == "TLSv1.3" else "-cipher"
    command = ["openssl", "s_client", "-connect", "127.0.0.1:%d" % at.port, flag, which, suite, "-CAfile", at.ca.path("ca", "crt"),
               "-cert", at.ca.path("client", "crt"), "-key", at.ca.path("client", "key"), "-alpn", "h2", "-quiet", "-brief"]
    done = subprocess.run(list(map(str, command)), input=b"PING\r\nQUIT\r\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=30, check=False)
    if b"+PONG" not in done.stdout:
        return None
    facts = dict(line.split(": ", 1) for line in done.stderr.decode().splitlines() if ": " in line)
    return facts["Protocol version"], facts["Ciphersuite"]


def sessions_are_resumed_unless_the_settings_forbid_it_or_the_rules_have_changed():
    with world() as at:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = at.context()
            context.minimum_version = context.maximum_version = version

            def is_resumed(session):
                client = Encrypted(at.port, context, session=session)
                assert client.command("PING") == b"PONG"
                return client.socket.session_reused, client.socket.session

            first, session = is_resumed(None)
            again, session = is_resumed(session)
            assert (first, again) == (False, True), version
            assert at.set("tls-auth-clients", "optional") == b"OK"
            assert is_resumed(session)[0] is False, version
            assert at.set("tls-session-caching", "no") == b"OK"
            session = is_resumed(None)[1]
            assert session is None or is_resumed(session)[0] is False, version
            assert at.set("tls-session-caching", "yes", "tls-auth-clients", "yes") == b"OK"
        assert int(at.info("stats")["tls_handshakes_resumed"]) == 2


def ports_change_at_run_time_also_in_each_other_s_place():
    with world() as at:
        client = at.connect()
        assert client.command("PING") == b"PONG", "the server has established it too"
        assert at.set("tls-port", 0) == b"OK"
        assert at.refuses() and client.command("PING") == b"PONG", "who is connected stays so"
        assert at.info()["tls_server_cert_serial"] == "none"
        plain = at.server.port
        assert client.command("CONFIG", "SET", "port", 0, "tls-port", plain) == b"OK"
        assert Encrypted(plain, at.context()).command("PING") == b"PONG"
        assert "listener0" not in dict(line.split(":", 1) for line in client.command("INFO", "server").decode().split("\r\n") if ":" in line)
        assert client.command("CONFIG", "SET", "port", plain, "tls-port", at.port) == b"OK"
        assert at.server.connect().command("PING") == b"PONG" and at.connect().command("PING") == b"PONG"
        taken = client.command("CONFIG", "SET", "tls-port", plain)
        assert taken.endswith(b"Unable to listen on this port. Check server logs."), taken
        assert at.connect().command("PING") == b"PONG"


def names_of_certificates_log_in():
    people = (("ann", "/CN=ann", ["urn:x:first", "urn:x:second"]), ("eve", "/CN=eve", []))
    with world() as at:
        for name, subject, uris in people:
            at.ca.person(name, subject, uris)
        for user in ("ann", "urn:x:first", "urn:x:second"):
            assert at.db.command("ACL", "SETUSER", user, "on", "nopass", "+@all", "~*") == b"OK"

        def whoami(who):
            return at.connect(who).command("ACL", "WHOAMI")

        assert whoami("ann") == b"default"
        assert at.set("tls-auth-clients-user", "CN") == b"OK"
        assert at.db.command("CONFIG", "GET", "tls-auth-clients-user")[1] == b"CN"
        assert (whoami("ann"), whoami("eve")) == (b"ann", b"default")
        entry = at.db.command("ACL", "LOG")[0]
        entry = dict(zip(entry[::2], entry[1::2]))
        assert (entry[b"reason"], entry[b"context"], entry[b"object"], entry[b"username"]) == (b"tls-cert", b"toplevel", b"", b"eve")
        assert at.info("stats")["acl_access_denied_tls_cert"] == "1"
        assert at.set("tls-auth-clients-user", "uri") == b"OK"
        assert whoami("ann") == b"urn:x:first"
        assert at.db.command("ACL", "SETUSER", "urn:x:first", "off") == b"OK"
        session = at.connect("ann")
        assert session.command("ACL", "WHOAMI") == b"urn:x:second"
        # A session that is taken up is its certificate's, looked up anew.
        assert at.db.command("ACL", "DELUSER", "urn:x:second") == 1
        again = Encrypted(at.port, session.socket.context, session=session.socket.session)
        assert again.socket.session_reused and again.command("ACL", "WHOAMI") == b"default"


def a_new_certificate_is_taken_without_losing_a_connection():
    with world("--tls-auto-reload-interval", "1", "--loglevel", "debug") as at:
        at.ca.person("new")
        clients = [at.connect() for _ in range(8)]
        serial = at.info()["tls_server_cert_serial"]
        copy = at.ca.path("copy", "crt"), at.ca.path("copy", "key")
        for part, kind in zip(copy, ("crt", "key")):
            shutil.copy(at.ca.path("server", kind), part)
        assert at.set("tls-cert-file", copy[0], "tls-key-file", copy[1]) == b"OK"
        assert at.info()["tls_server_cert_serial"] == serial
        at.until(lambda: "materials unchanged" in at.log())
        shutil.copy(at.ca.path("new", "crt"), copy[0])
        at.until(lambda: "TLS materials cannot be used, the old ones stay" in at.log())
        assert at.connect().command("PING") == b"PONG" and at.info()["tls_server_cert_serial"] == serial
        shutil.copy(at.ca.path("new", "key"), copy[1])
        at.until(lambda: "TLS materials reloaded successfully" in at.log())
        assert at.info()["tls_server_cert_serial"] != serial
        assert at.connect().socket.getpeercert()["serialNumber"] == at.info()["tls_server_cert_serial"]
        assert [client.command("PING") for client in clients] == [b"PONG"] * len(clients)
        # What it has is read again where it is set again.
        for part, kind in zip(copy, ("crt", "key")):
            shutil.copy(at.ca.path("server", kind), part)
        assert at.set("tls-auto-reload-interval", 0, "tls-cert-file", copy[0]) == b"OK"
        assert at.info()["tls_server_cert_serial"] == serial


def files_that_cannot_be_used_are_named_and_leave_the_old_ones():
    with world(people=("server", "client", "other")) as at:
        folder = at.ca.folder
        serial, key = at.info()["tls_server_cert_serial"], at.ca.path("server", "key")
        openssl("pkcs8", "-topk8", "-v2", "aes256", "-in", key, "-passout", "pass:secret", "-out", folder / "encrypted.key")
        (folder / "old.key").write_text("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAA==\n")
        (folder / "garbage").write_bytes(os.urandom(5000))
        (folder / "half.crt").write_text(at.ca.path("server", "crt").read_text()[:300])
        (folder / "huge.crt").write_bytes(b"\n" * (100 << 20))
        (folder / "empty").mkdir()
        os.mkfifo(folder / "pipe")
        for setting, value, said in (
            ("tls-cert-file", "nowhere.crt", "No such file"), ("tls-cert-file", "garbage", "no certificate in it"),
            ("tls-cert-file", "half.crt", "bad PEM"), ("tls-cert-file", "huge.crt", "larger than 8 MiB"),
            ("tls-cert-file", "empty", "it is no file"), ("tls-cert-file", "pipe", "it is no file"),
            ("tls-cert-file", "other.crt", "the key is not that of the certificate"),
            ("tls-key-file", "garbage", "no private key in it"), ("tls-key-file", "encrypted.key", "there is no pass phrase"),
            ("tls-key-file", "old.key", "openssl pkcs8 -topk8"), ("tls-ca-cert-dir", "empty", "no file of the folder"),
            ("tls-ca-cert-dir", "pipe", "Not a directory"), ("tls-ca-cert-file", "garbage", "no certificate in it"),
        ):
            before = len(at.log())
            began = time.monotonic()
            refused = at.set(setting, folder / value)
            assert isinstance(refused, Error) and refused.endswith(NOT_UPDATED), (setting, value, refused)
            line = at.log()[before:]
            assert "`%s`" % setting in line and said in line, (setting, value, line)
            assert time.monotonic() - began < 10 and at.info()["tls_server_cert_serial"] == serial
        before = len(at.log())
        assert NOT_UPDATED in at.set("tls-key-file", folder / "encrypted.key", "tls-key-file-pass", "wrong")
        assert "the pass phrase does not fit" in at.log()[before:] and "wrong" not in at.log()[before:]
        assert at.set("tls-key-file", folder / "encrypted.key", "tls-key-file-pass", "secret") == b"OK"
        assert at.connect().command("PING") == b"PONG"
        assert NOT_UPDATED in at.set("tls-ca-cert-file", "", "tls-ca-cert-dir", "")
        assert "Either tls-ca-cert-file or tls-ca-cert-dir must be specified" in at.log()


def a_start_that_cannot_have_tls_ends_with_the_reason():
    with tempfile.TemporaryDirectory() as folder:
        ca = Authority(folder).person("server")
        for settings, said in (
            (["--tls-port", free_port()], "`tls-cert-file` names no file"),
            (["--tls-port", free_port(), "--tls-cert-file", ca.path("server", "crt")], "`tls-key-file` names no file"),
            (["--tls-replication", "yes", "--tls-cert-file", ca.path("server", "key"), "--tls-key-file", ca.path("server", "key")],
             "no certificate in it"),
        ):
            server = Server(*settings)
            assert server.ends_with_status() != 0 and "Failed to configure TLS: " in server.output.read_text()
            assert said in server.output.read_text(), server.output.read_text()
            server.__exit__()


def a_folder_of_ca_certificates_adds_to_the_file_and_the_earliest_end_is_shown():
    with world() as at, tempfile.TemporaryDirectory() as others, tempfile.TemporaryDirectory() as folder:
        other = Authority(others).person("client")
        stranger = at.context(None)
        stranger.load_cert_chain(str(other.path("client", "crt")), str(other.path("client", "key")))
        assert at.refuses(context=stranger)
        shutil.copy(other.path("ca", "crt"), os.path.join(folder, "any-name"))
        pathlib.Path(folder, "README").write_text("no certificate\n")
        assert at.set("tls-ca-cert-dir", folder) == b"OK"
        assert not at.refuses(context=stranger) and not at.refuses()
        assert "passed over: no certificate" in at.log()
        shown = int(at.info()["tls_ca_cert_expires_in_seconds"])
        assert 29 * 86400 < shown <= 30 * 86400, shown
        assert at.info()["tls_client_cert_serial"] == "none"
        files = at.ca.path("client", "crt"), at.ca.path("client", "key")
        assert at.set("tls-client-cert-file", files[0], "tls-client-key-file", files[1]) == b"OK"
        assert at.info()["tls_client_cert_serial"] != "none"


def an_expired_certificate_is_taken_with_a_warning():
    with world() as at:
        at.ca.person("late", days="-1")
        assert at.set("tls-cert-file", at.ca.path("late", "crt"), "tls-key-file", at.ca.path("late", "key")) == b"OK"
        assert "the certificate has expired" in at.log()
        assert at.info()["tls_server_cert_expires_in_seconds"] == "0"
        assert at.refuses(), "clients do not trust it"


def those_who_never_finish_are_closed_at_their_deadline_and_others_are_served():
    with world("--tls-handshake-timeout", "2", "--maxclients", "200") as at:
        hello = hello_of(at)
        silent = [socket.create_connection(("127.0.0.1", at.port)) for _ in range(50)]
        half = [socket.create_connection(("127.0.0.1", at.port)) for _ in range(50)]
        for client in half:
            client.sendall(hello[: len(hello) // 2])
        at.until(lambda: at.info("stats")["tls_handshakes_waiting"] == "100")
        client = at.connect()
        assert client.command("PING") == b"PONG"
        for those in silent + half:
            those.settimeout(60)
            assert those.recv(1) == b""
        at.until(lambda: at.info("stats")["tls_handshakes_waiting"] == "0")
        stats = at.info("stats")
        assert int(stats["tls_handshakes_failed"]) == 100 and "tls-handshake-timeout" in stats["tls_newest_failure"], stats
        assert client.command("PING") == b"PONG"
        assert at.info("clients")["connected_clients"] == "2"


def the_oldest_who_have_not_finished_give_their_places_to_new_clients():
    with world("--maxclients", "20") as at:
        silent = [socket.create_connection(("127.0.0.1", at.port)) for _ in range(19)]
        at.until(lambda: at.info("stats")["tls_handshakes_waiting"] == "19")
        clients = [at.connect() if number % 2 else at.server.connect() for number in range(19)]
        assert [client.command("PING") for client in clients] == [b"PONG"] * 19
        for those in silent:
            those.settimeout(60)
            assert those.recv(1) == b""
        try:
            assert b"max number of clients" in at.server.connect().command("PING")
        except Closed:
            pass
        assert at.refuses()
        for client in clients[:10]:
            client.close()
        at.until(lambda: at.info("clients")["connected_clients"] == "10")
        assert at.connect().command("PING") == b"PONG", "their places were counted right"
        assert at.set("tls-max-half-open", 3) == b"OK"
        silent = [socket.create_connection(("127.0.0.1", at.port)) for _ in range(6)]
        at.until(lambda: at.info("stats")["tls_handshakes_waiting"] == "3")
        silent[0].settimeout(60)
        assert silent[0].recv(1) == b""


def hello_of(at):
    """The first bytes that a client sends."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = at.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def what_is_no_tls_is_closed_and_logged_once_a_second():
    with world() as at:
        client = at.connect()
        for sent in (b"PING\r\n", b"*1\r\n$4\r\nPING\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x00", b"\x16\x03\x01\xff\xff" + b"x" * 100,
                     b"\x15\x03\x03\x00\x02\x02\x00", os.urandom(1000), b"\x16" * 70000):
            stranger = socket.create_connection(("127.0.0.1", at.port), 30)
            with contextlib.suppress(OSError):
                stranger.sendall(sent)
                stranger.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                while True:
                    got = stranger.recv(1000)
                    assert not got or got[0] == 21, "an alert at most: %r" % got
                    if not got:
                        break
        lines = [line for line in at.log().splitlines() if "A connection with TLS was not established" in line]
        assert "does not speak TLS" in lines[0] and len(lines) <= 3, lines
        assert client.command("PING") == b"PONG"
        at.until(lambda: at.info("stats")["tls_handshakes_failed"] == "8")


def a_hello_may_come_in_pieces_and_a_client_may_leave_between_any_two_bytes():
    with world() as at:
        for fragment in (1, 17):
            client = by_hand(at, fragment)
            assert client.command(b"PING") == b"PONG"
        hello = hello_of(at)
        for cut in range(0, len(hello), 7):
            with socket.create_connection(("127.0.0.1", at.port)) as gone:
                gone.sendall(hello[:cut])
        at.until(lambda: at.info("stats")["tls_handshakes_waiting"] == "0")
        assert at.connect().command("PING") == b"PONG"
        assert at.info("clients")["connected_clients"] in ("1", "2", "3", "4")


class by_hand:
    """A client whose bytes are sent a few at a time."""

    def __init__(self, at, fragment):
        self.socket = socket.create_connection(("127.0.0.1", at.port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.incoming, self.outgoing, self.fragment = ssl.MemoryBIO(), ssl.MemoryBIO(), fragment
        self.client = at.context().wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.go_on(self.client.do_handshake)

    def go_on(self, act):
        while True:
            try:
                done = act()
                self.send()
                return done
            except ssl.SSLWantReadError:
                self.send()
                got = self.socket.recv(1 << 16)
                if not got:
                    raise Closed()
                self.incoming.write(got)

    def send(self):
        out = self.outgoing.read()
        for at in range(0, len(out), self.fragment):
            self.socket.sendall(out[at : at + self.fragment])

    def command(self, *words):
        self.go_on(lambda: self.client.write(encoded(*words)))
        return self.go_on(lambda: self.client.read(1000)).strip().lstrip(b"+")


def requests_before_the_end_are_executed_and_the_end_is_answered():
    with world() as at:
        client = at.connect()
        plain = client.socket.unwrap
        client.send_bytes(encoded("SET", "k", "v"))
        with contextlib.suppress(OSError):
            plain()  # close_notify, behind the request
        at.until(lambda: at.db.command("GET", "k") == b"v")
        client = at.connect()
        client.send_bytes(encoded("SET", "k", "w") + encoded("QUIT"))
        assert client.read() == b"OK" and client.read() == b"OK"
        client.socket.settimeout(30)
        assert client.socket.recv(1) == b"", "close_notify: an end without it would be an error"
        client = at.connect()
        client.send_bytes(encoded("SET", "k", "x"))
        client.socket.close()  # without a word
        at.until(lambda: at.db.command("GET", "k") == b"x")


def who_reads_nothing_has_little_encrypted_ahead_and_is_closed_at_the_limit():
    with world("--client-output-buffer-limit", "normal 64mb 0 0") as at:
        at.db.command("SET", "big", b"x" * (1 << 20))
        client = at.connect()
        client.send_bytes(encoded("CLIENT", "SETNAME", "slow"))
        assert client.read() == b"OK"
        before = at.server.resident_mib()
        client.send_bytes(encoded("GET", "big") * 20)

        def omem():
            lines = [line for line in at.db.command("CLIENT", "LIST").decode().splitlines() if "name=slow" in line]
            return int(dict(word.split("=", 1) for word in lines[0].split())["omem"]) if lines else None

        at.until(lambda: omem() > 1 << 20)
        assert at.server.resident_mib() - before < 64, at.server.resident_mib() - before
        replies = [client.read() for _ in range(20)]
        assert all(reply == b"x" * (1 << 20) for reply in replies)
        client.send_bytes(encoded("GET", "big") * 200)
        # It is closed at the limit, if it has come to that.
        at.until(lambda: (omem() or 0) < 64 << 20)


class Worker(threading.Thread):
    """A client with keys of its own, whose replies are those that its model of them says, however its requests are cut."""

    def __init__(self, at, number):
        super().__init__(daemon=True)
        self.at, self.number, self.random, self.wrong = at, number, random.Random(number), None
        self.texts, self.list, self.batches = {}, [], 0

    def run(self):
        try:
            client = self.at.connect(timeout=120)
            for _ in range(ROUNDS):
                requests, expected = zip(*[self.step() for _ in range(self.random.choice((1, 3, 20, 100)))])
                self.send(client, b"".join(encoded(*words) for words in requests))
                for words, reply in zip(requests, expected):
                    got = client.read()
                    got = None if isinstance(got, Tagged) else got
                    assert got == reply, (words[:2], str(got)[:60], str(reply)[:60])
                self.batches += 1
                if self.random.random() < 0.1:
                    client.close()
                    client = self.at.connect(timeout=120)
        except BaseException as error:
            self.wrong = error

    def send(self, client, data):
        """Sends in pieces, each of which is a record or several."""
        while data:
            size = self.random.choice((1, 17, 1000, 16384, 70000, 1 << 20))
            client.send_bytes(data[:size])
            data = data[size:]

    def step(self):
        name = "w%d:%d" % (self.number, self.random.randrange(5))
        kind = self.random.randrange(6)
        if kind == 0:
            self.texts[name] = self.random.randbytes(self.random.choice((0, 1, 100, 5000, 16384, 100000)))
            return ("SET", name, self.texts[name]), b"OK"
        if kind in (1, 2):
            return ("GET", name), self.texts.get(name)
        if kind == 3:
            more = self.random.randbytes(self.random.choice((1, 50, 20000)))
            self.texts[name] = self.texts.get(name, b"") + more
            return ("APPEND", name, more), len(self.texts[name])
        if kind == 4:
            return ("DEL", name), int(self.texts.pop(name, None) is not None)
        self.list.append(b"%d" % len(self.list))
        return ("RPUSH", "l%d" % self.number, self.list[-1]), len(self.list)


def clients_have_their_own_answers_while_connections_move_and_others_are_killed_and_hear_messages():
    options = ("--threads", "4", "--threads-fixed", "no", "--enable-debug-command", "yes", "--appendonly", "yes", "--appendfsync", "always")
    with world(*options) as at:
        assert at.db.command("DEBUG", "MOVE-CONNECTIONS", 1) == b"OK"
        workers = [Worker(at, number) for number in range(8)]
        subscriber = at.connect(timeout=120)
        subscriber.send_bytes(encoded("SUBSCRIBE", "news"))
        assert subscriber.read()[0] == b"subscribe"
        for worker in workers:
            worker.start()
        sent = killed = 0
        while any(worker.is_alive() for worker in workers):
            message = b"%d " % sent + b"m" * (sent * 997 % 40000)
            assert at.db.command("PUBLISH", "news", message) == 1
            assert subscriber.read() == [b"message", b"news", message]
            sent += 1
            victim = at.connect(timeout=120)
            victim.send_bytes(encoded("CLIENT", "ID") + encoded("BLPOP", "nothing", "0"))
            number = victim.read()
            assert at.db.command("CLIENT", "KILL", "ID", number) == 1
            assert victim.at_end()
            killed += 1
        wrong = [worker.wrong for worker in workers if worker.wrong]
        assert not wrong, wrong[:3]
        print("     %d batches, %d messages, %d clients killed" % (sum(worker.batches for worker in workers), sent, killed))
        for worker in workers:
            for name, value in worker.texts.items():
                assert at.db.command("GET", name) == value
            assert at.db.command("LRANGE", "l%d" % worker.number, 0, -1) == worker.list
        assert at.info("stats")["tls_handshakes_failed"] == "0"


def memory_of_encryption_counts_as_memory_of_its_client():
    def total(client):
        line = client.command("CLIENT", "LIST", "ID", client.command("CLIENT", "ID")).decode()
        return int(line.split("tot-mem=")[1].split()[0])

    with world() as at:
        plain, encrypted = at.server.connect(), at.connect()
        for client in (plain, encrypted):
            client.command("PING")
        assert 7000 < total(encrypted) - total(plain) < 9000, (total(encrypted), total(plain))
        silent = at.connect()
        assert silent.socket.version() == "TLSv1.3"
        lines = at.db.command("CLIENT", "LIST").decode().splitlines()
        assert all(int(line.split("tot-mem=")[1].split()[0]) > 7000 for line in lines if ":%d " % at.port in line), lines


def several_clients_may_change_settings_at_a_time():
    with world("--threads", "2") as at:
        openssl("pkcs8", "-topk8", "-v2", "aes256", "-iter", "200000", "-in", at.ca.path("server", "key"), "-passout", "pass:secret",
                "-out", at.ca.path("slow", "key"))
        slow = ("tls-key-file", at.ca.path("slow", "key"))
        loops = [[("tls-session-cache-size", "7"), ("tls-session-cache-size", "8")], [("tls-cert-file", at.ca.path("server", "crt"))],
                 [("timeout", "0"), ("timeout", "100")], [("tls-key-file-pass", "secret", *slow), ("tls-key-file-pass", "other", *slow)]]
        done = []

        def change(settings):
            client = at.server.connect()
            for number in range(40):
                answer = client.command("CONFIG", "SET", *settings[number % len(settings)])
                assert answer == b"OK" or NOT_UPDATED in answer, answer
            done.append(settings)

        threads = [threading.Thread(target=change, args=(each,), daemon=True) for each in loops * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(done) == len(threads), done
        assert at.connect().command("PING") == b"PONG"


def one_that_is_half_open_gives_its_place_once():
    with world("--maxclients", "20") as at:
        others = [at.server.connect() for _ in range(16)]
        silent = socket.create_connection(("127.0.0.1", at.port))
        at.until(lambda: at.info("stats")["tls_handshakes_waiting"] == "1")
        at.until(lambda: at.info("clients")["connected_clients"] == "18")
        burst = [socket.create_connection(("127.0.0.1", at.server.port), 30) for _ in range(60)]
        answers = []
        for client in burst:
            try:
                client.sendall(encoded("PING"))
                answers.append(client.recv(100))
            except OSError:
                answers.append(b"")
        assert answers.count(b"+PONG\r\n") == 3 and len(others) == 16, answers
        silent.settimeout(30)
        assert silent.recv(1) == b"" and at.info("clients")["connected_clients"] == "20"


def one_client_too_many_of_memcached_is_told_so_before_tls_begins():
    port = free_port()
    with world("--memcached-tls-port", port, "--maxclients", "10") as at:
        others = [socket.create_connection(("127.0.0.1", at.server.port)) for _ in range(20)]
        assert others[-1].recv(100) == b"-ERR max number of clients reached\r\n"
        with socket.create_connection(("127.0.0.1", port), 30) as client:
            assert client.makefile("rb").read() == b"ERROR Too many open connections\r\n"


def keys_are_changed_by_either_side_while_replies_wait():
    with world() as at:
        command = ["openssl", "s_client", "-connect", "127.0.0.1:%d" % at.port, "-tls1_3", "-CAfile", at.ca.path("ca", "crt"),
                   "-cert", at.ca.path("client", "crt"), "-key", at.ca.path("client", "key")]
        with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
            for line in (b"PING\n", b"K\n", b"ECHO a\n", b"k\n", b"K\n", b"ECHO b\n"):
                client.stdin.write(line)
                client.stdin.flush()
                time.sleep(0.05)
            said = b""
            deadline = time.monotonic() + 30
            while b"\r\nb\r\n" not in said and time.monotonic() < deadline:
                said += os.read(client.stdout.fileno(), 65536)
            client.kill()
        assert b"+PONG" in said and b"\r\na\r\n" in said and b"\r\nb\r\n" in said, said[-400:]


def a_renegotiation_is_refused_and_ends_no_other_connection():
    with world() as at:
        other = at.connect()
        command = ["openssl", "s_client", "-connect", "127.0.0.1:%d" % at.port, "-tls1_2", "-CAfile", at.ca.path("ca", "crt"),
                   "-cert", at.ca.path("client", "crt"), "-key", at.ca.path("client", "key")]
        done = subprocess.run(list(map(str, command)), input=b"R\n" * 5, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        assert b"RENEGOTIATING" in done.stderr and b"no renegotiation" in done.stderr, done.stderr[-300:]
        assert other.command("PING") == b"PONG"


if __name__ == "__main__":
    sys.exit(run(globals()))
