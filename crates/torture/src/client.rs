//! A blocking connection that keeps replies byte by byte, as the server sent them.

use anyhow::{Context, Result, bail, ensure};
use bench::{Address, Stream};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::time::Duration;

/// A reply of RESP2 or RESP3.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reply {
    /// `+`.
    Simple(Vec<u8>),
    /// `-`.
    Error(Vec<u8>),
    /// `:`.
    Integer(i64),
    /// `$`.
    Bulk(Vec<u8>),
    /// `$-1`, nil as a bulk string in RESP2.
    NilBulk,
    /// `*-1`, nil as an array in RESP2.
    NilArray,
    /// `_`, nil in RESP3.
    Null,
    /// `*`.
    Array(Vec<Reply>),
    /// `%`, keys and values alternating.
    Map(Vec<Reply>),
    /// `~`.
    Set(Vec<Reply>),
    /// `>`.
    Push(Vec<Reply>),
    /// `,`, as text.
    Double(Vec<u8>),
    /// `#`.
    Boolean(bool),
    /// `(`, as text.
    BigNumber(Vec<u8>),
    /// `=`, with the format in front.
    Verbatim(Vec<u8>),
}

/// Blocking connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<Stream>,
}

impl Client {
    /// Connects to an address, or to a port where TLS is not spoken; waits up to `patience` for
    /// each reply.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn open(address: impl Into<Address>, patience: Duration) -> Result<Client> {
        let address = address.into();
        let socket = address.connect_plain()?;
        socket.set_read_timeout(Some(patience))?;
        let stream = address.establish(socket)?;
        Ok(Client { stream: BufReader::with_capacity(64 << 10, stream) })
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// If the connection breaks, or the bytes are no reply.
    pub fn ask<W: AsRef<[u8]>>(&mut self, request: &[W]) -> Result<Reply> {
        self.send(&encoded(request))?;
        self.receive()
    }

    /// Sends bytes: requests, or anything else.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(bytes).context("sending")
    }

    /// Waits for one reply.
    ///
    /// # Errors
    /// If the connection breaks, or the bytes are no reply.
    pub fn receive(&mut self) -> Result<Reply> {
        read(&mut self.stream)
    }

    /// Returns true if a part of a reply is there, or the connection is at its end.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn has_answered(&mut self) -> Result<bool> {
        self.stream.get_ref().socket().set_nonblocking(true)?;
        let seen = self.stream.fill_buf().map(|_| true);
        self.stream.get_ref().socket().set_nonblocking(false)?;
        match seen {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            seen => Ok(seen?),
        }
    }
}

impl Reply {
    /// Reads one reply.
    ///
    /// # Errors
    /// If the bytes are no reply.
    pub fn read(from: &mut impl BufRead) -> Result<Reply> {
        read(from)
    }
}

/// Encodes a request.
pub fn encoded<W: AsRef<[u8]>>(request: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
    for word in request.iter().map(AsRef::as_ref) {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn read(from: &mut impl BufRead) -> Result<Reply> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).context("waiting for a reply")?;
    let line = line.strip_suffix(b"\r\n").context("the server closed the connection")?;
    let (kind, rest) = line.split_first().context("an empty line")?;
    let number = || -> Result<i64> { Ok(std::str::from_utf8(rest)?.parse()?) };
    Ok(match (kind, rest) {
        (b'+', _) => Reply::Simple(rest.to_vec()),
        (b'-', _) => Reply::Error(rest.to_vec()),
        (b':', _) => Reply::Integer(number()?),
        (b',', _) => Reply::Double(rest.to_vec()),
        (b'(', _) => Reply::BigNumber(rest.to_vec()),
        (b'#', b"t" | b"f") => Reply::Boolean(rest == b"t"),
        (b'_', b"") => Reply::Null,
        (b'$', b"-1") => Reply::NilBulk,
        (b'*', b"-1") => Reply::NilArray,
        (b'$', _) => Reply::Bulk(bulk(from, number()?)?),
        (b'=', _) => Reply::Verbatim(bulk(from, number()?)?),
        (b'*', _) => Reply::Array(several(from, number()?)?),
        (b'~', _) => Reply::Set(several(from, number()?)?),
        (b'>', _) => Reply::Push(several(from, number()?)?),
        (b'%', _) => Reply::Map(several(from, number()?.saturating_mul(2))?),
        _ => bail!("no reply begins so: {:?}", String::from_utf8_lossy(line)),
    })
}

fn several(from: &mut impl BufRead, count: i64) -> Result<Vec<Reply>> {
    ensure!(count >= 0, "{count} elements");
    (0..count).map(|_| read(from)).collect()
}

fn bulk(from: &mut impl BufRead, len: i64) -> Result<Vec<u8>> {
    let len = u64::try_from(len).context("a length below zero")?;
    let mut bytes = Vec::new();
    from.by_ref().take(len).read_to_end(&mut bytes)?;
    let mut end = [0; 2];
    from.read_exact(&mut end)?;
    ensure!(bytes.len() as u64 == len && end == *b"\r\n", "a value too short or too long");
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_keep_their_types_and_bytes() {
        let bytes = b"*3\r\n$2\r\n\xff\n\r\n%1\r\n+a\r\n,1.50\r\n*-1\r\n";
        let map = Reply::Map(vec![Reply::Simple(b"a".to_vec()), Reply::Double(b"1.50".to_vec())]);
        let expected = Reply::Array(vec![Reply::Bulk(b"\xff\n".to_vec()), map, Reply::NilArray]);
        assert_eq!(read(&mut &bytes[..]).expect("a reply"), expected);
    }

    #[test]
    fn what_ends_early_is_an_error() {
        for bytes in
            [&b""[..], b"*2\r\n:1\r\n", b"$5\r\nab\r\n", b"$1\r\nabc", b"?\r\n", b"*-2\r\n"]
        {
            assert!(read(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
    }
}
