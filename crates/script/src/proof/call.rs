//! Calls: of commands, of functions that are known to do no harm, and of all others.

use super::flow::{Flow, Here, Open};
use super::instruction::Instruction;
use super::site::{CallSite, Word};
use super::value::Value;

impl Flow<'_, '_> {
    /// Calls what a register holds with the values behind it. If the instruction does not tell
    /// their number, they end with the open ones.
    pub(super) fn call(
        &mut self,
        here: &mut Here<'_>,
        instruction: Instruction,
        open: Option<Open>,
    ) -> Option<()> {
        let Instruction { a, b, c, .. } = instruction;
        let function = here.get(self, a)?;
        let given = self.values(here, a + 1, b, open)?;
        let rest = (b == 0).then_some(open).flatten();
        let results = self.results(function, &given, rest)?;
        if c == 0 {
            self.open = Some(Open { start: a, value: results.each });
            return Some(());
        }
        for place in 0..c - 1 {
            let value = results.first.get(place).copied().unwrap_or(results.each);
            here.set(self, a + place, value)?;
        }
        Some(())
    }

    /// Returns what a call returns. The last of the values given is that of the open ones, if
    /// there are any.
    fn results(&mut self, function: Value, given: &[Value], rest: Option<Open>) -> Option<Results> {
        let first = match given {
            [_] if rest.is_some() => None,
            given => given.first().copied(),
        };
        match (function, first) {
            (Value::Call, _) => self.note_site(given, rest.is_some())?,
            (Value::Protect, Some(Value::Call)) => self.note_site(&given[1..], rest.is_some())?,
            (Value::Unpack, Some(Value::Keys)) => {
                given[1..].iter().try_for_each(|value| self.give_away(*value))?;
                return Some(Results { first: [Value::Key; 3], each: Value::Key });
            }
            (Value::Pairs, Some(table)) if table.is_given() => {
                given[1..].iter().try_for_each(|value| self.give_away(*value))?;
                let first = [Value::Iterator, table, Value::Other];
                return Some(Results { first, each: Value::Mixed });
            }
            (Value::Register, _) => self.note_function(given)?,
            (Value::Unpack | Value::Reader, _) => {
                let others = given.iter().filter(|value| !value.is_given());
                others.copied().try_for_each(|value| self.give_away(value))?;
            }
            (function, _) => {
                self.give_away(function)?;
                given.iter().try_for_each(|value| self.give_away(*value))?;
            }
        }
        Some(Results { first: [Value::Other; 3], each: Value::Other })
    }

    /// Notes that a command is called here.
    fn note_site(&mut self, given: &[Value], has_rest: bool) -> Option<()> {
        let mut words: Vec<Word> = given.iter().map(|value| self.word(*value)).collect();
        let rest = if has_rest { words.pop() } else { None };
        match words.first() {
            Some(Word::Literal(_) | Word::Argument(_)) if self.is_settled => {
                self.known.sites.push(CallSite { words, rest });
            }
            Some(Word::Literal(_) | Word::Argument(_)) => {}
            // Without a name the call fails.
            None if rest.is_none() => {}
            _ => return None,
        }
        Some(())
    }

    fn word(&self, value: Value) -> Word {
        match value {
            Value::Key => Word::Key,
            Value::Argument(place) => Word::Argument(place),
            Value::Literal(text) => match self.known.texts.get(text) {
                Some(text) => Word::Literal(text[..].into()),
                None => Word::Other,
            },
            // A table or a function among the words is refused.
            _ => Word::Other,
        }
    }

    /// Notes that a function is registered as one of the library.
    fn note_function(&mut self, given: &[Value]) -> Option<()> {
        match *given {
            [name, Value::Closure(inner)] => {
                self.register(inner);
                self.give_away(name)
            }
            [Value::Fields(_, Some(inner))] => {
                self.register(inner);
                Some(())
            }
            _ => given.iter().try_for_each(|value| self.give_away(*value)),
        }
    }
}

/// What a call returns.
struct Results {
    first: [Value; 3],
    /// Each value behind these.
    each: Value,
}
