//! Clients that cache what they read, and drop what they are told to drop: once all is at rest, no
//! cache holds anything but what the server has.
//!
//! ```text
//! writers, of a few keys  ──▶ server ──▶ invalidations ──▶ caches, filled by GETs
//! a filler, of many keys ───▶   └─ expiry, eviction
//! rest: each cache is compared with GETs of a plain connection
//! ```
//! Between the rests, whatever a cache reads of a key must not be older than what it has read
//! before: each key has one writer, which numbers its values. Some caches are told through another
//! connection, whose messages may come before the replies that they are about, or behind them.

mod rest;
mod streams;
mod target;

use crate::client::{Client, Reply, encoded};
use crate::hammer::process::Server;
use anyhow::{Context, Result, ensure};
use base::Random;
use bench::Address;
use rest::{PATIENCE, first_wrong_at_rest};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use streams::{Adder, Follower};
use target::Target;

/// Arguments of `varve-torture caches`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Program of the server
    #[arg(long, default_value = "target/debug/varve-server")]
    server: PathBuf,
    /// Worker threads of the server
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// Every other connection speaks TLS
    #[arg(long)]
    tls: bool,
    /// Duration in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Seed of all choices; the interleaving of threads is not repeated
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Ignores one invalidation in a hundred, so that the run must fail
    #[arg(long)]
    fault: bool,
}

/// Numbered keys that are cached.
const KEYS: u64 = 48;
const WRITERS: u64 = 3;
const FOLLOWERS: u64 = 3;
/// Keys of the filler with values of a kilobyte, by which the cached ones are evicted too.
const FILLERS: u64 = 100_000;
/// Most prefixes that a client adds to those of which it is told.
const WIDENED_MAX: u64 = 500;
const MAXMEMORY: &str = "48mb";
/// Time between two rests.
const ROUND: Duration = Duration::from_millis(500);

/// Ways in which clients are told, and how many there are of each. A redirection goes to a client
/// of RESP3 and to one of RESP2 by turns.
const WAYS: [(&str, usize); 7] = [
    ("CLIENT TRACKING ON", 2),
    ("CLIENT TRACKING ON OPTIN", 1),
    ("CLIENT TRACKING ON OPTOUT", 1),
    ("CLIENT TRACKING ON BCAST PREFIX k", 1),
    ("CLIENT TRACKING ON NOLOOP", 2),
    ("CLIENT TRACKING ON REDIRECT", 2),
    ("CLIENT TRACKING ON BCAST PREFIX k REDIRECT", 2),
];

/// Runs rounds until the time is over.
///
/// # Errors
/// If a cache holds what the server does not, or an old value is read.
pub fn run(arguments: &Arguments) -> Result<()> {
    let options = ["--maxmemory", MAXMEMORY, "--maxmemory-policy", "allkeys-random"];
    let options: Vec<String> = options.map(str::to_owned).into();
    let server = Server::start(&arguments.server, arguments.threads, &options, arguments.tls)?;
    let mut caches = Vec::new();
    for (number, (line, count)) in WAYS.iter().enumerate() {
        for copy in 0..*count {
            let seed = arguments.seed << 8 | (number << 4 | copy) as u64;
            let target = match line.ends_with("REDIRECT") {
                true => Some(Target::open(server.addresses.next(), copy % 2 == 0)?),
                false => None,
            };
            caches.push(Cache::open(
                server.addresses.next(),
                line,
                target,
                (seed, arguments.fault),
            )?);
        }
    }
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        writers.push(Writer::open(server.addresses.next(), number, arguments.seed)?);
    }
    let mut adder = Adder::open(server.addresses.next(), arguments.seed)?;
    let mut followers = Vec::new();
    for number in 0..FOLLOWERS {
        followers.push(Follower::open(server.addresses.next(), arguments.seed << 8 | number)?);
    }
    fill_up(server.addresses.next())?;
    let began = Instant::now();
    let mut rounds = 0;
    while began.elapsed().as_secs() < arguments.seconds {
        round(&server, (&mut caches, &mut writers), (&mut followers, &mut adder))?;
        let mut plain = Client::open(server.addresses.next(), PATIENCE)?;
        for cache in &mut caches {
            cache.compare(&mut plain).with_context(|| format!("a cache by {}", cache.line))?;
        }
        for follower in &mut followers {
            follower.compare(&mut plain).context("a cache of the ends of streams")?;
        }
        rounds += 1;
    }
    let waits: u64 = followers.iter().map(|it| it.reads).sum();
    let reads: u64 = caches.iter().map(|cache| cache.reads).sum();
    let dropped: u64 = caches.iter().map(|cache| cache.dropped).sum();
    ensure!(dropped * 20 > reads, "{reads} reads, but only {dropped} were invalidated");
    drop((caches, followers));
    let [expired, evicted, emptied] =
        ["expired_keys", "evicted_keys", "cleaner_segments_emptied"].map(|it| server.count(it));
    let (expired, evicted, emptied) = (expired?, evicted?, emptied?);
    let is_all = expired > 0 && evicted > 0 && emptied > 0;
    ensure!(is_all, "{expired} expired, {evicted} evicted, {emptied} segments emptied");
    server.end(false)?;
    println!(
        "{rounds} rounds, {reads} reads, {dropped} dropped, {waits} waits, {expired} expired, \
         {evicted} evicted, {emptied} segments emptied: no cache was wrong"
    );
    Ok(())
}

/// Has all clients work for some time, and waits for them.
fn round(
    server: &Server,
    (caches, writers): (&mut [Cache], &mut [Writer]),
    (followers, adder): (&mut [Follower], &mut Adder),
) -> Result<()> {
    let is_over = AtomicBool::new(false);
    let mut filler = Client::open(server.addresses.next(), PATIENCE)?;
    thread::scope(|scope| {
        let mut all = Vec::new();
        for cache in caches {
            all.push(scope.spawn(|| cache.work(&is_over)));
        }
        for writer in writers {
            all.push(scope.spawn(|| writer.work(&is_over)));
        }
        for follower in followers {
            all.push(scope.spawn(|| follower.work(&is_over)));
        }
        all.push(scope.spawn(|| adder.work(&is_over)));
        all.push(scope.spawn(|| fill(&mut filler, &is_over)));
        thread::sleep(ROUND);
        is_over.store(true, Relaxed);
        all.into_iter().try_for_each(|it| it.join().expect("no thread panics"))
    })
}

/// Sets all keys of the filler, which take more than the memory may hold.
fn fill_up(address: Address) -> Result<()> {
    let mut client = Client::open(address, PATIENCE)?;
    for begin in (0..FILLERS).step_by(1000) {
        let numbers = begin..FILLERS.min(begin + 1000);
        client.send(&numbers.clone().flat_map(set_filler).collect::<Vec<u8>>())?;
        numbers.into_iter().try_for_each(|_| client.receive().map(drop))?;
    }
    Ok(())
}

/// Sets keys of the filler, so that others are evicted.
fn fill(client: &mut Client, is_over: &AtomicBool) -> Result<()> {
    let mut dice = Random::from_seed(7);
    while !is_over.load(Relaxed) {
        client.send(&set_filler(dice.below(FILLERS)))?;
        client.receive()?;
    }
    Ok(())
}

fn set_filler(number: u64) -> Vec<u8> {
    encoded(&[b"SET", format!("filler:{number}").as_bytes(), &[b'f'; 1000]])
}

/// Only writer of some keys, whose values are numbers that rise.
struct Writer {
    client: Client,
    number: u64,
    version: u64,
    dice: Random,
}

impl Writer {
    fn open(address: Address, number: u64, seed: u64) -> Result<Writer> {
        let client = Client::open(address, PATIENCE)?;
        Ok(Writer { client, number, version: 0, dice: Random::from_seed(seed << 8 | number) })
    }

    fn key(&mut self) -> String {
        format!("k{}", self.dice.below(KEYS / WRITERS) * WRITERS + self.number)
    }

    fn work(&mut self, is_over: &AtomicBool) -> Result<()> {
        while !is_over.load(Relaxed) {
            self.version += 1;
            let (key, other) = (self.key(), self.key());
            let version = self.version;
            let next = version + 1;
            let lines = match self.dice.below(12) {
                0 => vec![format!("DEL {key}")],
                1 => vec![format!("SET {key} {version} PX 10")],
                2 => vec![format!("PEXPIRE {key} 15")],
                3 => vec![format!("MSET {key} {version} {other} {version}")],
                4 => {
                    self.version = next;
                    let sets = [format!("SET {key} {version}"), format!("SET {other} {next}")];
                    [&["MULTI".to_owned()], &sets[..], &["EXEC".to_owned()]].concat()
                }
                5 if self.dice.below(200) == 0 => vec!["FLUSHALL".to_owned()],
                _ => vec![format!("SET {key} {version}")],
            };
            let requests: Vec<Vec<&str>> = lines.iter().map(|it| it.split(' ').collect()).collect();
            let bytes: Vec<u8> = requests.iter().flat_map(|it| encoded(it)).collect();
            self.client.send(&bytes)?;
            for _ in requests {
                let reply = self.client.receive()?;
                ensure!(!matches!(reply, Reply::Error(_)), "{lines:?}: {reply:?}");
            }
        }
        Ok(())
    }
}

/// Client with a cache.
struct Cache {
    client: Client,
    line: &'static str,
    /// Connection that is told of this one's keys, if it is another.
    target: Option<Target>,
    /// Values by number of key; `None` for a key that is not there.
    cached: HashMap<u64, Option<u64>>,
    /// Newest version that was read of each key.
    newest: HashMap<u64, u64>,
    dice: Random,
    ignores_some: bool,
    /// Prefixes that were added.
    widened: u64,
    reads: u64,
    dropped: u64,
}

impl Cache {
    fn open(
        address: Address,
        line: &'static str,
        target: Option<Target>,
        (seed, ignores_some): (u64, bool),
    ) -> Result<Cache> {
        let mut client = Client::open(address, PATIENCE)?;
        client.ask(&["HELLO", "3"])?;
        let id = target.as_ref().map(|target| target.id().to_string());
        let words: Vec<&str> = line.split(' ').chain(id.as_deref()).collect();
        let reply = client.ask(&words)?;
        ensure!(reply == Reply::Simple(b"OK".to_vec()), "{line}: {reply:?}");
        let dice = Random::from_seed(seed);
        let (cached, newest) = (HashMap::new(), HashMap::new());
        Ok(Cache {
            client,
            line,
            target,
            cached,
            newest,
            dice,
            ignores_some,
            widened: 0,
            reads: 0,
            dropped: 0,
        })
    }

    fn work(&mut self, is_over: &AtomicBool) -> Result<()> {
        while !is_over.load(Relaxed) {
            let wanted: Vec<u64> = (0..8).map(|_| self.dice.below(KEYS)).collect();
            let missing: Vec<u64> =
                wanted.into_iter().filter(|key| !self.cached.contains_key(key)).collect();
            self.read(&missing)?;
            if self.line.ends_with("NOLOOP") && self.dice.below(4) == 0 {
                self.touch()?;
            }
            if self.line.ends_with("PREFIX k") && self.widened < WIDENED_MAX {
                self.widen()?;
            }
        }
        Ok(())
    }

    /// Reads keys in one pipeline.
    fn read(&mut self, keys: &[u64]) -> Result<()> {
        let asks = self.line.ends_with("OPTIN");
        let mut bytes = Vec::new();
        for key in keys {
            if asks {
                bytes.extend(encoded(&["CLIENT", "CACHING", "YES"]));
            }
            bytes.extend(encoded(&["GET", &format!("k{key}")]));
        }
        bytes.extend(encoded(&["PING"]));
        self.client.send(&bytes)?;
        for key in keys {
            if asks {
                self.receive()?;
            }
            let version = match self.receive()? {
                Reply::Bulk(text) => Some(String::from_utf8(text)?.parse()?),
                Reply::Null => None,
                other => anyhow::bail!("GET answers {other:?}"),
            };
            if let Some(version) = version {
                let newest = self.newest.entry(*key).or_default();
                ensure!(version >= *newest, "k{key} is {version} again, behind {newest}");
                *newest = version;
            }
            self.cached.insert(*key, version);
            self.reads += 1;
        }
        self.receive()?;
        let Some(target) = &mut self.target else { return Ok(()) };
        target.messages()?.iter().try_for_each(|words| self.obey(words))
    }

    /// Has a key of its own cache expire earlier: it is not told, so it drops the key itself.
    fn touch(&mut self) -> Result<()> {
        let key = self.dice.below(KEYS);
        self.client.send(&encoded(&["PEXPIRE", &format!("k{key}"), "60000"]))?;
        self.receive()?;
        self.cached.remove(&key);
        Ok(())
    }

    /// Has the client told of the changes behind one more prefix.
    fn widen(&mut self) -> Result<()> {
        let prefix = format!("z{}:", self.widened);
        self.widened += 1;
        self.client.send(&encoded(&["CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", &prefix]))?;
        let reply = self.receive()?;
        ensure!(reply == Reply::Simple(b"OK".to_vec()), "{prefix}: {reply:?}");
        Ok(())
    }

    /// Waits for a reply, and does what messages before it ask for.
    fn receive(&mut self) -> Result<Reply> {
        loop {
            match self.client.receive()? {
                Reply::Push(words) => self.obey(&words)?,
                reply => return Ok(reply),
            }
        }
    }

    fn obey(&mut self, words: &[Reply]) -> Result<()> {
        let is_kept = self.ignores_some && self.dice.below(100) == 0;
        match words {
            [Reply::Bulk(name), Reply::Array(keys)] if name == b"invalidate" && !is_kept => {
                for key in keys {
                    let Reply::Bulk(key) = key else { anyhow::bail!("a key is {key:?}") };
                    let number = std::str::from_utf8(key)?.strip_prefix('k').context("its name")?;
                    self.dropped += u64::from(self.cached.remove(&number.parse()?).is_some());
                }
            }
            [Reply::Bulk(name), Reply::Null] if name == b"invalidate" => self.cached.clear(),
            [Reply::Bulk(name), _] if name == b"invalidate" => {}
            other => anyhow::bail!("an unknown message: {other:?}"),
        }
        Ok(())
    }

    /// Compares the cache with the server, once all that was put off is done.
    fn compare(&mut self, plain: &mut Client) -> Result<()> {
        first_wrong_at_rest(|| {
            self.read(&[])?;
            let wrong = self.first_wrong(plain)?;
            Ok(wrong.map(|(key, cached, present)| {
                format!("k{key} is {cached:?} in the cache, and {present:?} in the server")
            }))
        })
    }

    fn first_wrong(&self, plain: &mut Client) -> Result<Option<(u64, Option<u64>, Reply)>> {
        for (key, cached) in &self.cached {
            let present = plain.ask(&["GET", &format!("k{key}")])?;
            let is_right = match (&present, cached) {
                (Reply::Bulk(text), Some(cached)) => *text == cached.to_string().into_bytes(),
                (Reply::NilBulk, None) => true,
                _ => false,
            };
            if !is_right {
                return Ok(Some((*key, *cached, present)));
            }
        }
        Ok(None)
    }
}
