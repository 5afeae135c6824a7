//! Pieces of a snapshot on their way to its sink, which a thread of its own gives to it: the next
//! piece is made while the disk takes this one.
//!
//! ```text
//! snapshot::Save ──▶ Behind ──▶ a few pieces ──▶ thread "saver-writer" ──▶ Sink
//!                       ▲                              │
//!                       └──────── empty pieces ◀───────┘
//! ```

use super::job::Sink;
use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded};
use snapshot::{SaveError, SaveProgress};
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{Builder, scope};
use std::time::Duration;

/// Bytes that are collected before they are handed over.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that may wait for the sink.
const WAITING_MAX: usize = 2;
/// Longest wait for the sink before a look at whether the snapshot was cancelled.
const NAP: Duration = Duration::from_millis(10);

/// What is handed over at once.
struct Piece {
    bytes: Vec<u8>,
    /// True if the sink is to keep nothing of it back.
    is_flushed: bool,
}

/// Writer of what the sink takes later. An error of the sink comes with a later call, as one that
/// only says that nobody takes anything; [`write_behind`] tells the reason. So does the end of a
/// snapshot that was cancelled: nobody waits for a sink that stands still.
pub struct Behind<'a> {
    piece: Vec<u8>,
    full: Sender<Piece>,
    empty: Receiver<Vec<u8>>,
    progress: &'a SaveProgress,
}

impl Behind<'_> {
    /// Hands over what was collected; waits while too much is on its way, unless the snapshot is
    /// cancelled.
    fn hand_over(&mut self, is_flushed: bool) -> io::Result<()> {
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(PIECE_BYTES));
        let mut piece = Piece { bytes: std::mem::replace(&mut self.piece, next), is_flushed };
        while !self.progress.is_cancelled.load(Relaxed) {
            piece = match self.full.send_timeout(piece, NAP) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(piece)) => piece,
                Err(SendTimeoutError::Disconnected(_)) => break,
            };
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Behind<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() == PIECE_BYTES {
            self.hand_over(false)?;
        }
        let count = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    /// Hands all over, and does not wait for the sink.
    fn flush(&mut self) -> io::Result<()> {
        self.hand_over(true)
    }
}

/// Calls `write` with a writer of which the sink takes everything, behind it, up to the last flush.
/// Returns when that is done. If the snapshot is cancelled `write` ends early, and what it has kept
/// is free before the sink is waited for.
///
/// # Errors
/// Those of the sink, otherwise those of `write`; and that of the system if it has no thread left.
pub fn write_behind<T>(
    sink: &mut dyn Sink,
    progress: &SaveProgress,
    write: impl FnOnce(Behind<'_>) -> Result<T, SaveError>,
) -> Result<T, SaveError> {
    let (full, pieces) = bounded(WAITING_MAX);
    let (back, empty) = bounded(WAITING_MAX + 2);
    scope(|scope| {
        let writer = Builder::new().name("saver-writer".to_owned());
        let writer = writer.spawn_scoped(scope, move || take(sink, progress, &pieces, &back))?;
        let piece = Vec::with_capacity(PIECE_BYTES);
        let written = write(Behind { piece, full, empty, progress });
        writer.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        let is_cancelled = progress.is_cancelled.load(Relaxed);
        written.map_err(|error| if is_cancelled { progress.cancelled() } else { error })
    })
}

/// Gives pieces to the sink until there will be no more, or nobody wants them.
fn take(
    sink: &mut dyn Sink,
    progress: &SaveProgress,
    pieces: &Receiver<Piece>,
    back: &Sender<Vec<u8>>,
) -> io::Result<()> {
    for Piece { mut bytes, is_flushed } in pieces {
        if progress.is_cancelled.load(Relaxed) {
            break;
        }
        progress.note_sink();
        sink.write_all(&bytes)?;
        if is_flushed {
            sink.flush()?;
        }
        progress.note_sink();
        bytes.clear();
        // One too many is let go.
        let _ = back.try_send(bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sink in memory that refuses what would make it larger than it may be.
    #[derive(Default)]
    struct Memory {
        bytes: Vec<u8>,
        most: usize,
        flushes: usize,
    }

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.bytes.len() + bytes.len() > self.most {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.flushes += 1;
            Ok(())
        }
    }

    impl Sink for Memory {
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn put_in_place(self: Box<Self>) -> io::Result<()> {
            Ok(())
        }
    }

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|at| narrow::low_u8(at as u64 % 251)).collect()
    }

    #[test]
    fn the_sink_has_everything_that_was_flushed_in_its_order() {
        for count in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 20 * PIECE_BYTES + 7] {
            let mut sink = Memory { most: usize::MAX, ..Memory::default() };
            let all = bytes(count);
            let progress = SaveProgress::default();
            let written = write_behind(&mut sink, &progress, |mut behind| {
                for piece in all.chunks(70_001) {
                    behind.write_all(piece)?;
                }
                Ok(behind.flush()?)
            });
            written.expect("written");
            assert!(sink.bytes == all && sink.flushes == 1, "{count} bytes");
        }
    }

    #[test]
    fn an_error_of_the_sink_ends_the_writing_and_is_the_one_that_is_told() {
        let mut sink = Memory { most: 5 * PIECE_BYTES, ..Memory::default() };
        let piece = bytes(PIECE_BYTES);
        let progress = SaveProgress::default();
        let written: Result<(), _> = write_behind(&mut sink, &progress, |mut behind| {
            loop {
                behind.write_all(&piece)?
            }
        });
        let SaveError::Write(error) = written.expect_err("full") else { panic!("another error") };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn whoever_ends_before_the_end_tells_why() {
        let mut sink = Memory { most: usize::MAX, ..Memory::default() };
        let progress = SaveProgress::default();
        let written: Result<(), _> =
            write_behind(&mut sink, &progress, |_| Err(SaveError::Cancelled));
        assert!(matches!(written, Err(SaveError::Cancelled)));
    }

    /// Sink that says when it is given something, and then stands still until somebody lets it go.
    struct Still {
        given: Sender<()>,
        goes_on: Receiver<()>,
    }

    impl Write for Still {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.given.send(()).expect("somebody listens");
            // Nobody is left to let it go: it goes on by itself.
            let _ = self.goes_on.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sink for Still {
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn put_in_place(self: Box<Self>) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_cancelled_waits_for_no_sink_that_stands_still() {
        let ((given, is_given), (go_on, goes_on)) = (bounded(1), bounded(0));
        let (mut sink, progress) = (Still { given, goes_on }, SaveProgress::default());
        let piece = bytes(PIECE_BYTES);
        let written: Result<(), _> = write_behind(&mut sink, &progress, |mut behind| {
            scope(|scope| {
                scope.spawn(|| {
                    is_given.recv().expect("a piece");
                    progress.is_cancelled.store(true, Relaxed);
                });
                let refused = loop {
                    if let Err(error) = behind.write_all(&piece) {
                        break error;
                    }
                };
                // Only now, after the end of the writing, the sink goes on.
                drop(go_on);
                Err(refused.into())
            })
        });
        assert!(matches!(written, Err(SaveError::Cancelled)), "{written:?}");
        assert!(is_given.is_empty(), "a piece that nobody wants was given to the sink");
    }
}
