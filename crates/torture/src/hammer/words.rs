//! Requests as words, and contents of replies.

use crate::client::Reply;
use anyhow::{Result, bail};

/// One request.
pub(crate) type Words = Vec<Vec<u8>>;

/// Types that can be words of a request.
pub(crate) trait Word {
    fn word(&self) -> Vec<u8>;
}

impl Word for str {
    fn word(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl Word for String {
    fn word(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl Word for Vec<u8> {
    fn word(&self) -> Vec<u8> {
        self.clone()
    }
}

macro_rules! numbers {
    ($($number:ty),*) => { $(impl Word for $number {
        fn word(&self) -> Vec<u8> {
            self.to_string().into_bytes()
        }
    })* };
}

numbers!(i32, i64, u32, u64, usize, f64);

impl<W: Word + ?Sized> Word for &W {
    fn word(&self) -> Vec<u8> {
        (**self).word()
    }
}

/// Builds a request from words of several types.
macro_rules! words {
    ($($word:expr),+ $(,)?) => {
        $crate::hammer::words::request([$($crate::hammer::words::Word::word(&$word)),+])
    };
}

pub(crate) use words;

/// Builds a request from a few words.
pub(crate) fn request<const COUNT: usize>(words: [Vec<u8>; COUNT]) -> Words {
    words.into()
}

/// Returns the integer of a reply.
pub(crate) fn integer(reply: &Reply) -> Result<i64> {
    match reply {
        Reply::Integer(number) => Ok(*number),
        other => bail!("{} where an integer is due", shown(other)),
    }
}

/// Returns the text of a reply, unless it is nil.
pub(crate) fn text(reply: Reply) -> Result<Option<Vec<u8>>> {
    match reply {
        Reply::Bulk(bytes) | Reply::Simple(bytes) | Reply::Double(bytes) => Ok(Some(bytes)),
        Reply::NilBulk | Reply::NilArray | Reply::Null => Ok(None),
        other => bail!("{} where a text is due", shown(&other)),
    }
}

/// Returns all texts of an array of any depth; none for nil.
pub(crate) fn texts(reply: Reply) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    collect(reply, &mut found)?;
    Ok(found)
}

fn collect(reply: Reply, found: &mut Vec<Vec<u8>>) -> Result<()> {
    match reply {
        Reply::Array(parts) | Reply::Map(parts) | Reply::Set(parts) => {
            parts.into_iter().try_for_each(|part| collect(part, found))
        }
        Reply::Integer(number) => {
            found.push(number.to_string().into_bytes());
            Ok(())
        }
        other => {
            found.extend(text(other)?);
            Ok(())
        }
    }
}

/// Returns the elements of an array, a map or a set; none for nil.
pub(crate) fn elements(reply: Reply) -> Result<Vec<Reply>> {
    match reply {
        Reply::Array(parts) | Reply::Map(parts) | Reply::Set(parts) => Ok(parts),
        Reply::NilBulk | Reply::NilArray | Reply::Null => Ok(Vec::new()),
        other => bail!("{} where an array is due", shown(&other)),
    }
}

/// Returns the text of an error.
pub(crate) fn error(reply: &Reply) -> Option<&[u8]> {
    match reply {
        Reply::Error(text) => Some(text),
        _ => None,
    }
}

/// Checks that a reply is no error.
pub(crate) fn fine(reply: &Reply) -> Result<()> {
    match error(reply) {
        None => Ok(()),
        Some(text) => bail!("{}", String::from_utf8_lossy(text)),
    }
}

/// Checks that a reply is no error, except that the key is missing or source and target are equal.
pub(crate) fn fine_or_absent(reply: &Reply) -> Result<()> {
    match error(reply) {
        Some(b"ERR no such key" | b"ERR source and destination objects are the same") => Ok(()),
        _ => fine(reply),
    }
}

/// Returns the beginning of a reply, for messages.
pub(crate) fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Array(parts) | Reply::Map(parts) | Reply::Set(parts) => {
            let first: Vec<_> = parts.iter().take(4).map(shown).collect();
            format!("[{}] of {}", first.join(", "), parts.len())
        }
        Reply::Error(text) => String::from_utf8_lossy(text).into_owned(),
        Reply::Bulk(bytes) | Reply::Simple(bytes) | Reply::Double(bytes) => shown_word(bytes),
        other => format!("{other:?}").chars().take(SHOWN).collect(),
    }
}

/// Returns the beginning of a request, for messages.
pub(crate) fn shown_request(words: &Words) -> String {
    let first: Vec<_> = words.iter().take(8).map(|word| shown_word(word)).collect();
    let more = if words.len() > 8 { format!(" ... {} words", words.len()) } else { String::new() };
    format!("{}{more}", first.join(" "))
}

fn shown_word(word: &[u8]) -> String {
    // Only the beginning of a value that is not text is useful.
    let most = if word.is_ascii() { SHOWN } else { 4 };
    let text = word[..word.len().min(most)].escape_ascii().to_string();
    if word.len() > most { format!("{text}...({} bytes)", word.len()) } else { text }
}

const SHOWN: usize = 40;
