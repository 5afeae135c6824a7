//! Clients: single commands, transactions, and attempts to replace what was read.

use super::action::{APART, Action, Name, name, several};
use super::history::{Held, SPACES, Transaction};
use super::script;
use crate::addresses::Addresses;
use crate::client::{Client, Reply, encoded};
use crate::hammer::chance::Chance;
use crate::hammer::words::{error, fine, words};
use anyhow::{Context, Result, bail, ensure};
use std::time::{Duration, Instant};

/// Rule that a client breaks on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fault {
    /// Keys that were read are not watched
    NoWatch,
    /// The commands of a transaction are sent without MULTI and EXEC
    NoMulti,
    /// A transaction that was executed is not in the history
    Forget,
}

/// What all clients of a round have in common.
pub(super) struct Place {
    pub(super) addresses: Addresses,
    pub(super) seed: u64,
    fault: Option<Fault>,
    /// True if databases change places now and then; what is in them is known inside transactions
    /// only.
    has_swaps: bool,
    began: Instant,
}

impl Place {
    pub(super) fn new(
        addresses: Addresses,
        seed: u64,
        fault: Option<Fault>,
        has_swaps: bool,
    ) -> Self {
        Self { addresses, seed, fault, has_swaps, began: Instant::now() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// How often something was done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) transactions: usize,
    pub(super) executed: usize,
    pub(super) discarded: usize,
    pub(super) watches_failed: usize,
    pub(super) scripts: usize,
    pub(super) refused: usize,
    pub(super) flushed: usize,
    pub(super) swapped: usize,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.executed += other.executed;
        self.discarded += other.discarded;
        self.watches_failed += other.watches_failed;
        self.scripts += other.scripts;
        self.refused += other.refused;
        self.flushed += other.flushed;
        self.swapped += other.swapped;
    }
}

/// Plays one client to the end of a round; what it did, in its order.
pub(super) fn play(
    place: &Place,
    number: usize,
    end: Instant,
) -> Result<(Vec<Transaction>, Counts)> {
    let mut client = Client::open(place.addresses.next(), PATIENCE)?;
    let mut chance = Chance::new(place.seed, number as u64);
    if chance.one_in(2) {
        client.ask(&words!["HELLO", 3])?;
    }
    let next = 0;
    let mut player =
        Player { place, number, client, chance, next, done: Vec::new(), counts: Counts::default() };
    while Instant::now() < end {
        player.step().with_context(|| format!("client {number}"))?;
    }
    Ok((player.done, player.counts))
}

struct Player<'place> {
    place: &'place Place,
    number: usize,
    client: Client,
    chance: Chance,
    next: u64,
    done: Vec<Transaction>,
    counts: Counts,
}

impl Player<'_> {
    fn step(&mut self) -> Result<()> {
        match self.chance.below(10) {
            0 | 1 if !self.place.has_swaps => self.commands_alone(),
            2..=5 => self.transaction(),
            _ => self.attempt(),
        }
    }

    /// Returns a value that nobody wrote.
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        ((self.number as u64) << 40) + self.next
    }

    fn actions(&mut self, most: usize) -> Vec<Action> {
        let count = self.chance.within(1, most);
        let fresh = (self.number as u64) << 40;
        let next = &mut self.next;
        let mut fresh = || {
            *next += 1;
            fresh + *next
        };
        (0..count).map(|_| Action::any(&mut self.chance, &mut fresh)).collect()
    }

    /// Makes all commands that come be in any of the databases, which it returns.
    fn select(&mut self) -> Result<usize> {
        let database = self.chance.below(SPACES);
        fine(&self.client.ask(&words!["SELECT", database])?)?;
        Ok(database)
    }

    /// Some commands in one pipeline, each a transaction.
    fn commands_alone(&mut self) -> Result<()> {
        let space = self.select()?;
        let actions = self.actions(4);
        let requests: Vec<_> = actions.iter().map(|it| it.words(&mut self.chance)).collect();
        let sent = self.place.now();
        self.client.send(&requests.iter().flat_map(|it| encoded(it)).collect::<Vec<_>>())?;
        for action in actions {
            let reply = self.client.receive()?;
            let mut done = Transaction::new(self.number, sent, self.place.now());
            done.space = space;
            if !self.is_refusal(&reply) {
                action.note(reply, &mut done)?;
                self.done.push(done);
            }
        }
        Ok(())
    }

    fn transaction(&mut self) -> Result<()> {
        let (database, other) = *self.chance.pick(&[(0, 1), (1, 0)]);
        let mut actions = vec![Action::Select(APART)];
        if self.place.has_swaps && self.chance.one_in(30) {
            actions.extend([Action::AddSwap, Action::SwapDatabases]);
            self.counts.swapped += 1;
        } else {
            actions.push(Action::CountSwaps);
        }
        actions.extend([Action::Select(database), Action::Enter(database, Vec::new())]);
        actions.extend(self.actions(6));
        if self.chance.one_in(1000) {
            // The number of the space is elsewhere meanwhile.
            actions.extend([Action::MoveNumber(APART), Action::Flush, Action::Select(APART)]);
            actions.extend([Action::MoveNumber(database), Action::Select(database)]);
            actions.extend(self.actions(3));
            self.counts.flushed += 1;
        }
        if self.chance.one_in(4) {
            actions.extend([Action::Select(other), Action::Enter(other, Vec::new())]);
            actions.extend(self.actions(3));
        }
        self.run(actions, true)
    }

    /// Replaces what was read, if nobody else has done so meanwhile.
    fn attempt(&mut self) -> Result<()> {
        let (database, keys) = (self.select()?, several(&mut self.chance));
        if self.place.fault != Some(Fault::NoWatch) {
            let names = keys.iter().map(|key| name(*key).into_bytes());
            let request: Vec<_> = [b"WATCH".to_vec()].into_iter().chain(names).collect();
            fine(&self.client.ask(&request)?)?;
        }
        let watched = self.look(database, &keys)?;
        let mut actions = vec![Action::Select(APART), Action::CountSwaps];
        actions.extend([Action::Select(database), Action::Enter(database, watched)]);
        for key in keys {
            if self.chance.one_in(2) {
                actions.push(Action::Put(key, self.fresh()));
            }
        }
        actions.extend(self.actions(2));
        self.run(actions, false)
    }

    /// Reads keys of the database. Which space that was is known only if none changes its place.
    fn look(&mut self, database: usize, keys: &[Name]) -> Result<Vec<(Name, Held)>> {
        let look = Action::GetAll(keys.to_vec());
        let (request, sent) = (look.words(&mut self.chance), self.place.now());
        let reply = self.client.ask(&request)?;
        let mut seen = Transaction::new(self.number, sent, self.place.now());
        seen.space = database;
        look.note(reply, &mut seen)?;
        let found = keys.iter().filter_map(|name| Some((*name, seen.read(seen.key(*name))?)));
        let found = found.collect();
        if !self.place.has_swaps {
            self.done.push(seen);
        }
        Ok(found)
    }

    /// MULTI, the actions, and EXEC or DISCARD. The last of the actions may be one script, which
    /// needs no MULTI if it is all and no keys are watched.
    fn run(&mut self, actions: Vec<Action>, watches_nothing: bool) -> Result<()> {
        let mut done = Transaction::new(self.number, 0, 0);
        if self.place.fault == Some(Fault::NoMulti) {
            return self.run_one_by_one(&actions, done);
        }
        let (count, has_script) = (actions.len(), self.chance.one_in(3));
        let place = if has_script { self.chance.below(count) } else { count };
        let (plain, scripted) = actions.split_at(place);
        let mut requests: Vec<_> = plain.iter().map(|it| it.words(&mut self.chance)).collect();
        if !scripted.is_empty() {
            requests.push(script::request(scripted, &mut self.chance));
            self.counts.scripts += 1;
        }
        if plain.is_empty() && watches_nothing && self.chance.one_in(2) {
            done.sent = self.place.now();
            let reply = self.client.ask(&requests[0])?;
            done.answered = self.place.now();
            self.note_script(scripted, reply, &mut done)?;
            self.done.push(done);
            return Ok(());
        }
        let is_discarded = self.chance.one_in(20);
        let last = if is_discarded { words!["DISCARD"] } else { words!["EXEC"] };
        let mut bytes = encoded(&words!["MULTI"]);
        requests.iter().for_each(|request| bytes.extend(encoded(request)));
        bytes.extend(encoded(&last));
        done.sent = self.place.now();
        self.client.send(&bytes)?;
        fine(&self.client.receive()?)?;
        for _ in &requests {
            let queued = self.client.receive()?;
            if !self.is_refusal(&queued) {
                ensure!(queued == Reply::Simple(b"QUEUED".to_vec()), "{queued:?}");
            }
        }
        let reply = self.client.receive()?;
        done.answered = self.place.now();
        if is_discarded {
            self.counts.discarded += 1;
            return fine(&reply);
        }
        self.ended((plain, scripted), reply, done)
    }

    fn ended(
        &mut self,
        (plain, scripted): (&[Action], &[Action]),
        reply: Reply,
        mut done: Transaction,
    ) -> Result<()> {
        match reply {
            Reply::Array(mut replies) => {
                let count = plain.len() + usize::from(!scripted.is_empty());
                ensure!(replies.len() == count, "{} replies", replies.len());
                let of_script = replies.drain(plain.len()..).next();
                for (action, reply) in plain.iter().zip(replies) {
                    action.note(reply, &mut done)?;
                }
                if let Some(reply) = of_script {
                    self.note_script(scripted, reply, &mut done)?;
                }
                self.counts.executed += 1;
                self.done.push(done);
            }
            Reply::NilArray | Reply::Null => self.counts.watches_failed += 1,
            reply if self.is_refusal(&reply) => {}
            reply => bail!("EXEC: {reply:?}"),
        }
        Ok(())
    }

    /// Notes what the commands of a script did. Those that were refused for want of memory did
    /// nothing.
    fn note_script(
        &mut self,
        actions: &[Action],
        reply: Reply,
        done: &mut Transaction,
    ) -> Result<()> {
        let Reply::Array(replies) = reply else { bail!("EVAL: {reply:?}") };
        ensure!(replies.len() == actions.len(), "{} replies of a script", replies.len());
        for (action, reply) in actions.iter().zip(replies) {
            if !self.is_refusal(&reply) {
                action.note(reply, done)?;
            }
        }
        Ok(())
    }

    /// What a client must not do: others come between the commands.
    fn run_one_by_one(&mut self, actions: &[Action], mut done: Transaction) -> Result<()> {
        done.sent = self.place.now();
        let mut replies = Vec::new();
        for action in actions {
            let request = action.words(&mut self.chance);
            replies.push(self.client.ask(&request)?);
        }
        done.answered = self.place.now();
        self.ended((actions, &[]), Reply::Array(replies), done)
    }

    /// True if the server refused to write for want of memory: nothing was done.
    fn is_refusal(&mut self, reply: &Reply) -> bool {
        let is_refusal =
            error(reply).is_some_and(|it| it.starts_with(b"OOM") || it.starts_with(b"EXECABORT"));
        self.counts.refused += usize::from(is_refusal);
        is_refusal
    }
}

/// Longest wait for a reply.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
