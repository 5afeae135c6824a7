//! A value, and commands that are compared on it.

use super::step::{Action, Request};
use std::rc::Rc;

/// A value and commands for it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the command under test.
    pub name: String,
    /// Requests beforehand: remove all keys, then store those of the state.
    pub build: Rc<[Request]>,
    /// Commands; the values are compared after each of them.
    pub actions: Vec<Action>,
    /// Keys that are compared.
    pub keys: Vec<Vec<u8>>,
    /// Fields whose deadlines are compared, if a key is a hash.
    pub fields: Vec<Vec<u8>>,
}
