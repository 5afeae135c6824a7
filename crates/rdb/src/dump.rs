//! Payloads of DUMP and RESTORE: a value with version and checksum behind it.

use crate::checksum::Checksum;
use crate::error::{Error, Flaw};
use crate::format::{CHECKSUM_BYTES, COMMON_TYPE_MAX, Dialect, ValueType, Version, opcode};
use crate::input::Input;

/// A payload whose checksum is right.
#[derive(Debug)]
pub struct Payload<'a> {
    /// Dialect in which its type is numbered.
    pub dialect: Dialect,
    /// Type of its value.
    pub value_type: ValueType,
    /// Bytes of its value.
    pub value: Input<'a>,
}

/// What of a payload or file is checked before its values are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// The checksum.
    pub checksum: bool,
    /// Whether the version is one that can be read, or of a payload, one that is taken. Otherwise
    /// types that are known can still be read.
    pub version: bool,
}

impl Checks {
    /// Everything.
    pub const ALL: Checks = Checks { checksum: true, version: true };
}

/// Adds version and checksum to the type and bytes of a value.
pub fn seal_payload(mut value: Vec<u8>, version: Version) -> Vec<u8> {
    value.extend_from_slice(&version.0.to_le_bytes());
    let checksum = Checksum::of(&value);
    value.extend_from_slice(&checksum.to_le_bytes());
    value
}

/// The version that stands at the end of a payload, whatever else is wrong with it.
pub fn payload_version(bytes: &[u8]) -> Option<Version> {
    let (sealed, _) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
    let (_, version) = sealed.split_last_chunk::<2>()?;
    Some(Version(u16::from_le_bytes(*version)))
}

/// True if every server that knows the types of Redis 7.2 reads a payload, by its version and type.
pub fn is_common_payload(bytes: &[u8]) -> bool {
    let number = bytes.first().copied().unwrap_or_default();
    payload_version(bytes) <= Some(Version::COMMON) && number <= COMMON_TYPE_MAX
}

/// Checks version and checksum of a payload, as far as `checks` says.
///
/// # Errors
/// When there is no version or one that is not known, or bytes have changed:
/// [`Flaw::UnknownVersion`], [`Flaw::Checksum`]. When the type is not known: [`Flaw::UnknownType`].
pub fn open_payload(bytes: &[u8], checks: Checks) -> Result<Payload<'_>, Error> {
    let (mut value, version) = unseal(bytes, checks)?;
    let (number, dialect) = (value.byte()?, version.dialect_of_payload());
    let value_type = ValueType::of(number, dialect);
    let value_type = value_type.ok_or(Error { at: 0, flaw: Flaw::UnknownType(number) })?;
    Ok(Payload { dialect, value_type, value })
}

/// Sources of the function libraries in a payload of FUNCTION DUMP.
///
/// # Errors
/// Those of `open_payload`; when something else is in it, [`Flaw::UnknownType`].
pub fn open_libraries(bytes: &[u8], checks: Checks) -> Result<Vec<Vec<u8>>, Error> {
    let (mut input, _) = unseal(bytes, checks)?;
    let mut sources = Vec::new();
    while !input.rest().is_empty() {
        let at = input.at();
        match input.byte()? {
            opcode::FUNCTION => sources.push(input.bytes()?.into_owned()),
            other => return Err(Error { at, flaw: Flaw::UnknownType(other) }),
        }
    }
    Ok(sources)
}

/// Checks version and checksum at the end of a payload; returns what stands before them.
fn unseal(bytes: &[u8], checks: Checks) -> Result<(Input<'_>, Version), Error> {
    let at = bytes.len() as u64;
    let unknown = |version| Error { at, flaw: Flaw::UnknownVersion(version) };
    let (sealed, checksum) =
        bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or_else(|| unknown(0))?;
    let (value, version) = sealed.split_last_chunk::<2>().ok_or_else(|| unknown(0))?;
    let version = Version(u16::from_le_bytes(*version));
    if version.0 == 0 || checks.version && !version.is_of_payloads() {
        return Err(unknown(version.0));
    }
    let (found, expected) = (u64::from_le_bytes(*checksum), Checksum::of(sealed));
    if checks.checksum && found != expected {
        return Err(Error { at, flaw: Flaw::Checksum { found, expected } });
    }
    Ok((Input::new(value, 0), version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_opens_unless_a_bit_was_changed() {
        let bytes = seal_payload(b"\0\x02ab".to_vec(), Version::COMMON);
        let payload = open_payload(&bytes, Checks::ALL).expect("whole");
        assert_eq!((payload.value_type, payload.value.rest()), (ValueType::String, &b"\x02ab"[..]));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(open_payload(&damaged, Checks::ALL).is_err(), "byte {at}");
            assert!(open_payload(&bytes[..at], Checks::ALL).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn versions_that_valkey_does_not_take_are_refused() {
        let relaxed = Checks { version: false, ..Checks::ALL };
        for version in (0..=120).chain([u16::MAX]) {
            let bytes = seal_payload(b"\0\x02ab".to_vec(), Version(version));
            let opened = open_payload(&bytes, Checks::ALL);
            match version {
                1..=11 | 80 => assert!(opened.is_ok(), "{version}"),
                _ => {
                    let error = opened.expect_err("refused");
                    assert_eq!(error.flaw, Flaw::UnknownVersion(version));
                }
            }
            assert_eq!(open_payload(&bytes, relaxed).is_ok(), version > 0, "{version}");
        }
    }

    #[test]
    fn a_payload_of_a_common_version_has_the_types_of_valkey() {
        for (version, expected) in [
            (11, ValueType::HashTimed),
            (12, ValueType::HashSpans { has_earliest: false }),
            (80, ValueType::HashTimed),
        ] {
            let bytes = seal_payload(b"\x16\0".to_vec(), Version(version));
            let relaxed = Checks { version: false, ..Checks::ALL };
            assert_eq!(open_payload(&bytes, relaxed).expect("known").value_type, expected);
            assert!(!is_common_payload(&bytes), "{version}");
        }
    }

    #[test]
    fn a_checksum_of_zeros_is_wrong() {
        let sealed = [&b"\0\x02ab\x0b\0"[..], &[0; CHECKSUM_BYTES]].concat();
        let error = open_payload(&sealed, Checks::ALL).expect_err("refused");
        assert!(matches!(error.flaw, Flaw::Checksum { found: 0, .. }), "{error}");
    }
}
