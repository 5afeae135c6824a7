//! BITOP.

use crate::args::Args;
use crate::call::{Call, Outcome};
use crate::refusal::Refusal;
use store::value::bitmap::combine::{self, Operation};

const NAMES: [(&str, Operation); 4] = [
    ("AND", Operation::And),
    ("OR", Operation::Or),
    ("XOR", Operation::Xor),
    ("NOT", Operation::Not),
];

pub fn bitop(call: &mut Call<'_>) -> Outcome {
    let (args, statistics) = (call.args, call.statistics);
    let operation = parse(args)?;
    let (mut access, keys, reply) = call.on_keys(2..args.len())?;
    let done = combine::store(&mut access, operation, &keys[0], &keys[1..])?;
    statistics.count_changes(u64::from(done.changed));
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
