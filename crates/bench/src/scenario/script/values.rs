//! Numbers and words of a script by name, and what is computed from them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use toml::Value;

use crate::generator::quantile_us;
use crate::measure::Measured;
use crate::sampler::{idle, most_memory};

#[derive(Clone, Debug, Default)]
pub struct Values(BTreeMap<String, Value>);

impl Values {
    /// Adds numbers and words of a file.
    pub fn add(&mut self, all: &toml::Table) -> Result<()> {
        // Texts may name the numbers.
        let (texts, numbers): (Vec<_>, Vec<_>) = all.iter().partition(|(_, it)| it.is_str());
        for (name, value) in numbers.into_iter().chain(texts) {
            match self.fill(value)? {
                Value::Integer(number) => self.set(name, number as f64),
                Value::Float(number) => self.set(name, number),
                Value::String(text) => self.set_text(name, text),
                other => bail!("{name} is neither a number nor a text: {other}"),
            }
        }
        Ok(())
    }

    pub fn set(&mut self, name: &str, number: f64) {
        self.0.insert(name.to_owned(), number.into());
    }

    /// Sets numbers whose names begin with this one.
    pub fn set_all<'a>(&mut self, name: &str, all: impl IntoIterator<Item = (&'a str, f64)>) {
        all.into_iter().for_each(|(what, it)| self.set(&format!("{name}.{what}"), it));
    }

    pub fn set_text(&mut self, name: &str, words: String) {
        self.0.insert(name.to_owned(), words.into());
    }

    /// Adds what a load measured; times of clients are in microseconds, memory is in bytes.
    pub fn measured(&mut self, name: &str, measured: &Measured) {
        let outcome = &measured.outcome;
        let all = [
            ("us", measured.server_us()),
            ("client_us", outcome.client_us()),
            ("per_second", outcome.per_second()),
            ("seconds", outcome.elapsed.as_secs_f64()),
            ("first_p50", quantile_us(&outcome.first_replies, 0.5)),
            ("first_p99", quantile_us(&outcome.first_replies, 0.99)),
            ("p50", outcome.latency_us(0.5)),
            ("p99", outcome.latency_us(0.99)),
            ("p999", outcome.latency_us(0.999)),
            ("p9999", outcome.latency_us(0.9999)),
            ("longest", outcome.latency_us(1.0)),
            ("operations", outcome.operations as f64),
            ("replies", outcome.replies.total() as f64),
            ("statuses", outcome.replies.status as f64),
            ("errors", outcome.replies.error as f64),
            ("bulks", outcome.replies.bulk as f64),
            ("nils", outcome.replies.nil as f64),
            ("integers", outcome.replies.integer as f64),
            ("zeros", outcome.replies.zero as f64),
            ("elements", outcome.replies.elements as f64),
            ("mean_bytes", outcome.replies.bytes as f64 / outcome.replies.bulk as f64),
            ("idle", idle(&measured.samples).as_secs_f64()),
            ("peak", most_memory(&measured.samples)),
        ];
        self.set_all(name, all);
    }

    /// Computes from left to right, with spaces between names, numbers and signs.
    pub fn compute(&self, text: &str) -> Result<f64> {
        let mut words = text.split(' ');
        let mut value = self.number(words.next().unwrap_or_default())?;
        while let Some(sign) = words.next() {
            let by = self.number(words.next().unwrap_or_default())?;
            value = match sign {
                "+" => value + by,
                "-" => value - by,
                "*" => value * by,
                "/" => value / by,
                "div" => (value / by).floor(),
                "min" => value.min(by),
                "max" => value.max(by),
                _ => bail!("{text:?}: {sign:?} is no sign"),
            };
        }
        Ok(value)
    }

    fn number(&self, word: &str) -> Result<f64> {
        let known = self.0.get(word).and_then(Value::as_float).or_else(|| word.parse().ok());
        known.with_context(|| format!("nothing measured {word:?} before"))
    }

    /// Replaces names in capitals by their values, and `[150: text-{i}]` by as many words.
    pub fn filled(&self, text: &str) -> String {
        let is_capital = |it: char| it.is_ascii_uppercase() || it == '_';
        let (mut filled, mut rest) = (String::new(), text);
        while let Some(begin) = rest.find(is_capital) {
            let behind = rest[begin..].find(|it| !is_capital(it));
            let end = behind.map_or(rest.len(), |length| begin + length);
            let name = rest[begin..end].to_lowercase();
            filled += &rest[..begin];
            match self.0.get(&name) {
                Some(Value::String(words)) => filled += words,
                Some(Value::Float(number)) => filled += &number.to_string(),
                _ => filled += &rest[begin..end],
            }
            rest = &rest[end..];
        }
        filled += rest;
        repeated(&filled).unwrap_or(filled)
    }

    /// Fills the texts of a step; those that begin with `= ` become numbers. Steps within it are
    /// left for their own time.
    pub fn fill(&self, value: &Value) -> Result<Value> {
        with_texts(value, &|text| match text.strip_prefix("= ") {
            Some(sum) => Ok(number(self.compute(sum)?)),
            None => Ok(Value::String(self.filled(text))),
        })
    }
}

/// Replaces all texts of a step, but not those of steps within it.
pub fn with_texts(value: &Value, replaced: &impl Fn(&str) -> Result<Value>) -> Result<Value> {
    Ok(match value {
        Value::String(text) => replaced(text)?,
        Value::Array(all) => {
            Value::Array(all.iter().map(|it| with_texts(it, replaced)).collect::<Result<_>>()?)
        }
        Value::Table(all) => {
            let entry = |(name, value): (&String, &Value)| {
                let own = ["steps", "on-null", "on-others"].contains(&name.as_str());
                let value = if own { value.clone() } else { with_texts(value, replaced)? };
                Ok((name.clone(), value))
            };
            Value::Table(all.iter().map(entry).collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}

/// Writes the words of the first bracket as often as it says.
fn repeated(text: &str) -> Option<String> {
    let (before, rest) = text.split_once('[')?;
    let (inside, after) = rest.split_once(']')?;
    let (count, word) = inside.split_once(": ")?;
    let digits = count.len();
    let words = (0..count.parse::<u32>().ok()?)
        .map(|number| word.replace("{i}", &format!("{number:0digits$}")))
        .collect::<Vec<_>>();
    let all = format!("{before}{}{after}", words.join(" "));
    Some(repeated(&all).unwrap_or(all))
}

/// Whole numbers are integers, as fields of steps ask for them.
fn number(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && value.abs() < 9e15;
    if is_whole { Value::Integer(value as i64) } else { Value::Float(value) }
}

/// Name of the load whose cost a row has by default.
pub const COST: &str = "cost";

#[cfg(test)]
mod tests {
    use super::Values;

    #[test]
    fn texts_name_numbers_and_numbers_are_computed_from_left_to_right() {
        let mut values = Values::default();
        values.add(&"keys = 8\nkey = 2\nwhat = 'a KEY'".parse().unwrap()).unwrap();
        values.set("get.us", 1.5);
        for (text, filled) in [
            ("'GET KEYS KEY WHAT'", "'GET 8 2 a 2'"),
            ("'= keys - key / 4 + get.us max 2.5'", "3"),
            ("'= get.us * key - 2.5'", "0.5"),
            ("'SADD s [10: m{i}]'", "'SADD s m00 m01 m02 m03 m04 m05 m06 m07 m08 m09'"),
            ("{ a = ['KEY'], steps = ['KEY'] }", "{ a = ['2'], steps = ['KEY'] }"),
        ] {
            let [text, wanted] =
                [text, filled].map(|it| format!("x = {it}").parse::<toml::Table>());
            assert_eq!(values.fill(&text.unwrap()["x"]).unwrap(), wanted.unwrap()["x"], "{filled}");
        }
        assert!(values.compute("set.us").is_err() && values.compute("keys ^ 2").is_err());
    }
}
