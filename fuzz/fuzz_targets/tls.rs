//! Bytes may be anything at each stage: a server that is spoken to, in pieces as in one; records of
//! an established connection, changed or not; certificates and keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::IoSlice;
use std::sync::OnceLock;
use tls::{
    Asks, Channel, Choices, ClientHandshake, ClientRules, Handshake, Identity, RECORD_BYTES, Roots,
    ServerRules, Sessions, Suites, Versions,
};

const CA: &str = include_str!("tls/ca.crt");
const CERTIFICATE: &str = include_str!("tls/server.crt");
const KEY: &str = include_str!("tls/server.key");

fn choices(versions: &str) -> Choices {
    Choices {
        versions: Versions::read(versions).expect("versions").0,
        suites: Suites::read("", "").expect("suites").0,
        prefers_own: false,
        sessions: Some(Sessions { most: 10, seconds: 300 }),
    }
}

fn server() -> &'static ServerRules {
    static RULES: OnceLock<ServerRules> = OnceLock::new();
    RULES.get_or_init(|| {
        let roots = Roots::read(CA.as_bytes()).expect("a certificate");
        let chain = Roots::read(CERTIFICATE.as_bytes()).expect("a certificate");
        let identity = Identity::of_key(chain, KEY.as_bytes(), b"").expect("a key");
        ServerRules::new(&identity, (Asks::Optionally, &roots), &choices("")).expect("rules")
    })
}

fn client(is_old: bool) -> &'static ClientRules {
    static RULES: OnceLock<[ClientRules; 2]> = OnceLock::new();
    let rules = RULES.get_or_init(|| {
        let roots = Roots::read(CA.as_bytes()).expect("a certificate");
        ["TLSv1.3", "TLSv1.2"]
            .map(|it| ClientRules::new(None, &roots, &choices(it)).expect("rules"))
    });
    &rules[usize::from(is_old)]
}

/// Lengths of pieces into which bytes are cut.
struct Cuts<'d> {
    bytes: &'d [u8],
    at: usize,
}

impl Cuts<'_> {
    fn next(&mut self) -> usize {
        self.at += 1;
        let byte = self.bytes.get(self.at % self.bytes.len().max(1)).copied().unwrap_or(9);
        1 + usize::from(byte) * usize::from(byte & 15)
    }

    fn cut<'b>(&mut self, bytes: &'b [u8]) -> Vec<&'b [u8]> {
        let (mut pieces, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let (piece, left) = rest.split_at(self.next().min(rest.len()));
            pieces.push(piece);
            rest = left;
        }
        pieces
    }
}

/// Establishes a connection whose messages are cut.
fn establish(cuts: &mut Cuts<'_>, is_old: bool) -> (Channel, Channel) {
    let mut there = ClientHandshake::new(client(is_old), "localhost").expect("a client");
    let mut here = Handshake::default();
    while !(there.is_done() && here.is_done()) {
        let (mut sent, mut answer) = (Vec::new(), Vec::new());
        there.write_to(&mut sent).expect("a vector takes all");
        for piece in cuts.cut(&sent) {
            here.receive(piece, server()).expect("what a client sends");
        }
        here.write_to(&mut answer).expect("a vector takes all");
        for piece in cuts.cut(&answer) {
            there.receive(piece).expect("what a server answers");
        }
    }
    (here.finish().expect("it is done"), there.finish().expect("it is done"))
}

/// A stranger's bytes, whole and in pieces: neither is established, and both end alike.
fn stranger(bytes: &[u8], cuts: &mut Cuts<'_>) {
    let mut whole = Handshake::default();
    let outcome = whole.receive(bytes, server());
    let mut cut = Handshake::default();
    let mut in_pieces = Ok(());
    for piece in cuts.cut(bytes) {
        if in_pieces.is_ok() {
            in_pieces = cut.receive(piece, server());
        }
    }
    assert_eq!(outcome.is_ok(), in_pieces.is_ok(), "{outcome:?} {in_pieces:?}");
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let _ = (whole.write_to(&mut one), cut.write_to(&mut other));
    assert!(!whole.is_done() && whole.finish().is_none());
}

/// Plaintext arrives as it was sent, however it is cut; with a changed byte it is an error.
fn records(bytes: &[u8], cuts: &mut Cuts<'_>, (is_old, is_changed): (bool, bool)) {
    let (mut here, mut there) = establish(cuts, is_old);
    let mut ciphertext = Vec::new();
    for piece in cuts.cut(bytes) {
        let mut sent = 0;
        while sent < piece.len() {
            let left = IoSlice::new(&piece[sent..]);
            sent += there.write(&[left], &mut ciphertext).expect("a vector takes all");
        }
    }
    if is_changed && !ciphertext.is_empty() {
        let at = cuts.next() * 31 % ciphertext.len();
        ciphertext[at] ^= 1 << (cuts.next() & 7);
    }
    let mut got = Vec::new();
    let mut room = vec![0; 64 << 10];
    for piece in cuts.cut(&ciphertext).iter().flat_map(|it| it.chunks(RECORD_BYTES)) {
        let Ok(moved) = here.open(piece, &mut room) else {
            assert!(is_changed, "what was sent is no error");
            assert!(bytes.starts_with(&got), "and what came before it is what was sent");
            return;
        };
        got.extend_from_slice(&room[..moved]);
        here.read_with(&mut |more| got.extend_from_slice(more));
    }
    assert!(bytes.starts_with(&got) && (is_changed || got.len() == bytes.len()));
}

/// Certificates and keys that are none, or not quite.
fn material(bytes: &[u8]) {
    let _ = Identity::of_key(Roots::default(), bytes, b"pass");
    if let Ok(roots) = Roots::read(bytes) {
        for certificate in roots.iter() {
            let _ = (tls::facts(certificate), tls::common_name(certificate));
            assert!(tls::uris(certificate).iter().all(|uri| !uri.contains(&0)));
        }
        let _ = tls::earliest(roots.iter());
        let _ = ClientRules::new(None, &roots, &choices(""));
    }
    let _ = (tls::facts(bytes), tls::common_name(bytes), tls::uris(bytes));
    let text = String::from_utf8_lossy(bytes);
    let _ = (Versions::read(&text), Suites::read(&text, ""), Suites::read("", &text));
}

fuzz_target!(|data: &[u8]| {
    let Some(([kind, cuts @ ..], bytes)) = data.split_first_chunk::<8>() else { return };
    let mut cuts = Cuts { bytes: cuts, at: 0 };
    match kind % 4 {
        0 => stranger(bytes, &mut cuts),
        1 => records(bytes, &mut cuts, (kind & 4 != 0, false)),
        2 => records(bytes, &mut cuts, (kind & 4 != 0, true)),
        _ => material(bytes),
    }
});
