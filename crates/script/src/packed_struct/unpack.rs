//! `struct.unpack` and `struct.size`: bytes to values, and how many they are.

use super::format::{Format, Item};
use crate::failure::{Answer, Failure};
use crate::number::{to_i64, to_u64};
use crate::stack::{Kind, Stack};

pub fn unpack(stack: &mut Stack<'_>) -> Answer {
    let mut format = Format::of(stack)?;
    let data = stack.text_argument(2)?;
    let mut at = first(stack)?;
    let mut count = 0;
    while let Some(item) = format.next(stack)? {
        at = at.wrapping_add(format.padding(at, item));
        let bytes = block(data, at, item.size)?;
        if !stack.reserve(2) {
            return Err(stack.fail(format_args!("stack overflow (too many results)")));
        }
        let mut size = item.size;
        match item.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let is_signed = item.option.is_ascii_lowercase();
                stack.push_number(integer(bytes, is_signed, format.is_big_endian));
            }
            b'x' => {
                at += size;
                continue;
            }
            b'f' => {
                let bits = unsigned(bytes, format.is_big_endian);
                stack.push_number(f64::from(f32::from_bits(narrow::low_u32(bits))));
            }
            b'd' => {
                stack.push_number(f64::from_bits(unsigned(bytes, format.is_big_endian)));
            }
            b'c' => size = push_counted(stack, data, at, item, &mut count)?,
            b's' => {
                let Some(length) = data[at..].iter().position(|&byte| byte == 0) else {
                    return Err(stack.fail(format_args!("unfinished string in data")));
                };
                stack.push_text(&data[at..at + length]);
                size = length + 1;
            }
            option => {
                format.control(stack, option)?;
                continue;
            }
        }
        count += 1;
        at += size;
    }
    #[expect(clippy::cast_precision_loss, reason = "places are far below 2^53")]
    stack.push_number((at + 1) as f64);
    Ok(count + 1)
}

/// Pushes a text of the item's size, or of the number before it, which it replaces.
fn push_counted(
    stack: &mut Stack<'_>,
    data: &[u8],
    at: usize,
    item: Item,
    count: &mut i32,
) -> Result<usize, Failure> {
    let mut size = item.size;
    if size == 0 {
        if *count == 0 || !stack.is_number(-1) {
            return Err(stack.fail(format_args!("format 'c0' needs a previous size")));
        }
        let wanted = stack.number(-1);
        size = narrow::to_usize(if wanted < 0.0 {
            to_i64(wanted).cast_unsigned()
        } else {
            to_u64(wanted)
        });
        stack.pop(1);
        *count -= 1;
    }
    stack.push_text(block(data, at, size)?);
    Ok(size)
}

pub fn size(stack: &mut Stack<'_>) -> Answer {
    let mut format = Format::of(stack)?;
    let mut at: usize = 0;
    while let Some(item) = format.next(stack)? {
        at += format.padding(at, item);
        match (item.option, item.size) {
            (b's', _) => return Err(Failure::Argument(1, "option 's' has no fixed size")),
            (b'c', 0) => return Err(Failure::Argument(1, "option 'c0' has no fixed size")),
            (option, _) if !option.is_ascii_alphanumeric() => format.control(stack, option)?,
            _ => {}
        }
        at = at.saturating_add(item.size);
    }
    #[expect(clippy::cast_precision_loss, reason = "formats are far shorter than 2^53")]
    stack.push_number(at as f64);
    Ok(1)
}

/// Returns where to begin; places count from one.
fn first(stack: &mut Stack<'_>) -> Result<usize, Failure> {
    if stack.arguments() < 3 || stack.kind(3) == Kind::Nil {
        return Ok(0);
    }
    // A place below zero is far beyond the end.
    match to_i64(stack.number_argument(3)?).cast_unsigned() {
        0 => Err(Failure::Argument(3, "offset must be 1 or greater")),
        place => Ok(narrow::to_usize(place - 1)),
    }
}

fn block(data: &[u8], at: usize, size: usize) -> Result<&[u8], Failure> {
    let end = at.checked_add(size);
    let bytes = end.and_then(|end| data.get(at..end));
    bytes.ok_or(Failure::Argument(2, "data string too short"))
}

#[expect(clippy::cast_precision_loss, reason = "Lua's numbers are doubles")]
fn integer(bytes: &[u8], is_signed: bool, is_big_endian: bool) -> f64 {
    let value = unsigned(bytes, is_big_endian);
    if !is_signed {
        return value as f64;
    }
    let bits = u32::try_from(bytes.len() * 8).unwrap_or(0);
    let mask = u64::MAX.wrapping_shl(bits.wrapping_sub(1));
    let value = if value & mask == 0 { value } else { value | mask };
    value.cast_signed() as f64
}

/// Returns the eight lowest bytes as a number.
fn unsigned(bytes: &[u8], is_big_endian: bool) -> u64 {
    let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    if is_big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}
