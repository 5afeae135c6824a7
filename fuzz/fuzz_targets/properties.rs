//! Property files of YCSB: any bytes are read or refused, and what was read can be written down and
//! read again.
#![no_main]

use bench::fuzzed::Properties;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let mut properties = Properties::default();
    if properties.add(file).is_err() {
        return;
    }
    let mut written = String::new();
    for (name, value) in properties.iter() {
        written += &format!("{}={}\n", escaped(name), escaped(value));
    }
    let mut again = Properties::default();
    again.add(written.as_bytes()).expect("it reads back");
    assert_eq!(again, properties);
});

fn escaped(text: &str) -> String {
    text.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect()
}
