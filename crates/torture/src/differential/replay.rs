//! Replay of a recording on one server.

use super::corpus::{Entry, read};
use super::known;
use super::pair::{Side, wait_until_gone};
use super::rule::{self, Rule, agree};
use super::step::{Request, line};
use super::text::reply_text;
use crate::client::{Reply, encoded};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

/// Plays a recording on one server; returns the number of requests with equal replies.
///
/// # Errors
/// If one reply differs, or the server does not answer.
pub fn replay(side: &mut Side, file: &Path) -> Result<u64> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut requests = 0;
    let mut round = 0;
    // After a listed difference the values differ until all keys are removed.
    let mut differs = false;
    for entry in read(&text)? {
        match entry {
            Entry::Fresh => {
                side.renew()?;
                round += 1;
            }
            Entry::Gone { client, key } => wait_until_gone(side, client, &key)?,
            Entry::Ask { client, request, reply } => {
                side.send(client, &encoded(&request))?;
                let varve = side.receive(client)?;
                requests += 1;
                differs &= request != [b"FLUSHALL"];
                let Some(reply) = reply.filter(|_| !differs) else { continue };
                if !is_as_recorded(&request, &varve, &reply)
                    && let Some(known) = known::find(&request, &varve, &reply)
                {
                    differs = !known.only_the_reply;
                    continue;
                }
                ensure!(
                    is_as_recorded(&request, &varve, &reply),
                    "round {round} of {}, request {requests}: {}\n  Varve:  {}\n  Valkey: {}",
                    file.display(),
                    line(&request),
                    reply_text(&varve),
                    reply_text(&reply),
                );
            }
        }
    }
    Ok(requests)
}

/// Compares a reply with the recorded one; recorded times are long past.
fn is_as_recorded(request: &Request, varve: &Reply, reply: &Reply) -> bool {
    agree(rule::of(request), varve, reply)
        || match rule::of(request) {
            Rule::Near(_) => agree(Rule::Near(i64::MAX), varve, reply),
            Rule::Times => agree(Rule::Shape, varve, reply),
            _ => false,
        }
}
