//! Payloads of DUMP and RESTORE.

use crate::collect::{Collected, Collector};
use crate::encode::Encoder;
use base::KeyHasher;
use rdb::{Checks, Error, Flaw, Output, ValueType, Version, open_payload, seal_payload};
use std::ops::ControlFlow;
use store::{Access, Key};

/// Returns the value of a key as a payload of DUMP, with fields that have expired and are not
/// removed yet; `None` if there is none. Deadlines of fields are written as version `timed` has
/// them.
pub fn dump(
    access: &Access<'_>,
    key: &Key<'_>,
    timed: Version,
    compresses: bool,
) -> Option<Vec<u8>> {
    let (value, mut encoder) = (access.value(key)?.with_expired(), Encoder::default());
    let form = loop {
        if let ControlFlow::Break(form) = encoder.look(value, timed) {
            break form?;
        }
    };
    let mut output = Output::new(compresses);
    output.byte(form.value_type.number(form.version.dialect())?);
    while !encoder.write(value, form, &mut output, usize::MAX) {}
    Some(seal_payload(output.take(), form.version))
}

/// Reads a payload of DUMP. `checks` says what is compared before.
///
/// # Errors
/// When it is damaged, of an unknown version, or of a module.
pub fn read_payload(bytes: &[u8], checks: Checks, hasher: &KeyHasher) -> Result<Collected, Error> {
    let mut payload = open_payload(bytes, checks)?;
    if let ValueType::HashSpans { has_earliest: false } = payload.value_type {
        // Release candidates of Redis wrote it under the number that Valkey uses.
        return Err(Error { at: 0, flaw: Flaw::ForeignType(bytes[0]) });
    }
    let mut collector = Collector::new(payload.value_type);
    let at = payload.value.at();
    if !collector.read(&mut payload.value)? {
        return Err(Error { at: payload.value.at(), flaw: Flaw::Ends });
    }
    if !payload.value.rest().is_empty() {
        let flaw = Flaw::Damaged("bytes behind the value");
        return Err(Error { at: payload.value.at(), flaw });
    }
    collector.finish(hasher, at)
}
