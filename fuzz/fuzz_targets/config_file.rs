//! Configuration files: any bytes are read or refused, and what was read survives a rewrite.
#![no_main]

use libfuzzer_sys::fuzz_target;
use settings::{Settings, Sources, load_text};

fuzz_target!(|file: &[u8]| {
    let settings = Settings::new();
    if let Err(error) = load_text(&settings, "fuzz", file, Sources::Nowhere) {
        assert!(error.line_number >= 1);
        assert!(!error.reason.is_empty());
        return;
    }
    let rewritten = settings.rewritten(file);
    let again = Settings::new();
    load_text(&again, "rewritten", &rewritten, Sources::Nowhere).expect("it reads back");
    assert_eq!(settings.get_matching(&["*"]), again.get_matching(&["*"]));
    assert_eq!(again.rewritten(&rewritten), rewritten);
});
