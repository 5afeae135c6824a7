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
    /// Sets the flag of a name; false without such one.
    pub fn set(&mut self, name: &[u8]) -> bool {
        *match name {
            b"no-writes" => &mut self.no_writes,
            b"allow-oom" => &mut self.allow_oom,
            b"allow-stale" => &mut self.allow_stale,
            b"no-cluster" => &mut self.no_cluster,
            b"allow-cross-slot-keys" => &mut self.allow_cross_slot_keys,
            _ => return false,
        } = true;
        true
    }
}
