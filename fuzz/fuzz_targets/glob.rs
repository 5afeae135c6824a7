//! Patterns: the same answer as a model that keeps the set of all reachable places in the pattern.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[derive(arbitrary::Arbitrary, Debug)]
struct Case<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
    nocase: bool,
}

fuzz_target!(|case: Case<'_>| {
    let matched = text::glob_match(case.pattern, case.text, case.nocase);
    if !case.text.is_empty() && case.pattern.len() < 200 && case.text.len() < 200 {
        assert_eq!(matched, model(case.pattern, case.text, case.nocase));
    }
});

fn model(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    skip_stars(pattern, &mut reached);
    for byte in text {
        let mut next = vec![false; pattern.len() + 1];
        for at in (0..pattern.len()).filter(|at| reached[*at]) {
            if pattern[at] == b'*' {
                next[at] = true;
            } else {
                // One element of the pattern, matched alone, is judged by the function under test.
                let end = element_end(pattern, at);
                next[end] |= text::glob_match(&pattern[at..end], &[*byte], nocase);
            }
        }
        skip_stars(pattern, &mut next);
        reached = next;
    }
    reached[pattern.len()]
}

fn skip_stars(pattern: &[u8], reached: &mut [bool]) {
    for at in 0..pattern.len() {
        if reached[at] && pattern[at] == b'*' {
            reached[at + 1] = true;
        }
    }
}

/// Where the element that begins at `at` ends.
fn element_end(pattern: &[u8], at: usize) -> usize {
    match pattern[at] {
        b'\\' => (at + 2).min(pattern.len()),
        b'[' => class_end(pattern, at + 1),
        _ => at + 1,
    }
}

fn class_end(pattern: &[u8], mut at: usize) -> usize {
    if pattern.get(at) == Some(&b'^') {
        at += 1;
    }
    loop {
        at += match pattern.get(at..).unwrap_or_default() {
            [] => return at,
            [b'\\', _, ..] => 2,
            [b']', ..] => return at + 1,
            [_, b'-', _, ..] => 3,
            _ => 1,
        };
    }
}
