//! `math.random` and `math.randomseed`: the same numbers on every machine.

use std::ffi::CStr;

use mlua_sys::lua_CFunction;

use crate::failure::{Answer, Failure};
use crate::number::to_i32;
use crate::random::Random;
use crate::stack::{Stack, lua_functions};

/// Functions that stand in place of Lua's, whose numbers are the system's.
pub const REPLACED: &[(&CStr, lua_CFunction)] =
    &[(c"random", random_entry), (c"randomseed", seed_entry)];

lua_functions! {
    random_entry = random;
    seed_entry = seed;
}

fn random(stack: &mut Stack<'_>) -> Answer {
    let drawn = stack.core().random.next() % i32::MAX;
    let share = f64::from(drawn) / f64::from(i32::MAX);
    let (low, high) = match stack.arguments() {
        0 => {
            stack.push_number(share);
            return Ok(1);
        }
        1 => (1, stack.whole_argument(1)?),
        2 => (stack.whole_argument(1)?, stack.whole_argument(2)?),
        _ => return Err(stack.fail(format_args!("wrong number of arguments"))),
    };
    if low > high {
        return Err(Failure::Argument(stack.arguments(), "interval is empty"));
    }
    let width = high.wrapping_sub(low).wrapping_add(1);
    stack.push_number((share * f64::from(width)).floor() + f64::from(low));
    Ok(1)
}

fn seed(stack: &mut Stack<'_>) -> Answer {
    let seed = stack.whole_argument(1)?;
    stack.core().random = Random::new(seed);
    Ok(0)
}

impl Stack<'_> {
    /// Returns an argument as a whole number, as C would cut it.
    fn whole_argument(&mut self, index: i32) -> Result<i32, Failure> {
        self.number_argument(index).map(to_i32)
    }
}
