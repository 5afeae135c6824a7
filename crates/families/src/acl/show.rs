//! What is known of users: ACL LIST, USERS, GETUSER, CAT, GENPASS.

use command::{Call, Outcome};
use session::Refusal;
use users::{Selector, User, describe_line};
use wire::Reply;

const BITS_MAX: i64 = 4096;
const BYTES_MAX: usize = 512;
const BITS_DEFAULT: i64 = 256;
const BITS_PER_DIGIT: i64 = 4;

pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let users = call.instance.access.all();
    call.reply.array(users.len());
    users.iter().for_each(|user| call.reply.bulk(&describe_line(user)));
    Ok(())
}

pub(super) fn names(call: &mut Call<'_>) -> Outcome {
    let users = call.instance.access.all();
    call.reply.array(users.len());
    users.iter().for_each(|user| call.reply.bulk(user.name()));
    Ok(())
}

pub(super) fn get_user(call: &mut Call<'_>) -> Outcome {
    let Some(found) = call.instance.access.find(call.args.get(2)) else {
        call.reply.null();
        return Ok(());
    };
    let (user, reply) = (&*found.user, &mut call.reply);
    let Some((root, others)) = user.selectors().split_first() else {
        unreachable!("a user has a root selector")
    };
    reply.map(7);
    show_login(reply, user);
    show_selector(reply, root);
    reply.bulk(b"selectors");
    reply.array(others.len());
    for selector in others {
        reply.map(4);
        show_selector(reply, selector);
    }
    Ok(())
}

fn show_login(reply: &mut Reply<'_>, user: &User) {
    reply.bulk(b"flags");
    reply.set(user.flags().count());
    user.flags().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"passwords");
    reply.array(user.passwords().len());
    user.passwords().iter().for_each(|hash| reply.bulk(hash.to_string().as_bytes()));
}

fn show_selector(reply: &mut Reply<'_>, selector: &Selector) {
    for (name, rules) in ["commands", "keys", "channels", "databases"].iter().zip(selector.parts())
    {
        reply.bulk(name.as_bytes());
        reply.bulk(&rules);
    }
}

/// ACL CAT.
pub(super) fn categories(call: &mut Call<'_>) -> Outcome {
    let (catalog, args) = (call.instance.access.catalog(), call.args);
    match args.len() {
        2 => {
            let names: Vec<&str> = catalog.category_names().collect();
            call.reply.array(names.len());
            names.iter().for_each(|name| call.reply.bulk(name.as_bytes()));
        }
        3 => {
            let bits = catalog.category(args.get(2)).ok_or_else(|| {
                Refusal::naming("ERR Unknown category '{}'", &[session::begin_of(args.get(2))])
            })?;
            let members: Vec<_> = catalog.members(bits).collect();
            call.reply.array(members.len());
            for id in members {
                call.reply.bulk(catalog.command(id).name.as_bytes());
            }
        }
        _ => return Err(call.wrong_subcommand().into()),
    }
    Ok(())
}

/// ACL GENPASS.
pub(super) fn generate_password(call: &mut Call<'_>) -> Outcome {
    let bits = match call.args.len() {
        2 => BITS_DEFAULT,
        3 => call.args.integer(2)?,
        _ => return Err(call.wrong_subcommand().into()),
    };
    if !(1..=BITS_MAX).contains(&bits) {
        return Err(Refusal::new(format!(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a \
             positive number up to {BITS_MAX}"
        ))
        .into());
    }
    let digits = usize::try_from((bits + BITS_PER_DIGIT - 1) / BITS_PER_DIGIT).unwrap_or(0);
    let mut bytes = [0; BYTES_MAX];
    getrandom::fill(&mut bytes).map_err(|error| Refusal::new(format!("ERR {error}")))?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    call.reply.bulk(&text.as_bytes()[..digits]);
    Ok(())
}
