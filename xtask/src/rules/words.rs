//! Words that are not allowed in the code or in its comments.

use crate::finding::Report;
use crate::tree::Tree;

const MACROS: [&str; 3] = ["todo", "dbg", "unimplemented"];
const MARKS: [&str; 2] = ["FIXME", "XXX"];
const HISTORY: [&str; 3] = ["previously", "no longer", "ported"];
const RIDDLES: [&str; 3] = ["those who", "whoever", "whom"];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

pub fn leftovers(tree: &Tree, report: &mut Report) {
    for source in tree.rust_files() {
        let is_left = |name: &str| MACROS.contains(&name);
        for call in source.rust.macro_calls.iter().filter(|call| is_left(&call.name)) {
            report.add(&source.path, call.line, format!("`{}!` is left behind", call.name));
        }
        for comment in &source.rust.comments {
            for mark in MARKS.into_iter().filter(|mark| has_phrase(&comment.text, mark)) {
                report.add(&source.path, comment.line, format!("`{mark}` is left behind"));
            }
        }
    }
}

pub fn diary(tree: &Tree, report: &mut Report) {
    for source in tree.rust_files() {
        for comment in &source.rust.comments {
            // Text between backticks is quoted and does not count.
            let text = comment.text.to_lowercase().split('`').step_by(2).collect::<String>();
            for phrase in HISTORY.into_iter().filter(|phrase| has_phrase(&text, phrase)) {
                let message = format!("`{phrase}` tells history: say what is, and why");
                report.add(&source.path, comment.line, message);
            }
            if names_issue(&text) {
                report.add(&source.path, comment.line, "an issue number tells history");
            }
            if names_date(&text) {
                report.add(&source.path, comment.line, "a date tells history");
            }
        }
    }
}

/// Finds words behind which a reader has to guess who is meant; also a phrase over two lines.
pub fn riddles(tree: &Tree, report: &mut Report) {
    for source in tree.rust_files() {
        let mut before: Option<(usize, &str)> = None;
        for comment in &source.rust.comments {
            let line = comment.text.trim_matches(|sign: char| "/!* ".contains(sign));
            let lines = match before.filter(|(number, _)| number + 1 == comment.line) {
                Some((_, last_word)) => format!("{last_word} {line}").to_lowercase(),
                None => line.to_lowercase(),
            };
            for phrase in RIDDLES.into_iter().filter(|phrase| has_phrase(&lines, phrase)) {
                let message = format!("`{phrase}` is a riddle: name the client, thread or caller");
                report.add(&source.path, comment.line, message);
            }
            before = line.rsplit(' ').next().map(|word| (comment.line, word));
        }
    }
}

/// Returns true if the phrase occurs in the text as separate words.
fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Returns true for a number after a hash sign or after the word for an entry of a tracker, in
/// lower case.
fn names_issue(text: &str) -> bool {
    let words: Vec<&str> = words(text).collect();
    let is_number = |word: &str| word.starts_with(|sign: char| sign.is_ascii_digit());
    let marked = words.iter().any(|word| {
        word.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    let named = |pair: &[&str]| ["issue", "pr"].contains(&pair[0]) && is_number(pair[1]);
    marked || words.windows(2).any(named)
}

/// Returns true for a date in figures, or the name of a month before a year.
fn names_date(text: &str) -> bool {
    let words: Vec<&str> = words(text).collect();
    let is_year = |word: &str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_day = |word: &&str| match word.split('-').collect::<Vec<_>>()[..] {
        [year, month, day] => is_year(year) && month.len() == 2 && day.len() == 2,
        _ => false,
    };
    let named = |pair: &[&str]| MONTHS.contains(&pair[0]) && is_year(pair[1]);
    words.iter().any(is_day) || words.windows(2).any(named)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_edge = |sign: char| !is_word(sign) && sign != '#';
    text.split_whitespace().map(move |word| word.trim_matches(is_edge))
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}
