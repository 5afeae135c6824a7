//! What goes in comes out, however it is cut.

use super::world::{
    Ca, Narrow, choices, client, establish, give, outgoing, plaintext, server_rules,
};
use crate::channel::SEALED_MAX;
use crate::rules::store;
use crate::{Asks, BlockingStream, Channel, ClientRules, Handshake, HandshakeError, ServerRules};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, Connection};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::sync::Arc;

fn ends(versions: &str, fragment: usize) -> (Channel, Connection) {
    let ca = Ca::new("ca");
    let server = server_rules(&ca, Asks::Never);
    let rules = ClientRules::new(None, &ca.roots(), &choices(versions)).expect("rules");
    let mut client = client(&rules);
    let server = establish(&server, &mut client, fragment).expect("both agree");
    (server, client)
}

fn text(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from(at % 251).expect("small")).collect()
}

/// Has the server read all of `ciphertext`, `read` bytes at a time, into a room of that size.
fn open_all(server: &mut Channel, ciphertext: &[u8], read: usize) -> Vec<u8> {
    let (mut got, mut room) = (Vec::new(), vec![0; read.max(crate::RECORD_BYTES)]);
    for piece in ciphertext.chunks(read) {
        let mut bytes = server.open(piece, &mut room).expect("what the client has encrypted");
        while bytes > 0 {
            got.extend_from_slice(&room[..bytes]);
            bytes = server.read(&mut room);
        }
    }
    got
}

#[test]
fn a_handshake_may_come_byte_by_byte_with_each_version() {
    for versions in ["TLSv1.2", "TLSv1.3"] {
        for fragment in [1, 2, 5, 17, 100_000] {
            let (server, client) = ends(versions, fragment);
            let spoken = format!("{:?}", client.protocol_version().expect("a version"));
            assert_eq!(spoken, versions.replace('.', "_"));
            assert!(server.protocol().starts_with(&spoken), "{}", server.protocol());
            assert!(!server.is_ended() && server.plaintext() == 0);
        }
    }
}

#[test]
fn keys_are_exchanged_in_each_group_that_the_manual_names() {
    let ca = Ca::new("ca");
    let server = server_rules(&ca, Asks::Never);
    let groups = aws_lc_rs::default_provider().kx_groups;
    assert!(groups.iter().any(|it| it.name() == rustls::NamedGroup::X25519MLKEM768));
    for only in groups {
        let provider = CryptoProvider { kx_groups: vec![only], ..aws_lc_rs::default_provider() };
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("a version")
            .with_root_certificates(store(&ca.roots()).expect("roots"))
            .with_no_client_auth();
        let mut client = client(&ClientRules { config: Arc::new(config) });
        establish(&server, &mut client, 1000).expect("a group that both know");
        let group = client.negotiated_key_exchange_group().expect("a group").name();
        assert_eq!(group, only.name());
    }
}

#[test]
fn what_comes_with_the_end_of_the_handshake_is_data_already() {
    let ca = Ca::new("ca");
    let server = server_rules(&ca, Asks::Never);
    let rules = ClientRules::new(None, &ca.roots(), &choices("TLSv1.3")).expect("rules");
    let mut client = client(&rules);
    let mut handshake = Handshake::default();
    handshake.receive(&outgoing(&mut client), &server).expect("a hello");
    let mut answer = Vec::new();
    handshake.write_to(&mut answer).expect("a vector takes all");
    give(&mut client, &answer).expect("an answer");
    client.writer().write_all(b"PING\r\n").expect("room");
    client.send_close_notify();
    handshake.receive(&outgoing(&mut client), &server).expect("its end, and data");
    let mut server = handshake.finish().expect("it is done");
    assert_eq!((server.plaintext(), server.is_ending(), server.is_ended()), (6, true, false));
    let mut room = [0; 16];
    assert_eq!(server.read(&mut room), 6);
    assert!(server.is_ended());
}

#[test]
fn input_of_every_size_arrives_whole_whatever_the_size_of_reads() {
    for read in [1, 7, 100, 4095, 4096, 4097, 16 << 10, 64 << 10] {
        let (mut server, mut client) = ends("TLSv1.3", 100_000);
        client.set_buffer_limit(None);
        let mut sent = Vec::new();
        for bytes in [0, 1, 100, 16 << 10, (16 << 10) + 1, 40_000, 200_000] {
            let more = text(bytes);
            client.writer().write_all(&more).expect("no limit");
            sent.extend_from_slice(&more);
        }
        let got = open_all(&mut server, &outgoing(&mut client), read);
        assert!(got == sent, "read {read} at a time: {} of {} bytes", got.len(), sent.len());
    }
}

#[test]
fn records_of_a_byte_each_arrive_whole() {
    let (mut server, mut client) = ends("", 100_000);
    let sent = text(3_000);
    let mut ciphertext = Vec::new();
    for byte in &sent {
        client.writer().write_all(&[*byte]).expect("room");
        ciphertext.extend(outgoing(&mut client));
    }
    assert_eq!(open_all(&mut server, &ciphertext, 64 << 10), sent);
}

#[test]
fn output_counts_as_written_once_it_has_left_and_is_offered_again_until_then() {
    for (room, at_a_time) in [(1, 1), (10, 3), (1000, 1000), (20_000, 5_000), (70_000, 70_000)] {
        let (mut server, mut client) = ends("", 100_000);
        let sent = text(150_000);
        let (mut socket, mut written, mut got) = (Narrow::default(), 0, Vec::new());
        let mut blocked = 0;
        while written < sent.len() {
            (socket.room, socket.at_a_time) = (room, at_a_time);
            let left = &sent[written..];
            // However it is cut, the first bytes are those of before.
            let cut = left.len().min(1 + blocked % 7);
            let parts = [IoSlice::new(&left[..cut]), IoSlice::new(&left[cut..])];
            match server.write(&parts, &mut socket) {
                Ok(bytes) => written += bytes,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            assert!(server.sealed() <= SEALED_MAX);
            blocked += 1;
            for piece in std::mem::take(&mut socket.taken).chunks(8_000) {
                give(&mut client, piece).expect("whole records, in order");
                got.extend(plaintext(&mut client));
            }
        }
        assert_eq!(server.sealed(), 0);
        assert!(got == sent, "room {room}: {} of {} bytes", got.len(), sent.len());
    }
}

#[test]
fn small_parts_go_in_one_record() {
    let (mut server, mut client) = ends("", 100_000);
    let parts: Vec<IoSlice<'_>> = (0..60).map(|_| IoSlice::new(b"+OK\r\n")).collect();
    let mut socket = Vec::new();
    assert_eq!(server.write(&parts, &mut socket).expect("a vector takes all"), 300);
    assert!(socket.len() < 300 + 50, "{} bytes", socket.len());
    give(&mut client, &socket).expect("a record");
    assert_eq!(plaintext(&mut client), b"+OK\r\n".repeat(60));
}

#[test]
fn more_parts_than_are_taken_at_a_time_go_one_after_the_other() {
    let (mut server, mut client) = ends("", 100_000);
    let sent = text(10_000);
    let mut written = 0;
    let mut socket = Vec::new();
    while written < sent.len() {
        let parts: Vec<IoSlice<'_>> = sent[written..].chunks(10).map(IoSlice::new).collect();
        written += server.write(&parts, &mut socket).expect("a vector takes all");
    }
    give(&mut client, &socket).expect("records");
    assert_eq!(plaintext(&mut client), sent);
}

#[test]
fn requests_before_the_end_are_read_and_then_the_end() {
    let (mut server, mut client) = ends("", 100_000);
    client.writer().write_all(b"PING\r\n").expect("room");
    client.send_close_notify();
    let mut room = vec![0; 64 << 10];
    let read = server.open(&outgoing(&mut client), &mut room).expect("data and an end");
    assert_eq!(&room[..read], b"PING\r\n");
    assert!(server.is_ending() && server.is_ended());
    let mut socket = Vec::new();
    server.write(&[IoSlice::new(b"+PONG\r\n")], &mut socket).expect("it may still be answered");
    server.end(&mut socket);
    give(&mut client, &socket).expect("an answer, and an end");
    assert_eq!(plaintext(&mut client), b"+PONG\r\n");
}

#[test]
fn bytes_that_nobody_has_encrypted_are_an_error_and_said_to_be() {
    let (mut server, mut client) = ends("", 100_000);
    client.writer().write_all(b"PING\r\n").expect("room");
    let mut ciphertext = outgoing(&mut client);
    *ciphertext.last_mut().expect("a record") ^= 1;
    let mut room = vec![0; 64 << 10];
    server.open(&ciphertext, &mut room).expect_err("a changed byte");
    let mut alert = Vec::new();
    server.send(&mut alert).expect("a vector takes all");
    assert!(!alert.is_empty());
    give(&mut client, &alert).expect_err("an alert");
}

#[test]
fn what_is_not_tls_is_told_from_what_is() {
    let rules = server_rules(&Ca::new("ca"), Asks::Never);
    for bytes in [&b"*1\r\n$4\r\nPING\r\n"[..], b"GET / HTTP/1.1\r\n\r\n", b"PING\r\n", b"\x80"] {
        let mut handshake = Handshake::default();
        assert_eq!(handshake.receive(bytes, &rules), Err(HandshakeError::NotTls));
        let mut said = Vec::new();
        assert!(handshake.write_to(&mut said).expect("a vector takes all") && said.is_empty());
        assert!(!handshake.is_done());
    }
    let mut handshake = Handshake::default();
    assert!(handshake.receive(b"", &rules).is_ok() && handshake.is_silent());
    // A record that is longer than any may be.
    let broken = handshake.receive(&[22, 3, 1, 0xff, 0xff, 1], &rules);
    assert!(matches!(broken, Err(HandshakeError::Tls(_))), "{broken:?}");
    assert!(handshake.receive(b"more", &rules).is_ok(), "what has failed takes nothing more");
}

#[test]
fn clients_go_on_with_sessions_under_the_same_rules_only() {
    for versions in ["TLSv1.2", "TLSv1.3"] {
        let ca = Ca::new("ca");
        let (server, other) = (server_rules(&ca, Asks::Never), server_rules(&ca, Asks::Never));
        let rules = ClientRules::new(None, &ca.roots(), &choices(versions)).expect("rules");
        let kind = |server: &ServerRules| {
            let mut client = client(&rules);
            establish(server, &mut client, 1000).expect("both agree").is_resumed()
        };
        assert!(!kind(&server));
        assert!(kind(&server), "{versions}: a session of before is taken up");
        assert!(!kind(&other), "{versions}: but not under other rules");
        let without = crate::Choices { sessions: None, ..choices("") };
        let person = ca.person("server", &[]).identity();
        let without = ServerRules::new(&person, (Asks::Never, &ca.roots()), &without);
        let without = without.expect("rules");
        assert!(!kind(&without) && !kind(&without), "{versions}: nor where there are none");
    }
}

#[test]
fn a_blocking_stream_reads_and_writes_what_a_server_does() {
    let ca = Ca::new("ca");
    let server = server_rules(&ca, Asks::Never);
    let rules = ClientRules::new(None, &ca.roots(), &choices("")).expect("rules");
    let (near, mut far) = std::os::unix::net::UnixStream::pair().expect("two ends");
    let serving = std::thread::spawn(move || {
        let (mut handshake, mut buffer) = (Handshake::default(), vec![0; 16 << 10]);
        while !handshake.is_done() {
            let read = far.read(&mut buffer).expect("bytes");
            handshake.receive(&buffer[..read], &server).expect("a handshake");
            handshake.write_to(&mut far).expect("the client reads");
        }
        let mut channel = handshake.finish().expect("it is done");
        let mut room = vec![0; 16 << 10];
        let mut got = 0;
        while got < 100_000 {
            let mut bytes = channel.read(&mut room);
            if bytes == 0 {
                let read = far.read(&mut buffer).expect("bytes");
                bytes = channel.open(&buffer[..read], &mut room).expect("data");
            }
            let mut sent = 0;
            while sent < bytes {
                let left = IoSlice::new(&room[sent..bytes]);
                sent += channel.write(&[left], &mut far).expect("the client reads");
            }
            got += bytes;
        }
        channel.end(&mut far);
    });
    let mut stream = BlockingStream::connect(&rules, "localhost", near).expect("a connection");
    let sent = text(100_000);
    let mut got = Vec::new();
    for piece in sent.chunks(9_000) {
        stream.write_all(piece).expect("the server reads");
        let mut echoed = vec![0; piece.len()];
        stream.read_exact(&mut echoed).expect("the server echoes");
        got.extend(echoed);
    }
    assert_eq!(stream.read(&mut [0; 1]).expect("the end"), 0);
    assert!(got == sent);
    serving.join().expect("the server");
}
