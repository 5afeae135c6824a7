//! Functions that read and change settings.

use std::os::raw::c_int;

use super::settings::{InvalidNumbers, change, settings};
use crate::failure::{Answer, Failure};
use crate::number::to_i32;
use crate::stack::{Kind, Stack};

pub fn sparse_array(stack: &mut Stack<'_>) -> Answer {
    refuse_more_than(stack, 3)?;
    let mut changed = settings(stack);
    changed.sparse_convert = switch(stack, 1, changed.sparse_convert)?;
    changed.sparse_ratio = whole(stack, 2, changed.sparse_ratio, 0, c_int::MAX)?;
    changed.sparse_safe = whole(stack, 3, changed.sparse_safe, 0, c_int::MAX)?;
    change(stack, changed);
    stack.push_boolean(changed.sparse_convert);
    stack.push_number(f64::from(changed.sparse_ratio));
    stack.push_number(f64::from(changed.sparse_safe));
    Ok(3)
}

pub fn encode_max_depth(stack: &mut Stack<'_>) -> Answer {
    refuse_more_than(stack, 1)?;
    let mut changed = settings(stack);
    changed.encode_max_depth = whole(stack, 1, changed.encode_max_depth, 1, c_int::MAX)?;
    change(stack, changed);
    stack.push_number(f64::from(changed.encode_max_depth));
    Ok(1)
}

pub fn decode_max_depth(stack: &mut Stack<'_>) -> Answer {
    refuse_more_than(stack, 1)?;
    let mut changed = settings(stack);
    changed.decode_max_depth = whole(stack, 1, changed.decode_max_depth, 1, c_int::MAX)?;
    change(stack, changed);
    stack.push_number(f64::from(changed.decode_max_depth));
    Ok(1)
}

pub fn precision(stack: &mut Stack<'_>) -> Answer {
    refuse_more_than(stack, 1)?;
    let mut changed = settings(stack);
    changed.precision = whole(stack, 1, changed.precision, 1, 14)?;
    change(stack, changed);
    stack.push_number(f64::from(changed.precision));
    Ok(1)
}

pub fn keep_buffer(stack: &mut Stack<'_>) -> Answer {
    refuse_more_than(stack, 1)?;
    let mut changed = settings(stack);
    changed.keep_buffer = switch(stack, 1, changed.keep_buffer)?;
    change(stack, changed);
    stack.push_boolean(changed.keep_buffer);
    Ok(1)
}

pub fn encode_invalid_numbers(stack: &mut Stack<'_>) -> Answer {
    refuse_more_than(stack, 1)?;
    let mut changed = settings(stack);
    if !is_left_out(stack, 1) {
        changed.encode_invalid_numbers = match choice(stack, 1, &["off", "on", "null"])? {
            0 => InvalidNumbers::Refused,
            1 => InvalidNumbers::Written,
            _ => InvalidNumbers::Null,
        };
    }
    change(stack, changed);
    match changed.encode_invalid_numbers {
        InvalidNumbers::Null => stack.push_text(b"null"),
        other => stack.push_boolean(other == InvalidNumbers::Written),
    }
    Ok(1)
}

pub fn decode_invalid_numbers(stack: &mut Stack<'_>) -> Answer {
    refuse_more_than(stack, 1)?;
    let mut changed = settings(stack);
    changed.decode_invalid_numbers = switch(stack, 1, changed.decode_invalid_numbers)?;
    change(stack, changed);
    stack.push_boolean(changed.decode_invalid_numbers);
    Ok(1)
}

fn refuse_more_than(stack: &Stack<'_>, count: c_int) -> Result<(), Failure> {
    if stack.arguments() > count {
        return Err(Failure::Argument(count + 1, "found too many arguments"));
    }
    Ok(())
}

fn is_left_out(stack: &Stack<'_>, index: c_int) -> bool {
    index > stack.arguments() || stack.kind(index) == Kind::Nil
}

/// Returns an argument that is true or false, or the value from before where there is none.
fn switch(stack: &mut Stack<'_>, index: c_int, before: bool) -> Result<bool, Failure> {
    if is_left_out(stack, index) {
        return Ok(before);
    }
    Ok(choice(stack, index, &["off", "on"])? == 1)
}

/// Returns the number of a word among `words`; true and false stand for the first two.
fn choice(stack: &mut Stack<'_>, index: c_int, words: &[&str]) -> Result<usize, Failure> {
    if stack.kind(index) == Kind::Boolean {
        return Ok(usize::from(stack.is_true(index)));
    }
    let word = stack.text_argument(index)?;
    let Some(choice) = words.iter().position(|known| known.as_bytes() == word) else {
        return Err(stack.fail_argument_option(index, word));
    };
    Ok(choice)
}

/// Returns an argument within bounds, or the value from before where there is none.
fn whole(
    stack: &mut Stack<'_>,
    index: c_int,
    before: c_int,
    least: c_int,
    most: c_int,
) -> Result<c_int, Failure> {
    if is_left_out(stack, index) {
        return Ok(before);
    }
    let value = to_i32(stack.number_argument(index)?);
    if !(least..=most).contains(&value) {
        let text = format_args!("expected integer between {least} and {most}");
        return Err(stack.fail_argument(1, text));
    }
    Ok(value)
}
