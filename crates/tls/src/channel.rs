//! An established connection: ciphertext to plaintext, and back.
//!
//! ```text
//! from the socket ──▶ open ──▶ read        plaintext of whole records; what does not fit stays
//! to the socket   ◀── send ◀── seal        no more is encrypted before this is sent
//! ```
//! Invariant: plaintext counts as sent once its ciphertext has left. Until then the caller keeps
//! it, and offers it again: so what it counts of its output is right, and a client that reads
//! nothing has no more than [`SEALED_MAX`] encrypted ahead of it.

use rustls::{Connection, Error};
use std::fmt;
use std::io::{self, BufRead, IoSlice, Read, Write};

/// Most plaintext of a record.
pub const RECORD_BYTES: usize = 16 << 10;
/// Most plaintext that is encrypted at a time.
pub const SEALED_MAX: usize = 4 * RECORD_BYTES;
/// Bytes of memory of a connection that is at rest, most of which are in rustls: 3,000 of them took
/// 7,900 each.
const RESTING_BYTES: usize = 7_900;
/// Most parts of plaintext that are encrypted at a time.
const SLICES: usize = 64;

/// An established connection.
pub struct Channel {
    connection: Connection,
    /// Bytes of plaintext that can be read.
    plaintext: usize,
    /// Bytes of plaintext whose ciphertext has not left.
    sealed: usize,
    /// True once the other side has said that it sends nothing more.
    is_ended: bool,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = (self.plaintext, self.sealed);
        f.debug_struct("Channel").field("sizes", &sizes).finish_non_exhaustive()
    }
}

impl Channel {
    pub(crate) fn new(connection: impl Into<Connection>) -> Channel {
        let mut connection = connection.into();
        // What may be encrypted is bounded here.
        connection.set_buffer_limit(None);
        let mut channel = Channel { connection, plaintext: 0, sealed: 0, is_ended: false };
        // What came with the end of the handshake may be data, or the end.
        let _ = channel.take_packets();
        channel
    }

    /// Returns the bytes of memory that it takes, but for ciphertext that has not left.
    #[inline]
    pub fn memory(&self) -> usize {
        RESTING_BYTES + self.plaintext
    }

    /// Decrypts `ciphertext`, and moves as much plaintext as there is into `room`. Returns the
    /// number of bytes moved; the rest can be read. There must be no plaintext left of before, and
    /// `room` be no smaller than `ciphertext` or a record.
    ///
    /// # Errors
    /// When it is not what the other side has encrypted. Then there is an alert to be sent.
    pub fn open(&mut self, ciphertext: &[u8], room: &mut [u8]) -> Result<usize, Error> {
        let mut moved = 0;
        self.feed(ciphertext, |channel| moved += channel.read(&mut room[moved..]))?;
        Ok(moved)
    }

    /// Decrypts `ciphertext`, and gives all plaintext to `take`. Returns the number of its bytes.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with(
        &mut self,
        ciphertext: &[u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, Error> {
        let mut taken = 0;
        self.feed(ciphertext, |channel| taken += channel.read_with(take))?;
        Ok(taken)
    }

    /// Decrypts `ciphertext`, a little at a time, and has `take` move plaintext that is there.
    #[inline]
    fn feed(
        &mut self,
        mut ciphertext: &[u8],
        mut take: impl FnMut(&mut Channel),
    ) -> Result<(), Error> {
        while !ciphertext.is_empty() && !self.is_ended {
            let taken = self.connection.read_tls(&mut ciphertext);
            let taken = taken.map_err(|error| Error::General(error.to_string()))?;
            self.take_packets()?;
            if self.plaintext > 0 {
                take(self);
            }
            if taken == 0 {
                break;
            }
        }
        Ok(())
    }

    fn take_packets(&mut self) -> Result<(), Error> {
        let state = self.connection.process_new_packets()?;
        self.plaintext = state.plaintext_bytes_to_read();
        self.is_ended |= state.peer_has_closed();
        Ok(())
    }

    /// Moves plaintext that is there into `room`. Returns the number of bytes.
    #[inline]
    pub fn read(&mut self, room: &mut [u8]) -> usize {
        if self.plaintext == 0 || room.is_empty() {
            return 0;
        }
        let moved = self.connection.reader().read(room).unwrap_or(0);
        self.plaintext -= moved;
        moved
    }

    /// Gives all plaintext that is there to `take`. Returns the number of its bytes.
    pub fn read_with(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut taken = 0;
        while self.plaintext > 0 {
            let mut reader = self.connection.reader();
            // There is plaintext, so there is no error to be told.
            let bytes = reader.fill_buf().map_or(0, |chunk| {
                take(chunk);
                chunk.len()
            });
            reader.consume(bytes);
            self.plaintext = if bytes == 0 { 0 } else { self.plaintext - bytes };
            taken += bytes;
        }
        taken
    }

    /// Returns the bytes of plaintext that can be read.
    #[inline]
    pub fn plaintext(&self) -> usize {
        self.plaintext
    }

    /// Returns true once the other side has said that it sends nothing more, and all that it sent
    /// was read.
    #[inline]
    pub fn is_ended(&self) -> bool {
        self.is_ended && self.plaintext == 0
    }

    /// Returns true if the other side has said that it sends nothing more.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.is_ended
    }

    /// Writes the first bytes of `plaintext`, encrypted, to `socket`. Returns how many they are,
    /// once all of them have left. Otherwise it is to be called again with the same bytes first,
    /// when `socket` takes more.
    ///
    /// # Errors
    /// That of `socket`, also `WouldBlock`.
    pub fn write(
        &mut self,
        plaintext: &[IoSlice<'_>],
        socket: &mut dyn Write,
    ) -> io::Result<usize> {
        if self.sealed == 0 {
            self.sealed = self.seal(plaintext)?;
        }
        self.send(socket)?;
        Ok(std::mem::take(&mut self.sealed))
    }

    /// Encrypts the first bytes of `plaintext`. Returns how many they are.
    fn seal(&mut self, plaintext: &[IoSlice<'_>]) -> io::Result<usize> {
        if let [only] = plaintext {
            let most = only.len().min(SEALED_MAX);
            return self.connection.writer().write(&only[..most]);
        }
        let mut parts = [IoSlice::new(&[]); SLICES];
        let (mut used, mut left) = (0, SEALED_MAX);
        for slice in plaintext.iter().take(SLICES) {
            let most = slice.len().min(left);
            parts[used] = IoSlice::new(&slice[..most]);
            used += 1;
            left -= most;
            if left == 0 {
                break;
            }
        }
        self.connection.writer().write_vectored(&parts[..used])
    }

    /// Writes what is encrypted, and what the protocol itself has to say, to `socket`.
    ///
    /// # Errors
    /// That of `socket`, also `WouldBlock`: some may be left then.
    #[inline]
    pub fn send(&mut self, socket: &mut dyn Write) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the bytes of plaintext whose ciphertext has not left, which it takes again in
    /// memory.
    #[inline]
    pub fn sealed(&self) -> usize {
        self.sealed
    }

    /// Tells the other side that nothing more is sent, as far as `socket` takes it.
    pub fn end(&mut self, socket: &mut dyn Write) {
        self.connection.send_close_notify();
        // Who does not take it sees the end of the socket.
        let _ = self.send(socket);
    }

    /// Returns the certificate of the other side, if it has shown one.
    pub fn peer_certificate(&self) -> Option<&[u8]> {
        self.connection.peer_certificates()?.first().map(|it| &**it)
    }

    /// Returns the names of version and suite.
    pub fn protocol(&self) -> String {
        let version = self.connection.protocol_version();
        let suite = self.connection.negotiated_cipher_suite();
        let name = |known: Option<String>| known.unwrap_or_else(|| "?".to_owned());
        let version = name(version.map(|it| format!("{it:?}")));
        format!("{version} {}", name(suite.map(|it| format!("{:?}", it.suite()))))
    }

    /// Returns true if the handshake went on with a session of before.
    pub fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }
}
