//! What is known about a file of Rust. Lines are counted from one.

use std::ops::RangeInclusive;
use std::sync::Arc;

/// All facts about one file.
#[derive(Default)]
pub struct Rust {
    pub comments: Vec<Comment>,
    pub macro_calls: Vec<MacroCall>,
    /// Where the word `unsafe` stands.
    pub unsafe_lines: Vec<usize>,
    pub forbids_unsafe: bool,
    pub mentions: Vec<Mention>,
    pub functions: Vec<Function>,
    pub modules: Vec<Module>,
    pub definitions: Vec<Definition>,
}

/// One line of a comment; a block comment gives one for each of its lines.
#[derive(Debug, PartialEq, Eq)]
pub struct Comment {
    pub line: usize,
    pub text: String,
}

pub struct MacroCall {
    pub line: usize,
    pub name: String,
    /// The first argument, where it is a string.
    pub text: Option<String>,
}

/// The inline modules around something, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub modules: Arc<[String]>,
    /// One of the modules is called like a module of tests.
    pub is_in_tests: bool,
    /// Behind `#[cfg(test)]` or its like.
    pub is_for_tests: bool,
}

/// A path such as `std::fs::File`, imported or written out where it is used. A braced import gives
/// one for each of its leaves.
#[derive(Debug, PartialEq, Eq)]
pub struct Mention {
    pub line: usize,
    /// Without the leading `::` and without a trailing `::self`.
    pub path: String,
    pub import: Option<Import>,
    pub scope: Scope,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// What the path is called from here on.
    pub name: String,
    /// `pub`, `pub(crate)` and the like.
    pub is_public: bool,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// From the word `fn` to the closing brace.
    pub lines: RangeInclusive<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    /// Whether the module stands here; `false` for `mod name;`.
    pub is_inline: bool,
    /// The value of its `#[path]` attribute.
    pub path: Option<String>,
    /// What is around the module.
    pub scope: Scope,
}

/// An item that stands in a module, not in a function.
#[derive(Debug, PartialEq, Eq)]
pub struct Definition {
    pub modules: Arc<[String]>,
    pub name: String,
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

/// Whether `name` is what a module of tests is called.
pub fn names_tests(name: &str) -> bool {
    name == "tests" || name.ends_with("_tests")
}
