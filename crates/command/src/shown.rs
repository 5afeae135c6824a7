//! Words of a request as logs of requests show them.

use crate::row::Call;
use crate::secrets::REDACTED;
use std::borrow::Cow;

/// Returns the words of a request, without secrets. Those of a later part of a line begin as the
/// line does, though these words were left out of it.
pub fn words_shown<'c>(call: &Call<'c>) -> impl Iterator<Item = Cow<'c, [u8]>> {
    let secrets = (call.row.spec.secrets)(&call.args);
    let part = call.session.line.get().filter(|line| !line.request.is_first);
    let before_keys = part.and_then(|part| part.request.command.words_before_keys());
    call.args.from(0).enumerate().map(move |(at, word)| match (part, before_keys) {
        (Some(part), Some(before)) if at < before => match at {
            0 => Cow::Borrowed(part.request.command.name().as_bytes()),
            _ => Cow::Owned(part.request.expiry.to_string().into_bytes()),
        },
        _ if secrets.binary_search(&at).is_ok() => Cow::Borrowed(REDACTED),
        _ => Cow::Borrowed(word),
    })
}
