//! Patterns of BY and GET, which lead from an element to a key or a field.

use base::KeyspaceId;
use store::value::hash;
use store::{Access, Store};

/// Pattern: `#` for the element itself, or a key with a star in place of the element, and perhaps a
/// field, as in `weight_*->of`.
pub(super) struct Pattern<'c>(&'c [u8]);

impl<'c> Pattern<'c> {
    pub fn new(text: &'c [u8]) -> Pattern<'c> {
        Pattern(text)
    }

    /// Returns true if it leads to other keys.
    pub fn has_star(&self) -> bool {
        self.0.contains(&b'*')
    }

    /// Returns the value that it finds for an element. The key is read: a hit or a miss of its own.
    pub fn look_up(
        &self,
        access: &mut Access<'_>,
        store: &Store,
        keyspace: KeyspaceId,
        element: &[u8],
    ) -> Option<Vec<u8>> {
        if self.0 == b"#" {
            return Some(element.to_vec());
        }
        let star = self.0.iter().position(|byte| *byte == b'*')?;
        let (before, behind) = (&self.0[..star], &self.0[star + 1..]);
        let arrow = behind.windows(2).position(|pair| pair == b"->");
        let field = arrow.map(|at| &behind[at + 2..]).filter(|field| !field.is_empty());
        let behind = match (arrow, field) {
            (Some(at), Some(_)) => &behind[..at],
            _ => behind,
        };
        let name = [before, element, behind].concat();
        let key = store.key(keyspace, &name);
        match field {
            Some(field) => {
                let found = hash::read(access, &key).ok().flatten()?.get(field)?;
                Some(found.value.to_text())
            }
            None => Some(access.read_string(&key).ok().flatten()?.to_vec()),
        }
    }
}
