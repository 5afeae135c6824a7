//! Locals that closures capture, and change or see change.

use std::collections::{BTreeMap, BTreeSet};

use super::instruction::{Instruction, Operation};
use super::prototype::{Local, Prototype};

/// Local variables of which nothing is known, since closures may change them, or see them change.
#[derive(Debug, Default)]
pub struct SharedLocals {
    /// Where they end, by register and begin.
    ends: BTreeMap<(usize, usize), usize>,
    /// Registers of those that begin at an instruction.
    registers: BTreeMap<usize, Vec<usize>>,
}

impl SharedLocals {
    /// Returns those of a function; `None` if its code is not whole.
    pub fn of(prototype: &Prototype) -> Option<SharedLocals> {
        let mut shared = SharedLocals::default();
        for Variable { register, local } in shared_locals(prototype)? {
            shared.ends.insert((register, local.start), local.end);
            shared.registers.entry(local.start).or_default().push(register);
        }
        Some(shared)
    }

    /// Returns true if one of them lives in a register at an instruction.
    pub fn has(&self, register: usize, at: usize) -> bool {
        // In one register lives one at a time.
        let latest = self.ends.range((register, 0)..=(register, at)).next_back();
        latest.is_some_and(|(_, end)| at < *end)
    }

    /// Returns the registers of those that begin at an instruction.
    pub fn beginning_at(&self, at: usize) -> &[usize] {
        self.registers.get(&at).map_or(&[], |registers| registers)
    }
}

/// Local variable in its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Variable {
    register: usize,
    local: Local,
}

/// What a closure captures.
#[derive(Clone, Copy, Debug)]
pub enum Capture {
    /// The local variable in this register.
    Register(usize),
    /// This upvalue of the function around it.
    Upvalue(usize),
}

/// Returns the shared locals of a function; `None` if its code is not whole.
fn shared_locals(prototype: &Prototype) -> Option<BTreeSet<Variable>> {
    let (mut shared, mut looked_at) = (BTreeSet::new(), BTreeSet::new());
    for (at, instruction) in instructions(prototype) {
        if instruction.operation != Operation::Closure {
            continue;
        }
        let inner = prototype.inner.get(instruction.bx())?;
        for (place, capture) in captures(prototype, at, inner)?.into_iter().enumerate() {
            let Capture::Register(register) = capture else { continue };
            let local = local_of(prototype, register, at, inner.upvalues)?;
            let variable = Variable { register, local };
            let is_new = looked_at.insert(variable);
            if *inner.changes.get(place)? || is_new && is_written(prototype, variable) {
                shared.insert(variable);
            }
        }
    }
    Some(shared)
}

/// Returns for each upvalue of a function whether it, or a function within it, writes it; `None`
/// if its code is not whole. What is within it was asked before.
pub fn changed_upvalues(prototype: &Prototype) -> Option<Vec<bool>> {
    let mut changes = vec![false; prototype.upvalues];
    for (at, instruction) in instructions(prototype) {
        match instruction.operation {
            Operation::SetUpval => *changes.get_mut(instruction.b)? = true,
            Operation::Closure => {
                let inner = prototype.inner.get(instruction.bx())?;
                for (place, capture) in captures(prototype, at, inner)?.into_iter().enumerate() {
                    if let Capture::Upvalue(outer) = capture {
                        *changes.get_mut(outer)? |= inner.changes.get(place)?;
                    }
                }
            }
            _ => {}
        }
    }
    Some(changes)
}

/// Reads what the closure captures that an instruction makes: it is told by those behind it.
pub fn captures(prototype: &Prototype, at: usize, inner: &Prototype) -> Option<Vec<Capture>> {
    let words = prototype.code.get(at + 1..at + 1 + inner.upvalues)?;
    let read = |word: &u32| {
        let Instruction { operation, b, .. } = Instruction::read(*word)?;
        match operation {
            Operation::Move => Some(Capture::Register(b)),
            Operation::GetUpval => Some(Capture::Upvalue(b)),
            _ => None,
        }
    };
    words.iter().map(read).collect()
}

/// Returns the local variable that a closure captures in a register. The variable may begin right
/// behind the closure, which is its value then.
fn local_of(prototype: &Prototype, register: usize, at: usize, captures: usize) -> Option<Local> {
    let behind = at + 1 + captures;
    prototype.local_in(register, at).or_else(|| prototype.local_in(register, behind))
}

/// Returns true if a function writes a local variable after it has begun.
fn is_written(prototype: &Prototype, Variable { register, local }: Variable) -> bool {
    instructions(prototype)
        .filter(|(at, _)| (local.start..local.end).contains(at))
        .any(|(_, it)| it.writes(prototype.registers).contains(&register))
}

/// Returns the instructions with their places, without the words that belong to another one. They
/// end at a word that is none.
fn instructions(prototype: &Prototype) -> impl Iterator<Item = (usize, Instruction)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let (at, instruction) = (next, Instruction::read(*prototype.code.get(next)?)?);
        next += 1 + words_behind(prototype, instruction)?;
        Some((at, instruction))
    })
}

/// Returns how many words behind an instruction belong to it.
pub fn words_behind(prototype: &Prototype, instruction: Instruction) -> Option<usize> {
    match instruction.operation {
        Operation::Closure => Some(prototype.inner.get(instruction.bx())?.upvalues),
        Operation::SetList => Some(usize::from(instruction.c == 0)),
        _ => Some(0),
    }
}
