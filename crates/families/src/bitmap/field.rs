//! Integers inside bitmaps: BITFIELD, BITFIELD_RO.

use super::{NOT_OFFSET, SETBIT, offset_within_limit};
use command::key_spec::find_with_flags;
use command::{Call, FoundKeys, KeyFlags, KeySpec, Outcome, effects};
use session::Refusal;
use smallvec::SmallVec;
use store::value::bitmap::{
    self,
    field::{Change, Field, Overflow},
};
use store::value::string::{self, StringMut, StringView};
use wire::Reply;

const NOT_TYPE: Refusal = Refusal::of(
    "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but \
     i64 is.",
);

/// One step of a BITFIELD.
#[derive(Clone, Copy)]
struct Step {
    field: Field,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Get,
    Set(i64, Overflow),
    Add(i64, Overflow),
}

type Steps = SmallVec<[Step; 4]>;

pub fn bitfield(call: &mut Call<'_>) -> Outcome {
    let steps = parse(call)?;
    match last_written(&steps) {
        Some(last) => change(call, &steps, last),
        None => read(call, &steps),
    }
}

pub fn bitfield_ro(call: &mut Call<'_>) -> Outcome {
    let steps = parse(call)?;
    if last_written(&steps).is_some() {
        return Err(Refusal::of("ERR BITFIELD_RO only supports the GET subcommand").into());
    }
    read(call, &steps)
}

/// Finds the key of BITFIELD, which is only read if no step writes.
pub fn keys<'r>(specs: &[KeySpec], request: &[&'r [u8]]) -> Option<FoundKeys<'r>> {
    let flags = if only_gets(request.get(2..).unwrap_or_default()) {
        KeyFlags::RO
    } else {
        KeyFlags::RW | KeyFlags::UPDATE
    };
    find_with_flags(flags | KeyFlags::ACCESS, specs, request)
}

/// Returns true if BITFIELD only reads; a request that it would refuse may write.
fn only_gets(operations: &[&[u8]]) -> bool {
    let mut rest = operations;
    while let [operation, behind @ ..] = rest {
        let words = match operation.to_ascii_lowercase().as_slice() {
            b"get" => 2,
            b"overflow" => 1,
            _ => return false,
        };
        let Some(next) = behind.get(words..) else { return false };
        rest = next;
    }
    true
}

fn read(call: &mut Call<'_>, steps: &Steps) -> Outcome {
    let (mut access, key, reply) = call.on_key(1);
    let string = access.read_string(&key)?;
    reply.array(steps.len());
    for step in steps {
        reply.integer(string.map_or(0, |string| step.field.get_from(&string)));
    }
    Ok(())
}

fn change(call: &mut Call<'_>, steps: &Steps, last: u64) -> Outcome {
    call.reserve(string::bytes_before((last / 8) as usize + 1))?;
    let args = call.args;
    let (mut access, key, reply) = call.on_key(1);
    // Until a step changes the string, each finds what is there now.
    let is_same = access.has_key_listener()
        && bitmap::stays(&access, &key, last, |string| {
            steps.iter().all(|step| step.leaves(string))
        });
    let (changes, grown) = access.unseen_if(is_same, |access| {
        let written = written(steps).map(|step| step.field.bytes());
        let (mut string, grown) = bitmap::reaching(access, &key, last, written)?;
        reply.array(steps.len());
        let changes = steps.iter().map(|step| step.run_on(&mut string, grown, reply));
        Ok::<(u64, bool), Refusal>((changes.map(u64::from).sum(), grown))
    })?;
    access.report_changes(changes, SETBIT, &key);
    if grown && changes == 0 && access.is_recording() {
        // No field was set, but the string has become longer for it.
        effects::words(&mut access, &key, &args.from(0).collect::<Vec<_>>());
    }
    Ok(())
}

impl Step {
    /// Runs the step; returns true if it counts as a change.
    fn run_on(&self, string: &mut StringMut<'_, '_>, grown: bool, reply: &mut Reply<'_>) -> bool {
        match string {
            StringMut::Whole(bytes) => self.run(bytes, grown, reply),
            StringMut::Long(long) => {
                let alone = Step { field: self.field.alone(), ..*self };
                long.with_bytes(self.field.bytes(), |bytes| alone.run(bytes, grown, reply))
            }
        }
    }

    fn run(&self, bytes: &mut [u8], grown: bool, reply: &mut Reply<'_>) -> bool {
        let done = self.write(bytes);
        match (self.what, done) {
            (What::Get, _) => reply.integer(self.field.get(bytes)),
            (What::Set(..), Some(change)) => reply.integer(change.old),
            (What::Add(..), Some(change)) => reply.integer(change.new),
            (_, None) => reply.null(),
        }
        done.is_some_and(|change| grown || change.old != change.new)
    }

    /// Writes the field if the step writes, and the number fits.
    fn write(&self, bytes: &mut [u8]) -> Option<Change> {
        match self.what {
            What::Get => None,
            What::Set(value, overflow) => self.field.set(bytes, value, overflow),
            What::Add(by, overflow) => self.field.add(bytes, by, overflow),
        }
    }

    /// Returns true if the step would leave a string, which has all bytes of its field, as it is.
    fn leaves(&self, string: &StringView<'_>) -> bool {
        let alone = Step { field: self.field.alone(), ..*self };
        let done = alone.write(&mut self.field.copied_from(string));
        done.is_none_or(|change| change.old == change.new)
    }
}

/// Returns the last bit that a step may write.
fn last_written(steps: &Steps) -> Option<u64> {
    written(steps).map(|step| step.field.last_bit()).max()
}

/// Returns the steps that may write.
fn written(steps: &Steps) -> impl Iterator<Item = &Step> {
    steps.iter().filter(|step| !matches!(step.what, What::Get))
}

fn parse(call: &Call<'_>) -> Result<Steps, Refusal> {
    let args = call.args;
    let (mut steps, mut overflow, mut at) = (Steps::new(), Overflow::Wrap, 2);
    while at < args.len() {
        let following = args.len() - at - 1;
        if args.is(at, "OVERFLOW") && following >= 1 {
            overflow = overflow_named(args.get(at + 1))?;
            at += 2;
        } else if args.is(at, "GET") && following >= 2 {
            steps.push(Step { field: field(call, at + 1)?, what: What::Get });
            at += 3;
        } else if (args.is(at, "SET") || args.is(at, "INCRBY")) && following >= 3 {
            let field = field(call, at + 1)?;
            let number = args.integer(at + 3)?;
            let sets = args.is(at, "SET");
            let what = if sets { What::Set(number, overflow) } else { What::Add(number, overflow) };
            steps.push(Step { field, what });
            at += 4;
        } else {
            return Err(Refusal::SYNTAX);
        }
    }
    Ok(steps)
}

fn overflow_named(name: &[u8]) -> Result<Overflow, Refusal> {
    match name.to_ascii_lowercase().as_slice() {
        b"wrap" => Ok(Overflow::Wrap),
        b"sat" => Ok(Overflow::Saturate),
        b"fail" => Ok(Overflow::Fail),
        _ => Err(Refusal::of("ERR Invalid OVERFLOW type specified")),
    }
}

/// Reads the type and offset at `at`.
fn field(call: &Call<'_>, at: usize) -> Result<Field, Refusal> {
    let (signed, bits) = match call.args.get(at) {
        [b'i', bits @ ..] => (true, bits),
        [b'u', bits @ ..] => (false, bits),
        _ => return Err(NOT_TYPE),
    };
    let bits_max = if signed { 64 } else { 63 };
    let bits = text::parse_u64(bits).and_then(|bits| u32::try_from(bits).ok());
    let bits = bits.filter(|bits| (1..=bits_max).contains(bits)).ok_or(NOT_TYPE)?;
    let offset = match call.args.get(at + 1) {
        [b'#', number @ ..] => text::parse_i64(number).ok_or(NOT_OFFSET)?.checked_mul(bits.into()),
        number => text::parse_i64(number),
    };
    Ok(Field { offset: offset_within_limit(call, offset)?, bits, signed })
}
