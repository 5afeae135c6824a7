//! Tables: what reading their fields gives, and what setting or walking over them does.

use super::{Flow, Here, Next};
use crate::proof::instruction::Instruction;
use crate::proof::value::Value;

impl Flow<'_, '_> {
    /// Returns a field of a table, which may be a function that gets both.
    pub(super) fn field(&mut self, table: Value, key: Value) -> Option<Value> {
        if !table.is_followed() {
            self.give_away(table)?;
        }
        self.give_away(key)?;
        let name = self.text(key);
        if table == Value::Arguments {
            let place = name.and_then(text::parse_i64).and_then(|it| usize::try_from(it).ok());
            return Some(
                place.and_then(|it| it.checked_sub(1)).map_or(Value::Other, Value::Argument),
            );
        }
        table.field(name)
    }

    pub(super) fn set_field(
        &mut self,
        here: &mut Here<'_>,
        instruction: Instruction,
    ) -> Option<()> {
        let Instruction { a, b, c, .. } = instruction;
        let table = here.get(self, a)?;
        let (key, value) = (here.operand(self, b)?, here.operand(self, c)?);
        let is_callback = self.text(key) == Some(b"callback");
        match (table, value) {
            (Value::Fields(made_at, None), Value::Closure(callback)) if is_callback => {
                self.inner.get_mut(callback)?.tables.insert(made_at);
                return here.set(self, a, Value::Fields(made_at, Some(callback)));
            }
            (Value::Arguments, _) => self.known.arguments_change = true,
            (table, _) if table.is_followed() => return None,
            _ => {}
        }
        self.give_away(key)?;
        self.give_away(value)
    }

    pub(super) fn iterate(
        &mut self,
        here: &mut Here<'_>,
        instruction: Instruction,
    ) -> Option<Next> {
        let Instruction { a, c, .. } = instruction;
        let (function, table) = (here.get(self, a)?, here.get(self, a + 1)?);
        let is_read = function == Value::Iterator && table.is_given();
        let of_keys = is_read && table == Value::Keys;
        if !is_read {
            (a..a + 3).try_for_each(|it| self.give_away(here.get(self, it)?))?;
        }
        for place in 0..c {
            let value = if of_keys && place == 1 { Value::Key } else { Value::Other };
            here.set(self, a + 3 + place, value)?;
        }
        here.set(self, a + 2, Value::Other)?;
        Some(Next::Either(here.at + 1, here.at + 2))
    }
}
