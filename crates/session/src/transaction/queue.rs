//! Commands that a client has queued since MULTI.

use crate::args::Args;
use crate::needs::Needs;
use base::PositionHash;
use wire::Span;

/// Bytes of an empty queue that are kept for the client's next transaction.
const KEPT_BYTES: usize = 4 << 10;

/// Bytes that count for each argument besides its own, as with Valkey.
const WORD_BYTES: usize = 8;

/// Bytes of requests in one part, unless a single request is longer.
const PART_BYTES: usize = 64 << 10;

/// Queued commands, with copies of their requests.
///
/// ```text
/// parts  | requests, spans, commands | requests, spans, commands | requests, ...
///          full                        full                        the last one grows
/// ```
/// Full parts stay where they are: a long queue is never moved, and takes no more than it needs.
#[derive(Debug, Default)]
pub struct Queue {
    parts: Vec<Part>,
    /// Number of commands.
    len: usize,
    /// Bytes of memory of the full parts that are in use, and that are not.
    full_bytes: usize,
    full_room: usize,
    /// Bytes that count for the limit of query buffers.
    counted: u64,
    /// Needs of any of the commands.
    needs: Needs,
    /// True if a command was refused, so that EXEC runs none.
    is_spoiled: bool,
    /// Database that the queued commands leave selected.
    pub database: usize,
}

/// Some commands of a queue, with their requests one behind the other.
#[derive(Debug, Default)]
struct Part {
    requests: Vec<u8>,
    spans: Vec<Span>,
    commands: Vec<Queued>,
}

/// A queued command.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// Id of its row.
    pub command: usize,
    /// Position hash of its first key, if that is known.
    pub first_hash: Option<PositionHash>,
    /// Begin of its request in the requests of its part.
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
        self.part_for(args.bytes()).push(command, args, first_hash);
        let words: usize = args.from(0).map(|word| word.len() + WORD_BYTES).sum();
        self.len += 1;
        self.counted += words as u64;
        self.needs |= needs;
    }

    /// Returns the part for a request of so many bytes.
    fn part_for(&mut self, bytes: usize) -> &mut Part {
        let next = match self.parts.last() {
            Some(last) if last.has_room_for(bytes) => None,
            Some(full) => {
                self.full_bytes += full.bytes();
                self.full_room += full.room();
                Some(Part::behind(full))
            }
            None => Some(Part::default()),
        };
        self.parts.extend(next);
        self.parts.last_mut().expect("there is one")
    }

    /// Returns true if there are no commands.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of commands.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the commands and their arguments, in order.
    pub fn commands(&self) -> impl Iterator<Item = (&Queued, Args<'_>)> + Clone {
        self.parts.iter().flat_map(Part::commands)
    }

    /// Returns what is needed to run the commands.
    pub fn needs(&self) -> Needs {
        self.needs
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
        self.full_bytes + self.parts.last().map_or(0, Part::bytes)
    }

    /// Returns the bytes that count for the limit of query buffers: those of arguments, and a few
    /// for each. Small commands take more memory.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// Returns the bytes of memory that it has besides.
    pub fn room(&self) -> usize {
        self.full_room + self.parts.last().map_or(0, Part::room)
    }

    /// Drops all commands, and the memory unless it is little, which is that of one part.
    pub fn clear(&mut self) {
        let is_little = self.bytes() + self.room() <= KEPT_BYTES;
        let mut parts = if is_little { std::mem::take(&mut self.parts) } else { Vec::new() };
        parts.iter_mut().for_each(Part::clear);
        *self = Queue { parts, ..Queue::default() };
    }
}

impl Part {
    /// Returns an empty part with memory for about as much as is in a full one.
    fn behind(full: &Part) -> Part {
        Part {
            requests: Vec::with_capacity(PART_BYTES),
            spans: Vec::with_capacity(full.spans.len()),
            commands: Vec::with_capacity(full.commands.len()),
        }
    }

    /// Returns true if a request of so many bytes is to be in this part.
    fn has_room_for(&self, bytes: usize) -> bool {
        self.requests.is_empty() || self.requests.len() + bytes <= PART_BYTES
    }

    fn push(&mut self, command: usize, args: Args<'_>, first_hash: Option<PositionHash>) {
        let (begin, first_span) = (self.requests.len(), self.spans.len());
        args.copy_to(&mut self.requests, &mut self.spans);
        self.commands.push(Queued { command, first_hash, begin, first_span, words: args.len() });
    }

    fn commands(&self) -> impl Iterator<Item = (&Queued, Args<'_>)> + Clone {
        self.commands.iter().map(|queued| {
            let spans = &self.spans[queued.first_span..][..queued.words];
            (queued, Args::new(&self.requests[queued.begin..], spans))
        })
    }

    /// Returns the bytes of memory in use.
    fn bytes(&self) -> usize {
        bytes_of(self.requests.len(), self.spans.len(), self.commands.len())
    }

    /// Returns the bytes of memory that are not in use.
    fn room(&self) -> usize {
        let (spans, commands) = (self.spans.capacity(), self.commands.capacity());
        bytes_of(self.requests.capacity(), spans, commands) - self.bytes()
    }

    fn clear(&mut self) {
        self.requests.clear();
        self.spans.clear();
        self.commands.clear();
    }
}

/// Returns the bytes of requests, with places of arguments in them and with commands.
fn bytes_of(requests: usize, spans: usize, commands: usize) -> usize {
    requests + spans * size_of::<Span>() + commands * size_of::<Queued>()
}

#[cfg(test)]
mod tests {
    use super::{PART_BYTES, Queue};
    use crate::args::Args;
    use crate::needs::Needs;
    use wire::Span;

    fn push(queue: &mut Queue, words: &[&[u8]]) {
        let (request, spans) = (words.concat(), Span::of_joined(words));
        queue.push((7, Needs::empty()), Args::new(&request, &spans), None);
    }

    #[test]
    fn commands_of_all_lengths_come_back_in_order() {
        let mut queue = Queue::default();
        let lens = [1, 100, 3 * PART_BYTES, 0, PART_BYTES - 1, 1, PART_BYTES, 5];
        for round in 0..2 {
            let lens = || lens.into_iter().cycle().take(100 * (1 - round) + 3).enumerate();
            for (number, len) in lens() {
                push(&mut queue, &[b"SET", number.to_string().as_bytes(), &vec![b'v'; len]]);
            }
            assert_eq!((queue.len(), queue.commands().count()), (lens().count(), lens().count()));
            for ((queued, args), (number, len)) in queue.commands().zip(lens()) {
                assert_eq!((queued.command, args.len(), args.get(0)), (7, 3, &b"SET"[..]));
                assert_eq!((args.get(1), args.get(2).len()), (number.to_string().as_bytes(), len));
            }
            queue.clear();
            assert_eq!((queue.len(), queue.bytes(), queue.room()), (0, 0, 0));
        }
    }

    #[test]
    fn a_long_queue_takes_little_more_memory_than_its_commands() {
        for len in [1, 100, 10_000, PART_BYTES / 2 + 1] {
            let mut queue = Queue::default();
            for _ in 0..(8 << 20) / (len + 100) {
                push(&mut queue, &[b"SET", b"key", &vec![b'v'; len]]);
            }
            let (bytes, room) = (queue.bytes(), queue.room());
            let most = if len > PART_BYTES / 2 { bytes } else { bytes / 5 };
            assert!(room <= most, "{len}: {room} bytes unused beside {bytes}");
        }
    }
}
