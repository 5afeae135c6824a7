//! The commands and categories that rules may name.

use std::collections::HashMap;

/// Number of a command or of a subcommand.
pub type CommandId = u16;

/// What rules have to know of a command or of a subcommand.
#[derive(Clone, Debug)]
pub struct CommandFacts {
    /// Name in lower case; of a subcommand, behind that of its parent, as `config|get`.
    pub name: Box<str>,
    /// Bits of its categories.
    pub categories: u32,
    /// The command whose subcommand it is.
    pub parent: Option<CommandId>,
}

/// Commands in one word of bits.
pub(crate) const BITS: usize = u64::BITS as usize;

/// All commands, by their numbers, and the names of the categories.
#[derive(Debug)]
pub struct Catalog {
    commands: Vec<CommandFacts>,
    by_name: HashMap<Box<str>, CommandId>,
    categories: Vec<(&'static str, u32)>,
    /// For each category a bit for each of its commands, and for their subcommands.
    reached: Vec<Box<[u64]>>,
}

impl Catalog {
    /// Returns the catalog of commands, whose places are their numbers, and of categories with
    /// their bits.
    pub fn new(commands: Vec<CommandFacts>, categories: Vec<(&'static str, u32)>) -> Catalog {
        let by_name = (0..).zip(&commands).map(|(id, command)| (command.name.clone(), id));
        let by_name = by_name.collect();
        let mut catalog = Catalog { by_name, commands, categories, reached: Vec::new() };
        let reached = catalog.categories.iter().map(|(_, bits)| catalog.reach(*bits));
        catalog.reached = reached.collect();
        catalog
    }

    fn reach(&self, category: u32) -> Box<[u64]> {
        let mut reached = vec![0; self.len().div_ceil(BITS)].into_boxed_slice();
        for id in self.members(category) {
            let is_parent = self.command(id).parent.is_none();
            let children = is_parent.then(|| self.children(id)).into_iter().flatten();
            for id in std::iter::once(id).chain(children) {
                reached[usize::from(id) / BITS] |= 1 << (usize::from(id) % BITS);
            }
        }
        reached
    }

    /// Returns a bit for each command of a category, whose name may be in any case, and for their
    /// subcommands.
    pub(crate) fn reached(&self, category: &[u8]) -> Option<&[u64]> {
        let is_it = |(text, _): &(&str, u32)| text.as_bytes().eq_ignore_ascii_case(category);
        self.categories.iter().position(is_it).map(|at| &*self.reached[at])
    }

    /// Returns how many commands and subcommands there are.
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Returns true if there are no commands.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Returns the command or subcommand of a name, in any case.
    pub fn find(&self, name: &[u8]) -> Option<CommandId> {
        let name = str::from_utf8(name).ok()?.to_ascii_lowercase();
        self.by_name.get(&*name).copied()
    }

    /// Returns the bits of a category, whose name may be in any case.
    pub fn category(&self, name: &[u8]) -> Option<u32> {
        let is_it = |text: &str| text.as_bytes().eq_ignore_ascii_case(name);
        self.categories.iter().find(|(text, _)| is_it(text)).map(|(_, bits)| *bits)
    }

    /// Returns the names of all categories.
    pub fn category_names(&self) -> impl Iterator<Item = &'static str> {
        self.categories.iter().map(|(name, _)| *name)
    }

    /// Returns what is known of a command.
    pub fn command(&self, id: CommandId) -> &CommandFacts {
        &self.commands[usize::from(id)]
    }

    /// Returns the numbers of the subcommands of a command.
    pub fn children(&self, parent: CommandId) -> impl Iterator<Item = CommandId> {
        let commands = (0..).zip(&self.commands);
        commands.filter(move |(_, it)| it.parent == Some(parent)).map(|(id, _)| id)
    }

    /// Returns the numbers of the commands and subcommands of a category.
    pub fn members(&self, category: u32) -> impl Iterator<Item = CommandId> {
        let commands = (0..).zip(&self.commands);
        commands.filter(move |(_, it)| it.categories & category != 0).map(|(id, _)| id)
    }
}
