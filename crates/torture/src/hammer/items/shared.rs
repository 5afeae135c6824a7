//! Items that many connections change: sums by CAS, of which none is lost; and items that become
//! stale, which one client each is told to write anew.

use super::super::chance::Chance;
use super::super::phase::Place;
use super::super::words::{text, words};
use super::connection::Connection;
use crate::client::Client;
use anyhow::{Context, Result, ensure};
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// What all connections know together.
#[derive(Debug, Default)]
pub(in super::super) struct Shared {
    /// Sum of what was added to each item.
    added: Mutex<HashMap<usize, u64>>,
    /// Items that were won, with the numbers that they had.
    won: Mutex<HashSet<(usize, u64)>>,
}

/// Adds to sums and writes stale items until the phase is over.
pub(in super::super) fn play(place: &Place, number: u64, shared: &Shared) -> Result<()> {
    let mut chance = Chance::new(place.seed, number);
    let mut connection = Connection::open(place)?;
    while !place.is_over() {
        let at = chance.below(ITEMS);
        match chance.below(4) {
            0 => add(&mut connection, at, &mut chance, shared),
            1 => add_by_meta(&mut connection, at, &mut chance, shared),
            2 => invalidate(&mut connection, at, &mut chance),
            _ => win(&mut connection, at, &mut chance, shared),
        }
        .with_context(|| format!("shared item {at}"))?;
        place.count(1);
    }
    Ok(())
}

/// Adds to a sum, unless another one has changed it in between.
fn add(connection: &mut Connection, at: usize, chance: &mut Chance, shared: &Shared) -> Result<()> {
    let delta = chance.bits() >> 24;
    let read = connection.ask(format!("gets cas:{at}\r\n").as_bytes())?;
    if read == b"END\r\n" {
        let new = delta.to_string();
        let line = format!("add cas:{at} 7 0 {}\r\n{new}\r\n", new.len());
        let answer = connection.ask(line.as_bytes())?;
        return note(shared, at, delta, is_done(&answer, b"STORED", b"NOT_STORED")?);
    }
    let text = std::str::from_utf8(&read)?;
    let mut words = text.split_ascii_whitespace();
    let (flags, cas) = (words.nth(2), words.nth(1).context("a CAS")?);
    ensure!(flags == Some("7"), "its flags are {flags:?}");
    let sum: u64 = words.next().context("a sum")?.parse()?;
    let new = sum.wrapping_add(delta).to_string();
    let line = format!("cas cas:{at} 7 0 {} {cas}\r\n{new}\r\n", new.len());
    let answer = connection.ask(line.as_bytes())?;
    note(shared, at, delta, is_done(&answer, b"STORED", b"EXISTS")?)
}

/// Does what `add` does, by meta commands.
fn add_by_meta(
    connection: &mut Connection,
    at: usize,
    chance: &mut Chance,
    shared: &Shared,
) -> Result<()> {
    let delta = chance.bits() >> 24;
    let read = connection.ask(format!("mg cas:{at} c f v\r\n").as_bytes())?;
    if read == b"EN\r\n" {
        return Ok(());
    }
    let text = std::str::from_utf8(&read)?;
    let mut words = text.split_ascii_whitespace().skip(2);
    let cas = words.next().and_then(|word| word.strip_prefix('c')).context("a CAS")?;
    ensure!(words.next() == Some("f7"), "other flags");
    let sum: u64 = words.next().context("a sum")?.parse()?;
    let new = sum.wrapping_add(delta).to_string();
    let line = format!("ms cas:{at} {} C{cas} F7\r\n{new}\r\n", new.len());
    let answer = connection.ask(line.as_bytes())?;
    note(shared, at, delta, is_done(&answer, b"HD", b"EX")?)
}

fn is_done(answer: &[u8], done: &[u8], refused: &[u8]) -> Result<bool> {
    let answer = answer.trim_ascii_end();
    ensure!(answer == done || answer == refused, "{}", answer.escape_ascii());
    Ok(answer == done)
}

fn note(shared: &Shared, at: usize, delta: u64, is_done: bool) -> Result<()> {
    if is_done && let Ok(mut added) = shared.added.lock() {
        let sum = added.entry(at).or_default();
        *sum = sum.wrapping_add(delta);
    }
    Ok(())
}

/// Makes an item stale, or deletes it.
fn invalidate(connection: &mut Connection, at: usize, chance: &mut Chance) -> Result<()> {
    let line = match chance.one_in(8) {
        true => format!("md stale:{at}\r\n"),
        false => format!("md stale:{at} I T1000\r\n"),
    };
    let answer = connection.ask(line.as_bytes())?;
    is_done(&answer, b"HD", b"NF").map(|_| ())
}

/// Asks for an item, and writes it anew if it is told to: nobody else is told so of the item that
/// has this number.
fn win(connection: &mut Connection, at: usize, chance: &mut Chance, shared: &Shared) -> Result<()> {
    let answer = connection.ask(format!("mg stale:{at} c N1000\r\n").as_bytes())?;
    let text = std::str::from_utf8(&answer)?;
    let mut words = text.split_ascii_whitespace().skip(1);
    let cas = words.next().and_then(|word| word.strip_prefix('c')).context("a CAS")?;
    let cas: u64 = cas.parse()?;
    if !words.any(|word| word == "W") {
        return Ok(());
    }
    let is_first = shared.won.lock().is_ok_and(|mut won| won.insert((at, cas)));
    ensure!(is_first, "two clients have won it with the number {cas}");
    if chance.one_in(4) {
        // Its writer is lost: others go on with what is stale.
        return Ok(());
    }
    let answer = connection.ask(format!("ms stale:{at} 5 C{cas} I\r\nvalue\r\n").as_bytes())?;
    let is_known = [&b"HD\r\n"[..], b"EX\r\n", b"NF\r\n"].contains(&&answer[..]);
    ensure!(is_known, "{}", answer.escape_ascii());
    Ok(())
}

/// Compares the sums with what all connections have added.
pub(in super::super) fn verify(client: &mut Client, shared: Shared) -> Result<()> {
    for (at, added) in shared.added.into_inner().unwrap_or_default() {
        let found = text(client.ask(&words!["GET", format!("cas:{at}")])?)?;
        let found = found.with_context(|| format!("cas:{at} is not there"))?;
        let found: u64 = std::str::from_utf8(&found)?.parse()?;
        ensure!(found == added, "cas:{at} is {found} instead of {added}");
    }
    Ok(())
}

/// Number of items of each kind.
const ITEMS: usize = 3;
