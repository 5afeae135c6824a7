//! Conversion of settings' values from and to words of text.

mod event_classes;
mod output_limits;
mod save_points;

pub use event_classes::EventClasses;
pub use output_limits::{OutputLimit, OutputLimits};
pub use save_points::{SavePoint, SavePoints};

use crate::error::system_text;
use crate::row::{Kind, Notation, Row};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Limit for the buffers of all clients together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientsMemory {
    /// No limit.
    Unlimited,
    /// This many bytes.
    Bytes(u64),
    /// This percentage of `maxmemory`, from 1 to 100.
    Percent(u8),
}

/// Value of any setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    YesNo(bool),
    Number(i128, Notation),
    OneOf(usize, &'static [&'static str]),
    AnyOf(u32, &'static [&'static str]),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    Words(Arc<[String]>),
    EventClasses(EventClasses),
    OutputLimits(OutputLimits),
    SavePoints(SavePoints),
    Fixed(&'static str),
}

impl Value {
    /// Returns the value as CONFIG GET replies it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Value::YesNo(yes) => if *yes { "yes" } else { "no" }.into(),
            Value::Number(n, Notation::MemoryOrPercent) if *n < 0 => format!("{}%", -n).into(),
            Value::Number(n, Notation::Octal) => format!("{n:o}").into(),
            Value::Number(n, _) => n.to_string().into(),
            Value::OneOf(position, names) => names[*position].into(),
            Value::AnyOf(bits, names) => names_of(*bits, names).join(" ").into(),
            Value::Text(text) => text.as_bytes().to_vec(),
            Value::Bytes(bytes) => bytes.to_vec(),
            Value::Words(words) => words.join(" ").into(),
            Value::EventClasses(classes) => classes.to_string().into(),
            Value::OutputLimits(limits) => limits.to_string().into(),
            Value::SavePoints(points) => points.to_string().into(),
            Value::Fixed(value) => (*value).into(),
        }
    }

    /// Returns the value as words that [`parse_over`] reads.
    pub(crate) fn words(&self) -> Vec<Vec<u8>> {
        match self {
            Value::Number(
                n,
                Notation::Memory | Notation::MemoryOrPercent | Notation::SignedMemory,
            ) if *n > 0 => {
                vec![memory_text(*n).into()]
            }
            Value::AnyOf(bits, names) => {
                names_of(*bits, names).into_iter().map(Vec::from).collect()
            }
            Value::Words(words) if !words.is_empty() => {
                words.iter().map(|word| word.clone().into_bytes()).collect()
            }
            Value::OutputLimits(limits) => limits.words(),
            Value::SavePoints(points) => points.words(),
            other => vec![other.to_bytes()],
        }
    }
}

impl Value {
    /// Returns the value that a line of a file makes of this one.
    pub(crate) fn followed_by(&self, line: Value) -> Value {
        match (self, line) {
            (Value::SavePoints(before), Value::SavePoints(line)) => {
                Value::SavePoints(before.followed_by(line))
            }
            (_, line) => line,
        }
    }
}

/// Returns the default of a setting.
pub(crate) fn default_of(row: &Row) -> Value {
    match row.kind {
        Kind::YesNo { default } => Value::YesNo(default),
        Kind::Number { notation, default, .. } => Value::Number(default, notation),
        Kind::OneOf { names, default } => Value::OneOf(default, names),
        Kind::AnyOf { names } => Value::AnyOf(0, names),
        Kind::Text { default } | Kind::FileName { default, .. } => Value::Text(default.into()),
        Kind::ServerOrNone => Value::Text("".into()),
        Kind::Bytes => Value::Bytes(Arc::from(&b""[..])),
        Kind::Addresses { default, .. }
        | Kind::Percentiles { default }
        | Kind::Numbers { default, .. } => {
            Value::Words(default.iter().map(|word| (*word).to_owned()).collect())
        }
        Kind::Directory => {
            let here = std::env::current_dir().ok();
            let here = here.as_ref().and_then(|path| path.to_str()).unwrap_or("/");
            Value::Text(here.into())
        }
        Kind::EventClasses => Value::EventClasses(EventClasses::default()),
        Kind::OutputLimits => Value::OutputLimits(OutputLimits::DEFAULT),
        Kind::SavePoints => Value::SavePoints(SavePoints::defaults()),
        Kind::Fixed { value, .. } => Value::Fixed(value),
    }
}

/// Reads a value from its words; what they do not mention is taken from `before`.
///
/// # Errors
/// The reason in the words of CONFIG SET.
pub(crate) fn parse_over(row: &Row, words: &[&[u8]], before: &Value) -> Result<Value, String> {
    let word = || match words {
        [word] => Ok(*word),
        _ => Err("wrong number of arguments".to_owned()),
    };
    match row.kind {
        Kind::YesNo { .. } => yes_no(word()?).map(Value::YesNo),
        Kind::Number { notation, min, max, clamp, .. } => {
            let n = in_range(number(word()?, notation)?, notation, min, max)?;
            let n = clamp.map_or(n, |(low, high)| n.clamp(low, high));
            Ok(Value::Number(n, notation))
        }
        Kind::OneOf { names, .. } => match position(word()?, names) {
            Some(position) => Ok(Value::OneOf(position, names)),
            None => Err(not_among(names)),
        },
        Kind::AnyOf { names } => {
            let bits = any_of(words, names)?;
            crate::choice::check(names, bits)?;
            Ok(Value::AnyOf(bits, names))
        }
        Kind::Text { .. } => utf8(word()?).map(|text| Value::Text(text.into())),
        Kind::FileName { what, .. } => file_name(row, what, utf8(word()?)?).map(Value::Text),
        Kind::ServerOrNone => server_or_none(words).map(|text| Value::Text(text.into())),
        Kind::Bytes => Ok(Value::Bytes(word()?.into())),
        Kind::Addresses { count_max, .. } => addresses(words, count_max).map(Value::Words),
        Kind::Percentiles { .. } => percentiles(words).map(Value::Words),
        Kind::Numbers { default, min, max } => {
            numbers(row, words, default.len(), min..=max).map(Value::Words)
        }
        Kind::Directory => directory(utf8(word()?)?).map(Value::Text),
        Kind::EventClasses => {
            EventClasses::parse(utf8(word()?)?).map(Value::EventClasses).map_err(str::to_owned)
        }
        Kind::OutputLimits => {
            let mut limits = match before {
                Value::OutputLimits(limits) => *limits,
                _ => OutputLimits::DEFAULT,
            };
            limits.update(words).map_err(str::to_owned)?;
            Ok(Value::OutputLimits(limits))
        }
        Kind::SavePoints => SavePoints::parse(words).map(Value::SavePoints).map_err(str::to_owned),
        Kind::Fixed { value, why } => {
            let given = words.join(&b' ');
            if given.eq_ignore_ascii_case(value.as_bytes()) {
                Ok(Value::Fixed(value))
            } else {
                Err(why.to_owned())
            }
        }
    }
}

/// Reads an address and a port.
fn server_or_none(words: &[&[u8]]) -> Result<String, String> {
    match words {
        [] | [b""] => Ok(String::new()),
        [no, one] if no.eq_ignore_ascii_case(b"no") && one.eq_ignore_ascii_case(b"one") => {
            Ok(String::new())
        }
        [host, port] => match text::parse_u64(port) {
            Some(0..=65535) => Ok(format!("{} {}", utf8(host)?, utf8(port)?)),
            _ => Err("Invalid master port".to_owned()),
        },
        // As it stands in a file that this server has written.
        [one] => match one.iter().position(|byte| *byte == b' ') {
            Some(at) => server_or_none(&[&one[..at], &one[at + 1..]]),
            None => Err("wrong number of arguments".to_owned()),
        },
        _ => Err("wrong number of arguments".to_owned()),
    }
}

/// Returns a description of the accepted values, for messages and the manual.
pub(crate) fn expected(row: &Row) -> String {
    match row.kind {
        Kind::YesNo { .. } => "yes or no".to_owned(),
        Kind::Number { notation, min, max, .. } => match notation {
            Notation::Integer => format!("a whole number from {min} to {max}"),
            Notation::Memory => {
                format!("a size in bytes from {min} to {max}, with a unit if wanted (64mb, 2gb)")
            }
            Notation::MemoryOrPercent => {
                format!("a size in bytes (64mb, 2gb) or a percentage up to {}%", -min)
            }
            Notation::SignedMemory => {
                format!("a size in bytes (64mb, 2gb), or a number from {min} on")
            }
            Notation::Octal => format!("an octal number from {min:o} to {max:o}"),
        },
        Kind::OneOf { names, .. } => format!("one of {}", names.join(", ")),
        Kind::AnyOf { names } => format!("one or more of {}", names.join(", ")),
        Kind::Text { .. } => "text; quote it if it has spaces or is empty".to_owned(),
        Kind::ServerOrNone => "an address and a port, or `no one`".to_owned(),
        Kind::FileName { what: "dirname", .. } => {
            "the name of a directory, without a path".to_owned()
        }
        Kind::FileName { .. } => "the name of a file, without a path".to_owned(),
        Kind::Bytes => "a word; quote it if it has spaces or is empty".to_owned(),
        Kind::Addresses { count_max, .. } => format!("up to {count_max} addresses"),
        Kind::Percentiles { .. } => "numbers from 0 to 100, or \"\"".to_owned(),
        Kind::Numbers { default, min, max } => {
            format!("{} whole numbers from {min} to {max}", default.len())
        }
        Kind::Directory => "an existing directory".to_owned(),
        Kind::EventClasses => "letters, of K, E, A, g, $, l, s, h, z, x, e, t, d, n, m".to_owned(),
        Kind::OutputLimits => {
            "normal, replica or pubsub, then hard limit, soft limit, seconds".to_owned()
        }
        Kind::SavePoints => "pairs of seconds and changes, or \"\"".to_owned(),
        Kind::Fixed { value: "", .. } => "\"\"".to_owned(),
        Kind::Fixed { value, .. } => value.to_owned(),
    }
}

fn file_name(row: &Row, what: &str, name: &str) -> Result<Arc<str>, String> {
    if name.is_empty() {
        Err(format!("{} can't be empty", row.name))
    } else if name.contains(['/', '\\']) {
        Err(format!("{} can't be a path, just a {what}", row.name))
    } else {
        Ok(name.into())
    }
}

fn yes_no(word: &[u8]) -> Result<bool, String> {
    if word.eq_ignore_ascii_case(b"yes") {
        Ok(true)
    } else if word.eq_ignore_ascii_case(b"no") {
        Ok(false)
    } else {
        Err("argument must be 'yes' or 'no'".to_owned())
    }
}

fn number(word: &[u8], notation: Notation) -> Result<i128, String> {
    let (parsed, refusal) = match notation {
        Notation::Integer => (decimal(word), "argument couldn't be parsed into an integer"),
        Notation::Memory => (memory(word), "argument must be a memory value"),
        Notation::MemoryOrPercent => {
            (memory(word).or_else(|| percent(word)), "argument must be a memory or percent value")
        }
        Notation::SignedMemory => {
            (memory(word).or_else(|| decimal(word)), "argument must be a memory value")
        }
        Notation::Octal => (octal(word), "argument couldn't be parsed as an octal number"),
    };
    parsed.ok_or_else(|| refusal.to_owned())
}

fn in_range(n: i128, notation: Notation, min: i128, max: i128) -> Result<i128, String> {
    if (min..=max).contains(&n) {
        return Ok(n);
    }
    Err(match notation {
        Notation::MemoryOrPercent if n < 0 => {
            format!("percentage argument must be less or equal to {}", -min)
        }
        Notation::Octal => format!("argument must be between {min:o} and {max:o} inclusive"),
        _ => format!("argument must be between {min} and {max} inclusive"),
    })
}

fn decimal(word: &[u8]) -> Option<i128> {
    text::parse_i64(word).map(i128::from)
}

fn memory(word: &[u8]) -> Option<i128> {
    text::parse_memory(word).map(i128::from)
}

fn percent(word: &[u8]) -> Option<i128> {
    let n = decimal(word.strip_suffix(b"%")?)?;
    (n >= 0).then_some(-n)
}

fn octal(word: &[u8]) -> Option<i128> {
    let digits = std::str::from_utf8(word).ok()?;
    i64::from_str_radix(digits, 8).ok().map(i128::from)
}

fn position(word: &[u8], names: &[&str]) -> Option<usize> {
    names.iter().position(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

fn not_among(names: &[&str]) -> String {
    format!("argument(s) must be one of the following: {}", names.join(", "))
}

fn any_of(words: &[&[u8]], names: &[&str]) -> Result<u32, String> {
    if words.is_empty() {
        return Err(not_among(names));
    }
    let mut bits = 0;
    for word in words {
        match position(word, names) {
            Some(0) => {}
            Some(position) => bits |= 1 << (position - 1),
            None => return Err(not_among(names)),
        }
    }
    Ok(bits)
}

fn names_of(bits: u32, names: &'static [&'static str]) -> Vec<&'static str> {
    let chosen: Vec<_> = (1..names.len())
        .filter(|position| bits & (1 << (position - 1)) != 0)
        .map(|position| names[position])
        .collect();
    if chosen.is_empty() { vec![names[0]] } else { chosen }
}

fn utf8(word: &[u8]) -> Result<&str, String> {
    match std::str::from_utf8(word) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err("argument must be text in UTF-8".to_owned()),
    }
}

/// Reads percentiles; one empty word is none.
fn numbers(
    row: &Row,
    words: &[&[u8]],
    count: usize,
    range: RangeInclusive<i64>,
) -> Result<Arc<[String]>, String> {
    let words = words.join(&b' ');
    let words: Vec<&[u8]> = words.split(|byte| *byte == b' ').collect();
    if words.len() != count {
        return Err("wrong number of arguments".to_owned());
    }
    let number = |word: &[u8]| text::parse_i64(word).filter(|number| range.contains(number));
    let numbers = words.into_iter().map(|word| number(word).map(|number| number.to_string()));
    numbers.collect::<Option<_>>().ok_or_else(|| {
        let (min, max) = (range.start(), range.end());
        format!("Invalid {}, elements must be between {min} and {max}.", row.name)
    })
}

fn percentiles(words: &[&[u8]]) -> Result<Arc<[String]>, String> {
    let words = words.iter().filter(|word| !word.is_empty() || words.len() > 1);
    words
        .map(|word| {
            let share = str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok());
            match share.filter(|share| !share.is_nan()) {
                None => Err("Invalid latency-tracking-info-percentiles parameters".to_owned()),
                Some(share) if (0.0..=100.0).contains(&share) => {
                    let text = format!("{share:.6}");
                    Ok(text.trim_end_matches('0').trim_end_matches('.').to_owned())
                }
                Some(_) => Err("latency-tracking-info-percentiles parameters should sit between \
                                [0.0,100.0]"
                    .to_owned()),
            }
        })
        .collect()
}

fn addresses(words: &[&[u8]], count_max: usize) -> Result<Arc<[String]>, String> {
    if words.len() > count_max {
        return Err("Too many bind addresses specified.".to_owned());
    }
    if words == [b""] {
        return Ok(Arc::from([]));
    }
    words.iter().map(|word| address(word)).collect()
}

/// Reads one address. Only its characters are checked; listening on it shows if it exists.
fn address(word: &[u8]) -> Result<String, String> {
    let text = utf8(word)?;
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '\\');
    if text.is_empty() || !text.chars().all(plain) {
        return Err("argument must be a list of addresses separated by spaces".to_owned());
    }
    Ok(text.to_owned())
}

fn directory(text: &str) -> Result<Arc<str>, String> {
    if text.is_empty() {
        return Err("dir can't be empty".to_owned());
    }
    let path = std::fs::canonicalize(text).map_err(|error| system_text(&error))?;
    if !path.is_dir() {
        return Err("Not a directory".to_owned());
    }
    path.to_str().map(Arc::from).ok_or_else(|| "argument must be text in UTF-8".to_owned())
}

/// Returns a size as text in the largest unit that divides it.
pub(crate) fn memory_text(bytes: i128) -> String {
    for (unit, name) in [(1 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb")] {
        if bytes != 0 && bytes % unit == 0 {
            return format!("{}{name}", bytes / unit);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests;
