//! Lines that change an item: touch, delete, incr, decr.

use super::get::count_found;
use super::write::set_expiry;
use super::{answer, expiry_at};
use command::{Call, Outcome, effects};
use memcached::{number, reply};
use session::{Count, MemcachedCounts, Refusal};
use store::{Encoding, Event, Expiry, Kind};
use text::IntegerText;

const INCRBY: Event = Event::string("incrby");
const DECRBY: Event = Event::string("decrby");

pub fn touch(call: &mut Call<'_>) -> Outcome {
    let number = number::signed32(call.args.get(2)).ok_or(Refusal::SYNTAX)?;
    let (expiry, counts) = (expiry_at(call, number), &call.statistics.memcached);
    let (mut access, key, _) = call.on_key(1);
    let is_there = access.lookup_value_for_write(&key).is_some();
    count_found(counts, is_there, true);
    if !is_there {
        drop(access);
        answer(call, reply::NOT_FOUND);
        return Ok(());
    }
    set_expiry(&mut access, &key, expiry)?;
    access.note_fetched(&key);
    drop(access);
    answer(call, reply::TOUCHED);
    Ok(())
}

pub fn delete(call: &mut Call<'_>) -> Outcome {
    let counts = &call.statistics.memcached;
    let (mut access, key, _) = call.on_key(1);
    let is_removed = access.remove(&key);
    access.report_changes(is_removed.into(), Event::DEL, &key);
    if is_removed {
        effects::del(&mut access, &key);
    }
    drop(access);
    let count = if is_removed { &counts.delete_hits } else { &counts.delete_misses };
    count.add(1);
    answer(call, if is_removed { reply::DELETED } else { reply::NOT_FOUND });
    Ok(())
}

pub fn increment(call: &mut Call<'_>) -> Outcome {
    let MemcachedCounts { incr_hits, incr_misses, .. } = &call.statistics.memcached;
    reckon(call, (INCRBY, incr_hits, incr_misses), u64::wrapping_add)
}

pub fn decrement(call: &mut Call<'_>) -> Outcome {
    let MemcachedCounts { decr_hits, decr_misses, .. } = &call.statistics.memcached;
    reckon(call, (DECRBY, decr_hits, decr_misses), u64::saturating_sub)
}

fn reckon(
    call: &mut Call<'_>,
    (event, hits, misses): (Event, &Count, &Count),
    by: fn(u64, u64) -> u64,
) -> Outcome {
    let delta = number::unsigned64(call.args.get(2)).ok_or(Refusal::SYNTAX)?;
    let (mut access, key, _) = call.on_key(1);
    let before = access.lookup_value_for_write(&key);
    let Some(value) = before.filter(|it| it.kind() == Kind::String) else {
        let line = if before.is_some() { reply::NON_NUMERIC } else { reply::NOT_FOUND };
        misses.add(before.is_none().into());
        drop(access);
        answer(call, line);
        return Ok(());
    };
    let number = value.string().ok().and_then(|it| number::stored(it.as_slice()?));
    let Some(number) = number else {
        drop(access);
        answer(call, reply::NON_NUMERIC);
        return Ok(());
    };
    let mut text = IntegerText::new();
    let text = text.format_unsigned(by(number, delta));
    access.change_string(&key, text, Encoding::of_new(text))?;
    access.report_changes(1, event, &key);
    effects::set_with_attributes(&mut access, &key, text, Expiry::Keep);
    hits.add(1);
    drop(access);
    answer(call, &[text, reply::LINE_END].concat());
    Ok(())
}
