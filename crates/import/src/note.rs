//! What is noted of strings besides their values, on its way to a server that knows it.
//!
//! ```text
//! RDB file          field `va` ──────────┐
//! AOF, stream       ECHO varve:f5 ───────┼─▶ VARVE.NOTED f5 RESTORE key ..., SET key ...
//! SCAN of a Varve   VARVE.ATTRIBUTES ────┘
//! ```
//! A target that is no Varve is sent the plain command, and what it lacks then is counted.

use crate::resp::Reply;
use crate::tally::Tally;
use std::sync::atomic::Ordering::Relaxed;
use text::AttributeNote;

/// Command that executes another one, by which a string gets what is noted.
pub const NOTED: &str = "VARVE.NOTED";
/// Command that tells what is noted of a string.
pub const ATTRIBUTES: &str = "VARVE.ATTRIBUTES";

/// What is noted for a command of a file or a stream; `None` if that means nothing to this one. A
/// note that cannot be read is left out.
pub fn note_for(name: &[u8], text: Option<&[u8]>) -> Option<AttributeNote> {
    let note = AttributeNote::parse(text?)?;
    families::table().noted(name).map(|_| note)
}

/// What a server tells of a string; `None` if it has nothing besides its value.
pub fn note_of(reply: &Reply) -> Option<AttributeNote> {
    AttributeNote::parse(reply.bytes()?)?.unless_empty()
}

/// Has a request executed with a note if the target knows that.
pub fn add_note(request: &mut Vec<Vec<u8>>, note: AttributeNote, is_known: bool) {
    if is_known {
        request.splice(0..0, [NOTED.as_bytes().to_vec(), note.to_text()]);
    }
}

/// Counts what comes without something that was noted, as the target does not know it.
pub fn count_lost(note: AttributeNote, is_known: bool, tally: &Tally) {
    let is_lost = !is_known && note.unless_empty().is_some();
    tally.without_attributes.fetch_add(u64::from(is_lost), Relaxed);
}

/// The words of a request behind what is noted for it.
pub fn behind_note<W: AsRef<[u8]>>(words: &[W]) -> &[W] {
    let is_note = |name: &W| name.as_ref().eq_ignore_ascii_case(NOTED.as_bytes());
    if words.first().is_some_and(is_note) { words.get(2..).unwrap_or_default() } else { words }
}

/// What is said of strings that have come without their attributes; `None` if none have.
pub fn told_lost(count: u64) -> Option<String> {
    (count > 0).then(|| {
        format!(
            "{count} items of Memcached's clients came without their flags and marks, which only \
             Varve keeps"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_for_commands_that_write_strings() {
        let five = AttributeNote { flags: 5, ..AttributeNote::default() };
        for name in ["SET", "exists", "RESTORE"] {
            assert_eq!(note_for(name.as_bytes(), Some(b"f5 x")), Some(five));
        }
        assert_eq!(note_for(b"SET", Some(b"")), Some(AttributeNote::default()));
        for (name, text) in [("DEL", Some(&b"f5"[..])), ("", Some(b"f5")), ("SET", Some(b"f"))] {
            assert_eq!(note_for(name.as_bytes(), text), None, "{name}");
        }
        assert_eq!(note_for(b"SET", None), None);
    }

    #[test]
    fn what_a_server_tells_is_read_unless_it_is_nothing() {
        let told = |text: &[u8]| note_of(&Reply::Bulk(text.to_vec())).map(AttributeNote::to_text);
        assert_eq!(told(b"s f5"), Some(b"f5 s".to_vec()));
        assert_eq!((told(b""), told(b"f"), note_of(&Reply::Nil)), (None, None, None));
    }

    #[test]
    fn the_command_stands_behind_its_note() {
        assert_eq!(behind_note(&["varve.noted", "f5", "SET", "k"]), ["SET", "k"]);
        assert_eq!(behind_note(&["SET", "varve.noted"]), ["SET", "varve.noted"]);
        assert!(behind_note(&["VARVE.NOTED"]).is_empty() && behind_note::<&str>(&[]).is_empty());
        assert_eq!(told_lost(0), None);
    }
}
