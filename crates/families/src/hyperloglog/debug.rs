//! Inspection: PFDEBUG, PFSELFTEST.

use command::{Call, Outcome};
use session::Refusal;
use settings::values::HLL_SPARSE_MAX_BYTES;
use std::fmt::Write;
use store::value::hyperloglog::{self, DENSE_BYTES, Layout, Registers, Run, Sketch};
use wire::Reply;

pub fn pfdebug(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    if args.is(1, "SIMD") {
        return simd(call);
    }
    call.reserve(DENSE_BYTES)?;
    let (mut access, key, reply) = call.on_key(2);
    let value =
        access.lookup_for_write(&key).ok_or(Refusal::of("ERR The specified key does not exist"))?;
    let sketch = hyperloglog::sketch_of(&value)?;
    if args.is(1, "ENCODING") {
        reply.simple(sketch.form().name());
    } else if args.is(1, "DECODE") {
        decode(&sketch, reply)?;
    } else if args.is(1, "GETREG") {
        registers(&sketch, reply)?;
        let is_changed = hyperloglog::make_dense(&mut access, &key)?;
        access.report_changes_silently(is_changed.into());
    } else if args.is(1, "TODENSE") {
        let is_changed = hyperloglog::make_dense(&mut access, &key)?;
        access.report_changes_silently(is_changed.into());
        reply.integer(i64::from(is_changed));
    } else {
        return Err(Refusal::naming("ERR Unknown PFDEBUG subcommand '{}'", &[args.get(1)]).into());
    }
    Ok(())
}

/// PFDEBUG SIMD: there are no vector instructions to switch on.
fn simd(call: &mut Call<'_>) -> Outcome {
    if !call.args.is(2, "ON") && !call.args.is(2, "OFF") {
        return Err(Refusal::of("ERR Argument must be ON or OFF").into());
    }
    call.reply.simple("disabled");
    Ok(())
}

fn decode(sketch: &Sketch<'_>, reply: &mut Reply<'_>) -> Outcome {
    if sketch.form() != Layout::Sparse {
        return Err(Refusal::of("ERR HLL encoding is not sparse").into());
    }
    let mut text = String::new();
    for run in sketch.runs() {
        // Writing to a String cannot fail.
        let _ = match run {
            Run::ShortZeros(len) => write!(text, "z:{len} "),
            Run::LongZeros(len) => write!(text, "Z:{len} "),
            Run::Values(value, len) => write!(text, "v:{value},{len} "),
        };
    }
    reply.bulk(text.trim_end().as_bytes());
    Ok(())
}

fn registers(sketch: &Sketch<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mut registers = Registers::zeros();
    sketch.merge_into(&mut registers).map_err(hyperloglog::HyperLogLogError::from)?;
    reply.array(registers.0.len());
    registers.0.iter().for_each(|register| reply.integer(i64::from(*register)));
    Ok(())
}

pub fn pfselftest(call: &mut Call<'_>) -> Outcome {
    let sparse_bytes_max = HLL_SPARSE_MAX_BYTES.get(&call.instance.settings);
    hyperloglog::self_test(call.now.0, sparse_bytes_max)
        .map_err(|error| Refusal::new(format!("ERR {error}")))?;
    call.reply.ok();
    Ok(())
}
