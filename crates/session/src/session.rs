//! State of a connection that lasts from one command to the next.

use crate::access_control::{AccessControl, Found};
use crate::access_modes::AccessModes;
use crate::apart::Apart;
use crate::client::{Client, ClientFlags, NEVER_QUEUED};
use crate::line::CurrentLine;
use crate::needs::Needs;
use crate::pubsub::{Subscriptions, Topic};
use crate::rare_bytes::RareBytes;
use crate::replicas::StreamRequest;
use crate::tracking::OwnTracking;
use crate::transaction::{Queue, Watches, Watching};
use crate::upstream::WantedRole;
use crate::waiter::ClientState;
use replication::Reader;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::Access;
use store::value::long_string::Staged;
use users::User;
use wire::Protocol;

mod queue;

/// Replies that a client gets, as CLIENT REPLY sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReplyMode {
    /// All.
    #[default]
    On,
    /// None.
    Off,
    /// None for the command that asks for it and the one after.
    SkipNext,
    /// None for this command.
    Skip,
}

/// The protocol state of one connection; its worker alone touches it.
#[derive(Debug)]
pub struct Session {
    /// State of this client as other threads see it.
    pub client: Arc<Client>,
    /// Number of the selected database.
    pub database: usize,
    /// RESP2 or RESP3.
    pub protocol: Protocol,
    /// Needs that are granted to this client.
    pub grants: Needs,
    /// Microseconds since the epoch, while time stands still for a transaction or a script.
    pub stopped_at: Option<u64>,
    /// How its commands treat keys.
    pub modes: AccessModes,
    /// Replies that it gets.
    pub reply_mode: ReplyMode,
    /// True if the connection is to be closed once the replies are written.
    pub close_after_reply: bool,
    /// True if the client has logged in, or was let in when it connected.
    is_logged_in: bool,
    /// True if it was authenticated at some time.
    was_authenticated: bool,
    /// The user that the client is, with the rules of `users_version`; `None` for a client of no
    /// connection, which may do everything.
    user: Option<Arc<User>>,
    users_version: u64,
    /// Commands queued since MULTI, or room for some.
    queue: Option<Box<Queue>>,
    /// Keys that it watches.
    pub watching: Option<Box<Watching>>,
    /// What it has subscribed to.
    pub subscriptions: Option<Box<Subscriptions>>,
    /// How it is notified of keys that change.
    pub tracking: Option<Box<OwnTracking>>,
    /// What commands of its last transaction have pushed, whose other replies it does not get.
    pub behind_exec: RareBytes,
    /// True if its transaction has ended a subscription. The reply of EXEC goes by mail, behind
    /// what others have published before.
    pub answers_by_mail: bool,
    /// What it has told of itself by REPLCONF.
    pub reader: Option<Box<Reader>>,
    /// The stream that it has asked for, until its connection leaves its worker.
    pub wants_stream: Option<Box<StreamRequest>>,
    /// The role that the server is to have behind its transaction.
    pub wants_role: Option<Box<WantedRole>>,
    /// True while requests are served that a pause has postponed.
    pub resumes: bool,
    /// True once a request has had a time to live, which counts from the moment of the request.
    pub counts_from_now: Cell<bool>,
    /// Position in the journal behind its last unit.
    pub last_unit: u64,
    /// Protocol of the messages to it: that of before RESET until RESET is answered, as
    /// they come ahead of the answer.
    message_protocol: Protocol,
    /// True if messages that its last command has caused may be on their way to itself: they come
    /// before its next command runs.
    pub yields: bool,
    /// True if its output may have other limits than before its last command, as it has begun or
    /// ended to subscribe.
    pub has_other_limits: bool,
    /// Bytes of the reply to its last command, if that came as mail.
    pub mailed_bytes: usize,
    /// The request at work, if it is one of Memcached's protocol.
    pub line: CurrentLine,
    /// A long argument of its next command that is received into the store.
    pub apart: Option<Box<Apart>>,
    /// Lines about its commands that are still to be sent to clients that run MONITOR.
    pub lines: Vec<u8>,
    /// True if the memory of its transaction, of keys that it watches, of its subscriptions or of
    /// the request with which it waits has changed since it was last counted.
    pub memory_changed: bool,
}

impl Session {
    /// The session of a client that has just connected.
    pub fn new(client: Arc<Client>, authenticated: bool) -> Session {
        let mut session = Session {
            client,
            database: 0,
            protocol: Protocol::Resp2,
            grants: Needs::OF_SESSION,
            stopped_at: None,
            modes: AccessModes::empty(),
            reply_mode: ReplyMode::On,
            close_after_reply: false,
            is_logged_in: authenticated,
            was_authenticated: false,
            user: None,
            users_version: 0,
            queue: None,
            watching: None,
            subscriptions: None,
            tracking: None,
            behind_exec: RareBytes::default(),
            answers_by_mail: false,
            reader: None,
            wants_stream: None,
            wants_role: None,
            resumes: false,
            counts_from_now: Cell::new(false),
            last_unit: 0,
            message_protocol: Protocol::Resp2,
            yields: false,
            has_other_limits: false,
            mailed_bytes: 0,
            line: CurrentLine::default(),
            apart: None,
            lines: Vec::new(),
            memory_changed: false,
        };
        session.set_authenticated(authenticated);
        session
    }

    /// The session of a connection that was just opened.
    pub fn of_connection(client: Arc<Client>, access: &AccessControl) -> Session {
        let mut session = Session::new(client, false);
        session.become_default(access);
        session
    }

    /// The session in which a script runs commands for the client: with its rights and databases,
    /// and with nothing that outlives the script.
    pub fn of_script(&self) -> Session {
        let modes = self.modes | AccessModes::SCRIPT;
        let (database, protocol, grants) = (self.database, self.protocol, self.grants);
        let (client, user) = (Arc::clone(&self.client), self.user.clone());
        let (users_version, last_unit) = (self.users_version, self.last_unit);
        let session = Session::new(client, true);
        Session { database, protocol, grants, modes, user, users_version, last_unit, ..session }
    }

    /// The user that the client is; `None` for a client of no connection.
    pub fn user(&self) -> Option<&Arc<User>> {
        self.user.as_ref()
    }

    /// The version of all users whose rules it knows.
    #[inline]
    pub fn users_version(&self) -> u64 {
        self.users_version
    }

    /// Makes the client a user.
    pub fn log_in(&mut self, found: Found, access: &AccessControl) {
        self.client.info().user = Some(Arc::clone(found.user.name()));
        self.memory_changed = true;
        self.is_logged_in = true;
        self.be(found, access);
        self.set_authenticated(true);
        // Its user may have gone before others could see whose client it is.
        self.take_new_rules(access);
    }

    /// Makes the client the user `default`, as it is when it connects.
    pub fn become_default(&mut self, access: &AccessControl) {
        let found = access.default_user();
        self.client.info().user = Some(Arc::clone(found.user.name()));
        self.is_logged_in = found.user.lets_in_anybody();
        self.set_authenticated(self.is_logged_in);
        self.be(found, access);
    }

    fn be(&mut self, Found { user, version }: Found, access: &AccessControl) {
        self.grants.set(Needs::PERMITTED, user.may_do_everything(access.catalog()));
        (self.user, self.users_version) = (Some(user), version);
    }

    /// Takes the rules of its user as they are now, if any user has changed.
    #[inline]
    pub fn take_new_rules(&mut self, access: &AccessControl) {
        if self.users_version != access.version() {
            self.follow_users(access);
        }
    }

    /// Takes the rules of its user as they are now. A client whose user is gone is closed, and may
    /// do nothing until then.
    #[cold]
    #[inline(never)]
    pub fn follow_users(&mut self, access: &AccessControl) {
        let Some(user) = &self.user else {
            self.users_version = access.version();
            return;
        };
        match access.find(user.name()) {
            Some(found) if !self.client.is_doomed() => self.be(found, access),
            _ => {
                self.grants.remove(Needs::PERMITTED);
                self.user = Some(Arc::new(access.without_rights(user)));
                self.users_version = access.version();
                self.close();
            }
        }
        // One that has not logged in needs not while `default` lets anybody in.
        let is_let_in = self.is_logged_in || access.default_user().user.lets_in_anybody();
        self.set_authenticated(is_let_in);
    }

    /// Takes the state in which its client began to wait.
    pub fn resume(client: Arc<Client>, state: &ClientState) -> Session {
        let session = Session::new(client, true);
        let reply_mode = if state.is_answered { ReplyMode::On } else { ReplyMode::Off };
        let ClientState { database, protocol, modes, grants, users_version, .. } = *state;
        let user = state.user.clone();
        Session { database, protocol, modes, grants, user, users_version, reply_mode, ..session }
    }

    /// Returns true if the client has given a password, or needs none.
    #[inline]
    pub fn is_authenticated(&self) -> bool {
        self.grants.contains(Needs::AUTHENTICATED)
    }

    /// Marks the client as authenticated or not; one that need not log in counts as such.
    pub fn set_authenticated(&mut self, authenticated: bool) {
        self.grants.set(Needs::AUTHENTICATED, authenticated);
        self.was_authenticated |= authenticated;
    }

    /// Returns true if the client has never been authenticated.
    pub fn is_stranger(&self) -> bool {
        !self.was_authenticated
    }

    /// Takes the argument of the command at work that was received into the store, if there is one.
    #[inline]
    pub fn take_staged(&mut self) -> Option<Staged> {
        self.apart.as_mut().and_then(|apart| apart.staged.take())
    }

    /// Shows other threads which command it runs, by the id of the row.
    pub fn show_command(&self, row: usize) {
        self.client.last_command.store(u32::try_from(row + 1).unwrap_or(0), Relaxed);
    }

    /// Returns true if the client wants the reply to the command that has ended; the next command
    /// is asked about anew.
    pub fn takes_reply(&mut self) -> bool {
        let is_wanted = self.reply_mode == ReplyMode::On;
        self.reply_mode = match self.reply_mode {
            ReplyMode::SkipNext => ReplyMode::Skip,
            ReplyMode::Skip => ReplyMode::On,
            mode => mode,
        };
        is_wanted
    }

    /// Ends its watching of keys.
    pub fn forget_watches(&mut self, watches: &Watches) {
        if let Some(watching) = self.watching.take() {
            watches.forget(&watching, &self.client);
            self.note_watching();
        }
    }

    /// Shows other threads how much it watches.
    pub fn note_watching(&mut self) {
        let (keys, bytes) = self.watching.as_ref().map_or((0, 0), |it| (it.len(), it.bytes()));
        self.client.watched.store(keys as u64, Relaxed);
        if self.client.queued.load(Relaxed) == NEVER_QUEUED {
            self.client.queued.store(0, Relaxed);
        }
        self.client.watch_bytes.store(bytes as u64, Relaxed);
        self.memory_changed = true;
    }

    /// Selects a database, and shows it to other threads.
    #[inline]
    pub fn select(&mut self, database: usize) {
        self.database = database;
        if self.modes.contains(AccessModes::SCRIPT) {
            return;
        }
        self.client.database.store(u32::try_from(database).unwrap_or(u32::MAX), Relaxed);
    }

    /// Switches to another version of the protocol.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.message_protocol = protocol;
        let version = if protocol == Protocol::Resp3 { 3 } else { 2 };
        self.client.protocol.store(version, Relaxed);
        self.grant_by_subscriptions();
    }

    /// Returns true if the client receives messages.
    #[inline]
    pub fn is_subscriber(&self) -> bool {
        self.subscriptions.is_some()
    }

    /// Lets messages that a command may have caused come before the next command.
    pub fn yield_if_subscriber(&mut self) {
        self.yields |= self.is_subscriber();
    }

    /// Takes note of subscriptions that have begun or ended: which commands are granted, and what
    /// other threads see.
    pub fn note_subscriptions(&mut self) {
        self.subscriptions.take_if(|subscriptions| subscriptions.is_empty());
        let count = |topic| self.subscriptions.as_ref().map_or(0, |it| it.count(topic) as u64);
        let client = &self.client;
        client.channels.store(count(Topic::Channel), Relaxed);
        client.patterns.store(count(Topic::Pattern), Relaxed);
        client.shard_channels.store(count(Topic::ShardChannel), Relaxed);
        let bytes = self.subscriptions.as_ref().map_or(0, |it| it.bytes() as u64);
        client.subscription_bytes.store(bytes, Relaxed);
        self.memory_changed = true;
        self.has_other_limits = true;
        client.set_flag(ClientFlags::PUBSUB, self.is_subscriber());
        self.grant_by_subscriptions();
    }

    /// Sets how the client is notified of keys that change; returns how it was.
    pub fn set_tracking(&mut self, tracking: Option<Box<OwnTracking>>) -> Option<Box<OwnTracking>> {
        self.grants.set(Needs::UNTRACKED, tracking.is_none());
        let enters = tracking.as_ref().is_some_and(|it| it.enters_reads());
        self.modes.set(AccessModes::ENTERS_READS, enters);
        std::mem::replace(&mut self.tracking, tracking)
    }

    /// Sets whether the next command is an exception, as CLIENT CACHING asks.
    pub fn set_caching_exception(&mut self, is_exception: bool) {
        if let Some(tracking) = &mut self.tracking {
            tracking.is_exception = is_exception;
            self.modes.set(AccessModes::ENTERS_READS, tracking.enters_reads());
        }
    }

    /// Grants what a subscriber may do: under RESP2, where replies and messages cannot be told
    /// apart, it may do little else.
    fn grant_by_subscriptions(&mut self) {
        let is_free = !self.is_subscriber() || self.protocol == Protocol::Resp3;
        self.grants.set(Needs::UNSUBSCRIBED, is_free);
    }

    /// Returns true if the client runs MONITOR.
    #[inline]
    pub fn is_monitor(&self) -> bool {
        !self.grants.contains(Needs::NO_MONITOR)
    }

    /// Returns true if there are lines for clients that run MONITOR.
    #[inline]
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Notes that the client begins or ends to run MONITOR. Meanwhile it is not postponed by
    /// pauses, and must leave keys alone.
    pub fn set_monitor(&mut self, is_monitor: bool) {
        self.grants.set(Needs::NO_MONITOR, !is_monitor);
        self.grants.set(Needs::UNPAUSED | Needs::WRITES_FLOW, is_monitor);
        self.client.set_flag(ClientFlags::MONITOR, is_monitor);
    }

    /// Closes the connection once the replies are written.
    pub fn close(&mut self) {
        self.close_after_reply = true;
        self.client.set_flag(ClientFlags::CLOSING, true);
    }

    /// Makes an access treat keys as the client asked: leave no trace, or see expired keys.
    #[cold]
    #[inline(always)]
    pub fn mark(&self, access: &mut Access<'_>) {
        if self.modes.contains(AccessModes::NO_TOUCH) {
            access.do_not_touch();
        }
        if self.modes.contains(AccessModes::IMPORT_SOURCE) {
            access.show_expired();
        }
    }

    /// Returns the protocol of the messages to the client.
    #[inline]
    pub fn message_protocol(&self) -> Protocol {
        self.message_protocol
    }

    /// Notes that all that was on its way when the protocol changed has come.
    pub fn finish_protocol_change(&mut self) {
        self.message_protocol = self.protocol;
    }

    /// Resets the session to its state when the client connected, except what the client's library
    /// reported about itself. Messages come in the protocol of before until
    /// `finish_protocol_change`.
    pub fn reset(&mut self, access: &AccessControl) {
        self.discard_queue();
        self.select(0);
        let message_protocol = self.message_protocol;
        self.set_protocol(Protocol::Resp2);
        self.message_protocol = message_protocol;
        if self.user.is_some() {
            self.become_default(access);
        }
        self.modes = AccessModes::empty();
        if self.reply_mode == ReplyMode::Off {
            self.reply_mode = ReplyMode::On;
        }
        self.client.info().name.clear();
        let cleared = ClientFlags::NO_EVICT
            | ClientFlags::NO_TOUCH
            | ClientFlags::IMPORT_SOURCE
            | ClientFlags::READONLY;
        self.client.set_flag(cleared, false);
    }
}
