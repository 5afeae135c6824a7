//! What COMMAND INFO tells of a row.

use super::{categories, children, tips};
use crate::key_positions::{self as keys, Search};
use crate::spec::{Flags, KeyFlags, KeySpec};
use crate::table::Row;
use wire::Reply;

const FLAGS: [(Flags, &str); 14] = [
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
    (Flags::FAST, "fast"),
    (Flags::NO_AUTH, "no_auth"),
    (Flags::NO_MULTI, "no_multi"),
    (Flags::ALLOW_BUSY, "allow_busy"),
];

const KEY_FLAGS: [(KeyFlags, &str); 9] = [
    (KeyFlags::RO, "RO"),
    (KeyFlags::RW, "RW"),
    (KeyFlags::OW, "OW"),
    (KeyFlags::RM, "RM"),
    (KeyFlags::ACCESS, "access"),
    (KeyFlags::UPDATE, "update"),
    (KeyFlags::INSERT, "insert"),
    (KeyFlags::DELETE, "delete"),
    (KeyFlags::VARIABLE, "variable_flags"),
];

/// One command, with its subcommands.
pub(super) fn write(reply: &mut Reply<'_>, row: &'static Row) {
    let (first, last, step) = keys::range(row);
    reply.array(10);
    reply.bulk(row.full_name.as_bytes());
    reply.integer(row.spec.arity.into());
    let flags = FLAGS.iter().filter(|(flag, _)| row.spec.flags.contains(*flag));
    let movable = keys::are_movable(row).then_some("movablekeys");
    write_names(reply, flags.map(|(_, name)| *name).chain(movable));
    reply.integer(first.into());
    reply.integer(last.into());
    reply.integer(step.into());
    write_names(reply, categories::names(row));
    let tips = tips::of(row);
    reply.array(tips.len());
    tips.iter().for_each(|tip| reply.bulk(tip.as_bytes()));
    let specs = keys::specs(row);
    reply.set(specs.len());
    specs.iter().for_each(|spec| write_spec(reply, *spec));
    let children = children(row);
    reply.array(children.len());
    children.iter().for_each(|child| write(reply, child));
}

fn write_names(reply: &mut Reply<'_>, names: impl IntoIterator<Item = &'static str>) {
    let mark = reply.deferred_set();
    let count = names.into_iter().map(|name| reply.simple(name)).count();
    reply.close_set(mark, count);
}

/// What happens to a key.
pub(super) fn write_key_flags(reply: &mut Reply<'_>, flags: KeyFlags) {
    let names = KEY_FLAGS.iter().filter(|(flag, _)| flags.contains(*flag));
    write_names(reply, names.map(|(_, name)| *name));
}

fn write_spec(reply: &mut Reply<'_>, spec: Search) {
    let (Search::Range(KeySpec { flags, .. })
    | Search::Counted { flags, .. }
    | Search::Behind { flags, .. }
    | Search::Untold(flags)
    | Search::Keyword { flags, .. }) = spec;
    reply.map(3);
    reply.bulk(b"flags");
    write_key_flags(reply, flags);
    reply.bulk(b"begin_search");
    match spec {
        Search::Range(KeySpec { first: at, .. }) | Search::Counted { at, .. } => {
            write_search(reply, "index", &[("index", at)]);
        }
        Search::Keyword { word, from, .. } | Search::Behind { word, from, .. } => {
            write_keyword(reply, word, from);
        }
        Search::Untold(_) => write_search(reply, "unknown", &[]),
    }
    reply.bulk(b"find_keys");
    match spec {
        Search::Range(keys) => {
            // Counted from the first key, unless from the end.
            let last = if keys.last < 0 { keys.last } else { keys.last - keys.first };
            let fields = [("lastkey", last), ("keystep", keys.step), ("limit", 0)];
            write_search(reply, "range", &fields);
        }
        Search::Keyword { .. } => {
            write_search(reply, "range", &[("lastkey", 0), ("keystep", 1), ("limit", 0)]);
        }
        Search::Counted { step, .. } => {
            let fields = [("keynumidx", 0), ("firstkey", 1), ("keystep", step)];
            write_search(reply, "keynum", &fields);
        }
        Search::Behind { .. } => {
            let fields = [("lastkey", -1), ("keystep", 1), ("limit", 2)];
            write_search(reply, "range", &fields);
        }
        Search::Untold(_) => write_search(reply, "unknown", &[]),
    }
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
