//! Blocking connections for the few commands that control and query a server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::generator::{Protocol, ReplyReader, Value};

/// Connection that sends one command and waits for its reply.
pub struct Control {
    stream: TcpStream,
    reader: ReplyReader,
}

impl Control {
    /// Connects to a port on 127.0.0.1.
    pub fn open(port: u16) -> Result<Self> {
        Self::speaking(port, Protocol::Resp)
    }

    /// Connects to a server of any protocol; otherwise as [`Control::open`].
    pub fn speaking(port: u16, protocol: Protocol) -> Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, reader: ReplyReader::keeping(protocol) })
    }

    /// Sends a command and returns the values of its reply: one, or those of an array.
    pub fn values(&mut self, command: &[&str]) -> Result<Vec<Value>> {
        self.send(encode(command).as_bytes()).with_context(|| command.join(" "))
    }

    fn send(&mut self, bytes: &[u8]) -> Result<Vec<Value>> {
        self.stream.write_all(bytes)?;
        let (mut buffer, mut received) = (vec![0; 64 << 10], 0);
        while self.reader.counted().total() == 0 {
            let read = self.stream.read(&mut buffer)?;
            ensure!(read > 0, "the server closed the connection");
            received += read;
            ensure!(received <= REPLY_BYTES_MAX, "a reply of more than {REPLY_BYTES_MAX} bytes");
            let fed = self.reader.feed(&buffer[..read]);
            fed.map_err(|unexpected| anyhow::anyhow!("unexpected reply {:?}", unexpected.0))?;
        }
        self.reader.take();
        Ok(self.reader.take_values())
    }

    /// Sends a command and returns its reply, which is no array; an error is a [`Value::Error`].
    pub fn ask(&mut self, command: &[&str]) -> Result<Value> {
        Ok(self.values(command)?.into_iter().next().unwrap_or(Value::Nil))
    }

    /// Sends a command that must not be answered by an error.
    pub fn tell(&mut self, command: &[&str]) -> Result<()> {
        match self.ask(command)? {
            Value::Error(error) => bail!("{}: {error}", command.join(" ")),
            _ => Ok(()),
        }
    }

    /// Returns the number of keys in database 0; `None` for the null server, which answers
    /// everything with OK.
    pub fn key_count(&mut self) -> Result<Option<u64>> {
        match self.ask(&["DBSIZE"])? {
            Value::Text(text) if text == b"OK" => Ok(None),
            reply => number(&reply).map(Some).context("DBSIZE"),
        }
    }

    /// Returns the integer reply to a command, whose words are separated by spaces.
    pub fn integer(&mut self, command: &str) -> Result<u64> {
        let reply = self.ask(&command.split(' ').collect::<Vec<_>>())?;
        number(&reply).with_context(|| command.to_owned())
    }

    /// Returns the text reply to a command; `None` if it is no text.
    pub fn text(&mut self, command: &[&str]) -> Result<Option<String>> {
        let value = self.values(command)?.pop();
        let Some(Value::Text(bytes)) = value else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns a field of INFO, if the server reports it.
    pub fn info_text(&mut self, field: &str) -> Result<Option<String>> {
        let info = self.text(&["INFO"])?.unwrap_or_default();
        let value =
            |line: &str| line.trim_end().strip_prefix(field)?.strip_prefix(':').map(str::to_owned);
        Ok(info.lines().find_map(value))
    }

    /// Returns a number from INFO, if the server reports it.
    pub fn info_number(&mut self, field: &str) -> Result<Option<f64>> {
        Ok(self.info_text(field)?.and_then(|value| value.parse().ok()))
    }

    /// Returns the value of a setting, if the server knows it.
    pub fn setting(&mut self, name: &str) -> Result<Option<String>> {
        self.text(&["CONFIG", "GET", name])
    }

    /// Returns a number from memcached's statistics.
    pub fn statistic(&mut self, name: &str) -> Result<u64> {
        let found = self.send(b"stats\r\n")?.into_iter().find_map(|value| {
            let Value::Text(line) = value else { return None };
            let line = String::from_utf8(line).ok()?;
            line.strip_prefix(&format!("STAT {name} "))?.parse().ok()
        });
        found.with_context(|| format!("stats holds no {name}"))
    }
}

/// Returns a reply as a count.
fn number(reply: &Value) -> Result<u64> {
    match reply {
        Value::Integer(number @ 0..) => Ok(number.unsigned_abs()),
        other => bail!("the server answers {other:.80?}"),
    }
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

/// Encodes a command for the wire.
pub fn encode(command: &[&str]) -> String {
    command.iter().fold(format!("*{}\r\n", command.len()), |text, part| {
        text + "$" + &part.len().to_string() + "\r\n" + part + "\r\n"
    })
}

/// Encodes a command, whose words are separated by spaces, for the wire.
pub fn encode_line(line: &str) -> String {
    encode(&line.split(' ').collect::<Vec<_>>())
}

const AT_ONCE: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(60);
const REPLY_BYTES_MAX: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Starts a server that answers each request with the next of these replies.
    fn answering(replies: &'static [&'static str]) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for reply in replies {
                assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
                reply.as_bytes().chunks(3).for_each(|part| stream.write_all(part).unwrap());
            }
        });
        port
    }

    #[test]
    fn replies_are_read_as_what_they_are() {
        let info = "$27\r\n# Server\r\nused:12\r\nkind:x\r\n\r\n";
        let setting = "*2\r\n$4\r\nsave\r\n$2\r\n1 \r\n";
        let replies =
            [":7\r\n", "-ERR no\r\n", "+OK\r\n", info, info, setting, "*0\r\n", ":-1\r\n"];
        let mut control = Control::open(answering(replies.to_vec().leak())).unwrap();
        assert_eq!(control.key_count().unwrap(), Some(7));
        assert!(control.tell(&["X"]).unwrap_err().to_string().contains("ERR no"));
        assert_eq!(control.key_count().unwrap(), None);
        assert_eq!(control.info_number("used").unwrap(), Some(12.0));
        assert_eq!(control.info_number("free").unwrap(), None);
        assert_eq!(control.setting("save").unwrap().as_deref(), Some("1 "));
        assert_eq!(control.setting("none").unwrap(), None);
        assert!(control.integer("LLEN x").is_err());
        assert!(control.integer("LLEN x").is_err(), "the server is gone");
    }

    #[test]
    fn statistics_are_found_by_their_names() {
        let stats = "STAT pid 42\r\nSTAT curr_items 7\r\nEND\r\n";
        let port = answering([stats, stats].to_vec().leak());
        let mut control = Control::speaking(port, Protocol::Memcached).unwrap();
        assert_eq!(control.statistic("curr_items").unwrap(), 7);
        assert!(control.statistic("items").is_err());
    }
}
