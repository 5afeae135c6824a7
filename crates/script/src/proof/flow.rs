//! The walk over one function: what each register holds at each instruction, whatever way led
//! there.

use std::collections::{BTreeMap, BTreeSet};

use super::captured::{Capture, SharedLocals, captures, words_behind};
use super::instruction::{FIRST_CONSTANT, Instruction, Operation as Op};
use super::prototype::{Constant, Prototype};
use super::site::Source;
use super::value::{Known, Value};
use crate::call::write_number;

mod tables;

/// Function, with what is known of its values as it begins.
pub struct Frame<'p> {
    prototype: &'p Prototype,
    upvalues: Vec<Value>,
    parameters: Vec<Value>,
    is_main: bool,
}

impl<'p> Frame<'p> {
    /// The function that a source is.
    pub fn of_main(prototype: &'p Prototype) -> Frame<'p> {
        Frame { prototype, upvalues: Vec::new(), parameters: Vec::new(), is_main: true }
    }
}

/// What each register holds.
pub type Registers = Box<[Value]>;

/// Values that a call has returned, or the arguments of a function: as many as there are.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Register of the first one.
    pub start: usize,
    /// What each of them is.
    pub value: Value,
}

/// Walk over a function.
pub struct Flow<'p, 'k> {
    frame: Frame<'p>,
    pub(super) known: &'k mut Known,
    /// Constants that are texts, or numbers as commands are given them.
    literals: Vec<Option<usize>>,
    shared: SharedLocals,
    /// Instructions that something jumps to.
    targets: BTreeSet<usize>,
    /// What was found at the first instruction and at targets.
    states: BTreeMap<usize, Registers>,
    waiting: BTreeSet<usize>,
    /// Values behind the last instruction, if it was one that opens their number.
    pub(super) open: Option<Open>,
    /// True once no state changes any more: what is found now holds.
    pub(super) is_settled: bool,
    inner: Vec<Inner>,
    /// Tables that went where they are not followed: what they have may be called by others. Each
    /// is told by the instruction that makes it.
    lost_tables: BTreeSet<usize>,
}

/// Function within the function.
#[derive(Clone, Debug, Default)]
struct Inner {
    /// Its upvalues, once it is known that it is made.
    upvalues: Option<Vec<Value>>,
    /// True if it is registered as a function of the library.
    is_registered: bool,
    /// Tables that it was put in, to be registered.
    tables: BTreeSet<usize>,
    /// True if something else may call it.
    is_lost: bool,
}

/// Where a walk goes on.
enum Next {
    Then(usize),
    Either(usize, usize),
    Ends,
}

impl<'p, 'k> Flow<'p, 'k> {
    /// Prepares a walk; `None` if the code is not whole.
    pub fn new(frame: Frame<'p>, known: &'k mut Known) -> Option<Flow<'p, 'k>> {
        let prototype = frame.prototype;
        let literals = prototype.constants.iter().map(|it| literal(it, known)).collect();
        let mut flow = Flow {
            known,
            literals,
            shared: SharedLocals::of(prototype)?,
            targets: targets(prototype)?,
            states: BTreeMap::new(),
            waiting: BTreeSet::new(),
            open: None,
            is_settled: false,
            inner: vec![Inner::default(); prototype.inner.len()],
            lost_tables: BTreeSet::new(),
            frame,
        };
        let mut first = vec![Value::Nil; prototype.registers].into_boxed_slice();
        for place in 0..prototype.parameters {
            let parameter = flow.frame.parameters.get(place).copied();
            *first.get_mut(place)? = parameter.unwrap_or(Value::Other);
        }
        // Behind them, a function of any number of values may have a table of these.
        if let Some(table) = first.get_mut(prototype.parameters) {
            *table = Value::Other;
        }
        flow.merge(0, &first)?;
        Some(flow)
    }

    /// Walks all ways, and returns the functions within it; `None` if something cannot be told.
    pub fn walk(mut self) -> Option<Vec<Frame<'p>>> {
        while let Some(at) = self.waiting.pop_first() {
            let registers = self.states.get(&at)?.clone();
            self.walk_from(at, registers)?;
        }
        self.is_settled = true;
        for (at, registers) in self.states.clone() {
            self.walk_from(at, registers)?;
        }
        let lost_tables = self.lost_tables;
        let is_lost = |inner: &Inner| inner.is_lost || !inner.tables.is_disjoint(&lost_tables);
        let gets_keys = |inner: &Inner| inner.is_registered && !is_lost(inner);
        let prototypes = self.frame.prototype.inner.iter();
        let made = prototypes.zip(self.inner).filter_map(|(prototype, inner)| {
            let parameters =
                if gets_keys(&inner) { vec![Value::Keys, Value::Arguments] } else { Vec::new() };
            Some(Frame { prototype, upvalues: inner.upvalues?, parameters, is_main: false })
        });
        Some(made.collect())
    }

    fn walk_from(&mut self, start: usize, mut registers: Registers) -> Option<()> {
        let (mut at, mut is_first) = (start, true);
        self.open = None;
        loop {
            // A loop without a branch comes back to where it began.
            if !is_first && self.targets.contains(&at) {
                return self.merge(at, &registers);
            }
            is_first = false;
            self.known.count_work(1)?;
            match self.step(at, &mut registers)? {
                Next::Then(next) => at = next,
                Next::Either(one, other) => {
                    self.merge(one, &registers)?;
                    return self.merge(other, &registers);
                }
                Next::Ends => return Some(()),
            }
        }
    }

    /// Notes what is found at an instruction on one more way; `None` if that is too much work.
    fn merge(&mut self, at: usize, registers: &Registers) -> Option<()> {
        if self.is_settled {
            return Some(());
        }
        self.known.count_work(registers.len())?;
        let mut lost = Vec::new();
        let mut is_new = false;
        let state = self.states.entry(at).or_insert_with(|| {
            is_new = true;
            registers.clone()
        });
        for (held, other) in state.iter_mut().zip(registers) {
            let both = held.or(*other, &mut lost);
            is_new |= both != *held;
            *held = both;
        }
        if is_new {
            self.waiting.insert(at);
        }
        lost.into_iter().for_each(|value| self.lose(value));
        Some(())
    }

    /// Does what one instruction does.
    fn step(&mut self, at: usize, registers: &mut Registers) -> Option<Next> {
        let instruction = Instruction::read(*self.frame.prototype.code.get(at)?)?;
        let Instruction { operation, a, b, c } = instruction;
        self.look_at_shared(at, registers)?;
        let mut here = Here { at, registers };
        let open = self.open.take();
        Some(match operation {
            Op::LoadBool => {
                here.set(self, a, Value::Other)?;
                Next::Then(at + 1 + usize::from(c != 0))
            }
            Op::Jmp => Next::Then(instruction.target(at)?),
            Op::Compare => {
                self.lose_operands(&here, [b, c])?;
                Next::Either(at + 1, at + 2)
            }
            Op::Test => Next::Either(at + 1, at + 2),
            Op::TestSet => {
                self.merge(at + 2, here.registers)?;
                here.set(self, a, here.get(self, b)?)?;
                self.merge(at + 1, here.registers)?;
                Next::Ends
            }
            Op::Return => {
                let values = self.values(&here, a, b, open)?;
                if !self.frame.is_main {
                    values.into_iter().try_for_each(|value| self.give_away(value))?;
                }
                Next::Ends
            }
            Op::ForPrep => {
                here.set(self, a, Value::Other)?;
                Next::Then(instruction.target(at)?)
            }
            Op::ForLoop => {
                here.set(self, a, Value::Other)?;
                here.set(self, a + 3, Value::Other)?;
                Next::Either(instruction.target(at)?, at + 1)
            }
            Op::TForLoop => self.iterate(&mut here, instruction)?,
            _ => {
                self.assign(&mut here, instruction, open)?;
                Next::Then(at + 1 + words_behind(self.frame.prototype, instruction)?)
            }
        })
    }

    /// Does what an instruction does behind which the next one follows.
    fn assign(
        &mut self,
        here: &mut Here<'_>,
        instruction: Instruction,
        open: Option<Open>,
    ) -> Option<()> {
        let Instruction { operation, a, b, c } = instruction;
        let value = match operation {
            Op::Move => here.get(self, b)?,
            Op::LoadK => self.constant(instruction.bx())?,
            Op::GetUpval => *self.frame.upvalues.get(b)?,
            Op::GetGlobal => {
                let name = self.text(self.constant(instruction.bx())?)?;
                Value::of_global(name, self.known.source)?
            }
            Op::GetTable => self.field(here.get(self, b)?, here.operand(self, c)?)?,
            Op::NewTable => Value::Fields(here.at, None),
            Op::Closure => {
                self.capture(here, instruction.bx())?;
                Value::Closure(instruction.bx())
            }
            Op::SelfOf => {
                let object = here.get(self, b)?;
                self.give_away(object)?;
                here.set(self, a + 1, object)?;
                Value::Other
            }
            Op::Arithmetic => self.operate(here, [b, c])?,
            Op::Minus => self.operate(here, [b])?,
            Op::Concat => self.operate(here, b..=c)?,
            Op::Measure => {
                self.lose_operands(here, [b, b])?;
                Value::Other
            }
            _ => return self.act(here, instruction, open),
        };
        here.set(self, a, value)
    }

    /// Does what an instruction does that is not the assignment of one value.
    fn act(
        &mut self,
        here: &mut Here<'_>,
        instruction: Instruction,
        open: Option<Open>,
    ) -> Option<()> {
        let Instruction { operation, a, b, .. } = instruction;
        match operation {
            Op::LoadNil => (a..=b).try_for_each(|it| here.set(self, it, Value::Nil)),
            Op::SetGlobal | Op::SetUpval => self.give_away(here.get(self, a)?),
            Op::SetTable => self.set_field(here, instruction),
            Op::SetList => {
                let values = self.values(here, a + 1, b + usize::from(b > 0), open)?;
                values.into_iter().try_for_each(|value| self.give_away(value))
            }
            Op::Call => self.call(here, instruction, open),
            // What it returns is returned.
            Op::TailCall => self.call(here, Instruction { c: 0, ..instruction }, open),
            Op::Vararg if b == 0 => {
                self.open = Some(Open { start: a, value: Value::Other });
                Some(())
            }
            Op::Vararg => (a..a + b - 1).try_for_each(|it| here.set(self, it, Value::Other)),
            _ => Some(()),
        }
    }

    /// Ends the proof if a shared variable begins here with a value that is to be followed.
    fn look_at_shared(&mut self, at: usize, registers: &Registers) -> Option<()> {
        for register in self.shared.beginning_at(at).to_vec() {
            self.give_away(*registers.get(register)?)?;
        }
        Some(())
    }

    fn constant(&self, place: usize) -> Option<Value> {
        Some(self.literals.get(place)?.map_or(Value::Other, Value::Literal))
    }

    fn text(&self, value: Value) -> Option<&[u8]> {
        match value {
            Value::Literal(text) => self.known.texts.get(text).map(|text| &text[..]),
            _ => None,
        }
    }

    /// Notes what a closure captures.
    fn capture(&mut self, here: &Here<'_>, place: usize) -> Option<()> {
        let prototype = self.frame.prototype;
        let inner = prototype.inner.get(place)?;
        let mut upvalues = Vec::with_capacity(inner.upvalues);
        for capture in captures(prototype, here.at, inner)? {
            upvalues.push(match capture {
                Capture::Upvalue(outer) => *self.frame.upvalues.get(outer)?,
                Capture::Register(register) if prototype.local_in(register, here.at).is_some() => {
                    let value = here.get(self, register)?;
                    self.captured(value)?
                }
                // The variable begins with the closure itself.
                Capture::Register(_) => {
                    self.lose(Value::Closure(place));
                    Value::Other
                }
            });
        }
        if self.is_settled {
            self.inner.get_mut(place)?.upvalues = Some(upvalues);
        }
        Some(())
    }

    /// Returns what a closure finds in a variable that it has captured.
    fn captured(&mut self, value: Value) -> Option<Value> {
        match value {
            // A closure of a library may live on, and be called in a run with other keys.
            Value::Key | Value::Argument(_) | Value::Keys | Value::Arguments
                if self.known.source == Source::Library => {}
            Value::Closure(_) | Value::Fields(..) | Value::Iterator => {}
            value => return Some(value),
        }
        self.give_away(value)?;
        Some(Value::Other)
    }

    /// Returns the values from a register on: one less than `count`, or as many as are open.
    pub(super) fn values(
        &self,
        here: &Here<'_>,
        first: usize,
        count: usize,
        open: Option<Open>,
    ) -> Option<Vec<Value>> {
        let end = if count > 0 { first + count - 1 } else { open?.start };
        let mut values = (first..end).map(|it| here.get(self, it)).collect::<Option<Vec<_>>>()?;
        if count == 0 {
            values.push(open?.value);
        }
        Some(values)
    }

    /// Notes that a value goes where it is not followed, which ends the proof for some.
    pub(super) fn give_away(&mut self, value: Value) -> Option<()> {
        match value {
            Value::Arguments => self.known.arguments_change = true,
            value if value.is_followed() => return None,
            value => self.lose(value),
        }
        Some(())
    }

    /// Returns what an operator gives, which may be a function that gets the operands.
    fn operate(
        &mut self,
        here: &Here<'_>,
        operands: impl IntoIterator<Item = usize>,
    ) -> Option<Value> {
        for operand in operands {
            self.give_away(here.operand(self, operand)?)?;
        }
        Some(Value::Other)
    }

    /// Notes that operands which are tables of the script may get to a function, as they do if both
    /// have the same metatable.
    fn lose_operands(&mut self, here: &Here<'_>, operands: [usize; 2]) -> Option<()> {
        for operand in operands {
            let value = here.operand(self, operand)?;
            if !value.is_followed() {
                self.give_away(value)?;
            }
        }
        Some(())
    }

    /// Notes that a function may be called with any arguments, or that whatever is in a table may.
    fn lose(&mut self, value: Value) {
        match value {
            Value::Closure(inner) => {
                if let Some(inner) = self.inner.get_mut(inner) {
                    inner.is_lost = true;
                }
            }
            Value::Fields(table, _) => {
                self.lost_tables.insert(table);
            }
            _ => {}
        }
    }

    /// Notes that a function is one of the library's.
    pub(super) fn register(&mut self, inner: usize) {
        if let Some(inner) = self.inner.get_mut(inner) {
            inner.is_registered = true;
        }
    }
}

/// An instruction, and the registers as it finds and leaves them.
pub struct Here<'r> {
    at: usize,
    registers: &'r mut Registers,
}

impl Here<'_> {
    /// Returns what a register holds.
    pub(super) fn get(&self, flow: &Flow<'_, '_>, register: usize) -> Option<Value> {
        let value = *self.registers.get(register)?;
        Some(if self.is_shared(flow, register) { Value::Other } else { value })
    }

    /// Returns what an operand is: a register, or a constant.
    fn operand(&self, flow: &Flow<'_, '_>, operand: usize) -> Option<Value> {
        match operand.checked_sub(FIRST_CONSTANT) {
            Some(constant) => flow.constant(constant),
            None => self.get(flow, operand),
        }
    }

    /// Puts a value into a register.
    pub(super) fn set(
        &mut self,
        flow: &mut Flow<'_, '_>,
        register: usize,
        value: Value,
    ) -> Option<()> {
        if self.is_shared(flow, register) {
            flow.give_away(value)?;
        }
        *self.registers.get_mut(register)? = value;
        Some(())
    }

    fn is_shared(&self, flow: &Flow<'_, '_>, register: usize) -> bool {
        flow.shared.has(register, self.at)
    }
}

/// Returns which text a constant is.
fn literal(constant: &Constant, known: &mut Known) -> Option<usize> {
    let text = match constant {
        Constant::Text(text) => text.clone(),
        Constant::Number(number) => {
            let mut text = Vec::new();
            write_number(&mut text, *number);
            text
        }
        Constant::Other => return None,
    };
    known.texts.push(text);
    Some(known.texts.len() - 1)
}

/// Returns where ways meet; `None` if the code is not whole.
fn targets(prototype: &Prototype) -> Option<BTreeSet<usize>> {
    let (mut targets, mut at) = (BTreeSet::new(), 0);
    while let Some(word) = prototype.code.get(at) {
        let instruction = Instruction::read(*word)?;
        match instruction.operation {
            Op::Jmp | Op::ForPrep => targets.extend([instruction.target(at)?]),
            Op::ForLoop => targets.extend([instruction.target(at)?, at + 1]),
            Op::Compare | Op::Test | Op::TestSet | Op::TForLoop => targets.extend([at + 1, at + 2]),
            Op::LoadBool if instruction.c != 0 => targets.extend([at + 2]),
            _ => {}
        }
        at += 1 + words_behind(prototype, instruction)?;
    }
    Some(targets)
}
