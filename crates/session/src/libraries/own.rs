//! Interpreter of one thread for functions, and the libraries that it has made.

use super::library::{Library, Loading};
use super::table::LibraryTable;
use crate::refusal::Refusal;
use crate::scripts::{Parts, Resting, Room};
use script::{Function, Interpreter, Options, OutOfMemory};
use std::collections::HashMap;
use std::sync::Arc;

/// Interpreter of one thread for functions.
pub struct OwnLibraries {
    lua: Interpreter,
    /// The table that was seen last, and its number.
    table: (u64, Arc<LibraryTable>),
    /// Libraries by name, as they were when they were made.
    made: HashMap<Vec<u8>, Made>,
    room: Room,
}

struct Made {
    library: Arc<Library>,
    functions: Vec<(Vec<u8>, Function)>,
}

/// A function that is called: its library, and its place there.
#[derive(Clone, Debug)]
pub struct Callee {
    /// Its library.
    pub library: Arc<Library>,
    /// Its place among the functions of the library.
    pub at: usize,
}

impl OwnLibraries {
    /// Makes an interpreter without libraries.
    ///
    /// # Errors
    /// When the memory limit is too low for it.
    pub fn new(options: &Options) -> Result<OwnLibraries, OutOfMemory> {
        Ok(OwnLibraries {
            lua: Interpreter::new(options)?,
            table: (u64::MAX, Arc::default()),
            made: HashMap::new(),
            room: Room::default(),
        })
    }

    /// Finds a function, in the table of this number. `table` gives that if it is not known yet.
    pub fn find(
        &mut self,
        name: &[u8],
        version: u64,
        table: impl FnOnce() -> Arc<LibraryTable>,
    ) -> Option<Callee> {
        if self.table.0 != version {
            self.table = (version, table());
            self.forget_old();
        }
        let (library, function) = self.table.1.find(name)?;
        let at = library.functions.iter().position(|it| std::ptr::eq(it, function))?;
        Some(Callee { library: Arc::clone(library), at })
    }

    /// Gives up what was made of libraries that are others now.
    fn forget_old(&mut self) {
        let OwnLibraries { lua, table, made, .. } = self;
        let is_old = |it: &Made| {
            let is_same = |library: &Arc<Library>| Arc::ptr_eq(library, &it.library);
            !table.1.libraries().any(is_same)
        };
        let gone = made.extract_if(|_, it| is_old(it));
        for (_, it) in gone {
            it.functions.into_iter().for_each(|(_, function)| lua.release(function));
        }
    }

    /// Returns what runs a function; its library is made if it was not yet.
    ///
    /// # Errors
    /// When the library cannot be made, as for lack of memory.
    pub fn parts(&mut self, callee: &Callee) -> Result<Parts<'_>, Refusal> {
        let OwnLibraries { lua, made, room, .. } = self;
        let (library, name) = (&callee.library, &callee.library.name);
        if !made.contains_key(name) {
            let functions = make(lua, library)?;
            made.insert(name.clone(), Made { library: Arc::clone(library), functions });
        }
        let wanted = &library.functions[callee.at].name;
        let functions = made.get(name).map_or(&[][..], |it| &it.functions[..]);
        let found = functions.iter().find(|(name, _)| name == wanted);
        let function = &found.ok_or(Refusal::of("ERR Function not found"))?.1;
        Ok(Parts { lua, function, room })
    }
}

/// Loads a library, which was loaded once before, into an interpreter.
fn make(lua: &mut Interpreter, library: &Library) -> Result<Vec<(Vec<u8>, Function)>, Refusal> {
    let mut host = Loading { nanos: &|| 0, until: u64::MAX };
    let registered = lua.load(library.body(), &mut host);
    let failed = |_| Refusal::of("ERR not enough memory");
    Ok(registered.map_err(failed)?.into_iter().map(|it| (it.name, it.function)).collect())
}

impl Resting for OwnLibraries {
    fn bytes(&self) -> usize {
        self.lua.memory_bytes() + self.room.bytes()
    }
}
