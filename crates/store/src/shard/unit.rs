//! Notes of a guard about the changes made through it, until its locks are released.

use super::change::{
    Author, Change, EFFECTS, EVENTS, Effect, EffectWords, Event, JOURNAL, KeyEvent, OwnedArgs,
    Reason, Unit, split_request,
};
use super::found::Found;
use super::guard::Guard;
use super::pending::{Hidden, Pending};
use super::shards::Shards;
use super::value_ref::ValueRef;
use crate::key::Key;
use base::KeyspaceId;
use text::AttributeNote;

const DEL: &[u8] = b"DEL";
const UNLINK: &[u8] = b"UNLINK";
/// Number of events at which a unit delivers those that it has, before its end, where that is
/// allowed. It bounds memory: a read of many keys, or a transaction, can cause an event for every
/// key.
pub(crate) const EVENTS_GATHERED: usize = 4096;
/// Most arguments of one DEL or UNLINK for removals that nobody asked for.
const DEL_ARGS_MAX: usize = 1024;

/// Returns the arguments of a removal to which a key of a database may be added.
fn growing_removal<'e>(
    effect: &'e mut Effect,
    database: usize,
    word: &[u8],
) -> Option<&'e mut OwnedArgs> {
    let EffectWords::Args(args) = &mut effect.words else { return None };
    let is_same = args.first().is_some_and(|name| name == word);
    (effect.database == database && is_same && args.len() < DEL_ARGS_MAX).then_some(args)
}

impl<'a> Guard<'a> {
    /// Notifies listeners of a change. To be called before the first byte of a value changes, and
    /// before a key is created: the old record, entry and nodes can still be read.
    #[inline(always)]
    pub(super) fn before_writing(&mut self, key: &Key<'_>, found: Option<&Found<'a>>) {
        self.changes.report_check.changed();
        self.changes.begun += 1;
        if self.changes.interests != 0 {
            self.announce_writing(key, found);
        }
    }

    #[cold]
    fn announce_writing(&mut self, key: &Key<'_>, found: Option<&Found<'a>>) {
        if self.changes.is_journaled_only() {
            self.thread.pending.changed.note(key);
        } else if !self.changes.wants_only_marked_keys() || self.is_marked(key) {
            self.announce(key, found, None);
        }
    }

    /// Returns true if the key may be marked. The filter has false positives, but few.
    #[inline]
    fn is_marked(&self, key: &Key<'_>) -> bool {
        self.shards.listeners.marked.may_have(key.hash)
    }

    /// Notifies listeners of a removal. To be called before it. A removal that no command asked for
    /// is also reported here.
    #[inline]
    pub(super) fn before_removal(&mut self, key: &Key<'_>, found: &Found<'a>, reason: Reason) {
        if matches!(reason, Reason::Deleted | Reason::Moved) {
            self.changes.report_check.changed();
            self.changes.begun += 1;
        }
        if self.changes.interests != 0 && reason != Reason::Flushed {
            self.announce(key, Some(found), Some(reason));
        }
    }

    /// Settles a key for the snapshot, if there is one, and notifies listeners, if there are any.
    #[cold]
    fn announce(&mut self, key: &Key<'_>, found: Option<&Found<'a>>, removal: Option<Reason>) {
        if self.changes.is_cut() {
            self.settle(key);
        }
        if self.changes.wants_key(|| self.is_marked(key)) {
            self.notify_before_change(key, found, removal);
        }
        match removal {
            Some(Reason::Flushed) => {}
            Some(Reason::Expired | Reason::Overdue) => self.record_removal(key, Event::EXPIRED),
            Some(Reason::Evicted) => self.record_removal(key, Event::EVICTED),
            None | Some(Reason::Deleted | Reason::Moved) if self.changes.wants_effects() => {
                self.thread.pending.changed.note(key);
            }
            None | Some(Reason::Deleted | Reason::Moved) => {}
        }
    }

    /// Notifies key listeners early that a key is about to change. They are notified again when it
    /// does.
    pub(super) fn notify_key_listeners_early(&mut self, key: &Key<'_>, found: &Found<'a>) {
        if self.changes.wants_key(|| self.is_marked(key)) {
            self.notify_before_change(key, Some(found), None);
        }
    }

    fn notify_before_change(
        &mut self,
        key: &Key<'_>,
        found: Option<&Found<'a>>,
        removal: Option<Reason>,
    ) {
        let Some(database) = self.shards.keyspaces.database_of(key.keyspace) else { return };
        let old = found.map(|found| ValueRef::new(self, *found).to_value());
        let author = self.thread.author;
        let change = Change { key: *key, database, removal, old, author };
        self.shards.listeners.notify(|listener| listener.before(&change));
    }

    /// Notes that a key was created.
    #[inline(always)]
    pub(super) fn after_creation(&mut self, key: &Key<'_>) {
        if self.is_recording() {
            self.record_event(Event::NEW, key);
        }
    }

    /// Notes that a change was refused for want of room: what was changed before it may be only a
    /// part of what the command reports.
    #[cold]
    pub(super) fn note_refusal(&mut self) {
        self.changes.report_check.excuse();
        self.thread.pending.is_partial = self.is_recording() && self.changes.begun > 1;
    }

    /// Does the same for a change of nodes, of which some may have been changed before.
    #[cold]
    pub(super) fn note_refusal_of_node(&mut self) {
        self.changes.report_check.excuse();
        self.thread.pending.is_partial = self.is_recording();
    }

    /// Takes a refusal back: the change was made in another way.
    #[cold]
    pub(super) fn forget_refusal(&mut self) {
        self.thread.pending.is_partial = false;
    }

    /// Returns true if there are listeners, so that arguments are worth making.
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.changes.is_recording()
    }

    /// Records a request, which `write` appends in RESP, and the keyspace of its client, as the
    /// effect of what follows.
    #[inline(always)]
    pub fn record_request(&mut self, keyspace: KeyspaceId, write: impl FnOnce(&mut Vec<u8>)) {
        if self.changes.wants_effects() {
            let pending = &mut self.thread.pending;
            let begin = pending.unit.requests.len();
            write(&mut pending.unit.requests);
            pending.request = Some((begin, keyspace));
        }
    }

    /// Reports that a command made `changes` changes, and the event that this is for a key. With
    /// zero changes, what the command did means nothing to others.
    #[inline(always)]
    pub fn report_changes(&mut self, changes: u64, event: Event, key: &Key<'_>) {
        self.report_changes_silently(changes);
        if changes > 0 && self.is_recording() {
            self.record_event(event, key);
        }
    }

    /// Reports that a command made `changes` changes for which there is no event.
    #[inline(always)]
    pub fn report_changes_silently(&mut self, changes: u64) {
        self.changes.report_check.reported();
        self.thread.counters.changes.add(changes);
        if changes > 0 && self.is_recording() {
            self.thread.pending.is_reported = true;
        }
    }

    /// Returns true if somebody wants to know that keys change.
    #[inline]
    pub fn has_key_listener(&self) -> bool {
        self.changes.has_key_listener()
    }

    /// Hides changes from WATCH and client-side caching, until `show_to_key_listeners`. To be
    /// called after the look-up of the key, since a look-up removes a key past its deadline, and
    /// that must be announced.
    #[inline]
    pub fn hide_from_key_listeners(&mut self) -> Hidden {
        self.changes.hide_from_key_listeners()
    }

    /// Ends `hide_from_key_listeners`.
    #[inline]
    pub fn show_to_key_listeners(&mut self, hidden: Hidden) {
        self.changes.show_to_key_listeners(hidden);
    }

    /// Hides what is changed through this guard from listeners, though not from a snapshot; no
    /// report is due.
    pub fn mute(&mut self) {
        self.changes.mute();
        self.changes.report_check.excuse();
    }

    /// Reports that what was changed means nothing to others.
    pub fn report_nothing(&mut self) {
        self.changes.report_check.reported();
    }

    /// Reports a change that no command asked for.
    pub fn report_unasked(
        &mut self,
        event: Event,
        key: &Key<'_>,
        args: impl FnOnce() -> OwnedArgs,
    ) {
        self.changes.report_check.reported();
        if self.is_recording() {
            self.push_effect(key.keyspace, args());
            self.record_event(event, key);
        }
    }

    /// Records arguments for what was changed, in place of those of the request.
    pub fn record_effect(&mut self, keyspace: KeyspaceId, args: OwnedArgs) {
        if self.is_recording() {
            self.thread.pending.has_own_effects = true;
            self.push_effect(keyspace, args);
        }
    }

    /// Does the same, with a note of what the string has besides its value that they write.
    pub fn record_noted_effect(
        &mut self,
        keyspace: KeyspaceId,
        note: AttributeNote,
        args: OwnedArgs,
    ) {
        if self.is_recording() {
            self.thread.pending.has_own_effects = true;
            self.push_effect_words(keyspace, EffectWords::Noted(note, args));
        }
    }

    /// Keeps the arguments of the request out of the unit: what it changed was recorded already.
    pub fn leave_out_request(&mut self) {
        if self.is_recording() {
            self.thread.pending.has_own_effects = true;
        }
    }

    fn record_removal(&mut self, key: &Key<'_>, event: Event) {
        if self.changes.wants_effects() {
            let is_lazy = self.shards.listeners.lazy_removals.contains(event);
            self.push_removal(key, if is_lazy { UNLINK } else { DEL });
        }
        self.record_event(event, key);
    }

    /// Adds the removal of a key to the unit, or the key to the removal before it.
    fn push_removal(&mut self, key: &Key<'_>, word: &[u8]) {
        let Some(database) = self.shards.keyspaces.database_of(key.keyspace) else { return };
        let last = self.thread.pending.unit.effects.last_mut();
        match last.and_then(|last| growing_removal(last, database, word)) {
            Some(args) => args.push(key.bytes.to_vec()),
            None => self.push_effect(key.keyspace, vec![word.to_vec(), key.bytes.to_vec()]),
        }
    }

    /// Adds the event of a key to the unit.
    #[inline]
    pub fn record_event(&mut self, event: Event, key: &Key<'_>) {
        if self.changes.wants_events() {
            self.push_event(event, key);
        }
    }

    #[cold]
    fn push_event(&mut self, event: Event, key: &Key<'_>) {
        if let Some(database) = self.shards.keyspaces.database_of(key.keyspace) {
            let pending = &mut self.thread.pending;
            if event == Event::MISS && pending.unit.events.len() >= EVENTS_GATHERED {
                self.shards.deliver_events(pending, self.thread.author);
            }
            pending.unit.events.push(KeyEvent { event, database, key: key.bytes.to_vec() });
        }
    }

    /// Returns true if the last event of the unit is this one.
    pub fn has_last_event(&self, event: Event, key: &Key<'_>) -> bool {
        self.find_event(event, key)
            .is_some_and(|at| at + 1 == self.thread.pending.unit.events.len())
    }

    /// Puts the last such event of a key behind all others of the unit.
    pub fn put_off_event(&mut self, event: Event, key: &Key<'_>) {
        if let Some(at) = self.find_event(event, key) {
            self.thread.pending.unit.events[at..].rotate_left(1);
        }
    }

    /// Finds the last such event of a key in the unit.
    fn find_event(&self, event: Event, key: &Key<'_>) -> Option<usize> {
        let database = self.shards.keyspaces.database_of(key.keyspace)?;
        self.thread
            .pending
            .unit
            .events
            .iter()
            .rposition(|it| it.event == event && it.database == database && it.key == key.bytes)
    }

    /// Adds a plain command with the effect of a change to the unit.
    #[cold]
    pub fn push_effect(&mut self, keyspace: KeyspaceId, args: OwnedArgs) {
        self.push_effect_words(keyspace, EffectWords::Args(args));
    }

    fn push_effect_words(&mut self, keyspace: KeyspaceId, words: EffectWords) {
        if self.changes.wants_effects()
            && let Some(database) = self.shards.keyspaces.database_of(keyspace)
        {
            self.thread.pending.unit.effects.push(Effect { database, words });
        }
    }

    /// Returns true if only a part of a command was done.
    #[inline]
    pub fn is_partial(&self) -> bool {
        self.thread.pending.is_partial
    }

    /// Returns the keys that were changed by a command of which only a part was done, if that is
    /// so, and takes its request out of the unit. A command names the keys that it changes.
    #[cold]
    pub fn take_partial(&mut self) -> Vec<(KeyspaceId, Vec<u8>)> {
        let pending = &mut self.thread.pending;
        if !std::mem::take(&mut pending.is_partial) {
            return Vec::new();
        }
        let request =
            pending.request.take().map(|(begin, _)| pending.unit.requests.split_off(begin));
        let changed = pending.changed.take();
        let mut keys = Vec::new();
        for word in request.map_or(Vec::new(), |request| split_request(&request)) {
            let hash = self.shards.hasher.hash(&word);
            let from = changed.partition_point(|changed| changed.0 < hash);
            let named = changed[from..].iter().take_while(|changed| changed.0 == hash);
            keys.extend(named.map(|changed| (changed.1, word.clone())));
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The value of a key, whatever its deadline.
    pub fn value_of(&self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        Some(ValueRef::new(self, self.find(key)?))
    }

    /// Ends the unit, before the locks are released.
    #[inline(never)]
    fn finish_unit(&mut self) {
        let is_for_others = self.changes.has_unit_listener() || self.thread.lent.is_any();
        let pending = &mut self.thread.pending;
        // Most units are one request and nothing else, for the journal alone.
        let Some(keyspace) = pending.lone_request().filter(|_| !is_for_others) else {
            return self.finish_other_unit();
        };
        let database = self.shards.keyspaces.database_of(keyspace);
        if let (Some(database), Some(log)) = (database, &mut pending.log) {
            pending.position = log.put_request(database, &pending.unit.requests);
        }
        (pending.request, pending.is_reported) = (None, false);
        pending.changed.clear();
        pending.unit.clear_requests();
    }

    #[inline(never)]
    fn finish_other_unit(&mut self) {
        let pending = &mut self.thread.pending;
        let is_request_recorded = pending.is_reported && !pending.has_own_effects;
        (pending.is_reported, pending.has_own_effects, pending.is_partial) = (false, false, false);
        pending.changed.clear();
        if let Some((begin, keyspace)) = pending.request.take() {
            let database = self.shards.keyspaces.database_of(keyspace);
            match database.filter(|_| is_request_recorded) {
                Some(database) => {
                    let words = EffectWords::Request(begin..pending.unit.requests.len());
                    pending.unit.effects.push(Effect { database, words });
                }
                None => pending.unit.requests.truncate(begin),
            }
        }
        // Under lent locks the unit goes on in the next command that borrows them.
        if !self.thread.lent.is_any() {
            self.shards.deliver_unit(&mut self.thread.pending, self.thread.author);
        }
    }
}

impl Shards {
    /// Gives the unit of a thread, whose locks are held, to the journal and to listeners, unless
    /// nothing was changed.
    pub(crate) fn deliver_unit(&self, pending: &mut Pending, author: Author) {
        if pending.unit.is_empty() {
            return pending.unit.clear();
        }
        let interests = self.listeners.interests();
        debug_assert!(
            interests & JOURNAL == 0 || pending.log.is_some(),
            "a thread that changes data has its way into the journal"
        );
        if interests & JOURNAL != 0
            && !pending.unit.effects.is_empty()
            && let Some(log) = &mut pending.log
        {
            pending.position = log.put(&pending.unit);
        }
        if interests & (EFFECTS | EVENTS) & !JOURNAL != 0 {
            self.listeners.notify(|listener| listener.unit(&pending.unit, author));
        }
        pending.unit.clear();
    }

    /// Delivers the events of a unit that goes on to listeners, ahead of its end.
    #[cold]
    pub(crate) fn deliver_events(&self, pending: &mut Pending, author: Author) {
        let events = std::mem::take(&mut pending.unit.events);
        if !events.is_empty() && self.listeners.interests() & EVENTS != 0 {
            let begin = Unit { events, ..Unit::default() };
            self.listeners.notify(|listener| listener.unit(&begin, author));
        }
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_recording() {
            self.finish_unit();
        }
        self.release();
        self.changes.report_check.check();
    }
}
