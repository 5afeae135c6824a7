//! The line of the ids that the stream had before: `#varve-history`, its present id, and what
//! others know it by. It stands before the first sync line that tells the present id. Redis and
//! Valkey skip it, as every line that begins with `#`.

use crate::sync_line::ReplicationId;

const BEGIN: &[u8] = b"#varve-history ";
const ID_DIGITS: usize = 40;

/// The line for an id, and the text of those before it.
pub(crate) fn history_line(id: ReplicationId, earlier: &str) -> Vec<u8> {
    [BEGIN, id.as_str().as_bytes(), b" ", earlier.as_bytes(), b"\r\n"].concat()
}

/// The id and the text that a line tells; `None` if it is another line.
pub(crate) fn parse_history(line: &[u8]) -> Option<(ReplicationId, &[u8])> {
    let words = line.strip_prefix(BEGIN)?.strip_suffix(b"\r\n")?;
    let (id, earlier) = words.split_at_checked(ID_DIGITS)?;
    let earlier = earlier.strip_prefix(b" ")?;
    let is_text = |byte: &u8| byte.is_ascii_hexdigit() || b",:".contains(byte);
    Some((ReplicationId::parse(id)?, earlier)).filter(|_| earlier.iter().all(is_text))
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_was_written_and_others_tell_nothing() {
        let id = ReplicationId::parse(&[b'a'; 40]).expect("digits");
        let earlier = format!("{}:12,{}:7", "b".repeat(40), "c".repeat(40));
        let line = history_line(id, &earlier);
        assert_eq!(parse_history(&line), Some((id, earlier.as_bytes())));
        for end in 0..line.len() {
            assert_eq!(parse_history(&line[..end]), None);
        }
        assert_eq!(parse_history(b"#varve-history x y\r\n"), None);
        assert_eq!(parse_history(&history_line(id, "SET k v")), None);
    }
}
