//! Values as MessagePack. Metatables do not run.

use narrow::{low_u8, low_u16, low_u32};

use crate::failure::{Answer, Failure};
use crate::number::to_i64;
use crate::stack::{Kind, Stack};

/// Packs all arguments, one behind the other.
pub fn pack(stack: &mut Stack<'_>) -> Answer {
    if stack.arguments() == 0 {
        return Err(Failure::Argument(0, "MessagePack pack needs input."));
    }
    if !stack.reserve(stack.arguments()) {
        return Err(Failure::Argument(0, "Too many arguments for MessagePack pack."));
    }
    stack.core().scratch.clear();
    for index in 1..=stack.arguments() {
        stack.push_copy(index);
        append(stack, 0)?;
        stack.pop(1);
    }
    stack.push_scratch(0);
    Ok(1)
}

/// Appends the value on the top. What has no form is nil, and so are tables that nest too deep.
fn append(stack: &mut Stack<'_>, depth: u32) -> Result<(), Failure> {
    stack.count_value();
    stack.reserve_scratch(NUMBER_BYTES)?;
    match stack.kind(-1) {
        Kind::Text => append_text(stack),
        Kind::Boolean => {
            let byte = if stack.is_true(-1) { 0xC3 } else { 0xC2 };
            stack.core().scratch.push(byte);
            Ok(())
        }
        Kind::Number => {
            let value = stack.number(-1);
            push_number(&mut stack.core().scratch, value);
            Ok(())
        }
        Kind::Table if depth < DEPTH_MAX => append_table(stack, depth + 1),
        _ => {
            stack.core().scratch.push(0xC0);
            Ok(())
        }
    }
}

fn append_text(stack: &mut Stack<'_>) -> Result<(), Failure> {
    let length = stack.length(-1);
    stack.reserve_scratch(length.saturating_add(NUMBER_BYTES))?;
    stack.read_text(-1, |text, core| {
        let out = &mut core.scratch;
        match text.len() as u64 {
            length @ 0..32 => out.push(0xA0 | low_u8(length)),
            length @ 32..0x100 => out.extend([0xD9, low_u8(length)]),
            length => push_length(out, 0xDA, length),
        }
        out.extend_from_slice(text);
    });
    Ok(())
}

fn append_table(stack: &mut Stack<'_>, depth: u32) -> Result<(), Failure> {
    if !stack.reserve(SLOTS) {
        return Err(stack.fail(format_args!("stack overflow (in function mp_encode_lua_table)")));
    }
    let table = stack.top();
    let (count, is_array) = shape(stack, table);
    let out = &mut stack.core().scratch;
    match (count, is_array) {
        (0..16, true) => out.push(0x90 | low_u8(count)),
        (_, true) => push_length(out, 0xDC, count),
        (0..16, false) => out.push(0x80 | low_u8(count)),
        (_, false) => push_length(out, 0xDE, count),
    }
    if is_array {
        for (place, _) in (1..).zip(0..count) {
            stack.raw_element(table, place);
            append(stack, depth)?;
            stack.pop(1);
        }
        return Ok(());
    }
    stack.push_nil();
    while stack.next(table) {
        stack.push_copy(-2);
        append(stack, depth)?;
        stack.pop(1);
        append(stack, depth)?;
        stack.pop(1);
    }
    Ok(())
}

/// Returns the number of fields, and whether their keys are all whole numbers from 1 to that.
fn shape(stack: &mut Stack<'_>, table: i32) -> (u64, bool) {
    let (mut count, mut longest, mut is_array) = (0, 0, true);
    stack.push_nil();
    while stack.next(table) {
        let key = if stack.kind(-2) == Kind::Number { stack.number(-2) } else { 0.0 };
        is_array &= key > 0.0 && key <= f64::from(i32::MAX) && key.trunc() == key;
        longest = longest.max(to_i64(key).cast_unsigned());
        count += 1;
        stack.pop(1);
    }
    (count, is_array && count == longest)
}

fn push_number(out: &mut Vec<u8>, value: f64) {
    let whole = to_i64(value);
    #[expect(clippy::cast_precision_loss, reason = "what is no i64 differs behind the way back")]
    let is_whole = whole as f64 == value;
    #[expect(clippy::cast_possible_truncation, reason = "what is lost is looked for")]
    let single = value as f32;
    if is_whole {
        push_integer(out, whole);
    } else if f64::from(single) == value {
        out.push(0xCA);
        out.extend(single.to_be_bytes());
    } else {
        out.push(0xCB);
        out.extend(value.to_be_bytes());
    }
}

fn push_integer(out: &mut Vec<u8>, value: i64) {
    let bits = value.cast_unsigned();
    match value {
        -0x20..0x80 => out.push(low_u8(bits)),
        0x80..0x100 => out.extend([0xCC, low_u8(bits)]),
        0x100..0x1_0000 => push_u16(out, 0xCD, bits),
        0x1_0000..0x1_0000_0000 => push_u32(out, 0xCE, bits),
        0x1_0000_0000.. => push_u64(out, 0xCF, bits),
        -0x80..-0x20 => out.extend([0xD0, low_u8(bits)]),
        -0x8000..-0x80 => push_u16(out, 0xD1, bits),
        -0x8000_0000..-0x8000 => push_u32(out, 0xD2, bits),
        _ => push_u64(out, 0xD3, bits),
    }
}

/// Appends a length in two bytes behind `sign`, or in four behind the next one.
fn push_length(out: &mut Vec<u8>, sign: u8, length: u64) {
    if length <= 0xFFFF { push_u16(out, sign, length) } else { push_u32(out, sign + 1, length) }
}

fn push_u16(out: &mut Vec<u8>, sign: u8, bits: u64) {
    out.push(sign);
    out.extend(low_u16(bits).to_be_bytes());
}

fn push_u32(out: &mut Vec<u8>, sign: u8, bits: u64) {
    out.push(sign);
    out.extend(low_u32(bits).to_be_bytes());
}

fn push_u64(out: &mut Vec<u8>, sign: u8, bits: u64) {
    out.push(sign);
    out.extend(bits.to_be_bytes());
}

/// Levels of tables that are packed.
const DEPTH_MAX: u32 = 16;

/// Values that a level has on the stack at once.
const SLOTS: i32 = 6;

/// Longest form of a number, and of a length.
const NUMBER_BYTES: usize = 9;
