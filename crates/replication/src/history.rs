//! The ids under which a server's stream is known, and what a replica may go on with.
//!
//! ```text
//! id A  ├──────────────┤ upto 700           one stream, and whose name it had when
//! id B                 ├─────────┤ upto 900
//! id C, the present                ├──────────▶
//! ```
//! Two servers that know an id have the same bytes under it, up to the lower of their bounds. So
//! a replica that has bytes beyond the bound of the id under which it asks has others than this
//! server, and must not go on.

use journal::sync_line::ReplicationId;
use text::parse_u64;

/// Earlier ids that are kept: a restart of three servers, each in turn, gives each of them three.
pub const EARLIER_MAX: usize = 8;

/// An id that the stream had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// The id.
    pub id: ReplicationId,
    /// Offset up to which the stream is the one of this id.
    pub upto: u64,
}

/// The id of a stream, and those it had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    id: ReplicationId,
    /// The newest first; their bounds never rise.
    earlier: Vec<Earlier>,
}

/// Answer to PSYNC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The replica goes on with the bytes from this offset on.
    Continue(u64),
    /// It needs a snapshot.
    Full(FullSync),
}

/// Why a replica needs a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullSync {
    /// It has nothing, or nothing of this stream.
    Unknown,
    /// It has so many bytes that this stream has not, or in other words; it will drop them.
    Diverged(u64),
    /// So many bytes that it lacks are not kept any more.
    Gone(u64),
}

impl History {
    /// The history of a stream that is not known under any other id: that of a server without
    /// files, of one whose data were replaced, and of a replica behind a full sync.
    pub const fn new(id: ReplicationId) -> History {
        History { id, earlier: Vec::new() }
    }

    /// The present id.
    pub const fn id(&self) -> ReplicationId {
        self.id
    }

    /// The ids before it, the newest first.
    pub fn earlier(&self) -> &[Earlier] {
        &self.earlier
    }

    /// Gives the stream another id from offset `at` on: when a server becomes a primary, when it
    /// starts as one with `at` bytes of the stream in its files, and when its primary continues
    /// under another id. Nothing changes if it is the present one.
    ///
    /// A stream that was cut back to `at`, since its files lack what came behind it, is not the
    /// one of any id beyond that.
    pub fn rename(&mut self, id: ReplicationId, at: u64) {
        self.cut(at);
        if id == self.id {
            return;
        }
        self.earlier.insert(0, Earlier { id: self.id, upto: at });
        self.id = id;
        self.earlier.retain(|it| it.id != id);
        self.earlier.truncate(EARLIER_MAX);
    }

    fn cut(&mut self, at: u64) {
        for earlier in &mut self.earlier {
            earlier.upto = earlier.upto.min(at);
        }
    }

    /// Decides on `PSYNC id first` where bytes of the stream from `kept.0` up to `kept.1`, which is
    /// its end, can be had. Letters of an id may be of either case, as for Valkey; an offset that
    /// is not positive is nobody's.
    pub fn decide(&self, id: &[u8], first: i64, kept: (u64, u64)) -> Decision {
        let has = u64::try_from(first).ok().and_then(|first| first.checked_sub(1));
        let (Some(has), Some(upto)) = (has, self.upto(id, kept.1)) else {
            return Decision::Full(FullSync::Unknown);
        };
        if has > upto {
            Decision::Full(FullSync::Diverged(has - upto))
        } else if has < kept.0 {
            Decision::Full(FullSync::Gone(kept.0 - has))
        } else {
            Decision::Continue(has)
        }
    }

    /// Returns true if the stream is known under an id, or was.
    pub fn knows(&self, id: &[u8]) -> bool {
        self.upto(id, 0).is_some()
    }

    /// Bytes that this stream, which ends at `end`, lacks of the one of a server that asks with
    /// `PSYNC id first`: those that may be on their way. `None` if that one is not the begin of
    /// this stream, nor this stream the begin of that one.
    pub fn lacks(&self, id: &[u8], first: i64, end: u64) -> Option<u64> {
        let has = u64::try_from(first).unwrap_or(0).saturating_sub(1);
        let upto = self.upto(id, end)?;
        let is_present = self.id.as_str().as_bytes().eq_ignore_ascii_case(id);
        (is_present || first > 0 && has <= upto).then_some(has.saturating_sub(end))
    }

    /// Offset up to which the stream, which ends at `end`, is the one of an id.
    fn upto(&self, id: &[u8], end: u64) -> Option<u64> {
        let is = |it: &ReplicationId| it.as_str().as_bytes().eq_ignore_ascii_case(id);
        if is(&self.id) {
            return Some(end);
        }
        self.earlier.iter().find(|it| is(&it.id)).map(|it| it.upto)
    }

    /// The earlier ids as a line of a file keeps them: `id:upto`, with commas between.
    pub fn earlier_text(&self) -> String {
        let texts = self.earlier.iter().map(|it| format!("{}:{}", it.id.as_str(), it.upto));
        texts.collect::<Vec<_>>().join(",")
    }

    /// Reads what a file keeps: the present id, and what `earlier_text` has written. `None` if it
    /// is anything else.
    pub fn parse(id: &[u8], earlier: &[u8]) -> Option<History> {
        let mut history = History::new(ReplicationId::parse(id)?);
        if earlier.is_empty() {
            return Some(history);
        }
        for text in earlier.split(|byte| *byte == b',') {
            let (id, upto) = text.split_at_checked(ID_DIGITS)?;
            let earlier = Earlier {
                id: ReplicationId::parse(id)?,
                upto: parse_u64(upto.strip_prefix(b":")?)?,
            };
            let is_known =
                earlier.id == history.id || history.earlier.iter().any(|it| it.id == earlier.id);
            let rises = history.earlier.last().is_some_and(|it| it.upto < earlier.upto);
            if is_known || rises || history.earlier.len() == EARLIER_MAX {
                return None;
            }
            history.earlier.push(earlier);
        }
        Some(history)
    }
}

const ID_DIGITS: usize = 40;

#[cfg(test)]
mod tests;
