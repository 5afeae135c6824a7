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

impl CallSite {
    /// Returns true if a call of these words, by a script with these keys and arguments, may be one
    /// at this place.
    pub fn allows(&self, words: &[&[u8]], keys: &[&[u8]], arguments: &[&[u8]]) -> bool {
        let has_count = words.len() == self.words.len()
            || self.rest.is_some() && words.len() > self.words.len();
        let expected = self.words.iter().chain(std::iter::repeat_n(
            self.rest.as_ref().unwrap_or(&Word::Other),
            words.len().saturating_sub(self.words.len()),
        ));
        let agrees = |(at, (expected, word)): (usize, (&Word, &&[u8]))| match expected {
            Word::Literal(text) => text[..] == **word,
            Word::Key => keys.contains(word),
            // Only the name is looked at before a run.
            Word::Argument(place) => at > 0 || arguments.get(*place) == Some(word),
            Word::Other => true,
        };
        has_count && expected.zip(words).enumerate().all(agrees)
    }
}
