//! BITOP.

use crate::args::Args;
use crate::call::{Call, Outcome};
use crate::refusal::Refusal;
use smallvec::SmallVec;
use store::value::bitmap::combine::{Operation, combine};
use store::{Encoding, Expiry};

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
    let (target, sources) = (keys[0], &keys[1..]);
    for source in sources {
        access.read_string(source)?;
    }
    let bytes = |key| access.peek(key).map_or(&[][..], |value| value.bytes);
    let result = combine(operation, &sources.iter().map(bytes).collect::<SmallVec<[&[u8]; 8]>>());
    let changed = if result.is_empty() {
        access.remove(&target)
    } else {
        access.write(&target, &result, Encoding::Raw, Expiry::Never)?;
        true
    };
    statistics.count_changes(u64::from(changed));
    reply.integer(result.len() as i64);
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
