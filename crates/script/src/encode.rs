//! What a script returns, as a reply.

use text::{write_f64, write_i64};

use crate::call::host;
use crate::core::{Level, Shape};
use crate::counted::is_counted;
use crate::host::Protocol;
use crate::number::to_i64;
use crate::stack::{Kind, Stack};

/// Writer of one reply. Fields are read raw: metatables do not run.
pub struct Encoder<'run, 'call> {
    stack: &'run mut Stack<'call>,
    reply: &'run mut Vec<u8>,
    client: Protocol,
    script: Protocol,
    /// Bytes that the reply may have.
    limit: usize,
}

impl<'run, 'call> Encoder<'run, 'call> {
    /// Returns a writer in the client's protocol, for a script that has chosen another or not.
    pub fn new(
        stack: &'run mut Stack<'call>,
        reply: &'run mut Vec<u8>,
        client: Protocol,
        script: Protocol,
    ) -> Self {
        let limit = reply.len().saturating_add(stack.core().memory.limit());
        Encoder { stack, reply, client, script, limit }
    }

    /// Writes the value on the top, and pops it. Nothing here calls itself: levels of tables lie in
    /// the core, so a table may nest as deep as Lua's stack allows.
    ///
    /// # Errors
    /// Where the reply takes more memory than the script may.
    pub fn encode(&mut self) -> Result<(), ReplyTooLarge> {
        self.stack.core().levels.clear();
        self.write_value();
        while let Some(&level) = self.stack.core().levels.last() {
            if self.reply.len() > self.limit {
                return Err(ReplyTooLarge);
            }
            if self.push_next(level) {
                self.write_value();
            } else {
                self.stack.core().levels.pop();
                // A map or a set lies above the table that has it as its field.
                (0..if level.shape == Shape::Array { 1 } else { 2 }).for_each(|_| self.drop_top());
            }
        }
        Ok(())
    }

    /// Writes the value on the top and pops it, or begins a level for what is in it.
    fn write_value(&mut self) {
        if !self.stack.reserve(SLOTS) {
            self.reply.extend_from_slice(b"-ERR reached lua stack limit\r\n");
            return self.drop_top();
        }
        match self.stack.kind(-1) {
            Kind::Table => return self.write_table(),
            Kind::Text => self.stack.read_text(-1, |text, _| write_bulk(self.reply, text)),
            Kind::Boolean => self.write_boolean(),
            Kind::Number => {
                self.reply.push(b':');
                write_i64(self.reply, to_i64(self.stack.number(-1)));
                self.end_line();
            }
            _ => self.write_null(),
        }
        self.drop_top();
    }

    fn write_table(&mut self) {
        for (name, write) in FORMS {
            let kind = self.stack.raw_field(-1, name);
            let is_written = write(self, kind);
            self.drop_top();
            if is_written {
                return self.drop_top();
            }
        }
        for (name, shape) in [("map", Shape::Map), ("set", Shape::Set)] {
            if self.stack.raw_field(-1, name) == Kind::Table {
                return self.begin_fields(shape);
            }
            self.drop_top();
        }
        for (name, write) in LATER_FORMS {
            let kind = self.stack.raw_field(-1, name);
            let is_written = write(self, kind);
            self.drop_top();
            if is_written {
                return self.drop_top();
            }
        }
        self.begin_array();
    }

    /// Writes the head of the array on the top, which ends at its first nil.
    fn begin_array(&mut self) {
        let table = self.stack.top();
        let mut count = 0;
        while self.stack.raw_element(table, count + 1) != Kind::Nil {
            self.drop_top();
            count += 1;
        }
        self.drop_top();
        let count = count.unsigned_abs();
        self.write_head(b'*', u64::from(count));
        self.stack.core().levels.push(Level::new(u64::from(count), Shape::Array));
    }

    /// Writes the head of the map or set on the top, and pushes what stands before its first key.
    fn begin_fields(&mut self, shape: Shape) {
        let table = self.stack.top();
        let mut count = 0;
        self.stack.push_nil();
        while self.stack.next(table) {
            self.drop_top();
            count += 1;
        }
        match (self.client, shape) {
            (Protocol::Resp2, Shape::Map) => self.write_head(b'*', count * 2),
            (Protocol::Resp2, _) => self.write_head(b'*', count),
            (Protocol::Resp3, Shape::Map) => self.write_head(b'%', count),
            (Protocol::Resp3, _) => self.write_head(b'~', count),
        }
        self.stack.push_nil();
        self.stack.core().levels.push(Level::new(count, shape));
    }

    /// Pushes what comes next in the innermost level; false behind its last value.
    fn push_next(&mut self, level: Level) -> bool {
        let mut after = level;
        let is_there = match level.shape {
            Shape::Array => {
                let table = self.stack.top();
                after.place += 1;
                let is_there = level.place < level.left;
                if is_there {
                    let place = i32::try_from(after.place).unwrap_or(i32::MAX);
                    self.stack.raw_element(table, place);
                }
                is_there
            }
            Shape::Map if level.has_key => {
                // Key and value lie on the stack; the key was written.
                after.has_key = false;
                true
            }
            Shape::Map | Shape::Set => {
                let table = self.stack.top() - 1;
                let is_there = self.stack.next(table);
                if is_there && level.shape == Shape::Set {
                    self.drop_top();
                    self.stack.push_copy(-1);
                } else if is_there {
                    self.stack.push_copy(-2);
                    after.has_key = true;
                }
                is_there
            }
        };
        if let Some(level) = self.stack.core().levels.last_mut() {
            *level = after;
        }
        is_there
    }

    fn write_error(&mut self, kind: Kind) -> bool {
        let is_one = kind == Kind::Text;
        if is_one {
            self.reply.push(b'-');
            let start = self.reply.len();
            self.stack.read_text(-1, |text, _| push_error(self.reply, text));
            let is_counted = is_counted(self.stack, -2);
            if let Some((host, _)) = host(self.stack) {
                host.reply_error(&self.reply[start..], is_counted);
            }
            self.end_line();
        }
        is_one
    }

    fn write_status(&mut self, kind: Kind) -> bool {
        self.write_line_if(kind == Kind::Text, b'+')
    }

    fn write_line_if(&mut self, is_one: bool, sign: u8) -> bool {
        if is_one {
            self.reply.push(sign);
            self.stack.read_text(-1, |text, _| push_line(self.reply, text));
            self.end_line();
        }
        is_one
    }

    fn write_double(&mut self, kind: Kind) -> bool {
        if kind != Kind::Number {
            return false;
        }
        let value = self.stack.number(-1);
        match self.client {
            Protocol::Resp3 => {
                self.reply.push(b',');
                write_f64(self.reply, value);
                self.end_line();
            }
            Protocol::Resp2 => {
                let digits = &mut self.stack.core().numbers;
                digits.clear();
                write_f64(digits, value);
                write_bulk(self.reply, digits);
            }
        }
        true
    }

    fn write_big_number(&mut self, kind: Kind) -> bool {
        if kind != Kind::Text {
            return false;
        }
        if self.client == Protocol::Resp3 {
            return self.write_line_if(true, b'(');
        }
        self.stack.read_text(-1, |text, core| {
            core.numbers.clear();
            push_line(&mut core.numbers, text);
            write_bulk(self.reply, &core.numbers);
        });
        true
    }

    fn write_verbatim(&mut self, kind: Kind) -> bool {
        if kind != Kind::Table {
            return false;
        }
        let format = self.stack.raw_field(-1, "format");
        let text = self.stack.raw_field(-2, "string");
        let is_one = format == Kind::Text && text == Kind::Text;
        if is_one {
            self.write_verbatim_text();
        }
        self.drop_top();
        self.drop_top();
        is_one
    }

    /// Writes the text on the top, in the format below it.
    fn write_verbatim_text(&mut self) {
        if self.client == Protocol::Resp2 {
            return self.stack.read_text(-1, |text, _| write_bulk(self.reply, text));
        }
        let mut format = *b"   ";
        self.stack.read_text(-2, |name, _| {
            let name = name.iter().take_while(|&&byte| byte != 0);
            format.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
        });
        self.stack.read_text(-1, |text, _| {
            self.reply.push(b'=');
            write_length(self.reply, text.len() + format.len() + 1);
            self.reply.extend_from_slice(&format);
            self.reply.push(b':');
            self.reply.extend_from_slice(text);
        });
        self.end_line();
    }

    fn write_boolean(&mut self) {
        let is_true = self.stack.is_true(-1);
        let text: &[u8] = match (self.script, self.client, is_true) {
            (Protocol::Resp2, _, false) => return self.write_null(),
            (Protocol::Resp2, _, true) | (_, Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp3, Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, Protocol::Resp3, false) => b"#f\r\n",
        };
        self.reply.extend_from_slice(text);
    }

    fn write_null(&mut self) {
        self.reply.extend_from_slice(match self.client {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    fn write_head(&mut self, sign: u8, count: u64) {
        self.reply.push(sign);
        write_length(self.reply, narrow::to_usize(count));
    }

    fn end_line(&mut self) {
        self.reply.extend_from_slice(b"\r\n");
    }

    fn drop_top(&mut self) {
        self.stack.pop(1);
    }
}

/// The reply takes more memory than the script may.
#[derive(Clone, Copy, Debug)]
pub struct ReplyTooLarge;

/// Appends a text that must stay on one line: up to a zero byte, its ends of lines as blanks.
pub fn push_line(reply: &mut Vec<u8>, text: &[u8]) {
    let bytes = text.iter().take_while(|&&byte| byte != 0);
    reply.extend(bytes.map(|&byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
}

/// Appends the text of an error, whose last ends of lines do not count.
fn push_error(reply: &mut Vec<u8>, text: &[u8]) {
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let end = text[..end].iter().rposition(|byte| !is_end(byte)).map_or(0, |at| at + 1);
    push_line(reply, &text[..end]);
}

fn write_bulk(reply: &mut Vec<u8>, text: &[u8]) {
    reply.push(b'$');
    write_length(reply, text.len());
    reply.extend_from_slice(text);
    reply.extend_from_slice(b"\r\n");
}

fn write_length(reply: &mut Vec<u8>, length: usize) {
    write_i64(reply, i64::try_from(length).unwrap_or(i64::MAX));
    reply.extend_from_slice(b"\r\n");
}

/// Writes the value on the top as a form of reply, if it is one; does not pop it.
type Form = fn(&mut Encoder<'_, '_>, Kind) -> bool;

/// Fields that make a table another reply than an array; the first one found counts. Between the
/// two lists stand `map` and `set`.
const FORMS: [(&str, Form); 3] = [
    ("err", |encoder, kind| encoder.write_error(kind)),
    ("ok", |encoder, kind| encoder.write_status(kind)),
    ("double", |encoder, kind| encoder.write_double(kind)),
];

/// Fields that count behind `map` and `set`.
const LATER_FORMS: [(&str, Form); 2] = [
    ("big_number", |encoder, kind| encoder.write_big_number(kind)),
    ("verbatim_string", |encoder, kind| encoder.write_verbatim(kind)),
];

/// Values that a level has on the stack at once, besides those that stay.
const SLOTS: i32 = 4;
