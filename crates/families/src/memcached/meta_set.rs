//! ms and md: an item is stored, made stale, or deleted.

use super::storage::{self, Extension};
use super::told::{
    FLAGS, KEY, Told, answer_without_item, given, is_base64, key_for_flags, make_room, write_flags,
};
use super::write::{put, set_expiry};
use super::{expiry_at, item_bytes_max};
use base::Millis;
use command::{Call, Outcome, effects};
use memcached::meta::{DeleteFlags, SetFlags, SetMode};
use memcached::reply;
use session::Refusal;
use std::num::NonZeroU64;
use store::value::long_string::Staged;
use store::{Attributes, Cas, Event, Expiry, Kind, ValueRef};

/// Place of the first flag of ms.
const FLAGS_OF_SET: usize = 3;

pub fn ms(call: &mut Call<'_>) -> Outcome {
    let Some(line) = call.session.line.get() else { return Err(Refusal::SYNTAX.into()) };
    if let Some(refusal) = line.refusal {
        return storage::drop_value(call, refusal);
    }
    let (args, key) = (call.args, key_for_flags(call, line.request.is_base64));
    let block = args.len() - 1;
    let words = args.from(FLAGS_OF_SET).take(block - FLAGS_OF_SET);
    let flags = SetFlags::parse(key, words).map_err(|_| Refusal::SYNTAX)?;
    let counts = &call.statistics.memcached;
    counts.sets.add(1);
    let (word, len) = store(call, &flags, block)?;
    counts.stored.add((word == reply::HD).into());
    if flags.looks_at_cas() && word != reply::NS {
        storage::count_cas(counts, (word != reply::HD).then_some(word));
    }
    if word == reply::HD && flags.common.is_quiet {
        return Ok(());
    }
    let cas = match word == reply::HD && flags.common.echoes.letters().contains(&b'c') {
        true => {
            make_room(call)?;
            let (mut access, key, _) = call.on_key(KEY);
            access.draw_cas(&key).ok().flatten()
        }
        false => None,
    };
    let is_key_in_base64 = flags.common.is_base64;
    let told = Told { cas, len, is_key_in_base64, ..Told::default() };
    let mut out = word.to_vec();
    write_flags(&mut out, call.args.get(KEY), &flags.common, &told);
    out.extend_from_slice(reply::LINE_END);
    call.reply.raw(&out);
    Ok(())
}

/// What a key holds before `ms` writes it.
#[derive(Clone, Copy)]
pub(super) struct Before {
    pub(super) is_there: bool,
    /// Of an item.
    pub(super) attributes: Option<Attributes>,
    pub(super) deadline: Option<Millis>,
    pub(super) is_fetched: bool,
}

impl Before {
    pub(super) fn of(value: Option<ValueRef<'_>>) -> Before {
        let item = value.filter(|it| it.kind() == Kind::String);
        Before {
            is_there: value.is_some(),
            attributes: item.map(|it| it.attributes()),
            deadline: item.and_then(|it| it.deadline()),
            is_fetched: item.is_some_and(|it| it.is_fetched()),
        }
    }

    /// Compares the CAS of the item with one that a client gives. Returns the word of the answer if
    /// they differ, and true if an older one makes the item stale. That takes the next number, as
    /// an item that nobody has asked about since it was written counts as having that.
    pub(super) fn compare(
        &self,
        wanted: Option<u64>,
        next: Option<Cas>,
    ) -> Result<bool, &'static [u8]> {
        let Some(wanted) = wanted else { return Ok(false) };
        let number = self.attributes.ok_or(reply::NF)?.cas.number().map_or(0, NonZeroU64::get);
        let could_be = match number {
            0 => next.and_then(Cas::number).map_or(0, NonZeroU64::get),
            _ => number,
        };
        match wanted {
            0 => Err(reply::EX),
            _ if number == wanted => Ok(false),
            _ if next.is_some() && wanted < could_be => Ok(true),
            _ => Err(reply::EX),
        }
    }
}

/// Stores the block of `ms`. Returns the word of the answer, and the bytes of the value.
fn store(
    call: &mut Call<'_>,
    flags: &SetFlags<'_>,
    block: usize,
) -> Result<(&'static [u8], usize), Refusal> {
    let mut expiry = flags.expiry.map_or(Some(Expiry::Never), |it| expiry_at(call, it));
    let vivified = flags.vivify.map(|it| expiry_at(call, it));
    let (value, len_max) = (call.args.get(block), item_bytes_max(call));
    let staged = call.session.take_staged();
    let len = staged.as_ref().map_or(value.len(), Staged::len);
    let (mut access, key, _) = call.on_key(KEY);
    let before = Before::of(access.lookup_value_for_write(&key));
    let mut attributes = Attributes {
        flags: flags.item_flags,
        cas: given(flags.new_cas),
        is_key_in_base64: flags.common.is_base64,
        ..Attributes::default()
    };
    let extends = matches!(flags.mode, SetMode::Append | SetMode::Prepend);
    // To an item that is extended, 0 is no CAS at all.
    let compare = flags.compare.filter(|it| !extends || *it != 0);
    let invalidates = flags.invalidates && !extends && compare.is_some();
    let next = invalidates.then(|| access.new_cas());
    match flags.mode {
        SetMode::Add if before.is_there => return Ok((reply::NS, len)),
        SetMode::Add => {}
        _ if extends && before.attributes.is_none() => {
            match vivified.filter(|_| !before.is_there) {
                Some(vivified) => expiry = vivified,
                None => return Ok((reply::NS, len)),
            }
        }
        _ => match before.compare(compare, next) {
            Ok(true) => {
                attributes.is_stale = true;
                attributes.is_won = before.attributes.is_some_and(|it| it.is_won);
                expiry = Some(before.deadline.map_or(Expiry::Never, Expiry::At));
            }
            Ok(false) if flags.mode == SetMode::Replace && before.attributes.is_none() => {
                return Ok((reply::NS, len));
            }
            Ok(false) => {}
            Err(word) => return Ok((word, len)),
        },
    }
    if extends && before.attributes.is_some() {
        let mut copied = Vec::new();
        staged.iter().for_each(|it| access.copy_staged(it, &mut copied));
        let more = Extension {
            is_append: flags.mode == SetMode::Append,
            is_base64: flags.common.is_base64,
            cas: given(flags.new_cas),
            bytes: if staged.is_some() { &copied } else { value },
        };
        let extended = storage::extend(&mut access, &key, more, len_max)?;
        return Ok(extended.map_or((reply::NS, len), |len| (reply::HD, len)));
    }
    put(&mut access, &key, (value, staged), (expiry, attributes))?;
    Ok((reply::HD, len))
}

pub fn md(call: &mut Call<'_>) -> Outcome {
    let key = key_for_flags(call, is_base64(call));
    let flags = DeleteFlags::parse(key, call.args.from(FLAGS)).map_err(|_| Refusal::SYNTAX)?;
    let word = delete(call, &flags)?;
    let counts = &call.statistics.memcached;
    if word != reply::HD {
        counts.delete_misses.add(1);
    } else if flags.drops_value || !flags.invalidates {
        counts.delete_hits.add(1);
        counts.stored.add(flags.drops_value.into());
    }
    if word != reply::HD || !flags.common.is_quiet {
        answer_without_item(call, word, &flags.common);
    }
    Ok(())
}

fn delete(call: &mut Call<'_>, flags: &DeleteFlags<'_>) -> Result<&'static [u8], Refusal> {
    let expiry = flags.expiry.map(|it| expiry_at(call, it));
    if flags.invalidates || flags.drops_value {
        make_room(call)?;
    }
    let (mut access, key, _) = call.on_key(KEY);
    let before = Before::of(access.lookup_value_for_write(&key));
    if !before.is_there {
        return Ok(reply::NF);
    }
    if let Err(word) = before.compare(flags.compare, None) {
        return Ok(word);
    }
    let is_item = before.attributes.is_some();
    if !is_item || !(flags.invalidates || flags.drops_value) {
        let is_removed = access.remove(&key);
        access.report_changes(is_removed.into(), Event::DEL, &key);
        effects::del(&mut access, &key);
        return Ok(reply::HD);
    }
    if flags.drops_value {
        let kept = before.attributes.unwrap_or_default();
        let attributes = Attributes {
            flags: flags.item_flags.unwrap_or(0),
            cas: if flags.new_cas.is_some() { given(flags.new_cas) } else { kept.cas },
            is_stale: false,
            is_won: false,
            ..kept
        };
        let expiry = expiry.unwrap_or(Some(Expiry::Never));
        put(&mut access, &key, (b"", None), (expiry, attributes))?;
    } else if let Some(expiry) = expiry {
        set_expiry(&mut access, &key, expiry)?;
    }
    if flags.invalidates {
        let cas = given(flags.new_cas);
        // Clients of RESP see no change.
        access.unseen_if(true, |access| {
            access.change_attributes(&key, |it| {
                (it.is_stale, it.is_won, it.cas) = (true, false, cas);
            })
        })?;
        access.report_changes_silently(1);
        effects::attributes(&mut access, &key);
    }
    Ok(reply::HD)
}
