//! A stream to another server, that blocks.

use std::io::{Read, Write};

/// A stream to another server, plain or with TLS.
pub trait PeerStream: Read + Write + Send {}

impl<T: Read + Write + Send> PeerStream for T {}
