//! A user: who it is, how it logs in, what it may do.

use crate::catalog::Catalog;
use crate::channels::Channels;
use crate::commands::Commands;
use crate::databases::Databases;
use crate::keys::Keys;
use crate::language::Language;
use crate::password::PasswordHash;
use crate::rule::{RuleError, SetError};
use crate::selector::Selector;
use std::collections::HashSet;
use std::io::Write as _;
use std::sync::Arc;

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// All its versions have the same.
    name: Arc<[u8]>,
    is_on: bool,
    takes_any_password: bool,
    passwords: Vec<PasswordHash>,
    /// The root selector first, then those between parentheses.
    selectors: Vec<Selector>,
}

impl User {
    /// Returns a user that is off and may do nothing.
    pub fn new(name: &[u8], language: &Language<'_>) -> User {
        User {
            name: name.into(),
            is_on: false,
            takes_any_password: false,
            passwords: Vec::new(),
            selectors: vec![Selector::new(language)],
        }
    }

    /// Returns the user `default` as it is at the start: it may do everything, without a password.
    pub fn all_powerful(language: &Language<'_>) -> User {
        let mut user = User::new(DEFAULT, language);
        for rule in ["+@all", "~*", "&*", "on", "nopass"] {
            // None of these can be wrong.
            let _ = user.apply(rule.as_bytes(), language);
        }
        user
    }

    /// Its name.
    pub fn name(&self) -> &Arc<[u8]> {
        &self.name
    }

    /// Returns true if it may log in.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns true if any password is right.
    pub fn takes_any_password(&self) -> bool {
        self.takes_any_password
    }

    /// Returns true if a client that has shown no password may be it.
    pub fn lets_in_anybody(&self) -> bool {
        self.is_on && self.takes_any_password
    }

    /// Hashes of its passwords.
    pub fn passwords(&self) -> &[PasswordHash] {
        &self.passwords
    }

    /// Its selectors, the root one first.
    pub fn selectors(&self) -> &[Selector] {
        &self.selectors
    }

    /// Returns true if it may log in with a password of this hash.
    pub fn accepts(&self, password: &PasswordHash) -> bool {
        // All are looked at, so that the time does not tell which one it was.
        let is_one = self.passwords.iter().fold(false, |found, own| found | own.is(password));
        self.is_on && (self.takes_any_password || is_one)
    }

    /// Returns the user that it becomes by rules. A selector may be spread over several of them.
    ///
    /// # Errors
    /// The first rule that is wrong.
    pub fn with<'r>(
        &self,
        rules: impl IntoIterator<Item = &'r [u8]>,
        language: &Language<'_>,
    ) -> Result<User, SetError> {
        let mut user = self.clone();
        for rule in joined(rules).map_err(SetError::Unmatched)? {
            let wrong = |error| SetError::Rule { rule: rule.clone(), error };
            user.apply(&rule, language).map_err(wrong)?;
        }
        user.shrink();
        Ok(user)
    }

    /// Gives back memory that further rules would take: users are many, and change rarely.
    pub(crate) fn shrink(&mut self) {
        self.passwords.shrink_to_fit();
        self.selectors.iter_mut().for_each(Selector::shrink);
        self.selectors.shrink_to_fit();
    }

    /// Has its selectors share what they allow of commands with others that allow the same.
    pub(crate) fn share_commands(&mut self, shared: &mut HashSet<Arc<Commands>>) {
        for selector in &mut self.selectors {
            match shared.get(&selector.commands) {
                Some(same) => selector.commands = Arc::clone(same),
                None => _ = shared.insert(Arc::clone(&selector.commands)),
            }
        }
    }

    /// Applies one rule.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn apply(&mut self, rule: &[u8], language: &Language<'_>) -> Result<(), RuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        if rule.is_empty() || is("sanitize-payload") || is("skip-sanitize-payload") {
            // A payload is always checked.
        } else if is("on") || is("off") {
            self.is_on = is("on");
        } else if is("nopass") || is("resetpass") {
            self.takes_any_password = is("nopass");
            self.passwords.clear();
        } else if is("clearselectors") {
            self.selectors.truncate(1);
        } else if is("reset") {
            *self = User { name: Arc::clone(&self.name), ..User::new(b"", language) };
        } else if let [b'(', inside @ .., b')'] = rule {
            self.selectors.push(Selector::parse(inside, language)?);
        } else {
            match rule {
                [b'>', password @ ..] => self.add_password(PasswordHash::of(password)),
                [b'#', digits @ ..] => self.add_password(hash(digits)?),
                [b'<', password @ ..] => self.remove_password(PasswordHash::of(password))?,
                [b'!', digits @ ..] => self.remove_password(hash(digits)?)?,
                _ => self.selectors[0].apply(rule, language)?,
            }
        }
        Ok(())
    }

    /// Returns the user with one password, or with none where any is right.
    pub fn with_password(&self, password: Option<&[u8]>) -> User {
        let mut user = self.clone();
        user.passwords.clear();
        user.takes_any_password = password.is_none();
        user.passwords.extend(password.map(PasswordHash::of));
        user
    }

    fn add_password(&mut self, hash: PasswordHash) {
        if !self.passwords.contains(&hash) {
            self.passwords.push(hash);
        }
        self.takes_any_password = false;
    }

    fn remove_password(&mut self, hash: PasswordHash) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|own| *own == hash);
        self.passwords.remove(at.ok_or(RuleError::NoSuchPassword)?);
        Ok(())
    }

    /// Returns true if its root selector allows everything, so that nobody has to decide.
    pub fn may_do_everything(&self, catalog: &Catalog) -> bool {
        let root = &self.selectors[0];
        let reaches_all = (&root.keys, &root.channels) == (&Keys::All, &Channels::All);
        reaches_all && root.databases == Databases::All && root.commands.allow_all(catalog)
    }

    /// Names of its flags, as ACL GETUSER shows them.
    pub fn flags(&self) -> impl Iterator<Item = &'static str> {
        let flags = [(self.is_on, "on"), (!self.is_on, "off"), (self.takes_any_password, "nopass")];
        flags.into_iter().filter_map(|(is_set, name)| is_set.then_some(name))
    }

    /// Returns rules that make a new user like it, as ACL LIST shows them behind the name.
    pub fn describe(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for flag in self.flags() {
            out.extend_from_slice(flag.as_bytes());
            out.push(b' ');
        }
        for hash in &self.passwords {
            // Writing to a vector does not fail.
            let _ = write!(out, "#{hash} ");
        }
        for (at, selector) in self.selectors.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(b" (");
                selector.describe_inside(&mut out);
                out.push(b')');
            } else {
                selector.describe(&mut out);
            }
        }
        out
    }
}

fn hash(digits: &[u8]) -> Result<PasswordHash, RuleError> {
    PasswordHash::parse(digits).ok_or(RuleError::NoHash)
}

/// Joins the words of each selector to one rule, from the one that begins with a parenthesis to the
/// one that ends with it.
///
/// # Errors
/// The first word of a selector that does not end.
pub(crate) fn joined<'r>(
    rules: impl IntoIterator<Item = &'r [u8]>,
) -> Result<Vec<Vec<u8>>, Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut open: Option<(&[u8], Vec<u8>)> = None;
    for rule in rules {
        let is_last = rule.ends_with(b")");
        match open.take() {
            None if rule.starts_with(b"(") && !is_last => open = Some((rule, rule.to_vec())),
            None => all.push(rule.to_vec()),
            Some((first, mut selector)) => {
                selector.push(b' ');
                selector.extend_from_slice(rule);
                if is_last {
                    all.push(selector);
                } else {
                    open = Some((first, selector));
                }
            }
        }
    }
    open.map_or(Ok(all), |(first, _)| Err(first.to_vec()))
}

/// The user that new connections are.
pub const DEFAULT: &[u8] = b"default";
