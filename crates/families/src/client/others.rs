//! CLIENT subcommands about other clients.

use super::filter::Filter;
use crate::closing::close_all;
use base::Steady;
use command::{Call, Outcome, client_line};
use session::{Client, Pause, Refusal, Waiter};
use std::sync::Arc;

pub fn list(call: &mut Call<'_>) -> Outcome {
    let filter = match call.args.len() {
        2 => Filter::default(),
        3 => return Err(Refusal::SYNTAX.into()),
        _ => Filter::parse(call, 2)?,
    };
    client_line::note_command(call);
    let mut text = Vec::new();
    matching(call, &filter).for_each(|client| client_line::write(&mut text, call, &client));
    call.reply.verbatim(b"txt", &text);
    Ok(())
}

pub fn kill(call: &mut Call<'_>) -> Outcome {
    let is_address = call.args.len() == 3;
    let filter = if is_address {
        Filter::address(call.args.get(2))
    } else {
        Filter::parse(call, 2)?.or_skip_me()
    };
    let own = call.session.client.id;
    let (owns, others): (Vec<_>, Vec<_>) = matching(call, &filter).partition(|it| it.id == own);
    // The own connection still gets the reply.
    let is_own_among = !owns.is_empty();
    let killed = i64::from(is_own_among) + close_all(call.instance, others.into_iter());
    match (is_address, killed) {
        (true, 0) => return Err(Refusal::of("ERR No such client").into()),
        (true, _) => call.reply.ok(),
        (false, _) => call.reply.integer(killed),
    }
    if is_own_among {
        call.session.close();
    }
    Ok(())
}

fn matching<'c>(call: &Call<'c>, filter: &Filter<'c>) -> impl Iterator<Item = Arc<Client>> {
    let (own, now) = (call.session.client.id, call.instance.clock.steady());
    let mut clients = call.instance.clients.list();
    clients.retain(|client| !client.is_doomed() && filter.matches(client, own, now));
    clients.into_iter()
}

pub fn pause(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let what = match args.len() {
        4 if args.is(3, "WRITE") => Pause::Writes,
        4 if !args.is(3, "ALL") => {
            return Err(Refusal::of("ERR CLIENT PAUSE mode must be WRITE or ALL").into());
        }
        _ => Pause::Everything,
    };
    let until = parse_timeout(call, args.get(2))?;
    call.instance.clients.pause(what, until, call.instance.clock.steady());
    call.instance.keep_expired();
    call.reply.ok();
    Ok(())
}

/// Reads a timeout in milliseconds from now; returns its end, which has passed for zero.
fn parse_timeout(call: &Call<'_>, text: &[u8]) -> Result<Steady, Refusal> {
    let millis = text::parse_i64(text)
        .ok_or(Refusal::of("ERR timeout is not an integer or out of range"))?;
    let millis = u64::try_from(millis).map_err(|_| Refusal::of("ERR timeout is negative"))?;
    if i64::try_from(call.now.0.saturating_add(millis)).is_err() {
        return Err(Refusal::of("ERR timeout is out of range"));
    }
    let until = call.instance.clock.steady().after(millis);
    Ok(if millis == 0 { Steady(0) } else { until })
}

pub fn unpause(call: &mut Call<'_>) -> Outcome {
    call.instance.clients.unpause();
    call.instance.keep_expired();
    call.reply.ok();
    Ok(())
}

/// Ends the waiting of a client.
pub fn unblock(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let is_error = args.is(3, "ERROR");
    if args.len() == 4 && !args.is(3, "TIMEOUT") && !is_error {
        return Err(Refusal::of("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR").into());
    }
    let id = args.integer(2)?;
    let client = u64::try_from(id).ok().and_then(|id| call.instance.clients.find(id));
    let waiter = client.and_then(|client| client.waiter().clone());
    let waiter = waiter.filter(|waiter| waiter.may_be_late());
    let is_done = waiter.is_some_and(|waiter| {
        if is_error { refuse(call, &waiter) } else { command::time_out(call.instance, &waiter) }
    });
    call.reply.integer(is_done.into());
    Ok(())
}

/// Ends a wait with an error, which counts for the command that has waited; returns false if it was
/// answered before.
fn refuse(call: &Call<'_>, waiter: &Arc<Waiter>) -> bool {
    let is_done = call
        .instance
        .waiters
        .answer(&call.instance.clients, waiter, |reply| reply.error(UNBLOCKED.text()));
    if is_done {
        call.instance.statistics.count_error(UNBLOCKED.code());
        call.statistics.commands[waiter.command].rejected.add(1);
    }
    is_done
}

const UNBLOCKED: Refusal = Refusal::of("UNBLOCKED client unblocked via CLIENT UNBLOCK");
