//! Facts about arguments that COMMAND DOCS shows and a syntax does not tell.

/// Fact about one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentFact {
    /// Name, where it is not the word of the syntax or what follows from the parts of a group.
    Name(&'static str),
    /// Type, where it does not follow from the name.
    Type(&'static str),
    /// Text that stands for the value, where it is not its name; behind the name.
    Display(&'static str),
    /// Version that introduced it, where the command is older.
    Since(&'static str),
    /// Version since which another argument is preferred.
    DeprecatedSince(&'static str),
    /// Index of the key specification, where it is not the next one.
    SpecIndex(usize),
    /// May be left out, although the syntax does not put it into brackets.
    Optional,
    /// Each of its parts may be left out, although the syntax does not put them into brackets.
    PartsOptional,
    /// The token of a block belongs to the first argument of the block.
    TokenInside,
}

/// Facts about the arguments of a row. An argument is called by its token, or by its name if it has
/// none. Arguments that are called alike get facts of the same kind one after the other.
pub type ArgumentFacts = &'static [(&'static str, ArgumentFact)];
