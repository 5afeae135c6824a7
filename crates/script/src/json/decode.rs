//! JSON as values.

use std::os::raw::c_int;

use super::settings::{LEVELS_MAX, settings};
use super::strtod::strtod;
use crate::failure::{Answer, Failure};
use crate::stack::Stack;

pub fn decode(stack: &mut Stack<'_>) -> Answer {
    if stack.arguments() != 1 {
        return Err(Failure::Argument(1, "expected 1 argument"));
    }
    let text = stack.text_argument(1)?;
    if text.len() >= 2 && text[..2].contains(&0) {
        return Err(stack.fail(format_args!("JSON parser does not support UTF-16 or UTF-32")));
    }
    let settings = settings(stack);
    let mut decoder = Decoder {
        stack,
        text,
        at: 0,
        depth: 0,
        depth_max: settings.decode_max_depth.min(LEVELS_MAX),
        takes_invalid_numbers: settings.decode_invalid_numbers,
    };
    let first = decoder.next();
    decoder.value(first)?;
    match decoder.next() {
        (Token::End, _) => Ok(1),
        other => Err(decoder.unexpected("the end", other)),
    }
}

/// Reader of one text. Numbers and texts are pushed as they are found.
struct Decoder<'stack, 'call> {
    stack: &'stack mut Stack<'call>,
    text: &'call [u8],
    at: usize,
    depth: c_int,
    depth_max: c_int,
    takes_invalid_numbers: bool,
}

/// Part of a text. What it holds is in the decoder, but for numbers.
#[derive(Clone, Copy)]
enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    /// A text, which lies in the scratch buffer.
    Text,
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

/// A token, and where it begins or what is wrong with it is.
type Found = (Token, usize);

impl Decoder<'_, '_> {
    /// Pushes the value that begins with a token.
    fn value(&mut self, found: Found) -> Result<(), Failure> {
        self.stack.count_value();
        match found.0 {
            Token::Text => self.stack.push_scratch(0),
            Token::Number(value) => self.stack.push_number(value),
            Token::Boolean(value) => self.stack.push_boolean(value),
            Token::Null => self.stack.push_null(),
            Token::ObjectBegin => return self.object(),
            Token::ArrayBegin => return self.array(),
            _ => return Err(self.unexpected("value", found)),
        }
        Ok(())
    }

    fn array(&mut self) -> Result<(), Failure> {
        self.descend()?;
        self.stack.push_table(0, 0);
        let table = self.stack.top();
        let mut found = self.next();
        if let Token::ArrayEnd = found.0 {
            self.depth -= 1;
            return Ok(());
        }
        for place in 1.. {
            self.value(found)?;
            self.stack.raw_set_element(table, place);
            found = self.next();
            match found.0 {
                Token::ArrayEnd => break,
                Token::Comma => found = self.next(),
                _ => return Err(self.unexpected("comma or array end", found)),
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self) -> Result<(), Failure> {
        self.descend()?;
        self.stack.push_table(0, 0);
        let table = self.stack.top();
        let mut found = self.next();
        if let Token::ObjectEnd = found.0 {
            self.depth -= 1;
            return Ok(());
        }
        loop {
            let Token::Text = found.0 else {
                return Err(self.unexpected("object key string", found));
            };
            self.stack.push_scratch(0);
            found = self.next();
            let Token::Colon = found.0 else { return Err(self.unexpected("colon", found)) };
            found = self.next();
            self.value(found)?;
            self.stack.raw_set(table);
            found = self.next();
            match found.0 {
                Token::ObjectEnd => break,
                Token::Comma => found = self.next(),
                _ => return Err(self.unexpected("comma or object end", found)),
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn descend(&mut self) -> Result<(), Failure> {
        self.depth += 1;
        if self.depth <= self.depth_max && self.stack.reserve(SLOTS) {
            return Ok(());
        }
        let (depth, at) = (self.depth, self.at);
        Err(self.stack.fail(format_args!(
            "Found too many nested data structures ({depth}) at character {at}"
        )))
    }

    /// Reads the next token. A zero byte is the end, wherever it stands.
    fn next(&mut self) -> Found {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
        let start = self.at;
        let rest = &self.text[start..];
        let token = match rest.first() {
            None | Some(0) => return (Token::End, start),
            Some(b'{') => Token::ObjectBegin,
            Some(b'}') => Token::ObjectEnd,
            Some(b'[') => Token::ArrayBegin,
            Some(b']') => Token::ArrayEnd,
            Some(b':') => Token::Colon,
            Some(b',') => Token::Comma,
            Some(b'"') => return self.string(),
            Some(b'-' | b'0'..=b'9') => {
                if !self.takes_invalid_numbers && is_invalid_number(rest) {
                    return (Token::Error("invalid number"), start);
                }
                return self.number();
            }
            _ => return self.word(),
        };
        self.at += 1;
        (token, start)
    }

    fn word(&mut self) -> Found {
        let start = self.at;
        let rest = &self.text[start..];
        for (word, token) in [
            ("true", Token::Boolean(true)),
            ("false", Token::Boolean(false)),
            ("null", Token::Null),
        ] {
            if rest.starts_with(word.as_bytes()) {
                self.at += word.len();
                return (token, start);
            }
        }
        if self.takes_invalid_numbers && is_invalid_number(rest) {
            return self.number();
        }
        (Token::Error("invalid token"), start)
    }

    fn number(&mut self) -> Found {
        let start = self.at;
        let (value, length) = strtod(&self.text[start..]);
        self.at += length;
        let is_one = length > 0;
        (if is_one { Token::Number(value) } else { Token::Error("invalid number") }, start)
    }

    /// Reads a text into the scratch buffer, of which it takes no more than the text is long.
    fn string(&mut self) -> Found {
        let start = self.at;
        self.at += 1;
        self.stack.core().scratch.clear();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0));
            let length = plain.unwrap_or(rest.len());
            self.stack.core().scratch.extend_from_slice(&rest[..length]);
            self.at += length;
            match rest.get(length) {
                Some(b'"') => {
                    self.at += 1;
                    return (Token::Text, start);
                }
                Some(b'\\') => {
                    if let Err(text) = self.escape() {
                        return (Token::Error(text), self.at);
                    }
                }
                _ => return (Token::Error("unexpected end of string"), self.at),
            }
        }
    }

    fn escape(&mut self) -> Result<(), &'static str> {
        let byte = match self.text.get(self.at + 1) {
            Some(b'b') => 0x08,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'f') => 0x0c,
            Some(b'r') => b'\r',
            Some(&byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'u') => return self.unicode().ok_or("invalid unicode escape code"),
            _ => return Err("invalid escape code"),
        };
        self.stack.core().scratch.push(byte);
        self.at += 2;
        Ok(())
    }

    fn unicode(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let unit = |from: usize| -> Option<u32> {
            let digits = rest.get(from..from + 4)?;
            let digit = |value: u32, byte: &u8| Some(value << 4 | char::from(*byte).to_digit(16)?);
            digits.iter().try_fold(0, digit)
        };
        let first = unit(2)?;
        let (code, length) = match first {
            0xD800..0xDC00 => {
                let pair = rest.get(6..8) == Some(b"\\u");
                let low = unit(8).filter(|low| pair && (0xDC00..0xE000).contains(low))?;
                (0x1_0000 + ((first & 0x3FF) << 10 | low & 0x3FF), 12)
            }
            _ => (first, 6),
        };
        let mut bytes = [0; 4];
        let text = char::from_u32(code)?.encode_utf8(&mut bytes);
        self.stack.core().scratch.extend_from_slice(text.as_bytes());
        self.at += length;
        Some(())
    }

    fn unexpected(&mut self, expected: &str, (token, at): Found) -> Failure {
        let found = match token {
            Token::Error(text) => text,
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::Text => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
        };
        let at = at + 1;
        self.stack.fail(format_args!("Expected {expected} but found {found} at character {at}"))
    }
}

/// Returns true for a number as C writes some and JSON none: `0x1`, `01`, `+1`, `inf`, `nan`.
fn is_invalid_number(text: &[u8]) -> bool {
    let rest = match text {
        [b'+', ..] => return true,
        [b'-', rest @ ..] => rest,
        _ => text,
    };
    match rest {
        [b'0', b'x' | b'X' | b'0'..=b'9', ..] => true,
        [(..=b'9'), ..] | [] => false,
        _ => rest.get(..3).is_some_and(|word| {
            word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan")
        }),
    }
}

/// Values that a level has on the stack at once.
const SLOTS: c_int = 6;
