//! What a script returns, as a reply.

use text::{write_f64, write_i64};

use crate::host::Protocol;
use crate::number::to_i64;
use crate::stack::{Kind, Stack};

/// Writer of one reply. Fields are read raw: metatables do not run.
pub struct Encoder<'run, 'call> {
    stack: &'run mut Stack<'call>,
    reply: &'run mut Vec<u8>,
    client: Protocol,
    script: Protocol,
}

impl<'run, 'call> Encoder<'run, 'call> {
    /// Returns a writer in the client's protocol, for a script that has chosen another or not.
    pub fn new(
        stack: &'run mut Stack<'call>,
        reply: &'run mut Vec<u8>,
        client: Protocol,
        script: Protocol,
    ) -> Self {
        Encoder { stack, reply, client, script }
    }

    /// Writes the value on the top, and pops it.
    pub fn encode(&mut self) {
        if !self.stack.reserve(SLOTS) {
            self.reply.extend_from_slice(b"-ERR reached lua stack limit\r\n");
            self.drop_top();
            return;
        }
        match self.stack.kind(-1) {
            Kind::Text => {
                self.stack.read_text(-1, |text, _| write_bulk(self.reply, text));
            }
            Kind::Boolean => self.write_boolean(),
            Kind::Number => {
                self.reply.push(b':');
                write_i64(self.reply, to_i64(self.stack.number(-1)));
                self.end_line();
            }
            Kind::Table => self.write_table(),
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
                return;
            }
        }
        self.write_array();
    }

    fn write_error(&mut self, kind: Kind) -> bool {
        self.write_line_if(kind == Kind::Text, b'-')
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

    fn write_map(&mut self, kind: Kind) -> bool {
        kind == Kind::Table && {
            self.write_fields(b'%', 2, |encoder| {
                encoder.stack.push_copy(-2);
                encoder.encode();
                encoder.encode();
            });
            true
        }
    }

    fn write_set(&mut self, kind: Kind) -> bool {
        kind == Kind::Table && {
            self.write_fields(b'~', 1, |encoder| {
                encoder.drop_top();
                encoder.stack.push_copy(-1);
                encoder.encode();
            });
            true
        }
    }

    /// Writes each field of the table on the top by `write`, which pops the value, not the key.
    fn write_fields(&mut self, sign: u8, parts: usize, write: fn(&mut Self)) {
        let table = self.stack.top();
        let mut count = 0;
        self.stack.push_nil();
        while self.stack.next(table) {
            self.drop_top();
            count += 1;
        }
        match self.client {
            Protocol::Resp3 => self.write_head(sign, count),
            Protocol::Resp2 => self.write_head(b'*', count * parts),
        }
        self.stack.push_nil();
        while self.stack.next(table) {
            write(self);
        }
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

    /// Writes the elements up to the first nil.
    fn write_array(&mut self) {
        let table = self.stack.top();
        let mut count = 0;
        while self.stack.raw_element(table, count + 1) != Kind::Nil {
            self.drop_top();
            count += 1;
        }
        self.drop_top();
        self.write_head(b'*', usize::try_from(count).unwrap_or(0));
        for place in 1..=count {
            self.stack.raw_element(table, place);
            self.encode();
        }
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

    fn write_head(&mut self, sign: u8, count: usize) {
        self.reply.push(sign);
        write_length(self.reply, count);
    }

    fn end_line(&mut self) {
        self.reply.extend_from_slice(b"\r\n");
    }

    fn drop_top(&mut self) {
        self.stack.pop_any();
    }
}

/// Appends a text that must stay on one line: up to a zero byte, its ends of lines as blanks.
pub fn push_line(reply: &mut Vec<u8>, text: &[u8]) {
    let bytes = text.iter().take_while(|&&byte| byte != 0);
    reply.extend(bytes.map(|&byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
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

/// Fields that make a table another reply than an array; the first one found counts.
const FORMS: [(&str, Form); 7] = [
    ("err", |encoder, kind| encoder.write_error(kind)),
    ("ok", |encoder, kind| encoder.write_status(kind)),
    ("double", |encoder, kind| encoder.write_double(kind)),
    ("map", |encoder, kind| encoder.write_map(kind)),
    ("set", |encoder, kind| encoder.write_set(kind)),
    ("big_number", |encoder, kind| encoder.write_big_number(kind)),
    ("verbatim_string", |encoder, kind| encoder.write_verbatim(kind)),
];

/// Values that a level of a table has on the stack at once.
const SLOTS: i32 = 8;
