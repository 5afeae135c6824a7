//! A server, those that follow it, and what is compared.

use super::follower::{Follower, shown};
use super::near::near_deadline;
use super::peer::Peer;
use super::server::{Recorder, Server};
use super::state::{State, value_of};
use crate::differential::generate::{CLIENTS, Dice, Generator};
use crate::differential::step::{Action, Request, Step, name, request, word};
use anyhow::{Result, bail};
use base::Millis;
use std::fmt;
use std::sync::Arc;
use store::Unit;

/// Steps after which the states are compared, at most.
const STEPS_PER_LOOK: usize = 100;

/// A server, its follower, and the peers that follow it too.
pub struct Proof {
    server: Server,
    recorder: Arc<Recorder>,
    follower: Follower,
    peers: Vec<Peer>,
    figures: Figures,
    maxmemory: Option<u64>,
    /// Requests since the states were found equal.
    latest: Vec<Request>,
}

/// Figures of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    requests: u64,
    units: u64,
    pub effects: u64,
    looks: u64,
    keys: u64,
    pub evicted: u64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { requests, units, effects, looks, keys, evicted } = self;
        write!(f, "{requests} requests, {units} units, {effects} effects, {evicted} evicted; ")?;
        write!(f, "{keys} keys compared in {looks} looks")
    }
}

impl Proof {
    /// Starts a server and its follower.
    pub fn new(peers: Vec<Peer>) -> Proof {
        let server = Server::new(CLIENTS, begin());
        let recorder = server.record();
        let (follower, figures) = (Follower::new(), Figures::default());
        Proof { server, recorder, follower, peers, figures, maxmemory: None, latest: Vec::new() }
    }

    /// Begins anew with an empty server; the figures go on.
    ///
    /// # Errors
    /// When a peer cannot be flushed.
    pub fn renew(&mut self) -> Result<()> {
        self.figures = self.figures();
        (self.server, self.follower) = (Server::new(CLIENTS, begin()), Follower::new());
        self.recorder = self.server.record();
        self.latest.clear();
        if let Some(bytes) = self.maxmemory {
            self.server.limit_memory(bytes);
        }
        self.peers.iter_mut().try_for_each(Peer::flush)
    }

    /// Limits the memory of the server; keys are evicted for it.
    pub fn limit_memory(&mut self, maxmemory: u64) {
        self.maxmemory = Some(maxmemory);
        self.server.limit_memory(maxmemory);
    }

    /// Sends a request, and has the others follow.
    ///
    /// # Errors
    /// When an effect is refused.
    pub fn send(&mut self, client: usize, request: &Request) -> Result<Vec<u8>> {
        self.latest.push(request.clone());
        let reply = self.server.send(client, request);
        if name(request) == "CONFIG SET" {
            // The form of a sketch depends on one of the settings.
            self.follower.0.send(0, request);
            self.peers.iter_mut().try_for_each(|peer| peer.send(request))?;
        }
        self.figures.requests += 1;
        self.follow()?;
        Ok(reply)
    }

    fn follow(&mut self) -> Result<()> {
        let units: Vec<Unit> = self.recorder.take();
        self.figures.units += units.len() as u64;
        self.figures.effects += units.iter().map(|unit| unit.effects.len() as u64).sum::<u64>();
        if let Err(refused) = self.follower.apply(&units) {
            bail!("{refused}\nafter\n{}", self.history_text());
        }
        self.peers.iter_mut().try_for_each(|peer| peer.apply(&units))
    }

    /// Lets time pass, and removes what has expired if asked.
    ///
    /// # Errors
    /// When an effect is refused.
    pub fn advance(&mut self, millis: u64, sweeps: bool) -> Result<()> {
        self.server.instance.clock.advance(millis);
        if sweeps {
            self.server.sweep();
        }
        self.follow()
    }

    /// Compares the states, also of what has expired and is not removed yet.
    ///
    /// # Errors
    /// When they differ.
    pub fn look(&mut self) -> Result<()> {
        let here = State::of(&mut self.server);
        self.figures.looks += 1;
        self.figures.keys += here.keys() as u64;
        if let Some(difference) = here.difference(&State::of(&mut self.follower.0)) {
            bail!("{difference}\nafter\n{}", self.history_text());
        }
        if !self.peers.is_empty() {
            self.compare_peers()?;
        }
        self.latest.clear();
        Ok(())
    }

    fn compare_peers(&mut self) -> Result<()> {
        self.server.sweep();
        self.follow()?;
        for number in 0..self.peers.len() {
            let here = self.server.send(0, &Peer::question(None));
            if here != self.peers[number].digest(None)? {
                let (name, key) = (self.peers[number].name(), self.differing_key(number)?);
                bail!("{name} has another {key}, after\n{}", self.history_text());
            }
        }
        Ok(())
    }

    /// Finds a key that a peer holds with another value.
    fn differing_key(&mut self, number: usize) -> Result<String> {
        for database in 0..self.server.databases() {
            self.server.send(0, &request(&["SELECT", &database.to_string()]));
            for key in self.server.keys(database) {
                let here = self.server.send(0, &Peer::question(Some(&key)));
                if here != self.peers[number].digest(Some((database, &key)))? {
                    let value = value_of(&mut self.server, database, &key);
                    let value: Vec<String> = value.iter().map(shown).collect();
                    let (key, value) = (word(&key), value.join("; "));
                    return Ok(format!("value than {value} at {key} in database {database}"));
                }
            }
        }
        Ok("set of keys".to_owned())
    }

    fn history_text(&self) -> String {
        self.latest.iter().map(|it| format!("> {}\n", shown(it))).collect()
    }

    /// Plays a step of a round.
    fn step(&mut self, Step { client, action }: &Step) -> Result<()> {
        match action {
            Action::Send(request) | Action::Iterate(request) => {
                self.send(*client, request)?;
            }
            Action::LetExpire(request, _) => {
                self.send(*client, request)?;
                self.advance(31, false)?;
            }
            Action::Serve { waiters, keys, then } => {
                let keys = keys.iter().cloned();
                self.send(*client, &std::iter::once(b"DEL".to_vec()).chain(keys).collect())?;
                let others = (0..CLIENTS).filter(|other| other != client);
                for (other, waiter) in others.zip(waiters) {
                    self.send(other, waiter)?;
                }
                then.iter().try_for_each(|request| self.send(*client, request).map(drop))?;
            }
        }
        Ok(())
    }

    /// Plays a round of random steps, with times that pass and deadlines that are near.
    ///
    /// # Errors
    /// When the servers differ.
    pub fn round(&mut self, generator: &Generator, seed: u64, number: u64) -> Result<()> {
        self.renew()?;
        let dice = &mut Dice::new(!seed, number);
        let mut until_look = 1;
        for step in generator.round(number) {
            self.step(&step)?;
            if dice.percent(4) {
                self.send(0, &near_deadline(dice))?;
            }
            if dice.percent(5) {
                let times = [1, 20, 500, 5_000, 20_000_000, 20_000_000_000];
                self.advance(*dice.pick(&times), dice.percent(30))?;
            }
            until_look -= 1;
            if until_look == 0 {
                self.look()?;
                until_look = 1 + dice.below(STEPS_PER_LOOK);
            }
        }
        self.look()
    }

    /// The figures so far.
    pub fn figures(&self) -> Figures {
        let evicted = self.server.instance.store.totals().evicted;
        Figures { evicted: self.figures.evicted + evicted, ..self.figures }
    }
}

/// Time at which clocks begin: ahead of those of peers, which keep what is past a clock of ours.
fn begin() -> Millis {
    Millis(base::clock::wall_now().0 + 24 * 3_600_000)
}
