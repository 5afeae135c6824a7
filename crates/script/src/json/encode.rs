//! Values as JSON. Metatables do not run.

use std::os::raw::c_int;

use super::settings::{InvalidNumbers, LEVELS_MAX, Settings, settings};
use crate::failure::{Answer, Failure};
use crate::number::to_i32;
use crate::number_text::write_g;
use crate::stack::{Kind, Stack};

pub fn encode(stack: &mut Stack<'_>) -> Answer {
    if stack.arguments() != 1 {
        return Err(Failure::Argument(1, "expected 1 argument"));
    }
    stack.core().scratch.clear();
    let settings = settings(stack);
    stack.push_copy(1);
    Encoder { stack, settings }.append(0)?;
    stack.push_scratch(0);
    Ok(1)
}

struct Encoder<'stack, 'call> {
    stack: &'stack mut Stack<'call>,
    settings: Settings,
}

impl Encoder<'_, '_> {
    /// Appends the value on the top.
    fn append(&mut self, depth: c_int) -> Result<(), Failure> {
        self.stack.count_value();
        match self.stack.kind(-1) {
            Kind::Text => self.append_text(),
            Kind::Number => self.append_number(),
            Kind::Boolean => {
                self.append_word(if self.stack.is_true(-1) { "true" } else { "false" })
            }
            Kind::Nil => self.append_word("null"),
            Kind::Light if self.stack.light(-1).is_null() => self.append_word("null"),
            Kind::Table => self.append_table(depth + 1),
            _ => Err(self.refuse(-1, "type not supported")),
        }
    }

    fn append_table(&mut self, depth: c_int) -> Result<(), Failure> {
        let depth_max = self.settings.encode_max_depth.min(LEVELS_MAX);
        if depth > depth_max || !self.stack.reserve(SLOTS) {
            let text = format_args!("Cannot serialise, excessive nesting ({depth})");
            return Err(self.stack.fail(text));
        }
        let length = self.array_length()?;
        if length > 0 { self.append_array(length, depth) } else { self.append_object(depth) }
    }

    fn append_array(&mut self, length: c_int, depth: c_int) -> Result<(), Failure> {
        let table = self.stack.top();
        self.append_word("[")?;
        for place in 1..=length {
            if place > 1 {
                self.append_word(",")?;
            }
            self.stack.raw_element(table, place);
            self.append(depth)?;
            self.stack.pop(1);
        }
        self.append_word("]")
    }

    fn append_object(&mut self, depth: c_int) -> Result<(), Failure> {
        let table = self.stack.top();
        self.append_word("{")?;
        let mut is_first = true;
        self.stack.push_nil();
        while self.stack.next(table) {
            if !is_first {
                self.append_word(",")?;
            }
            is_first = false;
            self.append_key()?;
            self.append(depth)?;
            self.stack.pop(1);
        }
        self.append_word("}")
    }

    /// Appends the key below the value on the top.
    fn append_key(&mut self) -> Result<(), Failure> {
        match self.stack.kind(-2) {
            Kind::Number => {
                self.append_word("\"")?;
                let key = self.stack.number(-2);
                self.append_finite_or_not(key)?;
                self.append_word("\":")
            }
            Kind::Text => {
                self.stack.push_copy(-2);
                self.append_text()?;
                self.stack.pop(1);
                self.append_word(":")
            }
            _ => Err(self.refuse(-2, "table key must be a number or string")),
        }
    }

    /// Returns the length of the table on the top if it is an array, 0 or less for an object.
    fn array_length(&mut self) -> Result<c_int, Failure> {
        let table = self.stack.top();
        let (mut longest, mut count): (c_int, c_int) = (0, 0);
        self.stack.push_nil();
        while self.stack.next(table) {
            let key = if self.stack.kind(-2) == Kind::Number { self.stack.number(-2) } else { 0.0 };
            self.stack.pop(1);
            if key < 1.0 || key.floor() != key {
                self.stack.pop(1);
                return Ok(-1);
            }
            if key > f64::from(longest) {
                longest = if key <= f64::from(c_int::MAX) { to_i32(key) } else { c_int::MIN };
            }
            count = count.wrapping_add(1);
        }
        let settings = &self.settings;
        let is_sparse = settings.sparse_ratio > 0
            && longest > count.wrapping_mul(settings.sparse_ratio)
            && longest > settings.sparse_safe;
        match (is_sparse, settings.sparse_convert) {
            (false, _) => Ok(longest),
            (true, true) => Ok(-1),
            (true, false) => Err(self.refuse(-1, "excessively sparse array")),
        }
    }

    fn append_number(&mut self) -> Result<(), Failure> {
        let value = self.stack.number(-1);
        if !value.is_finite() && self.settings.encode_invalid_numbers == InvalidNumbers::Null {
            return self.append_word("null");
        }
        self.append_finite_or_not(value)
    }

    fn append_finite_or_not(&mut self, value: f64) -> Result<(), Failure> {
        if !value.is_finite() && self.settings.encode_invalid_numbers == InvalidNumbers::Refused {
            return Err(self.refuse(-1, "must not be NaN or Inf"));
        }
        if value.is_nan() {
            return self.append_word("nan");
        }
        self.stack.reserve_scratch(NUMBER_BYTES)?;
        write_g(&mut self.stack.core().scratch, value, self.settings.precision);
        Ok(())
    }

    fn append_text(&mut self) -> Result<(), Failure> {
        let length = self.stack.length(-1);
        self.stack.reserve_scratch(length.saturating_mul(ESCAPED_BYTES) + 2)?;
        self.stack.read_text(-1, |text, core| {
            core.scratch.push(b'"');
            for &byte in text {
                push_escaped(&mut core.scratch, byte);
            }
            core.scratch.push(b'"');
        });
        Ok(())
    }

    fn append_word(&mut self, word: &str) -> Result<(), Failure> {
        self.stack.reserve_scratch(word.len())?;
        self.stack.core().scratch.extend_from_slice(word.as_bytes());
        Ok(())
    }

    fn refuse(&mut self, index: c_int, reason: &str) -> Failure {
        let name = self.stack.type_name(index);
        self.stack.fail(format_args!("Cannot serialise {name}: {reason}"))
    }
}

fn push_escaped(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'/' => b'/',
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0..0x20 | 0x7f => {
            let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
            return out.extend([b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
        _ => return out.push(byte),
    };
    out.extend([b'\\', short]);
}

/// Values that a level has on the stack at once.
const SLOTS: c_int = 6;

/// Longest form of one byte of a text.
const ESCAPED_BYTES: usize = 6;

/// Longest text of a number.
const NUMBER_BYTES: usize = 40;
