//! The thread of the link: what it is to do, and what becomes of a try.

use super::roles::{Roles, Shared};
use super::socket::Socket;
use crate::journal::Journal;
use crate::load::KnownStream;
use crate::replicas::new_id;
use crate::saver::Saver;
use crate::tls::Tls;
use base::Steady;
use command::{Follower, Parted, Table};
use crossbeam_channel::RecvTimeoutError;
use journal::Lane;
use replication::handshake::{LINE_BYTES_MAX, Refused};
use replication::{Handshake, Next, NoUnit, Own, Synced};
use session::{
    Attempt, ClientFlags, Endpoint, FailoverPhase, Instance, LinkState, Notice, Owner, Post,
    Primary, VALKEY_VERSION,
};
use settings::general::HIDE_USER_DATA_FROM_LOG;
use settings::tls::TLS_REPLICATION;
use settings::{network, replication as rows};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use store::ThreadContext;

/// Time between two tries.
const RETRY: Duration = Duration::from_secs(1);
/// Wait for bytes before a look at the role.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Why a try has ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    /// The role is another one now.
    #[error("the role has changed")]
    RoleChanged,
    /// The connection.
    #[error("{0}")]
    Connection(#[from] io::Error),
    /// What the primary has answered.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// What it sends is no stream.
    #[error("it sends what is no stream: {0}")]
    NoUnit(#[from] NoUnit),
    /// Its snapshot.
    #[error("its snapshot cannot be loaded: {0}")]
    Snapshot(String),
    /// Nothing came for long.
    #[error("it is silent for longer than `repl-timeout`")]
    Silent,
    /// Something of its stream could not be applied.
    #[error("{0}")]
    Parted(#[from] Parted),
}

/// The thread, as the server that starts it has it.
pub struct Link {
    roles: Arc<Roles>,
    thread: JoinHandle<()>,
}

/// What the thread owns.
pub(super) struct LinkThread {
    pub instance: Arc<Instance>,
    pub journal: Arc<Journal>,
    pub roles: Arc<Roles>,
    pub thread: ThreadContext,
    pub lane: Lane,
    pub follower: Follower,
    pub saver: Arc<Saver>,
    table: &'static Table,
    tls: Arc<Tls>,
    /// How often the role had changed when the present try began.
    pub changes: u64,
    /// `changes` of the failover whose target may have answered what did not arrive.
    asked_in: Option<u64>,
    /// Offset that was acknowledged last, and when.
    pub acknowledged: (u64, Steady),
    /// When the log last told that the stream is applied though the disk fails.
    pub ignored_at: Option<Steady>,
}

/// Mailbox of the client of the link, which is only told to close.
struct LinkPost(Arc<Roles>);

impl Post for LinkPost {
    fn leave(&self, notice: Notice) -> bool {
        if matches!(notice, Notice::Close(_))
            && let Some((_, socket)) = self.0.socket.lock().take()
        {
            // Fails only for a socket that is at its end already.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
        false
    }

    fn wake(&self) {}

    fn is_behind(&self) -> bool {
        false
    }
}

impl Link {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start(
        instance: &Arc<Instance>,
        journal: &Arc<Journal>,
        roles: &Arc<Roles>,
        (saver, table, tls): (&Arc<Saver>, &'static Table, &Arc<Tls>),
    ) -> io::Result<Link> {
        instance.replicas.serve_with(Box::new(Shared(Arc::clone(roles), Arc::downgrade(instance))));
        let thread = instance.store.thread_context();
        let (thread, lane) = thread.zip(journal.take_lane()).ok_or(io::ErrorKind::OutOfMemory)?;
        let nobody = session::Client::of_file("primary", instance.clock.steady());
        let link = LinkThread {
            instance: Arc::clone(instance),
            journal: Arc::clone(journal),
            roles: Arc::clone(roles),
            thread,
            lane,
            follower: Follower::new(instance, table, nobody),
            saver: Arc::clone(saver),
            table,
            tls: Arc::clone(tls),
            changes: 0,
            asked_in: None,
            acknowledged: (0, Steady(0)),
            ignored_at: None,
        };
        let run = move || link.run();
        let thread = thread::Builder::new().name("link".to_owned()).spawn(run)?;
        Ok(Link { roles: Arc::clone(roles), thread })
    }

    /// Takes note of the stream of which the data that was loaded is, before anything changes. A
    /// primary goes on under another id: it may lack what its replicas have.
    pub fn adopt(&self, instance: &Instance, known: &KnownStream) {
        let mut history = known.history.clone();
        if rows::REPLICAOF.get(&instance.settings).is_empty() {
            let Ok(id) = new_id() else { return };
            history.rename(id, known.offset);
        } else {
            instance.upstream.note_synced();
        }
        instance.replicas.set_history(history);
        self.roles.note_history();
    }

    /// Has it follow the primary whose replica the server is by now, as clients are let in.
    pub fn begin(&self) {
        self.roles.look();
    }

    /// Makes the server a replica, if the settings name a primary.
    pub fn take_role(&self, instance: &Instance) {
        self.follow_settings(instance);
        self.roles.has_begun.store(true, Release);
    }

    fn follow_settings(&self, instance: &Instance) {
        let named = rows::REPLICAOF.get(&instance.settings);
        let Some((host, port)) = named.split_once(' ') else { return };
        let (Ok(port), Some(thread)) = (port.parse(), instance.store.thread_context()) else {
            return;
        };
        let primary = Primary { host: host.to_owned(), port };
        instance.store.enter(&thread);
        instance.replicas.change_role(&instance.store, &thread, Some(primary));
        instance.store.leave(&thread);
        instance.store.retire(thread);
    }

    /// Has it end, and waits for that.
    pub fn stop(self) {
        self.roles.stop();
        // A panic of it was reported when it happened.
        let _ = self.thread.join();
    }
}

impl LinkThread {
    fn run(mut self) {
        let mut wait = Duration::ZERO;
        loop {
            let most = if self.instance.upstream.is_replica() { wait } else { Duration::MAX };
            let woken = match most {
                Duration::ZERO => Err(RecvTimeoutError::Timeout),
                Duration::MAX => self.roles.woken.recv().map_err(Into::into),
                most => self.roles.woken.recv_timeout(most),
            };
            if self.roles.is_stopping.load(Acquire) || woken == Err(RecvTimeoutError::Disconnected)
            {
                return;
            }
            self.changes = self.instance.upstream.changes();
            let Some(facts) = self.instance.upstream.facts() else {
                wait = Duration::ZERO;
                continue;
            };
            if facts.link == LinkState::Stopped || self.instance.loading.is_active() {
                wait = RETRY;
                continue;
            }
            wait = self.try_once(&facts.primary);
        }
    }

    /// Makes one try, and returns how long to wait for the next.
    fn try_once(&mut self, primary: &Primary) -> Duration {
        let ended = self.follow_primary(primary);
        let was_up = self.instance.upstream.is_up();
        let (now, upstream) = (self.instance.clock.steady(), &self.instance.upstream);
        *self.roles.socket.lock() = None;
        let id = self.follower.client().id;
        self.instance.clients.remove(id);
        if self.is_over() {
            return Duration::ZERO;
        }
        let Primary { host, port } = primary;
        let state = upstream.facts().map(|facts| facts.link);
        let has_not_answered = matches!(state, Some(LinkState::Connecting | LinkState::Handshake));
        match &ended {
            Ended::RoleChanged => {}
            Ended::Parted(parted) => {
                let (offset, settings) = (self.journal.offset(), &self.instance.settings);
                if !HIDE_USER_DATA_FROM_LOG.get(settings) {
                    tracing::error!("It does not apply: {}", parted.request);
                }
                tracing::error!(
                    "The stream of the primary {host}:{port} is not followed any further, at \
                     offset {offset}: {parted}. Its data and that of this server have parted: send \
                     REPLICAOF again for a new snapshot"
                );
                self.roles.has_history.store(false, Relaxed);
                upstream.stop(parted.to_string(), now);
            }
            Ended::Silent if has_not_answered => {
                tracing::warn!("Timeout connecting to the PRIMARY {host}:{port}: {ended}");
            }
            ended => tracing::warn!("Link to the primary {host}:{port} ended: {ended}"),
        }
        if !matches!(ended, Ended::Parted(_)) {
            upstream.set_link(LinkState::Connect, now);
        }
        self.instance.follow_role();
        if was_up { Duration::ZERO } else { RETRY }
    }

    /// True if the role is another one than when this try began, or the server stops.
    pub fn is_over(&self) -> bool {
        self.instance.upstream.changes() != self.changes || self.roles.is_stopping.load(Acquire)
    }

    pub fn go_on(&self) -> Result<(), Ended> {
        if self.is_over() { Err(Ended::RoleChanged) } else { Ok(()) }
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs(rows::REPL_TIMEOUT.get(&self.instance.settings).into())
    }

    /// Connects, and follows the primary until something ends that.
    fn follow_primary(&mut self, primary: &Primary) -> Ended {
        match self.link(primary) {
            Ok(never) => match never {},
            Err(ended) => ended,
        }
    }

    fn link(&mut self, primary: &Primary) -> Result<std::convert::Infallible, Ended> {
        let upstream = &self.instance.upstream;
        upstream.set_link(LinkState::Connecting, self.instance.clock.steady());
        tracing::info!("Connecting to PRIMARY {}:{}", primary.host, primary.port);
        let is_encrypted = TLS_REPLICATION.get(&self.instance.settings);
        let tls = is_encrypted.then_some(&*self.tls);
        let now = self.instance.clock.steady();
        let from = rows::BIND_SOURCE_ADDR.get(&self.instance.settings);
        // What is no address counts as none, as for Valkey.
        let from = from.parse().ok();
        let mut socket = Socket::connect(primary, (from, tls), self.timeout(), now)?;
        let raw = socket.raw()?;
        let endpoint = Endpoint {
            address: raw.peer_addr().map_or_else(|_| String::new(), |it| it.to_string()),
            local_address: raw.local_addr().map_or_else(|_| String::new(), |it| it.to_string()),
            fd: -1,
            is_unix: false,
        };
        *self.roles.socket.lock() = Some((self.changes, raw));
        self.go_on()?;
        self.become_client(endpoint);
        upstream_state(&self.instance, LinkState::Handshake);
        let synced = self.shake_hands(&mut socket);
        let synced = synced.inspect_err(|ended| self.follow_refusal(ended))?;
        self.accept(synced)?;
        if let Synced::Snapshot(id, offset) = synced {
            self.take_snapshot(&mut socket, id, offset)?;
        }
        self.while_role_stays(|link| upstream_state(&link.instance, LinkState::Connected))?;
        self.instance.follow_role();
        self.follow(&mut socket)
    }

    /// Registers the link as a client, with an id of its own.
    fn become_client(&mut self, endpoint: Endpoint) {
        let post: Arc<dyn Post> = Arc::new(LinkPost(Arc::clone(&self.roles)));
        let owner = Owner { post, sum: Arc::default(), entry: 0 };
        // It counts as no connection that `maxclients` limits, but `remove` takes one off.
        self.instance.clients.admit(u64::MAX);
        let client = self.instance.clients.add(endpoint, owner, self.instance.clock.steady());
        client.set_flag(ClientFlags::PRIMARY, true);
        self.instance.local_deadlines.follow_link(client.id);
        self.follower = Follower::new(&self.instance, self.table, client);
        // That of the stream where it goes on, also behind a start and another role.
        self.follower.select(self.journal.ring().selected_database());
    }

    /// Says who this server is, and hears how it is to go on.
    fn shake_hands(&mut self, socket: &mut Socket) -> Result<Synced, Ended> {
        let (mut handshake, bytes) = Handshake::begin(self.own());
        socket.send(&bytes)?;
        loop {
            self.go_on()?;
            while let Some(line) = socket.take_line(LINE_BYTES_MAX)? {
                match handshake.take(&line)? {
                    Next::Wait => {}
                    Next::Send(bytes) => socket.send(&bytes)?,
                    Next::Done(synced) => return Ok(synced),
                }
            }
            let now = self.instance.clock.steady();
            self.hear(socket)?;
            socket.read(LOOK, now)?;
        }
    }

    /// Acts inside the gate, unless the role has changed since this try began.
    fn while_role_stays<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> Result<T, Ended> {
        self.instance.store.enter(&self.thread);
        let done = if self.is_over() { Err(Ended::RoleChanged) } else { Ok(act(self)) };
        self.instance.store.leave(&self.thread);
        done
    }

    /// Takes note of how the primary goes on. A failover in progress has succeeded by that.
    fn accept(&mut self, synced: Synced) -> Result<(), Ended> {
        let ended = self.while_role_stays(|link| {
            if let Synced::Continues(id) = synced {
                link.continue_as(id);
            }
            link.instance.end_failover(FailoverPhase::InProgress)
        })?;
        self.note_success(ended);
        Ok(())
    }

    fn note_success(&self, ended: Option<Attempt>) {
        if let Some(attempt) = ended {
            tracing::info!("Failover to {} succeeded", attempt.target_name());
            self.instance.unblock_for_role();
        }
    }

    /// Ends a failover in progress that the target has refused: this server stays the primary. One
    /// that cannot be reached is tried again, as it may be the primary by now; and if it then says
    /// that it is, it is.
    fn follow_refusal(&mut self, ended: &Ended) {
        let instance = Arc::clone(&self.instance);
        if self.is_over() || instance.replicas.failover.phase() != FailoverPhase::InProgress {
            return;
        }
        match ended {
            Ended::Refused(refused)
                if self.asked_in == Some(self.changes) && refused.is_of_primary() =>
            {
                // Its stream is asked for at the next try.
                let end = |link: &mut Self| link.instance.end_failover(FailoverPhase::InProgress);
                let ended = self.while_role_stays(end);
                self.note_success(ended.ok().flatten());
            }
            Ended::Refused(refused) if refused.is_of_psync() => {
                let attempt = instance.take_failover_back(&self.thread);
                if let Some(target) = attempt.map(|it| it.target_name()) {
                    tracing::info!(
                        "FAILOVER to {target} aborted: Failover target rejected psync request: \
                         {refused}"
                    );
                }
            }
            Ended::Refused(_) => {}
            _ => self.asked_in = Some(self.changes),
        }
    }

    /// Takes note of when the primary was heard of, and ends a link that is silent for long.
    pub fn hear(&self, socket: &Socket) -> Result<(), Ended> {
        let now = self.instance.clock.steady();
        self.instance.upstream.hear(socket.heard_at);
        let most = u64::try_from(self.timeout().as_millis()).unwrap_or(u64::MAX);
        if now.since(socket.heard_at) > most { Err(Ended::Silent) } else { Ok(()) }
    }

    fn own(&self) -> Own {
        let settings = &self.instance.settings;
        let history = self.instance.replicas.history();
        let has_history = self.roles.has_history.load(Acquire);
        let password = rows::PRIMARYAUTH.get(settings);
        let user = rows::PRIMARYUSER.get(settings);
        let address = rows::REPLICA_ANNOUNCE_IP.get(settings);
        let port = match rows::REPLICA_ANNOUNCE_PORT.get(settings) {
            0 if TLS_REPLICATION.get(settings) => settings::tls::TLS_PORT.get(settings),
            0 => network::PORT.get(settings),
            port => port,
        };
        Own {
            user: (!user.is_empty()).then(|| user.as_bytes().to_vec()),
            password: (!password.is_empty()).then(|| password.to_vec()),
            port,
            address: (!address.is_empty()).then(|| address.as_bytes().to_vec()),
            version: VALKEY_VERSION,
            has: history.filter(|_| has_history).map(|it| (it.id(), self.journal.offset())),
            fails_over: self.instance.replicas.failover.phase() == FailoverPhase::InProgress,
        }
    }
}

/// Takes note of how far the link has come.
pub(super) fn upstream_state(instance: &Instance, link: LinkState) {
    instance.upstream.set_link(link, instance.clock.steady());
}
