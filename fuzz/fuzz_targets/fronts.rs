//! Any commands of both fronts on one store: each answer is that of a model, which knows of each
//! item its value, flags, CAS and deadline, and whether it is stale, won and fetched.
#![no_main]

#[path = "fronts/meta.rs"]
mod meta;
#[path = "fronts/model.rs"]
mod model;
#[path = "fronts/resp.rs"]
mod resp;
#[path = "fronts/server.rs"]
mod server;
#[path = "fronts/world.rs"]
mod world;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use world::{KEYS, Op, World};

// Operations are read one after the other, so that any bytes are a long sequence of them.
fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let mut world = World::new();
    while let (false, Ok(op)) = (input.is_empty(), Op::arbitrary(&mut input)) {
        world.apply(&op);
    }
    for key in 0..usize::from(KEYS) {
        let key = key as u8;
        let (vivify, recache, expiry, new_cas) = (None, None, None, None);
        let (with_cas, keeps_history) = (true, true);
        world.apply(&Op::MetaGet {
            key,
            vivify,
            recache,
            expiry,
            new_cas,
            with_cas,
            keeps_history,
        });
    }
});
