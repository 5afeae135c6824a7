//! Words with quotes: inline requests and configuration lines.
//!
//! A word ends at a blank outside quotes. Quoted and plain parts that touch form one word, as in a
//! shell. In double quotes `\n \r \t \b \a \xHH` are escapes and a backslash before any other byte
//! stands for that byte; in single quotes only `\'` is an escape.

/// Splits a line into words; `None` when a quote is left open.
///
/// Work and memory are linear in the line. A NUL is an ordinary byte.
pub fn split_args(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        while let [byte, tail @ ..] = rest
            && is_blank(*byte)
        {
            rest = tail;
        }
        if rest.is_empty() {
            return Some(words);
        }
        let (word, tail) = take_word(rest)?;
        words.push(word);
        rest = tail;
    }
}

/// Writes bytes as one double-quoted word that [`split_args`] reads back.
pub fn quote(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len() + 2);
    quote_to(bytes, &mut out);
    out.into_iter().map(char::from).collect()
}

/// Appends bytes as one double-quoted word, in ASCII, that [`split_args`] reads back.
pub fn quote_to(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| !is_plain(*byte)) {
        out.extend_from_slice(&rest[..at]);
        escape_to(rest[at], out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Returns true for a byte that stands for itself in double quotes.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'\\' && byte != b'"'
}

fn escape_to(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        b'\\' | b'"' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        BELL => b'a',
        BACKSPACE => b'b',
        other => {
            let digit = |half: u8| HEX[usize::from(half)];
            return out.extend_from_slice(&[b'\\', b'x', digit(other >> 4), digit(other & 15)]);
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// Takes the word at the start of `rest`; the blank after it is taken too.
fn take_word(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    loop {
        match rest {
            [] => return Some((word, rest)),
            [b' ' | b'\n' | b'\r' | b'\t', tail @ ..] => return Some((word, tail)),
            [b'"', tail @ ..] => rest = take_double(tail, &mut word)?,
            [b'\'', tail @ ..] => rest = take_single(tail, &mut word)?,
            [byte, tail @ ..] => {
                word.push(*byte);
                rest = tail;
            }
        }
    }
}

/// Takes bytes up to and with the closing double quote.
fn take_double<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return None,
            [b'"', tail @ ..] => return Some(tail),
            [b'\\', b'x', high, low, tail @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                word.push(hex_value(*high) << 4 | hex_value(*low));
                rest = tail;
            }
            [b'\\', escaped, tail @ ..] => {
                word.push(unescape(*escaped));
                rest = tail;
            }
            [byte, tail @ ..] => {
                word.push(*byte);
                rest = tail;
            }
        }
    }
}

/// Takes bytes up to and with the closing single quote.
fn take_single<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return None,
            [b'\'', tail @ ..] => return Some(tail),
            [b'\\', b'\'', tail @ ..] => {
                word.push(b'\'');
                rest = tail;
            }
            [byte, tail @ ..] => {
                word.push(*byte);
                rest = tail;
            }
        }
    }
}

fn unescape(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => BACKSPACE,
        b'a' => BELL,
        other => other,
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a').wrapping_add(10),
    }
}

const BELL: u8 = 7;
const BACKSPACE: u8 = 8;
const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::{quote, split_args};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    fn words(line: &str) -> Option<Vec<String>> {
        let words = split_args(line.as_bytes())?;
        Some(words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    }

    #[track_caller]
    fn splits(line: &str, expected: &[&str]) {
        assert_eq!(words(line), Some(expected.iter().map(ToString::to_string).collect()), "{line}");
    }

    #[test]
    fn blanks_separate_words() {
        splits("", &[]);
        splits(" \t\r\n\x0b\x0c", &[]);
        splits("  set k\tv ", &["set", "k", "v"]);
    }

    #[test]
    fn escapes_are_read_inside_quotes_only() {
        splits(r#""a\n\r\t\b\a\x41\x4""#, &["a\n\r\t\x08\x07Ax4"]);
        splits(r#""a\"b\\c\q""#, &["a\"b\\cq"]);
        splits(r"'a\'b\n'", &[r"a'b\n"]);
        splits(r"a\n", &[r"a\n"]);
    }

    #[test]
    fn touching_parts_form_one_word() {
        splits(r#""foo"bar 'a'b"c" """" '' x"y z""#, &["foobar", "abc", "", "", "xy z"]);
    }

    #[test]
    fn an_open_quote_is_refused() {
        for line in ["\"", "'", "\"a", "a'b", "\"a\\\"", "'a\\'", "\"a\" '", "\"\\"] {
            assert_eq!(words(line), None, "{line}");
        }
    }

    #[test]
    fn unprintable_bytes_are_quoted_as_hex() {
        assert_eq!(
            quote(b"a b\"\\\n\r\t\x07\x08\x00\xff\x7f"),
            r#""a b\"\\\n\r\t\a\b\x00\xff\x7f""#
        );
    }

    proptest! {
        #[test]
        fn quoted_words_are_read_back(args in proptest::collection::vec(any::<Vec<u8>>(), 0..5)) {
            let line = args.iter().map(|arg| quote(arg)).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(split_args(line.as_bytes()), Some(args));
        }

        #[test]
        fn any_line_splits_into_no_more_bytes_than_it_has(line in any::<Vec<u8>>()) {
            let total: usize = split_args(&line).iter().flatten().map(Vec::len).sum();
            assert!(total <= line.len());
        }
    }
}
