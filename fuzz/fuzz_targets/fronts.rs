//! Any commands of both fronts on one store: each answer is that of a model, which knows of each
//! item its value, flags, CAS and deadline, and whether it is stale, won, fetched, and named in
//! base64.
#![no_main]

#[path = "fronts/meta.rs"]
mod meta;
#[path = "fronts/model.rs"]
mod model;
#[path = "fronts/ops.rs"]
mod ops;
#[path = "fronts/resp.rs"]
mod resp;
#[path = "fronts/server.rs"]
mod server;
#[path = "fronts/snapshot.rs"]
mod snapshot;
#[path = "fronts/text.rs"]
mod text;
#[path = "fronts/world.rs"]
mod world;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use ops::{Common, MetaGet, NAMES, Op};
use world::World;

// Operations are read one after the other, so that any bytes are a long sequence of them.
fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let mut world = World::new();
    while let Some(op) = next(&mut input) {
        match op {
            Op::Snapshot { steps, ops } => world.snapshot_during(steps, |world| {
                let ops = (0..ops % 16).map_while(|_| next(&mut input));
                ops.for_each(|op| world.apply(&op));
            }),
            op => world.apply(&op),
        }
    }
    for key in 0..NAMES.len() {
        world.attributes(key);
        let (vivify, recache, expiry, keeps_history) = (None, None, None, true);
        let (is_base64, is_quiet, with_cas, new_cas) = (false, false, true, None);
        let common = Common { key: key as u8, is_base64, is_quiet, with_cas, new_cas };
        world.meta_get(MetaGet { common, vivify, recache, expiry, keeps_history });
    }
    world.end();
});

fn next(input: &mut Unstructured<'_>) -> Option<Op> {
    if input.is_empty() { None } else { Op::arbitrary(input).ok() }
}
