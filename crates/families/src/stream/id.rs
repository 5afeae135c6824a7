//! Ids as clients write them: `ms-seq`, `ms`, and words that stand for special ids.

use session::Refusal;
use store::value::stream::{Id, NewId};
use text::IntegerText;
use wire::Reply;

const INVALID: Refusal = Refusal::of("ERR Invalid stream ID specified as stream command argument");
/// Maximum length of an id, in bytes.
const WORD_BYTES_MAX: usize = 127;

/// Reads an id; `missing_seq` is the sequence of one without.
pub fn parse(word: &[u8], missing_seq: u64) -> Result<Id, Refusal> {
    let word = known_part(word)?;
    if let b"-" | b"+" = word {
        return Err(INVALID);
    }
    let (ms, seq) = halves(word)?;
    let seq = seq.map_or(Some(missing_seq), number).ok_or(INVALID)?;
    Ok(Id { ms: number(ms).ok_or(INVALID)?, seq })
}

/// Reads an id, or `-` or `+` for the lowest and the highest one.
pub fn parse_any(word: &[u8], missing_seq: u64) -> Result<Id, Refusal> {
    match known_part(word)? {
        b"-" => Ok(Id::MIN),
        b"+" => Ok(Id::MAX),
        word => parse(word, missing_seq),
    }
}

/// Reads the id of a new entry: `ms-*` leaves the sequence to the stream.
pub fn parse_new(word: &[u8]) -> Result<NewId, Refusal> {
    let word = known_part(word)?;
    if word == b"*" {
        return Ok(NewId::Now);
    }
    match word.strip_suffix(b"-*") {
        Some(ms) if !ms.contains(&b'-') => Ok(NewId::At(number(ms).ok_or(INVALID)?)),
        _ => Ok(NewId::Given(parse(word, 0)?)),
    }
}

/// Reads the first id of an interval, which `(` excludes.
pub fn parse_start(word: &[u8]) -> Result<Id, Refusal> {
    match open_end(word) {
        Some(word) => {
            parse(word, 0)?.next().ok_or(Refusal::of("ERR invalid start ID for the interval"))
        }
        None => parse_any(word, 0),
    }
}

/// Reads the last id of an interval, which `(` excludes.
pub fn parse_end(word: &[u8]) -> Result<Id, Refusal> {
    match open_end(word) {
        Some(word) => parse(word, u64::MAX)?
            .previous()
            .ok_or(Refusal::of("ERR invalid end ID for the interval")),
        None => parse_any(word, u64::MAX),
    }
}

fn open_end(word: &[u8]) -> Option<&[u8]> {
    word.strip_prefix(b"(").filter(|rest| !rest.is_empty())
}

/// Returns the part of a word that counts: what stands before its first zero byte, as in Valkey.
fn known_part(word: &[u8]) -> Result<&[u8], Refusal> {
    if word.len() > WORD_BYTES_MAX {
        return Err(INVALID);
    }
    Ok(word.split(|byte| *byte == 0).next().unwrap_or_default())
}

/// Splits an id at its first dash.
fn halves(word: &[u8]) -> Result<(&[u8], Option<&[u8]>), Refusal> {
    Ok(match memchr_dash(word) {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    })
}

fn memchr_dash(word: &[u8]) -> Option<usize> {
    word.iter().position(|byte| *byte == b'-')
}

/// Reads a number as C does, with leading blanks, a sign and zeros. A negative one in the usual
/// spelling of integers is none.
fn number(word: &[u8]) -> Option<u64> {
    if let Some(value) = text::parse_u64(word) {
        return Some(value);
    }
    if text::parse_i64(word).is_some() {
        return None;
    }
    let digits = word.trim_ascii_start();
    let (is_negative, digits) = match digits {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let value = digits.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })?;
    Some(if is_negative { value.wrapping_neg() } else { value })
}

/// Writes an id.
#[inline]
pub fn write(reply: &mut Reply<'_>, id: Id) {
    let (mut ms, mut seq) = (IntegerText::new(), IntegerText::new());
    reply.bulk_parts(&[ms.format_unsigned(id.ms), b"-", seq.format_unsigned(id.seq)]);
}

/// Returns the text of an id.
pub fn text(id: Id) -> Vec<u8> {
    format!("{}-{}", id.ms, id.seq).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{number, parse_new};
    use store::value::stream::{Id, NewId};

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        let rows: [(&[u8], Option<u64>); 9] = [
            (b"0007", Some(7)),
            (b"+5", Some(5)),
            (b" 5", Some(5)),
            (b"5 ", None),
            (b"-5", None),
            (b"-05", Some(u64::MAX - 4)),
            (b"", None),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
        ];
        for (word, expected) in rows {
            assert_eq!(number(word), expected, "{word:?}");
        }
    }

    #[test]
    fn the_stream_chooses_what_a_star_stands_for() {
        assert_eq!(parse_new(b"*"), Ok(NewId::Now));
        assert_eq!(parse_new(b"5-*"), Ok(NewId::At(5)));
        assert_eq!(parse_new(b"5"), Ok(NewId::Given(Id { ms: 5, seq: 0 })));
        for word in [&b"*-*"[..], b"1-1-*", b"-*", b"-", b"+", b"", b"*-1", b"1-"] {
            assert!(parse_new(word).is_err(), "{word:?}");
        }
    }
}
