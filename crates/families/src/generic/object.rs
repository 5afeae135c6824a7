//! OBJECT: how values are kept and used.

use command::{Call, Outcome};
use session::Refusal;
use store::eviction::{IDLE_SECONDS, frequency};
use store::{Access, Key};

const COUNTS_USES: Refusal = Refusal::of(
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when \
     switching between policies at runtime LRU and LFU data will take some time to adjust.",
);
const COUNTS_NO_USES: Refusal = Refusal::of(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that \
     when switching between policies at runtime LRU and LFU data will take some time to adjust.",
);

pub fn encoding(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(2);
    match access.inspect(&key) {
        Some(value) => reply.bulk(value.encoding_under(&key).name().as_bytes()),
        None => reply.null(),
    }
    Ok(())
}

pub fn refcount(call: &mut Call<'_>) -> Outcome {
    behind(call, |_, _| Ok(1))
}

pub fn idletime(call: &mut Call<'_>) -> Outcome {
    let counts_uses = call.instance.store.eviction_policy().counts_uses();
    behind(call, |access, key| {
        if counts_uses {
            return Err(COUNTS_USES);
        }
        let level = access.access_bits(key).unwrap_or(0);
        Ok(i64::from(idle_seconds(level)))
    })
}

/// Returns the seconds since the last use of a key with this access history, as far as that tells.
pub fn idle_seconds(history: u8) -> u32 {
    IDLE_SECONDS[usize::from(history & 15)]
}

pub fn freq(call: &mut Call<'_>) -> Outcome {
    let counts_uses = call.instance.store.eviction_policy().counts_uses();
    behind(call, |access, key| {
        if !counts_uses {
            return Err(COUNTS_NO_USES);
        }
        Ok(i64::from(frequency(access.access_bits(key).unwrap_or(0))))
    })
}

/// Replies with a number about a key, or null if the key is missing. Does not count as a use.
fn behind(
    call: &mut Call<'_>,
    number: impl FnOnce(&Access<'_>, &Key<'_>) -> Result<i64, Refusal>,
) -> Outcome {
    let (mut access, key, reply) = call.on_key(2);
    if access.inspect(&key).is_none() {
        reply.null();
        return Ok(());
    }
    reply.integer(number(&access, &key)?);
    Ok(())
}
