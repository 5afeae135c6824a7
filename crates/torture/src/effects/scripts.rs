//! Transcripts and files of events, of which only the requests are taken.

use super::proof::Proof;
use crate::differential::generate::CLIENTS;
use crate::differential::step::{Request, name};
use anyhow::Result;
use std::fs;
use std::path::Path;

/// Plays the requests of a file, whatever the replies. Returns their number.
///
/// # Errors
/// When the servers differ.
pub fn play(proof: &mut Proof, file: &Path) -> Result<u64> {
    let text = fs::read_to_string(file)?;
    let mut count = 0;
    proof.renew()?;
    let mut client = 0;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("@client ") {
            let letter = name.bytes().next().unwrap_or(b'A');
            client = usize::from(letter.wrapping_sub(b'A')) % CLIENTS;
        }
        if line.starts_with("@until ") {
            proof.advance(1000, true)?;
        }
        for words in requests(line) {
            if !is_left_out(&words) {
                proof.send(client, &words)?;
                count += 1;
            }
        }
        if count % 16 == 0 {
            proof.look()?;
        }
    }
    proof.look()?;
    Ok(count)
}

/// Commands that stop the clock, or that change data behind the back of journals.
fn is_left_out(words: &[Vec<u8>]) -> bool {
    let (name, word) = (name(words), |at: usize| words.get(at).map(|it| it.to_ascii_uppercase()));
    name.starts_with("SHUTDOWN")
        || name.starts_with("CLIENT PAUSE")
        || name.starts_with("CLIENT KILL")
        || name.starts_with("CONFIG")
        || name == "DEBUG" && word(1).is_some_and(|it| it == b"POPULATE" || it == b"SLEEP")
}

/// Returns the requests of a line of a transcript, or of a file of events.
fn requests(line: &str) -> Vec<Request> {
    let each = line.strip_prefix("@each ").and_then(|rest| rest.split_once(' '));
    if let Some((range, command)) = each {
        let bounds = range
            .split_once("..")
            .and_then(|(from, to)| Some(from.parse::<u32>().ok()?..=to.parse::<u32>().ok()?));
        let of = |number: u32| words(&command.replace("{i}", &number.to_string()));
        return bounds.into_iter().flatten().filter_map(of).collect();
    }
    let sent = line.strip_prefix(">> ").or_else(|| line.strip_prefix("> "));
    let until = line.strip_prefix("@until ").and_then(|rest| rest.split(" => ").next());
    let is_plain = line.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let command = sent.or(until).or(is_plain.then_some(line));
    command.and_then(words).into_iter().collect()
}

/// Splits a command into words; `"a"*3` is repeated, and `e{1..3}` becomes three words.
fn words(command: &str) -> Option<Request> {
    let mut words = Vec::new();
    let mut rest = command.trim();
    while !rest.is_empty() {
        let end = end_of_word(rest)?;
        let (word, behind) = rest.split_at(end);
        rest = behind.trim_start();
        let (quoted, times) = match word.rsplit_once('*') {
            Some((quoted, times)) if quoted.ends_with('"') => (quoted, times.parse().ok()?),
            _ => (word, 1),
        };
        let plain = text::split_args(quoted.as_bytes())?.concat().repeat(times);
        words.extend(expanded(plain));
    }
    Some(words).filter(|words| !words.is_empty())
}

fn end_of_word(text: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b' ' if !is_quoted => return Some(at),
            _ => {}
        }
    }
    (!is_quoted).then_some(text.len())
}

fn expanded(word: Vec<u8>) -> Vec<Vec<u8>> {
    let parts = || {
        let text = std::str::from_utf8(&word).ok()?;
        let (head, rest) = text.split_once('{')?;
        let (range, tail) = rest.split_once('}')?;
        let (first, last) = range.split_once("..")?;
        let range = first.parse::<u32>().ok()?..=last.parse().ok()?;
        Some(range.map(|number| format!("{head}{number}{tail}").into_bytes()).collect())
    };
    parts().unwrap_or_else(|| vec![word.clone()])
}
