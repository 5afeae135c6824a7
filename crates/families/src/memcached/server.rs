//! Lines about the server and the connection: version, flush_all, mn, quit.

use super::answer;
use crate::connection::authenticate as log_in;
use command::{Call, Outcome};
use memcached::{number, reply};
use session::Refusal;
use store::Flush;

const NOT_THERE: Refusal = Refusal::of("this is not there yet");

/// The version whose protocol is spoken.
const VERSION: &[u8] = b"VERSION 1.6.45\r\n";

pub fn version(call: &mut Call<'_>) -> Outcome {
    answer(call, VERSION);
    Ok(())
}

/// Answers what is not there.
pub fn not_there(_: &mut Call<'_>) -> Outcome {
    Err(NOT_THERE.into())
}

/// Removes all items of the database, of whatever kind.
pub fn flush(call: &mut Call<'_>) -> Outcome {
    let is_later = |delay: i32| delay > 0;
    if call.args.len() > 1 && number::signed32(call.args.get(1)).is_some_and(is_later) {
        return Err(NOT_THERE.into());
    }
    let database = call.session.database;
    call.instance.store.flush(call.thread, Flush::One(database));
    answer(call, reply::OK);
    Ok(())
}

/// Makes the client a user, by a name and a password.
pub fn authenticate(call: &mut Call<'_>) -> Outcome {
    let (user, password) = (call.args.get(1), call.args.get(2));
    let line = match log_in(call, user, password) {
        Ok(()) => reply::STORED,
        Err(_) => reply::AUTHENTICATION_FAILURE,
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
