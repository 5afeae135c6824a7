//! Invalidations of cached keys that a client's own command has changed: they are written beside
//! the reply to that command.

use crate::flags::Flags;
use crate::row::Call;
use crate::run::Execution;
use session::{Notice, ReplyMode, Session};
use wire::{Protocol, Reply};

/// Sends the client invalidations of the keys that were evicted to make room for its command,
/// before the reply.
#[cold]
pub(crate) fn send_eviction_invalidations(call: &mut Call<'_>) {
    send_own_invalidations(call, true);
}

/// Sends the client invalidations of what its command has changed, behind the reply, and ends the
/// effect of CLIENT CACHING.
#[cold]
pub(crate) fn send_invalidations_behind_reply(call: &mut Call<'_>, execution: Execution) {
    // A client that waits has no reply yet. One that may have sent itself a message, as that of an
    // event, gets the message first.
    let has_reply = !matches!(execution, Execution::ByMail | Execution::Waits);
    // What comes as mail or from another thread is sent behind it.
    let is_sent_later = call.session.answers_by_mail
        || execution == Execution::Waits && !call.row.spec.flags.contains(Flags::BLOCKING);
    if !is_sent_later {
        send_own_invalidations(call, has_reply && !call.session.yields);
    }
    let is_in_transaction = call.session.open_queue().is_some();
    let is_client = call.row.parent.is_some_and(|parent| parent.name == "CLIENT");
    if execution != Execution::Postponed && !is_in_transaction && !is_client {
        call.session.set_caching_exception(false);
    }
}

/// Appends the invalidations of a client's own command to its answer, for a command whose reply
/// comes as mail or from another thread.
#[cold]
pub fn append_invalidations(session: &Session, answer: &mut Vec<u8>) {
    let Some(tracking) = &session.tracking else { return };
    let own = tracking.tracker.take_own();
    if session.protocol == Protocol::Resp3 && !session.close_after_reply {
        let mut messages = Reply::new(answer, Protocol::Resp3);
        own.iter().for_each(|invalid| invalid.write(&mut messages));
    }
}

/// Sends the invalidations of a client's own commands by mail, before its tracking is changed or
/// switched off. The next request of the client runs after that message.
pub fn mail_invalidations(session: &mut Session) {
    let mut bytes = Vec::new();
    append_invalidations(session, &mut bytes);
    if !bytes.is_empty() {
        session.client.notify(Notice::Message(session.client.id, bytes.into()));
        session.yields = true;
    }
}

fn send_own_invalidations(call: &mut Call<'_>, is_beside_reply: bool) {
    let Some(tracking) = &call.session.tracking else { return };
    if !tracking.tracker.has_own() {
        return;
    }
    let own = tracking.tracker.take_own();
    if call.session.protocol != Protocol::Resp3 || call.session.close_after_reply {
        return;
    }
    if is_beside_reply && call.session.reply_mode == ReplyMode::On {
        own.iter().for_each(|invalid| invalid.write(&mut call.reply));
    } else {
        let mut bytes = Vec::new();
        let mut message = Reply::new(&mut bytes, Protocol::Resp3);
        own.iter().for_each(|invalid| invalid.write(&mut message));
        let client = &call.session.client;
        client.notify(Notice::Message(client.id, bytes.into()));
    }
}
