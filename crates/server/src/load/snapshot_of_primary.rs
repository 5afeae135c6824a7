//! The snapshot of a primary, loaded beside what there is, which stays as it is until the other is
//! whole.

use super::error::LoadFailed;
use super::rdb::{self, Wanted};
use session::{Instance, LibraryTable};
use snapshot::Expired;
use std::io::{self, Read};
use std::time::Instant;
use store::{Beside, ThreadContext};

const NAME: &str = "the snapshot of the primary";

/// A snapshot that is loaded, and of which nobody sees anything yet.
#[derive(Debug)]
#[must_use = "it takes the place of what there is"]
pub struct Loaded {
    beside: Beside,
    libraries: LibraryTable,
    /// When its loading began.
    began: Instant,
}

/// Loads a snapshot, of so many bytes. What is past its deadline stays: the primary tells when it
/// goes. The thread is outside the gate.
///
/// # Errors
/// When it is damaged, or holds what this server does not know; and when it has no keys, unless it
/// may be empty. All is as it was then.
pub fn load_beside(
    instance: &Instance,
    thread: &mut ThreadContext,
    source: (impl Read, u64),
    may_be_empty: bool,
) -> Result<Loaded, LoadFailed> {
    let began = Instant::now();
    let wanted = Wanted { expired: Expired::Stay, replaces: false };
    let beside = Beside::default();
    instance.store.enter(thread);
    let read = rdb::read_beside(instance, thread, NAME, source, (wanted, &beside));
    let read = read.and_then(|libraries| {
        if may_be_empty || instance.store.keys_beside(&beside) > 0 {
            return Ok(libraries);
        }
        let error = "the primary has no keys and another history, so this server keeps its own \
                     (`replica-refuse-empty-primary`); send REPLICAOF if that is right";
        Err(LoadFailed::of_system("loading", NAME)(io::Error::other(error)))
    });
    let loaded = match read {
        Ok(libraries) => Ok(Loaded { beside, libraries, began }),
        Err(error) => {
            instance.store.drop_beside(thread, beside);
            Err(error)
        }
    };
    instance.store.leave(thread);
    loaded
}

impl Loaded {
    /// Has it take the place of what there is, and does `act` in the same closed gate. The thread
    /// is outside.
    pub fn take_place(self, instance: &Instance, thread: &mut ThreadContext, act: impl FnOnce()) {
        let Loaded { beside, libraries, began } = self;
        instance.store.enter(thread);
        instance.store.take_place(thread, beside, || {
            instance.libraries.replace(libraries);
            act();
        });
        instance.store.leave(thread);
        super::report(instance, NAME, began);
    }
}
