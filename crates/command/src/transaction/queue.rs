//! Commands that a client has queued since MULTI.

use crate::args::Args;
use crate::needs::Needs;
use base::PositionHash;
use wire::Span;

/// Bytes of an empty queue that are kept for the client's next transaction.
const KEPT_BYTES: usize = 4 << 10;

/// Bytes that count for each argument besides its own, as with Valkey.
const WORD_BYTES: usize = 8;

/// Queued commands, with copies of their requests one behind the other.
#[derive(Debug, Default)]
pub struct Queue {
    requests: Vec<u8>,
    spans: Vec<Span>,
    commands: Vec<Queued>,
    /// Bytes that count for the limit of query buffers.
    counted: u64,
    /// Needs of any of the commands.
    needs: Needs,
    /// True if a command was refused, so that EXEC runs none.
    is_spoiled: bool,
}

/// A queued command.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// Id of its row.
    pub command: usize,
    /// Position hash of its first key, if that is known.
    pub first_hash: Option<PositionHash>,
    /// Begin of its request in `requests`.
    begin: usize,
    /// Index of the span of its first argument, and number of arguments.
    first_span: usize,
    words: usize,
}

impl Queue {
    /// Adds a command, unless none will run.
    pub fn push(
        &mut self,
        (command, needs): (usize, Needs),
        args: Args<'_>,
        first_hash: Option<PositionHash>,
    ) {
        if self.is_spoiled {
            return;
        }
        let (begin, first_span) = (self.requests.len(), self.spans.len());
        args.copy_to(&mut self.requests, &mut self.spans);
        let words: usize = args.from(0).map(|word| word.len() + WORD_BYTES).sum();
        self.counted += words as u64;
        self.commands.push(Queued { command, first_hash, begin, first_span, words: args.len() });
        self.needs |= needs;
    }

    /// Returns the number of commands.
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Returns the commands and their arguments, in order.
    pub fn commands(&self) -> impl Iterator<Item = (&Queued, Args<'_>)> + Clone {
        self.commands.iter().map(|queued| {
            let spans = &self.spans[queued.first_span..][..queued.words];
            (queued, Args::new(&self.requests[queued.begin..], spans))
        })
    }

    /// Returns what is needed to run the commands.
    pub fn needs(&self) -> Needs {
        self.needs.difference(Needs::NO_TRANSACTION | Needs::LET_IN)
    }

    /// Notes that a command was refused, and drops the others.
    pub fn spoil(&mut self) {
        self.clear();
        self.is_spoiled = true;
    }

    /// Drops all commands of a transaction that will run none.
    pub fn drop_commands(&mut self) {
        let is_spoiled = self.is_spoiled;
        self.clear();
        self.is_spoiled = is_spoiled;
    }

    /// Returns true if a command was refused.
    pub fn is_spoiled(&self) -> bool {
        self.is_spoiled
    }

    /// Returns the bytes of its commands.
    pub fn bytes(&self) -> usize {
        bytes_of(self.requests.len(), self.spans.len(), self.commands.len())
    }

    /// Returns the bytes that count for the limit of query buffers: those of arguments, and a few
    /// for each. Small commands take more memory.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// Returns the bytes of memory that it has for further commands.
    pub fn room(&self) -> usize {
        let (spans, commands) = (self.spans.capacity(), self.commands.capacity());
        bytes_of(self.requests.capacity(), spans, commands) - self.bytes()
    }

    /// Drops all commands, and the memory unless it is little.
    pub fn clear(&mut self) {
        if self.bytes() + self.room() > KEPT_BYTES {
            *self = Queue::default();
            return;
        }
        self.requests.clear();
        self.spans.clear();
        self.commands.clear();
        self.counted = 0;
        self.needs = Needs::empty();
        self.is_spoiled = false;
    }
}

/// Returns the bytes of requests, with places of arguments in them and with commands.
fn bytes_of(requests: usize, spans: usize, commands: usize) -> usize {
    requests + spans * size_of::<Span>() + commands * size_of::<Queued>()
}
