//! Changes made under one hold of locks, kept until the locks are released.

use super::change::{
    CUT, EFFECTS, EVENTS, InterestBits, JOURNAL, KEY_LISTENERS, KEYS, MARKED_KEYS, Unit, UnitLog,
};
use crate::key::Key;
use base::{KeyspaceId, PositionHash};

/// State of the changes of one hold of locks: who listens, and whether they were reported.
#[derive(Debug)]
pub(super) struct Changes {
    /// Listeners at the moment the locks were taken, one bit each, and the bit of a cut.
    pub interests: InterestBits,
    /// Number of changes that were announced.
    pub begun: u32,
    pub report_check: ReportCheck,
}

/// Interests from before `hide_from_key_listeners`, with which `show_to_key_listeners` restores
/// them. Key listeners are notified which keys change: WATCH, client-side caching, MIGRATE.
#[derive(Debug)]
#[must_use = "what is hidden is shown again"]
pub(crate) struct Hidden(InterestBits);

/// Check in builds with assertions that every change was reported.
#[derive(Debug, Default)]
pub(super) struct ReportCheck {
    /// True while a change was made that has not been reported yet.
    #[cfg(debug_assertions)]
    is_unreported: bool,
    /// True if no report is due: nothing listens, or a change was refused, so that only a part of a
    /// command may have been made.
    #[cfg(debug_assertions)]
    is_excused: bool,
}

/// Unit to be delivered to listeners. Each thread has one, and fills it while it holds locks.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub unit: Unit,
    /// Begin of the request in `unit.requests`, and its keyspace: the effect, unless a command
    /// gives others.
    pub request: Option<(usize, KeyspaceId)>,
    /// True if a command has reported a change.
    pub is_reported: bool,
    /// True if the command gave arguments of its own, which replace those of the request.
    pub has_own_effects: bool,
    /// Keys that were changed.
    pub changed: ChangedKeys,
    /// True if a change was refused behind others, so that only a part of a command was done.
    pub is_partial: bool,
    /// True if the unit is to be forgotten at its end.
    pub is_lost: bool,
    /// Where units go while there is a journal.
    pub log: Option<Box<dyn UnitLog>>,
    /// Position in the journal behind the thread's last unit.
    pub position: u64,
    /// Requests that change no data, made within a unit of several commands: they stand behind it,
    /// so that a replica that gets one finds all that the unit has written.
    pub asides: Vec<Vec<u8>>,
}

impl Pending {
    /// Puts what changes no data into the journal.
    pub fn put_asides(&mut self) {
        let asides = std::mem::take(&mut self.asides);
        if let Some(log) = &mut self.log {
            for request in asides {
                log.put_aside(&request);
            }
        }
    }

    /// Returns the keyspace of the request, if the unit is that request as it came, done whole.
    #[inline]
    pub fn lone_request(&self) -> Option<KeyspaceId> {
        let (begin, keyspace) = self.request?;
        let is_alone = self.is_reported
            && !self.has_own_effects
            && !self.is_partial
            && self.unit.effects.is_empty()
            && begin == 0;
        is_alone.then_some(keyspace)
    }
}

/// Keys that were changed; mostly it is one.
#[derive(Debug, Default)]
pub(crate) struct ChangedKeys {
    first: Option<(KeyspaceId, PositionHash)>,
    /// Further ones, some of them more than once.
    others: Vec<(KeyspaceId, PositionHash)>,
}

impl ChangedKeys {
    /// Notes that a key is changed.
    #[inline]
    pub fn note(&mut self, key: &Key<'_>) {
        let changed = (key.keyspace, key.hash);
        match self.first {
            None => self.first = Some(changed),
            Some(first) if first == changed => {}
            Some(_) => self.note_other(changed),
        }
    }

    /// Only the last one is looked at, as a command may change very many keys.
    #[cold]
    fn note_other(&mut self, changed: (KeyspaceId, PositionHash)) {
        if self.others.last() != Some(&changed) {
            self.others.push(changed);
        }
    }

    /// Takes all of them, each once, in the order of their hashes.
    pub fn take(&mut self) -> Vec<(PositionHash, KeyspaceId)> {
        let first = self.first.take().into_iter();
        let all = first.chain(std::mem::take(&mut self.others));
        let mut changed: Vec<_> = all.map(|(keyspace, hash)| (hash, keyspace)).collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    #[inline]
    pub fn clear(&mut self) {
        self.first = None;
        if !self.others.is_empty() {
            self.others = Vec::new();
        }
    }
}

impl Changes {
    #[inline(always)]
    pub fn new(interests: InterestBits) -> Changes {
        Changes { interests, begun: 0, report_check: ReportCheck::default() }
    }
}

impl Changes {
    /// Returns true if somebody wants to know that a key changes, which `is_marked` or not.
    #[inline]
    pub fn wants_key(&self, is_marked: impl FnOnce() -> bool) -> bool {
        self.interests & KEYS != 0 || (self.interests & MARKED_KEYS != 0 && is_marked())
    }

    /// Returns true if somebody wants to know that marked keys change, and nobody anything else.
    #[inline]
    pub fn wants_only_marked_keys(&self) -> bool {
        self.interests == MARKED_KEYS
    }

    /// Returns true if somebody wants events.
    #[inline]
    pub fn wants_events(&self) -> bool {
        self.interests & EVENTS != 0
    }

    /// Returns true if somebody wants effects.
    #[inline(always)]
    pub fn wants_effects(&self) -> bool {
        self.interests & EFFECTS != 0
    }

    /// Returns true if somebody wants effects or events, which make a unit.
    #[inline(always)]
    pub fn is_recording(&self) -> bool {
        self.interests & (EFFECTS | EVENTS) != 0
    }

    /// Returns true if somebody besides the journal wants units.
    #[inline]
    pub fn has_unit_listener(&self) -> bool {
        self.interests & (EFFECTS | EVENTS) & !JOURNAL != 0
    }

    /// Returns true if a snapshot must keep what changes.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.interests & CUT != 0
    }

    /// Returns true if the journal listens, and nobody else.
    #[inline(always)]
    pub fn is_journaled_only(&self) -> bool {
        self.interests == JOURNAL
    }

    /// Returns true if a listener wants to know that keys change, or that marked keys do.
    #[inline]
    pub fn has_key_listener(&self) -> bool {
        self.interests & KEY_LISTENERS != 0
    }

    /// Hides changes from key listeners.
    #[inline]
    pub fn hide_from_key_listeners(&mut self) -> Hidden {
        let hidden = Hidden(self.interests);
        self.interests &= !KEY_LISTENERS;
        hidden
    }

    /// Ends `hide_from_key_listeners`: restores the interests from before it.
    #[inline]
    pub fn show_to_key_listeners(&mut self, Hidden(interests): Hidden) {
        self.interests = interests;
    }

    /// Hides changes from listeners.
    pub fn mute(&mut self) {
        self.interests &= CUT;
    }
}

impl ReportCheck {
    #[inline(always)]
    pub fn changed(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.is_unreported = true;
        }
    }

    #[inline(always)]
    pub fn reported(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.is_unreported = false;
        }
    }

    #[cold]
    pub fn excuse(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.is_excused = true;
        }
    }

    /// # Panics
    /// In a build with assertions, if a change was not reported.
    #[inline(always)]
    pub fn check(&self) {
        #[cfg(debug_assertions)]
        {
            let is_fine = !self.is_unreported || self.is_excused || std::thread::panicking();
            assert!(is_fine, "who changes a value says what has happened to its key");
        }
    }
}
