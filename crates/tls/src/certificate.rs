//! What a certificate says: names, serial number, and until when it is valid.

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

/// Serial number and end of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Serial number, hexadecimal.
    pub serial: String,
    /// Second since 1970 at which it expires.
    pub expires: i64,
    /// Second since 1970 from which on it is valid.
    pub begins: i64,
}

fn parse(der: &[u8]) -> Option<X509Certificate<'_>> {
    X509Certificate::from_der(der).ok().map(|(_, certificate)| certificate)
}

/// Returns the facts about a certificate; `None` if it is none.
pub fn facts(der: &[u8]) -> Option<Facts> {
    let certificate = parse(der)?;
    let validity = certificate.validity();
    Some(Facts {
        serial: serial(certificate.raw_serial()),
        expires: validity.not_after.timestamp(),
        begins: validity.not_before.timestamp(),
    })
}

/// Returns the facts about the one of several certificates that expires first.
pub fn earliest<'c>(certificates: impl Iterator<Item = &'c [u8]>) -> Option<Facts> {
    certificates.filter_map(facts).min_by_key(|facts| facts.expires)
}

/// Writes a number as OpenSSL does: two capital digits for each byte, and no leading zero bytes.
fn serial(bytes: &[u8]) -> String {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits: String = bytes[zeros..].iter().map(|byte| format!("{byte:02X}")).collect();
    if digits.is_empty() { "0".to_owned() } else { digits }
}

/// Returns the first common name of the subject: bytes that may be anything. `None` if there is
/// none, or if it is empty.
pub fn common_name(der: &[u8]) -> Option<Vec<u8>> {
    let certificate = parse(der)?;
    let name = certificate.subject().iter_common_name().next()?;
    let bytes = name.attr_value().data.to_vec();
    (!bytes.is_empty()).then_some(bytes)
}

/// Returns the URIs among the alternative names of the subject, in order. One with a NUL is left
/// out.
pub fn uris(der: &[u8]) -> Vec<Vec<u8>> {
    let Some(certificate) = parse(der) else { return Vec::new() };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return Vec::new() };
    let uris = names.value.general_names.iter().filter_map(|name| match name {
        GeneralName::URI(uri) => Some(uri.as_bytes().to_vec()),
        _ => None,
    });
    uris.filter(|uri| !uri.is_empty() && !uri.contains(&0)).collect()
}

#[cfg(test)]
mod tests {
    use super::serial;

    #[test]
    fn a_serial_number_is_written_as_openssl_writes_it() {
        let cases: [(&[u8], &str); 5] = [
            (&[], "0"),
            (&[0], "0"),
            (&[0x0a], "0A"),
            (&[0, 0xff, 0x01], "FF01"),
            (&[0x7f, 0, 0], "7F0000"),
        ];
        for (bytes, text) in cases {
            assert_eq!(serial(bytes), text);
        }
    }
}
