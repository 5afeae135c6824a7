//! What a replica, or a program that reads like one, tells a primary of itself by REPLCONF.
//!
//! Each option has its effect as it is read, also if a later one of the same request is refused, as
//! in Valkey 9.1.

use text::{parse_i64, split_args};

/// Longest address that is taken, as for Valkey.
const ADDRESS_BYTES_MAX: usize = 255;

/// What is known of a reader of the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// Port at which it says that it can be reached; zero if it has not said so.
    pub port: i64,
    /// Address at which it says that it can be reached; empty for the one from which it comes.
    pub address: Vec<u8>,
    /// True if it finds the end of a snapshot by a mark.
    pub takes_mark: bool,
    /// True if it takes another id behind `+CONTINUE`.
    pub takes_other_ids: bool,
    /// True if it is a Redis from version 8 on, which alone offers `rdb-channel-repl`.
    pub is_redis_8: bool,
    /// Version of Valkey, if it has told one.
    pub version: Option<[u8; 3]>,
    /// True if it wants a snapshot and no stream.
    pub only_snapshot: bool,
    /// What of the data it wants.
    pub filter: Filter,
}

/// What a reader wants in its snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Keys and function libraries.
    #[default]
    Everything,
    /// Function libraries.
    Functions,
    /// Neither.
    Nothing,
}

/// Why an option is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The value is no integer.
    NotInteger,
    /// The value is neither 0 nor 1.
    NotBit,
    /// The address has so many bytes.
    AddressTooLong(usize),
    /// The version is not three numbers up to 255.
    Version(Vec<u8>),
    /// The words of the filter cannot be read.
    FilterMissing,
    /// A word of the filter is unknown.
    Filter(Vec<u8>),
    /// There is no such option.
    Option(Vec<u8>),
}

impl Reader {
    /// Takes an option of REPLCONF, whose name may be in letters of either case.
    ///
    /// # Errors
    /// When the option or its value is unknown; nothing has changed then.
    pub fn tell(&mut self, option: &[u8], value: &[u8]) -> Result<(), Unusable> {
        match option.to_ascii_lowercase().as_slice() {
            b"listening-port" => self.port = parse_i64(value).ok_or(Unusable::NotInteger)?,
            b"ip-address" if value.len() > ADDRESS_BYTES_MAX => {
                return Err(Unusable::AddressTooLong(value.len()));
            }
            b"ip-address" => self.address = value.to_vec(),
            // Abilities that are unknown are those of readers to come.
            b"capa" => match value.to_ascii_lowercase().as_slice() {
                b"eof" => self.takes_mark = true,
                b"psync2" => self.takes_other_ids = true,
                b"rdb-channel-repl" => self.is_redis_8 = true,
                _ => {}
            },
            b"version" => {
                let version = parse_version(value);
                self.version = Some(version.ok_or_else(|| Unusable::Version(value.to_vec()))?);
            }
            b"rdb-only" => {
                self.only_snapshot = match parse_i64(value).ok_or(Unusable::NotInteger)? {
                    0 => false,
                    1 => true,
                    _ => return Err(Unusable::NotBit),
                };
            }
            b"rdb-filter-only" => self.filter = parse_filter(value)?,
            _ => return Err(Unusable::Option(option.to_vec())),
        }
        Ok(())
    }
}

fn parse_version(text: &[u8]) -> Option<[u8; 3]> {
    let mut numbers = text.split(|byte| *byte == b'.').map(|number| {
        let number = parse_i64(number)?;
        u8::try_from(number).ok()
    });
    let version = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(version)
}

fn parse_filter(text: &[u8]) -> Result<Filter, Unusable> {
    let words = split_args(text).ok_or(Unusable::FilterMissing)?;
    let mut filter = Filter::Nothing;
    for word in words {
        if !word.eq_ignore_ascii_case(b"functions") {
            return Err(Unusable::Filter(word));
        }
        filter = Filter::Functions;
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(options: &[(&str, &str)]) -> Result<Reader, Unusable> {
        let mut reader = Reader::default();
        for (option, value) in options {
            reader.tell(option.as_bytes(), value.as_bytes())?;
        }
        Ok(reader)
    }

    #[test]
    fn readers_are_known_by_what_they_tell() {
        let valkey = told(&[
            ("listening-port", "7000"),
            ("CAPA", "EOF"),
            ("capa", "psync2"),
            ("capa", "skip-rdb-checksum"),
            ("version", "9.1.2"),
        ]);
        let expected = Reader {
            port: 7000,
            takes_mark: true,
            takes_other_ids: true,
            version: Some([9, 1, 2]),
            ..Reader::default()
        };
        assert_eq!(valkey, Ok(expected));
        assert!(told(&[("capa", "rdb-channel-repl")]).is_ok_and(|it| it.is_redis_8));
        let tool = told(&[("rdb-only", "1"), ("rdb-filter-only", "functions functions")]);
        assert!(tool.is_ok_and(|it| it.only_snapshot && it.filter == Filter::Functions));
        assert!(told(&[("rdb-filter-only", "")]).is_ok_and(|it| it.filter == Filter::Nothing));
    }

    // The answers of Valkey 9.1.2.
    #[test]
    fn values_are_refused_that_valkey_refuses() {
        let name = |text: &str| text.as_bytes().to_vec();
        let long = "x".repeat(256);
        let refused = [
            ("listening-port", "abc", Unusable::NotInteger),
            ("listening-port", "99999999999999999999", Unusable::NotInteger),
            ("ip-address", &long, Unusable::AddressTooLong(256)),
            ("version", "9.1", Unusable::Version(name("9.1"))),
            ("version", "9.1.2.3", Unusable::Version(name("9.1.2.3"))),
            ("version", "300.1.2", Unusable::Version(name("300.1.2"))),
            ("version", "abc", Unusable::Version(name("abc"))),
            ("rdb-only", "2", Unusable::NotBit),
            ("rdb-only", "x", Unusable::NotInteger),
            ("rdb-filter-only", "foo", Unusable::Filter(name("foo"))),
            ("rdb-filter-only", "functions \"foo", Unusable::FilterMissing),
            ("frob", "7", Unusable::Option(name("frob"))),
        ];
        for (option, value, expected) in refused {
            assert_eq!(told(&[(option, value)]), Err(expected), "{option} {value}");
        }
        for (option, value) in [("listening-port", "-5"), ("ip-address", ""), ("capa", "x")] {
            assert!(told(&[(option, value)]).is_ok(), "{option} {value}");
        }
        assert!(told(&[("ip-address", &long[1..])]).is_ok());
    }
}
