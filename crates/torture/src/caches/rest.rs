//! Times that caches are given: for a reply, and until all that was put off is done.

use anyhow::{Result, ensure};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for a reply.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Time after which all that has expired is removed and told.
const REST: Duration = Duration::from_secs(5);

/// Waits until nothing is wrong any more, for as long as what was put off may take.
pub(super) fn first_wrong_at_rest(mut look: impl FnMut() -> Result<Option<String>>) -> Result<()> {
    let began = Instant::now();
    while let Some(wrong) = look()? {
        ensure!(began.elapsed() < REST, wrong);
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
