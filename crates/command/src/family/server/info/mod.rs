//! INFO: sections of names and values, in the order and under the names of Valkey.

mod activity;
mod clients;
mod counts;
mod keyspace;
mod memory;
mod server;
mod text;

pub(super) use memory::MemoryFacts;

use crate::call::{Call, Outcome};
use text::Text;

/// Function that writes the lines of a section.
type Write = fn(&mut Text, &mut Call<'_>);

/// Section: its title, true if it is shown by default, and the function for its lines.
struct Section {
    title: &'static str,
    by_default: bool,
    write: Write,
}

const fn section(title: &'static str, by_default: bool, write: Write) -> Section {
    Section { title, by_default, write }
}

/// Title of the section that is shown only to those who name it.
const DEBUG: &str = "Debug";

const SECTIONS: [Section; 14] = [
    section("Server", true, server::server),
    section("Clients", true, clients::clients),
    section("Memory", true, memory::memory),
    section("Persistence", true, activity::persistence),
    section("Stats", true, activity::stats),
    section("Replication", true, activity::replication),
    section("CPU", true, server::cpu),
    section("Modules", true, |_, _| {}),
    section("Commandstats", false, counts::commands),
    section("Errorstats", true, counts::errors),
    section("Latencystats", false, counts::latency),
    section("Cluster", true, server::cluster),
    section("Keyspace", true, keyspace::keyspace),
    section(DEBUG, false, activity::debug),
];

pub(super) fn info(call: &mut Call<'_>) -> Outcome {
    let mut text = Text::default();
    for section in &SECTIONS {
        if is_asked_for(section, call) {
            text.title(section.title);
            (section.write)(&mut text, call);
        }
    }
    call.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

fn is_asked_for(section: &Section, call: &Call<'_>) -> bool {
    if call.args.len() == 1 {
        return section.by_default;
    }
    (1..call.args.len()).any(|at| {
        call.args.is(at, section.title)
            || (section.title != DEBUG
                && (call.args.is(at, "all") || call.args.is(at, "everything")))
            || (section.by_default && call.args.is(at, "default"))
    })
}
