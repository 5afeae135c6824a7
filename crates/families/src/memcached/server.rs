//! Lines about the server and the connection: version, flush_all, verbosity, cache_memlimit, mn,
//! quit.

use super::{SECOND, answer};
use crate::connection::authenticate as log_in;
use crate::server::change;
use base::Millis;
use command::{Call, Outcome};
use memcached::{number, reply};
use session::Refusal;
use settings::LogLevel;
use settings::general::LOGLEVEL;
use settings::memory::MAXMEMORY;
use store::Flush;

/// Megabytes that Memcached needs at least.
const MEGABYTES_MIN: u32 = 8;
/// More is taken for a number of bytes.
const MEGABYTES_MAX: u32 = 1_000_000_000;

/// The version whose protocol is spoken.
const VERSION: &[u8] = b"VERSION 1.6.45\r\n";

pub fn version(call: &mut Call<'_>) -> Outcome {
    answer(call, VERSION);
    Ok(())
}

/// Removes all items of the database, of whatever kind, now or when a delay is over. A flush that
/// was to come is forgotten.
pub fn flush(call: &mut Call<'_>) -> Outcome {
    call.statistics.memcached.flushes.add(1);
    let (pending, database) = (&call.instance.pending_flush, call.session.database);
    match number::signed32(call.args.get(1)).and_then(|delay| flushed_at(call.now, delay)) {
        Some(due) => pending.ask(database, due),
        None => {
            pending.forget();
            call.instance.store.flush(call.thread, Flush::One(database));
        }
    }
    answer(call, reply::OK);
    Ok(())
}

/// Returns when items are flushed by a delay that a client gives; `None` for at once. Memcached
/// does it one second early, since its clock shows whole seconds.
fn flushed_at(now: Millis, delay: i32) -> Option<Millis> {
    let due = match number::Expiry::of(delay) {
        number::Expiry::Never | number::Expiry::AtOnce => return None,
        number::Expiry::InSeconds(seconds) => {
            Millis(now.0 + u64::from(seconds.saturating_sub(1)) * SECOND)
        }
        number::Expiry::AtUnixSeconds(seconds) => {
            Millis(u64::from(seconds.saturating_sub(1)) * SECOND)
        }
    };
    Some(due).filter(|due| *due > now)
}

/// Sets `loglevel`: 0 is how a server begins, more tells more.
pub fn verbosity(call: &mut Call<'_>) -> Outcome {
    let level = match number::unsigned32(call.args.get(1)) {
        None | Some(0) => LogLevel::Notice,
        Some(1) => LogLevel::Verbose,
        Some(_) => LogLevel::Debug,
    };
    change(call, &[(LOGLEVEL.name().as_bytes(), level.name().as_bytes())])?;
    answer(call, reply::OK);
    Ok(())
}

/// Sets `maxmemory`, in megabytes.
pub fn set_memory_limit(call: &mut Call<'_>) -> Outcome {
    let megabytes = number::unsigned32(call.args.get(1)).ok_or(Refusal::SYNTAX)?;
    let line = match megabytes {
        0..MEGABYTES_MIN => reply::MEMORY_LIMIT_TOO_SMALL,
        MEGABYTES_MIN..=MEGABYTES_MAX => {
            let bytes = (u64::from(megabytes) << 20).to_string();
            let pair = (MAXMEMORY.name().as_bytes(), bytes.as_bytes());
            match change(call, &[pair]) {
                Ok(()) => reply::OK,
                Err(_) => reply::MEMORY_LIMIT_REFUSED,
            }
        }
        _ => reply::MEMORY_LIMIT_IN_BYTES,
    };
    answer(call, line);
    Ok(())
}

/// Makes the client a user, by a name and a password.
pub fn authenticate(call: &mut Call<'_>) -> Outcome {
    let (user, password) = (call.args.get(1), call.args.get(2));
    call.statistics.memcached.auth_cmds.add(1);
    let line = match log_in(call, user, password) {
        Ok(()) => reply::STORED,
        Err(_) => {
            call.statistics.memcached.auth_errors.add(1);
            reply::AUTHENTICATION_FAILURE
        }
    };
    call.reply.raw(line);
    Ok(())
}

pub fn noop(call: &mut Call<'_>) -> Outcome {
    answer(call, reply::MN);
    Ok(())
}

pub fn quit(call: &mut Call<'_>) -> Outcome {
    call.session.close_after_reply = true;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::flushed_at;
    use base::Millis;

    #[test]
    fn a_delayed_flush_comes_a_second_before_its_time() {
        let now = Millis(1_800_000_000_500);
        for delay in [0, -1, i32::MIN, 1, 2_592_001, 1_800_000_000, 1_800_000_001] {
            assert_eq!(flushed_at(now, delay), None, "{delay}");
        }
        for (delay, due) in [
            (2, now.0 + 1000),
            (2_592_000, now.0 + 2_591_999_000),
            (1_800_000_002, 1_800_000_001_000),
            (i32::MAX, 2_147_483_646_000),
        ] {
            assert_eq!(flushed_at(now, delay), Some(Millis(due)), "{delay}");
        }
    }
}
