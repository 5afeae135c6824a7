//! ma: the number of an item is changed.

use super::expiry_at;
use super::meta_set::Before;
use super::told::{
    Deadlines, FLAGS, KEY, Told, answer_without_item, expiry_of_made, given, is_base64,
    key_for_flags, left_of, make_room, write_flags,
};
use super::write::{put, set_expiry};
use command::{Call, Outcome, effects};
use memcached::meta::ArithmeticFlags;
use memcached::{number, reply};
use session::Refusal;
use store::{Access, Attributes, Encoding, Event, Expiry, Key};
use text::IntegerText;

const INCRBY: Event = Event::string("incrby");

pub fn ma(call: &mut Call<'_>) -> Outcome {
    let key = key_for_flags(call, is_base64(call));
    let flags = ArithmeticFlags::parse(key, call.args.from(FLAGS)).map_err(|_| Refusal::SYNTAX)?;
    let args = call.args;
    let (word, number, deadlines) = match reckon(call, &flags)? {
        Ok((number, deadlines)) => (reply::HD, number, deadlines),
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
    drop(access);
    let left = left_of(now, deadlines.found_by(&args, b't'));
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

/// Adds or subtracts. Returns the number and the deadlines, or the word of the answer where there
/// is no number.
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
    let made_with = expiry_of_made(&call.args, vivified, expiry);
    let now = call.now;
    let (mut access, key, _) = call.on_key(KEY);
    let value = access.lookup_value_for_write(&key);
    let before = Before::of(value);
    let text = value.and_then(|it| it.string().ok());
    let text = text.as_ref().and_then(|it| it.as_slice()).filter(|it| !it.is_empty());
    let stored = text.map(number::stored);
    let mut number = IntegerText::new();
    if !before.is_there {
        let Some(made_with) = vivified.and(made_with) else {
            misses.add(1);
            return Ok(Err(reply::NF));
        };
        make(&mut access, &key, flags, made_with)?;
        counts.stored.add(1);
        return Ok(Ok((flags.initial, Deadlines::new(now, None, vivified, expiry))));
    }
    // Before the CAS, Memcached 1.6.45 only looks whether there is anything, in one piece.
    let Some(stored) = stored else { return Ok(Err(reply::NON_NUMERIC)) };
    // To a number that changes, 0 is no CAS at all.
    let compare = flags.compare.filter(|it| *it != 0 && before.attributes.is_some());
    if let Err(word) = before.compare(compare, None) {
        return Ok(Err(word));
    }
    let Some(stored) = stored else { return Ok(Err(reply::NON_NUMERIC)) };
    let result = match flags.is_decrement {
        true => stored.saturating_sub(flags.delta),
        false => stored.wrapping_add(flags.delta),
    };
    let text = number.format_unsigned(result);
    change(&mut access, &key, text, before, flags)?;
    access.report_changes(1, INCRBY, &key);
    effects::set_with_attributes(&mut access, &key, text, Expiry::Keep);
    hits.add(1);
    if let Some(expiry) = expiry {
        set_expiry(&mut access, &key, expiry)?;
    }
    Ok(Ok((result, Deadlines::new(now, before.deadline, None, expiry))))
}

/// Gives an item another number, perhaps with a given CAS.
fn change(
    access: &mut Access<'_>,
    key: &Key<'_>,
    text: &[u8],
    before: Before,
    flags: &ArithmeticFlags<'_>,
) -> Result<(), Refusal> {
    let encoding = Encoding::of_new(text);
    let Some(attributes) = before.attributes.filter(|_| flags.new_cas.is_some()) else {
        return Ok(access.change_string(key, text, encoding)?);
    };
    let attributes = Attributes { cas: given(flags.new_cas), ..attributes };
    access.set_string_with(key, text, encoding, Expiry::Keep, attributes)?;
    if before.is_fetched {
        access.note_fetched(key);
    }
    Ok(())
}

/// Makes an item of the number to begin with.
fn make(
    access: &mut Access<'_>,
    key: &Key<'_>,
    flags: &ArithmeticFlags<'_>,
    expiry: Option<Expiry>,
) -> Result<(), Refusal> {
    let attributes = Attributes {
        cas: given(flags.new_cas),
        is_key_in_base64: flags.common.is_base64,
        ..Attributes::default()
    };
    let mut number = IntegerText::new();
    put(access, key, (number.format_unsigned(flags.initial), None), (expiry, attributes))
}
