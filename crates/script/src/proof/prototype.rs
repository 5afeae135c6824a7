//! A function as Lua compiles it.

/// Function as it is compiled.
#[derive(Debug, Default)]
pub struct Prototype {
    pub upvalues: usize,
    pub parameters: usize,
    /// Registers that it uses.
    pub registers: usize,
    pub code: Vec<u32>,
    pub constants: Vec<Constant>,
    pub inner: Vec<Prototype>,
    pub locals: Vec<Local>,
    /// For each upvalue, whether this function or one within it writes it.
    pub changes: Vec<bool>,
}

/// Constant of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    Text(Vec<u8>),
    Number(f64),
    /// Nil or a boolean.
    Other,
}

/// Local variable: it lives at the instructions from `start` until `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Local {
    pub start: usize,
    pub end: usize,
}

impl Prototype {
    /// Returns the local variable that lives in a register at an instruction.
    pub fn local_in(&self, register: usize, at: usize) -> Option<Local> {
        // Variables stand in the order in which they begin, each above those that live then.
        self.locals.iter().filter(|it| it.start <= at && at < it.end).nth(register).copied()
    }
}
