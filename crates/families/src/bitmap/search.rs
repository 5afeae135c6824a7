//! Ranges of bits: BITCOUNT, BITPOS.

use command::{Call, Outcome};
use session::Refusal;
use std::ops::RangeInclusive;
use store::value::bitmap;

/// Range of a request: `start [end [BYTE | BIT]]`.
struct Range {
    start: i64,
    end: Option<i64>,
    in_bits: bool,
}

impl Range {
    /// Reads the range from the argument at `first` on; the whole string if there is none.
    fn parse(call: &Call<'_>, first: usize) -> Result<Range, Refusal> {
        let args = call.args;
        let words = args.len() - first;
        let start = if words > 0 { args.integer(first)? } else { 0 };
        let in_bits = words == 3 && args.is(first + 2, "BIT");
        if words > 3 || (words == 3 && !in_bits && !args.is(first + 2, "BYTE")) {
            return Err(Refusal::SYNTAX);
        }
        let end = (words > 1).then(|| args.integer(first + 1)).transpose()?;
        Ok(Range { start, end, in_bits })
    }

    /// Returns the bits of the range in a string of `len` bytes; `None` for none.
    fn bits(&self, len: usize) -> Option<RangeInclusive<u64>> {
        let (len, end) = (len as u64, self.end.unwrap_or(-1));
        if self.in_bits {
            bitmap::range(len * 8, self.start, end)
        } else {
            bitmap::range(len, self.start, end).map(bitmap::bits_of)
        }
    }
}

pub fn bitcount(call: &mut Call<'_>) -> Outcome {
    // More than three arguments of a range are a syntax error, whatever they are.
    if call.args.len() > 5 {
        return Err(Refusal::SYNTAX.into());
    }
    let range = Range::parse(call, 2)?;
    let is_reversed = range.end.is_some_and(|end| end < 0 && range.start < 0 && range.start > end);
    let (mut access, key, reply) = call.on_key(1);
    let count = access.read_string(&key)?.map_or(0, |string| {
        let bits = range.bits(string.len()).filter(|_| !is_reversed);
        bits.map_or(0, |bits| bitmap::count(&string, &bits))
    });
    reply.integer(count as i64);
    Ok(())
}

pub fn bitpos(call: &mut Call<'_>) -> Outcome {
    let on = match call.args.integer(2)? {
        0 => false,
        1 => true,
        _ => return Err(Refusal::of("ERR The bit argument must be 1 or 0.").into()),
    };
    if call.args.len() > 6 {
        return Err(Refusal::SYNTAX.into());
    }
    let range = Range::parse(call, 3)?;
    let (mut access, key, reply) = call.on_key(1);
    let position = match access.read_string(&key)? {
        // A missing key counts as an endless row of zeros.
        None => (!on).then_some(0),
        Some(string) => range.bits(string.len()).and_then(|bits| {
            // So do the bits beyond the end of a string, unless an end is given.
            let beyond = (!on && range.end.is_none()).then_some(bits.end() + 1);
            bitmap::position(&string, on, &bits).or(beyond)
        }),
    };
    reply.integer(position.map_or(-1, |position| position as i64));
    Ok(())
}
