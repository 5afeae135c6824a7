//! The base of a set of append-only files that begins without data, as other servers make one.

use super::error::LoadFailed;
use command::{Instance, timed_version};
use journal::set::BaseForm;
use settings::journal::AOF_USE_RDB_PREAMBLE;
use settings::snapshots::{RDBCHECKSUM, RDBCOMPRESSION};
use snapshot::{Save, SaveProgress};
use std::io;
use store::ThreadContext;

/// Writes the base of an empty store to memory. The thread is outside the gate.
///
/// # Errors
/// When another snapshot is taken.
pub fn first_base(
    instance: &Instance,
    thread: &mut ThreadContext,
) -> Result<(BaseForm, Vec<u8>), LoadFailed> {
    if !AOF_USE_RDB_PREAMBLE.get(&instance.settings) {
        return Ok((BaseForm::Commands, Vec::new()));
    }
    let mut bytes = Vec::new();
    let mut save = Save {
        store: &instance.store,
        thread,
        now: instance.clock.now(),
        timed: timed_version(&instance.settings),
        compresses: RDBCOMPRESSION.get(&instance.settings),
        checks: RDBCHECKSUM.get(&instance.settings),
        is_base: true,
        functions: &[],
        key_delay: 0,
        progress: &SaveProgress::default(),
    };
    instance.store.enter(save.thread);
    let saved = save.write(&mut bytes, || ());
    instance.store.leave(save.thread);
    let failed = LoadFailed::of_system("writing", "the base of an empty set");
    saved.map_err(|error| failed(io::Error::other(error)))?;
    Ok((BaseForm::Rdb, bytes))
}
