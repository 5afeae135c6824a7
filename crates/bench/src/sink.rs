//! Sinks: replicas that drop what they read, at a given rate or as fast as it comes.
//!
//! ```text
//! PING ──▶ REPLCONF capa, version ──▶ PSYNC ? -1 ──▶ snapshot ──▶ stream, with an ACK each second
//!                                                                  and for each GETACK
//! ```
//!
//! A sink acknowledges all that it has read, so it is a replica that applies at once.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use memchr::memmem::Finder;

use crate::address::{Address, Stream};
use crate::control::encode;
use crate::process;

/// Sinks of a server; dropped, they leave.
pub struct Sinks {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<()>>>,
    /// What each tells once, when it has the whole snapshot.
    whole: Receiver<Snapshot>,
}

/// A snapshot that a sink has read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Its bytes.
    pub bytes: u64,
    /// Time from the request for it to its last byte.
    pub since_asked: Duration,
    /// Time from its first byte to its last.
    pub transfer: Duration,
}

impl Sinks {
    /// Connects so many sinks, of which each reads so many bytes a second at most.
    pub fn join(address: &Address, count: usize, rate: Option<u64>) -> Self {
        let (is_over, (tell, whole)) = (Arc::new(AtomicBool::new(false)), channel());
        let start = |_| {
            let (address, is_over, tell) = (address.clone(), Arc::clone(&is_over), tell.clone());
            thread::spawn(move || {
                process::pin_this_thread(process::cores() - 1);
                let mut sink = Sink::open(&address, rate)?;
                let snapshot = sink.read_snapshot(&is_over)?;
                let _ = tell.send(snapshot);
                sink.read_stream(&is_over)
            })
        };
        let threads = (0..count).map(start).collect();
        Self { is_over, threads, whole }
    }

    /// Waits until all sinks have their snapshots; returns that of the last one.
    ///
    /// # Errors
    /// If one was refused, or lost its connection.
    pub fn wait_until_whole(&mut self) -> Result<Snapshot> {
        let mut last = Snapshot::default();
        for _ in 0..self.threads.len() {
            last = self.whole.recv_timeout(SYNC_MAX).map_err(|_| self.failure())?;
        }
        Ok(last)
    }

    fn failure(&mut self) -> anyhow::Error {
        self.is_over.store(true, Relaxed);
        let ended = self.threads.drain(..).map(JoinHandle::join);
        let failed =
            ended.filter_map(|it| it.map_or(Some(anyhow!("it broke")), Result::err)).next();
        failed.unwrap_or_else(|| anyhow!("no snapshot after {SYNC_MAX:?}")).context("a sink")
    }

    /// Has the sinks leave.
    ///
    /// # Errors
    /// If one lost its connection before.
    pub fn leave(mut self) -> Result<()> {
        self.is_over.store(true, Relaxed);
        let mut threads = self.threads.drain(..);
        threads.try_for_each(|it| it.join().map_err(|_| anyhow!("a sink broke"))?)
    }
}

impl Drop for Sinks {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        self.threads.drain(..).for_each(|it| drop(it.join()));
    }
}

/// One sink.
struct Sink {
    stream: Stream,
    pace: Pace,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read and not looked at.
    unread: Vec<u8>,
    /// Offset in the primary's stream up to which everything was read.
    offset: u64,
    asked: Instant,
}

impl Sink {
    fn open(address: &Address, rate: Option<u64>) -> Result<Self> {
        let stream = address.connect()?;
        stream.socket().set_read_timeout(Some(LOOK_AROUND))?;
        let (buffer, pace, asked) = (vec![0; BUFFER], Pace::new(rate), Instant::now());
        Ok(Self { stream, pace, buffer, unread: Vec::new(), offset: 0, asked })
    }

    /// Says what a replica says, and reads the snapshot.
    fn read_snapshot(&mut self, is_over: &AtomicBool) -> Result<Snapshot> {
        for words in GREETING {
            self.stream.write_all(encode(words.iter().copied()).as_bytes())?;
            // A primary may refuse what it does not know.
            self.line(is_over)?;
        }
        self.asked = Instant::now();
        self.stream.write_all(encode(["PSYNC", "?", "-1"]).as_bytes())?;
        let offset = loop {
            let line = self.line(is_over)?;
            if let Some(told) = line.strip_prefix("+FULLRESYNC ") {
                break told.split(' ').nth(1).and_then(|it| it.parse().ok());
            }
            ensure!(!line.starts_with('-'), "{line}");
        };
        self.offset = offset.with_context(|| "an offset that is no number")?;
        let announced = loop {
            let line = self.line(is_over)?;
            if !line.is_empty() {
                break line;
            }
        };
        let began = Instant::now();
        let bytes = match announced.strip_prefix("$EOF:") {
            Some(mark) => self.skip_to(mark.as_bytes(), is_over)?,
            None => {
                let length = announced.strip_prefix('$').and_then(|it| it.parse().ok());
                self.skip(length.with_context(|| announced.clone())?, is_over)?
            }
        };
        let [since_asked, transfer] = [self.asked, began].map(|it| it.elapsed());
        self.acknowledge()?;
        Ok(Snapshot { bytes, since_asked, transfer })
    }

    /// Reads and acknowledges the stream until it is over.
    fn read_stream(&mut self, is_over: &AtomicBool) -> Result<()> {
        let getack = Finder::new(b"GETACK");
        let mut told = Instant::now();
        self.offset += self.unread.len() as u64;
        while !is_over.load(Relaxed) {
            let read = self.read()?;
            self.offset += read as u64;
            if told.elapsed() >= ACK_EVERY || getack.find(&self.buffer[..read]).is_some() {
                self.acknowledge()?;
                told = Instant::now();
            }
        }
        Ok(())
    }

    fn acknowledge(&mut self) -> Result<()> {
        let ack = encode(["REPLCONF", "ACK", &self.offset.to_string()]);
        Ok(self.stream.write_all(ack.as_bytes())?)
    }

    /// Reads a line, without its end.
    fn line(&mut self, is_over: &AtomicBool) -> Result<String> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.unread) {
                let line: Vec<_> = self.unread.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            ensure!(self.unread.len() < BUFFER, "an endless line");
            self.read_more(is_over)?;
        }
    }

    /// Drops everything up to a mark, which ends what was sent; returns its bytes.
    fn skip_to(&mut self, mark: &[u8], is_over: &AtomicBool) -> Result<u64> {
        let mut bytes = 0;
        while !self.unread.ends_with(mark) {
            let dropped = self.unread.len().saturating_sub(mark.len());
            bytes += dropped as u64;
            self.unread.drain(..dropped);
            self.read_more(is_over)?;
        }
        bytes += (self.unread.len() - mark.len()) as u64;
        self.unread.clear();
        Ok(bytes)
    }

    fn skip(&mut self, length: u64, is_over: &AtomicBool) -> Result<u64> {
        let mut left = length;
        loop {
            let dropped = left.min(self.unread.len() as u64);
            self.unread.drain(..dropped as usize);
            left -= dropped;
            if left == 0 {
                return Ok(length);
            }
            self.read_more(is_over)?;
        }
    }

    fn read_more(&mut self, is_over: &AtomicBool) -> Result<()> {
        ensure!(!is_over.load(Relaxed), "the sink was told to leave");
        let read = self.read()?;
        self.unread.extend_from_slice(&self.buffer[..read]);
        Ok(())
    }

    /// Reads into the buffer; returns the number of bytes, 0 if there are none for the moment.
    fn read(&mut self) -> Result<usize> {
        let most = self.pace.wait_for_some(self.buffer.len());
        match self.stream.read(&mut self.buffer[..most]) {
            Ok(0) => bail!("the primary closed the link"),
            Ok(read) => {
                self.pace.took(read);
                Ok(read)
            }
            Err(error) if is_no_news(error.kind()) => Ok(0),
            Err(error) => Err(error).context("the link"),
        }
    }
}

fn is_no_news(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Bytes that may be read by now.
struct Pace {
    /// Bytes per second, if they are limited.
    rate: Option<u64>,
    began: Instant,
    taken: u64,
}

impl Pace {
    fn new(rate: Option<u64>) -> Self {
        Self { rate, began: Instant::now(), taken: 0 }
    }

    /// Sleeps until a piece may be read; returns the most that may be.
    fn wait_for_some(&self, most: usize) -> usize {
        let Some(rate) = self.rate else { return most };
        let piece = most.min(PIECE);
        let due = Duration::from_secs_f64((self.taken + piece as u64) as f64 / rate as f64);
        thread::sleep(due.saturating_sub(self.began.elapsed()));
        piece
    }

    fn took(&mut self, bytes: usize) {
        self.taken += bytes as u64;
    }
}

/// What is said before the request; PSYNC is refused while an answer has not left.
const GREETING: [&[&str]; 4] = [
    &["PING"],
    &["REPLCONF", "listening-port", "1"],
    &["REPLCONF", "capa", "eof", "capa", "psync2"],
    &["REPLCONF", "version", "9.1.2"],
];
const BUFFER: usize = 256 << 10;
/// Most that a sink with a rate reads at once.
const PIECE: usize = 64 << 10;
const ACK_EVERY: Duration = Duration::from_secs(1);
/// Longest time in which a sink does not look whether it is over.
const LOOK_AROUND: Duration = Duration::from_millis(50);
const SYNC_MAX: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::{SYNC_MAX, Sinks};
    use crate::control::encode;
    use crate::fake;
    use std::io::{BufRead, BufReader, Write};
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn a_sink_takes_a_snapshot_and_acknowledges_what_follows() {
        let (listener, port) = fake::listen();
        let (tell, acknowledged) = channel();
        let primary = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let (mut link, mut said) = (stream.try_clone().unwrap(), BufReader::new(stream));
            let mut await_line = |wanted: &str| {
                let mut line = String::new();
                while line.trim_end() != wanted {
                    line.clear();
                    assert!(said.read_line(&mut line).unwrap() > 0, "no {wanted}");
                }
            };
            for last in ["PING", "1", "psync2", "9.1.2"] {
                await_line(last);
                link.write_all(b"+OK\r\n").unwrap();
            }
            await_line("-1");
            let mark = "m".repeat(40);
            // An empty line says that the primary lives.
            let begin = format!("+FULLRESYNC {} 100\r\n\n$EOF:{mark}\r\n", "f".repeat(40));
            for piece in [begin.as_str(), "snap", "shot", &mark[..7], &mark[7..]] {
                link.write_all(piece.as_bytes()).unwrap();
            }
            await_line("100");
            link.write_all(encode(["REPLCONF", "GETACK", "*"]).as_bytes()).unwrap();
            await_line("137");
            tell.send(()).unwrap();
            link
        });
        let mut sinks = Sinks::join(&port.into(), 1, Some(1 << 20));
        let snapshot = sinks.wait_until_whole().unwrap();
        assert_eq!(snapshot.bytes, 8);
        assert!(snapshot.transfer <= snapshot.since_asked);
        acknowledged.recv_timeout(SYNC_MAX).unwrap();
        let link = primary.join().unwrap();
        sinks.leave().unwrap();
        drop(link);
    }

    #[test]
    fn a_primary_that_refuses_fails_the_sink() {
        let port = fake::serve(|_| Some(b"-ERR no\r\n".to_vec()));
        let refused = Sinks::join(&port.into(), 1, None).wait_until_whole();
        assert!(format!("{:#}", refused.unwrap_err()).contains("ERR no"));
    }
}
