//! What the requests of a batch will read, prefetched before they are executed.

use super::Executor;
use crate::batch::Batch;
use crate::connection::Connection;
use std::ops::Range;
use store::Key;
use store::value::hash;

impl Executor {
    /// Prefetches the places in which the client is entered as a reader of the keys.
    #[cold]
    pub(super) fn prefetch_readers(&self, batch: &Batch, requests: Range<usize>, input: &[u8]) {
        let hashes = requests.filter_map(|at| batch.request(at, input).0.hash);
        hashes.for_each(|hash| self.instance.tracking.prefetch(hash));
    }

    /// Prefetches the fields that requests want of a hash, if the first two name the same hash.
    #[inline]
    pub(super) fn look_into(
        &mut self,
        connection: &Connection,
        batch: &Batch,
        requests: Range<usize>,
        input: &[u8],
    ) {
        let wanted = |at: usize| {
            let (request, args) = batch.request(at, input);
            let (row, field_at) = (request.row, request.row.spec.field_at);
            if field_at == 0 {
                return None;
            }
            Some((request.hash?, args.get(row.first_key), args.get(field_at)))
        };
        let Some((hash, bytes, _)) = wanted(requests.start) else { return };
        let same = |at: usize| wanted(at).filter(|other| other.0 == hash).map(|other| other.2);
        let Some(keyspace) = self.instance.store.keyspace(connection.session.database) else {
            return;
        };
        if same(requests.start + 1).is_some() {
            let key = Key { bytes, hash, keyspace };
            let access = self.instance.store.lock(&mut self.thread, &key, self.now);
            hash::prefetch_fields(&access, &key, requests.filter_map(same));
        }
    }
}
