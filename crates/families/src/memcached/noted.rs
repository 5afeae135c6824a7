//! What files and a primary tell of items: commands for which attributes were noted.
//!
//! ```text
//! ECHO varve:f5 ─▶ SET key value               the string, with these attributes
//! ECHO varve:f5 ─▶ RESTORE key 0 payload       the same
//! ECHO varve:s  ─▶ EXISTS key                  the string that is there, with these attributes
//!
//! VARVE.NOTED f5 SET key value                 the same by a client
//! VARVE.ATTRIBUTES key                         what was noted last
//! ```

use crate::generic::dump::restore_with;
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
    let attributes = told(call)?;
    let args = call.args;
    let options = Options::parse(args, VALUE + 1, Of::Set)?;
    // What is noted is told of a string that was written.
    if !options.is_plain_write() {
        return Err(Refusal::SYNTAX.into());
    }
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
    let attributes = told(call)?;
    let (mut access, key, reply) = call.on_key(KEY);
    let _ = access.lookup_value_for_write(&key);
    access.unseen_if(true, |access| access.change_attributes(&key, |it| *it = attributes))?;
    access.report_changes_silently(1);
    effects::attributes(&mut access, &key);
    reply.ok();
    Ok(())
}

/// Creates a string of a payload, as RESTORE does, and gives it attributes.
pub fn restore(call: &mut Call<'_>) -> Outcome {
    let attributes = told(call)?;
    behind_note(call, |call| restore_with(call, Some(attributes)))
}

/// Does what a command does for which attributes were noted.
pub fn noted(call: &mut Call<'_>) -> Outcome {
    let args = call.args.behind(1);
    let row = call.row.table().noted(args.get(1)).filter(|row| row.spec.accepts(args.len()));
    let run = row.ok_or(Refusal::SYNTAX)?.spec.run;
    behind_note(call, run)
}

/// Runs what stands behind the first argument.
fn behind_note(call: &mut Call<'_>, run: impl FnOnce(&mut Call<'_>) -> Outcome) -> Outcome {
    let args = call.args;
    // The key is at another place than that of the row.
    (call.args, call.first_hash) = (args.behind(1), None);
    let outcome = run(call);
    call.args = args;
    outcome
}

/// Tells what is noted of a string; nothing of other values. It is no use of the key.
pub fn attributes(call: &mut Call<'_>) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    match access.inspect(&key).is_some() {
        true => reply.bulk(&access.attributes_of(&key).note().to_text()),
        false => reply.null(),
    }
    Ok(())
}

/// The attributes that are noted.
fn told(call: &Call<'_>) -> Result<Attributes, Refusal> {
    let note = AttributeNote::parse(call.args.get(NOTE));
    note.map(Attributes::from).ok_or(Refusal::SYNTAX)
}

#[cfg(test)]
mod tests {
    use crate::commands::table;
    use crate::testing::{World, check, reply_to};

    #[test]
    fn what_a_client_gives_a_string_is_told_until_another_value_comes() {
        let mut world = World::new();
        check(
            &mut world,
            &[
                ("VARVE.ATTRIBUTES k", "$-1"),
                ("VARVE.NOTED 'f5 c77 s' SET k v EX 10", "+OK"),
                ("VARVE.ATTRIBUTES k", "$8 f5 c77 s"),
                ("TTL k", ":10"),
                ("varve.noted 'w b' exists k", "+OK"),
                ("VARVE.ATTRIBUTES k", "$3 w b"),
                ("VARVE.NOTED '' EXISTS missing", "+OK"),
                ("EXISTS missing", ":0"),
                ("VARVE.NOTED f1 SET k w KEEPTTL", "+OK"),
                ("TTL k", ":10"),
                ("APPEND k x", ":2"),
                ("VARVE.ATTRIBUTES k", "$2 f1"),
                ("SET k v", "+OK"),
                ("VARVE.ATTRIBUTES k", "$0"),
                ("RPUSH l x", ":1"),
                ("VARVE.ATTRIBUTES l", "$0"),
            ],
        );
    }

    #[test]
    fn a_payload_of_a_string_comes_with_attributes_and_no_other() {
        let mut world = World::new();
        check(&mut world, &[("SET k v", "+OK"), ("RPUSH l x", ":1")]);
        let list = world.answer_words(&[b"DUMP", b"l"]);
        let begin = list.iter().position(|byte| *byte == b'\n').expect("a bulk string") + 1;
        let list = &list[begin..list.len() - 2];
        let mut restore = |key: &[u8], payload: &[u8], more: &[&[u8]]| {
            let words = [b"VARVE.NOTED", &b"f7 c9"[..], b"RESTORE", key, b"0", payload];
            let words: Vec<&[u8]> = words.into_iter().chain(more.iter().copied()).collect();
            String::from_utf8_lossy(&world.answer_words(&words)).into_owned()
        };
        let string = b"\0\x01v\x06\0\x07\xe5\xa62\xecm\xb6]";
        assert_eq!(restore(b"new", string, &[]), "+OK\r\n");
        assert!(restore(b"k", string, &[]).starts_with("-BUSYKEY"));
        assert_eq!(restore(b"k", string, &[b"REPLACE", b"ABSTTL"]), "+OK\r\n");
        assert!(restore(b"l", list, &[b"REPLACE"]).starts_with("-WRONGTYPE"));
        for key in ["new", "k"] {
            assert_eq!(reply_to(&mut world, &format!("VARVE.ATTRIBUTES {key}")), "$5 f7 c9");
        }
    }

    #[test]
    fn what_is_no_note_or_has_none_is_refused() {
        let mut world = World::new();
        world.answer("RPUSH l x");
        for line in [
            "VARVE.NOTED f5 GET k",
            "VARVE.NOTED f5 VARVE.NOTED f5 SET k v",
            "VARVE.NOTED f5 SET k",
            "VARVE.NOTED f5 '' k",
            "VARVE.NOTED f-1 SET k v",
            "VARVE.NOTED f4294967296 EXISTS k",
            "VARVE.NOTED f5 EXISTS k l",
            "VARVE.NOTED f5 SET k v NOSUCH",
            "VARVE.NOTED f5 SET k v NX",
            "VARVE.NOTED f5 SET k v XX",
            "VARVE.NOTED f5 SET k v IFEQ w",
            "VARVE.NOTED f5 SET k v GET",
        ] {
            assert_eq!(reply_to(&mut world, line), "-ERR syntax error", "{line}");
        }
        assert!(reply_to(&mut world, "VARVE.NOTED f5 SET").starts_with("-ERR wrong number"));
        assert!(reply_to(&mut world, "VARVE.NOTED f5 EXISTS l").starts_with("-WRONGTYPE"));
        assert_eq!(reply_to(&mut world, "DBSIZE"), ":1");
    }

    #[test]
    fn users_need_the_rights_to_what_does_the_same() {
        let mut world = World::new();
        check(
            &mut world,
            &[
                ("ACL SETUSER u on nopass ~k +restore", "+OK"),
                ("ACL DRYRUN u VARVE.NOTED f5 SET k v", "+OK"),
                ("ACL SETUSER w on nopass ~* +@read", "+OK"),
                ("ACL DRYRUN w VARVE.ATTRIBUTES k", "+OK"),
                ("ACL SETUSER x on nopass %W~* +@all", "+OK"),
                (
                    "ACL DRYRUN x VARVE.ATTRIBUTES k",
                    "$47 User x has no permissions to access the 'k' key",
                ),
            ],
        );
        for line in [
            "ACL DRYRUN u VARVE.NOTED f5 SET other v",
            "ACL DRYRUN u VARVE.ATTRIBUTES k",
            "ACL DRYRUN w VARVE.NOTED f5 EXISTS k",
        ] {
            assert!(reply_to(&mut world, line).contains("has no permissions"), "{line}");
        }
    }

    #[test]
    fn their_rows_are_found_and_in_no_list() {
        for name in ["VARVE.NOTED", "varve.attributes"] {
            let row = table().find(name.as_bytes()).expect("it is found");
            assert!(table().rows().iter().all(|listed| listed.id != row.id));
            assert!(table().rows().iter().any(|listed| listed.id == row.right), "{name}");
        }
    }
}
