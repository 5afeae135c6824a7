//! DEBUG DIGEST: fingerprints of data, made as Valkey makes them, so that equal data in both
//! servers have equal ones.

use crate::call::{Call, Outcome};
use sha1::{Digest, Sha1};
use std::fmt::Write;
use store::{ScanFilter, Value};

/// The type of a string, as four bytes.
const STRING_TYPE: [u8; 4] = [0; 4];
/// Stands for the deadline of a key, whenever that is.
const HAS_DEADLINE: &[u8] = b"!!expire!!";

/// Keys that are collected before their values are looked at.
const BATCH: usize = 1024;

/// A fingerprint in the making.
#[derive(Clone, Copy, Default)]
struct Fingerprint([u8; 20]);

impl Fingerprint {
    /// Adds bytes whose order among others does not matter.
    fn add(&mut self, bytes: &[u8]) {
        let hash: [u8; 20] = Sha1::digest(bytes).into();
        self.0.iter_mut().zip(hash).for_each(|(byte, with)| *byte ^= with);
    }

    /// Adds bytes whose order matters.
    fn mix(&mut self, bytes: &[u8]) {
        self.add(bytes);
        self.0 = Sha1::digest(self.0).into();
    }

    fn mix_value(&mut self, value: &Value<'_>) {
        self.mix(&STRING_TYPE);
        self.mix(value.bytes);
        if value.deadline.is_some() {
            self.add(HAS_DEADLINE);
        }
    }

    fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

pub(super) fn digest(call: &mut Call<'_>) -> Outcome {
    let mut all = Fingerprint::default();
    for database in 0..call.instance.store.databases() {
        add_database(&mut all, call, database)?;
    }
    call.reply.simple(&all.text());
    Ok(())
}

fn add_database(all: &mut Fingerprint, call: &mut Call<'_>, database: usize) -> Outcome {
    let store = &call.instance.store;
    if store.len(database) == 0 {
        return Ok(());
    }
    all.mix(&(database as u32).to_be_bytes());
    let keyspace = call.keyspace_of(database)?;
    let (mut keys, mut cursor) = (Vec::new(), 0);
    loop {
        let add = |key: &[u8]| keys.push(key.to_vec());
        cursor = store.scan(keyspace, cursor, BATCH, ScanFilter::default(), call.now, add);
        for bytes in keys.drain(..) {
            let key = store.key(keyspace, &bytes);
            let access = store.lock(call.lane, &key, call.now);
            if let Some(value) = access.peek(&key) {
                let mut one = Fingerprint::default();
                one.mix(&bytes);
                one.mix_value(&value);
                all.add(&one.0);
            }
        }
        if cursor == 0 {
            return Ok(());
        }
    }
}

pub(super) fn digest_value(call: &mut Call<'_>) -> Outcome {
    let positions = 2..call.args.len();
    call.reply.array(positions.len());
    for at in positions {
        let mut one = Fingerprint::default();
        let (access, key, reply) = call.on_key(at)?;
        if let Some(value) = access.peek(&key) {
            one.mix_value(&value);
        }
        reply.simple(&one.text());
    }
    Ok(())
}
