//! Resident memory over time.

use super::phase::{Kind, Place};
use super::process::Server;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bytes in a megabyte.
pub(super) const MB: u64 = 1 << 20;

/// The most that was seen.
#[derive(Default)]
pub(super) struct Peak(AtomicU64);

impl Peak {
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(super) fn see(&self, bytes: u64) {
        self.0.fetch_max(bytes, Relaxed);
    }
}

/// Looks at the server until the phase is over: at its life, and at its memory.
pub(super) fn watch(server: &Server, place: &Place, peak: &Peak, slack: u64, most: u64) {
    let limit = match place.shape.kind {
        Kind::Eviction { megabytes, .. } => (megabytes * MB + slack).min(most),
        Kind::Everything => most,
    };
    while !place.is_over() {
        if let Some(status) = server.ended() {
            place.fail(format!("the server ended by itself: {status}"));
        }
        let resident = server.resident();
        peak.see(resident);
        if resident > limit {
            place.fail(format!(
                "{} MB are resident where {} MB are the most",
                resident / MB,
                limit / MB
            ));
        }
        sleep(SAMPLED_EVERY);
    }
}

/// Waits until no more than `limit` bytes are resident, for so long at most; what is a
/// moment later, and how long it took.
pub(super) fn come_to_rest(server: &Server, limit: u64, patience: Duration) -> (u64, Duration) {
    let began = Instant::now();
    while began.elapsed() < patience && server.resident() > limit {
        sleep(SAMPLED_EVERY);
    }
    let came = began.elapsed();
    // It may go on falling, which is worth knowing.
    sleep(Duration::from_secs(2));
    (server.resident(), came)
}

const SAMPLED_EVERY: Duration = Duration::from_millis(50);
