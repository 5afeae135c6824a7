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
    let rewritten = settings.rewritten(file, &users_of(&settings));
    let again = Settings::new();
    load_text(&again, "rewritten", &rewritten, Sources::Nowhere).expect("it reads back");
    assert_eq!(settings.get_matching(&["*"]), again.get_matching(&["*"]));
    assert_eq!(again.rewritten(&rewritten, &users_of(&again)), rewritten);
});

/// Returns lines like those that were read: what they mean is not known here.
fn users_of(settings: &Settings) -> Vec<Vec<u8>> {
    let quoted = |words: &[Vec<u8>]| {
        let words: Vec<String> = words.iter().map(|word| text::quote(word)).collect();
        format!("user {}", words.join(" ")).into_bytes()
    };
    settings.user_lines().iter().map(|line| quoted(&line.words)).collect()
}
