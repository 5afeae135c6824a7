//! Data of modules, passed over: its meaning is not known, but what stands behind it can be read.
//!
//! ```text
//! value   | id of the type | opcode | datum | opcode | datum | ... | 0 |
//! aux     | 247 | id of the type | 2 | when | as above |
//! ```

use crate::error::Error;
use crate::format::{module_name, module_opcode, opcode};
use crate::input::Input;

/// Passes over a value of a module. Returns the name of its type.
///
/// # Errors
/// When it is damaged or does not end.
pub fn skip_module_value(input: &mut Input<'_>) -> Result<String, Error> {
    let name = module_name(input.length()?);
    skip_data(input)?;
    Ok(name)
}

/// Passes over data of a module that belongs to no key; `None` if there is none here. Returns the
/// name of the type.
///
/// # Errors
/// When it is damaged or does not end.
pub fn skip_module_data(input: &mut Input<'_>) -> Result<Option<String>, Error> {
    let mut ahead = input.clone();
    if ahead.byte()? != opcode::MODULE_AUX {
        return Ok(None);
    }
    let name = module_name(ahead.length()?);
    let begin = ahead.clone();
    if ahead.length()? != module_opcode::UNSIGNED {
        return Err(begin.damaged("data of a module that does not say when it is read"));
    }
    ahead.length()?;
    skip_data(&mut ahead)?;
    *input = ahead;
    Ok(Some(name))
}

fn skip_data(input: &mut Input<'_>) -> Result<(), Error> {
    loop {
        let begin = input.clone();
        match input.length()? {
            module_opcode::END => return Ok(()),
            module_opcode::SIGNED | module_opcode::UNSIGNED => drop(input.length()?),
            module_opcode::FLOAT => drop(input.take(4)?),
            module_opcode::DOUBLE => drop(input.take(8)?),
            module_opcode::TEXT => drop(input.text()?),
            _ => return Err(begin.damaged("no such datum of a module")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;

    fn data() -> Vec<u8> {
        let mut output = Output::default();
        for number in [0x9b49_8f92_1d1d_0c01, 2, 7, 1, 9] {
            output.length(number);
        }
        output.length(5);
        output.text(b"a text");
        output.length(3);
        output.raw(&[0; 4]);
        output.length(4);
        output.raw(&[0; 8]);
        output.length(0);
        output.take()
    }

    #[test]
    fn data_of_a_module_ends_where_it_says() {
        let bytes = [&[opcode::MODULE_AUX], &data()[..], b"x"].concat();
        let mut input = Input::new(&bytes, 0);
        let name = skip_module_data(&mut input).expect("whole").expect("a module");
        assert_eq!((name.len(), input.rest()), (9, &b"x"[..]));
        assert_eq!(skip_module_data(&mut input), Ok(None));
        assert_eq!(input.rest(), b"x");
        for len in 0..bytes.len() - 1 {
            let read = skip_module_data(&mut Input::new(&bytes[..len], 0));
            assert!(read.is_err_and(|error| error.is_end()), "{len} bytes");
        }
    }

    #[test]
    fn a_datum_that_is_not_known_is_damage() {
        let error = skip_module_value(&mut Input::new(&[0, 9], 0)).expect_err("refused");
        assert!(!error.is_end() && error.at == 1, "{error}");
    }
}
