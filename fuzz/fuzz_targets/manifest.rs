//! Manifests: any bytes are read or refused with a line, and what was read is written and read
//! again.
#![no_main]

use journal::manifest::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Manifest::parse(bytes) {
        Err(error) => {
            let lines = bytes.split_inclusive(|byte| *byte == b'\n').count();
            assert!((1..=lines.max(1)).contains(&error.line));
        }
        Ok(manifest) => {
            for (entry, _) in manifest.files() {
                assert!(!entry.name.contains(['/', '\\', '\0']) && entry.sequence > 0);
                assert!(!matches!(entry.name.as_str(), "" | "." | ".."));
            }
            let text = manifest.to_string();
            if !text.is_empty() && text.lines().all(|line| line.len() < 1024) {
                assert_eq!(Manifest::parse(text.as_bytes()), Ok(manifest));
            }
        }
    }
});
