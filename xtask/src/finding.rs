//! Finding of a rule about one line.

use std::fmt;

/// Finding, printed as `path:line: rule: message`, which editors turn into a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub path: String,
    /// Line, counted from one.
    pub line: usize,
    pub rule: &'static str,
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}: {}", self.path, self.line, self.rule, self.message)
    }
}

/// Collector of the findings of one rule, which adds the rule's name.
pub struct Report {
    rule: &'static str,
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn new(rule: &'static str) -> Self {
        Report { rule, findings: Vec::new() }
    }

    pub fn rule(&self) -> &'static str {
        self.rule
    }

    pub fn add(&mut self, path: &str, line: usize, message: impl Into<String>) {
        let (path, message) = (path.to_owned(), message.into());
        self.findings.push(Finding { path, line, rule: self.rule, message });
    }
}
