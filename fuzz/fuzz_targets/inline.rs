//! Quoted words: any line splits or is refused, and what is quoted splits back into what it was.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let Some(words) = text::split_args(line) else { return };
    assert!(words.iter().map(Vec::len).sum::<usize>() <= line.len());
    let quoted: Vec<String> = words.iter().map(|word| text::quote(word)).collect();
    assert!(quoted.iter().all(|word| word.bytes().all(|byte| matches!(byte, b' '..=b'~'))));
    assert_eq!(text::split_args(quoted.join(" ").as_bytes()), Some(words));
});
