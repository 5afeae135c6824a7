//! Settings of TLS. They say how connections are encrypted, not that they are: what asks for
//! encryption is in `absent.rs`, and is refused.

use crate::row::{Row, bytes, integer, one_of, text, yes_no};

const WHY: &str = "this version of Varve has no TLS, and no setting can ask for it";
const INT_MAX: i128 = i32::MAX as i128;

pub(crate) const ROWS: &[Row] = &[
    tls(text("tls-cert-file", "", "Certificate of the server.")),
    tls(text("tls-key-file", "", "Key of that certificate.")),
    tls(bytes("tls-key-file-pass", "Password of that key.")).sensitive(),
    tls(text("tls-client-cert-file", "", "Certificate for connections to other servers.")),
    tls(text("tls-client-key-file", "", "Key of that certificate.")),
    tls(bytes("tls-client-key-file-pass", "Password of that key.")).sensitive(),
    tls(text("tls-dh-params-file", "", "Parameters of the key exchange.")),
    tls(text("tls-ca-cert-file", "", "Certificates that are trusted, in a file.")),
    tls(text("tls-ca-cert-dir", "", "Certificates that are trusted, in a directory.")),
    tls(one_of(
        "tls-auth-clients",
        &["no", "yes", "optional"],
        1,
        "Whether clients have to show a certificate.",
    )),
    tls(one_of(
        "tls-auth-clients-user",
        &["cn", "uri", "off"],
        2,
        "Field of the certificate that names the user of the client.",
    )),
    tls(text("tls-protocols", "", "Versions of TLS that are spoken.")),
    tls(text("tls-ciphers", "", "Ciphers up to TLS 1.2.")),
    tls(text("tls-ciphersuites", "", "Ciphers of TLS 1.3.")),
    tls(yes_no("tls-prefer-server-ciphers", false, "The server chooses the cipher.")),
    tls(yes_no("tls-session-caching", true, "Clients may go on with an old session.")),
    tls(integer("tls-session-cache-size", 0..=INT_MAX, 20480, "Most sessions that are kept.")),
    tls(integer("tls-session-cache-timeout", 0..=INT_MAX, 300, "Seconds for which they are kept.")),
    tls(integer(
        "tls-auto-reload-interval",
        0..=INT_MAX,
        0,
        "Seconds after which certificates are read again. 0: never.",
    )),
    tls(integer(
        "max-new-tls-connections-per-cycle",
        1..=1000,
        1,
        "Connections with TLS that are accepted in a row.",
    )),
];

const fn tls(row: Row) -> Row {
    row.idle(WHY)
}
