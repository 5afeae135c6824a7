//! All libraries, and whose each function is. A table never changes: another one takes its place.

use super::library::{Library, LibraryFunction};
use crate::refusal::Refusal;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Libraries by name.
#[derive(Clone, Debug, Default)]
pub struct LibraryTable {
    libraries: BTreeMap<Vec<u8>, Arc<Library>>,
    /// Functions by name in lower case: the library, and the place among its functions.
    functions: HashMap<Vec<u8>, (Arc<Library>, usize)>,
}

/// What is in the way of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// One of the same name.
    Library(Vec<u8>),
    /// A function of the same name, as this library writes it.
    Function(Vec<u8>),
}

impl Conflict {
    /// The refusal of a library that is loaded by its client.
    pub fn refusal(&self) -> Refusal {
        match self {
            Conflict::Library(name) => Refusal::naming("ERR Library '{}' already exists", &[name]),
            Conflict::Function(name) => Refusal::naming("ERR Function {} already exists", &[name]),
        }
    }
}

impl LibraryTable {
    /// The libraries, in the order of their names.
    pub fn libraries(&self) -> impl ExactSizeIterator<Item = &Arc<Library>> {
        self.libraries.values()
    }

    /// Number of functions.
    pub fn functions(&self) -> usize {
        self.functions.len()
    }

    /// Finds a function by its name in any case, and its library.
    pub fn find(&self, name: &[u8]) -> Option<(&Arc<Library>, &LibraryFunction)> {
        let (library, at) = self.functions.get(&name.to_ascii_lowercase())?;
        Some((library, &library.functions[*at]))
    }

    /// Adds a library, which may replace one of the same name.
    ///
    /// # Errors
    /// When something is in the way; nothing was added then.
    pub fn add(&mut self, library: Arc<Library>, replaces: bool) -> Result<(), Conflict> {
        let there = self.libraries.get(&library.name);
        if there.is_some() && !replaces {
            return Err(Conflict::Library(library.name.clone()));
        }
        for function in &library.functions {
            let other = self.functions.get(&function.name.to_ascii_lowercase());
            if other.is_some_and(|(other, _)| other.name != library.name) {
                return Err(Conflict::Function(function.name.clone()));
            }
        }
        self.remove(&library.name);
        for (at, function) in library.functions.iter().enumerate() {
            let name = function.name.to_ascii_lowercase();
            self.functions.insert(name, (Arc::clone(&library), at));
        }
        self.libraries.insert(library.name.clone(), library);
        Ok(())
    }

    /// Removes a library; returns false if there is none of that name.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        let removed = self.libraries.remove(name);
        self.functions.retain(|_, (library, _)| library.name != name);
        removed.is_some()
    }

    /// Bytes of memory that it takes, approximately.
    pub fn bytes(&self) -> usize {
        self.libraries.values().map(|library| library.bytes()).sum()
    }
}
