//! Commands that a selector allows.

use crate::catalog::{BITS, Catalog, CommandId};
use crate::rule::{RuleError, has_blanks};

/// Commands that a selector allows: a bit for each, and the rules that led there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Commands {
    allowed: Box<[u64]>,
    /// First arguments with which commands are allowed that are not allowed with others.
    arguments: Vec<(CommandId, Box<[u8]>)>,
    /// True if all was allowed before the rules.
    begins_with_all: bool,
    /// Rules in lower case, in their order, parted by blanks.
    rules: Vec<u8>,
}

impl Commands {
    /// Returns all commands, or none.
    pub fn all_or_none(is_all: bool, catalog: &Catalog) -> Commands {
        let words = catalog.len().div_ceil(BITS);
        let mut allowed = vec![0; words].into_boxed_slice();
        if is_all {
            (0..catalog.len()).for_each(|id| allowed[id / BITS] |= 1 << (id % BITS));
        }
        Commands { allowed, arguments: Vec::new(), begins_with_all: is_all, rules: Vec::new() }
    }

    /// Applies a rule that begins with a sign.
    ///
    /// # Errors
    /// Where it names nothing that exists, or asks for what cannot be.
    pub fn apply(&mut self, rule: &[u8], catalog: &Catalog) -> Result<(), RuleError> {
        let [sign, name @ ..] = rule else { return Err(RuleError::Syntax) };
        if has_blanks(name) {
            return Err(RuleError::Syntax);
        }
        let is_allowed = *sign == b'+';
        if let [b'@', category @ ..] = name {
            if category.eq_ignore_ascii_case(b"all") {
                *self = Commands::all_or_none(is_allowed, catalog);
                return Ok(());
            }
            let reached = catalog.reached(category).ok_or(RuleError::Unknown)?;
            self.change_all(reached, is_allowed);
            self.add_rule(is_allowed, name);
            return Ok(());
        }
        if is_allowed && let Some(bar) = name.iter().rposition(|byte| *byte == b'|') {
            return self.allow_part(name, bar, catalog);
        }
        let id = catalog.find(name).ok_or(RuleError::Unknown)?;
        self.change(id, is_allowed, catalog);
        self.add_rule(is_allowed, catalog.command(id).name.as_bytes());
        Ok(())
    }

    /// Allows a subcommand, or a first argument.
    fn allow_part(&mut self, name: &[u8], bar: usize, catalog: &Catalog) -> Result<(), RuleError> {
        let (parent, part) = (&name[..bar], &name[bar + 1..]);
        let id = catalog.find(parent).ok_or(RuleError::Unknown)?;
        if catalog.command(id).parent.is_some() {
            return Err(RuleError::ArgumentOfSubcommand);
        }
        if part.is_empty() {
            return Err(RuleError::Syntax);
        }
        if catalog.children(id).next().is_some() {
            let child = catalog.find(name).ok_or(RuleError::Unknown)?;
            self.change(child, true, catalog);
        } else if !self.allows_argument(id, part) {
            self.arguments.push((id, part.into()));
        }
        self.add_rule(true, name);
        Ok(())
    }

    /// Allows or refuses a command with its subcommands, whatever its first argument is.
    fn change(&mut self, id: CommandId, is_allowed: bool, catalog: &Catalog) {
        self.set(id, is_allowed);
        self.arguments.retain(|(of, _)| *of != id);
        if catalog.command(id).parent.is_none() {
            catalog.children(id).for_each(|child| self.set(child, is_allowed));
        }
    }

    /// Allows or refuses all commands that have a bit, whatever their first argument is.
    fn change_all(&mut self, bits: &[u64], is_allowed: bool) {
        for (allowed, bits) in self.allowed.iter_mut().zip(bits) {
            *allowed = if is_allowed { *allowed | bits } else { *allowed & !bits };
        }
        self.arguments.retain(|(id, _)| {
            let (word, bit) = place(*id);
            bits[word] & bit == 0
        });
    }

    fn set(&mut self, id: CommandId, is_allowed: bool) {
        let (word, bit) = place(id);
        match is_allowed {
            true => self.allowed[word] |= bit,
            false => self.allowed[word] &= !bit,
        }
    }

    /// Notes a rule behind all others. Earlier ones of the same command are gone, and those of its
    /// subcommands.
    fn add_rule(&mut self, is_allowed: bool, name: &[u8]) {
        let name = name.to_ascii_lowercase();
        let is_of_it = |rule: &[u8]| {
            rule[1..].strip_prefix(&name[..]).is_some_and(|rest| matches!(rest, [] | [b'|', ..]))
        };
        let rules = std::mem::take(&mut self.rules);
        let kept = rules.split(|byte| *byte == b' ').filter(|it| !it.is_empty() && !is_of_it(it));
        for rule in kept {
            self.rules.extend_from_slice(rule);
            self.rules.push(b' ');
        }
        self.rules.push(if is_allowed { b'+' } else { b'-' });
        self.rules.extend_from_slice(&name);
    }

    pub(crate) fn shrink(&mut self) {
        self.arguments.shrink_to_fit();
        self.rules.shrink_to_fit();
    }

    /// Returns true if a command is allowed, whatever its arguments are.
    #[inline]
    pub fn allow(&self, id: CommandId) -> bool {
        let (word, bit) = place(id);
        self.allowed.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Returns true if a command is allowed with a first argument, though not with others.
    pub fn allows_argument(&self, id: CommandId, argument: &[u8]) -> bool {
        self.arguments.iter().any(|(of, it)| *of == id && it.eq_ignore_ascii_case(argument))
    }

    /// Returns true if all commands are allowed.
    pub fn allow_all(&self, catalog: &Catalog) -> bool {
        *self.allowed == *Commands::all_or_none(true, catalog).allowed
    }

    /// Appends the rules, behind one that allows all or none.
    pub fn describe(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.begins_with_all { b"+@all" } else { b"-@all" });
        if !self.rules.is_empty() {
            out.push(b' ');
            out.extend_from_slice(&self.rules);
        }
    }
}

fn place(id: CommandId) -> (usize, u64) {
    (usize::from(id) / BITS, 1 << (usize::from(id) % BITS))
}
