//! Lines about commands: made when one has run, sent when its batch has ended.

use crate::row::Call;
use crate::shown::words_shown;
use session::{AccessModes, ClientFlags, Instance, Needs, Session};
use std::io::Write as _;

/// Bytes of lines of a client that are sent before its batch ends.
const LINES_MAX: usize = 64 << 10;

/// Begins to show a client every command.
pub fn begin_monitor(instance: &Instance, session: &mut Session) {
    session.set_monitor(true);
    let withdraw = || instance.clients.grants.withdraw(Needs::UNMONITORED);
    instance.monitors.add(&session.client, session.protocol, withdraw);
}

/// Ends that, if it has begun.
pub fn end_monitor(instance: &Instance, session: &mut Session) {
    if session.is_monitor() {
        session.set_monitor(false);
        let restore = || instance.clients.grants.restore(Needs::UNMONITORED);
        instance.monitors.remove(&session.client, restore);
    }
}

/// Notes a command that has run, unless its row says that nobody is to see it.
pub(crate) fn note(call: &mut Call<'_>) {
    if call.row.needs.contains(Needs::UNMONITORED) && !call.instance.loading.is_active() {
        let mut lines = std::mem::take(&mut call.session.lines);
        write_line(call, &mut lines);
        call.session.lines = lines;
        // Its own line comes before its next reply.
        call.session.yields |= call.session.is_monitor();
    }
}

/// Shows a command that runs a script to clients that run MONITOR, before the commands that this
/// calls. To be called first, since it is shown whatever is wrong with it.
pub fn show_script(call: &mut Call<'_>) {
    if call.instance.is_monitored() && !call.instance.loading.is_active() {
        let mut lines = std::mem::take(&mut call.session.lines);
        write_line(call, &mut lines);
        call.session.lines = lines;
        call.session.yields |= call.session.is_monitor();
    }
}

/// Notes a command that has run with no lock held.
pub(crate) fn note_and_send(call: &mut Call<'_>) {
    note(call);
    if call.session.lines.len() > LINES_MAX {
        send_monitor_lines(call.instance, call.session);
    }
}

/// Sends the lines that were noted of a client to clients that run MONITOR, and postpones commands
/// where a worker of one of these has much to read. To be called with no lock held.
#[cold]
pub fn send_monitor_lines(instance: &Instance, session: &mut Session) {
    let left = instance.monitors.leave(&session.lines);
    session.lines.clear();
    session.lines.shrink_to(LINES_MAX);
    left.sleepers.iter().for_each(|post| post.wake());
    if left.is_behind {
        instance.clients.grants.withdraw(Needs::LINE_ROOM);
    }
}

/// Appends the line of a command: when, in which database, from where, and its arguments.
fn write_line(call: &Call<'_>, out: &mut Vec<u8>) {
    let (micros, client) = (call.instance.clock.micros(), &call.session.client);
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    let address = &client.address;
    let database = call.session.database;
    // Writing to a vector cannot fail.
    let _ = match client.flags().contains(ClientFlags::UNIX_SOCKET) {
        _ if call.session.modes.contains(AccessModes::SCRIPT) => {
            write!(out, "+{seconds}.{micros:06} [{database} lua]")
        }
        false => write!(out, "+{seconds}.{micros:06} [{database} {address}]"),
        true => {
            let path = address.strip_suffix(":0").unwrap_or(address);
            write!(out, "+{seconds}.{micros:06} [{database} unix:{path}]")
        }
    };
    for word in words_shown(call) {
        out.push(b' ');
        text::quote_to(&word, out);
    }
    out.extend_from_slice(b"\r\n");
}
