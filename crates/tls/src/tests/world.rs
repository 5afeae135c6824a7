//! A CA, who comes from it, and connections between a server and clients in memory.

use crate::{
    Asks, Channel, Choices, ClientRules, Handshake, HandshakeError, Identity, Roots, ServerRules,
    Sessions, Suites, Versions,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use rustls::{ClientConnection, Connection};
use rustls_pki_types::ServerName;
use std::io::{self, Read, Write};

pub struct Ca {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

pub struct Person {
    pub certificate: String,
    pub key: String,
}

impl Ca {
    pub fn new(name: &str) -> Ca {
        let key = KeyPair::generate().expect("randomness");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).expect("a key that signs").pem();
        Ca { pem, issuer: Issuer::new(params, key) }
    }

    pub fn roots(&self) -> Roots {
        Roots::read(self.pem.as_bytes()).expect("a certificate")
    }

    /// Somebody with this common name and these URIs.
    pub fn person(&self, name: &str, uris: &[&str]) -> Person {
        self.person_with(&KeyPair::generate().expect("randomness"), name, uris)
    }

    pub fn person_with(&self, key: &KeyPair, name: &str, uris: &[&str]) -> Person {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        let uri = |uri: &&str| SanType::URI((*uri).try_into().expect("ASCII"));
        params.subject_alt_names.extend(uris.iter().map(uri));
        let certificate = params.signed_by(key, &self.issuer).expect("a key that signs");
        Person { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Person {
    pub fn identity(&self) -> Identity {
        let chain = Roots::read(self.certificate.as_bytes()).expect("a certificate");
        Identity::of_key(chain, self.key.as_bytes(), b"").expect("a key")
    }
}

pub fn choices(versions: &str) -> Choices {
    Choices {
        versions: Versions::read(versions).expect("versions").0,
        suites: Suites::read("", "").expect("suites").0,
        prefers_own: false,
        sessions: Some(Sessions { most: 100, seconds: 300 }),
    }
}

pub fn server_rules(ca: &Ca, asks: Asks) -> ServerRules {
    let server = ca.person("server", &[]).identity();
    ServerRules::new(&server, (asks, &ca.roots()), &choices("")).expect("rules")
}

pub fn client(rules: &ClientRules) -> Connection {
    let name = ServerName::try_from("localhost").expect("a name");
    ClientConnection::new(rules.config.clone(), name).expect("a client").into()
}

/// What a connection has to send.
pub fn outgoing(connection: &mut Connection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut bytes).expect("a vector takes all");
    }
    bytes
}

/// Gives bytes to a client.
pub fn give(connection: &mut Connection, mut bytes: &[u8]) -> Result<(), rustls::Error> {
    while !bytes.is_empty() {
        connection.read_tls(&mut bytes).expect("the client reads what it gets");
        connection.process_new_packets()?;
    }
    Ok(())
}

/// Establishes a connection; what the client sends comes `fragment` bytes at a time.
pub fn establish(
    rules: &ServerRules,
    client: &mut Connection,
    fragment: usize,
) -> Result<Channel, HandshakeError> {
    let mut handshake = Handshake::default();
    for _ in 0..10 {
        for piece in outgoing(client).chunks(fragment) {
            handshake.receive(piece, rules)?;
        }
        let mut answer = Vec::new();
        assert!(handshake.write_to(&mut answer).expect("a vector takes all"));
        if give(client, &answer).is_err() {
            // It says so to the server.
            handshake.receive(&outgoing(client), rules)?;
        }
        if handshake.is_done() && !client.is_handshaking() {
            return Ok(handshake.finish().expect("it is done"));
        }
    }
    panic!("the handshake goes round in circles: {handshake:?}");
}

/// All plaintext that a client can read at present.
pub fn plaintext(connection: &mut Connection) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match connection.reader().read(&mut buffer) {
            Ok(0) | Err(_) => return bytes,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

/// A socket that takes so many bytes until it blocks, and is emptied by the test.
#[derive(Default)]
pub struct Narrow {
    pub taken: Vec<u8>,
    pub room: usize,
    /// Most bytes that one write takes.
    pub at_a_time: usize,
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(self.room).min(self.at_a_time)];
        if bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.taken.extend_from_slice(bytes);
        self.room -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
