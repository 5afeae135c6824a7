//! What an interpreter keeps beside Lua: the host of the run, and every buffer that grows.

use std::ffi::CStr;
use std::fmt;
use std::os::raw::{c_char, c_int};
use std::ptr::NonNull;

use crate::host::{Host, Protocol};
use crate::memory::Memory;
use crate::random::Random;
use crate::registered::{Environment, Registered};

/// State of an interpreter that its functions find again from Lua's state.
#[repr(C)]
pub struct Core {
    /// Account of Lua's allocations. Stands first: Lua knows the core by its address.
    pub memory: Memory,
    /// Host of the run; none between runs.
    pub host: Option<NonNull<dyn Host>>,
    /// Form of replies that the script asked for.
    pub protocol: Protocol,
    /// Why the run is ended, once it is.
    pub end_text: Option<&'static str>,
    /// Where the error was raised that ends the run.
    pub place: Place,
    /// Text of the error that a function ends with.
    pub message: Message,
    /// What a codec writes.
    pub scratch: Vec<u8>,
    /// Arguments of the command that is called, valid during the call only.
    pub arguments: Vec<&'static [u8]>,
    /// Text of the numbers among them.
    pub numbers: Vec<u8>,
    /// Reply of the command.
    pub reply: Vec<u8>,
    /// Tables that are filled or written, from the outermost one.
    pub levels: Vec<Level>,
    pub random: Random,
    /// Reference of the function that runs another with its keys and arguments.
    pub runner: c_int,
    /// Reference of the function that notes where an error was raised.
    pub error_handler: c_int,
    /// References of the tables `KEYS` and `ARGV`, in an interpreter for scripts.
    pub given: [c_int; 2],
    /// Tables of libraries, in an interpreter for them.
    pub environment: Option<Environment>,
    /// True while the source of a library runs.
    pub is_loading: bool,
    /// Functions that it has registered.
    pub registered: Vec<Registered>,
}

/// Table that is being filled, or written.
#[derive(Clone, Copy)]
pub struct Level {
    /// Elements or fields: those that are missing, or all that are written.
    pub left: u32,
    /// Place of the last element that was dealt with, counted from 1.
    pub place: u32,
    pub shape: Shape,
    /// True while the key of the next field, or the value of a written one, lies on the stack.
    pub has_key: bool,
}

/// What a table is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Array,
    Map,
    Set,
}

impl Level {
    /// Returns a table of so many elements or fields.
    pub fn new(count: u64, shape: Shape) -> Self {
        Level { left: narrow::low_u32(count), place: 0, shape, has_key: false }
    }
}

impl Core {
    /// Returns a core of which nobody uses anything yet.
    pub fn new(memory_limit: usize) -> Self {
        Core {
            memory: Memory::new(memory_limit),
            host: None,
            protocol: Protocol::Resp2,
            end_text: None,
            place: Place::default(),
            message: Message::default(),
            scratch: Vec::new(),
            arguments: Vec::new(),
            numbers: Vec::new(),
            reply: Vec::new(),
            levels: Vec::new(),
            random: Random::first(),
            runner: 0,
            error_handler: 0,
            given: [0; 2],
            environment: None,
            is_loading: false,
            registered: Vec::new(),
        }
    }

    /// Returns the bytes that the buffers take.
    pub fn buffer_bytes(&self) -> usize {
        let slices = self.arguments.capacity() * size_of::<&[u8]>();
        let bytes = [&self.scratch, &self.numbers, &self.reply, &self.message.0];
        slices + bytes.iter().map(|buffer| buffer.capacity()).sum::<usize>()
    }

    /// Gives back what a large value made the buffers grow by.
    pub fn trim_buffers(&mut self) {
        for buffer in [&mut self.scratch, &mut self.numbers, &mut self.reply] {
            if buffer.capacity() > BUFFER_KEPT_BYTES {
                *buffer = Vec::new();
            }
        }
        if self.message.0.capacity() > BUFFER_KEPT_BYTES {
            self.message = Message::default();
        }
    }
}

/// Line of a chunk.
#[derive(Default)]
pub struct Place {
    /// Name of the chunk with its first sign, or its source; empty for no place.
    pub source: Vec<u8>,
    pub line: i32,
}

/// Text of an error, put together before it is raised.
#[derive(Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// Removes the text.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Appends bytes.
    pub fn append(&mut self, text: &[u8]) {
        self.0.extend_from_slice(text);
    }

    /// Returns the text.
    pub fn text(&self) -> &[u8] {
        &self.0
    }

    /// Ends the text with a zero byte, as C wants it.
    pub fn end(&mut self) {
        self.0.push(0);
    }

    /// Returns where the text begins.
    pub fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }
}

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Tables that a script is given: its keys and its arguments.
pub const GIVEN: [&CStr; 2] = [c"KEYS", c"ARGV"];

/// Room that a buffer keeps between runs.
const BUFFER_KEPT_BYTES: usize = 64 << 10;
