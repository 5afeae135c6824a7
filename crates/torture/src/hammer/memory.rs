//! Resident memory over time.

use super::phase::{Kind, Place};
use super::process::Server;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bytes in a megabyte.
pub(super) const MB: u64 = 1 << 20;

/// Peak of resident memory, in bytes.
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

/// Checks until the phase is over that the server lives and keeps its memory limit.
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

/// Waits until at most `limit` bytes are resident, for at most `patience`. Returns the resident
/// bytes a moment later, and the time that it took.
pub(super) fn come_to_rest(server: &Server, limit: u64, patience: Duration) -> (u64, Duration) {
    let began = Instant::now();
    while began.elapsed() < patience && server.resident_of_its_own() > limit {
        sleep(SAMPLED_EVERY);
    }
    let came = began.elapsed();
    // It may still fall, which the result shows.
    sleep(Duration::from_secs(2));
    (server.resident_of_its_own(), came)
}

const SAMPLED_EVERY: Duration = Duration::from_millis(50);
