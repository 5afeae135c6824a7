//! Facts about a Rust file. Lines are counted from one.

use std::ops::RangeInclusive;
use std::sync::Arc;

/// All facts about one file.
#[derive(Default)]
pub struct Rust {
    pub comments: Vec<Comment>,
    pub macro_calls: Vec<MacroCall>,
    /// Lines with the word `unsafe`.
    pub unsafe_lines: Vec<usize>,
    pub forbids_unsafe: bool,
    pub mentions: Vec<Mention>,
    pub functions: Vec<Function>,
    pub modules: Vec<Module>,
    pub definitions: Vec<Definition>,
}

/// One line of a comment; a block comment has one entry for each of its lines.
#[derive(Debug, PartialEq, Eq)]
pub struct Comment {
    pub line: usize,
    pub text: String,
}

pub struct MacroCall {
    pub line: usize,
    pub name: String,
    /// First argument, if it is a string.
    pub text: Option<String>,
}

/// Inline modules around an item, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub modules: Arc<[String]>,
    /// True if one of the modules has the name of a module of tests.
    pub is_in_tests: bool,
    /// True behind `#[cfg(test)]` or its like.
    pub is_for_tests: bool,
}

/// A path such as `std::fs::File`, imported or written out where it is used. A braced import has
/// one entry for each of its leaves.
#[derive(Debug, PartialEq, Eq)]
pub struct Mention {
    pub line: usize,
    /// Path without the leading `::` and without a trailing `::self`.
    pub path: String,
    pub import: Option<Import>,
    pub scope: Scope,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// Name of the path in the importing module.
    pub name: String,
    /// True for `pub`, `pub(crate)` and the like.
    pub is_public: bool,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Lines from the word `fn` to the closing brace.
    pub lines: RangeInclusive<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    /// True if the module has a body here; `false` for `mod name;`.
    pub is_inline: bool,
    /// Value of its `#[path]` attribute.
    pub path: Option<String>,
    /// Modules around it.
    pub scope: Scope,
}

/// Item of a module, not of a function.
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

    /// Returns true if the path is `prefix` or inside it.
    pub fn is_within(&self, prefix: &str) -> bool {
        self.path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

/// Returns true if `name` is a usual name of a module of tests.
pub fn names_tests(name: &str) -> bool {
    name == "tests" || name.ends_with("_tests")
}
