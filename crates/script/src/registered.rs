//! What libraries register.

use std::os::raw::c_int;

/// Tables of an interpreter for libraries, by their references in the registry.
#[derive(Clone, Copy)]
pub struct Environment {
    /// The environment of all code.
    pub table: c_int,
    /// Its metatable, whose `__index` is what can be seen.
    pub metatable: c_int,
    /// What can be seen while a source is loaded.
    pub loading: c_int,
}

/// Function that a library has registered. Its name is as the source has it.
#[derive(Debug)]
pub struct Registered {
    pub name: Vec<u8>,
    /// Reference in the registry.
    pub function: c_int,
    pub flags: FunctionFlags,
    pub description: Option<Vec<u8>>,
}

/// What a function says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionFlags {
    /// `no-writes`
    pub no_writes: bool,
    /// `allow-oom`
    pub allow_oom: bool,
    /// `allow-stale`
    pub allow_stale: bool,
    /// `no-cluster`
    pub no_cluster: bool,
    /// `allow-cross-slot-keys`
    pub allow_cross_slot_keys: bool,
}

impl FunctionFlags {
    /// Sets the flag of a name, as the first line of a script has it; false without such one.
    pub fn set(&mut self, name: &[u8]) -> bool {
        self.set_if(|known| known.as_bytes() == name)
    }

    /// Does the same for a name in any case, as functions are registered.
    pub fn set_in_any_case(&mut self, name: &[u8]) -> bool {
        self.set_if(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    }

    fn set_if(&mut self, is_it: impl Fn(&str) -> bool) -> bool {
        let found = self.fields().into_iter().find(|(known, _)| is_it(known));
        found.map(|(_, flag)| *flag = true).is_some()
    }

    /// Returns the names of those that are set.
    pub fn names(mut self) -> impl Iterator<Item = &'static str> {
        self.fields()
            .map(|(name, flag)| (name, *flag))
            .into_iter()
            .filter_map(|(name, is_set)| is_set.then_some(name))
    }

    fn fields(&mut self) -> [(&'static str, &mut bool); 5] {
        [
            ("no-writes", &mut self.no_writes),
            ("allow-oom", &mut self.allow_oom),
            ("allow-stale", &mut self.allow_stale),
            ("no-cluster", &mut self.no_cluster),
            ("allow-cross-slot-keys", &mut self.allow_cross_slot_keys),
        ]
    }
}
