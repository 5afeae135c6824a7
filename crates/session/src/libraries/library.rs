//! One library: its source, and the functions that it registers.

use super::metadata;
use crate::refusal::Refusal;
use crate::scripts::Reach;
use script::proof::CallSite;
use script::{
    Call, FunctionFlags, Host, Interpreter, LoadError, LogLevel, Options, Replication, Verdict,
};
use std::sync::OnceLock;

/// Time after which the loading of a library is ended, in nanoseconds.
const LOAD_NANOS_MAX: u64 = 500_000_000;
/// Error of a library that takes longer.
const TIMEOUT: &str = "FUNCTION LOAD timeout";

/// A library that was loaded once, so that it can be loaded again.
#[derive(Debug)]
pub struct Library {
    /// Its name.
    pub name: Vec<u8>,
    /// Its source.
    pub code: Vec<u8>,
    /// Its functions, in the order of their names.
    pub functions: Vec<LibraryFunction>,
    /// Where its first line ends.
    body_at: usize,
    /// True if the name of a command that closes the gate stands in it, once that was looked for.
    closes_gate: OnceLock<bool>,
    /// Where it calls commands, if that can be told.
    call_sites: Option<Vec<CallSite>>,
    /// What its functions may reach, once that was found out.
    reach: OnceLock<Reach>,
}

/// A function of a library.
#[derive(Debug)]
pub struct LibraryFunction {
    /// Its name.
    pub name: Vec<u8>,
    /// What it is for.
    pub description: Option<Vec<u8>>,
    /// What it says of itself.
    pub flags: FunctionFlags,
}

impl Library {
    /// Loads a library in an interpreter that is made for it: what is learned of it are its
    /// functions. `nanos` tells the time that passes.
    ///
    /// # Errors
    /// When it is none, ends with an error, takes long, or registers nothing that can be called.
    pub fn load(
        code: &[u8],
        options: &Options,
        nanos: &dyn Fn() -> u64,
    ) -> Result<Library, Refusal> {
        let (name, body_at) = metadata::read(code)?;
        let lacking = |_| Refusal::of("ERR not enough memory");
        let mut lua = Interpreter::new(options).map_err(lacking)?;
        let mut host = Loading { nanos, until: nanos().saturating_add(LOAD_NANOS_MAX) };
        let registered = lua.load(&code[body_at..], &mut host).map_err(|error| of_load(&error))?;
        let mut functions = Vec::with_capacity(registered.len());
        for script::LibraryFunction { name, flags, description, .. } in registered {
            metadata::check_function_name(&name)?;
            let is_there = |other: &LibraryFunction| other.name == name;
            if functions.iter().any(is_there) {
                return Err(Refusal::of("ERR Function already exists in the library"));
            }
            functions.push(LibraryFunction { name, description, flags });
        }
        if functions.is_empty() {
            return Err(Refusal::of("ERR No functions registered"));
        }
        functions.sort_by(|one, other| one.name.cmp(&other.name));
        let compiled = lua.compile(&code[body_at..]).ok();
        let call_sites = compiled.and_then(|function| lua.call_sites(&function));
        let (closes_gate, reach) = (OnceLock::new(), OnceLock::new());
        let code = code.to_vec();
        Ok(Library { name, code, functions, body_at, closes_gate, call_sites, reach })
    }

    /// What is compiled of it.
    pub fn body(&self) -> &[u8] {
        &self.code[self.body_at..]
    }

    /// Returns true if the name of a command that closes the gate stands in the source, by `look`,
    /// which is asked once.
    pub fn closes_gate(&self, look: impl FnOnce(&[u8]) -> bool) -> bool {
        *self.closes_gate.get_or_init(|| look(&self.code))
    }

    /// Returns what its functions may reach, by `find`, which is asked once, for where they call
    /// commands.
    pub fn reach(&self, find: impl FnOnce(Option<Vec<CallSite>>) -> Reach) -> &Reach {
        self.reach.get_or_init(|| find(self.call_sites.clone()))
    }

    /// Bytes of memory that it takes, approximately.
    pub fn bytes(&self) -> usize {
        size_of::<Library>() + self.code.len() + self.functions.len() * size_of::<LibraryFunction>()
    }
}

fn of_load(error: &LoadError) -> Refusal {
    match error {
        LoadError::Compile(text) => Refusal::naming("ERR Error compiling function: {}", &[text]),
        // Where it happened is told of other errors alone.
        LoadError::Register(text) if text.ends_with(TIMEOUT.as_bytes()) => {
            Refusal::new(format!("ERR Error registering functions: ERR {TIMEOUT}"))
        }
        LoadError::Register(text) => {
            Refusal::naming("ERR Error registering functions: {}", &[text])
        }
    }
}

/// Host of a library that is being loaded, which calls no commands.
pub(super) struct Loading<'t> {
    pub nanos: &'t dyn Fn() -> u64,
    pub until: u64,
}

impl Host for Loading<'_> {
    fn call(&mut self, _: &Call<'_>, reply: &mut Vec<u8>) -> u32 {
        reply.extend_from_slice(b"-ERR a library calls no commands while it is loaded\r\n");
        0
    }

    fn poll(&mut self) -> Verdict {
        if (self.nanos)() > self.until { Verdict::End(TIMEOUT) } else { Verdict::Continue }
    }

    fn log(&mut self, level: LogLevel, text: &[u8]) {
        crate::scripts::log(level, text);
    }

    fn replicate(&mut self, _: Replication) {}

    fn may_call(&mut self, _: &[&[u8]]) -> Option<bool> {
        None
    }
}
