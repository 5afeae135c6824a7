//! Bytecode of Lua 5.1, as `lua_dump` writes it.

use super::captured::changed_upvalues;
use super::prototype::{Constant, Local, Prototype};

/// Sizes of this machine's types, as the header tells them.
const HEADER: [u8; 12] = [0x1b, b'L', b'u', b'a', 0x51, 0, 1, 4, 8, 4, 8, 0];

/// Longest bytecode that is read: what is longer is not worth the time.
pub const BYTES_MAX: usize = 256 << 10;

/// Most functions within functions; the compiler has the same bound.
const LEVELS_MAX: usize = 200;

/// Reads what was dumped; `None` if it is not whole.
pub fn read(dump: &[u8]) -> Option<Prototype> {
    if dump.len() > BYTES_MAX {
        return None;
    }
    let mut reader = Reader(dump.strip_prefix(&HEADER)?);
    let main = reader.prototype(LEVELS_MAX)?;
    reader.0.is_empty().then_some(main)
}

struct Reader<'d>(&'d [u8]);

impl<'d> Reader<'d> {
    fn prototype(&mut self, levels: usize) -> Option<Prototype> {
        let levels = levels.checked_sub(1)?;
        self.text()?;
        self.bytes(8)?;
        let [upvalues, parameters, _, registers] = *self.array()?;
        let code = self.list(4, |reader| Some(u32::from_le_bytes(*reader.array()?)))?;
        let constants = self.list(1, Reader::constant)?;
        let inner = self.list(1, |reader| reader.prototype(levels))?;
        self.list(4, |reader| reader.bytes(4))?;
        let locals = self.list(16, Reader::local)?;
        self.list(8, Reader::text)?;
        let (upvalues, parameters) = (upvalues.into(), parameters.into());
        let (registers, changes) = (registers.into(), Vec::new());
        let mut prototype =
            Prototype { upvalues, parameters, registers, code, constants, inner, locals, changes };
        prototype.changes = changed_upvalues(&prototype)?;
        Some(prototype)
    }

    fn constant(&mut self) -> Option<Constant> {
        const NIL: u8 = 0;
        const BOOLEAN: u8 = 1;
        const NUMBER: u8 = 3;
        const TEXT: u8 = 4;
        match self.bytes(1)?[0] {
            NIL => Some(Constant::Other),
            BOOLEAN => self.bytes(1).map(|_| Constant::Other),
            NUMBER => Some(Constant::Number(f64::from_le_bytes(*self.array()?))),
            TEXT => Some(Constant::Text(self.text()?.to_vec())),
            _ => None,
        }
    }

    fn local(&mut self) -> Option<Local> {
        self.text()?;
        Some(Local { start: self.count()?, end: self.count()? })
    }

    /// Reads so many values as are announced; each takes `least` bytes or more.
    fn list<T>(
        &mut self,
        least: usize,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.count()?;
        if count > self.0.len() / least {
            return None;
        }
        (0..count).map(|_| read(self)).collect()
    }

    /// Reads a text, which ends with a zero byte unless there is none.
    fn text(&mut self) -> Option<&'d [u8]> {
        let length = usize::try_from(u64::from_le_bytes(*self.array()?)).ok()?;
        let text = self.bytes(length)?;
        Some(text.split_last().map_or(text, |(_, text)| text))
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(i32::from_le_bytes(*self.array()?)).ok()
    }

    fn array<const N: usize>(&mut self) -> Option<&'d [u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(array)
    }

    fn bytes(&mut self, count: usize) -> Option<&'d [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }
}
