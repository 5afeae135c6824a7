//! BITOP.

use crate::string::SET;
use command::{Call, Outcome};
use session::{Args, Refusal};
use store::Event;
use store::value::bitmap::combine::{self, Operation};

const NAMES: [(&str, Operation); 4] = [
    ("AND", Operation::And),
    ("OR", Operation::Or),
    ("XOR", Operation::Xor),
    ("NOT", Operation::Not),
];

pub fn bitop(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    let operation = parse(args)?;
    let (mut access, keys, reply) = call.on_keys(2..args.len());
    let done = combine::store(&mut access, operation, &keys[0], &keys[1..])?;
    let event = if done.len > 0 { SET } else { Event::DEL };
    access.report_changes(done.changed.into(), event, &keys[0]);
    reply.integer(done.len as i64);
    Ok(())
}

fn parse(args: Args<'_>) -> Result<Operation, Refusal> {
    let found = NAMES.into_iter().find(|(name, _)| args.is(1, name));
    let (_, operation) = found.ok_or(Refusal::SYNTAX)?;
    if operation == Operation::Not && args.len() != 4 {
        return Err(Refusal::of("ERR BITOP NOT must be called with a single source key."));
    }
    Ok(operation)
}
