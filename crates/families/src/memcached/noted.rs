//! What files and a primary tell of items: commands for which attributes were noted.
//!
//! ```text
//! ECHO varve:f5 ─▶ SET key value          the string, with these attributes
//! ECHO varve:s  ─▶ EXISTS key             the same string, with these attributes
//! ```

use crate::generic::expire::EXPIRE;
use crate::string::{Of, Options, SET, expiry};
use command::{Call, Outcome, effects};
use session::Refusal;
use store::{Attributes, Encoding};
use text::AttributeNote;

/// Places of the text of the note, before the name of the command, of the key and of a value.
const NOTE: usize = 0;
const KEY: usize = 2;
const VALUE: usize = 3;

/// Sets a string, as SET does, and its attributes.
pub fn set(call: &mut Call<'_>) -> Outcome {
    let attributes = attributes(call)?;
    let args = call.args;
    let options = Options::parse(args, VALUE + 1, Of::Set)?;
    let deadline = options.deadline(call)?;
    let is_over = deadline.is_some_and(|deadline| call.is_over(deadline));
    let (value, expiry) = (args.get(VALUE), expiry(deadline, options.keep));
    let (mut access, key, reply) = call.on_key(KEY);
    if is_over {
        let is_removed = access.expire(&key);
        access.report_changes_silently(is_removed.into());
    } else {
        access.set_string_with(&key, value, Encoding::of_new(value), expiry, attributes)?;
        access.report_changes(1, SET, &key);
        if deadline.is_some() {
            access.record_event(EXPIRE, &key);
        }
        effects::set_with_attributes(&mut access, &key, value, expiry);
    }
    reply.ok();
    Ok(())
}

/// Gives the string of a key attributes, if it is there.
pub fn mark(call: &mut Call<'_>) -> Outcome {
    let attributes = attributes(call)?;
    let (mut access, key, reply) = call.on_key(KEY);
    let _ = access.lookup_value_for_write(&key);
    access.unseen_if(true, |access| access.change_attributes(&key, |it| *it = attributes))?;
    access.report_changes_silently(1);
    effects::attributes(&mut access, &key);
    reply.ok();
    Ok(())
}

/// The attributes that are noted.
fn attributes(call: &Call<'_>) -> Result<Attributes, Refusal> {
    let note = AttributeNote::parse(call.args.get(NOTE));
    note.map(Attributes::from).ok_or(Refusal::SYNTAX)
}
