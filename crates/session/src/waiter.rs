//! Client that waits for keys, with its request.

use crate::access_modes::AccessModes;
use crate::args::{Args, write_words};
use crate::database_key::DatabaseKey;
use crate::needs::Needs;
use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use smallvec::SmallVec;
use std::sync::Arc;
use store::Kind;
use users::User;
use wire::{Protocol, Span};

/// Client that waits for keys.
#[derive(Debug)]
pub struct Waiter {
    /// Number that rises from one waiter to the next; never zero.
    pub ticket: u64,
    /// Id of the client.
    pub client: u64,
    /// Id of its command's row.
    pub command: usize,
    /// True if it needs a primary.
    pub writes: bool,
    /// The request that runs when its turn comes.
    pub request: Request,
    /// The one that the client has sent, if that is another.
    pub sent: Option<Request>,
    /// State of its session.
    pub client_state: ClientState,
    /// The keys that it waits for, from which its request only takes.
    pub keys: SmallVec<[DatabaseKey; 1]>,
    /// Other keys that its request names, to which it may write.
    pub others: Vec<DatabaseKey>,
    /// What ends its wait.
    pub wants: Wants,
    /// What it is answered when its time is over.
    pub late: Late,
    /// Time at which it stops waiting; `None` for never.
    pub deadline: Option<Steady>,
    /// Its bytes, with a line for each of its keys: they do not change while it waits.
    pub bytes: u64,
    /// Whether it waits still.
    pub state: Mutex<State>,
}

/// What may become of a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is answered when its turn comes, when its time is over, or when its wait is ended.
    Waits,
    /// Its turn has come in a pause: it runs when that is over. Its place among those postponed.
    Postponed(u64),
    /// It was answered, it waits anew as another waiter, or its client is gone.
    Over,
}

/// State of the session that the request depends on, fixed while the client waits.
#[derive(Clone, Debug)]
pub struct ClientState {
    /// Number of the selected database.
    pub database: usize,
    /// RESP2 or RESP3.
    pub protocol: Protocol,
    /// How its commands treat keys.
    pub modes: AccessModes,
    /// What its session grants.
    pub grants: Needs,
    /// True if it gets replies.
    pub is_answered: bool,
    /// The user that it is, and the version of all users whose rules that has.
    pub user: Option<Arc<User>>,
    /// The version.
    pub users_version: u64,
}

/// Request in the form in which clients send it, and the places of its arguments.
#[derive(Debug)]
pub struct Request {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Request {
    /// Returns the request of these words; `None` if it takes 4 GiB or more.
    pub fn of(words: &[&[u8]]) -> Option<Request> {
        let spans = spans_of(words.iter().map(|word| word.len()))?;
        let len = spans.last().map_or(0, |last| (last.start + last.len) as usize + LINE_END);
        let mut bytes = Vec::with_capacity(len);
        write_words(words.iter().copied(), &mut bytes);
        Some(Request { bytes, spans })
    }

    /// Returns its arguments.
    pub fn args(&self) -> Args<'_> {
        Args::new(&self.bytes, &self.spans)
    }

    /// Returns its bytes of memory.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.spans.capacity() * size_of::<Span>()
    }
}

/// Returns the places of words of these lengths in a request; `None` if it takes 4 GiB or more.
fn spans_of(lengths: impl ExactSizeIterator<Item = usize>) -> Option<Vec<Span>> {
    let mut at = header_len(lengths.len());
    let span = |len| {
        let start = at + header_len(len);
        at = start + len + LINE_END;
        u32::try_from(at).ok()?;
        Some(Span { start: narrow::to_u32(start), len: narrow::to_u32(len) })
    };
    lengths.map(span).collect()
}

/// Returns the length of the line that announces so many words or bytes.
fn header_len(number: usize) -> usize {
    1 + number.checked_ilog10().map_or(1, |digits| digits as usize + 1) + LINE_END
}

const LINE_END: usize = b"\r\n".len();

/// Answer to a client that gives up waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// A null array.
    Null,
    /// None: it waits for something that ends by itself.
    Never,
    /// The number of replicas that have acknowledged all up to this position.
    Replicas(u64),
    /// Whether this position of the journal is synced, and the number of replicas whose files have
    /// it.
    Synced(u64),
}

/// Condition that ends the wait of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// Kind of value that it needs.
    pub kind: Kind,
    /// True if the removal of a key, or another kind of value in it, ends the wait too.
    pub minds_loss: bool,
}

impl Waiter {
    /// Locks and returns what has become of it.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns true if it was answered, or its client is gone.
    pub fn is_over(&self) -> bool {
        *self.state() == State::Over
    }

    /// Its bytes, with a line for each of its keys.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The answer when its time is over.
    pub fn late(&self) -> Late {
        self.late
    }

    /// True if its wait may be ended before what it waits for has come.
    pub fn may_be_late(&self) -> bool {
        self.late != Late::Never
    }

    /// Every key that its request names.
    pub fn all_keys(&self) -> impl Iterator<Item = &DatabaseKey> {
        self.keys.iter().chain(&self.others)
    }

    /// The request that runs when its turn comes.
    pub fn args(&self) -> Args<'_> {
        self.request.args()
    }

    /// The arguments as the client has sent them.
    pub fn sent_args(&self) -> Args<'_> {
        self.sent.as_ref().unwrap_or(&self.request).args()
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, Span, spans_of};

    #[test]
    fn the_words_of_a_request_stand_where_its_spans_say() {
        let long = [b'x'; 1000];
        for words in [&[&b"BLPOP"[..], b"", b"0123456789", &long][..], &[b"EXEC"], &[&b""[..]; 100]]
        {
            let request = Request::of(words).expect("it is short");
            assert_eq!(request.args().from(0).collect::<Vec<_>>(), words);
            assert_eq!(request.args().request_bytes(), request.bytes.len());
        }
    }

    #[test]
    fn words_that_take_4_gib_together_are_no_request_that_can_wait() {
        let most = u32::MAX as usize;
        let ends = |spans: Vec<Span>| spans.iter().map(|it| it.start + it.len).collect::<Vec<_>>();
        // *2, $5, five bytes, and then $ with ten digits.
        let before = 4 + 4 + 5 + 2 + 13;
        let last = most - 2 - before;
        assert_eq!(spans_of([5, last].into_iter()).map(ends), Some(vec![13, u32::MAX - 2]));
        assert_eq!(spans_of([5, last + 1].into_iter()), None);
        assert_eq!(spans_of([most + 1].into_iter()), None);
    }
}
