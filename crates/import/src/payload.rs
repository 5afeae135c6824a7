//! Values on their way to a server: as RESTORE takes them, or as commands where it would not.
//!
//! A server refuses payloads of versions that it does not know, also where it knows the type. So a
//! payload is sealed anew with the least version that has its type. Only hashes with deadlines of
//! fields have forms that servers do not share; they become commands.

use crate::server::{Maker, Server};
use packed::Element;
use rdb::{
    Checks, Dialect, Error, Input, Kind, Miscount, Output, Part, ValueReader, ValueType, Version,
    open_payload, seal_payload,
};
use std::collections::BTreeMap;
use text::IntegerText;

/// Longest argument that servers take.
const ARGUMENT_BYTES_MAX: usize = 512 << 20;
/// Fields of a hash in one command.
const FIELDS_AT_ONCE: usize = 1000;
/// Number of the first type that Redis and Valkey do not share.
const OWN_TYPES_FROM: u8 = 22;

/// A value as a file or a payload has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    value_type: ValueType,
    dialect: Dialect,
    /// Bytes behind the type.
    raw: Vec<u8>,
}

/// How a key was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Seconds since its last access.
    Idle(u64),
    /// Frequency of access, from 0 to 255.
    Frequency(u8),
}

/// A request.
pub type Request = Vec<Vec<u8>>;

/// Least version that has a type.
fn version_of(number: u8) -> u16 {
    match number {
        0..=13 => 6,
        14 => 7,
        15 => 9,
        16..=19 => 10,
        _ => 11,
    }
}

impl Value {
    /// A value of a file of this dialect.
    pub fn of_file(value_type: ValueType, dialect: Dialect, raw: Vec<u8>) -> Value {
        Value { value_type, dialect, raw }
    }

    /// A value of a payload of DUMP. Whether its version is known does not matter.
    ///
    /// # Errors
    /// When it is damaged, or its type is not known.
    pub fn of_payload(bytes: &[u8]) -> Result<Value, Error> {
        let payload = open_payload(bytes, Checks { checksum: true, version: false })?;
        let raw = payload.value.rest().to_vec();
        Ok(Value { value_type: payload.value_type, dialect: payload.dialect, raw })
    }

    /// Gives a stream its real number of entries where it says another one, which is returned then.
    pub fn mend(&mut self) -> Option<Miscount> {
        if self.value_type.kind() != Kind::Stream {
            return None;
        }
        let mut reader = ValueReader::counting(self.value_type);
        reader.read(&mut Input::new(&self.raw, 0), |_| Ok::<(), Error>(())).ok()?;
        let miscount = reader.miscount()?;
        let begin = usize::try_from(miscount.at).ok()?;
        let end = begin + usize::try_from(miscount.bytes).ok()?;
        let mut number = Output::default();
        number.length(miscount.found);
        self.raw.splice(begin..end, number.take());
        Some(miscount)
    }

    /// True for a collection without elements.
    pub fn is_empty(&self) -> bool {
        let mut reader = ValueReader::new(self.value_type);
        let read = reader.read(&mut Input::new(&self.raw, 0), |_| Err(None));
        self.value_type.kind().is_never_empty() && read == Ok::<bool, Option<Error>>(true)
    }

    /// True for a string.
    pub fn is_string(&self) -> bool {
        self.value_type.kind() == Kind::String
    }

    /// Bytes of the value.
    pub fn bytes(&self) -> usize {
        self.raw.len()
    }

    /// The requests that give a key this value on a server.
    ///
    /// # Errors
    /// What the server cannot take.
    pub fn requests(
        &self,
        name: &[u8],
        deadline: Option<u64>,
        used: Option<Use>,
        server: &Server,
    ) -> Result<Vec<Request>, String> {
        let kind = self.value_type;
        if matches!(kind, ValueType::Module | ValueType::ModuleOld) {
            return Err("the value is of a module".to_owned());
        }
        let number = kind.number(self.dialect).ok_or("the type has no number")?;
        if self.raw.len() > ARGUMENT_BYTES_MAX {
            return Err("the value takes more than the 512 MB of one RESTORE".to_owned());
        }
        let version = match number {
            ..OWN_TYPES_FROM => version_of(number),
            _ if self.is_read_by(server) => match self.dialect {
                Dialect::Redis => Version::REDIS.0,
                Dialect::Valkey => Version::VALKEY.0,
            },
            _ => return self.as_commands(name, deadline, server),
        };
        let mut sealed = Vec::with_capacity(self.raw.len() + 11);
        sealed.push(number);
        sealed.extend_from_slice(&self.raw);
        let payload = seal_payload(sealed, Version(version));
        let millis = decimal(deadline.unwrap_or(0));
        let mut request: Request =
            vec![b"RESTORE".to_vec(), name.to_vec(), millis, payload, b"REPLACE".to_vec()];
        request.push(b"ABSTTL".to_vec());
        match used {
            Some(Use::Idle(seconds)) => request.extend([b"IDLETIME".to_vec(), decimal(seconds)]),
            Some(Use::Frequency(counter)) => {
                request.extend([b"FREQ".to_vec(), decimal(counter.into())]);
            }
            None => {}
        }
        Ok(vec![request])
    }

    /// True if a server reads the own types of this dialect.
    fn is_read_by(&self, server: &Server) -> bool {
        match (server.maker, self.dialect) {
            (Maker::Redis, Dialect::Redis) => server.version >= (7, 4),
            (Maker::Valkey | Maker::Varve, Dialect::Valkey) => server.version >= (9, 0),
            _ => false,
        }
    }

    /// A hash as commands.
    fn as_commands(
        &self,
        name: &[u8],
        deadline: Option<u64>,
        server: &Server,
    ) -> Result<Vec<Request>, String> {
        let mut fields: Vec<Vec<u8>> = Vec::new();
        let mut timed: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
        let mut input = Input::new(&self.raw, 0);
        let read = ValueReader::new(self.value_type).read(&mut input, |part| {
            if let Part::Field { field, value, deadline } = part {
                fields.extend([text_of(field), text_of(value)]);
                if let Some(deadline) = deadline {
                    timed.entry(deadline).or_default().push(text_of(field));
                }
            }
            Ok::<(), Error>(())
        });
        if !read.map_err(|error| error.to_string())? {
            return Err("the value does not end".to_owned());
        }
        if !timed.is_empty() && !server.has_timed_fields {
            return Err("the server knows no deadlines of fields".to_owned());
        }
        let mut requests = vec![words(&[b"DEL", name])];
        for piece in fields.chunks(2 * FIELDS_AT_ONCE) {
            let mut request = words(&[b"HSET", name]);
            request.extend_from_slice(piece);
            requests.push(request);
        }
        for (deadline, fields) in &timed {
            for piece in fields.chunks(FIELDS_AT_ONCE) {
                let (millis, count) = (decimal(*deadline), decimal(piece.len() as u64));
                let mut request = words(&[b"HPEXPIREAT", name, &millis, b"FIELDS", &count]);
                request.extend_from_slice(piece);
                requests.push(request);
            }
        }
        if let Some(deadline) = deadline {
            requests.push(words(&[b"PEXPIREAT", name, &decimal(deadline)]));
        }
        if server.has_transactions {
            requests.insert(0, words(&[b"MULTI"]));
            requests.push(words(&[b"EXEC"]));
        }
        Ok(requests)
    }
}

fn words(words: &[&[u8]]) -> Request {
    words.iter().map(|word| word.to_vec()).collect()
}

fn decimal(number: u64) -> Vec<u8> {
    IntegerText::new().format_unsigned(number).to_vec()
}

fn text_of(element: Element<'_>) -> Vec<u8> {
    element.with_text(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;

    fn server(maker: Maker, version: (u64, u64)) -> Server {
        Server {
            address: Address::default(),
            maker,
            version,
            run_id: String::new(),
            databases: Vec::new(),
            has_transactions: maker != Maker::Varve,
            has_expire_time: true,
            has_digests: true,
            has_timed_fields: version >= (7, 4),
            has_attributes: maker == Maker::Varve,
        }
    }

    fn timed_hash(dialect: Dialect) -> Value {
        let mut output = Output::default();
        output.length(2);
        for (field, deadline) in [("a", 5_u64), ("b", u64::MAX)] {
            output.text(field.as_bytes());
            output.text(b"value");
            output.raw(&deadline.to_le_bytes());
        }
        Value::of_file(ValueType::HashTimed, dialect, output.take())
    }

    fn shown(requests: &[Request]) -> Vec<String> {
        let text = |request: &Request| String::from_utf8_lossy(&request.join(&b' ')).into_owned();
        requests.iter().map(text).collect()
    }

    #[test]
    fn a_payload_gets_the_least_version_that_has_its_type() {
        let sealed = seal_payload(b"\0\x02ab".to_vec(), Version(12));
        let value = Value::of_payload(&sealed).expect("whole");
        let to = server(Maker::Valkey, (9, 1));
        let requests = value.requests(b"k", Some(77), Some(Use::Frequency(3)), &to).expect("known");
        let [request] = &requests[..] else { panic!("{requests:?}") };
        assert_eq!(request[3], seal_payload(b"\0\x02ab".to_vec(), Version(6)));
        assert_eq!(request[2], b"77");
        assert_eq!(&request[4..], [&b"REPLACE"[..], b"ABSTTL", b"FREQ", b"3"]);
    }

    #[test]
    fn deadlines_of_fields_become_commands_where_the_form_is_not_known() {
        let value = timed_hash(Dialect::Valkey);
        let to_valkey = value.requests(b"k", None, None, &server(Maker::Valkey, (9, 0)));
        assert!(to_valkey.expect("known")[0][0] == b"RESTORE");
        let to_redis = value.requests(b"k", Some(9), None, &server(Maker::Redis, (8, 0)));
        assert_eq!(
            shown(&to_redis.expect("as commands")),
            [
                "MULTI",
                "DEL k",
                "HSET k a value b value",
                "HPEXPIREAT k 5 FIELDS 1 a",
                "PEXPIREAT k 9",
                "EXEC"
            ]
        );
        assert!(value.requests(b"k", None, None, &server(Maker::Redis, (7, 2))).is_err());
    }

    #[test]
    fn deadlines_of_fields_in_a_form_of_redis_become_commands_for_varve() {
        let mut output = Output::default();
        output.raw(&7_u64.to_le_bytes());
        output.length(1);
        // One millisecond behind the earliest, and the field with its value.
        [&b"\x02"[..], b"\x01f", b"\x01v"].iter().for_each(|bytes| output.raw(bytes));
        let spans = ValueType::HashSpans { has_earliest: true };
        let value = Value::of_file(spans, Dialect::Redis, output.take());
        let requests = value.requests(b"k", None, None, &server(Maker::Varve, (9, 1)));
        let expected = ["DEL k", "HSET k f v", "HPEXPIREAT k 8 FIELDS 1 f"];
        assert_eq!(shown(&requests.expect("as commands")), expected);
        let requests = value.requests(b"k", None, None, &server(Maker::Redis, (8, 0)));
        assert_eq!(requests.expect("known")[0][0], b"RESTORE");
    }

    #[test]
    fn a_stream_gets_the_number_of_entries_that_it_has() {
        let stream = |len| {
            let mut output = Output::default();
            output.length(0);
            [len, 5, 1, 0].into_iter().for_each(|number| output.length(number));
            Value::of_file(ValueType::Stream1, Dialect::Redis, output.take())
        };
        let mut wrong = stream(70_000);
        assert_eq!(wrong.mend().map(|it| (it.told, it.found)), Some((70_000, 0)));
        assert_eq!((wrong.mend(), &wrong), (None, &stream(0)));
    }

    #[test]
    fn only_collections_without_elements_are_empty() {
        let value =
            |value_type, raw: &[u8]| Value::of_file(value_type, Dialect::Redis, raw.to_vec());
        assert!(value(ValueType::Set, b"\0").is_empty());
        for (value_type, raw) in [
            (ValueType::Set, &b"\x01\x01a"[..]),
            (ValueType::String, b"\0"),
            (ValueType::Stream1, b"\0\0\0\0\0"),
            // What is damaged is left to the server.
            (ValueType::Set, b"\x01"),
        ] {
            assert!(!value(value_type, raw).is_empty(), "{value_type:?}");
        }
    }

    #[test]
    fn modules_are_refused_by_name() {
        let value = Value::of_file(ValueType::Module, Dialect::Redis, Vec::new());
        assert!(value.requests(b"k", None, None, &server(Maker::Redis, (8, 0))).is_err());
    }
}
