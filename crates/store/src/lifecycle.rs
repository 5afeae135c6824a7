//! Changes of a key as a whole: deadline, removal, another name, a copy.

use crate::access::Access;
use crate::eviction::Use;
use crate::fault::NoSpace;
use crate::key::Key;
use crate::shard::Reason;
use base::Millis;

impl Access<'_> {
    /// Sets or removes the deadline of a key; returns false if there is no such key.
    ///
    /// # Errors
    /// When the record must be written anew and there is no room for it.
    pub fn set_deadline(
        &mut self,
        key: &Key<'_>,
        deadline: Option<Millis>,
    ) -> Result<bool, NoSpace> {
        let Some(mut key) = self.guard().key_mut(key).existing() else { return Ok(false) };
        key.set_deadline(deadline)?;
        Ok(true)
    }

    /// Sets when or how often a key was used, as far as its access history tells that at present.
    pub fn set_use(&mut self, key: &Key<'_>, used: Use) {
        self.guard().set_use(key, used);
    }

    /// Removes a key; returns false if there is none.
    pub fn remove(&mut self, key: &Key<'_>) -> bool {
        self.remove_for(key, Reason::Deleted)
    }

    /// Removes a key whose new deadline has passed already; returns false if there is none. The
    /// removal tells itself to listeners, in place of the request.
    pub fn expire(&mut self, key: &Key<'_>) -> bool {
        let is_removed = self.remove_for(key, Reason::Overdue);
        let guard = self.guard();
        guard.count_expired(is_removed.into());
        guard.leave_out_request();
        is_removed
    }

    fn remove_for(&mut self, key: &Key<'_>, reason: Reason) -> bool {
        let found = self.guard().key_mut(key).existing();
        found.is_some_and(|mut key| {
            key.remove(reason);
            true
        })
    }

    /// Moves the value of one key, with its deadline and history, to another key, which may be in
    /// another keyspace; what the other held is removed. Of a tree the roots alone are moved.
    ///
    /// # Errors
    /// When there is no room for the renamed record; nothing has changed then.
    pub fn rename(&mut self, from: &Key<'_>, to: &Key<'_>) -> Result<bool, NoSpace> {
        let guard = self.guard();
        let Some(mut source) = guard.key_mut(from).existing() else { return Ok(false) };
        if from.keyspace == to.keyspace && from.bytes == to.bytes {
            return Ok(true);
        }
        source.notify_key_listeners_early();
        let tree = source.collection();
        guard.copy_value(from, to, None)?;
        if let Some(id) = tree {
            guard.hand_over(id, from, to);
        }
        guard.key_mut(from).remove(Reason::Moved);
        Ok(true)
    }

    /// Bytes of nodes that a copy of the key's value appends. Room for them is made before the
    /// copy, for there may be many.
    pub fn bytes_to_copy(&self, key: &Key<'_>) -> usize {
        let value = self
            .shared_guard()
            .lookup_without_touch(key)
            .filter(|value| value.collection().is_some());
        value.map_or(0, |value| narrow::to_usize(value.nodes().live_bytes()))
    }

    /// Copies the value of one key, with its deadline, to another key, which may be in another
    /// keyspace; what the other held is replaced.
    ///
    /// # Errors
    /// When there is no room for the copy; nothing has changed then.
    pub fn copy(&mut self, from: &Key<'_>, to: &Key<'_>) -> Result<bool, NoSpace> {
        let guard = self.guard();
        let Some(source) = guard.key_mut(from).existing() else { return Ok(false) };
        let copied = match source.collection() {
            Some(id) => Some(guard.copy_nodes(id, to)?),
            None => None,
        };
        let written = guard.copy_value(from, to, copied);
        if let (Err(_), Some(id)) = (&written, copied) {
            guard.give_up(to, id);
        }
        written?;
        Ok(true)
    }
}
