//! Effects of commands on streams: with the ids that were given, what was trimmed, and what is
//! pending now.

use super::id;
use command::Pieces;
use command::effects::words as record_effect;
use store::value::stream::group::Group;
use store::value::stream::{self, Id};
use store::{Access, Key};
use text::IntegerText;

/// Records that an entry was added under this id, and what is left of the stream if it was trimmed.
pub fn record_entry_effect<'t>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    id: Id,
    trimmed: u64,
    texts: impl Iterator<Item = &'t [u8]>,
) {
    if !access.is_recording() {
        return;
    }
    let (mut len, id) = (IntegerText::new(), id::text(id));
    let len = len.format_unsigned(len_of(access, key));
    let mut words: Vec<&[u8]> = vec![b"XADD", key.bytes];
    if trimmed > 0 {
        words.extend([b"MAXLEN", &b"="[..], len]);
    }
    words.push(&id);
    texts.for_each(|text| words.push(text));
    record_effect(access, key, &words);
}

/// Records what is left of a stream that was trimmed.
pub fn record_trim_effect(access: &mut Access<'_>, key: &Key<'_>) {
    if access.is_recording() {
        let mut len = IntegerText::new();
        let len = len.format_unsigned(len_of(access, key));
        record_effect(access, key, &[b"XTRIM", key.bytes, b"MAXLEN", b"=", len]);
    }
}

fn len_of(access: &Access<'_>, key: &Key<'_>) -> u64 {
    let stream = stream::lookup_without_touch(access, key).ok().flatten();
    stream.map_or(0, |stream| stream.len())
}

/// A group, and one of its consumers.
#[derive(Clone, Copy, Debug)]
pub struct GroupConsumer<'c> {
    pub group: &'c [u8],
    pub consumer: &'c [u8],
}

impl GroupConsumer<'_> {
    /// Records that the consumer was created.
    pub fn record_consumer_effect(self, access: &mut Access<'_>, key: &Key<'_>) {
        let GroupConsumer { group, consumer } = self;
        record_effect(access, key, &[b"XGROUP", b"CREATECONSUMER", key.bytes, group, consumer]);
    }

    /// Records that these entries are pending for the consumer now, since when, and after how many
    /// deliveries.
    pub fn record_pending_effects(self, access: &mut Access<'_>, key: &Key<'_>, ids: &[Id]) {
        if !access.is_recording() {
            return;
        }
        let mut claims: Vec<(Delivery, Pieces)> = Vec::new();
        self.with_group(access, key, |group| {
            for id in ids {
                let pending = group.pending(*id).next().filter(|pending| pending.id == *id);
                let Some(pending) = pending else { continue };
                let delivery = (pending.delivered(), pending.deliveries());
                if claims.last().is_none_or(|(last, _)| *last != delivery) {
                    claims.push((delivery, self.claim(key, delivery, group.last_id())));
                }
                if let Some((_, claim)) = claims.last_mut() {
                    claim.add(&[&id::text(*id)]);
                }
            }
        });
        claims.into_iter().for_each(|(_, claim)| access.record_effects(key, claim));
    }

    fn claim(self, key: &Key<'_>, (delivered, deliveries): Delivery, last: Id) -> Pieces {
        let GroupConsumer { group, consumer } = self;
        let (mut time, mut count) = (IntegerText::new(), IntegerText::new());
        let (time, count) = (time.format_unsigned(delivered), count.format_unsigned(deliveries));
        let claim = Pieces::new(true, &[b"XCLAIM", key.bytes, group, consumer, b"0"]);
        let last = id::text(last);
        let tail: [&[u8]; 8] =
            [b"TIME", time, b"RETRYCOUNT", count, b"FORCE", b"JUSTID", b"LASTID", &last];
        claim.with_tail(&tail)
    }

    /// Records that those of these entries that are not pending now were forgotten.
    pub fn record_forgotten_effect(self, access: &mut Access<'_>, key: &Key<'_>, ids: &[Id]) {
        let mut gone = Pieces::new(access.is_recording(), &[b"XACK", key.bytes, self.group]);
        if access.is_recording() {
            self.with_group(access, key, |group| {
                let is_pending =
                    |id: &&Id| group.pending(**id).next().is_some_and(|it| it.id == **id);
                let ids = ids.iter().filter(|id| !is_pending(id));
                ids.for_each(|id| gone.add(&[&id::text(*id)]));
            });
        }
        access.record_effects(key, gone);
    }

    /// Records behind which entry the group goes on.
    pub fn record_position_effect(self, access: &mut Access<'_>, key: &Key<'_>) {
        if !access.is_recording() {
            return;
        }
        let mut position = None;
        self.with_group(access, key, |group| {
            position = Some((id::text(group.last_id()), group.entries_read().unwrap_or(-1)));
        });
        let Some((last, read)) = position else { return };
        let (mut number, name) = (IntegerText::new(), self.group);
        let read = number.format(read);
        let words: [&[u8]; 7] = [b"XGROUP", b"SETID", key.bytes, name, &last, b"ENTRIESREAD", read];
        record_effect(access, key, &words);
    }

    fn with_group(self, access: &Access<'_>, key: &Key<'_>, each: impl FnOnce(Group<'_>)) {
        let stream = stream::lookup_without_touch(access, key).ok().flatten();
        if let Some(group) = stream.and_then(|stream| stream.groups().get(self.group)) {
            each(group);
        }
    }
}

/// Time of the last delivery, and number of deliveries.
type Delivery = (u64, u64);
