//! Recorded requests and replies of the reference server, to be played where that server is not
//! available.
//!
//! ```text
//! fresh              start of a round: no keys, settings as at the start, new connections
//! A SET k v          request of a client
//! < "+OK\r\n"        reply, as it was sent; `<` alone for a long one
//! A gone k           the client asks until the key is gone
//! ```

use super::step::{Request, client_name, line, word};
use crate::client::Reply;
use anyhow::{Context, Result, bail, ensure};

/// Entry of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Start of a round.
    Fresh,
    /// A request with its reply.
    Ask {
        /// Index of the connection.
        client: usize,
        /// Request that was sent.
        request: Request,
        /// Reply of the reference, if it was short.
        reply: Option<Reply>,
    },
    /// A wait until a key is gone.
    Gone {
        /// Index of the connection.
        client: usize,
        /// Key.
        key: Vec<u8>,
    },
}

/// Writer of entries.
#[derive(Debug, Default)]
pub struct Recording {
    /// Text of the file.
    pub text: String,
}

impl Recording {
    /// Adds an entry.
    pub fn add(&mut self, entry: &Entry) {
        self.text += &match entry {
            Entry::Fresh => "fresh\n".to_owned(),
            Entry::Ask { client, request, reply } => {
                let reply = reply.as_ref().map(|it| format!(" {}", word(&reply_bytes(it))));
                let reply = reply.filter(|it| it.len() < REPLY_MAX).unwrap_or_default();
                format!("{} {}\n<{reply}\n", client_name(*client), line(request))
            }
            Entry::Gone { client, key } => format!("{} gone {}\n", client_name(*client), word(key)),
        };
    }
}

/// Reads the entries of a recording.
///
/// # Errors
/// If a line is not an entry.
pub fn read(text: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut lines = text.lines().filter(|line| !line.starts_with('#')).peekable();
    while let Some(line) = lines.next() {
        if line == "fresh" {
            entries.push(Entry::Fresh);
            continue;
        }
        let (client, rest) = line.split_once(' ').with_context(|| line.to_owned())?;
        let client = client.chars().next().and_then(|it| it.to_digit(36)).context("a client")?;
        let client = client.checked_sub(10).context("a client")? as usize;
        let mut request = words(rest)?;
        let Some(reply) = lines.next_if(|line| line.starts_with('<')) else {
            ensure!(request.len() == 2 && request[0] == b"gone", "no reply: {line}");
            entries.push(Entry::Gone { client, key: request.remove(1) });
            continue;
        };
        let reply = words(reply[1..].trim_ascii_start())?.pop();
        let reply = reply.map(|reply| Reply::read(&mut reply.as_slice())).transpose()?;
        entries.push(Entry::Ask { client, request, reply });
    }
    Ok(entries)
}

/// Returns the words of a line; `"a"*100` is one letter repeated.
fn words(line: &str) -> Result<Request> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let end = word_end(rest)?;
        let (quoted, behind) = rest.split_at(end);
        let mut word = text::split_args(quoted.as_bytes()).context("quotes")?.concat();
        rest = behind;
        if quoted.starts_with('"')
            && let Some(times) = behind.strip_prefix('*')
        {
            let digits = times.find(' ').unwrap_or(times.len());
            word = word.repeat(times[..digits].parse()?);
            rest = &times[digits..];
        }
        words.push(word);
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    Ok(words)
}

/// Returns the end of the first word; behind its quotes, if it has any.
fn word_end(line: &str) -> Result<usize> {
    if !line.starts_with('"') {
        return Ok(line.find(' ').unwrap_or(line.len()));
    }
    let mut escaped = false;
    for (at, byte) in line.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Ok(at + 1),
            _ => {}
        }
    }
    bail!("a quote is left open: {line}")
}

/// Encodes a reply as a server sends it.
fn reply_bytes(reply: &Reply) -> Vec<u8> {
    let one = |kind: char, text: &[u8]| [kind.to_string().as_bytes(), text, b"\r\n"].concat();
    let text = |kind: char, bytes: &[u8]| {
        [format!("{kind}{}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
    };
    let several = |kind: char, count: usize, items: &[Reply]| {
        let mut bytes = format!("{kind}{count}\r\n").into_bytes();
        bytes.extend(items.iter().flat_map(reply_bytes));
        bytes
    };
    match reply {
        Reply::Simple(it) => one('+', it),
        Reply::Error(it) => one('-', it),
        Reply::Integer(it) => one(':', it.to_string().as_bytes()),
        Reply::Bulk(it) => text('$', it),
        Reply::NilBulk => b"$-1\r\n".to_vec(),
        Reply::NilArray => b"*-1\r\n".to_vec(),
        Reply::Null => b"_\r\n".to_vec(),
        Reply::Array(items) => several('*', items.len(), items),
        Reply::Map(items) => several('%', items.len() / 2, items),
        Reply::Set(items) => several('~', items.len(), items),
        Reply::Push(items) => several('>', items.len(), items),
        Reply::Double(it) => one(',', it),
        Reply::Boolean(it) => one('#', if *it { b"t" } else { b"f" }),
        Reply::BigNumber(it) => one('(', it),
        Reply::Verbatim(it) => text('=', it),
    }
}

const REPLY_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::super::step::request;
    use super::*;

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let reply = Some(Reply::Map(vec![Reply::Bulk(b"a\xff\"".to_vec()), Reply::NilArray]));
        let ask = Entry::Ask { client: 1, request: request(&["SET", "", "a b"]), reply };
        let long =
            Entry::Ask { client: 0, request: vec![b"ECHO".to_vec(), vec![0; 1000]], reply: None };
        let gone = Entry::Gone { client: 2, key: b"k".to_vec() };
        let entries = [Entry::Fresh, ask, long, gone];
        let mut recording = Recording::default();
        entries.iter().for_each(|entry| recording.add(entry));
        assert_eq!(read(&recording.text).expect("a recording"), entries);
    }
}
