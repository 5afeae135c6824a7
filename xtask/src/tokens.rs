//! Words and signs of blanked code, and the items that the rules ask for.

use std::ops::Range;

use crate::source::Source;

/// A word, `::`, or one other sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub offset: usize,
    pub text: &'a str,
}

pub fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|sign| !is_word(sign)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (text, next) = rest.split_at(length);
        if !first.is_whitespace() {
            found.push(Token { offset: code.len() - rest.len(), text });
        }
        rest = next;
    }
    found
}

pub fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// From the word `fn` to the closing brace.
    pub span: Range<usize>,
}

pub fn functions(source: &Source) -> Vec<Function> {
    let tokens = tokens(&source.code);
    let named = |at: usize| match tokens.get(at + 1)?.text {
        "$" => Some(tokens.get(at + 2)?.text),
        name => name.starts_with(is_word).then_some(name),
    };
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.text == "fn") {
        let Some(name) = named(at) else { continue };
        let Some(open) = body_start(&tokens, at) else { continue };
        let end = closing(&tokens, open);
        found.push(Function { name: name.to_owned(), span: token.offset..end });
    }
    found
}

/// A module, whether its body stands here or in a file of its own.
#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    /// The braces and what is between; `None` for `mod name;`.
    pub body: Option<Range<usize>>,
    pub offset: usize,
    /// The value of its `#[path]` attribute.
    pub path: Option<String>,
}

pub fn modules(source: &Source) -> Vec<Module> {
    let tokens = tokens(&source.code);
    let mut found = Vec::new();
    let mut path = None;
    for (at, token) in tokens.iter().enumerate() {
        let next = |step: usize| tokens.get(at + step).map_or("", |token| token.text);
        match token.text {
            "path" if next(1) == "=" && next(2) == "\"" => {
                path = source.string_at(tokens[at + 2].offset).map(str::to_owned);
            }
            "mod" if matches!(next(2), ";" | "{") => found.push(Module {
                name: next(1).to_owned(),
                body: (next(2) == "{").then(|| tokens[at + 2].offset..closing(&tokens, at + 2)),
                offset: token.offset,
                path: path.take(),
            }),
            ";" | "{" | "}" => path = None,
            _ => {}
        }
    }
    found
}

/// Whether `name` is what a module of tests is called.
pub fn names_tests(name: &str) -> bool {
    name == "tests" || name.ends_with("_tests")
}

/// Whether the offset is test code: in a module of tests, or in a file beside the product.
pub fn is_test_code(source: &Source, modules: &[Module], offset: usize) -> bool {
    let is_beside = |part: &str| {
        names_tests(part.trim_end_matches(".rs")) || ["benches", "examples"].contains(&part)
    };
    let by_file = source.path.split('/').any(is_beside);
    let inside = |module: &Module| {
        names_tests(&module.name) && module.body.as_ref().is_some_and(|body| body.contains(&offset))
    };
    by_file || modules.iter().any(inside)
}

fn body_start(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "{" if depth == 0 => return Some(index),
            ";" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The offset behind the brace that closes the one at `open`.
fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0;
    for token in &tokens[open..] {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return token.offset + 1;
        }
    }
    tokens.last().map_or(0, |token| token.offset + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_with_their_bodies() {
        let text =
            "trait T { fn a(); fn b(x: [u8; 2]) -> u8 { match x { _ => '}' } } }\ntype F = fn(u8);";
        let source = Source::new("a.rs", text);
        let found = functions(&source);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name, "b");
        assert!(source.text[found[0].span.clone()].ends_with("'}' } }"));
    }

    #[test]
    fn modules_know_their_body_and_their_path() {
        let text = "#[cfg(test)]\n#[path = \"other.rs\"]\npub(crate) mod a;\nmod b { mod c; }";
        let found = modules(&Source::new("a.rs", text));
        let names: Vec<&str> = found.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(found[0].path.as_deref(), Some("other.rs"));
        assert_eq!((found[1].path.as_ref(), found[1].body.is_some()), (None, true));
    }

    #[test]
    fn test_code_is_known_by_its_module_or_its_file() {
        let inside = |path: &str, text: &str| {
            let source = Source::new(path, text);
            is_test_code(&source, &modules(&source), text.find("here").unwrap_or(0))
        };
        assert!(inside("crates/a/src/b.rs", "mod tests { here }"));
        assert!(inside("crates/a/src/b/tests.rs", "here"));
        assert!(inside("crates/a/tests/b.rs", "here"));
        assert!(inside("crates/a/examples/b.rs", "here"));
        assert!(!inside("crates/a/src/b.rs", "mod tests { } here"));
    }
}
