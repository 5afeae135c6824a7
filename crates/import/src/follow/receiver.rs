//! The side of the source: a replica that keeps what comes, and acknowledges what the target has.

use crate::address::Address;
use crate::error::Error;
use crate::follow::backlog::Backlog;
use crate::resp::connect;
use replication::{
    Ending, Handshake, Next, Own, ReplicationId, Synced, Transfer, handshake, spoken,
};
use std::io::{self, Read, Seek, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};
use tls::ClientStream;

/// Version of Valkey whose streams are understood.
const VERSION: &str = "9.1.2";
/// Time without a byte after which the source is given up. It says something each ten seconds.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// Time between two acknowledgements.
const BETWEEN_ACKNOWLEDGEMENTS: Duration = Duration::from_secs(1);
/// The same before the stream has begun. Valkey and Redis begin behind an acknowledgement, and do
/// not count one that comes before they have seen that the snapshot was written.
const BEFORE_THE_STREAM: Duration = Duration::from_millis(100);
/// Wait for bytes, after which it is seen whether something is to be said.
const WAIT: Duration = Duration::from_millis(10);
/// Wait before the source is connected to again.
const BEFORE_ANOTHER: Duration = Duration::from_secs(1);
/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;
/// Bytes of a snapshot between two notes of how many have come.
const TOLD_BYTES: u64 = 1 << 30;

/// Receives until the backlog ends it. `tell` is told what an operator should know.
pub fn receive(source: &Address, backlog: &Backlog, tell: &(dyn Fn(&str) + Sync)) {
    let mut told = String::new();
    while !backlog.has_ended() {
        let ended = Session::open(source, backlog, tell).and_then(|mut it| {
            told.clear();
            it.run()
        });
        backlog.disconnected();
        let Err(error) = ended else { return };
        if backlog.has_ended() {
            return;
        }
        let error = error.to_string();
        // The same failure is told once.
        if error != told {
            tell(&format!("{error}; it is tried again"));
            told = error;
        }
        let begin = Instant::now();
        while begin.elapsed() < BEFORE_ANOTHER && !backlog.has_ended() {
            thread::sleep(WAIT);
        }
    }
}

/// One link to the source.
struct Session<'s> {
    place: &'s str,
    stream: ClientStream<TcpStream>,
    backlog: &'s Backlog,
    tell: &'s (dyn Fn(&str) + Sync),
    /// What has come and was not looked at yet.
    received: Vec<u8>,
    room: Vec<u8>,
    heard_at: Instant,
    acknowledged_at: Instant,
}

impl<'s> Session<'s> {
    /// Connects, and comes to an agreement from where the stream is sent.
    fn open(
        source: &'s Address,
        backlog: &'s Backlog,
        tell: &'s (dyn Fn(&str) + Sync),
    ) -> Result<Session<'s>, Error> {
        let failed = |error| Error::Connection(source.place.clone(), error);
        let stream = connect(source, SILENCE_MAX).map_err(failed)?;
        stream.socket().set_read_timeout(Some(WAIT)).map_err(failed)?;
        let now = Instant::now();
        let mut session = Session {
            place: &source.place,
            stream,
            backlog,
            tell,
            received: Vec::new(),
            room: vec![0; READ_BYTES],
            heard_at: now,
            acknowledged_at: now,
        };
        if backlog.received().is_none() {
            tell("the source is asked for all its keys; it may wait some seconds for others");
        }
        let synced = session.shake_hands(source)?;
        match synced {
            Synced::Continues(id) => {
                backlog.goes_on(id);
                tell("the stream goes on where it was left");
            }
            Synced::Snapshot(id, offset) => session.receive_snapshot(id, offset)?,
        }
        Ok(session)
    }

    fn shake_hands(&mut self, source: &Address) -> Result<Synced, Error> {
        let bytes = |text: &Option<String>| text.as_ref().map(|it| it.as_bytes().to_vec());
        let own = Own {
            user: bytes(&source.user),
            password: bytes(&source.password),
            version: VERSION,
            has: self.backlog.received(),
            ..Own::default()
        };
        let (mut handshake, first) = Handshake::begin(own);
        self.send(&first)?;
        loop {
            let line = self.line(handshake::LINE_BYTES_MAX)?;
            let refused = |error: handshake::Refused| self.wrong(&error.to_string());
            match handshake.take(&line).map_err(refused)? {
                Next::Wait => {}
                Next::Send(bytes) => self.send(&bytes)?,
                Next::Done(synced) => return Ok(synced),
            }
        }
    }

    /// Keeps a snapshot in a file.
    fn receive_snapshot(&mut self, id: ReplicationId, offset: u64) -> Result<(), Error> {
        (self.tell)("the source sends all its keys");
        // Empty lines come while it is at work on them.
        let line = loop {
            match self.line(handshake::LINE_BYTES_MAX)? {
                line if line.is_empty() => {}
                line => break line,
            }
        };
        let transfer = Transfer::parse(&line)
            .ok_or_else(|| self.wrong(&text::quote(&line[..line.len().min(200)])))?;
        let disk = |error| Error::File("the snapshot".to_owned(), error);
        let mut file = self.backlog.file().map_err(disk)?;
        let mut ending = Ending::new(transfer);
        let mut told = TOLD_BYTES;
        loop {
            let received = std::mem::take(&mut self.received);
            let mut written = Ok(());
            let came = ending.take(&received, |bytes| {
                if written.is_ok() {
                    written = file.write_all(bytes);
                }
            });
            written.map_err(disk)?;
            if came.is_whole {
                self.received = received[came.taken..].to_vec();
                break;
            }
            if ending.passed() >= told {
                (self.tell)(&format!("{} bytes of them have come", ending.passed()));
                told += TOLD_BYTES;
            }
            self.read_some()?;
            if self.backlog.has_ended() {
                return Err(self.wrong("it was asked to stop"));
            }
        }
        file.rewind().map_err(disk)?;
        self.backlog.put_snapshot(file, id, offset);
        // Some sources wait for a word before they go on. It says that nothing has arrived yet.
        self.acknowledge(0)
    }

    /// Keeps the stream until the backlog ends it.
    fn run(&mut self) -> Result<(), Error> {
        let mut between = BEFORE_THE_STREAM;
        while !self.backlog.has_ended() {
            if !self.received.is_empty() {
                between = BETWEEN_ACKNOWLEDGEMENTS;
                let received = std::mem::take(&mut self.received);
                let disk = |error| Error::File("the stream".to_owned(), error);
                self.backlog.push(&received).map_err(disk)?;
            }
            let (applied, is_asked) = self.backlog.to_acknowledge();
            if is_asked || self.acknowledged_at.elapsed() >= between {
                self.acknowledge(applied)?;
            }
            self.read_some()?;
        }
        Ok(())
    }

    fn acknowledge(&mut self, applied: u64) -> Result<(), Error> {
        self.acknowledged_at = Instant::now();
        self.send(&spoken::acknowledgement(applied, None))
    }

    /// The next line, without its end.
    fn line(&mut self, bytes_max: usize) -> Result<Vec<u8>, Error> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.received.drain(..=end).collect();
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(line);
            }
            if self.received.len() > bytes_max {
                return Err(self.wrong("a line without an end"));
            }
            self.read_some()?;
        }
    }

    /// Waits a moment for bytes.
    fn read_some(&mut self) -> Result<(), Error> {
        let over = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut, io::ErrorKind::Interrupted];
        let failure = match self.stream.read(&mut self.room) {
            Ok(0) => io::ErrorKind::UnexpectedEof.into(),
            Ok(bytes) => {
                self.received.extend_from_slice(&self.room[..bytes]);
                self.heard_at = Instant::now();
                return Ok(());
            }
            Err(error) if !over.contains(&error.kind()) => error,
            Err(_) if self.heard_at.elapsed() >= SILENCE_MAX => io::ErrorKind::TimedOut.into(),
            Err(_) if self.backlog.has_ended() => io::ErrorKind::Interrupted.into(),
            Err(_) => return Ok(()),
        };
        Err(Error::Connection(self.place.to_owned(), failure))
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let sent = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        sent.map_err(|error| Error::Connection(self.place.to_owned(), error))
    }

    fn wrong(&self, what: &str) -> Error {
        let error = io::Error::new(io::ErrorKind::InvalidData, what);
        Error::Connection(self.place.to_owned(), error)
    }
}
