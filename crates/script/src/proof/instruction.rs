//! Instructions of Lua 5.1: 32 bits, of which six are the operation.

use std::ops::Range;

/// Instruction with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub operation: Operation,
    pub a: usize,
    pub b: usize,
    pub c: usize,
}

/// What an instruction does, as far as its register operands matter; the names are Lua's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Move,
    LoadK,
    LoadBool,
    LoadNil,
    GetUpval,
    GetGlobal,
    GetTable,
    SetGlobal,
    SetUpval,
    SetTable,
    NewTable,
    SelfOf,
    /// Arithmetic on two operands.
    Arithmetic,
    /// Minus of a register.
    Minus,
    /// `not` and the length of a register.
    Measure,
    Concat,
    Jmp,
    /// Comparison of two operands.
    Compare,
    Test,
    TestSet,
    Call,
    TailCall,
    Return,
    ForLoop,
    ForPrep,
    TForLoop,
    SetList,
    Close,
    Closure,
    Vararg,
}

use Operation as Op;

/// Operations by their numbers.
const OPERATIONS: [Operation; 38] = [
    Op::Move,
    Op::LoadK,
    Op::LoadBool,
    Op::LoadNil,
    Op::GetUpval,
    Op::GetGlobal,
    Op::GetTable,
    Op::SetGlobal,
    Op::SetUpval,
    Op::SetTable,
    Op::NewTable,
    Op::SelfOf,
    Op::Arithmetic,
    Op::Arithmetic,
    Op::Arithmetic,
    Op::Arithmetic,
    Op::Arithmetic,
    Op::Arithmetic,
    Op::Minus,
    Op::Measure,
    Op::Measure,
    Op::Concat,
    Op::Jmp,
    Op::Compare,
    Op::Compare,
    Op::Compare,
    Op::Test,
    Op::TestSet,
    Op::Call,
    Op::TailCall,
    Op::Return,
    Op::ForLoop,
    Op::ForPrep,
    Op::TForLoop,
    Op::SetList,
    Op::Close,
    Op::Closure,
    Op::Vararg,
];

/// Operands from here on are constants, not registers.
pub const FIRST_CONSTANT: usize = 256;

/// What is subtracted from a jump's distance, which is stored without a sign.
const JUMP_BIAS: i64 = 131_071;

impl Instruction {
    /// Reads an instruction; `None` if there is no such operation.
    pub fn read(word: u32) -> Option<Instruction> {
        let field = |shift: u32, bits: u32| ((word >> shift) & ((1 << bits) - 1)) as usize;
        let operation = *OPERATIONS.get(field(0, 6))?;
        Some(Instruction { operation, a: field(6, 8), b: field(23, 9), c: field(14, 9) })
    }

    /// The operand that takes the place of two.
    pub fn bx(self) -> usize {
        self.b << 9 | self.c
    }

    /// Where it jumps to from its place; `None` for a place before the first.
    pub fn target(self, at: usize) -> Option<usize> {
        usize::try_from(at as i64 + 1 + self.bx() as i64 - JUMP_BIAS).ok()
    }

    /// Registers that it writes, or that hold nothing afterwards. `registers` is their number.
    pub fn writes(self, registers: usize) -> Range<usize> {
        let Instruction { operation, a, b, c } = self;
        match operation {
            Op::SetGlobal | Op::SetUpval | Op::SetTable | Op::SetList | Op::Jmp | Op::Compare => {
                a..a
            }
            Op::Test | Op::Return | Op::Close => a..a,
            Op::LoadNil => a..b + 1,
            Op::SelfOf => a..a + 2,
            Op::Call | Op::TailCall => a..registers,
            Op::ForLoop => a..a + 4,
            Op::TForLoop => a + 2..a + 3 + c,
            Op::Vararg if b == 0 => a..registers,
            Op::Vararg => a..a + b - 1,
            _ => a..a + 1,
        }
    }
}
