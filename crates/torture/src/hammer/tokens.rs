//! Tokens: elements that exist exactly once each, in any collection.

use super::chance::{Chance, mix};
use super::words::{integer, text, texts, words};
use crate::client::{Client, Reply};
use anyhow::{Context, Result, bail, ensure};

/// Tokens of a phase. Each is identified by its number, with which its bytes begin.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    pub(super) count: usize,
    bytes_max: usize,
    seed: u64,
}

impl Tokens {
    pub(super) fn new(count: usize, bytes_max: usize, seed: u64) -> Self {
        Self { count, bytes_max, seed }
    }

    /// Returns the bytes of a token.
    pub(super) fn element(&self, number: u32) -> Vec<u8> {
        let mut bytes = number.to_string().into_bytes();
        let mut chance = Chance::new(self.seed, u64::from(number));
        let length = match (self.bytes_max, number) {
            (70_000.., 1..=3) => 600 << 10,
            _ => chance.length(self.bytes_max),
        };
        if length > bytes.len() {
            bytes.push(b':');
            let mut bits = mix(u64::from(number));
            while bytes.len() < length {
                bits = mix(bits.wrapping_add(1));
                bytes.extend(bits.to_le_bytes());
            }
            bytes.truncate(length);
        }
        bytes
    }

    /// Returns the number of a token.
    pub(super) fn number(&self, bytes: &[u8]) -> Result<u32> {
        let digits = bytes.split(|byte| *byte == b':').next().unwrap_or_default();
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        match number {
            Some(number) if self.element(number) == bytes && (number as usize) < self.count => {
                Ok(number)
            }
            _ => bail!("no token: {} bytes, {}", bytes.len(), start(bytes)),
        }
    }

    /// Returns the numbers of several tokens.
    pub(super) fn numbers(&self, elements: &[Vec<u8>]) -> Result<Vec<u32>> {
        elements.iter().map(|bytes| self.number(bytes)).collect()
    }
}

/// Places at which each token was found.
pub(super) struct Census {
    places: Vec<Vec<String>>,
}

impl Census {
    pub(super) fn new(tokens: &Tokens) -> Self {
        Self { places: vec![Vec::new(); tokens.count] }
    }

    pub(super) fn add(&mut self, token: u32, place: &str) {
        self.places[token as usize].push(place.to_owned());
    }

    /// Checks that each token was found exactly once.
    pub(super) fn verdict(&self) -> Result<()> {
        let wrong = self.places.iter().enumerate().filter(|(_, places)| places.len() != 1);
        let wrong: Vec<_> =
            wrong.map(|(token, places)| format!("token {token} is in {places:?}")).collect();
        ensure!(
            wrong.is_empty(),
            "{} of {} tokens are not there exactly once: {}",
            wrong.len(),
            self.places.len(),
            wrong.iter().take(10).cloned().collect::<Vec<_>>().join("; ")
        );
        Ok(())
    }
}

/// Stores all tokens in a few collections.
pub(super) fn lay_out(client: &mut Client, tokens: &Tokens, collections: usize) -> Result<()> {
    for number in 0..tokens.count as u32 {
        let key = |letter| format!("tok:{letter}{}", number as usize % collections);
        let element = tokens.element(number);
        let request = match number % 3 {
            0 => words!["RPUSH", key('l'), element],
            1 => words!["SADD", key('s'), element],
            _ => words!["ZADD", key('z'), number, element],
        };
        let reply = client.ask(&request)?;
        ensure!(matches!(reply, Reply::Integer(1..)), "{reply:?} to a token");
    }
    Ok(())
}

/// Reads all collections, and compares their reported sizes with their elements.
pub(super) fn verify(client: &mut Client, tokens: &Tokens) -> Result<()> {
    let mut census = Census::new(tokens);
    for key in texts(client.ask(&words!["KEYS", "tok:*"])?)? {
        let name = String::from_utf8_lossy(&key).into_owned();
        count(client, tokens, &name, &mut census).with_context(|| name)?;
    }
    census.verdict()
}

fn count(client: &mut Client, tokens: &Tokens, key: &str, census: &mut Census) -> Result<()> {
    let kind = text(client.ask(&words!["TYPE", key])?)?.unwrap_or_default();
    let (length, slice) = match &kind[..] {
        b"list" => ("LLEN", "LRANGE"),
        b"set" => ("SCARD", "SMEMBERS"),
        b"zset" => ("ZCARD", "ZRANGE"),
        _ => bail!("a {:?}", String::from_utf8_lossy(&kind)),
    };
    let length = integer(&client.ask(&words![length, key])?)?;
    let mut found = 0;
    while found < length {
        let reply = match slice {
            "SMEMBERS" => client.ask(&words![slice, key])?,
            _ => client.ask(&words![slice, key, found, found + SLICE - 1])?,
        };
        let elements = texts(reply)?;
        ensure!(!elements.is_empty(), "{length} elements, but none at {found}");
        for number in tokens.numbers(&elements)? {
            census.add(number, key);
        }
        found += elements.len() as i64;
        is_known(client, slice, key, &elements[0])?;
    }
    ensure!(found == length, "{found} elements where {length} are counted");
    Ok(())
}

/// Checks that a listed element is also found by lookup.
fn is_known(client: &mut Client, slice: &str, key: &str, element: &[u8]) -> Result<()> {
    let element = element.to_vec();
    let reply = match slice {
        "SMEMBERS" => client.ask(&words!["SISMEMBER", key, element])?,
        "ZRANGE" => client.ask(&words!["ZRANK", key, element])?,
        _ => client.ask(&words!["LPOS", key, element])?,
    };
    let expected = if slice == "SMEMBERS" { 1.. } else { 0.. };
    ensure!(
        matches!(reply, Reply::Integer(number) if expected.contains(&number)),
        "{reply:?} for {}, which is listed",
        start(&element)
    );
    Ok(())
}

fn start(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(40)].escape_ascii().to_string()
}

const SLICE: i64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_bytes_alone() {
        for bytes_max in [1, 8, 64, 300, 70_000] {
            let tokens = Tokens::new(500, bytes_max, 1);
            for number in 0..500 {
                let element = tokens.element(number);
                assert_eq!(tokens.number(&element).unwrap(), number);
                assert!(tokens.number(&element[1..]).ok() != Some(number));
                assert!(tokens.number(&[&element[..], b"x"].concat()).is_err());
            }
            assert!(tokens.number(&tokens.element(500)).is_err(), "there are 500");
        }
    }

    #[test]
    fn a_lost_and_a_doubled_token_are_found() {
        let tokens = Tokens::new(3, 8, 1);
        let census = |found: &[u32]| {
            let mut census = Census::new(&tokens);
            found.iter().for_each(|number| census.add(*number, "l"));
            census.verdict().map_err(|error| error.to_string())
        };
        assert_eq!(census(&[2, 0, 1]), Ok(()));
        assert!(census(&[2, 0]).unwrap_err().contains("token 1 is in []"));
        assert!(census(&[2, 0, 1, 0]).unwrap_err().contains("token 0 is in [\"l\", \"l\"]"));
    }
}
