//! Random rounds for a server that runs already, whatever it answers: clients that wait, deadlines
//! that are near, and values that fill its memory are among them. What it has made of them is
//! compared elsewhere.

use crate::client::{Client, Reply, encoded};
use crate::differential::generate::{CLIENTS, Dice, Generator, settings};
use crate::differential::step::{self, Action, Request, Step, name, request};
use crate::effects::near_deadline;
use anyhow::{Context, Result, bail, ensure};
use std::time::{Duration, Instant};

/// Arguments of `varve-torture rounds`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Port of the server on this machine
    #[arg(long)]
    port: u16,
    /// Seed of the rounds
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the first round
    #[arg(long, default_value_t = 0)]
    round: u64,
    /// Number of rounds, of some 500 requests each
    #[arg(long, default_value_t = 10)]
    rounds: u64,
    /// Protocol of all connections; otherwise some of each
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=3))]
    resp: Option<u8>,
    /// Megabytes of long values that are written in each round, to keys of their own
    #[arg(long, default_value_t = 0)]
    fill: usize,
}

/// Plays the rounds.
///
/// # Errors
/// If the server does not answer.
pub fn run(arguments: &Arguments) -> Result<()> {
    let generator = Generator::new(arguments.seed, arguments.resp, false);
    let mut requests = 0;
    for number in arguments.round..arguments.round + arguments.rounds {
        let mut player = Player::open(arguments.port)?;
        player
            .round(&generator, arguments.seed, number, arguments.fill)
            .with_context(|| format!("seed {}, round {number}", arguments.seed))?;
        requests += player.requests;
    }
    println!("{requests} requests in {} rounds", arguments.rounds);
    Ok(())
}

const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a value that fills memory.
const FILLING_BYTES: usize = 50_000;
/// Seconds until such a value expires.
const FAR_SECONDS: &str = "10000000";
/// Values that fill memory before the first is overwritten.
const FILLING_VALUES: usize = 4_000;

/// The clients of a round, and one that looks.
struct Player {
    clients: Vec<Client>,
    /// What the server calls them.
    ids: Vec<i64>,
    looker: Client,
    requests: u64,
}

impl Player {
    fn open(port: u16) -> Result<Player> {
        let open = || Client::open(port, PATIENCE);
        let mut clients = (0..CLIENTS).map(|_| open()).collect::<Result<Vec<_>>>()?;
        let ids = clients.iter_mut().map(id).collect::<Result<_>>()?;
        Ok(Player { clients, ids, looker: open()?, requests: 0 })
    }

    fn round(&mut self, generator: &Generator, seed: u64, number: u64, fill: usize) -> Result<()> {
        let dice = &mut Dice::new(!seed, number);
        self.send(0, settings::defaults())?;
        let steps = generator.round(number);
        let filling = (fill << 20) / FILLING_BYTES;
        let mut filled = 0;
        for (at, step) in steps.iter().enumerate() {
            self.step(step)?;
            if dice.percent(4) {
                self.send(0, near_deadline(dice))?;
            }
            while filled < filling * (at + 1) / steps.len() {
                for request in filling_value(number as usize * filling + filled) {
                    self.send(0, request)?;
                }
                filled += 1;
            }
        }
        Ok(())
    }

    fn send(&mut self, client: usize, mut request: Request) -> Result<()> {
        leave_sketches_alone(&mut request);
        self.requests += 1;
        self.clients[client].ask(&request).map(drop)
    }

    fn step(&mut self, Step { client, action }: &Step) -> Result<()> {
        match action {
            Action::Send(request) | Action::Iterate(request) => self.send(*client, request.clone()),
            Action::LetExpire(request, key) => {
                self.send(*client, request.clone())?;
                let exists = step::request(&[b"EXISTS", &key[..]]);
                self.until(*client, &exists, |reply| *reply != Reply::Integer(1))
                    .with_context(|| step::line(request))
            }
            Action::Serve { waiters, keys, then } => self.serve(*client, waiters, keys, then),
        }
    }

    /// Writes while other clients wait.
    fn serve(
        &mut self,
        client: usize,
        waiters: &[Request],
        keys: &[Vec<u8>],
        then: &[Request],
    ) -> Result<()> {
        let select = request(&["SELECT", "0"]);
        self.send(client, select.clone())?;
        self.send(client, [request(&["DEL"]), keys.to_vec()].concat())?;
        let mut waiting = Vec::new();
        for (other, waiter) in step::others(client).zip(waiters) {
            self.send(other, select.clone())?;
            self.clients[other].send(&encoded(waiter))?;
            let waits = self.until_blocked(other, waiting.len() + 1);
            if waits.with_context(|| step::line(waiter))? {
                waiting.push(other);
            }
        }
        then.iter().try_for_each(|request| self.send(client, request.clone()))?;
        waiting.into_iter().try_for_each(|other| self.end_waiting(other))
    }

    /// Has a client go on that still waits: where there is no room, nothing was pushed.
    fn end_waiting(&mut self, client: usize) -> Result<()> {
        let id = self.ids[client].to_string();
        self.looker.ask(&["CLIENT", "UNBLOCK", &id])?;
        self.clients[client].receive().map(drop)
    }

    /// Waits until so many clients wait, of which this is the last. Returns false if it does not,
    /// since there is no memory for what it asks for.
    fn until_blocked(&mut self, client: usize, clients: usize) -> Result<bool> {
        let (began, wanted) = (Instant::now(), format!("blocked_clients:{clients}\r"));
        loop {
            if let Reply::Bulk(text) = self.looker.ask(&["INFO", "clients"])?
                && String::from_utf8_lossy(&text).contains(&wanted)
            {
                return Ok(true);
            }
            if self.clients[client].has_answered()? {
                let reply = self.clients[client].receive()?;
                let is_refused = matches!(&reply, Reply::Error(text) if text.starts_with(b"OOM "));
                ensure!(is_refused, "no {clients} clients wait, and it has got {reply:?}");
                return Ok(false);
            }
            ensure!(began.elapsed() < PATIENCE, "no {clients} clients wait");
        }
    }

    fn until(
        &mut self,
        client: usize,
        request: &Request,
        is_done: impl Fn(&Reply) -> bool,
    ) -> Result<()> {
        let began = Instant::now();
        while !is_done(&self.clients[client].ask(request)?) {
            ensure!(began.elapsed() < PATIENCE, "{} goes on", step::line(request));
        }
        Ok(())
    }
}

fn id(client: &mut Client) -> Result<i64> {
    match client.ask(&["CLIENT", "ID"])? {
        Reply::Integer(id) => Ok(id),
        other => bail!("{other:?} is no id"),
    }
}

/// Takes the setting out that decides in which form a sketch is kept: the server that reads the
/// journal has its own setting, and clients see the form.
fn leave_sketches_alone(request: &mut Request) {
    let at = request.iter().position(|word| word == b"hll-sparse-max-bytes");
    if let Some(at) = at.filter(|_| name(request) == "CONFIG SET") {
        request.drain(at..(at + 2).min(request.len()));
    }
}

/// Puts a value that is long, of one of the types, with a deadline far away: any policy evicts it.
fn filling_value(number: usize) -> [Request; 2] {
    let key = format!("filling:{}", number % FILLING_VALUES);
    let (half, whole) = ("v".repeat(FILLING_BYTES / 2), "w".repeat(FILLING_BYTES));
    let value = match number % 4 {
        0 | 1 => request(&["SET", &key, &whole]),
        2 => request(&["RPUSH", &key, &half, &half]),
        _ => request(&["HSET", &key, "one", &half, "other", &half]),
    };
    [value, request(&["EXPIRE", &key, FAR_SECONDS])]
}
