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
    /// Bytes of the snapshot.
    bytes: u64,
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
    let read = read.and_then(|(libraries, bytes)| {
        if may_be_empty || instance.store.keys_beside(&beside) > 0 {
            return Ok((libraries, bytes));
        }
        let error = "the primary has no keys and another history, so this server keeps its own \
                     (`replica-refuse-empty-primary`); send REPLICAOF if that is right";
        Err(LoadFailed::of_system("loading", NAME)(io::Error::other(error)))
    });
    let loaded = match read {
        Ok((libraries, bytes)) => Ok(Loaded { beside, libraries, bytes, began }),
        Err(error) => {
            instance.store.drop_beside(thread, beside);
            Err(error)
        }
    };
    instance.store.leave(thread);
    loaded
}

/// Lets all data and all libraries go, before others are loaded. The thread is outside the gate.
pub fn drop_all(instance: &Instance, thread: &mut ThreadContext) {
    instance.store.enter(thread);
    instance.store.take_place(thread, Beside::default(), || {
        instance.libraries.replace(LibraryTable::default());
    });
    instance.store.leave(thread);
}

impl Loaded {
    /// Returns it, if the whole of it has come, in so many bytes. The thread is outside the gate.
    ///
    /// # Errors
    /// When it has not, and when more has come: what follows is no stream then.
    pub fn if_whole(
        self,
        instance: &Instance,
        thread: &mut ThreadContext,
        came: io::Result<u64>,
    ) -> Result<Loaded, LoadFailed> {
        let error = match came {
            Ok(bytes) if bytes == self.bytes => return Ok(self),
            Ok(_) => io::Error::new(io::ErrorKind::InvalidData, "something follows its end"),
            Err(error) => error,
        };
        instance.store.enter(thread);
        instance.store.drop_beside(thread, self.beside);
        instance.store.leave(thread);
        Err(LoadFailed::of_system("receiving", NAME)(error))
    }

    /// Has it take the place of what there is, and does `act` in the same closed gate. The thread
    /// is outside.
    pub fn take_place(self, instance: &Instance, thread: &mut ThreadContext, act: impl FnOnce()) {
        let Loaded { beside, libraries, began, .. } = self;
        instance.store.enter(thread);
        instance.store.take_place(thread, beside, || {
            instance.libraries.replace(libraries);
            act();
        });
        instance.store.leave(thread);
        super::report(instance, NAME, began);
    }
}
