//! Blocking connections for the few commands that control and query a server.

use std::io::{BufRead, BufReader, Read, Take, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// A reply of any shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A simple string, or a bulk string.
    Text(String),
    /// An error, with its prefix.
    Error(String),
    /// An integer.
    Integer(i64),
    /// Absent value.
    Nil,
    /// An array.
    Array(Vec<Reply>),
}

impl Reply {
    /// Reads a reply.
    ///
    /// # Errors
    /// If the bytes end early, are no reply, or are larger than any reply expected here: 16 MiB in
    /// all, with arrays nested up to eight levels.
    pub fn read(from: &mut impl BufRead) -> Result<Self> {
        Self::read_within(&mut from.by_ref().take(REPLY_BYTES_MAX), ARRAY_DEPTH_MAX)
    }

    fn read_within(from: &mut Take<impl BufRead>, depth: usize) -> Result<Self> {
        let line = line(from)?;
        let (kind, rest) = line.split_at_checked(1).context("an empty line")?;
        Ok(match kind {
            "+" => Self::Text(rest.to_owned()),
            "-" => Self::Error(rest.to_owned()),
            ":" => Self::Integer(rest.parse()?),
            "$" | "*" if rest == "-1" => Self::Nil,
            "$" => Self::Text(bulk(from, rest.parse()?)?),
            "*" if depth == 0 => bail!("arrays within more than {ARRAY_DEPTH_MAX} arrays"),
            "*" => {
                let values = (0..rest.parse::<u64>()?).map(|_| Self::read_within(from, depth - 1));
                Self::Array(values.collect::<Result<_>>()?)
            }
            _ => bail!("unexpected reply {:?}", shown(line.as_bytes())),
        })
    }
}

/// Connection that sends one command and waits for its reply.
pub struct Control {
    stream: BufReader<TcpStream>,
}

impl Control {
    /// Connects to a port on 127.0.0.1.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn open(port: u16) -> Result<Self> {
        Ok(Self { stream: connect(port)? })
    }

    /// Sends a command and reads its reply.
    ///
    /// # Errors
    /// If the connection breaks; an error reply is a [`Reply::Error`].
    pub fn ask(&mut self, command: &[&str]) -> Result<Reply> {
        self.stream.get_mut().write_all(encode(command).as_bytes())?;
        Reply::read(&mut self.stream).with_context(|| format!("reply to {}", command.join(" ")))
    }

    /// Returns the number of keys in database 0; `None` for the null server, which answers
    /// everything with OK.
    ///
    /// # Errors
    /// If the reply is an error or not a number, or the connection breaks.
    pub fn key_count(&mut self) -> Result<Option<u64>> {
        match self.ask(&["DBSIZE"])? {
            Reply::Text(text) if text == "OK" => Ok(None),
            reply => number(&reply).map(Some).context("DBSIZE"),
        }
    }

    /// Returns the integer reply to a command, whose words are separated by spaces.
    ///
    /// # Errors
    /// If the reply is negative or not an integer, or the connection breaks.
    pub fn integer(&mut self, command: &str) -> Result<u64> {
        let reply = self.ask(&command.split(' ').collect::<Vec<_>>())?;
        number(&reply).with_context(|| command.to_owned())
    }

    /// Returns a number from INFO, if the server reports it.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn info_number(&mut self, field: &str) -> Result<Option<f64>> {
        Ok(self.info_text(field)?.and_then(|value| value.parse().ok()))
    }

    /// Returns a field of INFO, if the server reports it.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn info_text(&mut self, field: &str) -> Result<Option<String>> {
        let Reply::Text(info) = self.ask(&["INFO"])? else { return Ok(None) };
        Ok(find_field(&info, field).map(str::to_owned))
    }

    /// Returns the value of a setting, if the server knows it.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn setting(&mut self, name: &str) -> Result<Option<String>> {
        match self.ask(&["CONFIG", "GET", name])? {
            Reply::Array(mut parts) if parts.len() == 2 => match parts.pop() {
                Some(Reply::Text(value)) => Ok(Some(value)),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// Connection that asks Memcached for its statistics.
pub struct Statistics {
    stream: BufReader<TcpStream>,
}

impl Statistics {
    /// Connects to a port on 127.0.0.1.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn open(port: u16) -> Result<Self> {
        Ok(Self { stream: connect(port)? })
    }

    /// Returns the statistic of this name.
    ///
    /// # Errors
    /// If the connection breaks, or there is no such statistic.
    pub fn number(&mut self, name: &str) -> Result<u64> {
        self.stream.get_mut().write_all(b"stats\r\n")?;
        statistic(&mut self.stream, name)
    }
}

/// Reads the whole reply to `stats` and returns the number of this name.
fn statistic(from: &mut impl BufRead, name: &str) -> Result<u64> {
    let mut from = from.by_ref().take(REPLY_BYTES_MAX);
    let mut found = None;
    loop {
        let line = line(&mut from)?;
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["END"] => return found.with_context(|| format!("stats holds no {name}")),
            ["STAT", other, value] if other == name => found = Some(value.parse()?),
            ["STAT", ..] => {}
            _ => bail!("unexpected reply {:?}", shown(line.as_bytes())),
        }
    }
}

/// Reads the next line, without its end.
fn line(from: &mut Take<impl BufRead>) -> Result<String> {
    let mut line = Vec::new();
    from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    let Some(text) = line.strip_suffix(b"\r\n") else {
        ensure!(!line.is_empty() || from.limit() == 0, "the server closed the connection");
        bail!("a line that is cut off, or too long: {:?}", shown(&line));
    };
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Reads a value of `length` bytes and its line end. Memory grows with the bytes that arrive, not
/// with the announced length.
fn bulk(from: &mut Take<impl BufRead>, length: u64) -> Result<String> {
    ensure!(length <= REPLY_BYTES_MAX, "a value of {length} bytes");
    let mut bytes = Vec::new();
    from.by_ref().take(length).read_to_end(&mut bytes)?;
    let mut end = [0; 2];
    from.read_exact(&mut end).context("a value that is cut off, or too long")?;
    ensure!(end == *b"\r\n", "a value is followed by {:?}", shown(&end));
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns a reply as a count.
fn number(reply: &Reply) -> Result<u64> {
    match reply {
        Reply::Integer(number @ 0..) => Ok(number.unsigned_abs()),
        other => bail!("the server answers {}", shown(format!("{other:?}").as_bytes())),
    }
}

/// Returns the beginning of some bytes, for messages.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]).into_owned()
}

/// Returns true if a server of any kind answers at once, be it with an error.
pub fn answers(port: u16) -> bool {
    let ask = || -> Result<usize> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(AT_ONCE))?;
        stream.write_all(encode(&["PING"]).as_bytes())?;
        Ok(stream.read(&mut [0])?)
    };
    ask().is_ok_and(|bytes| bytes > 0)
}

fn connect(port: u16) -> Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(BufReader::new(stream))
}

/// Encodes a command for the wire.
pub fn encode(command: &[&str]) -> String {
    let parts = command.iter().map(|part| format!("${}\r\n{part}\r\n", part.len()));
    std::iter::once(format!("*{}\r\n", command.len())).chain(parts).collect()
}

fn find_field<'info>(info: &'info str, field: &str) -> Option<&'info str> {
    info.lines().find_map(|line| line.trim_end().strip_prefix(field)?.strip_prefix(':'))
}

const AT_ONCE: Duration = Duration::from_millis(200);
const REPLY_BYTES_MAX: u64 = 16 << 20;
const LINE_BYTES_MAX: u64 = 64 << 10;
const ARRAY_DEPTH_MAX: usize = 8;
const SHOWN_BYTES_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Returns a connection to a server that answers the first request with `reply` and closes.
    fn answered(reply: &'static str) -> Control {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            stream.write_all(reply.as_bytes()).unwrap();
        });
        Control::open(port).unwrap()
    }

    fn read(reply: &[u8]) -> Result<Reply> {
        Reply::read(&mut &reply[..])
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let info = "# Stats\r\nexpired_keys_total:9\r\nexpired_keys:3\r\n";
        assert_eq!(find_field(info, "expired_keys"), Some("3"));
        assert_eq!(find_field(info, "keys"), None);
    }

    #[test]
    fn only_the_null_server_does_not_count_its_keys() {
        assert_eq!(answered(":3\r\n").key_count().unwrap(), Some(3));
        assert_eq!(answered("+OK\r\n").key_count().unwrap(), None);
        for reply in ["-LOADING not yet\r\n", "-ERR no\r\n", ":-1\r\n", "$-1\r\n", "+LATER\r\n"] {
            let error = format!("{:#}", answered(reply).key_count().unwrap_err());
            assert!(error.starts_with("DBSIZE: "), "{reply}: {error}");
        }
    }

    #[test]
    fn a_number_is_none_below_zero() {
        assert_eq!(answered(":0\r\n").integer("LLEN l").unwrap(), 0);
        for reply in [":-1\r\n", "-ERR no\r\n", "+OK\r\n"] {
            assert!(answered(reply).integer("LLEN l").is_err(), "{reply}");
        }
    }

    #[test]
    fn a_reply_is_whole_or_refused() {
        let whole = b"*3\r\n:1\r\n*2\r\n$5\r\na\r\nbc\r\n$-1\r\n*1\r\n-ERR no\r\n";
        let text = Reply::Text("a\r\nbc".to_owned());
        let error = Reply::Array(vec![Reply::Error("ERR no".to_owned())]);
        let inner = Reply::Array(vec![text, Reply::Nil]);
        let expected = Reply::Array(vec![Reply::Integer(1), inner, error]);
        assert_eq!(read(&[whole, &b"+next\r\n"[..]].concat()).unwrap(), expected);
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for reply in [
            &b"OK\r\n"[..],
            b"\r\n",
            b"+OK\n",
            b":1.5\r\n",
            b"$-2\r\n",
            b"$1\r\nabc",
            b"$18446744073709551615\r\nx\r\n",
            b"*-2\r\n",
            b"*18446744073709551615\r\n:1\r\n",
        ] {
            assert!(read(reply).is_err(), "{:?}", String::from_utf8_lossy(reply));
        }
    }

    /// Endless repetition of the same bytes.
    struct Endless(&'static [u8]);

    impl Read for Endless {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let length = self.0.len();
            to.chunks_mut(length).for_each(|part| part.copy_from_slice(&self.0[..part.len()]));
            Ok(to.len() / length * length)
        }
    }

    #[test]
    fn a_reply_without_an_end_is_refused() {
        for bytes in [&b"+"[..], b"*1\r\n", b"$-1\r\n", b"$1\r\nx\r\n", b"*2\r\n+\r\n"] {
            let array = b"*99999999\r\n".chain(Endless(bytes));
            assert!(Reply::read(&mut BufReader::new(array)).is_err(), "{bytes:?}");
        }
        for bytes in [&b"STAT a 1\r\n"[..], b"STAT"] {
            assert!(statistic(&mut BufReader::new(Endless(bytes)), "a").is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_statistic_is_found_by_its_name() {
        let stats = b"STAT pid 7\r\nSTAT version 1.6.4\r\nEND\r\n";
        assert_eq!(statistic(&mut &stats[..], "pid").unwrap(), 7);
        for refused in [&stats[..20], b"END\r\n", b"STAT pid x\r\nEND\r\n", b"ERROR\r\n"] {
            assert!(statistic(&mut &refused[..], "pid").is_err());
        }
    }
}
