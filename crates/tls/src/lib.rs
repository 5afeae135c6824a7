//! TLS for connections: bytes in, bytes out.
//!
//! ```text
//! files ──▶ pem ──▶ Identity, Roots ──▶ ServerRules, ClientRules
//!                                            │
//! ciphertext ──▶ Handshake ──▶ Channel ◀─────┘
//!                                 open: ciphertext in, plaintext out
//!                                 seal, send: plaintext in, ciphertext out
//! ```
//! This crate is the only one that knows rustls. It has no sockets, no files and no settings: its
//! caller reads and writes, and gives it the contents of files.
//!
//! Owner: a [`Handshake`] or [`Channel`] belongs to its connection; rules are shared by all
//! connections that began under them, and are never changed.
//! Not here: threads and sockets of handshakes, files and settings (`server`), users (`session`).
//! Start at: [`ServerRules::new`], [`Handshake::receive`], [`Channel::open`].
//!
//! | file | content |
//! |---|---|
//! | `pem.rs` | certificates and keys from PEM |
//! | `certificate.rs` | what a certificate says: names, serial number, time |
//! | `suites.rs` | versions and cipher suites by the names of OpenSSL |
//! | `rules.rs`, `sessions.rs` | rules of servers and clients; sessions that are resumed |
//! | `handshake.rs` | a connection that is not established |
//! | `channel.rs` | one that is |
//! | `blocking.rs` | the client's side of a connection whose socket blocks |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod blocking;
mod certificate;
mod channel;
mod handshake;
mod pem;
mod rules;
mod sessions;
mod suites;

pub use blocking::{BlockingStream, ClientStream};
pub use certificate::{Facts, common_name, earliest, facts, uris};
pub use channel::{Channel, RECORD_BYTES};
pub use handshake::{ClientHandshake, Handshake, HandshakeError};
pub use pem::{Identity, KeyError, PemError, Roots};
pub use rules::{Asks, Choices, ClientRules, MismatchError, RulesError, ServerRules, Sessions};
pub use rustls::Error;
pub use suites::{ChoiceError, Suites, Versions};

#[cfg(test)]
mod tests;
