//! Files of users: a line for each, as ACL LIST shows them.

use crate::language::Language;
use crate::rule::{RuleError, has_blanks};
use crate::table::Users;
use crate::user::{User, joined};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Reads a file of users. `path` is what errors call it.
///
/// # Errors
/// All that is wrong with it, in one line.
pub fn read_file(content: &[u8], path: &str, language: &Language<'_>) -> Result<Users, String> {
    let mut reader = Reader { path, language, users: BTreeMap::new(), errors: String::new() };
    for (number, line) in (1..).zip(content.split(|byte| *byte == b'\n')) {
        reader.read_line(number, line);
    }
    if !reader.errors.is_empty() {
        reader.errors += "WARNING: ACL errors detected, no change to the previously active ACL \
                          rules was performed";
        return Err(reader.errors);
    }
    let mut users = Users::new(language);
    reader.users.into_values().for_each(|user| _ = users.put(user));
    Ok(users)
}

/// Returns the file of all users, in the order of their names.
pub fn write_file(users: &Users) -> Vec<u8> {
    let mut content = Vec::new();
    for user in users.iter() {
        content.append(&mut describe_line(user));
        content.push(b'\n');
    }
    content
}

/// Returns the line of a user.
pub fn describe_line(user: &User) -> Vec<u8> {
    [b"user ", &**user.name(), b" ", &user.describe()].concat()
}

/// What was read so far, and what is wrong with it.
struct Reader<'r> {
    path: &'r str,
    language: &'r Language<'r>,
    users: BTreeMap<Box<[u8]>, User>,
    errors: String,
}

impl Reader<'_> {
    fn read_line(&mut self, number: usize, line: &[u8]) {
        let (path, line) = (self.path, line.trim_ascii());
        if line.is_empty() {
            return;
        }
        let mut words = line.split(|byte| *byte == b' ');
        let (Some(b"user"), Some(name)) = (words.next(), words.next()) else {
            let text = "should start with user keyword followed by the username. ";
            return self.note(format_args!("{path}:{number} {text}"));
        };
        let shown = String::from_utf8_lossy(name);
        if has_blanks(name) {
            let text = format_args!("username '{shown}' contains invalid characters. ");
            return self.note(format_args!("'{path}:{number}: {text}"));
        }
        if self.users.contains_key(name) {
            let text = format_args!("Duplicate user '{shown}' found on line {number}. ");
            return self.note(format_args!("WARNING: {text}"));
        }
        let mut user = User::new(name, self.language);
        match joined(words) {
            Ok(rules) => self.apply(&mut user, number, &rules),
            Err(_) => {
                let text = "Unmatched parenthesis in selector definition.";
                self.note(format_args!("{path}:{number}: {text}"));
            }
        }
        user.shrink();
        self.users.insert(name.into(), user);
    }

    /// Applies all rules of a line. Of those that name nothing each is told, since these hold no
    /// secrets; of others that are wrong the first one.
    fn apply(&mut self, user: &mut User, number: usize, rules: &[Vec<u8>]) {
        let (path, mut is_told) = (self.path, false);
        for rule in rules {
            let rule = rule.trim_ascii();
            match user.apply(rule, self.language) {
                Ok(()) => {}
                Err(error @ RuleError::Unknown) => {
                    let rule = String::from_utf8_lossy(rule);
                    let text = format_args!("Error in applying operation '{rule}': {error}. ");
                    self.note(format_args!("{path}:{number}: {text}"));
                }
                Err(_) if is_told => {}
                Err(error) => {
                    is_told = true;
                    self.note(format_args!("{path}:{number}: {error}. "));
                }
            }
        }
    }

    fn note(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a text does not fail.
        let _ = self.errors.write_fmt(text);
    }
}
