//! Values, written as plain commands in pieces, for a base without RDB.

use rdb::Output;
use store::value::hash::Hash;
use store::value::list::List;
use store::value::set::Set;
use store::value::sorted_set::SortedSet;
use store::{Element, Kind, ValueRef};
use text::AttributeNote;

/// Most rows of one command, as Valkey writes them.
const ROWS_PER_COMMAND: usize = 64;

/// Writes a command.
pub(crate) fn write_command(words: &[&[u8]], to: &mut Output) {
    begin_command(words.len(), to);
    words.iter().for_each(|word| write_word(word, to));
}

fn begin_command(words: usize, to: &mut Output) {
    to.raw(format!("*{words}\r\n").as_bytes());
}

fn write_word(word: &[u8], to: &mut Output) {
    to.raw(format!("${}\r\n", word.len()).as_bytes());
    to.raw(word);
    to.raw(b"\r\n");
}

/// Writing of one value in slices: [`Commands::write`] until it is done.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// Number of the next row, or of the next byte.
    at: u64,
}

impl Commands {
    /// Writes about `most` bytes of a value; returns true if it is complete. The deadline of the
    /// key is left to the caller.
    pub fn write(&mut self, value: ValueRef<'_>, to: &mut Output, most: usize) -> bool {
        let end = to.bytes().len().saturating_add(most);
        match value.kind() {
            Kind::String => return self.write_string(value, to, most),
            Kind::Stream => {
                value.in_words(|args| {
                    let words: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
                    if words[0] != b"PEXPIREAT" {
                        write_command(&words, to);
                    }
                });
                return true;
            }
            _ => {}
        }
        loop {
            let rows = self.write_rows(value, to);
            self.at += rows as u64;
            if rows < ROWS_PER_COMMAND {
                return true;
            }
            if to.bytes().len() >= end {
                return false;
            }
        }
    }

    /// Writes a string as one command, of which the bytes may come in slices.
    fn write_string(&mut self, value: ValueRef<'_>, to: &mut Output, most: usize) -> bool {
        let Ok(string) = value.string() else { return true };
        let (len, begin) = (string.len(), narrow::to_usize(self.at));
        if begin == 0 {
            if let Some(note) = value.attributes().note().unless_empty() {
                write_command(&[AttributeNote::COMMAND, &note.to_command_text()], to);
            }
            begin_command(3, to);
            write_word(b"SET", to);
            write_word(value.key(), to);
            to.raw(format!("${len}\r\n").as_bytes());
        }
        let end = len.min(begin.saturating_add(most));
        string.pieces(begin..end).for_each(|piece| to.raw(piece));
        self.at = end as u64;
        if end == len {
            to.raw(b"\r\n");
        }
        end == len
    }

    /// Writes the next rows of a collection; returns how many were looked at.
    fn write_rows(&self, value: ValueRef<'_>, to: &mut Output) -> usize {
        let (key, at) = (value.key(), self.at);
        match value.kind() {
            Kind::List => {
                let elements = List::of(value).iter_from(at).take(ROWS_PER_COMMAND);
                write_elements(b"RPUSH", key, elements, to)
            }
            Kind::Set => {
                let members = Set::of(value).members_from(at).take(ROWS_PER_COMMAND);
                write_elements(b"SADD", key, members, to)
            }
            Kind::SortedSet => {
                let mut words = Vec::new();
                let mut rows = 0;
                for (member, score) in SortedSet::of(value).iter_from(at).take(ROWS_PER_COMMAND) {
                    words.extend([text::format_f64(score).into_bytes(), member.to_text()]);
                    rows += 1;
                }
                write_owned(b"ZADD", key, &words, to);
                rows
            }
            _ => write_fields(key, &Hash::of(value), at, to),
        }
    }
}

fn write_elements<'t>(
    name: &[u8],
    key: &[u8],
    elements: impl Iterator<Item = Element<'t>>,
    to: &mut Output,
) -> usize {
    let words: Vec<Vec<u8>> = elements.map(Element::to_text).collect();
    write_owned(name, key, &words, to);
    words.len()
}

fn write_owned(name: &[u8], key: &[u8], words: &[Vec<u8>], to: &mut Output) {
    if !words.is_empty() {
        begin_command(words.len() + 2, to);
        [name, key].into_iter().for_each(|word| write_word(word, to));
        words.iter().for_each(|word| write_word(word, to));
    }
}

/// Writes the next fields that have not expired, and their deadlines.
fn write_fields(key: &[u8], hash: &Hash<'_>, at: u64, to: &mut Output) -> usize {
    let (mut words, mut deadlines, mut rows) = (Vec::new(), Vec::new(), 0);
    for pair in hash.rows_from(at).take(ROWS_PER_COMMAND) {
        rows += 1;
        if hash.sees(&pair) {
            words.extend([pair.field.to_text(), pair.value.to_text()]);
            deadlines.extend(pair.deadline.map(|deadline| (deadline, pair.field.to_text())));
        }
    }
    write_owned(b"HSET", key, &words, to);
    for (deadline, field) in deadlines {
        let at = deadline.0.to_string();
        write_command(&[b"HPEXPIREAT", key, at.as_bytes(), b"FIELDS", b"1", &field], to);
    }
    rows
}
