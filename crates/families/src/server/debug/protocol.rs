//! DEBUG PROTOCOL: one reply of each type, for tests of clients.

use command::{Call, Outcome};
use session::Refusal;
use wire::{Protocol, Reply};

type Write = fn(&mut Reply<'_>);

const REPLIES: [(&str, Write); 12] = [
    ("string", |reply| reply.bulk(b"Hello World")),
    ("integer", |reply| reply.integer(12345)),
    ("double", |reply| reply.double_text(b"3.141")),
    ("bignum", |reply| reply.big_number(b"1234567999999999999999999999999999999")),
    ("null", |reply| reply.null()),
    ("array", |reply| {
        reply.array(3);
        (0..3).for_each(|number| reply.integer(number));
    }),
    ("set", |reply| {
        reply.set(3);
        (0..3).for_each(|number| reply.integer(number));
    }),
    ("map", |reply| {
        reply.map(3);
        for number in 0..3 {
            reply.integer(number);
            reply.boolean(number == 1);
        }
    }),
    ("attrib", attribute),
    ("verbatim", |reply| reply.verbatim(b"txt", b"This is a verbatim\nstring")),
    ("true", |reply| reply.boolean(true)),
    ("false", |reply| reply.boolean(false)),
];

pub(super) fn protocol(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    if args.is(2, "push") {
        return push(&mut call.reply);
    }
    let found = REPLIES.iter().find(|(name, _)| args.is(2, name));
    let (_, write) = found.ok_or(Refusal::of(
        "ERR Wrong protocol type name. Please use one of the following: \
         string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
    ))?;
    write(&mut call.reply);
    Ok(())
}

fn attribute(reply: &mut Reply<'_>) {
    if reply.attribute(1) {
        reply.bulk(b"key-popularity");
        reply.array(2);
        reply.bulk(b"key:123");
        reply.integer(90);
    }
    reply.bulk(b"Some real reply following the attribute");
}

fn push(reply: &mut Reply<'_>) -> Outcome {
    if reply.protocol() == Protocol::Resp2 {
        return Err(Refusal::of("ERR RESP2 is not supported by this command").into());
    }
    reply.push(2);
    reply.bulk(b"server-cpu-usage");
    reply.integer(42);
    // A push is no reply, so a client that waits needs something else.
    reply.bulk(b"Some real reply following the push reply");
    Ok(())
}
