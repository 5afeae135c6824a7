//! Bytes that claim to be a value of any type are refused or read, and in two pieces as in one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rdb::{Dialect, Error, Input, Part, ValueReader, ValueType};

fn read(value_type: ValueType, pieces: [&[u8]; 2]) -> Result<(Vec<String>, bool), Error> {
    let (mut parts, mut reader) = (Vec::new(), ValueReader::new(value_type));
    let mut keep = |part: Part<'_>| {
        parts.push(format!("{part:?}"));
        Ok::<(), Error>(())
    };
    let mut input = Input::new(pieces[0], 0);
    let mut is_complete = reader.read(&mut input, &mut keep)?;
    if !is_complete {
        let rest = [input.rest(), pieces[1]].concat();
        is_complete = reader.read(&mut Input::new(&rest, input.at()), &mut keep)?;
    }
    Ok((parts, is_complete))
}

fuzz_target!(|data: &[u8]| {
    let [number, cut, bytes @ ..] = data else { return };
    for dialect in [Dialect::Redis, Dialect::Valkey] {
        let Some(value_type) = ValueType::of(*number, dialect) else { continue };
        let at = usize::from(*cut).min(bytes.len());
        let (one, two) = bytes.split_at(at);
        match (read(value_type, [bytes, &[]]), read(value_type, [one, two])) {
            (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces),
            (whole, pieces) => assert_eq!(whole.is_err(), pieces.is_err()),
        }
    }
});
