//! Blocking connections for the few commands that steer and question a server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A reply of any shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A simple string, or a bulk string.
    Text(String),
    /// An error, with its prefix.
    Error(String),
    /// An integer.
    Integer(i64),
    /// An absent value.
    Nil,
    /// An array.
    Array(Vec<Reply>),
}

/// A connection that sends one command and waits for its reply.
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
        self.reply().with_context(|| format!("reply to {}", command.join(" ")))
    }

    /// Number of keys in database 0; zero for a server that keeps none.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn key_count(&mut self) -> Result<u64> {
        match self.ask(&["DBSIZE"])? {
            Reply::Integer(count) => Ok(count.max(0).unsigned_abs()),
            _ => Ok(0),
        }
    }

    /// The integer that answers a command, whose words stand apart by spaces.
    ///
    /// # Errors
    /// If the answer is anything else, or the connection breaks.
    pub fn integer(&mut self, command: &str) -> Result<u64> {
        match self.ask(&command.split(' ').collect::<Vec<_>>())? {
            Reply::Integer(number) => Ok(number.max(0).unsigned_abs()),
            other => bail!("{command}: {other:?}"),
        }
    }

    /// A number from INFO, if the server reports it.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn info_number(&mut self, field: &str) -> Result<Option<f64>> {
        let Reply::Text(info) = self.ask(&["INFO"])? else { return Ok(None) };
        Ok(find_field(&info, field).and_then(|value| value.parse().ok()))
    }

    /// The value of a setting, if the server knows it.
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

    fn reply(&mut self) -> Result<Reply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the server closed the connection");
        }
        let line = line.trim_end();
        let (kind, rest) = line.split_at_checked(1).context("an empty line")?;
        Ok(match kind {
            "+" => Reply::Text(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Integer(rest.parse()?),
            "$" if rest == "-1" => Reply::Nil,
            "$" => Reply::Text(self.bulk(rest.parse()?)?),
            "*" if rest == "-1" => Reply::Nil,
            "*" => Reply::Array((0..rest.parse()?).map(|_| self.reply()).collect::<Result<_>>()?),
            _ => bail!("unexpected reply {line:?}"),
        })
    }

    fn bulk(&mut self, length: u64) -> Result<String> {
        let mut bytes = Vec::new();
        self.stream.by_ref().take(length + 2).read_to_end(&mut bytes)?;
        bytes.truncate(usize::try_from(length)?);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A connection that asks Memcached for its statistics.
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

    /// The number of this name.
    ///
    /// # Errors
    /// If the connection breaks, or there is no such number.
    pub fn number(&mut self, name: &str) -> Result<u64> {
        self.stream.get_mut().write_all(b"stats\r\n")?;
        let mut found = None;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                bail!("the server closed the connection");
            }
            let words: Vec<_> = line.split_whitespace().collect();
            match words[..] {
                ["END"] => return found.with_context(|| format!("stats holds no {name}")),
                ["STAT", other, value] if other == name => found = Some(value.parse()?),
                ["STAT", ..] => {}
                _ => bail!("unexpected reply {line:?}"),
            }
        }
    }
}

/// Whether a server of any kind answers at once, be it with an error.
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

/// A command as it is sent.
pub fn encode(command: &[&str]) -> String {
    let parts = command.iter().map(|part| format!("${}\r\n{part}\r\n", part.len()));
    std::iter::once(format!("*{}\r\n", command.len())).chain(parts).collect()
}

fn find_field<'info>(info: &'info str, field: &str) -> Option<&'info str> {
    info.lines().find_map(|line| line.trim_end().strip_prefix(field)?.strip_prefix(':'))
}

const AT_ONCE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::find_field;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let info = "# Stats\r\nexpired_keys_total:9\r\nexpired_keys:3\r\n";
        assert_eq!(find_field(info, "expired_keys"), Some("3"));
        assert_eq!(find_field(info, "keys"), None);
    }
}
