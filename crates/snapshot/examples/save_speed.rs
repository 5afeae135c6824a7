//! Saves keys of 16 bytes again and again: processor time for each key, in the thread that saves.
//!
//! `cargo run --release -p snapshot --example save_speed [KEYS] [VALUE BYTES] [ROUNDS] [FILE]`.
//! Without a file the bytes go nowhere.

use base::{KeyHasher, Millis, Random};
use rdb::Version;
use snapshot::{Save, SaveProgress};
use std::fs::File;
use std::io::{Write, sink};
use std::sync::Arc;
use store::{Encoding, Expiry, Store, StoreConfig};

const NOW: Millis = Millis(1_700_000_000_000);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        |usual: u64| arguments.next().map_or(usual, |text| text.parse().expect("a number"));
    let (keys, value_bytes, rounds) = (number(1_000_000), number(100), number(5));
    let path = arguments.next();
    let config = StoreConfig { databases: 1, hasher: KeyHasher::from_seed(1), address_space: None };
    let store = Store::new(config).expect("address space");
    let mut thread = store.thread_context().expect("a thread");
    let mut random = Random::from_seed(1);
    let mut value = vec![0; narrow::to_usize(value_bytes)];
    for number in 0..keys {
        let name = format!("key:{number:012}");
        let key = store.key(store.keyspace(0).expect("it exists"), name.as_bytes());
        value.iter_mut().for_each(|byte| *byte = narrow::low_u8(random.next()));
        store.enter(&thread);
        let mut access = store.lock(&mut thread, &key, NOW).muted();
        access.set_string(&key, &value, Encoding::Raw, Expiry::Never).expect("room");
        access.report_changes_silently(1);
        drop(access);
        store.leave(&thread);
    }
    let progress = SaveProgress::default();
    for _ in 0..rounds {
        let to: Box<dyn Write> = match &path {
            Some(path) => Box::new(File::create(path).expect("a file")),
            None => Box::new(sink()),
        };
        progress.reset();
        store.enter(&thread);
        let mut save = Save {
            store: &store,
            thread: &mut thread,
            now: NOW,
            timed: Some(Version::VALKEY),
            compresses: false,
            checks: true,
            is_base: false,
            functions: Arc::default(),
            leaves_out_functions: false,
            key_delay: 0,
            leaves_out_keys: false,
            fields: Arc::default(),
            progress: &progress,
        };
        let before = processor_nanos();
        let written = save.write(to, || ()).expect("saved");
        let nanos = (processor_nanos() - before) as f64;
        store.leave(&thread);
        assert_eq!(written, keys);
        println!(
            "{:.1} ns for a key, {:.2} million a second, {:.0} MB/s",
            nanos / keys as f64,
            keys as f64 * 1e3 / nanos,
            (keys * (value_bytes + 16)) as f64 * 1e3 / nanos
        );
    }
}

/// Time for which this thread has run.
fn processor_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).expect("nanoseconds")
}
