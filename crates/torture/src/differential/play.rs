//! Plays steps on both servers until they differ.

use super::case::Case;
use super::generate::{CLIENTS, KEYS};
use super::known;
use super::pair::{Answers, Broken, Pair};
use super::rule::{self, Rule, agree, elements, with_company};
use super::step::{self, Action, Request, Step, name, request};
use super::text::{first_difference, reply_text};
use crate::client::Reply;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// Failure that ended the playing of steps.
#[derive(Debug)]
pub struct Failure {
    /// Number of steps that had been played.
    pub played: usize,
    /// Kind of failure.
    pub what: What,
}

/// Kind of failure.
#[derive(Debug)]
pub enum What {
    /// Two replies differ.
    Differ {
        /// The request.
        request: Request,
        /// True if the request only read a key afterwards.
        is_check: bool,
        /// Reply of Varve.
        varve: Reply,
        /// Reply of the reference.
        valkey: Reply,
    },
    /// A server does not answer.
    Broken(Broken),
}

impl From<Broken> for What {
    fn from(broken: Broken) -> What {
        What::Broken(broken)
    }
}

impl What {
    /// Returns a text that is equal for failures of the same kind.
    pub fn signature(&self) -> String {
        match self {
            What::Differ { request, is_check, varve, valkey } => {
                let (varve, valkey) = first_difference(varve, valkey);
                if name(request) == "OBJECT ENCODING" {
                    let shown = |it: Option<&Reply>| it.map(reply_text).unwrap_or_default();
                    return format!("encoding: {} / {}", shown(varve), shown(valkey));
                }
                let looked = if *is_check { "look: " } else { "" };
                format!("{looked}{}: {} / {}", name(request), gist(varve), gist(valkey))
            }
            What::Broken(broken) => {
                let place = broken.error.split("panicked at ").nth(1).unwrap_or_default();
                format!("{} broken {}", broken.side, place.split(": ").next().unwrap_or_default())
            }
        }
    }
}

/// Returns the kind of a reply, or the text of an error.
fn gist(reply: Option<&Reply>) -> String {
    match reply {
        None => "missing".to_owned(),
        Some(Reply::Error(text)) => String::from_utf8_lossy(&text[..text.len().min(60)]).into(),
        Some(reply) => {
            let all = format!("{reply:?}");
            all.split('(').next().unwrap_or_default().to_owned()
        }
    }
}

/// Frequency of the comparisons of keys.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Most requests sent in one piece.
    pub batch: usize,
    /// Batches between two comparisons of all keys.
    pub looks: usize,
}

/// Result of playing.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Difference, if there was one.
    pub failure: Option<Failure>,
    /// Number of requests that both answered.
    pub requests: u64,
    /// Number of listed differences, by their reasons.
    pub listed: BTreeMap<&'static str, u64>,
}

/// Plays steps on servers that are in their initial state.
///
/// # Errors
/// If a server cannot be started.
pub fn play(pair: &mut Pair, steps: &[Step], pace: Pace) -> Result<Outcome> {
    pair.renew()?;
    let mut player = Player { pair, outcome: Outcome::default() };
    let mut played = 0;
    let mut batches = 0;
    while played < steps.len() {
        let end = played + batch_len(&steps[played..], pace.batch);
        let mut result = player.steps(&steps[played..end]);
        played = end;
        batches += 1;
        if result.is_ok() && (batches % pace.looks == 0 || played == steps.len()) {
            result = player.look_at_all();
        }
        if let Err(what) = result {
            player.outcome.failure = Some(Failure { played, what });
            break;
        }
    }
    Ok(player.outcome)
}

/// Returns the length of the next batch: requests of one client that fit into socket buffers.
fn batch_len(steps: &[Step], most: usize) -> usize {
    let mut bytes = 0;
    let fits = |step: &&Step| {
        let Action::Send(request) = &step.action else { return false };
        bytes += request.iter().map(|word| word.len() + 16).sum::<usize>();
        step.client == steps[0].client && bytes < BYTES_MAX
    };
    steps.iter().take(most).take_while(fits).count().max(1)
}

/// Player that sends the same requests to both servers, step by step.
pub struct Player<'a> {
    /// Both servers.
    pub pair: &'a mut Pair,
    /// Result so far.
    pub outcome: Outcome,
}

impl Player<'_> {
    /// Sends requests of the first client before any case.
    pub fn begin(&mut self, requests: &[Request]) -> Result<(), What> {
        self.ask(0, requests, false).map(drop)
    }

    /// Plays a case on the first client, and compares its keys after each command.
    pub fn case(&mut self, case: &Case) -> Result<(), What> {
        let mut requests = case.build.to_vec();
        for action in &case.actions {
            match action {
                Action::Send(request) => {
                    requests.push(request.clone());
                    requests.extend(rule::amends(request));
                }
                Action::LetExpire(request, key) => {
                    requests.push(request.clone());
                    self.ask(0, &std::mem::take(&mut requests), false)?;
                    self.pair.wait_until_gone(0, key)?;
                }
                Action::Iterate(request) => {
                    self.ask(0, &std::mem::take(&mut requests), false)?;
                    self.iterate(0, request)?;
                }
                Action::Serve { .. } => {}
            }
            // Sent in one piece with the requests that read keys, since round trips take most of
            // the time.
            let looks_from = requests.len();
            requests.extend(case.keys.iter().flat_map(|key| facts(key)));
            let answers = self.ask_and_look(0, &std::mem::take(&mut requests), looks_from)?;
            let Some(answers) = answers else { return Ok(()) };
            let mut requests = Vec::new();
            for (key, answers) in case.keys.iter().zip(answers[looks_from..].chunks(FACTS)) {
                let kind = &answers[0].valkey;
                requests.extend(contents(key, kind));
                if *kind == Reply::Simple(b"hash".to_vec()) {
                    requests.push(deadlines(key, &case.fields));
                }
            }
            if self.ask(0, &requests, true)?.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Plays one batch, and compares the keys that it names.
    fn steps(&mut self, steps: &[Step]) -> Result<(), What> {
        let client = steps[0].client;
        let mut keys = BTreeSet::new();
        match &steps[0].action {
            Action::Send(_) => {
                let mut requests = Vec::new();
                for step in steps {
                    if let Action::Send(request) = &step.action {
                        requests.extend(with_company(request));
                    }
                }
                self.ask(client, &requests, false)?;
                keys.extend(requests.iter().flatten().filter(|it| is_key(it)).cloned());
            }
            Action::Iterate(request) => self.iterate(client, request)?,
            Action::Serve { waiters, keys: waited, then } => {
                self.serve(client, waiters, waited, then)?;
                keys.extend(waited.iter().cloned());
            }
            Action::LetExpire(request, key) => {
                self.ask(client, std::slice::from_ref(request), false)?;
                self.pair.wait_until_gone(client, key)?;
                keys.insert(key.clone());
            }
        }
        self.look(client, &keys.into_iter().collect::<Vec<_>>(), false)
    }

    /// Sends requests and compares the replies; returns none if both removed all keys after a
    /// listed difference.
    fn ask(
        &mut self,
        client: usize,
        requests: &[Request],
        is_check: bool,
    ) -> Result<Option<Vec<Answers>>, What> {
        self.ask_and_look(client, requests, if is_check { 0 } else { requests.len() })
    }

    /// Does the same, where requests from a given index on only read keys.
    fn ask_and_look(
        &mut self,
        client: usize,
        requests: &[Request],
        looks_from: usize,
    ) -> Result<Option<Vec<Answers>>, What> {
        let answers = self.pair.exchange(client, requests)?;
        self.outcome.requests += requests.len() as u64;
        for (number, (request, Answers { varve, valkey })) in
            requests.iter().zip(&answers).enumerate()
        {
            if agree(rule::of(request), varve, valkey) {
                continue;
            }
            let Some(known) = known::find(request, varve, valkey) else {
                let (varve, valkey) = (varve.clone(), valkey.clone());
                let is_check = number >= looks_from;
                return Err(What::Differ { request: request.clone(), is_check, varve, valkey });
            };
            *self.outcome.listed.entry(known.reason).or_default() += 1;
            if !known.only_the_reply {
                // Later replies of this batch may depend on the difference.
                self.pair.exchange(client, &[step::request(&["FLUSHALL"])])?;
                return Ok(None);
            }
        }
        Ok(Some(answers))
    }

    /// Sends writes while other clients wait, and compares the replies to these.
    fn serve(
        &mut self,
        client: usize,
        waiters: &[Request],
        keys: &[Vec<u8>],
        then: &[Request],
    ) -> Result<(), What> {
        let select = request(&["SELECT", "0"]);
        let remove = [request(&["DEL"]), keys.to_vec()].concat();
        self.ask(client, &[select.clone(), remove], false)?;
        for (number, (waiter, other)) in waiters.iter().zip(step::others(client)).enumerate() {
            self.ask(other, std::slice::from_ref(&select), false)?;
            self.pair.start_waiting(other, waiter, number + 1)?;
        }
        for request in then {
            self.ask(client, std::slice::from_ref(request), false)?;
        }
        for (waiter, other) in waiters.iter().zip(step::others(client)) {
            let Answers { varve, valkey } = self.pair.receive(other)?;
            if !agree(Rule::Exact, &varve, &valkey) {
                let request = waiter.clone();
                return Err(What::Differ { request, is_check: false, varve, valkey });
            }
        }
        Ok(())
    }

    /// Follows the cursors of both servers.
    fn iterate(&mut self, client: usize, request: &Request) -> Result<(), What> {
        let mut requests = [request.clone(), request.clone()];
        let at = usize::from(name(request) != "SCAN") + 1;
        let mut found = [BTreeSet::new(), BTreeSet::new()];
        let mut pages = 0;
        let mut done = [false, false];
        while done != [true, true] && pages < PAGES_MAX {
            for number in 0..2 {
                if done[number] {
                    continue;
                }
                let side = if number == 0 { &mut self.pair.varve } else { &mut self.pair.valkey };
                side.send(client, &crate::client::encoded(&requests[number]))?;
                let reply = side.receive(client)?;
                let [Reply::Bulk(cursor), page] = elements(&reply) else {
                    return self.ask(client, std::slice::from_ref(request), false).map(drop);
                };
                let width = match rule::of(request) {
                    Rule::Page { pairs: true, .. } => 2,
                    _ => 1,
                };
                found[number].extend(elements(page).chunks(width).map(<[Reply]>::to_vec));
                done[number] = cursor == b"0";
                if let Some(word) = requests[number].get_mut(at) {
                    word.clone_from(cursor);
                }
            }
            pages += 1;
        }
        self.outcome.requests += pages as u64;
        let [varve, valkey] = found.map(|it| Reply::Array(it.into_iter().flatten().collect()));
        let both_end = done == [true, true];
        if varve == valkey && both_end {
            return Ok(());
        }
        match known::find(request, &varve, &valkey).filter(|it| it.only_the_reply && both_end) {
            Some(known) => *self.outcome.listed.entry(known.reason).or_default() += 1,
            None => {
                let request = request.clone();
                return Err(What::Differ { request, is_check: false, varve, valkey });
            }
        }
        Ok(())
    }

    /// Compares keys through the commands of clients.
    fn look(&mut self, client: usize, keys: &[Vec<u8>], thoroughly: bool) -> Result<(), What> {
        let requests: Vec<_> = keys.iter().flat_map(|key| facts(key)).collect();
        let Some(answers) = self.ask(client, &requests, true)? else { return Ok(()) };
        let mut requests = Vec::new();
        for (key, answers) in keys.iter().zip(answers.chunks(FACTS)) {
            requests.extend(contents(key, &answers[0].valkey));
        }
        // Large values fill socket buffers if they are requested together.
        for request in requests {
            let request = std::slice::from_ref(&request);
            let Some(answers) = self.ask(client, request, true)? else { return Ok(()) };
            if thoroughly && request[0][0] == b"HGETALL" {
                self.look_at_fields(client, &request[0][1], &answers[0].valkey)?;
            }
        }
        Ok(())
    }

    fn look_at_fields(&mut self, client: usize, key: &[u8], all: &Reply) -> Result<(), What> {
        let fields: Vec<_> = elements(all).iter().step_by(2).take(FIELDS_MAX).collect();
        if fields.is_empty() {
            return Ok(());
        }
        let fields: Vec<_> = fields
            .into_iter()
            .filter_map(|field| match field {
                Reply::Bulk(bytes) => Some(bytes.clone()),
                _ => None,
            })
            .collect();
        self.ask(client, &[deadlines(key, &fields)], true).map(drop)
    }

    /// Compares all keys of the databases that rounds use.
    fn look_at_all(&mut self) -> Result<(), What> {
        for database in ["0", "1", "2"] {
            let requests = [request(&["SELECT", database]), request(&["KEYS", "*"])];
            let Some(answers) = self.ask(CLIENTS, &requests, true)? else { continue };
            let keys: Vec<_> = elements(&answers[1].valkey)
                .iter()
                .filter_map(|key| match key {
                    Reply::Bulk(bytes) => Some(bytes.clone()),
                    _ => None,
                })
                .collect();
            self.look(CLIENTS, &keys, true)?;
        }
        Ok(())
    }
}

fn is_key(word: &[u8]) -> bool {
    KEYS.iter().any(|key| key.as_bytes() == word)
}

/// Returns the requests about any key; the first is for its type.
fn facts(key: &[u8]) -> [Request; FACTS] {
    [
        request(&[b"TYPE", key]),
        request(&[b"PTTL", key]),
        request(&[&b"OBJECT"[..], b"ENCODING", key]),
    ]
}

/// Returns the request for the deadlines of fields.
fn deadlines(key: &[u8], fields: &[Vec<u8>]) -> Request {
    let count = fields.len().to_string();
    let mut words = request(&[b"HPTTL", key, b"FIELDS", count.as_bytes()]);
    words.extend_from_slice(fields);
    words
}

/// Returns the requests that read a whole value.
fn contents(key: &[u8], kind: &Reply) -> Option<Request> {
    let Reply::Simple(kind) = kind else { return None };
    let (before, behind): (&[&str], &[&str]) = match kind.as_slice() {
        b"string" => (&["GET"], &[]),
        b"list" => (&["LRANGE"], &["0", "-1"]),
        b"hash" => (&["HGETALL"], &[]),
        b"set" => (&["SMEMBERS"], &[]),
        b"zset" => (&["ZRANGE"], &["0", "-1", "WITHSCORES"]),
        b"stream" => (&["XINFO", "STREAM"], &["FULL", "COUNT", "0"]),
        _ => return None,
    };
    let mut words = request(before);
    words.push(key.to_vec());
    words.extend(request(behind));
    Some(words)
}

const BYTES_MAX: usize = 64 << 10;
const PAGES_MAX: usize = 100_000;
const FACTS: usize = 3;
const FIELDS_MAX: usize = 200;

/// Pace of a long run.
pub const PACE: Pace = Pace { batch: 20, looks: 12 };
