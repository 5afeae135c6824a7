//! Glob patterns over keys, channels and names: `*`, `?`, `[a-z]`, `[^a-z]`, and `\` before a
//! literal byte.

/// Returns true if the whole of `text` matches `pattern`; with `nocase`, ASCII letters match in
/// both cases.
///
/// Corner cases, as in Valkey: an unclosed class ends with the pattern; in `[a-]` the bracket is
/// the end of a range; an escaped byte in a class matches its own case only; a non-empty pattern,
/// even `*`, does not match empty text. Ranges compare bytes as unsigned numbers.
///
/// Only the last `*` is ever tried again, so the work is at most the product of both lengths.
pub fn glob_match(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut rest, mut left) = (pattern, text);
    let mut last_star: Option<(&[u8], &[u8])> = None;
    while let [byte, left_tail @ ..] = left {
        if let [b'*', tail @ ..] = rest {
            if tail.is_empty() {
                return true;
            }
            rest = tail;
            last_star = Some((tail, left));
            continue;
        }
        if let Some(tail) = step(rest, *byte, nocase) {
            (rest, left) = (tail, left_tail);
            continue;
        }
        // A longer match of an earlier star cannot help: the pattern behind the last star failed on
        // every suffix.
        let Some((after_star, [_, longer @ ..])) = last_star else { return false };
        (rest, left) = (after_star, longer);
        last_star = Some((after_star, longer));
    }
    rest.iter().all(|byte| *byte == b'*')
}

/// Matches one byte with the first element of the pattern, which is not `*`. Returns the pattern
/// after it.
#[inline]
fn step(pattern: &[u8], byte: u8, nocase: bool) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', tail @ ..] => Some(tail),
        [b'[', class @ ..] => step_class(class, byte, nocase),
        [b'\\', literal, tail @ ..] | [literal, tail @ ..] => {
            same(*literal, byte, nocase).then_some(tail)
        }
    }
}

/// Matches one byte with a class whose opening bracket was taken. Returns the pattern after its
/// end.
fn step_class(class: &[u8], byte: u8, nocase: bool) -> Option<&[u8]> {
    let (negated, mut rest) = match class {
        [b'^', tail @ ..] => (true, tail),
        _ => (false, class),
    };
    let mut found = false;
    loop {
        match rest {
            [b'\\', literal, tail @ ..] => {
                found |= *literal == byte;
                rest = tail;
            }
            [] => break,
            [b']', tail @ ..] => {
                rest = tail;
                break;
            }
            [start, b'-', end, tail @ ..] => {
                found |= in_range(*start, *end, byte, nocase);
                rest = tail;
            }
            [literal, tail @ ..] => {
                found |= same(*literal, byte, nocase);
                rest = tail;
            }
        }
    }
    (found != negated).then_some(rest)
}

#[inline]
fn same(left: u8, right: u8, nocase: bool) -> bool {
    left == right || (nocase && left.eq_ignore_ascii_case(&right))
}

fn in_range(start: u8, end: u8, byte: u8, nocase: bool) -> bool {
    let (low, high) = if start <= end { (start, end) } else { (end, start) };
    if nocase {
        let folded = byte.to_ascii_lowercase();
        return (low.to_ascii_lowercase()..=high.to_ascii_lowercase()).contains(&folded);
    }
    (low..=high).contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{glob_match, step};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    /// Tries every split at every star.
    fn naive(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
        match (pattern, text) {
            ([], []) => true,
            ([b'*', tail @ ..], _) => {
                (0..=text.len()).any(|taken| naive(tail, &text[taken..], nocase))
            }
            (_, []) => false,
            (_, [byte, left @ ..]) => {
                step(pattern, *byte, nocase).is_some_and(|tail| naive(tail, left, nocase))
            }
        }
    }

    #[track_caller]
    fn matches(pattern: &str, text: &str) {
        assert!(
            glob_match(pattern.as_bytes(), text.as_bytes(), false),
            "{pattern} should match {text}"
        );
    }

    #[track_caller]
    fn differs(pattern: &str, text: &str) {
        assert!(
            !glob_match(pattern.as_bytes(), text.as_bytes(), false),
            "{pattern} should not match {text}"
        );
    }

    #[test]
    fn stars_match_any_run() {
        matches("*", "a");
        matches("h*llo", "hllo");
        matches("h*llo", "heeeello");
        matches("*a*b*", "ab");
        matches("a**", "a");
        differs("a*b", "abc");
        differs("*ab*cd", "abc");
    }

    #[test]
    fn classes_match_one_byte() {
        matches("h[ae]llo", "hallo");
        matches("h[a-c]llo", "hbllo");
        matches("h[c-a]llo", "hbllo");
        matches("h[^e]llo", "hallo");
        differs("h[^e]llo", "hello");
        differs("h[ae]llo", "hillo");
    }

    #[test]
    fn a_class_may_be_left_open() {
        matches("[ab", "a");
        matches("[^ab", "c");
        differs("[", "a");
        matches("[a-]", "]");
        differs("[]a]", "a");
        matches("[\\]]", "]");
    }

    #[test]
    fn a_backslash_takes_the_next_byte_literally() {
        matches("a\\*b", "a*b");
        differs("a\\*b", "axb");
        matches("a\\", "a\\");
    }

    #[test]
    fn case_is_folded_on_request() {
        assert!(glob_match(b"HeL*[A-C]", b"hello b", true));
        assert!(!glob_match(b"[\\A]", b"a", true));
    }

    #[test]
    fn empty_text_matches_the_empty_pattern_only() {
        matches("", "");
        differs("*", "");
        differs("", "a");
    }

    #[test]
    fn many_stars_end_in_time() {
        let pattern = "a*".repeat(1000) + "b";
        differs(&pattern, &"a".repeat(4000));
    }

    proptest! {
        #[test]
        fn agrees_with_trying_everything(
            pattern in "[ab*?\\[\\]\\^\\\\-]{0,10}",
            text in "[abAB\\-]{1,10}",
            nocase in any::<bool>(),
        ) {
            let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(glob_match(pattern, text, nocase), naive(pattern, text, nocase));
        }
    }
}
