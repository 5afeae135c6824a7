//! What the requests of a batch will read, prefetched before they are executed.

use super::Executor;
use crate::batch::Batch;
use crate::connection::Connection;
use session::AccessModes;
use std::ops::Range;
use store::Key;
use store::value::hash;

impl Executor {
    /// Prefetches index buckets and records of the first keys of a batch.
    #[inline]
    pub fn prefetch_keys(&self, batch: &Batch) {
        if batch.keys().len() > 1 {
            self.instance.store.prefetch_keys(batch.keys());
        }
    }

    /// Prefetches what several requests of a client will read beyond their keys.
    #[inline]
    pub(super) fn look_further_ahead(
        &mut self,
        connection: &Connection,
        batch: &Batch,
        requests: Range<usize>,
        input: &[u8],
    ) {
        if requests.len() > 1 && connection.session.is_authenticated() {
            self.look_into(connection, batch, requests.clone(), input);
        }
        if connection.session.modes.contains(AccessModes::ENTERS_READS) {
            self.prefetch_trackers(batch, requests, input);
        }
    }

    /// Prefetches the places in which the client is entered as a reader of the keys.
    #[cold]
    fn prefetch_trackers(&self, batch: &Batch, requests: Range<usize>, input: &[u8]) {
        let hashes = requests.filter_map(|at| batch.request(at, input).0.hash);
        hashes.for_each(|hash| self.instance.tracking.prefetch(hash));
    }

    /// Prefetches the fields that requests want of a hash, if the first two name the same hash.
    #[inline]
    fn look_into(
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
