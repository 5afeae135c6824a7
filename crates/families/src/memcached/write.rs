//! Writes that several commands make.

use crate::generic::expire::{EXPIRE, PERSIST};
use crate::string::SET;
use command::effects;
use session::Refusal;
use store::value::long_string::Staged;
use store::{Access, Attributes, Encoding, Expiry, Key};

/// Sets the deadline of a key that is there.
pub(super) fn set_expiry(
    access: &mut Access<'_>,
    key: &Key<'_>,
    expiry: Option<Expiry>,
) -> Result<(), Refusal> {
    match expiry {
        None => {
            let is_removed = access.expire(key);
            access.report_changes_silently(is_removed.into());
        }
        Some(Expiry::At(deadline)) => {
            access.set_deadline(key, Some(deadline))?;
            access.report_changes(1, EXPIRE, key);
            effects::expire_at(access, key, deadline);
        }
        Some(_) if access.deadline_of(key).is_none() => {}
        Some(_) => {
            access.set_deadline(key, None)?;
            access.report_changes(1, PERSIST, key);
            effects::persist(access, key);
        }
    }
    Ok(())
}

/// Gives a key a value, which may have been received apart, or none if that is over at once.
pub(super) fn put(
    access: &mut Access<'_>,
    key: &Key<'_>,
    (value, staged): (&[u8], Option<Staged>),
    (expiry, attributes): (Option<Expiry>, Attributes),
) -> Result<(), Refusal> {
    let Some(expiry) = expiry else {
        let is_removed = access.expire(key);
        access.report_changes_silently(is_removed.into());
        return Ok(());
    };
    match staged {
        Some(staged) => access.set_staged_with(key, staged, expiry, attributes)?,
        None => access.set_string_with(key, value, Encoding::of_new(value), expiry, attributes)?,
    }
    access.report_changes(1, SET, key);
    if matches!(expiry, Expiry::At(_)) {
        access.record_event(EXPIRE, key);
    }
    effects::set_with_attributes(access, key, value, expiry);
    Ok(())
}
