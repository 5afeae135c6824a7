//! A blocking connection to a server, in RESP2, plain or with TLS.

use crate::address::{Address, Encryption};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;
use std::{fmt, fs};
use tls::{Choices, ClientRules, ClientStream, Identity, Roots, Suites, Versions};

/// Replies within replies that are read; servers send few.
const DEPTH_MAX: u32 = 16;
/// Longest line of a reply.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Collected bytes of requests that are sent even if more are to come.
const SENT_AT_ONCE: usize = 1 << 20;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `+`.
    Simple(Vec<u8>),
    /// `-`.
    Error(Vec<u8>),
    /// `:`.
    Integer(i64),
    /// `$`.
    Bulk(Vec<u8>),
    /// `$-1` or `*-1`.
    Nil,
    /// `*`.
    Array(Vec<Reply>),
}

impl Reply {
    /// The bytes of a simple or a bulk string.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Reply::Simple(bytes) | Reply::Bulk(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn integer(&self) -> Option<i64> {
        if let Reply::Integer(number) = self { Some(*number) } else { None }
    }

    /// The elements, if it is an array.
    pub fn array(&self) -> Option<&[Reply]> {
        if let Reply::Array(elements) = self { Some(elements) } else { None }
    }

    /// The first error in it.
    pub fn error(&self) -> Option<String> {
        match self {
            Reply::Error(text) => Some(String::from_utf8_lossy(text).into_owned()),
            Reply::Array(elements) => elements.iter().find_map(Reply::error),
            _ => None,
        }
    }

    /// Short text for messages.
    pub fn shown(&self) -> String {
        match self {
            Reply::Simple(text) | Reply::Error(text) => String::from_utf8_lossy(text).into_owned(),
            Reply::Integer(number) => number.to_string(),
            Reply::Bulk(bytes) => text::quote(&bytes[..bytes.len().min(100)]),
            Reply::Nil => "nil".to_owned(),
            Reply::Array(elements) => format!("an array of {}", elements.len()),
        }
    }
}

/// Returns the rules of a connection with TLS.
fn rules(encryption: &Encryption) -> io::Result<ClientRules> {
    let wrong = |path: &Path, error: &dyn fmt::Display| {
        io::Error::other(format!("{}: {error}", path.display()))
    };
    let read = |path: &Path| fs::read(path).map_err(|error| wrong(path, &error));
    let certificates = |path: &Path| Roots::read(&read(path)?).map_err(|error| wrong(path, &error));
    let roots = certificates(&encryption.ca)?;
    let own = encryption.own.as_ref().map(|(certificate, key)| {
        let identity = Identity::of_key(certificates(certificate)?, &read(key)?, b"");
        identity.map_err(|error| wrong(key, &error))
    });
    let choices = Choices {
        versions: Versions::read("").map_err(io::Error::other)?.0,
        suites: Suites::read("", "").map_err(io::Error::other)?.0,
        prefers_own: false,
        sessions: None,
    };
    ClientRules::new(own.transpose()?.as_ref(), &roots, &choices).map_err(io::Error::other)
}

/// Connects. Each read and each write may take as long as `patience`.
///
/// # Errors
/// When nobody accepts.
pub fn connect(to: &Address, patience: Duration) -> io::Result<ClientStream<TcpStream>> {
    let rules = to.encryption.as_ref().map(rules).transpose()?;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in to.place.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
                let host = to.place.rsplit_once(':').map_or("", |(host, _)| host);
                return ClientStream::establish(rules.as_ref(), host, stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<ClientStream<TcpStream>>,
    /// Requests that are not sent yet.
    output: Vec<u8>,
}

impl Connection {
    /// Connects. Each reply, and each write, may take as long as `patience`.
    ///
    /// # Errors
    /// When nobody accepts.
    pub fn open(to: &Address, patience: Duration) -> io::Result<Connection> {
        let stream = BufReader::with_capacity(64 << 10, connect(to, patience)?);
        Ok(Connection { stream, output: Vec::new() })
    }

    /// Adds a request to those that are to be sent.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn request<W: AsRef<[u8]>>(&mut self, words: &[W]) -> io::Result<()> {
        encode(&mut self.output, words);
        if self.output.len() >= SENT_AT_ONCE { self.flush() } else { Ok(()) }
    }

    /// Adds a request, and does not send any.
    pub fn add_request(&mut self, words: &[&[u8]]) {
        encode(&mut self.output, words);
    }

    /// Adds requests that are encoded, and does not send any.
    pub fn add_encoded(&mut self, requests: &[u8]) {
        self.output.extend_from_slice(requests);
    }

    /// Sends all requests.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn flush(&mut self) -> io::Result<()> {
        self.stream.get_mut().write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }

    /// Reads one reply.
    ///
    /// # Errors
    /// When the connection breaks, or the bytes are no reply.
    pub fn reply(&mut self) -> io::Result<Reply> {
        read(&mut self.stream, DEPTH_MAX)
    }

    /// Sends a request and reads its reply.
    ///
    /// # Errors
    /// When the connection breaks, or the bytes are no reply.
    pub fn ask<W: AsRef<[u8]>>(&mut self, words: &[W]) -> io::Result<Reply> {
        self.request(words)?;
        self.flush()?;
        self.reply()
    }
}

/// Appends a request to bytes.
pub fn encode<W: AsRef<[u8]>>(output: &mut Vec<u8>, words: &[W]) {
    output.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words.iter().map(AsRef::as_ref) {
        output.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        output.extend_from_slice(word);
        output.extend_from_slice(b"\r\n");
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn read(from: &mut impl BufRead, depth: u32) -> io::Result<Reply> {
    let mut line = Vec::new();
    from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.strip_suffix(b"\r\n").ok_or_else(|| wrong("a line without an end"))?;
    let (kind, rest) = line.split_first().ok_or_else(|| wrong("an empty line"))?;
    let number = || text::parse_i64(rest).ok_or_else(|| wrong("a number is missing"));
    match kind {
        b'+' => Ok(Reply::Simple(rest.to_vec())),
        b'-' => Ok(Reply::Error(rest.to_vec())),
        b':' => Ok(Reply::Integer(number()?)),
        b'$' | b'*' if rest == b"-1" => Ok(Reply::Nil),
        b'$' => bulk(from, number()?),
        b'*' if depth > 0 => {
            let count = u64::try_from(number()?).map_err(|_| wrong("a length below zero"))?;
            // Nothing is allocated by an announced count.
            let elements: io::Result<Vec<Reply>> =
                (0..count).map(|_| read(from, depth - 1)).collect();
            Ok(Reply::Array(elements?))
        }
        _ => Err(wrong("this is no reply of RESP2")),
    }
}

fn bulk(from: &mut impl BufRead, length: i64) -> io::Result<Reply> {
    let length = u64::try_from(length).map_err(|_| wrong("a length below zero"))?;
    let mut bytes = Vec::new();
    from.by_ref().take(length).read_to_end(&mut bytes)?;
    let mut end = [0; 2];
    from.read_exact(&mut end)?;
    if bytes.len() as u64 != length || end != *b"\r\n" {
        return Err(wrong("a text that does not end where it says"));
    }
    Ok(Reply::Bulk(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(mut bytes: &[u8]) -> io::Result<Reply> {
        read(&mut bytes, DEPTH_MAX)
    }

    #[test]
    fn replies_are_read_as_they_were_written() {
        let expected = Reply::Array(vec![
            Reply::Bulk(b"a\r\n".to_vec()),
            Reply::Integer(-7),
            Reply::Nil,
            Reply::Error(b"ERR no".to_vec()),
        ]);
        let reply = parsed(b"*4\r\n$3\r\na\r\n\r\n:-7\r\n$-1\r\n-ERR no\r\n").expect("a reply");
        assert_eq!(reply, expected);
        assert_eq!(reply.error().as_deref(), Some("ERR no"));
    }

    #[test]
    fn what_is_truncated_or_no_reply_is_an_error() {
        let deep = b"*1\r\n".repeat(100);
        for bytes in
            [&b""[..], b"*2\r\n:1\r\n", b"$5\r\nab\r\n", b"%1\r\n", b"*-2\r\n", b"\r\n", &deep]
        {
            assert!(parsed(bytes).is_err(), "{bytes:?}");
        }
        assert!(parsed(b"*4611686018427387904\r\n").is_err());
        assert!(parsed(b"$9223372036854775807\r\nx").is_err());
    }

    #[test]
    fn requests_are_arrays_of_texts() {
        let mut output = Vec::new();
        encode(&mut output, &[&b"GET"[..], b"a b"]);
        assert_eq!(output, b"*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
    }
}
