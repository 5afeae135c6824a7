//! Sorting of lists, sets and sorted sets: SORT, SORT_RO.
//!
//! ```text
//! source ──▶ elements, with weights from BY ──▶ in order, LIMIT of them ──▶ what GET finds
//! ```

mod options;
mod order;
mod pattern;

use command::key_spec::find;
use command::{Call, FoundKeys, KeyFlags, KeySpec, Outcome, Pieces, effects, element};
use options::Options;
use order::{Elements, load};
use pattern::Pattern;
use session::{AccessModes, Refusal};
use settings::values::LIST_MAX_LISTPACK_SIZE;
use smallvec::SmallVec;
use store::value::list::{self, ListLimit};
use store::{Access, Element, Event, Key};
use wire::Reply;

const SORTSTORE: Event = Event::list("sortstore");

const NO_NUMBER: Refusal = Refusal::of("ERR One or more scores can't be converted into double");

pub fn sort(call: &mut Call<'_>) -> Outcome {
    sort_with(call, true)
}

pub fn sort_ro(call: &mut Call<'_>) -> Outcome {
    sort_with(call, false)
}

/// Finds the keys of SORT; the last STORE names the key for the result.
pub fn keys<'r>(specs: &[KeySpec], request: &[&'r [u8]]) -> Option<FoundKeys<'r>> {
    let mut found = find(specs, request)?;
    let (mut words, mut destination) = (request.iter().skip(2), None);
    while let Some(word) = words.next() {
        match word.to_ascii_lowercase().as_slice() {
            b"limit" => drop(words.nth(1)),
            b"by" | b"get" => drop(words.next()),
            b"store" => destination = words.next().copied().or(destination),
            _ => {}
        }
    }
    found.extend(destination.map(|key| (key, KeyFlags::OW | KeyFlags::UPDATE)));
    Some(found)
}

fn sort_with(call: &mut Call<'_>, may_store: bool) -> Outcome {
    let mut options = Options::parse(call, may_store)?;
    options.sorts_sets |= call.session.modes.contains(AccessModes::SCRIPT);
    let (store, keyspace) = (&call.instance.store, call.keyspace());
    let setting = LIST_MAX_LISTPACK_SIZE.get(&call.instance.settings);
    let source = call.key(1);
    let target = options.store.map(|name| store.key(keyspace, name));
    let keys: SmallVec<[Key<'_>; 2]> = std::iter::once(source).chain(target).collect();
    // Patterns lead to keys that are not known yet.
    let (mut access, reply) =
        if options.looks_up() { call.lock_everything() } else { call.lock(&keys) };
    let mut elements = load(&mut access, &source, &options)?;
    elements.weigh(|text| match &options.by {
        Some(pattern) => pattern.look_up(&mut access, store, keyspace, text),
        None => Some(text.to_vec()),
    });
    if !elements.sort() {
        return Err(NO_NUMBER.into());
    }
    let find = |access: &mut Access<'_>, pattern: &Pattern<'_>, text: &[u8]| {
        pattern.look_up(access, store, keyspace, text)
    };
    let Some(target) = target else {
        show(&mut access, &elements, &options, find, reply);
        return Ok(());
    };
    let results = gather(&mut access, &elements, &options, find);
    let texts = results.iter().map(Vec::as_slice);
    let is_removed = results.is_empty() && access.lookup_for_write(&target).is_some();
    list::store(&mut access, &target, texts, ListLimit::of_setting(setting))?;
    access.report_changes(is_removed.into(), Event::DEL, &target);
    access.report_changes(results.len() as u64, SORTSTORE, &target);
    if is_removed || !results.is_empty() {
        effects::del(&mut access, &target);
    }
    let mut pushed = Pieces::new(access.is_recording(), &[b"RPUSH", target.bytes]);
    results.iter().for_each(|text| pushed.add(&[text]));
    access.record_effects(&target, pushed);
    reply.integer(results.len() as i64);
    Ok(())
}

/// Replies with the elements, or with the values that GET finds for each.
fn show(
    access: &mut Access<'_>,
    elements: &Elements,
    options: &Options<'_>,
    find: impl Fn(&mut Access<'_>, &Pattern<'_>, &[u8]) -> Option<Vec<u8>>,
    reply: &mut Reply<'_>,
) {
    let chosen = elements.chosen();
    reply.array(chosen.len() * options.get.len().max(1));
    for text in chosen {
        if reply.is_over_limit() {
            break;
        }
        if options.get.is_empty() {
            element::bulk(reply, Element::of(text));
        }
        for pattern in &options.get {
            match find(access, pattern, text) {
                Some(found) => reply.bulk(&found),
                None => reply.null(),
            }
        }
    }
}

/// Collects the results to be stored: those of `show`, with an empty string for what is missing.
fn gather(
    access: &mut Access<'_>,
    elements: &Elements,
    options: &Options<'_>,
    find: impl Fn(&mut Access<'_>, &Pattern<'_>, &[u8]) -> Option<Vec<u8>>,
) -> Vec<Vec<u8>> {
    let mut results = Vec::new();
    for text in elements.chosen() {
        if options.get.is_empty() {
            results.push(text.to_vec());
        }
        for pattern in &options.get {
            results.push(find(access, pattern, text).unwrap_or_default());
        }
    }
    results
}
