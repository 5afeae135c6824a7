//! Connections that have asked for the stream: which go on with what is kept of it, and why others
//! need a snapshot.

use super::link::{Link, name};
use super::sender::SenderThread;
use super::sync::Wish;
use super::upkeep::disk_max;
use crate::connection::Connection;
use mio::event::Source;
use mio::{Interest, Token};
use replication::{Decision, FullSync, History};
use session::{ClientFlags, Refusal, Replica, StreamRequest};
use settings::general::DIR;
use settings::replication as rows;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl SenderThread {
    /// Takes over a connection that has asked for the stream.
    pub(super) fn admit(&mut self, mut connection: Box<Connection>) {
        // It comes by the id that there is now, and so is not among them.
        self.let_go();
        let now = self.instance.clock.steady();
        let token = self.next_token;
        self.next_token += 1;
        let settings = &self.instance.settings;
        let request = connection.session.wants_stream.take();
        let request = request.map_or(StreamRequest::Old, |request| *request);
        let about = connection.session.reader.as_deref().cloned().unwrap_or_default();
        let wish = Wish::of(&about, settings);
        let client = Arc::clone(&connection.session.client);
        client.set_flag(ClientFlags::REPLICA, true);
        client.arrive(0);
        if rows::REPL_DISABLE_TCP_NODELAY.get(settings) {
            connection.stream.delay_small_writes();
        }
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registered = connection.stream.register(self.poll.registry(), Token(token), interest);
        let replica = Arc::new(Replica::new(client, about, now));
        self.instance.replicas.add(Arc::clone(&replica));
        let mut link = Link::new(connection, replica, (&request, wish), now);
        let until = self.unserved.get(&name(&link)).copied().filter(|until| *until > now);
        link.not_before = until.unwrap_or(now);
        tracing::info!("Replica {} asks for synchronization", name(&link));
        let who = name(&link);
        self.links.insert(token, link);
        self.alone_since = None;
        if let Err(error) = registered {
            return self.close(token, &error.into());
        }
        // What it has met in the stream is still there, so it needs a snapshot.
        match request {
            StreamRequest::From(id, first) if until.is_none() => self.go_on(token, &id, first),
            StreamRequest::HandsOver(id, first) => self.wait_for_rest(token, id, first),
            StreamRequest::From(..) | StreamRequest::Old => {}
        }
        // It has a place of its own now, or needs none of the stream so far.
        self.lost.retain(|it| it.who != who);
        // What came behind its request.
        self.read(token);
    }

    /// Lets a replica go on with what is kept of the stream, if it can.
    pub(super) fn go_on(&mut self, token: usize, id: &[u8], first: i64) {
        let Some(history) = self.instance.replicas.history() else { return };
        let (end, shift) = (self.journal.offset(), self.journal.shift());
        let kept = self.backlog.as_ref().map(|it| (it.first().wrapping_add(shift), end));
        let decision = match kept {
            Some(kept) => match history.decide(id, first, kept) {
                Decision::Full(FullSync::Gone(bytes)) if self.read_again(bytes) => {
                    Decision::Continue(kept.0 - bytes)
                }
                decision => decision,
            },
            None => Decision::Full(FullSync::Unknown),
        };
        let Some(link) = self.links.get_mut(&token) else { return };
        let (syncs, who) = (&self.instance.replicas.syncs, name(link));
        let why = match decision {
            Decision::Continue(at) => {
                syncs.partial.fetch_add(1, Relaxed);
                let line = match link.replica.about.takes_other_ids {
                    true => format!("+CONTINUE {}\r\n", history.id().as_str()),
                    false => "+CONTINUE\r\n".to_owned(),
                };
                self.journal.wait_until_told(history.id());
                // It has sent nothing else yet, so the line has room.
                let _ = link.say(&line);
                link.follow(at.wrapping_sub(shift));
                let bytes = end - at;
                tracing::info!(
                    "Partial resynchronization request from {who} accepted. Sending {bytes} bytes \
                     of backlog starting from offset {first}."
                );
                return;
            }
            Decision::Full(why) => why,
        };
        if self.instance.replicas.failover.is_active() {
            return link.refuse(&Refusal::FAILS_OVER);
        }
        if id != b"?" {
            syncs.partial_refused.fetch_add(1, Relaxed);
        }
        tell_why(why, &who, id, &history);
    }

    /// Reads so many bytes of the stream, which stand right before what is kept, from the files
    /// that the server was started with. False if they are not there.
    fn read_again(&mut self, bytes: u64) -> bool {
        let may_keep = bytes <= disk_max(&self.instance);
        let Some(before) = self.in_files.as_ref().filter(|_| may_keep) else { return false };
        let Some(backlog) = &mut self.backlog else { return false };
        let end = backlog.first();
        if end > before.end {
            return false;
        }
        let Some(begin) = end.checked_sub(bytes) else { return false };
        let directory = PathBuf::from(&*DIR.get(&self.instance.settings));
        match before.files.read(begin..end, &directory) {
            Ok(spool) => backlog.put_before(spool),
            Err(error) => {
                tracing::warn!("Reading the stream from before the start again: {error}");
            }
        }
        backlog.first() == begin
    }
}

/// Logs why a replica needs a snapshot that has asked under an id.
fn tell_why(why: FullSync, who: &str, id: &[u8], history: &History) {
    match why {
        FullSync::Unknown if id == b"?" => {
            tracing::info!("Full resync requested by replica {who}");
        }
        FullSync::Unknown => tracing::info!(
            "Partial resynchronization not accepted: Replication ID mismatch (Replica {who} \
             asked for '{}', my replication IDs are {})",
            id.escape_ascii(),
            ids(history)
        ),
        FullSync::Diverged(bytes) => tracing::warn!(
            "Partial resynchronization not accepted: replica {who} has {bytes} bytes that this \
             server does not have, and drops them"
        ),
        FullSync::Gone(bytes) => tracing::info!(
            "Unable to partial resync with replica {who} for lack of backlog: {bytes} bytes \
             that it lacks are not kept (`repl-backlog-size`, `repl-backlog-time`)"
        ),
    }
}

fn ids(history: &History) -> String {
    let earlier = history.earlier().iter().map(|it| it.id);
    let all = std::iter::once(history.id()).chain(earlier);
    all.map(|id| format!("'{}'", id.as_str())).collect::<Vec<_>>().join(" and ")
}
