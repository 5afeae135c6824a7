//! Blocking connections for the few commands that control and query a server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::address::{Address, Stream};
use crate::null::bulk;
use crate::protocol::Protocol;
use crate::replies::{ReplyReader, Value};

/// Connection that sends one command and waits for its reply.
pub struct Control {
    pub stream: Stream,
    protocol: Protocol,
    reader: ReplyReader,
}

impl Control {
    /// Connects to a server.
    pub fn open(address: &Address, protocol: Protocol) -> Result<Self> {
        let stream = address.connect()?;
        stream.socket().set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, protocol, reader: ReplyReader::keeping(protocol) })
    }

    /// Sends so many commands in one write and returns the values of all replies: one of each, or
    /// those of an array.
    pub fn send_all(&mut self, commands: &str, count: u64) -> Result<Vec<Value>> {
        self.stream.write_all(commands.as_bytes())?;
        let (mut buffer, mut received) = (vec![0; 64 << 10], 0);
        while self.reader.counted.total() < count {
            let read = self.stream.read(&mut buffer)?;
            ensure!(read > 0, "the server closed the connection");
            received += read;
            ensure!(received <= REPLY_BYTES_MAX, "a reply of more than {REPLY_BYTES_MAX} bytes");
            let fed = self.reader.feed(&buffer[..read]);
            fed.map_err(|unexpected| anyhow!("unexpected reply {:?}", unexpected.0))?;
        }
        self.reader.take();
        Ok(self.reader.take_values())
    }

    /// Returns the last value of the reply to a command: of an array its last element; an error is
    /// a [`Value::Error`].
    pub fn ask<'w>(&mut self, command: impl IntoIterator<Item = &'w str>) -> Result<Value> {
        let words: Vec<_> = command.into_iter().collect();
        let values = self.send_all(&encode(words.iter().copied()), 1);
        Ok(values.with_context(|| words.join(" "))?.pop().unwrap_or(Value::Nil))
    }

    /// Sends a command that must not be answered by an error.
    pub fn run<'w>(&mut self, command: impl IntoIterator<Item = &'w str>) -> Result<()> {
        let words: Vec<_> = command.into_iter().collect();
        match self.ask(words.iter().copied())? {
            Value::Error(error) => bail!("{}: {error}", words.join(" ")),
            _ => Ok(()),
        }
    }

    /// Returns the number of keys in database 0; zero for the null server, which answers everything
    /// with OK.
    pub fn key_count(&mut self) -> Result<u64> {
        if self.protocol == Protocol::Memcached {
            let items = self.info("curr_items")?.context("stats holds no curr_items")?;
            return Ok(items.parse()?);
        }
        match self.ask(["DBSIZE"])? {
            Value::Text(text) if text == b"OK" => Ok(0),
            Value::Integer(count @ 0..) => Ok(count.unsigned_abs()),
            other => bail!("the server answers DBSIZE with {other:.80?}"),
        }
    }

    /// Returns a field of INFO, or of memcached's statistics, if the server reports it.
    pub fn info(&mut self, field: &str) -> Result<Option<String>> {
        let values = match self.protocol {
            Protocol::Resp => self.send_all(&encode(["INFO", "default", "latencystats"]), 1),
            Protocol::Memcached => self.send_all("stats\r\n", 1),
        };
        let info: String = values?.iter().filter_map(Value::text).map(|it| it + "\n").collect();
        let value = |line: &str| {
            let line = line.trim_end().trim_start_matches("STAT ");
            line.strip_prefix(field)?.strip_prefix([':', '=', ' ']).map(str::to_owned)
        };
        Ok(info.lines().find_map(value))
    }

    /// Returns a number from INFO, if the server reports it.
    pub fn info_number(&mut self, field: &str) -> Result<Option<f64>> {
        Ok(self.info(field)?.and_then(|value| value.parse().ok()))
    }
}

/// Returns true if a server of any kind answers at once, be it with an error.
pub fn answers(port: u16) -> bool {
    let ask = || -> Result<usize> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(AT_ONCE))?;
        stream.write_all(encode(["PING"]).as_bytes())?;
        Ok(stream.read(&mut [0])?)
    };
    ask().is_ok_and(|bytes| bytes > 0)
}

/// Encodes the words of a command for the wire.
pub fn encode<'w>(command: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<_> = command.into_iter().map(bulk).collect();
    format!("*{}\r\n{}", words.len(), words.concat())
}

const AT_ONCE: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(60);
const REPLY_BYTES_MAX: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    /// Connects to a server that answers each request with the next of these replies.
    fn control<const N: usize>(replies: [&'static str; N], protocol: Protocol) -> Control {
        let mut replies = replies.into_iter();
        let port = fake::serve(move |_| Some(replies.next()?.as_bytes().to_vec()));
        Control::open(&port.into(), protocol).unwrap()
    }

    #[test]
    fn replies_are_read_as_what_they_are() {
        let info = "$27\r\n# Server\r\nused:12\r\nkind:x\r\n\r\n";
        let setting = "*2\r\n$4\r\nsave\r\n$2\r\n1 \r\n";
        let replies =
            [":7\r\n", "-ERR no\r\n", "+OK\r\n", info, info, setting, "*0\r\n", ":-1\r\n"];
        let mut control = control(replies, Protocol::Resp);
        assert_eq!(control.key_count().unwrap(), 7);
        assert!(control.run(["X"]).unwrap_err().to_string().contains("ERR no"));
        assert_eq!(control.key_count().unwrap(), 0);
        assert_eq!(control.info_number("used").unwrap(), Some(12.0));
        assert_eq!(control.info_number("free").unwrap(), None);
        assert_eq!(control.ask(["CONFIG", "GET", "save"]).unwrap(), Value::Text(b"1 ".to_vec()));
        assert_eq!(control.ask(["CONFIG", "GET", "none"]).unwrap(), Value::Nil);
        assert!(control.key_count().is_err(), "no count is below zero");
        assert!(control.key_count().is_err(), "the server is gone");
    }

    #[test]
    fn statistics_are_found_by_their_names() {
        let stats = "STAT pid 42\r\nSTAT curr_items 7\r\nEND\r\n";
        let mut control = control([stats; 3], Protocol::Memcached);
        assert_eq!(control.key_count().unwrap(), 7);
        assert_eq!(control.info("pid").unwrap().as_deref(), Some("42"));
        assert_eq!(control.info("items").unwrap(), None);
    }
}
