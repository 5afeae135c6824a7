//! Interpreters, one for each thread that runs scripts: made at its first script, and given back
//! when it was not used for a while.

use super::script::{Digest, Script};
use base::Millis;
use base::gate::MEMBERS_MAX;
use base::mutex::Mutex;
use script::{Function, Interpreter, Options, OutOfMemory};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wire::Span;

/// Compiled scripts of which those that are forgotten are removed when another one is compiled.
const COMPILED_BEFORE_SWEEP: usize = 64;

/// Interpreters of all threads.
pub struct Interpreters {
    slots: Box<[Slot]>,
    /// How often all of them were to be made anew: those of before are not used again.
    age: AtomicUsize,
}

/// Place of one thread.
#[derive(Default)]
struct Slot {
    /// Its interpreter, unless it runs a script at present.
    own: Mutex<Option<Box<OwnInterpreter>>>,
    /// Bytes that the interpreter took at the end of its last script; zero for none.
    bytes: AtomicUsize,
}

/// Interpreter of one thread, and what it has compiled.
pub struct OwnInterpreter {
    /// Runs scripts.
    pub lua: Interpreter,
    /// Scripts by their digests.
    compiled: HashMap<Digest, Compiled>,
    /// Number of compiled scripts at which forgotten ones are looked for.
    sweep_at: usize,
    /// Age of all interpreters when it was made.
    age: usize,
    /// When it was put back.
    rested: Millis,
    /// Room for the request of a call.
    pub request: Vec<u8>,
    /// Room for the words of the request.
    pub spans: Vec<Span>,
}

struct Compiled {
    script: Arc<Script>,
    function: Function,
}

impl Default for Interpreters {
    fn default() -> Interpreters {
        let slots = (0..MEMBERS_MAX).map(|_| Slot::default()).collect();
        Interpreters { slots, age: AtomicUsize::new(0) }
    }
}

impl fmt::Debug for Interpreters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interpreters").field("bytes", &self.bytes()).finish()
    }
}

impl Interpreters {
    /// Takes the interpreter of a thread; makes one if it has none.
    ///
    /// # Errors
    /// When the memory limit is too low for an interpreter.
    pub fn take(
        &self,
        thread: usize,
        options: impl FnOnce() -> Options,
    ) -> Result<Box<OwnInterpreter>, OutOfMemory> {
        if let Some(own) = self.slots[thread].own.lock().take() {
            return Ok(own);
        }
        let age = self.age.load(Relaxed);
        let own = OwnInterpreter::new(&options())?;
        Ok(Box::new(OwnInterpreter { age, ..own }))
    }

    /// Puts the interpreter of a thread back.
    pub fn put_back(&self, thread: usize, mut own: Box<OwnInterpreter>, now: Millis) {
        let slot = &self.slots[thread];
        if own.age != self.age.load(Relaxed) {
            slot.bytes.store(0, Relaxed);
            return;
        }
        own.rested = now;
        slot.bytes.store(own.bytes(), Relaxed);
        *slot.own.lock() = Some(own);
    }

    /// Gives all interpreters back: those that run a script when that has ended.
    pub fn clear(&self) {
        self.age.fetch_add(1, Relaxed);
        self.give_back(|_| true);
    }

    /// Gives those back that have run nothing since `moment`, if there are any.
    pub fn give_back_unused(&self, moment: Millis) {
        if self.bytes() > 0 {
            self.give_back(|own| own.rested < moment);
        }
    }

    fn give_back(&self, is_dropped: impl Fn(&OwnInterpreter) -> bool) {
        for slot in &self.slots {
            let dropped = slot.own.lock().take_if(|own| is_dropped(own));
            if dropped.is_some() {
                slot.bytes.store(0, Relaxed);
            }
        }
    }

    /// Bytes of memory that they take, as of their last scripts.
    pub fn bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.bytes.load(Relaxed)).sum()
    }
}

impl OwnInterpreter {
    fn new(options: &Options) -> Result<OwnInterpreter, OutOfMemory> {
        Ok(OwnInterpreter {
            lua: Interpreter::new(options)?,
            compiled: HashMap::new(),
            sweep_at: COMPILED_BEFORE_SWEEP,
            age: 0,
            rested: Millis(0),
            request: Vec::new(),
            spans: Vec::new(),
        })
    }

    /// Returns the script of a digest, if it was compiled here and is not forgotten.
    #[inline]
    pub fn find(&self, digest: &Digest) -> Option<Arc<Script>> {
        let compiled = self.compiled.get(digest)?;
        (!compiled.script.is_forgotten()).then(|| Arc::clone(&compiled.script))
    }

    /// Returns true if the script was compiled here.
    pub fn has(&self, script: &Arc<Script>) -> bool {
        self.compiled.get(&script.digest).is_some_and(|it| Arc::ptr_eq(&it.script, script))
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
        let compiled = Compiled { script: Arc::clone(script), function };
        if let Some(old) = self.compiled.insert(script.digest, compiled) {
            self.lua.release(old.function);
        }
        Ok(())
    }

    /// Returns what runs scripts, and the function of a script that was compiled here.
    pub fn parts(&mut self, digest: &Digest) -> Option<Parts<'_>> {
        let OwnInterpreter { lua, compiled, request, spans, .. } = self;
        let function = &compiled.get(digest)?.function;
        Some(Parts { lua, function, request, spans })
    }

    /// Removes what was compiled of scripts that are forgotten.
    fn sweep(&mut self) {
        let OwnInterpreter { lua, compiled, .. } = self;
        let gone = compiled.extract_if(|_, it| it.script.is_forgotten());
        gone.for_each(|(_, it)| lua.release(it.function));
        self.sweep_at = COMPILED_BEFORE_SWEEP.max(2 * self.compiled.len());
    }

    /// Bytes of memory that it takes.
    fn bytes(&self) -> usize {
        let of_compiled = self.compiled.capacity() * size_of::<(Digest, Compiled)>();
        self.lua.memory_bytes() + of_compiled + self.request.capacity()
    }
}

/// What a run needs of an interpreter.
pub struct Parts<'i> {
    /// Runs scripts.
    pub lua: &'i mut Interpreter,
    /// What runs.
    pub function: &'i Function,
    /// Room for the request of a call.
    pub request: &'i mut Vec<u8>,
    /// Room for the words of the request.
    pub spans: &'i mut Vec<Span>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(source: &str) -> Arc<Script> {
        let digest = Digest::of(source.as_bytes());
        Arc::new(Script::of(digest, source.as_bytes()).expect("a script"))
    }

    #[test]
    fn an_interpreter_is_made_once_and_given_back_when_it_rests() {
        let all = Interpreters::default();
        let mut own = all.take(3, Options::default).expect("memory");
        let one = script("return 1");
        own.compile(&one).expect("it compiles");
        all.put_back(3, own, Millis(50));
        assert!(all.bytes() > 20_000);
        let own = all.take(3, || unreachable!("it is there")).expect("memory");
        assert!(own.has(&one) && own.find(&one.digest).is_some());
        all.put_back(3, own, Millis(60));
        all.give_back_unused(Millis(60));
        assert!(all.bytes() > 0);
        all.give_back_unused(Millis(61));
        assert_eq!(all.bytes(), 0);
    }

    #[test]
    fn an_interpreter_that_is_to_be_made_anew_is_not_used_again() {
        let all = Interpreters::default();
        let own = all.take(0, Options::default).expect("memory");
        all.clear();
        all.put_back(0, own, Millis(1));
        assert_eq!(all.bytes(), 0);
        let insecure = || Options { insecure: true, ..Options::default() };
        let own = all.take(0, insecure).expect("memory");
        all.put_back(0, own, Millis(1));
        assert!(all.bytes() > 0);
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
