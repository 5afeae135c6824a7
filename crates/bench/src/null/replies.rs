//! Constant replies of the null server, in the form of a server that stores data.

use std::fmt::Write as _;

use super::scan::Command;

/// Sizes of the replies.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of a value, in replies to GET.
    pub value_bytes: usize,
    /// Fields of a record, in replies to HGETALL.
    pub fields: usize,
    /// Bytes in each field; HMGET gets one field.
    pub field_bytes: usize,
    /// Keys in replies to ZRANGEBYSCORE.
    pub keys: usize,
}

/// Sizes of YCSB's core workloads, and values of 16 bytes.
impl Default for Shape {
    fn default() -> Self {
        Self { value_bytes: 16, fields: 10, field_bytes: 100, keys: 50 }
    }
}

/// Prepared replies.
#[derive(Clone, Debug)]
pub struct Replies {
    value: String,
    record: String,
    field: String,
    keys: String,
    integer: String,
    status: String,
}

impl Replies {
    /// Creates the same reply, given in wire format, to every command but PING and INFO.
    pub fn always(reply: &str) -> Self {
        let same = || reply.to_owned();
        Self {
            value: same(),
            record: same(),
            field: same(),
            keys: same(),
            integer: same(),
            status: same(),
        }
    }

    /// Creates replies of the given sizes.
    pub fn new(shape: Shape) -> Self {
        let mut record = format!("*{}\r\n", 2 * shape.fields);
        let text = bulk(&"v".repeat(shape.field_bytes));
        for field in 0..shape.fields {
            record += &bulk(&format!("field{field}"));
            record += &text;
        }
        let mut keys = format!("*{}\r\n", shape.keys);
        for key in 0..shape.keys {
            // Writing to a string does not fail.
            let _ = write!(keys, "{}", bulk(&format!("user{key:019}")));
        }
        let value = bulk(&"v".repeat(shape.value_bytes));
        let (integer, status) = (":1\r\n".to_owned(), "+OK\r\n".to_owned());
        Self { value, record, field: format!("*1\r\n{text}"), keys, integer, status }
    }

    /// Returns the reply to a command.
    #[inline]
    pub(super) fn to(&self, command: Command) -> &[u8] {
        match command {
            Command::Get => self.value.as_bytes(),
            Command::Hgetall => self.record.as_bytes(),
            Command::Hmget => self.field.as_bytes(),
            Command::Zadd => self.integer.as_bytes(),
            Command::Zrangebyscore => self.keys.as_bytes(),
            Command::Other => self.status.as_bytes(),
            Command::Search => b"+OK\r\n",
        }
    }
}

impl Default for Replies {
    fn default() -> Self {
        Self::new(Shape::default())
    }
}

/// Returns a bulk string in wire format.
pub fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}
