//! What is allowed together.

use crate::channels::Channels;
use crate::commands::Commands;
use crate::databases::Databases;
use crate::keys::Keys;
use crate::language::Language;
use crate::rule::RuleError;
use std::sync::Arc;

/// Commands with the keys, channels and databases that they are allowed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Commands.
    /// Many users have the same, which the table shares among them.
    pub(crate) commands: Arc<Commands>,
    /// Keys, and what may be done to them.
    pub(crate) keys: Keys,
    /// Channels.
    pub(crate) channels: Channels,
    /// Databases.
    pub(crate) databases: Databases,
}

impl Selector {
    /// Returns one that allows no command and no key, but every database, and the channels that new
    /// users have.
    pub fn new(language: &Language<'_>) -> Selector {
        Selector {
            commands: Arc::new(Commands::all_or_none(false, language.catalog)),
            keys: Keys::NONE,
            channels: language.channels(),
            databases: Databases::All,
        }
    }

    /// Reads what stands between the parentheses of a rule.
    ///
    /// # Errors
    /// That of the first rule that is wrong.
    pub fn parse(inside: &[u8], language: &Language<'_>) -> Result<Selector, RuleError> {
        let mut selector = Selector::new(language);
        // As in Valkey, quotes that are left open make an empty selector.
        let words = text::split_args(inside).unwrap_or_default();
        words.iter().try_for_each(|word| selector.apply(word, language))?;
        Ok(selector)
    }

    /// Applies one rule.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn apply(&mut self, rule: &[u8], language: &Language<'_>) -> Result<(), RuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        if is("allkeys") || is("~*") {
            self.keys = Keys::All;
        } else if is("resetkeys") {
            self.keys = Keys::NONE;
        } else if is("allchannels") || is("&*") {
            self.channels = Channels::All;
        } else if is("resetchannels") {
            self.channels = Channels::NONE;
        } else if is("alldbs") {
            self.databases = Databases::All;
        } else if is("resetdbs") {
            self.databases = Databases::none();
        } else if let Some(list) = behind(rule, b"db=") {
            self.databases = Databases::parse(list)?;
        } else if is("allcommands") || is("nocommands") {
            let is_all = is("allcommands");
            self.commands = Arc::new(Commands::all_or_none(is_all, language.catalog));
        } else {
            match rule {
                [b'~' | b'%', ..] => self.keys.add(rule)?,
                [b'&', pattern @ ..] => self.channels.add(pattern)?,
                [b'+' | b'-', ..] => {
                    Arc::make_mut(&mut self.commands).apply(rule, language.catalog)?;
                }
                _ => return Err(RuleError::Syntax),
            }
        }
        Ok(())
    }

    pub(crate) fn shrink(&mut self) {
        if let Some(own) = Arc::get_mut(&mut self.commands) {
            own.shrink();
        }
        self.keys.shrink();
        self.channels.shrink();
    }

    /// Appends rules that make one like it.
    pub fn describe(&self, out: &mut Vec<u8>) {
        self.keys.describe(out);
        if self.keys != Keys::NONE {
            out.push(b' ');
        }
        if let Channels::Matching(patterns, _) = &self.channels {
            out.extend_from_slice(b"resetchannels ");
            if !patterns.is_empty() {
                self.channels.describe(out);
                out.push(b' ');
            }
        } else {
            out.extend_from_slice(b"&* ");
        }
        match &self.databases {
            Databases::All => {}
            Databases::Only(numbers) if numbers.is_empty() => out.extend_from_slice(b"resetdbs "),
            databases @ Databases::Only(_) => {
                databases.describe(out);
                out.push(b' ');
            }
        }
        self.commands.describe(out);
    }

    /// As `describe`, for a place between parentheses: words that would not be read again as they
    /// are stand in quotes.
    pub fn describe_inside(&self, out: &mut Vec<u8>) {
        let mut rules = Vec::new();
        self.describe(&mut rules);
        for (at, rule) in rules.split(|byte| *byte == b' ').enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            if rule.ends_with(b")") || rule.iter().any(|byte| matches!(byte, b'"' | b'\'')) {
                text::quote_to(rule, out);
            } else {
                out.extend_from_slice(rule);
            }
        }
    }

    /// Returns the rules of its commands, keys, channels and databases, each by itself.
    pub fn parts(&self) -> [Vec<u8>; 4] {
        let mut parts = [const { Vec::new() }; 4];
        let [commands, keys, channels, databases] = &mut parts;
        self.commands.describe(commands);
        self.keys.describe(keys);
        self.channels.describe(channels);
        self.databases.describe(databases);
        parts
    }
}

/// Returns what stands behind a word, which may be in any case.
fn behind<'r>(rule: &'r [u8], word: &[u8]) -> Option<&'r [u8]> {
    let (first, rest) = rule.split_at_checked(word.len())?;
    first.eq_ignore_ascii_case(word).then_some(rest)
}
