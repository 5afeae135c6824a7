//! The sources of scripts. Those of SCRIPT LOAD stay; of those of EVAL the least recently used one
//! goes when there are many.

use super::script::{Digest, OfDigest, OfDigests, Script};
use base::mutex::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Most scripts of EVAL, as in Valkey.
const EVALUATED_MAX: usize = 500;

/// Scripts by their digests. A lock is taken by threads that have not compiled a script yet.
#[derive(Debug, Default)]
pub struct ScriptCache {
    scripts: Mutex<Sources>,
    /// Scripts that had to go since there were many.
    evicted: AtomicU64,
}

#[derive(Debug, Default)]
struct Sources {
    scripts: OfDigests<Arc<Script>>,
    /// How many of them SCRIPT LOAD has not given.
    evaluated: usize,
    bytes: usize,
}

impl Sources {
    fn get(&self, digest: &Digest) -> Option<Arc<Script>> {
        self.scripts.get(digest).map(|it| Arc::clone(&it.0))
    }

    fn add(&mut self, script: Arc<Script>) -> Arc<Script> {
        self.bytes += script.bytes();
        self.scripts.insert(OfDigest(Arc::clone(&script)));
        script
    }

    fn remove_least_used(&mut self) {
        let evaluated = self.scripts.iter().filter(|script| !script.0.is_loaded());
        let least = evaluated.min_by_key(|script| script.0.used()).map(|it| it.0.digest);
        if let Some(OfDigest(script)) = least.and_then(|digest| self.scripts.take(&digest)) {
            script.forget();
            self.evaluated -= 1;
            self.bytes -= script.bytes();
        }
    }
}

impl ScriptCache {
    /// Returns the script of a digest.
    pub fn get(&self, digest: &Digest) -> Option<Arc<Script>> {
        self.scripts.lock().get(digest)
    }

    /// Adds a script that EVAL runs; the least recently used one may have to go. Returns the one
    /// that is there, if another thread was faster.
    pub fn add_evaluated(&self, script: Arc<Script>) -> Arc<Script> {
        let mut sources = self.scripts.lock();
        if let Some(there) = sources.get(&script.digest) {
            return there;
        }
        if sources.evaluated >= EVALUATED_MAX {
            sources.remove_least_used();
            self.evicted.fetch_add(1, Relaxed);
        }
        sources.evaluated += 1;
        sources.add(script)
    }

    /// Adds a script that stays until SCRIPT FLUSH; one of EVAL stays from now on.
    pub fn add_loaded(&self, script: Arc<Script>) -> Arc<Script> {
        let mut sources = self.scripts.lock();
        let script = sources.get(&script.digest).unwrap_or_else(|| {
            sources.evaluated += 1;
            sources.add(script)
        });
        if !script.is_loaded() {
            script.keep();
            sources.evaluated -= 1;
        }
        script
    }

    /// Forgets all scripts.
    pub fn clear(&self) {
        let gone = std::mem::take(&mut *self.scripts.lock());
        gone.scripts.iter().for_each(|script| script.0.forget());
    }

    /// Returns true if there are no scripts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of scripts.
    pub fn len(&self) -> usize {
        self.scripts.lock().scripts.len()
    }

    /// Bytes of memory that they take, approximately.
    pub fn bytes(&self) -> usize {
        let sources = self.scripts.lock();
        sources.bytes + sources.scripts.capacity() * (size_of::<OfDigest<Arc<Script>>>() + 1)
    }

    /// Number of scripts that had to go since there were many.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    /// Counts them from zero again.
    pub fn reset_evicted(&self) {
        self.evicted.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(number: usize) -> Arc<Script> {
        let source = format!("return {number}");
        let digest = Digest::of(source.as_bytes());
        Arc::new(Script::of(digest, source.as_bytes(), false).expect("a script"))
    }

    #[test]
    fn of_many_evaluated_scripts_the_least_recently_used_one_goes() {
        let cache = ScriptCache::default();
        for number in 0..EVALUATED_MAX {
            cache.add_evaluated(script(number)).note_use(1 + number as u64);
        }
        let first = cache.get(&script(0).digest).expect("it is there");
        first.note_use(10_000);
        cache.add_evaluated(script(EVALUATED_MAX)).note_use(10_001);
        assert!(!first.is_forgotten());
        assert!(cache.get(&script(1).digest).is_none());
        assert_eq!((cache.len(), cache.evicted()), (EVALUATED_MAX, 1));
    }

    #[test]
    fn what_is_loaded_stays_though_it_was_evaluated_first() {
        let cache = ScriptCache::default();
        let kept = cache.add_evaluated(script(0));
        cache.add_loaded(script(0));
        cache.add_loaded(script(1));
        for number in 2..2 * EVALUATED_MAX {
            cache.add_evaluated(script(number)).note_use(number as u64);
        }
        assert!(!kept.is_forgotten() && cache.get(&script(1).digest).is_some());
        assert_eq!(cache.len(), EVALUATED_MAX + 2);
        cache.clear();
        assert!(kept.is_forgotten() && cache.is_empty());
    }

    #[test]
    fn the_same_script_is_there_once() {
        let cache = ScriptCache::default();
        let first = cache.add_evaluated(script(7));
        assert!(Arc::ptr_eq(&first, &cache.add_evaluated(script(7))));
        assert_eq!(cache.bytes(), ScriptCache::bytes(&cache));
        assert_eq!(cache.len(), 1);
    }
}
