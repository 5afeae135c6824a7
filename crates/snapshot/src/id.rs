//! Ids of entries: those of a file and those of the store.

use rdb::StreamId;
use store::value::stream::Id;

/// Id of the store for one of a file.
pub(crate) fn id_of(id: StreamId) -> Id {
    Id { ms: id.ms, seq: id.seq }
}

/// Id of a file for one of the store.
pub(crate) fn stream_id_of(id: Id) -> StreamId {
    StreamId { ms: id.ms, seq: id.seq }
}
