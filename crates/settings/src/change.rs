//! CONFIG SET: changes several settings, all or none.

use crate::choice::DebugAccess;
use crate::error::SetError;
use crate::live::{Hook, Settings};
use crate::names::{index_of, lookup};
use crate::row::Row;
use crate::rows::network::ENABLE_PROTECTED_CONFIGS;
use crate::rows::row_at;
use crate::value::{Value, parse_over};
use std::sync::Arc;

/// Origin of a request to change settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client on this machine.
    Local,
    /// Any other client.
    Remote,
}

/// Result of a request to change settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Names of the settings that now have another value, in the order of the request.
    pub names: Vec<&'static str>,
}

impl Settings {
    /// Calls `hook` whenever CONFIG SET has changed one of these settings, and once where it has
    /// changed several. A hook must not change settings itself.
    ///
    /// # Panics
    /// If there is no such setting: names of hooks are constants of the program.
    pub fn on_change(
        &self,
        names: &[&str],
        hook: impl Fn(&Settings) -> Result<(), String> + Send + Sync + 'static,
    ) {
        let hook: Arc<Hook> = Arc::new(hook);
        for name in names {
            let index = index_of(name.as_bytes());
            let index = index.unwrap_or_else(|| panic!("there is no setting '{name}'"));
            self.add_hook(index, Arc::clone(&hook));
        }
    }

    /// Changes settings, or none of them: first all requests are checked, then all values are
    /// set, then the hooks of those that changed are called.
    ///
    /// # Errors
    /// The first reason against it, in the words of Valkey.
    pub fn set_many<N, V>(&self, pairs: &[(N, V)], origin: Origin) -> Result<Changed, SetError>
    where
        N: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let _one_at_a_time = self.lock_changes();
        let requests = self.set_many_admit(pairs, origin)?;
        let (before, after) = self.set_many_parse(&requests)?;
        self.store(&after);
        self.set_many_apply(&before)?;
        Ok(Changed { names: after.iter().map(|(index, _)| row_at(*index).name).collect() })
    }

    /// Takes note of a value that a command has given to a setting which clients cannot change
    /// otherwise. Nobody is told of it. Nothing happens if the setting cannot have it.
    pub fn note(&self, name: &str, words: &[&str]) {
        let _one_at_a_time = self.lock_changes();
        let Some((index, _)) = lookup(name.as_bytes()) else { return };
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let old = self.value(index, Value::clone);
        if let Ok(new) = parse_over(row_at(index), &words, &old) {
            self.store(&[(index, new)]);
        }
    }

    fn set_many_admit<'a, N, V>(
        &self,
        pairs: &'a [(N, V)],
        origin: Origin,
    ) -> Result<Vec<Request<'a>>, SetError>
    where
        N: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let mut requests: Vec<Request<'a>> = Vec::new();
        for (name, value) in pairs {
            let Some((index, known_as)) = lookup(name.as_ref()) else {
                return Err(SetError::Unknown { name: name.as_ref().to_vec() });
            };
            let refused = if !row_at(index).live {
                Some("can't set immutable config")
            } else if row_at(index).protected && !self.allows_protected(origin) {
                Some("can't set protected config")
            } else if requests.iter().any(|request| request.index == index) {
                Some("duplicate parameter")
            } else {
                None
            };
            if let Some(reason) = refused {
                let name = String::from_utf8_lossy(name.as_ref()).into_owned();
                return Err(SetError::Refused { name, reason: reason.into() });
            }
            requests.push(Request { index, known_as, value: value.as_ref() });
        }
        Ok(requests)
    }

    /// Returns the values that change or are applied again, before and after.
    fn set_many_parse(&self, requests: &[Request<'_>]) -> Result<(Values, Values), SetError> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for Request { index, known_as, value } in requests {
            let old = self.value(*index, Value::clone);
            let new = parse_over(row_at(*index), &words(row_at(*index), value), &old)
                .map_err(|reason| SetError::Refused { name: (*known_as).into(), reason })?;
            if new != old || row_at(*index).reapplied {
                before.push((*index, old));
                after.push((*index, new));
            }
        }
        Ok((before, after))
    }

    /// Calls the hooks of the changed settings, each once; restores `before` if one fails.
    fn set_many_apply(&self, before: &Values) -> Result<(), SetError> {
        let mut called: Vec<Arc<Hook>> = Vec::new();
        for (index, _) in before {
            for hook in self.hooks_of(*index) {
                if called.iter().any(|other| Arc::ptr_eq(other, &hook)) {
                    continue;
                }
                let applied = hook(self);
                called.push(hook);
                if let Err(reason) = applied {
                    self.store(before);
                    // The old values were in force a moment ago. If they fail now, the hook has
                    // logged it, and there is nothing better to return to.
                    called.iter().for_each(|hook| drop(hook(self)));
                    return Err(SetError::Refused { name: row_at(*index).name.into(), reason });
                }
            }
        }
        Ok(())
    }

    fn allows_protected(&self, origin: Origin) -> bool {
        match ENABLE_PROTECTED_CONFIGS.get(self) {
            DebugAccess::Yes => true,
            DebugAccess::Local => origin == Origin::Local,
            DebugAccess::No => false,
        }
    }
}

type Values = Vec<(usize, Value)>;

struct Request<'a> {
    index: usize,
    /// Name or alias, whichever was used.
    known_as: &'static str,
    value: &'a [u8],
}

/// Splits one argument into words, if the setting takes several words.
fn words<'a>(row: &Row, value: &'a [u8]) -> Vec<&'a [u8]> {
    if !row.takes_words() {
        vec![value]
    } else if value.is_empty() {
        vec![]
    } else {
        value.split(|byte| *byte == b' ').collect()
    }
}

#[cfg(test)]
mod tests;
