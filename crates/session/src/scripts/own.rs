//! Interpreter of one thread for scripts, and what it has compiled.

use super::script::{Digest, OfDigest, OfDigests, Script};
use super::slots::Resting;
use script::proof::CallSite;
use script::{Function, Interpreter, Options, OutOfMemory};
use std::sync::Arc;
use wire::Span;

/// Compiled scripts of which those that are forgotten are removed when another one is compiled.
const COMPILED_BEFORE_SWEEP: usize = 64;

/// Interpreter of one thread, and what it has compiled.
pub struct OwnInterpreter {
    /// Runs scripts.
    pub lua: Interpreter,
    compiled: OfDigests<Compiled>,
    /// Number of compiled scripts at which forgotten ones are looked for.
    sweep_at: usize,
    room: Room,
}

/// Room for what a run writes.
#[derive(Debug, Default)]
pub struct Room {
    /// Room for the request of a call.
    pub request: Vec<u8>,
    /// Room for the words of the request.
    pub spans: Vec<Span>,
    /// Room for the reply of the run.
    pub reply: Vec<u8>,
}

/// Bytes that are kept of each.
const ROOM_KEPT: usize = 64 << 10;

impl Room {
    /// Empties it, and gives back what a large run has taken.
    pub fn clear(&mut self) {
        for bytes in [&mut self.request, &mut self.reply] {
            bytes.clear();
            bytes.shrink_to(ROOM_KEPT);
        }
        self.spans.clear();
        self.spans.shrink_to(ROOM_KEPT / size_of::<Span>());
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        let of_spans = self.spans.capacity() * size_of::<Span>();
        self.request.capacity() + self.reply.capacity() + of_spans
    }
}

struct Compiled {
    script: Arc<Script>,
    function: Function,
}

impl AsRef<Script> for Compiled {
    fn as_ref(&self) -> &Script {
        &self.script
    }
}

impl OwnInterpreter {
    /// Makes an interpreter that has compiled nothing.
    ///
    /// # Errors
    /// When the memory limit is too low for it.
    pub fn new(options: &Options) -> Result<OwnInterpreter, OutOfMemory> {
        Ok(OwnInterpreter {
            lua: Interpreter::new(options)?,
            compiled: OfDigests::default(),
            sweep_at: COMPILED_BEFORE_SWEEP,
            room: Room::default(),
        })
    }

    /// Returns the script of a digest, if it was compiled here and is not forgotten.
    #[inline]
    pub fn find(&self, digest: &Digest) -> Option<Arc<Script>> {
        let OfDigest(compiled) = self.compiled.get(digest)?;
        (!compiled.script.is_forgotten()).then(|| Arc::clone(&compiled.script))
    }

    /// Returns true if the script was compiled here.
    pub fn has(&self, script: &Arc<Script>) -> bool {
        self.compiled.get(&script.digest).is_some_and(|it| Arc::ptr_eq(&it.0.script, script))
    }

    /// Compiles a script to find what is wrong with it.
    ///
    /// # Errors
    /// The text of Lua.
    pub fn check(&mut self, script: &Script) -> Result<(), Vec<u8>> {
        let function = self.lua.compile(script.body())?;
        self.lua.release(function);
        Ok(())
    }

    /// Compiles a script, to be run from now on.
    ///
    /// # Errors
    /// The text of Lua about what is wrong with it.
    pub fn compile(&mut self, script: &Arc<Script>) -> Result<(), Vec<u8>> {
        if self.compiled.len() >= self.sweep_at {
            self.sweep();
        }
        let function = self.lua.compile(script.body())?;
        let compiled = OfDigest(Compiled { script: Arc::clone(script), function });
        if let Some(OfDigest(old)) = self.compiled.replace(compiled) {
            self.lua.release(old.function);
        }
        Ok(())
    }

    /// Returns where a script that was compiled here calls commands, if that can be told.
    pub fn call_sites(&mut self, digest: &Digest) -> Option<Vec<CallSite>> {
        self.lua.call_sites(&self.compiled.get(digest)?.0.function)
    }

    /// Returns what runs scripts, and the function of a script that was compiled here.
    pub fn parts(&mut self, digest: &Digest) -> Option<Parts<'_>> {
        let OwnInterpreter { lua, compiled, room, .. } = self;
        let function = &compiled.get(digest)?.0.function;
        Some(Parts { lua, function, room })
    }

    /// Removes what was compiled of scripts that are forgotten.
    fn sweep(&mut self) {
        let OwnInterpreter { lua, compiled, .. } = self;
        let gone = compiled.extract_if(|it| it.0.script.is_forgotten());
        gone.for_each(|it| lua.release(it.0.function));
        self.sweep_at = COMPILED_BEFORE_SWEEP.max(2 * self.compiled.len());
    }
}

impl Resting for OwnInterpreter {
    fn bytes(&self) -> usize {
        let of_compiled = self.compiled.capacity() * size_of::<OfDigest<Compiled>>();
        self.lua.memory_bytes() + of_compiled + self.room.bytes()
    }
}

/// What a run needs of an interpreter.
pub struct Parts<'i> {
    /// Runs scripts.
    pub lua: &'i mut Interpreter,
    /// What runs.
    pub function: &'i Function,
    /// Room for what it writes.
    pub room: &'i mut Room,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(source: &str) -> Arc<Script> {
        let digest = Digest::of(source.as_bytes());
        Arc::new(Script::of(digest, source.as_bytes(), false).expect("a script"))
    }

    #[test]
    fn what_was_compiled_of_forgotten_scripts_goes() {
        let mut own = OwnInterpreter::new(&Options::default()).expect("memory");
        let scripts: Vec<_> = (0..1000).map(|number| script(&format!("return {number}"))).collect();
        for script in &scripts {
            own.compile(script).expect("it compiles");
            script.forget();
            assert!(own.find(&script.digest).is_none());
        }
        assert!(own.compiled.len() <= COMPILED_BEFORE_SWEEP);
    }
}
