//! MessagePack as values.
//!
//! Nothing here calls itself: the levels of an input lie in the core, so it may nest as deep as
//! Lua's stack allows.

use crate::core::{Level, Shape};
use crate::failure::{Answer, Failure};
use crate::number::to_i32;
use crate::stack::{Kind, Stack};

/// Unpacks everything.
pub fn unpack(stack: &mut Stack<'_>) -> Answer {
    unpack_from(stack, 0, 0)
}

/// Unpacks one value, and says where the next one begins.
pub fn unpack_one(stack: &mut Stack<'_>) -> Answer {
    let start = optional(stack, 2)?;
    unpack_from(stack, 1, start)
}

/// Unpacks so many values, and says where the next one begins.
pub fn unpack_limit(stack: &mut Stack<'_>) -> Answer {
    let limit = to_i32(stack.number_argument(2)?);
    let start = optional(stack, 3)?;
    unpack_from(stack, limit, start)
}

fn optional(stack: &mut Stack<'_>, index: i32) -> Result<i32, Failure> {
    if index > stack.arguments() || stack.kind(index) == Kind::Nil {
        return Ok(0);
    }
    Ok(to_i32(stack.number_argument(index)?))
}

fn unpack_from(stack: &mut Stack<'_>, limit: i32, start: i32) -> Answer {
    let text = stack.text_argument(1)?;
    let length = text.len();
    let (Ok(from), true) = (usize::try_from(start), limit >= 0) else {
        return Err(stack.fail(format_args!(
            "Invalid request to unpack with offset of {start} and limit of {length}."
        )));
    };
    if from > length {
        return Err(
            stack.fail(format_args!("Start offset {start} greater than input length {length}."))
        );
    }
    let is_all = limit == 0 && start == 0;
    let limit = if is_all { i32::MAX } else { limit };
    let mut input = Input { text, at: from };
    if !is_all {
        // The place where the next value begins stands before the values.
        stack.push_number(0.0);
    }
    let place = stack.top();
    let mut count = 0;
    while input.at < length && count < limit {
        if !stack.reserve(2) {
            return Err(stack.fail(format_args!(
                "stack overflow (too many return values at once; \
                 use unpack_one or unpack_limit instead.)"
            )));
        }
        push_value(stack, &mut input)?;
        count += 1;
    }
    if is_all {
        return Ok(count);
    }
    #[expect(clippy::cast_precision_loss, reason = "texts are far shorter than 2^53")]
    let next = if input.at == length { -1.0 } else { input.at as f64 };
    stack.push_number(next);
    stack.replace(place);
    Ok(count + 1)
}

/// Pushes the next value, with everything in it.
fn push_value(stack: &mut Stack<'_>, input: &mut Input<'_>) -> Result<(), Failure> {
    stack.core().levels.clear();
    loop {
        stack.count_value();
        let is_whole = match push_item(stack, input)? {
            Some(level) => open(stack, level)?,
            None => true,
        };
        if !wants_more(stack, is_whole) {
            return Ok(());
        }
    }
}

/// Begins a table, which is not whole yet.
fn open(stack: &mut Stack<'_>, level: Level) -> Result<bool, Failure> {
    stack.push_table(0, 0);
    if !stack.reserve(2) {
        let what = if level.shape == Shape::Map { "hash" } else { "array" };
        return Err(
            stack.fail(format_args!("stack overflow (in function mp_decode_to_lua_{what})"))
        );
    }
    stack.core().levels.push(level);
    Ok(false)
}

/// Puts a whole value into the table below it, which may be whole then, and so on; returns true
/// if a table wants another value.
fn wants_more(stack: &mut Stack<'_>, mut is_whole: bool) -> bool {
    loop {
        let Some(level) = stack.core().levels.last_mut() else { return false };
        if is_whole {
            if level.shape == Shape::Map && !level.has_key {
                level.has_key = true;
                return true;
            }
            level.has_key = false;
            level.left -= 1;
            let table = stack.top() - 2;
            stack.raw_set(table);
        }
        let Some(level) = stack.core().levels.last_mut() else { return false };
        if level.left > 0 {
            if level.shape == Shape::Array {
                level.place += 1;
                let place = f64::from(level.place);
                stack.push_number(place);
            }
            return true;
        }
        stack.core().levels.pop();
        is_whole = true;
    }
}

/// Pushes a value without others in it, or returns the table that begins.
fn push_item(stack: &mut Stack<'_>, input: &mut Input<'_>) -> Result<Option<Level>, Failure> {
    let Some(sign) = input.unsigned(1) else { return Err(missing(stack)) };
    let length_bytes = [1, 2, 4, 8][narrow::to_usize(sign & 3)];
    let number = match sign {
        0x00..0x80 => Some(to_double(sign.cast_signed())),
        0x80..0x90 => return Ok(Some(Level::new(sign & 15, Shape::Map))),
        0x90..0xA0 => return Ok(Some(Level::new(sign & 15, Shape::Array))),
        0xA0..0xC0 => return push_text(stack, input, Some(sign & 31)),
        0xC0 => {
            stack.push_nil();
            return Ok(None);
        }
        0xC2 | 0xC3 => {
            stack.push_boolean(sign == 0xC3);
            return Ok(None);
        }
        0xCA => input.unsigned(4).map(|bits| f64::from(f32::from_bits(narrow::low_u32(bits)))),
        0xCB => input.unsigned(8).map(f64::from_bits),
        // Eight bytes without a sign are read with one.
        0xCC..=0xCF => input.unsigned(length_bytes).map(|bits| to_double(bits.cast_signed())),
        0xD0..=0xD3 => input.signed(length_bytes).map(to_double),
        0xD9..=0xDB => {
            let length = input.unsigned([1, 2, 4][narrow::to_usize(sign - 0xD9)]);
            return push_text(stack, input, length);
        }
        0xDC..=0xDF => {
            let Some(count) = input.unsigned(if sign & 1 == 0 { 2 } else { 4 }) else {
                return Err(missing(stack));
            };
            let shape = if sign >= 0xDE { Shape::Map } else { Shape::Array };
            return Ok(Some(Level::new(count, shape)));
        }
        0xE0..=0xFF => Some(to_double(sign.cast_signed() - 0x100)),
        _ => return Err(stack.fail(format_args!("Bad data format in input."))),
    };
    let Some(number) = number else { return Err(missing(stack)) };
    stack.push_number(number);
    Ok(None)
}

fn push_text(
    stack: &mut Stack<'_>,
    input: &mut Input<'_>,
    length: Option<u64>,
) -> Result<Option<Level>, Failure> {
    let Some(text) = length.and_then(|length| input.take(narrow::to_usize(length))) else {
        return Err(missing(stack));
    };
    stack.push_text(text);
    Ok(None)
}

fn missing(stack: &mut Stack<'_>) -> Failure {
    stack.fail(format_args!("Missing bytes in input."))
}

#[expect(clippy::cast_precision_loss, reason = "Lua's numbers are doubles")]
fn to_double(value: i64) -> f64 {
    value as f64
}

/// Bytes that are read one behind the other.
struct Input<'call> {
    text: &'call [u8],
    at: usize,
}

impl<'call> Input<'call> {
    fn take(&mut self, count: usize) -> Option<&'call [u8]> {
        let bytes = self.text.get(self.at..)?.get(..count)?;
        self.at += count;
        Some(bytes)
    }

    fn unsigned(&mut self, count: usize) -> Option<u64> {
        let bytes = self.take(count)?;
        Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn signed(&mut self, count: usize) -> Option<i64> {
        let spare = u32::try_from(64 - count * 8).unwrap_or(0);
        Some((self.unsigned(count)? << spare).cast_signed() >> spare)
    }
}
