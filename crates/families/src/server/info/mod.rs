//! INFO: sections of names and values, in the order and under the names of Valkey.

mod activity;
mod clients;
mod counts;
mod keyspace;
mod memory;
mod replication;
mod server;
mod text;

pub(super) use memory::MemoryFacts;

use command::{Call, Outcome};
use text::Text;

/// Function that writes the lines of a section.
type Write = fn(&mut Text, &mut Call<'_>);

/// Section: its title, when it is shown, and the function for its lines.
struct Section {
    title: &'static str,
    /// Names of it besides the title.
    names: &'static [&'static str],
    shown: Shown,
    write: Write,
}

/// When a section is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Shown also when no section is named.
    ByDefault,
    /// Shown when it is named, and for `all`.
    WithAll,
    /// Shown only when it is named.
    ByName,
}

const fn section(title: &'static str, shown: Shown, write: Write) -> Section {
    Section { title, names: &[], shown, write }
}

impl Section {
    const fn named(self, names: &'static [&'static str]) -> Section {
        Section { names, ..self }
    }
}

const SECTIONS: [Section; 17] = [
    section("Server", Shown::ByDefault, server::server),
    section("TLS", Shown::WithAll, server::tls),
    section("Clients", Shown::ByDefault, clients::clients),
    section("Memory", Shown::ByDefault, memory::memory),
    section("Persistence", Shown::ByDefault, activity::persistence),
    section("Stats", Shown::ByDefault, activity::stats),
    section("Replication", Shown::ByDefault, replication::replication),
    section("CPU", Shown::ByDefault, server::cpu),
    section("Modules", Shown::ByDefault, server::modules).named(&["module_list"]),
    section("Commandstats", Shown::WithAll, counts::commands),
    section("Errorstats", Shown::ByDefault, counts::errors),
    section("Latencystats", Shown::WithAll, counts::latency),
    section("Cluster", Shown::ByDefault, server::cluster),
    section("Cluster Info", Shown::WithAll, |_, _| {}).named(&["cluster_info"]),
    section("Scripting Engines", Shown::WithAll, server::engines).named(&["scriptingengines"]),
    section("Keyspace", Shown::ByDefault, keyspace::keyspace),
    section("Debug", Shown::ByName, activity::debug),
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
        return section.shown == Shown::ByDefault;
    }
    (1..call.args.len()).any(|at| {
        call.args.is(at, section.title)
            || section.names.iter().any(|name| call.args.is(at, name))
            || (section.shown != Shown::ByName
                && (call.args.is(at, "all") || call.args.is(at, "everything")))
            || (section.shown == Shown::ByDefault && call.args.is(at, "default"))
    })
}
