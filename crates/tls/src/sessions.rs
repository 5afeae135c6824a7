//! Sessions that clients resume: tickets, and a cache for clients of TLS 1.2 that take none.

use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::{ProducesTickets, StoresServerSessions};
use rustls::ticketer::TicketRotator;
use rustls_pki_types::UnixTime;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Longest life of the keys of tickets, in seconds: the provider draws new ones then.
const TICKET_SECONDS_MAX: u32 = 6 * 60 * 60;

/// Returns keys of tickets that are drawn anew after so many seconds, and kept as long again.
pub(crate) fn tickets(seconds: u32) -> Result<Arc<dyn ProducesTickets>, rustls::Error> {
    let seconds = seconds.clamp(1, TICKET_SECONDS_MAX);
    Ok(Arc::new(TicketRotator::new(seconds, || {
        let keys = Ticketer::new().map_err(|_| rustls::crypto::GetRandomFailed)?;
        Ok(Box::new(Keys(keys)))
    })?))
}

#[derive(Debug)]
struct Keys(Arc<dyn ProducesTickets>);

impl ProducesTickets for Keys {
    fn enabled(&self) -> bool {
        self.0.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.0.decrypt(cipher)
    }
}

/// Sessions by id, for a time and up to a number; the oldest goes first.
pub(crate) struct Cache {
    /// Most of them; zero for any number.
    most: usize,
    seconds: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_id: HashMap<Vec<u8>, (u64, Vec<u8>)>,
    /// Ids with the second at which they expire, the oldest first; some may be gone.
    order: VecDeque<(u64, Vec<u8>)>,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Cache {
    pub(crate) fn new(most: usize, seconds: u32) -> Cache {
        Cache { most, seconds: seconds.into(), kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_at(&self, now: u64, id: Vec<u8>, session: Vec<u8>) {
        let mut kept = self.kept();
        while let Some((expires, oldest)) = kept.order.front()
            && (*expires <= now || (self.most > 0 && kept.order.len() >= self.most))
        {
            let (expires, oldest) = (*expires, oldest.clone());
            kept.order.pop_front();
            // One that was put again has a later entry.
            if kept.by_id.get(&oldest).is_some_and(|(until, _)| *until <= expires) {
                kept.by_id.remove(&oldest);
            }
        }
        let expires = now + self.seconds;
        kept.order.push_back((expires, id.clone()));
        kept.by_id.insert(id, (expires, session));
    }

    fn get_at(&self, now: u64, id: &[u8]) -> Option<Vec<u8>> {
        let kept = self.kept();
        kept.by_id.get(id).filter(|(expires, _)| *expires > now).map(|(_, it)| it.clone())
    }
}

fn now() -> u64 {
    UnixTime::now().as_secs()
}

impl StoresServerSessions for Cache {
    fn put(&self, id: Vec<u8>, session: Vec<u8>) -> bool {
        self.put_at(now(), id, session);
        true
    }

    fn get(&self, id: &[u8]) -> Option<Vec<u8>> {
        self.get_at(now(), id)
    }

    fn take(&self, id: &[u8]) -> Option<Vec<u8>> {
        let taken = self.get_at(now(), id);
        self.kept().by_id.remove(id);
        taken
    }

    fn can_cache(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;

    #[test]
    fn the_oldest_session_goes_first_and_none_lives_longer_than_it_may() {
        let cache = Cache::new(2, 300);
        for (second, id) in [(0, 1_u8), (10, 2), (20, 3)] {
            cache.put_at(second, vec![id], vec![id, id]);
        }
        assert_eq!(cache.get_at(20, &[1]), None, "there are two at most");
        assert_eq!(cache.get_at(309, &[2]), Some(vec![2, 2]));
        assert_eq!(cache.get_at(310, &[2]), None, "it has expired");
        cache.put_at(400, vec![4], vec![4]);
        assert_eq!(cache.kept().by_id.len(), 1, "what has expired is dropped");
    }

    #[test]
    fn any_number_is_kept_where_none_is_given() {
        let cache = Cache::new(0, 10);
        (0..1000_u32).for_each(|id| cache.put_at(0, id.to_le_bytes().to_vec(), Vec::new()));
        assert_eq!(cache.kept().by_id.len(), 1000);
        cache.put_at(10, vec![1], Vec::new());
        assert_eq!(cache.kept().by_id.len(), 1);
    }
}
