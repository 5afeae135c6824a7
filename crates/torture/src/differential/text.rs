//! Replies as readable text.

use super::rule::elements;
use super::step::word;
use crate::client::Reply;

/// Formats a reply on one line; a long one is truncated.
pub fn reply_text(reply: &Reply) -> String {
    let mut text = full_text(reply);
    if text.len() > SHOWN {
        let mut end = SHOWN;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text += "...";
    }
    text
}

fn full_text(reply: &Reply) -> String {
    let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let list = |items: &[Reply]| items.iter().map(full_text).collect::<Vec<_>>().join(", ");
    match reply {
        Reply::Simple(text) => plain(text),
        Reply::Error(text) => format!("(error) {}", text.escape_ascii()),
        Reply::Integer(number) => format!("(integer) {number}"),
        Reply::Bulk(bytes) => match word(bytes) {
            quoted if quoted.starts_with('"') => quoted,
            plain => format!("\"{plain}\""),
        },
        Reply::NilBulk => "(nil)".to_owned(),
        Reply::NilArray => "(nil array)".to_owned(),
        Reply::Null => "(null)".to_owned(),
        Reply::Array(items) => format!("[{}]", list(items)),
        Reply::Map(items) => format!("{{{}}}", list(items)),
        Reply::Set(items) => format!("(set) [{}]", list(items)),
        Reply::Push(items) => format!("(push) [{}]", list(items)),
        Reply::Double(text) => format!("(double) {}", plain(text)),
        Reply::Boolean(it) => format!("({it})"),
        Reply::BigNumber(text) => format!("(big number) {}", plain(text)),
        Reply::Verbatim(text) => format!("(verbatim) {}", word(text)),
    }
}

/// Returns the first innermost parts in which two replies differ.
pub fn first_difference<'a>(
    one: &'a Reply,
    other: &'a Reply,
) -> (Option<&'a Reply>, Option<&'a Reply>) {
    let (left, right) = (elements(one), elements(other));
    let same_kind = std::mem::discriminant(one) == std::mem::discriminant(other);
    if !same_kind || (left.is_empty() && right.is_empty()) {
        return (Some(one), Some(other));
    }
    let at = left.iter().zip(right).position(|(one, other)| one != other);
    match at {
        Some(at) => first_difference(&left[at], &right[at]),
        None => {
            let at = left.len().min(right.len());
            (left.get(at), right.get(at))
        }
    }
}

const SHOWN: usize = 700;
