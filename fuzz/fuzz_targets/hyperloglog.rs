//! Strings of clients are refused or can be read, added to and merged as HyperLogLogs; those that
//! can be read have the registers of a plain array.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use store::value::hyperloglog::{Corrupted, Layout, Registers, Sketch, mark_of};

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    Add(&'a [u8]),
    AddNumbers(u32, u8),
    Merge(&'a [u8]),
    TakeRegister(u16, u8, bool),
    MakeDense,
    Count,
}

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    /// Behind a head of either form, or as they are.
    head: Option<bool>,
    bytes: &'a [u8],
    sparse_bytes_max: u16,
    ops: Vec<Op<'a>>,
}

fuzz_target!(|input: Input<'_>| {
    let bytes = string_of(input.head, input.bytes);
    let mut sketch = Sketch::of(&bytes).unwrap_or_else(Sketch::empty);
    let bytes_max = input.sparse_bytes_max.into();
    let Ok(mut model) = registers_of(&sketch) else {
        // Wrong runs show at last when all of them are read; until then changes may succeed.
        assert!(sketch.count().is_err());
        for op in &input.ops {
            let _ = match op {
                Op::Count => sketch.count().map(|_| ()),
                op => apply(&mut sketch, &mut Registers::zeros(), op, bytes_max),
            };
        }
        return;
    };
    for op in &input.ops {
        apply(&mut sketch, &mut model, op, bytes_max).expect("whole runs stay whole");
    }
    assert_eq!(registers_of(&sketch).map(|registers| registers.0), Ok(model.0));
    assert!(Sketch::of(sketch.bytes()).is_some());
});

fn string_of(head: Option<bool>, bytes: &[u8]) -> Vec<u8> {
    let Some(is_dense) = head else { return bytes.to_vec() };
    let mut string = b"HYLL".to_vec();
    string.push(u8::from(!is_dense));
    string.extend(bytes);
    if is_dense {
        string.resize(store::value::hyperloglog::DENSE_BYTES, 0xa5);
    }
    string
}

fn registers_of(sketch: &Sketch<'_>) -> Result<Registers, Corrupted> {
    let mut registers = Registers::zeros();
    sketch.merge_into(&mut registers)?;
    Ok(registers)
}

fn apply(
    sketch: &mut Sketch<'_>,
    model: &mut Registers,
    op: &Op<'_>,
    bytes_max: u64,
) -> Result<(), Corrupted> {
    match *op {
        Op::Add(element) => add(sketch, model, element, bytes_max)?,
        Op::AddNumbers(first, count) => {
            for number in first..first.saturating_add(count.into()) {
                add(sketch, model, &number.to_le_bytes(), bytes_max)?;
            }
        }
        Op::Merge(bytes) => {
            let bytes = string_of(Some(false), bytes);
            let other = Sketch::of(&bytes).unwrap_or_else(Sketch::empty);
            let mut union = model.clone();
            if other.merge_into(&mut union).is_ok() {
                sketch.take(&union, sketch.form(), bytes_max)?;
                *model = union;
            }
        }
        Op::TakeRegister(at, value, is_dense) => {
            let register = &mut model.0[usize::from(at) % model.0.len()];
            *register = (value % 64).max(*register);
            let form = if is_dense { Layout::Dense } else { sketch.form() };
            sketch.take(model, form, bytes_max)?;
        }
        Op::MakeDense => {
            sketch.make_dense()?;
        }
        Op::Count => assert_eq!(sketch.count()?, model.histogram().estimate()),
    }
    Ok(())
}

fn add(
    sketch: &mut Sketch<'_>,
    model: &mut Registers,
    element: &[u8],
    bytes_max: u64,
) -> Result<(), Corrupted> {
    let mark = mark_of(element);
    let is_added = sketch.add(element, bytes_max)?;
    assert!(!is_added || sketch.kept_count().is_none());
    model.0[mark.register] = mark.value.max(model.0[mark.register]);
    Ok(())
}
