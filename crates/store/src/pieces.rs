//! Commands with many arguments, in pieces.

use crate::shard::OwnedArgs;
use packed::Element;

/// Most arguments of one piece, besides its head.
const PIECE_ARGS: usize = 1024;
/// Bytes of arguments at which a piece ends.
const PIECE_BYTES: usize = 64 << 10;

/// A command with many arguments, recorded as several of bounded size.
#[derive(Debug, Default)]
pub struct Pieces {
    head: OwnedArgs,
    tail: OwnedArgs,
    /// True if FIELDS and the number of arguments stand before them.
    is_counted: bool,
    full: Vec<OwnedArgs>,
    last: OwnedArgs,
    bytes: usize,
    is_needed: bool,
}

impl Pieces {
    /// Begins a command with these words, to which arguments are added. If it is not needed, since
    /// nobody listens or the request can stand for itself, it stays empty.
    pub fn new(is_needed: bool, head: &[&[u8]]) -> Pieces {
        if !is_needed {
            return Pieces::default();
        }
        Pieces { head: owned(head), is_needed: true, ..Pieces::default() }
    }

    /// Begins a command with these words, to which fields of a hash are added, with their number
    /// before them.
    pub fn of_fields(is_needed: bool, head: &[&[u8]]) -> Pieces {
        Pieces { is_counted: true, ..Pieces::new(is_needed, head) }
    }

    /// Returns the command with these words behind its arguments.
    pub fn with_tail(mut self, tail: &[&[u8]]) -> Pieces {
        if self.is_needed {
            self.tail = owned(tail);
        }
        self
    }

    /// Adds arguments that stay together.
    #[inline]
    pub fn add(&mut self, row: &[&[u8]]) {
        if self.is_needed {
            self.push_row(row);
        }
    }

    /// Adds an element.
    #[inline]
    pub fn add_element(&mut self, element: Element<'_>) {
        if self.is_needed {
            element.with_text(|text| self.push_row(&[text]));
        }
    }

    #[cold]
    fn push_row(&mut self, row: &[&[u8]]) {
        let bytes = row.iter().map(|word| word.len()).sum::<usize>();
        let is_full = self.last.len() + row.len() > PIECE_ARGS || self.bytes + bytes > PIECE_BYTES;
        if is_full && !self.last.is_empty() {
            self.full.push(std::mem::take(&mut self.last));
            self.bytes = 0;
        }
        self.last.extend(row.iter().map(|word| word.to_vec()));
        self.bytes += bytes;
    }

    /// Returns the commands, none if there are no arguments.
    pub fn into_commands(self) -> impl Iterator<Item = OwnedArgs> {
        let Pieces { head, tail, is_counted, full, last, .. } = self;
        let pieces = full.into_iter().chain([last]).filter(|piece| !piece.is_empty());
        pieces.map(move |piece| {
            let mut args = head.clone();
            if is_counted {
                args.extend([b"FIELDS".to_vec(), piece.len().to_string().into_bytes()]);
            }
            args.extend(piece);
            args.extend(tail.iter().cloned());
            args
        })
    }
}

fn owned(words: &[&[u8]]) -> OwnedArgs {
    words.iter().map(|word| word.to_vec()).collect()
}
