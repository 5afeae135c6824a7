//! ma: the number of an item is changed.

use super::expiry_at;
use super::meta_set::Before;
use super::told::{
    Deadlines, FLAGS, KEY, Told, answer_without_item, given, is_base64, key_for_flags, left_of,
    make_room, write_flags,
};
use super::write::{put, set_expiry};
use command::{Call, Outcome, effects};
use memcached::meta::ArithmeticFlags;
use memcached::{number, reply};
use session::Refusal;
use store::{Access, Attributes, Encoding, Event, Expiry, Key};
use text::IntegerText;

/// Most bytes of a number.
const NUMBER_BYTES_MAX: usize = 20;
const INCRBY: Event = Event::string("incrby");

pub fn ma(call: &mut Call<'_>) -> Outcome {
    let key = key_for_flags(call, is_base64(call));
    let flags = ArithmeticFlags::parse(key, call.args.from(FLAGS)).map_err(|_| Refusal::SYNTAX)?;
    let args = call.args;
    let (word, number, before) = match reckon(call, &flags)? {
        Ok((number, before)) => (reply::HD, number, before),
        Err(word) if word == reply::NON_NUMERIC => {
            call.reply.raw(word);
            return Ok(());
        }
        Err(word) => {
            answer_without_item(call, word, &flags.common);
            return Ok(());
        }
    };
    if flags.common.is_quiet {
        return Ok(());
    }
    let wants_cas = flags.common.echoes.letters().contains(&b'c');
    if wants_cas {
        make_room(call)?;
    }
    let now = call.now;
    let (mut access, key, _) = call.on_key(KEY);
    let cas = if wants_cas { access.draw_cas(&key).ok().flatten() } else { None };
    let deadline = access.lookup_value_without_touch(&key).and_then(|it| it.deadline());
    drop(access);
    let left = left_of(now, Deadlines { at_last: deadline, ..before }.found_by(&args, b't'));
    let mut text = IntegerText::new();
    let text = text.format_unsigned(number);
    let told = Told {
        cas,
        len: text.len(),
        left,
        is_key_in_base64: flags.common.is_base64,
        ..Told::default()
    };
    let mut out = Vec::new();
    if flags.wants_value {
        out.extend_from_slice(reply::VA);
        out.extend_from_slice(IntegerText::new().format_unsigned(text.len() as u64));
    } else {
        out.extend_from_slice(word);
    }
    write_flags(&mut out, call.args.get(KEY), &flags.common, &told);
    out.extend_from_slice(reply::LINE_END);
    if flags.wants_value {
        out.extend_from_slice(text);
        out.extend_from_slice(reply::LINE_END);
    }
    call.reply.raw(&out);
    Ok(())
}

/// Adds or subtracts. Returns the number and the deadlines but for the last one, or the word of the
/// answer where there is no number.
fn reckon(
    call: &mut Call<'_>,
    flags: &ArithmeticFlags<'_>,
) -> Result<Result<(u64, Deadlines), &'static [u8]>, Refusal> {
    let expiry = flags.expiry.map(|it| expiry_at(call, it));
    let vivified = flags.vivify.map(|it| expiry_at(call, it));
    let counts = &call.statistics.memcached;
    let (hits, misses) = match flags.is_decrement {
        true => (&counts.decr_hits, &counts.decr_misses),
        false => (&counts.incr_hits, &counts.incr_misses),
    };
    let (mut access, key, _) = call.on_key(KEY);
    let value = access.lookup_value_for_write(&key);
    let before = Before::of(value);
    let text = value.and_then(|it| it.string().ok()?.as_slice().map(<[u8]>::to_vec));
    let mut number = IntegerText::new();
    if !before.is_there {
        let Some(vivified) = vivified else {
            misses.add(1);
            return Ok(Err(reply::NF));
        };
        let deadlines = make(&mut access, &key, flags, (vivified, expiry))?;
        counts.stored.add(1);
        return Ok(Ok((flags.initial, deadlines)));
    }
    // Before the CAS, Memcached 1.6.45 only looks at the length.
    if !text.as_ref().is_some_and(|it| (1..=NUMBER_BYTES_MAX).contains(&it.len())) {
        return Ok(Err(reply::NON_NUMERIC));
    }
    // To a number that changes, 0 is no CAS at all.
    let compare = flags.compare.filter(|it| *it != 0 && before.attributes.is_some());
    if let Err(word) = before.compare(compare, false) {
        return Ok(Err(word));
    }
    let Some(stored) = text.and_then(|it| number::stored(&it)) else {
        return Ok(Err(reply::NON_NUMERIC));
    };
    let result = match flags.is_decrement {
        true => stored.saturating_sub(flags.delta),
        false => stored.wrapping_add(flags.delta),
    };
    let text = number.format_unsigned(result);
    let encoding = Encoding::of_new(text);
    match before.attributes.filter(|_| flags.new_cas.is_some()) {
        None => access.change_string(&key, text, encoding)?,
        Some(attributes) => {
            let attributes = Attributes { cas: given(flags.new_cas), ..attributes };
            access.set_string_with(&key, text, encoding, Expiry::Keep, attributes)?;
        }
    }
    access.report_changes(1, INCRBY, &key);
    effects::set_with_attributes(&mut access, &key, text, Expiry::Keep);
    hits.add(1);
    if let Some(expiry) = expiry {
        set_expiry(&mut access, &key, expiry)?;
    }
    let (at_first, vivified) = (before.deadline, before.deadline);
    Ok(Ok((result, Deadlines { at_first, vivified, at_last: None })))
}

/// Makes an item of the number to begin with. Returns the deadlines but for the last one.
fn make(
    access: &mut Access<'_>,
    key: &Key<'_>,
    flags: &ArithmeticFlags<'_>,
    (vivified, expiry): (Option<Expiry>, Option<Option<Expiry>>),
) -> Result<Deadlines, Refusal> {
    let attributes = Attributes {
        cas: given(flags.new_cas),
        is_key_in_base64: flags.common.is_base64,
        ..Attributes::default()
    };
    let mut number = IntegerText::new();
    let value = number.format_unsigned(flags.initial);
    put(access, key, value, (expiry.unwrap_or(vivified), attributes))?;
    let vivified = match vivified {
        Some(Expiry::At(at)) => Some(at),
        _ => None,
    };
    Ok(Deadlines { at_first: None, vivified, at_last: None })
}
