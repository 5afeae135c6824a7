//! Description of a row in COMMAND INFO.

use command::key_spec::{are_movable, as_one_range};
use command::{Categories, Flags, KeyFlags, KeySearch, KeySpec, Row};
use wire::Reply;

const FLAGS: [(Flags, &str); 18] = [
    (Flags::WRITE, "write"),
    (Flags::READONLY, "readonly"),
    (Flags::DENYOOM, "denyoom"),
    (Flags::ADMIN, "admin"),
    (Flags::PUBSUB, "pubsub"),
    (Flags::NOSCRIPT, "noscript"),
    (Flags::BLOCKING, "blocking"),
    (Flags::LOADING, "loading"),
    (Flags::STALE, "stale"),
    (Flags::SKIP_MONITOR, "skip_monitor"),
    (Flags::SKIP_COMMANDLOG, "skip_commandlog"),
    (Flags::ASKING, "asking"),
    (Flags::FAST, "fast"),
    (Flags::NO_AUTH, "no_auth"),
    (Flags::NO_MANDATORY_KEYS, "no_mandatory_keys"),
    (Flags::NO_ASYNC_LOADING, "no_async_loading"),
    (Flags::NO_MULTI, "no_multi"),
    (Flags::ALLOW_BUSY, "allow_busy"),
];

const KEY_FLAGS: [(KeyFlags, &str); 11] = [
    (KeyFlags::RO, "RO"),
    (KeyFlags::RW, "RW"),
    (KeyFlags::OW, "OW"),
    (KeyFlags::RM, "RM"),
    (KeyFlags::ACCESS, "access"),
    (KeyFlags::UPDATE, "update"),
    (KeyFlags::INSERT, "insert"),
    (KeyFlags::DELETE, "delete"),
    (KeyFlags::NOT_KEY, "not_key"),
    (KeyFlags::VARIABLE, "variable_flags"),
    (KeyFlags::INCOMPLETE, "incomplete"),
];

/// Writes one command, with its subcommands.
pub(super) fn write(reply: &mut Reply<'_>, row: &'static Row) {
    let (first, last, step) = as_one_range(row.spec.keys);
    reply.array(10);
    reply.bulk(row.full_name.as_bytes());
    reply.integer(row.spec.arity.into());
    let flags = FLAGS.iter().filter(|(flag, _)| row.spec.flags.contains(*flag));
    let movable = are_movable(row.spec.keys).then_some("movablekeys");
    write_names(reply, flags.map(|(_, name)| *name).chain(movable));
    reply.integer(first.into());
    reply.integer(last.into());
    reply.integer(step.into());
    write_categories(reply, row.spec.all_categories());
    reply.set(row.spec.tips.len());
    row.spec.tips.iter().for_each(|tip| reply.bulk(tip.as_bytes()));
    reply.set(row.spec.keys.len());
    row.spec.keys.iter().for_each(|spec| write_spec(reply, spec));
    let children = row.children();
    reply.array(children.len());
    children.iter().for_each(|child| write(reply, child));
}

fn write_names(reply: &mut Reply<'_>, names: impl IntoIterator<Item = &'static str>) {
    let mark = reply.deferred_set();
    let count = names.into_iter().map(|name| reply.simple(name)).count();
    reply.close_set(mark, count);
}

fn write_categories(reply: &mut Reply<'_>, categories: Categories) {
    let mark = reply.deferred_set();
    let names = categories.iter_names().map(|(name, _)| format!("@{}", name.to_ascii_lowercase()));
    let count = names.map(|name| reply.simple(&name)).count();
    reply.close_set(mark, count);
}

/// Writes the names of the flags of a key.
pub(super) fn write_key_flags(reply: &mut Reply<'_>, flags: KeyFlags) {
    let names = KEY_FLAGS.iter().filter(|(flag, _)| flags.contains(*flag));
    write_names(reply, names.map(|(_, name)| *name));
}

fn write_spec(reply: &mut Reply<'_>, spec: &KeySpec) {
    reply.map(3);
    reply.bulk(b"flags");
    write_key_flags(reply, spec.flags);
    reply.bulk(b"begin_search");
    match spec.search {
        KeySearch::Range { first: at, .. } | KeySearch::Counted { at, .. } => {
            write_search(reply, "index", &[("index", at)]);
        }
        KeySearch::Keyword { word, from }
        | KeySearch::FirstHalf { word, from }
        | KeySearch::Rest { word, from } => {
            write_keyword(reply, word, from);
        }
        KeySearch::Unknown => write_search(reply, "unknown", &[]),
    }
    reply.bulk(b"find_keys");
    match spec.search {
        KeySearch::Range { first, last, step } => {
            // Relative to the first key, unless it counts from the end.
            let last = if last < 0 { last } else { last - first };
            write_range(reply, last, step, 0);
        }
        KeySearch::Keyword { .. } => write_range(reply, 0, 1, 0),
        KeySearch::FirstHalf { .. } => write_range(reply, -1, 1, 2),
        KeySearch::Rest { .. } => write_range(reply, -1, 1, 0),
        KeySearch::Counted { step, .. } => {
            let fields = [("keynumidx", 0), ("firstkey", 1), ("keystep", step)];
            write_search(reply, "keynum", &fields);
        }
        KeySearch::Unknown => write_search(reply, "unknown", &[]),
    }
}

fn write_range(reply: &mut Reply<'_>, last: i16, step: i16, limit: i16) {
    write_search(reply, "range", &[("lastkey", last), ("keystep", step), ("limit", limit)]);
}

fn write_keyword(reply: &mut Reply<'_>, word: &str, from: i16) {
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"keyword");
    reply.bulk(b"spec");
    reply.map(2);
    reply.bulk(b"keyword");
    reply.bulk(word.as_bytes());
    reply.bulk(b"startfrom");
    reply.integer(from.into());
}

fn write_search(reply: &mut Reply<'_>, kind: &str, fields: &[(&str, i16)]) {
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(kind.as_bytes());
    reply.bulk(b"spec");
    reply.map(fields.len());
    for (name, value) in fields {
        reply.bulk(name.as_bytes());
        reply.integer((*value).into());
    }
}
