//! Formats: one option behind the other, with sizes.

use crate::failure::Failure;
use crate::stack::Stack;

/// Reader of a format, and what its options have set so far.
pub struct Format<'call> {
    text: &'call [u8],
    at: usize,
    pub is_big_endian: bool,
    alignment: usize,
}

/// Option of a format.
#[derive(Clone, Copy)]
pub struct Item {
    pub option: u8,
    /// Bytes of the value; 0 where the value says it, and for options without one.
    pub size: usize,
}

impl<'call> Format<'call> {
    /// Returns a reader of the first argument, which ends at a zero byte.
    pub fn of(stack: &mut Stack<'call>) -> Result<Self, Failure> {
        let text = stack.text_argument(1)?;
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Ok(Format { text: &text[..end], at: 0, is_big_endian: false, alignment: 1 })
    }

    /// Reads the next option.
    pub fn next(&mut self, stack: &mut Stack<'_>) -> Result<Option<Item>, Failure> {
        let Some(&option) = self.text.get(self.at) else { return Ok(None) };
        self.at += 1;
        let size = match option {
            b'b' | b'B' | b'x' => 1,
            b'h' | b'H' => 2,
            b'f' => 4,
            b'l' | b'L' | b'T' | b'd' => 8,
            b'c' => self.number(stack, 1)?,
            b'i' | b'I' => {
                let size = self.number(stack, 4)?;
                if size > INTEGER_BYTES_MAX {
                    return Err(stack.fail(format_args!(
                        "integral size {size} is larger than limit of {INTEGER_BYTES_MAX}"
                    )));
                }
                size
            }
            _ => 0,
        };
        Ok(Some(Item { option, size }))
    }

    /// Obeys an option that has no value.
    pub fn control(&mut self, stack: &mut Stack<'_>, option: u8) -> Result<(), Failure> {
        match option {
            b' ' => {}
            b'>' => self.is_big_endian = true,
            b'<' => self.is_big_endian = false,
            b'!' => {
                let alignment = self.number(stack, ALIGNMENT_DEFAULT)?;
                if !alignment.is_power_of_two() {
                    let text = format_args!("alignment {alignment} is not a power of 2");
                    return Err(stack.fail(text));
                }
                self.alignment = alignment;
            }
            _ => {
                let message = &mut stack.core().message;
                message.clear();
                message.append(b"invalid format option '");
                message.append(&[option]);
                message.append(b"'");
                return Err(Failure::ArgumentMessage(1));
            }
        }
        Ok(())
    }

    /// Returns the bytes to leave out before a value at this distance from the start.
    pub fn padding(&self, at: usize, item: Item) -> usize {
        if item.size == 0 || item.option == b'c' {
            return 0;
        }
        // Of a size that is no power of two, only some bits count: that is how C has it.
        let size = item.size.min(self.alignment);
        size.wrapping_sub(at & (size - 1)) & (size - 1)
    }

    fn number(&mut self, stack: &mut Stack<'_>, default: usize) -> Result<usize, Failure> {
        let start = self.at;
        let mut number = 0;
        while let Some(digit @ b'0'..=b'9') = self.text.get(self.at) {
            number = number * 10 + usize::from(digit - b'0');
            if number > NUMBER_MAX {
                return Err(stack.fail(format_args!("integral size overflow")));
            }
            self.at += 1;
        }
        Ok(if self.at == start { default } else { number })
    }
}

/// Largest number in a format.
const NUMBER_MAX: usize = 2_147_483_647;

/// Longest whole number.
const INTEGER_BYTES_MAX: usize = 32;

/// Alignment of `!` without a number.
const ALIGNMENT_DEFAULT: usize = 8;
