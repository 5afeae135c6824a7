//! Bytes that claim to be a value of any type are refused or read, in two pieces as in one, and
//! end where they end for who only passes over them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rdb::{Dialect, Error, Input, Part, ValueReader, ValueType};

fn read(value_type: ValueType, pieces: [&[u8]; 2]) -> Result<(Vec<String>, Option<u64>), Error> {
    let (mut parts, mut reader) = (Vec::new(), ValueReader::new(value_type));
    let mut keep = |part: Part<'_>| {
        parts.push(format!("{part:?}"));
        Ok::<(), Error>(())
    };
    let mut input = Input::new(pieces[0], 0);
    if reader.read(&mut input, &mut keep)? {
        return Ok((parts, Some(input.at())));
    }
    let rest = [input.rest(), pieces[1]].concat();
    let mut input = Input::new(&rest, input.at());
    let is_complete = reader.read(&mut input, &mut keep)?;
    Ok((parts, is_complete.then_some(input.at())))
}

/// Offset of the end of a value that is passed over; `None` if it does not end.
fn end(value_type: ValueType, bytes: &[u8]) -> Result<Option<u64>, Error> {
    let mut input = Input::new(bytes, 0);
    Ok(ValueReader::new(value_type).skip(&mut input)?.then_some(input.at()))
}

fuzz_target!(|data: &[u8]| {
    let [number, split, bytes @ ..] = data else { return };
    for dialect in [Dialect::Redis, Dialect::Valkey] {
        let Some(value_type) = ValueType::of(*number, dialect) else { continue };
        let at = usize::from(*split).min(bytes.len());
        let (one, two) = bytes.split_at(at);
        match (read(value_type, [bytes, &[]]), read(value_type, [one, two])) {
            (Ok(whole), Ok(pieces)) => {
                assert_eq!(whole, pieces);
                assert_eq!(end(value_type, bytes), Ok(whole.1), "it ends where it is read to");
            }
            (whole, pieces) => assert_eq!(whole.is_err(), pieces.is_err()),
        }
    }
});
