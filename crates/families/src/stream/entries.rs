//! Writing of entries to replies.

use super::id;
use store::value::stream::Entry;
use wire::Reply;

/// Writes an entry: its id, and an array of its names and values.
#[inline]
pub fn write(reply: &mut Reply<'_>, entry: Entry<'_>) {
    reply.array(2);
    id::write(reply, entry.id);
    reply.array(2 * entry.pairs.len());
    for (name, value) in entry.pairs {
        name.with_text(|text| reply.bulk(text));
        value.with_text(|text| reply.bulk(text));
    }
}

/// Writes an array of at most `count` entries; zero for all.
#[inline]
pub fn write_all<'x>(reply: &mut Reply<'_>, entries: impl Iterator<Item = Entry<'x>>, count: u64) {
    let most = if count == 0 { usize::MAX } else { usize::try_from(count).unwrap_or(usize::MAX) };
    let (mark, mut len) = (reply.deferred_array(), 0);
    for entry in entries.take(most) {
        write(reply, entry);
        len += 1;
        if reply.is_over_limit() {
            break;
        }
    }
    reply.close_array(mark, len);
}
