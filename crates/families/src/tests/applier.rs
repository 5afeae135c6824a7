//! Tests of `applier` with the commands of all families.

use crate::commands::table;
use crate::testing::{STARTED, World, reply_to};
use command::Applier;
use session::{
    Asker, Begun, Cancelled, Client, DataFiles, Instance, NoDataFiles, Refusal, Reload, Rewrite,
    SavingFacts, When,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use store::ThreadContext;

/// No files, and a count of the snapshots that FLUSHALL asks for.
struct Emptied(Arc<AtomicUsize>);

impl DataFiles for Emptied {
    fn emptied(&self, _: &Instance, _: &ThreadContext, _: Asker) -> bool {
        self.0.fetch_add(1, Relaxed);
        false
    }

    fn reload(&self, it: &Instance, on: &mut ThreadContext, how: Reload) -> Result<(), String> {
        NoDataFiles.reload(it, on, how)
    }

    fn rewrite_journal(&self, instance: &Instance, later: bool) -> Rewrite {
        NoDataFiles.rewrite_journal(instance, later)
    }

    fn load_aof(&self, instance: &Instance, thread: &mut ThreadContext) -> Result<(), String> {
        NoDataFiles.load_aof(instance, thread)
    }

    fn save_in_background(
        &self,
        instance: &Instance,
        when: When,
        asker: Option<Asker>,
    ) -> Result<Begun, Refusal> {
        NoDataFiles.save_in_background(instance, when, asker)
    }

    fn save(&self, instance: &Instance, asker: Asker) -> Result<(), Refusal> {
        NoDataFiles.save(instance, asker)
    }

    fn cancel_saving(&self) -> Option<Cancelled> {
        NoDataFiles.cancel_saving()
    }

    fn saving(&self) -> SavingFacts {
        NoDataFiles.saving()
    }

    fn reset_counts(&self) {}
}

#[test]
fn a_flush_of_all_makes_no_snapshot_where_it_comes_from_a_file() {
    let snapshots = Arc::new(AtomicUsize::new(0));
    let mut world = World::with_files(Box::new(Emptied(Arc::clone(&snapshots))));
    assert_eq!(reply_to(&mut world, "SET k v"), "+OK");
    let instance = Arc::clone(&world.instance);
    let mut applier = Applier::new(&instance, table(), Client::of_file("a.aof", STARTED));
    instance.store.enter(&world.thread);
    let applied = applier.apply_words(&mut world.thread, 0, &[b"FLUSHALL".to_vec()]);
    instance.store.leave(&world.thread);
    assert!(applied.is_ok());
    assert_eq!((reply_to(&mut world, "DBSIZE"), snapshots.load(Relaxed)), (":0".to_owned(), 0));
    assert_eq!(reply_to(&mut world, "FLUSHALL"), "+OK");
    assert_eq!(snapshots.load(Relaxed), 1);
}
