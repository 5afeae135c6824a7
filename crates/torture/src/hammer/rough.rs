//! Connections that end in the middle of a request, or do not read replies.

use super::carriers::Carrier;
use super::chance::Chance;
use super::line::requests;
use super::phase::Place;
use super::tokens::Tokens;
use super::words::{integer, words};
use crate::client::{Client, encoded};
use anyhow::Result;
use std::thread::sleep;
use std::time::Duration;

/// Opens one connection after the other and misuses it, until the phase is over.
pub(super) fn be_rough(place: &Place, tokens: &Tokens, number: u64) -> Result<()> {
    let mut chance = Chance::new(place.seed, number);
    while !place.is_over() {
        let client = Client::open(place.addresses.next(), place.patience)?;
        // The server may treat such a connection as it likes, as long as it keeps running.
        let _ = match chance.below(6) {
            0 => break_off(client, place, tokens, &mut chance),
            1 => leave_unread(client, place, tokens, &mut chance),
            2 => read_slowly(client, place, &mut chance),
            3 => be_killed(client, place, tokens, &mut chance),
            4 => leave_while_waiting(client, &mut chance),
            _ => send_in_pieces(client, place, tokens, &mut chance),
        };
        place.count(1);
        Client::open(place.addresses.next(), place.patience)?.ask(&words!["PING"])?;
    }
    Ok(())
}

/// Returns requests that lose no token, whichever of them are executed.
fn bytes_of_moves(place: &Place, tokens: &Tokens, chance: &mut Chance) -> Vec<u8> {
    let mut carrier = Carrier::new(place, tokens, ROUGH).that_moves_only();
    let count = chance.within(1, 50);
    let mut bytes = Vec::new();
    for request in requests(&mut carrier, chance, count) {
        bytes.extend(encoded(&request));
        let length = chance.length(place.shape.value_bytes);
        bytes.extend(encoded(&words!["SET", "rough", vec![b'x'; length], "PX", 100]));
    }
    bytes
}

fn break_off(
    mut client: Client,
    place: &Place,
    tokens: &Tokens,
    chance: &mut Chance,
) -> Result<()> {
    let bytes = bytes_of_moves(place, tokens, chance);
    let end = chance.below(bytes.len());
    client.send(&bytes[..end])?;
    pause(chance, 20);
    Ok(())
}

fn leave_unread(
    mut client: Client,
    place: &Place,
    tokens: &Tokens,
    chance: &mut Chance,
) -> Result<()> {
    client.send(&bytes_of_moves(place, tokens, chance))
}

fn send_in_pieces(
    mut client: Client,
    place: &Place,
    tokens: &Tokens,
    chance: &mut Chance,
) -> Result<()> {
    let bytes = bytes_of_moves(place, tokens, chance);
    let piece = chance.within(bytes.len() / 50 + 1, bytes.len());
    for piece in bytes.chunks(piece) {
        client.send(piece)?;
        pause(chance, 3);
    }
    Ok(())
}

/// Sends many requests, and reads the replies late or never.
fn read_slowly(mut client: Client, place: &Place, chance: &mut Chance) -> Result<()> {
    let count = chance.within(1, 60);
    for _ in 0..count {
        let (letter, family) =
            (*chance.pick(&['w', 'b', 'l', 'h']), chance.below(place.shape.families));
        let key = format!("tag:{letter}{family}:{}", chance.below(3));
        let request = match letter {
            'l' => words!["LRANGE", key, 0, -1],
            'h' => words!["HGETALL", key],
            _ => words!["GET", key],
        };
        client.send(&encoded(&request))?;
    }
    pause(chance, 1000);
    if chance.one_in(2) {
        for _ in 0..count {
            client.receive()?;
        }
    }
    Ok(())
}

fn be_killed(
    mut client: Client,
    place: &Place,
    tokens: &Tokens,
    chance: &mut Chance,
) -> Result<()> {
    let id = integer(&client.ask(&words!["CLIENT", "ID"])?)?;
    client.send(&bytes_of_moves(place, tokens, chance))?;
    pause(chance, 5);
    Client::open(place.addresses.next(), place.patience)?
        .ask(&words!["CLIENT", "KILL", "ID", id])?;
    Ok(())
}

/// Waits for keys that may be written, by commands that lose nothing, and disconnects.
fn leave_while_waiting(mut client: Client, chance: &mut Chance) -> Result<()> {
    let request = match chance.below(4) {
        0 => words!["BLPOP", "nothing", "nowhere", 0],
        1 => words!["BZPOPMIN", "nothing", 0],
        2 => words!["XREAD", "BLOCK", 0, "STREAMS", "stream0", "$"],
        _ => words!["BLMOVE", "tok:l0", "tok:l1", "LEFT", "RIGHT", 0],
    };
    client.send(&encoded(&request))?;
    pause(chance, 50);
    Ok(())
}

fn pause(chance: &mut Chance, milliseconds: usize) {
    sleep(Duration::from_millis(chance.below(milliseconds) as u64));
}

/// Stands for the number of a connection in key names.
const ROUGH: u64 = 999;
