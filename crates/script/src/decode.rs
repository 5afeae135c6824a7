//! Replies of commands as values of Lua.
//!
//! The bytes lie in the core's buffer, where the host has written them: its frames are gone by the
//! time that a value is made, so Lua may jump out of here.

use text::{parse_f64_bound, parse_i64};

use crate::counted::COUNTED_FIELD;
use crate::failure::Failure;
use crate::stack::Stack;

/// What a reply was.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    Value,
    Error,
}

/// Reader of one reply.
pub struct Decoder<'stack, 'call> {
    stack: &'stack mut Stack<'call>,
    at: usize,
    depth: u32,
}

impl<'stack, 'call> Decoder<'stack, 'call> {
    /// Returns a reader of the reply in the core.
    pub fn new(stack: &'stack mut Stack<'call>) -> Self {
        Decoder { stack, at: 0, depth: 0 }
    }

    /// Pushes the next value of the reply. Attributes are passed over.
    pub fn push(&mut self) -> Result<Pushed, Failure> {
        // The outermost value has the room that each function has.
        if self.depth > 0 && (self.depth > DEPTH_MAX || !self.stack.reserve(SLOTS)) {
            return Err(self.stack.fail(format_args!("reply nests too deep")));
        }
        let Some((kind, line)) = self.line() else { return Err(self.broken()) };
        match kind {
            b':' => {
                let number = parse_i64(self.text(line)).unwrap_or(0);
                #[expect(clippy::cast_precision_loss, reason = "Lua's numbers are doubles")]
                self.stack.push_number(number as f64);
            }
            b'$' => self.push_bulk(line)?,
            b'+' => self.push_field("ok", line),
            b'-' => {
                self.push_error(line);
                return Ok(Pushed::Error);
            }
            b'*' | b'>' => self.push_array(line)?,
            b'_' => self.stack.push_nil(),
            b'#' => {
                let is_true = self.text(line) == b"t";
                self.stack.push_boolean(is_true);
            }
            b',' => self.push_double(line),
            b'(' => self.push_field("big_number", line),
            b'=' => self.push_verbatim(line)?,
            b'%' => self.push_map(line)?,
            b'~' => self.push_set(line)?,
            b'|' => return self.pass_attribute(line),
            _ => return Err(self.broken()),
        }
        Ok(Pushed::Value)
    }

    fn push_bulk(&mut self, line: (usize, usize)) -> Result<(), Failure> {
        let Some(length) = self.length(line) else {
            self.stack.push_boolean(false);
            return Ok(());
        };
        let (start, end) = self.block(length)?;
        self.push_bytes(start, end);
        Ok(())
    }

    fn push_array(&mut self, line: (usize, usize)) -> Result<(), Failure> {
        let Some(count) = self.length(line) else {
            self.stack.push_boolean(false);
            return Ok(());
        };
        self.stack.push_table(count, 0);
        let table = self.stack.top();
        self.depth += 1;
        for (_, place) in (0..count).zip(1..) {
            self.push()?;
            self.stack.raw_set_element(table, place);
        }
        self.depth -= 1;
        Ok(())
    }

    fn push_map(&mut self, line: (usize, usize)) -> Result<(), Failure> {
        let count = self.length(line).unwrap_or(0);
        self.open("map", count);
        let table = self.stack.top();
        for _ in 0..count {
            self.push()?;
            self.push()?;
            self.stack.raw_set(table);
        }
        self.close();
        Ok(())
    }

    fn push_set(&mut self, line: (usize, usize)) -> Result<(), Failure> {
        let count = self.length(line).unwrap_or(0);
        self.open("set", count);
        let table = self.stack.top();
        for _ in 0..count {
            self.push()?;
            self.stack.push_boolean(true);
            self.stack.raw_set(table);
        }
        self.close();
        Ok(())
    }

    /// Pushes a table, the name of its only field, and the table that this will be.
    fn open(&mut self, name: &str, count: usize) {
        self.depth += 1;
        self.stack.push_table(0, 1);
        self.stack.push_text(name.as_bytes());
        self.stack.push_table(0, count);
    }

    fn close(&mut self) {
        let table = self.stack.top() - 2;
        self.stack.raw_set(table);
        self.depth -= 1;
    }

    fn push_double(&mut self, line: (usize, usize)) {
        let value = match self.text(line) {
            b"nan" => f64::NAN,
            text => parse_f64_bound(text).unwrap_or(0.0),
        };
        self.stack.push_table(0, 1);
        self.stack.push_text(b"double");
        self.stack.push_number(value);
        let table = self.stack.top() - 2;
        self.stack.raw_set(table);
    }

    fn push_verbatim(&mut self, line: (usize, usize)) -> Result<(), Failure> {
        let length = self.length(line).unwrap_or(0);
        let (start, end) = self.block(length)?;
        if length < FORMAT_BYTES + 1 {
            return Err(self.broken());
        }
        self.open("verbatim_string", 2);
        let table = self.stack.top();
        for (name, from, to) in
            [("format", start, start + FORMAT_BYTES), ("string", start + FORMAT_BYTES + 1, end)]
        {
            self.stack.push_text(name.as_bytes());
            self.push_bytes(from, to);
            self.stack.raw_set(table);
        }
        self.close();
        Ok(())
    }

    /// Pushes the table of an error that the host has counted.
    fn push_error(&mut self, line: (usize, usize)) {
        self.push_field("err", line);
        let table = self.stack.top();
        self.stack.push_text(COUNTED_FIELD.as_bytes());
        self.stack.push_boolean(true);
        self.stack.raw_set(table);
    }

    fn push_field(&mut self, name: &str, (start, end): (usize, usize)) {
        self.stack.push_table(0, 1);
        self.stack.push_text(name.as_bytes());
        self.push_bytes(start, end);
        let table = self.stack.top() - 2;
        self.stack.raw_set(table);
    }

    fn pass_attribute(&mut self, line: (usize, usize)) -> Result<Pushed, Failure> {
        self.depth += 1;
        for _ in 0..self.length(line).unwrap_or(0).saturating_mul(2) {
            self.push()?;
            self.stack.pop(1);
        }
        self.depth -= 1;
        self.push()
    }

    fn push_bytes(&mut self, start: usize, end: usize) {
        self.stack.push_reply(start, end);
    }

    /// Returns the kind of the next value and where the rest of its line lies.
    #[inline]
    fn line(&mut self) -> Option<(u8, (usize, usize))> {
        let reply = &self.stack.core().reply;
        let rest = reply.get(self.at..)?;
        let kind = *rest.first()?;
        let length = rest.iter().position(|&byte| byte == b'\r')?;
        let line = (self.at + 1, self.at + length);
        self.at = line.1 + 2;
        Some((kind, line))
    }

    #[inline]
    fn text(&mut self, (start, end): (usize, usize)) -> &[u8] {
        &self.stack.core().reply[start..end]
    }

    /// Returns a length, or `None` for the null of RESP2.
    fn length(&mut self, line: (usize, usize)) -> Option<usize> {
        usize::try_from(parse_i64(self.text(line))?).ok()
    }

    /// Passes over a block of bytes and the end of its line, and returns where the bytes lie.
    fn block(&mut self, length: usize) -> Result<(usize, usize), Failure> {
        let start = self.at;
        let end = start.checked_add(length).and_then(|end| end.checked_add(2));
        match end.filter(|&end| end <= self.stack.core().reply.len()) {
            Some(end) => {
                self.at = end;
                Ok((start, end - 2))
            }
            None => Err(self.broken()),
        }
    }

    fn broken(&mut self) -> Failure {
        self.stack.fail(format_args!("the reply of the command is incomplete"))
    }
}

/// Values that a level of a reply has on the stack at once.
const SLOTS: i32 = 8;

/// Levels of a reply: more than any command has, and few enough for the thread's stack.
const DEPTH_MAX: u32 = 1000;

/// Length of the format before a verbatim text.
const FORMAT_BYTES: usize = 3;
