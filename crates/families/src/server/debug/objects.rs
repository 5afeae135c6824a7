//! DEBUG subcommands that look at one key.

use base::units::SEGMENT_BYTES;
use command::{Call, Outcome};
use session::Refusal;
use store::eviction::IDLE_SECONDS;
use store::value::string::StringView;
use store::{Encoding, Kind};

/// Mask of the clock bits that Redis keeps per key.
const LRU_CLOCK_MASK: u64 = (1 << 24) - 1;

pub(super) fn object(call: &mut Call<'_>) -> Outcome {
    let now = call.now;
    let counts_uses = call.instance.store.eviction_policy().counts_uses();
    let (mut access, key, reply) = call.on_key(2);
    access.show_not_removed();
    let bits = access.access_bits(&key).unwrap_or(0);
    let value = access.lookup_without_touch(&key).ok_or(Refusal::NO_SUCH_KEY)?;
    let idle = if counts_uses { 0 } else { IDLE_SECONDS[usize::from(bits & 15)] };
    let lru = (now.0 / 1000).saturating_sub(idle.into()) & LRU_CLOCK_MASK;
    reply.simple(&format!(
        "Value at:{:p} refcount:1 encoding:{} serializedlength:{} lru:{lru} \
         lru_seconds_idle:{idle}",
        value.bytes.as_ptr(),
        value.encoding_under(&key).name(),
        match value.kind {
            Kind::String =>
                access.lookup_string_without_touch(&key)?.map_or(0, |it| serialized_bytes(&it)),
            // For a collection, its memory is near enough.
            _ => access.memory_of(&key).unwrap_or(0),
        },
    ));
    Ok(())
}

/// Returns the bytes that the value takes in a snapshot of Valkey, without compression.
fn serialized_bytes(string: &StringView<'_>) -> usize {
    let short = string.as_slice().filter(|bytes| bytes.len() <= 11);
    let integer = short.and_then(text::parse_i64).and_then(|it| i32::try_from(it).ok());
    if let Some(integer) = integer {
        return match () {
            () if i8::try_from(integer).is_ok() => 2,
            () if i16::try_from(integer).is_ok() => 3,
            () => 5,
        };
    }
    let header = match string.len() {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..=0xffff_ffff => 5,
        _ => 9,
    };
    header + string.len()
}

pub(super) fn sdslen(call: &mut Call<'_>) -> Outcome {
    let (access, key, reply) = call.on_key(2);
    let value = access.lookup_without_touch(&key).ok_or(Refusal::NO_SUCH_KEY)?;
    if value.kind != Kind::String || value.encoding == Encoding::Int {
        return Err(Refusal::of("ERR Not an sds encoded string.").into());
    }
    let string = access.lookup_string_without_touch(&key)?;
    let (key_len, len) = (key.bytes.len(), string.map_or(0, |string| string.len()));
    let whole = access.memory_of(&key).unwrap_or(0);
    let rest = whole.saturating_sub(key_len);
    reply.simple(&format!(
        "key_sds_len:{key_len}, key_sds_avail:0, key_zmalloc: {key_len}, val_sds_len:{len}, \
         val_sds_avail:0, val_zmalloc: {rest}"
    ));
    Ok(())
}

pub(super) fn structsize(call: &mut Call<'_>) -> Outcome {
    let text = format!("bits:{} line:64 shards:256 segment:{SEGMENT_BYTES} ", usize::BITS);
    call.reply.bulk(text.as_bytes());
    Ok(())
}
