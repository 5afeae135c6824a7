//! `bit`: operations on the low 32 bits of numbers.

use std::ffi::CStr;

use narrow::low_u32;

use crate::failure::{Answer, Failure};
use crate::field::Field;
use crate::stack::{Stack, lua_functions};

/// Fields of the library.
pub const FIELDS: &[(&CStr, Field)] = &[
    (c"tobit", Field::Function(tobit_entry)),
    (c"tohex", Field::Function(tohex_entry)),
    (c"bnot", Field::Function(bnot_entry)),
    (c"band", Field::Function(band_entry)),
    (c"bor", Field::Function(bor_entry)),
    (c"bxor", Field::Function(bxor_entry)),
    (c"lshift", Field::Function(lshift_entry)),
    (c"rshift", Field::Function(rshift_entry)),
    (c"arshift", Field::Function(arshift_entry)),
    (c"rol", Field::Function(rol_entry)),
    (c"ror", Field::Function(ror_entry)),
    (c"bswap", Field::Function(bswap_entry)),
];

lua_functions! {
    tobit_entry = tobit;
    tohex_entry = tohex;
    bnot_entry = bnot;
    band_entry = band;
    bor_entry = bor;
    bxor_entry = bxor;
    lshift_entry = lshift;
    rshift_entry = rshift;
    arshift_entry = arshift;
    rol_entry = rol;
    ror_entry = ror;
    bswap_entry = bswap;
}

fn tobit(stack: &mut Stack<'_>) -> Answer {
    one(stack, |bits| bits)
}

fn bnot(stack: &mut Stack<'_>) -> Answer {
    one(stack, |bits| !bits)
}

fn bswap(stack: &mut Stack<'_>) -> Answer {
    one(stack, u32::swap_bytes)
}

fn band(stack: &mut Stack<'_>) -> Answer {
    all(stack, |bits, other| bits & other)
}

fn bor(stack: &mut Stack<'_>) -> Answer {
    all(stack, |bits, other| bits | other)
}

fn bxor(stack: &mut Stack<'_>) -> Answer {
    all(stack, |bits, other| bits ^ other)
}

fn lshift(stack: &mut Stack<'_>) -> Answer {
    shift(stack, u32::wrapping_shl)
}

fn rshift(stack: &mut Stack<'_>) -> Answer {
    shift(stack, u32::wrapping_shr)
}

fn arshift(stack: &mut Stack<'_>) -> Answer {
    shift(stack, |bits, count| bits.cast_signed().wrapping_shr(count).cast_unsigned())
}

fn rol(stack: &mut Stack<'_>) -> Answer {
    shift(stack, |bits, count| bits.rotate_left(count & 31))
}

fn ror(stack: &mut Stack<'_>) -> Answer {
    shift(stack, |bits, count| bits.rotate_right(count & 31))
}

/// Returns the digits of a number, as many as the second argument says, in capitals if it is below
/// zero.
fn tohex(stack: &mut Stack<'_>) -> Answer {
    let mut bits = argument(stack, 1)?;
    let wanted = match stack.arguments() {
        1 => 8,
        _ => argument(stack, 2)?.cast_signed(),
    };
    let digits = if wanted < 0 { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let count = usize::try_from(wanted.unsigned_abs().min(8)).unwrap_or(8);
    let mut text = [0; 8];
    for place in text[..count].iter_mut().rev() {
        *place = digits[usize::try_from(bits & 15).unwrap_or(0)];
        bits >>= 4;
    }
    stack.push_text(&text[..count]);
    Ok(1)
}

fn one(stack: &mut Stack<'_>, operation: fn(u32) -> u32) -> Answer {
    let bits = argument(stack, 1)?;
    Ok(push(stack, operation(bits)))
}

fn all(stack: &mut Stack<'_>, operation: fn(u32, u32) -> u32) -> Answer {
    let mut bits = argument(stack, 1)?;
    for index in 2..=stack.arguments() {
        bits = operation(bits, argument(stack, index)?);
    }
    Ok(push(stack, bits))
}

fn shift(stack: &mut Stack<'_>, operation: fn(u32, u32) -> u32) -> Answer {
    let (bits, count) = (argument(stack, 1)?, argument(stack, 2)?);
    Ok(push(stack, operation(bits, count)))
}

/// Returns the low bits of a number, rounded to a whole one: the addend moves them to the end of
/// the double's own bits.
fn argument(stack: &mut Stack<'_>, index: i32) -> Result<u32, Failure> {
    let value = stack.number_argument(index)?;
    Ok(low_u32((value + ADDEND).to_bits()))
}

fn push(stack: &mut Stack<'_>, bits: u32) -> i32 {
    stack.push_number(f64::from(bits.cast_signed()));
    1
}

/// 2^52 + 2^51.
const ADDEND: f64 = 6_755_399_441_055_744.0;
