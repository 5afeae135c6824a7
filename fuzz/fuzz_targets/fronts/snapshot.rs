//! Snapshots that are taken while operations go on.

use crate::ops::NAMES;
use crate::world::World;
use std::sync::Arc;
use store::{Copies, Kind, Store};
use text::AttributeNote;

impl World {
    /// Takes a snapshot, so many steps of it before the work and the others behind: it has the
    /// items that were there at first.
    pub fn snapshot_during(&mut self, steps: u8, work: impl FnOnce(&mut World)) {
        let (instance, now) = (Arc::clone(&self.server.instance), self.now());
        let store: &Store = &instance.store;
        let saver = self.server.saver.take();
        let mut saver = saver.unwrap_or_else(|| store.thread_context().expect("a thread"));
        let mut expected = self.model.items(now);
        let mut cut = store.cut(&mut saver, now, || ()).expect("there is no other snapshot");
        let mut take_all = |most: usize| {
            let mut copies = Copies::default();
            for _ in 0..most {
                if !cut.take(&mut copies) {
                    break;
                }
                for copied in copies.iter() {
                    let name = copied.key();
                    let key = NAMES.iter().position(|it| it.as_bytes() == name).expect("a key");
                    let value = cut.read(&copied, |value| {
                        assert_eq!(value.kind(), Kind::String);
                        let string = value.string().expect("a string");
                        let mut bytes = Vec::with_capacity(string.len());
                        string.pieces(0..string.len()).for_each(|it| bytes.extend_from_slice(it));
                        bytes
                    });
                    cut.let_go(&copied);
                    let Some(item) = expected.remove(&key) else {
                        assert!(copied.deadline().is_some_and(|it| it <= now), "it is over");
                        continue;
                    };
                    assert_eq!(copied.deadline(), item.deadline);
                    assert!(value == item.value, "another value");
                    // Who has won it by now is no change.
                    let note = copied.attributes().note();
                    assert_eq!(AttributeNote { is_won: item.is_won, ..note }, item.note());
                }
            }
        };
        take_all(steps.into());
        work(self);
        take_all(usize::MAX);
        assert!(expected.is_empty(), "{} are missing", expected.len());
        drop(cut);
        self.server.saver = Some(saver);
    }
}
