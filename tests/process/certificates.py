"""Certificates and keys for tests, made with openssl."""

import pathlib
import shutil
import subprocess

DAYS = "30"


def openssl(*words):
    """Runs openssl; what it says is shown where it fails."""
    done = subprocess.run(["openssl", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, "openssl %s: %s" % (" ".join(map(str, words)), done.stdout.decode())


class Authority:
    """A CA in a folder, and those who come from it: NAME.crt and NAME.key."""

    def __init__(self, folder, name="ca"):
        assert shutil.which("openssl"), "openssl is missing: scripts/need openssl"
        self.folder, self.name = pathlib.Path(folder), name
        self.key(name)
        openssl("req", "-x509", "-new", "-sha256", "-key", self.path(name, "key"), "-days", DAYS, "-subj", "/CN=" + name,
                "-addext", "basicConstraints=critical,CA:TRUE", "-out", self.path(name, "crt"))

    def path(self, name, kind):
        """Path of the certificate (crt) or key (key) of somebody."""
        return self.folder / ("%s.%s" % (name, kind))

    def key(self, name, kind="P-256"):
        """Makes a key: an EC curve, or `rsa:BITS`."""
        how = ["RSA", "-pkeyopt", "rsa_keygen_bits:" + kind[4:]] if kind.startswith("rsa:") else \
            ["EC", "-pkeyopt", "ec_paramgen_curve:" + kind]
        openssl("genpkey", "-algorithm", *how, "-out", self.path(name, "key"))

    def person(self, name, subject=None, uris=(), days=DAYS, kind="P-256", begins=()):
        """Makes somebody who comes from the CA. `begins` are further options of x509."""
        self.key(name, kind)
        names = ["DNS:localhost", "IP:127.0.0.1", *("URI:" + uri for uri in uris)]
        extensions = self.path(name, "ext")
        extensions.write_text("subjectAltName=%s\n" % ",".join(names))
        request = self.path(name, "csr")
        openssl("req", "-new", "-sha256", "-key", self.path(name, "key"), "-subj", subject or "/CN=" + name, "-out", request)
        openssl("x509", "-req", "-sha256", "-in", request, "-CA", self.path(self.name, "crt"), "-CAkey",
                self.path(self.name, "key"), "-CAcreateserial", "-days", days, *begins, "-extfile", extensions,
                "-out", self.path(name, "crt"))
        return self

    def archive(self, name, password="varve"):
        """Puts a certificate and its key into one file, NAME.p12, as Java reads them."""
        openssl("pkcs12", "-export", "-in", self.path(name, "crt"), "-inkey", self.path(name, "key"), "-name", name,
                "-passout", "pass:" + password, "-out", self.path(name, "p12"))
        return self

    def settings(self, server="server"):
        """The settings of a server that shows one of them."""
        return ["--tls-cert-file", self.path(server, "crt"), "--tls-key-file", self.path(server, "key"),
                "--tls-ca-cert-file", self.path(self.name, "crt")]
