//! `struct.pack`: values to bytes.

use super::format::{Format, Item};
use crate::failure::{Answer, Failure};
use crate::number::to_u64;
use crate::stack::{Kind, Stack};

pub fn pack(stack: &mut Stack<'_>) -> Answer {
    let mut format = Format::of(stack)?;
    stack.core().scratch.clear();
    let mut index = 2;
    // The bytes that the format counts, which are those that were written.
    while let Some(item) = format.next(stack)? {
        let padding = format.padding(stack.core().scratch.len(), item);
        stack.reserve_scratch(padding + item.size)?;
        let end = stack.core().scratch.len() + padding;
        stack.core().scratch.resize(end, 0);
        match item.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let value = number(stack, index)?;
                push_integer(&mut stack.core().scratch, value, item.size, format.is_big_endian);
            }
            b'x' => {
                stack.core().scratch.push(0);
                continue;
            }
            b'f' => {
                let value = number(stack, index)?;
                let mut bytes = to_single(value).to_le_bytes();
                push_bytes(stack, &mut bytes, format.is_big_endian);
            }
            b'd' => {
                let mut bytes = number(stack, index)?.to_le_bytes();
                push_bytes(stack, &mut bytes, format.is_big_endian);
            }
            b'c' | b's' => push_text(stack, index, item)?,
            option => {
                format.control(stack, option)?;
                continue;
            }
        }
        index += 1;
    }
    stack.push_scratch(0);
    Ok(1)
}

fn push_text(stack: &mut Stack<'_>, index: i32, item: Item) -> Result<(), Failure> {
    if index > stack.arguments() {
        return Err(missing(stack, index, "string"));
    }
    let text = stack.text_argument(index)?;
    let size = if item.size == 0 { text.len() } else { item.size };
    let Some(text) = text.get(..size) else {
        return Err(Failure::Argument(index + 1, "string too short"));
    };
    stack.reserve_scratch(size + 1)?;
    let scratch = &mut stack.core().scratch;
    scratch.extend_from_slice(text);
    if item.option == b's' {
        scratch.push(0);
    }
    Ok(())
}

fn number(stack: &mut Stack<'_>, index: i32) -> Result<f64, Failure> {
    if index > stack.arguments() {
        return Err(missing(stack, index, "number"));
    }
    stack.number_argument(index)
}

/// Returns the failure of an argument that is not there, which counts as nil.
fn missing(stack: &mut Stack<'_>, index: i32, expected: &str) -> Failure {
    debug_assert_eq!(stack.kind(index), Kind::None);
    stack.fail_argument(index, format_args!("{expected} expected, got nil"))
}

/// Appends the low bytes of a number; behind eight of them stand zeros, also of one below zero.
fn push_integer(out: &mut Vec<u8>, value: f64, size: usize, is_big_endian: bool) {
    let value = if value < 0.0 { to_i64_bits(value) } else { to_u64(value) };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    let bytes = &mut bytes[..size];
    if is_big_endian {
        bytes.reverse();
    }
    out.extend_from_slice(bytes);
}

fn to_i64_bits(value: f64) -> u64 {
    crate::number::to_i64(value).cast_unsigned()
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
fn to_single(value: f64) -> f32 {
    value as f32
}

fn push_bytes(stack: &mut Stack<'_>, bytes: &mut [u8], is_big_endian: bool) {
    if is_big_endian {
        bytes.reverse();
    }
    stack.core().scratch.extend_from_slice(bytes);
}
