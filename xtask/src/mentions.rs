//! Paths such as `std::fs::File`, whether imported or written out where they are used.

use crate::source::Source;
use crate::tokens::{Token, is_word, tokens};

#[derive(Debug, PartialEq, Eq)]
pub struct Mention {
    pub offset: usize,
    /// Without the leading `::` and without a trailing `::self`.
    pub path: String,
    pub imported: bool,
}

impl Mention {
    pub fn first(&self) -> &str {
        self.path.split("::").next().unwrap_or("")
    }

    pub fn last(&self) -> &str {
        self.path.rsplit("::").next().unwrap_or("")
    }

    /// Whether the path is `prefix` or something inside it.
    pub fn is_within(&self, prefix: &str) -> bool {
        self.path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

/// Every path of the file; a braced import gives one for each of its leaves.
pub fn mentions(source: &Source) -> Vec<Mention> {
    let tokens = tokens(&source.code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let next = tokens.get(at + 1).map_or("", |token| token.text);
        at = match tokens[at].text {
            "use" if next != "<" => import(&tokens, at + 1, "", &mut found),
            word if word.starts_with(is_word) && next == "::" => inline(&tokens, at, &mut found),
            _ => at + 1,
        };
    }
    found
}

fn import(tokens: &[Token<'_>], start: usize, prefix: &str, found: &mut Vec<Mention>) -> usize {
    let mut path = prefix.to_owned();
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => return import_list(tokens, at + 1, &path, found),
            "::" if path.is_empty() => {}
            "as" => at += 1,
            "," | ";" | "}" => break,
            text => path.push_str(text),
        }
        at += 1;
    }
    let offset = tokens.get(start).map_or(0, |token| token.offset);
    let path = path.strip_suffix("::self").unwrap_or(&path).to_owned();
    found.push(Mention { offset, path, imported: true });
    at
}

fn import_list(tokens: &[Token<'_>], start: usize, path: &str, found: &mut Vec<Mention>) -> usize {
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        at = match token.text {
            "}" => return at + 1,
            ";" => return at,
            "," => at + 1,
            _ => import(tokens, at, path, found),
        };
    }
    at
}

fn inline(tokens: &[Token<'_>], start: usize, found: &mut Vec<Mention>) -> usize {
    let mut path = tokens[start].text.to_owned();
    let mut at = start + 1;
    while let [sign, word, ..] = &tokens[at..] {
        if sign.text != "::" || !word.text.starts_with(is_word) {
            break;
        }
        path.push_str("::");
        path.push_str(word.text);
        at += 2;
    }
    found.push(Mention { offset: tokens[start].offset, path, imported: false });
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        mentions(&Source::new("a.rs", text)).into_iter().map(|mention| mention.path).collect()
    }

    #[test]
    fn imports_are_unfolded() {
        let text = "pub use std::{fs::{self, File}, time::Duration as D}; use ::a::*;";
        assert_eq!(paths(text), ["std::fs", "std::fs::File", "std::time::Duration", "a::*"]);
    }

    #[test]
    fn paths_in_expressions_are_found() {
        assert_eq!(paths("let x = std::fs::read(a)?; y.b::<u8>()"), ["std::fs::read", "b"]);
    }

    #[test]
    fn a_broken_import_ends_with_the_file() {
        assert_eq!(paths("use a::{b, c"), ["a::b", "a::c"]);
        assert_eq!(paths("use a::{;"), [""; 0]);
    }

    #[test]
    fn a_prefix_ends_between_names() {
        let mention = |path: &str| Mention { offset: 0, path: path.to_owned(), imported: true };
        assert!(mention("std::fs::File").is_within("std::fs"));
        assert!(!mention("std::fsync").is_within("std::fs"));
    }
}
