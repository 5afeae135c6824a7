//! Settings of TLS.

use crate::choice::{AuthClients, CertificateUser};
use crate::live::Settings;
use crate::row::{bytes, integer, one_of, text, yes_no};
use std::sync::Arc;

const INT_MAX: i128 = i32::MAX as i128;

super::declare::rows! { from super::users::END;
    TLS_PORT: u16 = integer("tls-port", 0..=65535, 0,
        "TCP port of TLS, on every address of `bind`. 0: none.");
    TLS_CERT_FILE: Arc<str> = text("tls-cert-file", "",
        "File of the server's certificate, PEM, with those that lead to the CA behind it. Setting \
         it again reads it again.").reapplied();
    TLS_KEY_FILE: Arc<str> = text("tls-key-file", "",
        "File of its key, PEM: PKCS#8, PKCS#1 or SEC1.").reapplied();
    TLS_KEY_FILE_PASS: Arc<[u8]> = bytes("tls-key-file-pass",
        "Pass phrase of that key, if it is encrypted.").sensitive();
    TLS_CLIENT_CERT_FILE: Arc<str> = text("tls-client-cert-file", "",
        "File of the certificate that the server shows to other servers. Empty: that of \
         `tls-cert-file`.").reapplied();
    TLS_CLIENT_KEY_FILE: Arc<str> = text("tls-client-key-file", "",
        "File of the key of that certificate.").reapplied();
    TLS_CLIENT_KEY_FILE_PASS: Arc<[u8]> = bytes("tls-client-key-file-pass",
        "Pass phrase of that key, if it is encrypted.").sensitive();
    TLS_CA_CERT_FILE: Arc<str> = text("tls-ca-cert-file", "",
        "File of CA certificates from which those of clients must come.").reapplied();
    TLS_CA_CERT_DIR: Arc<str> = text("tls-ca-cert-dir", "",
        "Folder of such files; every file of it that holds certificates counts, whatever its name. \
         They add to those of `tls-ca-cert-file`.").reapplied();
    TLS_AUTH_CLIENTS: AuthClients = one_of("tls-auth-clients", AuthClients::NAMES,
        AuthClients::Yes as usize,
        "Whether clients must show a certificate: yes, no, or optional, where one that is shown \
         must be good.");
    TLS_AUTH_CLIENTS_USER: CertificateUser = one_of("tls-auth-clients-user",
        CertificateUser::NAMES, CertificateUser::Off as usize,
        "Field of the certificate that names the user as which its client is logged in: the common \
         name, the first URI that names a user who is on, or none.");
    TLS_PROTOCOLS: Arc<str> = text("tls-protocols", "",
        "Versions that are spoken: TLSv1.2, TLSv1.3, or both. Empty: both.");
    TLS_CIPHERS: Arc<str> = text("tls-ciphers", "",
        "Cipher suites of TLS 1.2, as a list of OpenSSL. Empty: all that there are.");
    TLS_CIPHERSUITES: Arc<str> = text("tls-ciphersuites", "",
        "Cipher suites of TLS 1.3, with `:` between them. Empty: all that there are.");
    TLS_PREFER_SERVER_CIPHERS: bool = yes_no("tls-prefer-server-ciphers", false,
        "The server's order of suites counts, and not the client's.");
    TLS_SESSION_CACHING: bool = yes_no("tls-session-caching", true,
        "Clients may go on with a session of before.");
    TLS_SESSION_CACHE_SIZE: usize = integer("tls-session-cache-size", 0..=INT_MAX, 20480,
        "Most sessions that are kept for clients without tickets. 0: any number.");
    TLS_SESSION_CACHE_TIMEOUT: u32 = integer("tls-session-cache-timeout", 0..=INT_MAX, 300,
        "Seconds for which a session may be taken up again. Keys of tickets are drawn anew after \
         so long, or six hours, and kept as long again.");
    TLS_AUTO_RELOAD_INTERVAL: u32 = integer("tls-auto-reload-interval", 0..=INT_MAX, 0,
        "Seconds after which the server looks whether files of certificates and keys have changed, \
         and reads them again. 0: never.");
    TLS_DH_PARAMS_FILE: Arc<str> = text("tls-dh-params-file", "",
        "Parameters of the key exchange DHE. **No effect**: there is no such exchange here.");
    TLS_REPLICATION: bool = yes_no("tls-replication", false,
        "Links to other servers are encrypted. There are none yet; certificates are judged.");
    TLS_CLUSTER: bool = yes_no("tls-cluster", false,
        "The bus of a cluster is encrypted. There is none yet; certificates are judged.");
    TLS_HANDSHAKE_TIMEOUT: u32 = integer("tls-handshake-timeout", 1..=3600, 10,
        "Seconds that a connection with TLS may take until it is established.");
    TLS_MAX_HALF_OPEN: usize = integer("tls-max-half-open", 1..=INT_MAX, 10_000,
        "Most connections with TLS that are not established. The oldest is closed for a new one.");
    MAX_NEW_TLS_CONNECTIONS: usize = integer("max-new-tls-connections-per-cycle", 1..=1000, 1,
        "Most connections with TLS that are accepted in one iteration of the event loop.");
}

/// Returns the port at which the server is to be found: that of TLS if there is no other.
pub fn main_port(settings: &Settings) -> u16 {
    match super::network::PORT.get(settings) {
        0 => TLS_PORT.get(settings),
        port => port,
    }
}
