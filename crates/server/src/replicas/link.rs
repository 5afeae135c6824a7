//! One replica: its connection, and where in its snapshot or in the stream it is.
//!
//! ```text
//! HandsOver ─ this server is the primary ─▶ as any other
//! Waits ─ cut ─▶ Takes ─ all sent ─▶ Loads ─ first ACK ─▶ Follows
//!                   │                                        ▲
//!                   └── no stream is wanted ─▶ Ends          └── +CONTINUE
//! ```
//! Behind a mark no byte of the stream leaves before the first ACK: others find a mark only at the
//! end of what they have read.

use super::backlog::Backlog;
use super::pace::Pace;
use super::parcel::{Parcel, Part};
use super::sync::Wish;
use crate::connection::Connection;
use crate::front::Front;
use base::Steady;
use replication::names::is_about_field_deadlines;
use replication::{Names, Said};
use session::{Phase, Refusal, Replica, StreamRequest, SyncFacts};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use wire::{Limits, Progress, Span};

/// Bytes that one replica is sent before others have their turn.
pub const TURN_BYTES: usize = 256 << 10;
/// Longest that lines for a replica may become.
const LINES_MAX: usize = 64 << 10;

/// Replicas send little.
const LIMITS: Limits = Limits {
    bulk_bytes_max: 64 << 10,
    arguments_max: 64,
    inline_bytes_max: 64 << 10,
    authenticated: true,
};

/// Where a replica is.
#[derive(Debug)]
pub enum State {
    /// It is the primary of this server, and wants that to be one.
    HandsOver(Handover),
    /// It waits for a snapshot.
    Waits,
    /// It takes one.
    Takes(Taking),
    /// It has all of one, and has not said so yet; where the stream goes on then.
    Loads(u64),
    /// It has all of the stream up to a position.
    Follows(u64),
    /// It is closed once all was sent.
    Ends,
}

/// What a primary that hands over has asked for.
#[derive(Debug)]
pub struct Handover {
    /// Id of its stream.
    pub id: Vec<u8>,
    /// Offset of the first byte that it has not, plus one.
    pub first: i64,
    /// How often the role of this server had changed when it asked.
    pub changes: u64,
    /// How long what is on its way is waited for.
    pub until: Steady,
}

/// A snapshot as one replica takes it.
#[derive(Debug)]
pub struct Taking {
    /// The snapshot.
    pub parcel: Arc<Parcel>,
    /// Bytes of it that were sent.
    pub place: u64,
    /// What stands behind it; without, its length is sent before it.
    pub mark: Option<[u8; 40]>,
    /// True once the line before it was put.
    pub has_begun: bool,
    /// Position of the stream at its cut.
    pub offset: u64,
}

/// Why a link ends.
#[derive(Debug)]
pub enum Gone {
    /// All that was wanted was sent.
    Done,
    /// For this reason.
    Because(String),
    /// Because there is no snapshot for it, for this reason, which most likely holds for the next.
    Unserved(String),
}

impl From<io::Error> for Gone {
    fn from(error: io::Error) -> Gone {
        Gone::Because(match error.kind() {
            io::ErrorKind::UnexpectedEof => "it has closed the connection".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// A replica.
#[derive(Debug)]
pub struct Link {
    pub connection: Box<Connection>,
    pub replica: Arc<Replica>,
    pub wish: Wish,
    /// True if it has asked by SYNC, and so is told no offset.
    pub is_old: bool,
    pub state: State,
    /// Since when it waits.
    pub since: Steady,
    /// When a snapshot may begin for it.
    pub not_before: Steady,
    /// What goes out before all else.
    lines: Vec<u8>,
    /// Names of commands up to a position of the stream, for one that does not know all of them.
    names: Option<(Names, u64)>,
    /// True from when its socket is full until events tell that it takes bytes.
    is_blocked: bool,
    /// True if it was full since the last sample of its pace.
    was_blocked: bool,
    /// Bytes that were sent to it.
    pub sent: u64,
    pub pace: Pace,
    /// True from its snapshot on until it has all of the stream for the first time.
    pub is_syncing: bool,
    /// True if it had all of the stream when it was last sent some.
    pub has_caught_up: bool,
    /// True once the log tells that it will never catch up.
    pub has_warned: bool,
    /// True while writers are slowed down for it.
    pub is_waited_for: bool,
    /// Bytes for which they have been let go on.
    pub paid: u64,
}

impl Link {
    /// One that has asked for the stream.
    pub fn new(
        connection: Box<Connection>,
        replica: Arc<Replica>,
        (request, wish): (&StreamRequest, Wish),
        now: Steady,
    ) -> Link {
        Link {
            connection,
            replica,
            wish,
            is_old: *request == StreamRequest::Old,
            state: State::Waits,
            since: now,
            not_before: now,
            lines: Vec::new(),
            names: None,
            is_blocked: false,
            was_blocked: false,
            sent: 0,
            pace: Pace::default(),
            is_syncing: false,
            has_caught_up: false,
            has_warned: false,
            is_waited_for: false,
            paid: 0,
        }
    }

    /// Sends a line before anything else.
    ///
    /// # Errors
    /// When it takes none of them.
    pub fn say(&mut self, line: &str) -> Result<(), Gone> {
        if self.lines.len() > LINES_MAX {
            return Err(Gone::Because("it reads nothing".to_owned()));
        }
        self.lines.extend_from_slice(line.as_bytes());
        Ok(())
    }

    /// Ends it once an error is sent.
    pub fn refuse(&mut self, refusal: &Refusal) {
        // Where it takes nothing, it ends without.
        let _ = self.say(&format!("-{}\r\n", String::from_utf8_lossy(refusal.text())));
        self.state = State::Ends;
    }

    /// Has it follow the stream from a position on.
    pub fn follow(&mut self, at: u64) {
        self.state = State::Follows(at);
        self.names = self.wish.knows_no_field_deadlines().then(|| (Names::default(), at));
        self.replica.set_phase(Phase::Online);
    }

    /// First position of the stream that it needs; `None` if it needs none.
    pub fn needs(&self) -> Option<u64> {
        match &self.state {
            State::Takes(taking) if self.replica.follows() => Some(taking.offset),
            State::Loads(at) | State::Follows(at) => Some(*at),
            State::Takes(_) | State::HandsOver(_) | State::Waits | State::Ends => None,
        }
    }

    /// Place in its snapshot that it needs; `None` if it needs none.
    pub fn needs_of(&self, parcel: &Arc<Parcel>) -> Option<u64> {
        match &self.state {
            // Where the length stands before it, nothing leaves before all is there.
            State::Takes(taking) if Arc::ptr_eq(&taking.parcel, parcel) => Some(taking.place),
            _ => None,
        }
    }

    /// Has it take a snapshot.
    pub fn take(&mut self, taking: Taking) {
        self.state = State::Takes(taking);
        self.replica.set_phase(Phase::Loads);
        self.is_syncing = self.replica.follows();
        if self.is_syncing {
            self.replica.set_sync(Some(SyncFacts::default()));
        }
    }

    /// Returns true if its socket was full since the last time, and it lacks something.
    pub fn take_slow(&mut self) -> bool {
        std::mem::replace(&mut self.was_blocked, self.is_blocked) && !self.has_caught_up
    }

    /// Notes that its socket takes bytes again.
    pub fn unblock(&mut self) {
        self.is_blocked = false;
    }

    /// Sends what there is, of the stream up to `limit`, until its turn is over or its socket is
    /// full. Returns the number of bytes, and whether there may be more.
    ///
    /// # Errors
    /// When it is to be closed.
    pub fn send(
        &mut self,
        backlog: Option<&Backlog>,
        limit: u64,
        room: &mut [u8],
    ) -> Result<(usize, bool), Gone> {
        let mut sent = 0;
        while sent < TURN_BYTES && !self.is_blocked {
            match self.step(backlog, limit, room)? {
                0 => {
                    self.note_caught_up(limit);
                    return Ok((sent, false));
                }
                step => {
                    sent += step;
                    self.sent += step as u64;
                }
            }
        }
        Ok((sent, !self.is_blocked))
    }

    /// Notes whether it has all of the stream up to the limit, and ends its sync if it has.
    fn note_caught_up(&mut self, limit: u64) {
        self.has_caught_up = matches!(self.state, State::Follows(at) if at >= limit);
        if self.has_caught_up && std::mem::take(&mut self.is_syncing) {
            self.replica.set_sync(None);
        }
    }

    /// Sends once. Returns zero if there is nothing to be sent, or the socket is full.
    fn step(
        &mut self,
        backlog: Option<&Backlog>,
        limit: u64,
        room: &mut [u8],
    ) -> Result<usize, Gone> {
        if !self.lines.is_empty() {
            let lines = std::mem::take(&mut self.lines);
            let sent = self.write(&lines);
            self.lines = lines;
            self.lines.drain(..*sent.as_ref().unwrap_or(&0));
            return sent;
        }
        match &mut self.state {
            State::HandsOver(_) | State::Waits | State::Loads(_) => Ok(0),
            State::Ends => Err(Gone::Done),
            State::Takes(_) => self.step_of_snapshot(room),
            State::Follows(at) => {
                let (at, backlog) = match backlog {
                    Some(backlog) if *at < limit => (*at, backlog),
                    _ => return Ok(0),
                };
                let bytes = backlog.read(at, limit, room)?;
                self.look_at_names(at, bytes)?;
                let sent = self.write(bytes)?;
                self.state = State::Follows(at + sent as u64);
                Ok(sent)
            }
        }
    }

    /// Holds the names of commands that stand at a position against what it knows.
    fn look_at_names(&mut self, at: u64, bytes: &[u8]) -> Result<(), Gone> {
        let Some((names, seen)) = &mut self.names else { return Ok(()) };
        // What its socket did not take was looked at before.
        let skipped = narrow::to_usize(seen.saturating_sub(at)).min(bytes.len());
        *seen = (*seen).max(at + bytes.len() as u64);
        match names.find(&bytes[skipped..], is_about_field_deadlines) {
            None => Ok(()),
            Some(name) => Err(Gone::Unserved(format!(
                "it knows no deadlines of fields, and {} is in the stream now",
                name.escape_ascii()
            ))),
        }
    }

    fn step_of_snapshot(&mut self, room: &mut [u8]) -> Result<usize, Gone> {
        let State::Takes(taking) = &mut self.state else { return Ok(0) };
        let (length, is_whole) = taking.parcel.length();
        if !taking.has_begun {
            let line = match taking.mark {
                Some(mark) => format!("$EOF:{}\r\n", String::from_utf8_lossy(&mark)),
                None if is_whole => format!("${length}\r\n"),
                None => return self.fail_with_snapshot(),
            };
            taking.has_begun = true;
            self.say(&line)?;
            return self.step(None, 0, room);
        }
        let (place, parcel) = (taking.place, Arc::clone(&taking.parcel));
        let sent = match parcel.at(place) {
            Part::Nothing => 0,
            Part::Bytes(piece, from) => self.write(&piece[from..])?,
            Part::InFile(file, end) => {
                let most = usize::try_from(end - place).unwrap_or(usize::MAX).min(room.len());
                file.read_exact_at(&mut room[..most], place)?;
                self.write(&room[..most])?
            }
            Part::End => return self.end_snapshot(room),
            Part::Lost => {
                let reason = "it is slow, and there is no room for its snapshot on the disk";
                return Err(Gone::Unserved(reason.to_owned()));
            }
            Part::Failed(reason) => return Err(Gone::Unserved(reason)),
        };
        if let State::Takes(taking) = &mut self.state {
            taking.place += sent as u64;
        }
        Ok(sent)
    }

    /// Finds out whether the snapshot, of which nothing is sent yet, will never be there.
    fn fail_with_snapshot(&self) -> Result<usize, Gone> {
        let State::Takes(taking) = &self.state else { return Ok(0) };
        match taking.parcel.at(0) {
            Part::Failed(reason) => Err(Gone::Unserved(reason)),
            _ => Ok(0),
        }
    }

    fn end_snapshot(&mut self, room: &mut [u8]) -> Result<usize, Gone> {
        let State::Takes(Taking { mark, offset, .. }) = &self.state else { return Ok(0) };
        let (mark, offset) = (*mark, *offset);
        if let Some(mark) = mark {
            self.lines.extend_from_slice(&mark);
        }
        if !self.replica.follows() {
            self.state = State::Ends;
        } else if mark.is_some() {
            self.state = State::Loads(offset);
        } else {
            self.follow(offset);
        }
        if self.lines.is_empty() { Ok(0) } else { self.step(None, 0, room) }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Gone> {
        match self.connection.stream.write(bytes) {
            Ok(0) => Err(io::Error::from(io::ErrorKind::WriteZero).into()),
            Ok(sent) => {
                self.connection.note_sent(sent);
                Ok(sent)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                (self.is_blocked, self.was_blocked) = (true, true);
                Ok(0)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads what it has sent, and gives each of its words to `take`.
    ///
    /// # Errors
    /// When it is to be closed: it is gone, or says what replicas do not.
    pub fn read(
        &mut self,
        (room, ciphertext): (&mut [u8], &mut Vec<u8>),
        now: Steady,
        mut take: impl FnMut(Said),
    ) -> Result<(), Gone> {
        self.connection.stream.expect_more();
        while self.connection.stream.may_hold_more() {
            let Connection { stream, query, .. } = &mut *self.connection;
            let mut keep = |bytes: &[u8]| query.keep(bytes);
            let Some(bytes) = stream.receive_with(&mut keep, room, ciphertext)? else { break };
            self.connection.note_received(bytes);
            self.replica.hear(now);
            self.parse(&mut take)?;
        }
        self.connection.publish(now);
        Ok(())
    }

    /// Takes the requests that are whole.
    pub fn parse(&mut self, take: &mut impl FnMut(Said)) -> Result<(), Gone> {
        let Connection { query, front, .. } = &mut *self.connection;
        // Nobody asks for a stream in another protocol.
        let Front::Resp(parser) = front else { return Ok(()) };
        let (mut spans, mut served) = (Vec::new(), 0);
        loop {
            spans.clear();
            let rest = &query.waiting()[served..];
            let progress = parser.parse(rest, &mut spans, &LIMITS);
            let progress = progress.map_err(|error| Gone::Because(error.to_string()))?;
            match progress {
                Progress::Complete { consumed } => {
                    let words: Vec<&[u8]> = spans.iter().map(|span: &Span| span.of(rest)).collect();
                    take(understood(&words)?);
                    served += consumed;
                }
                Progress::Inline { consumed, arguments } => {
                    let words: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
                    take(understood(&words)?);
                    served += consumed;
                }
                Progress::Incomplete { .. } => break,
            }
        }
        query.drop_served(served);
        Ok(())
    }
}

fn understood(words: &[&[u8]]) -> Result<Said, Gone> {
    Said::of(words).ok_or_else(|| {
        let name = words.first().map_or(&[][..], |name| &name[..name.len().min(32)]);
        Gone::Because(format!("it sends '{}', as no replica does", name.escape_ascii()))
    })
}

/// The replica as logs name it: where it can be reached.
pub fn name(link: &Link) -> String {
    let port = link.replica.about.port;
    match port {
        0 => format!("client id #{}", link.replica.client.id),
        _ => format!("{}:{port}", link.replica.address()),
    }
}
