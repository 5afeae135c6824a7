//! Answers, and how far those of both servers must agree.

use super::step::{Step, Told, shown};
use anyhow::{Context, Result, ensure};
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// Line of an answer, with the data behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Line without its end.
    pub line: Vec<u8>,
    /// Data that it announces.
    pub data: Option<Vec<u8>>,
}

/// What a server answers to a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Lines.
    pub units: Vec<Unit>,
    /// True if the connection was closed behind them.
    pub is_closed: bool,
}

impl Answer {
    /// Reads up to a line that marks the end, or to the end of the connection.
    ///
    /// # Errors
    /// If the server is silent, or the bytes are no answer.
    pub fn read(from: &mut impl BufRead, mark: &[u8]) -> Result<Answer> {
        let mut answer = Answer::default();
        loop {
            let mut line = Vec::new();
            let read = from.read_until(b'\n', &mut line);
            if is_closing(&read) {
                answer.is_closed = true;
                return Ok(answer);
            }
            read.with_context(|| format!("waiting behind {:?}", answer.case()))?;
            let line = line.strip_suffix(b"\r\n").context("a line without an end")?;
            if line == mark {
                return Ok(answer);
            }
            let data = announced(line).map(|len| data(from, len)).transpose()?;
            answer.units.push(Unit { line: line.to_vec(), data });
        }
    }

    /// Formats it as a case of `tests/memcached`.
    pub fn case(&self) -> String {
        let mut out = String::new();
        for Unit { line, data } in &self.units {
            out += &format!("< {}\n", shown(line));
            out.extend(data.iter().map(|data| format!("< {}\n", shown(data))));
        }
        if self.is_closed {
            out += "< closed\n";
        }
        if out.is_empty() { "<\n".to_owned() } else { out }
    }
}

fn is_closing(read: &std::io::Result<usize>) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    match read {
        Ok(read) => *read == 0,
        Err(error) => {
            matches!(error.kind(), ConnectionReset | ConnectionAborted | BrokenPipe)
        }
    }
}

/// Returns the length of the data that follow a line.
fn announced(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?;
    let at = match text {
        "VALUE" => 3,
        "VA" => 1,
        _ => return None,
    };
    let word = line.split(|byte| *byte == b' ').nth(at)?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn data(from: &mut impl BufRead, len: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(len + 2).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 == len + 2, "a value that ends early");
    ensure!(bytes.ends_with(b"\r\n"), "a value of another length");
    bytes.truncate(len as usize);
    Ok(bytes)
}

/// Which CAS numbers of the servers mean the same.
#[derive(Debug, Default)]
pub struct Numbers {
    of_peer: HashMap<u64, u64>,
    of_varve: HashMap<u64, u64>,
}

impl Numbers {
    fn agree(&mut self, varve: u64, peer: u64) -> bool {
        if varve == 0 || peer == 0 {
            return varve == peer;
        }
        *self.of_peer.entry(peer).or_insert(varve) == varve
            && *self.of_varve.entry(varve).or_insert(peer) == peer
    }
}

/// Returns the index of the first line in which two answers differ, if there is one.
pub fn first_difference(
    step: &Step,
    varve: &Answer,
    peer: &Answer,
    numbers: &mut Numbers,
) -> Option<usize> {
    for (at, (one, other)) in varve.units.iter().zip(&peer.units).enumerate() {
        if one.data != other.data || !lines_agree(step, &one.line, &other.line, numbers) {
            return Some(at);
        }
    }
    let same_len = varve.units.len() == peer.units.len();
    // What a server answers before it closes is lost where the client has sent more.
    let same_end = varve.is_closed == peer.is_closed && (same_len || varve.is_closed);
    (!same_end).then_some(varve.units.len().min(peer.units.len()))
}

fn lines_agree(step: &Step, varve: &[u8], peer: &[u8], numbers: &mut Numbers) -> bool {
    if varve == peer && !varve.starts_with(b"VALUE ") && !has_cas(varve) {
        return true;
    }
    let (ones, others) = (words(varve), words(peer));
    ones.len() == others.len()
        && ones[0] == others[0]
        && ones.iter().zip(&others).enumerate().skip(1).all(|(at, (one, other))| match ones[0] {
            b"VALUE" if at == 4 => cas_agree(one, other, numbers),
            b"ME" => facts_agree(one, other, numbers),
            b"VALUE" => one == other,
            _ => flags_agree(step, one, other, numbers),
        })
}

fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(|byte| *byte == b' ').collect()
}

fn has_cas(line: &[u8]) -> bool {
    words(line).iter().skip(1).any(|word| word.starts_with(b"c"))
}

/// Compares what `me` tells.
fn facts_agree(varve: &[u8], peer: &[u8], numbers: &mut Numbers) -> bool {
    let (Some((name, one)), Some((other_name, other))) = (named(varve), named(peer)) else {
        return varve == peer;
    };
    name == other_name
        && match name {
            b"exp" => numbers_near(one, other, TIME_APART),
            // Varve draws none for it.
            b"cas" => one == b"0" || cas_agree(one, other, numbers),
            b"la" | b"cls" | b"size" => true,
            _ => one == other,
        }
}

fn named(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = word.iter().position(|byte| *byte == b'=')?;
    Some((&word[..at], &word[at + 1..]))
}

/// Compares a flag of a meta command's answer.
fn flags_agree(step: &Step, varve: &[u8], peer: &[u8], numbers: &mut Numbers) -> bool {
    let (Some((letter, one)), Some((other_letter, other))) =
        (varve.split_first(), peer.split_first())
    else {
        return varve == peer;
    };
    letter == other_letter
        && match letter {
            b'c' if step.flag(b'c').is_some() => cas_agree(one, other, numbers),
            b't' => numbers_near(one, other, TIME_APART),
            b'l' => numbers_near(one, other, IDLE_APART),
            _ => one == other,
        }
}

fn cas_agree(varve: &[u8], peer: &[u8], numbers: &mut Numbers) -> bool {
    match (number(varve), number(peer)) {
        (Some(varve), Some(peer)) => numbers.agree(varve as u64, peer as u64),
        _ => varve == peer,
    }
}

fn numbers_near(one: &[u8], other: &[u8], apart: i128) -> bool {
    match (number(one), number(other)) {
        // A second below zero is none.
        (Some(one), Some(other)) if one >= 0 && other >= 0 => (one - other).abs() <= apart,
        _ => one == other,
    }
}

fn number(text: &[u8]) -> Option<i128> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Keeps the CAS numbers that an answer tells.
pub fn note_told(step: &Step, answer: &Answer, told: &mut Told) {
    for unit in &answer.units {
        let words = words(&unit.line);
        let (key, cas) = match words[..] {
            [b"VALUE", key, _, _, cas] => (key.to_vec(), number(cas)),
            [b"HD" | b"VA", ..] => {
                let cas = words.iter().skip(1).find_map(|word| number(word.strip_prefix(b"c")?));
                (step.key.clone(), cas)
            }
            _ => continue,
        };
        if let Some(cas) = cas {
            told.insert(key, cas as u64);
        }
    }
}

/// Seconds by which times may differ, as servers look at their clocks at other moments.
const TIME_APART: i128 = 2;
/// Seconds by which times of use may differ: four bits of history tell no more.
const IDLE_APART: i128 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(numbers: &mut Numbers, varve: &str, peer: &str) -> bool {
        let step = Step::of(b"k", &[b"mg", b"k", b"c", b"t"]);
        lines_agree(&step, varve.as_bytes(), peer.as_bytes(), numbers)
    }

    #[test]
    fn numbers_of_cas_are_the_same_where_the_other_servers_are() {
        let numbers = &mut Numbers::default();
        assert!(agree(numbers, "HD c1700000 t30", "HD c5 t29"));
        assert!(agree(numbers, "VALUE k 0 1 1700000", "VALUE k 0 1 5"));
        assert!(!agree(numbers, "HD c1700001 t30", "HD c5 t30"));
        assert!(!agree(numbers, "HD c1700000 t30", "HD c6 t30"));
        assert!(!agree(numbers, "HD c1700002 t30", "HD c7 t-1"));
        assert!(!agree(numbers, "HD Z", "HD W"));
    }

    #[test]
    fn an_answer_ends_with_the_mark() {
        let bytes = b"VALUE k 0 4\r\nEN\r\n\r\nEND\r\nEN O1\r\nx";
        let answer = Answer::read(&mut &bytes[..], b"EN O1").expect("an answer");
        assert_eq!(answer.case(), "< VALUE k 0 4\n< EN\\x0d\\x0a\n< END\n");
    }
}
