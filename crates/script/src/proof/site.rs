//! What a proof tells.

/// Place where a script calls a command: its name, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// What is known of the words, the name first.
    pub words: Vec<Word>,
    /// What is known of each word that may follow them.
    pub rest: Option<Word>,
}

/// What is known of a word of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// It is this text.
    Literal(Box<[u8]>),
    /// It is one of the keys that were declared.
    Key,
    /// It is the argument at this place, counted from zero.
    Argument(usize),
    /// Nothing.
    Other,
}

/// What a compiled source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A script, which finds its keys as `KEYS`.
    Script,
    /// A library, whose functions get their keys as their first argument.
    Library,
}
