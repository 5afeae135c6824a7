//! Description of a row in COMMAND DOCS.

use super::arguments::{Argument, arguments};
use command::{Flags, Row};
use wire::Reply;

/// Writes the map of one command, with its subcommands.
pub(super) fn write(reply: &mut Reply<'_>, row: &'static Row) {
    let (arguments, children) = (arguments(row), row.children());
    let has_arguments = !arguments.is_empty() && children.is_empty();
    let is_system = row.spec.flags.contains(Flags::SYSTEM);
    let texts = [
        ("summary", row.spec.summary),
        ("since", row.spec.since),
        ("group", row.spec.group.name()),
        ("complexity", row.spec.complexity),
    ];
    let told = texts.iter().filter(|(_, value)| !value.is_empty());
    let parts = [is_system, !row.spec.history.is_empty(), has_arguments, !children.is_empty()];
    reply.map(told.clone().count() + parts.iter().filter(|is_there| **is_there).count());
    for (name, value) in told {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    if is_system {
        reply.bulk(b"doc_flags");
        reply.set(1);
        reply.simple("syscmd");
    }
    write_history(reply, row.spec.history);
    if has_arguments {
        reply.bulk(b"arguments");
        write_arguments(reply, &arguments);
    }
    if !children.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(children.len());
        for child in children {
            reply.bulk(child.full_name.as_bytes());
            write(reply, child);
        }
    }
}

fn write_history(reply: &mut Reply<'_>, history: &[(&str, &str)]) {
    if history.is_empty() {
        return;
    }
    reply.bulk(b"history");
    reply.set(history.len());
    for (version, change) in history {
        reply.array(2);
        reply.bulk(version.as_bytes());
        reply.bulk(change.as_bytes());
    }
}

fn write_arguments(reply: &mut Reply<'_>, arguments: &[Argument]) {
    reply.array(arguments.len());
    arguments.iter().for_each(|argument| write_argument(reply, argument));
}

fn write_argument(reply: &mut Reply<'_>, argument: &Argument) {
    let is_nested = !argument.arguments.is_empty();
    let has_flags = argument.optional || argument.multiple;
    let texts = [
        ("token", argument.token),
        ("since", argument.since),
        ("deprecated_since", argument.deprecated_since),
    ];
    let told = texts.iter().filter_map(|(name, text)| Some((*name, (*text)?)));
    let others = [!is_nested, argument.key_spec.is_some(), has_flags, is_nested];
    let others = others.iter().filter(|is_there| **is_there).count();
    reply.map(2 + told.clone().count() + others);
    write_field(reply, "name", &argument.name);
    write_field(reply, "type", argument.kind);
    if !is_nested {
        write_field(reply, "display_text", &argument.display);
    }
    if let Some(spec) = argument.key_spec {
        reply.bulk(b"key_spec_index");
        reply.integer(spec as i64);
    }
    told.for_each(|(name, text)| write_field(reply, name, text));
    if has_flags {
        reply.bulk(b"flags");
        let mark = reply.deferred_set();
        let flags = [
            ("optional", argument.optional),
            ("multiple", argument.multiple),
            ("multiple_token", argument.repeats_token),
        ];
        let set = flags.iter().filter(|(_, is_set)| *is_set);
        let count = set.map(|(name, _)| reply.simple(name)).count();
        reply.close_set(mark, count);
    }
    if is_nested {
        reply.bulk(b"arguments");
        write_arguments(reply, &argument.arguments);
    }
}

fn write_field(reply: &mut Reply<'_>, name: &str, value: &str) {
    reply.bulk(name.as_bytes());
    reply.bulk(value.as_bytes());
}
