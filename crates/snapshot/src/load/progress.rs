//! How far loading has come, and how others slow it down or end it.

use base::mutex::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Longest id of a stream that is kept.
const ID_BYTES_MAX: usize = 64;
/// Longest text of ids before it that is kept.
const EARLIER_BYTES_MAX: usize = 1024;
/// Longest sleep without a look at whether it is still wanted.
const SLEEP_MAX: Duration = Duration::from_millis(10);

/// What a file tells of the stream of changes behind it, as far as it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamMark {
    /// Database that is selected there.
    pub database: Option<u64>,
    /// Id of the stream.
    pub id: Option<Vec<u8>>,
    /// Offset of the file in it.
    pub offset: Option<u64>,
    /// Ids that it had before, as text.
    pub earlier: Option<Vec<u8>>,
}

impl StreamMark {
    /// True if the file tells of which stream it is, and where in it.
    pub fn is_told(&self) -> bool {
        self.id.is_some() && self.offset.is_some()
    }

    /// Takes note of a field of a file.
    pub(crate) fn note(&mut self, name: &[u8], text: &[u8]) {
        match name {
            b"repl-stream-db" => self.database = text::parse_u64(text),
            b"repl-id" if text.len() <= ID_BYTES_MAX => self.id = Some(text.to_vec()),
            b"repl-earlier-ids" if text.len() <= EARLIER_BYTES_MAX => {
                self.earlier = Some(text.to_vec());
            }
            b"repl-offset" => self.offset = text::parse_u64(text),
            _ => {}
        }
    }
}

/// How far loading has come; others may read it meanwhile.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes read.
    pub bytes: AtomicU64,
    /// Keys stored.
    pub keys: AtomicU64,
    /// Keys left out, as they are past their deadline.
    pub expired: AtomicU64,
    /// Keys left out, as their collections are empty.
    pub empty: AtomicU64,
    /// Bytes of memory that who wrote the file had in use, as it says.
    pub used_memory: AtomicU64,
    /// What the file tells of the stream behind it.
    pub stream: Mutex<StreamMark>,
    /// Set by others: nothing more is to be loaded.
    pub is_given_up: AtomicBool,
    /// Set by others: a pause after each key in microseconds; if negative, a number of keys after
    /// which one microsecond passes.
    pub key_delay: AtomicI32,
    /// Keys since the last such pause.
    unpaused: AtomicU32,
}

impl Progress {
    /// True if there is to be a pause after each key.
    #[inline]
    pub fn is_slowed(&self) -> bool {
        self.key_delay.load(Relaxed) != 0
    }

    /// Pauses as the key delay says, unless loading is given up or the delay is taken back.
    pub fn pause(&self) {
        let delay = self.key_delay.load(Relaxed);
        if let Ok(micros) = u64::try_from(delay) {
            let mut left = Duration::from_micros(micros);
            while !left.is_zero() && self.is_slowed() && !self.is_given_up.load(Relaxed) {
                let sleep = left.min(SLEEP_MAX);
                std::thread::sleep(sleep);
                left -= sleep;
            }
        } else if self.unpaused.fetch_add(1, Relaxed) + 1 >= delay.unsigned_abs() {
            self.unpaused.store(0, Relaxed);
            std::thread::sleep(Duration::from_micros(1));
        }
    }
}
