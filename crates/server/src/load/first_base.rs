//! The base of a set of append-only files that begins without data, as other servers make one.

use super::error::LoadFailed;
use crate::saver;
use journal::set::BaseForm;
use session::Instance;
use settings::journal::AOF_USE_RDB_PREAMBLE;
use snapshot::SaveProgress;
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
    let progress = SaveProgress::default();
    let mut save = saver::as_set(instance, thread, &progress);
    save.is_base = true;
    instance.store.enter(save.thread);
    let saved = save.write(&mut bytes, || ());
    instance.store.leave(save.thread);
    let failed = LoadFailed::of_system("writing", "the base of an empty set");
    saved.map_err(|error| failed(io::Error::other(error)))?;
    Ok((BaseForm::Rdb, bytes))
}
