//! Requests with mistakes, and bounds for those that take too long for a test.

use super::dice::Dice;
use super::draft::in_some_case;
use super::values::{odd, text};
use crate::differential::step::{Request, name};
use command::{Row, syntax::Node, syntax::parse};

/// Puts a random mistake into a request, which most likely makes it invalid.
pub fn harm(dice: &mut Dice, row: &Row, request: &mut Request) {
    let first = if row.parent.is_some() { 2 } else { 1 };
    let at = first + dice.below(request.len().saturating_sub(first));
    let has_arguments = at < request.len();
    match dice.below(7) {
        0 => request.truncate(at),
        1 if has_arguments => drop(request.remove(at)),
        2 if has_arguments => request.insert(at, request[at].clone()),
        3 if has_arguments => request[at] = odd(dice),
        4 if has_arguments => {
            let other = first + dice.below(request.len() - first);
            request.swap(at, other);
        }
        5 => request.push(odd(dice)),
        _ => {
            let mut tokens = Vec::new();
            collect_tokens(&parse(row.spec.syntax), &mut tokens);
            if !tokens.is_empty() {
                let token = *dice.pick(&tokens);
                let token = in_some_case(dice, token);
                request.insert(at.min(request.len()), token);
            }
        }
    }
}

fn collect_tokens(nodes: &[Node], into: &mut Vec<&'static str>) {
    for node in nodes {
        match node {
            Node::Token(token) => into.push(token),
            Node::Word(_) => {}
            Node::Group { alternatives, .. } => {
                for nodes in alternatives {
                    collect_tokens(nodes, into);
                }
            }
        }
    }
}

/// Removes what would wait for ever or take half a gigabyte.
pub fn tame(request: &mut Request) {
    let last = request.len() - 1;
    let block = request.iter().position(|it| it.eq_ignore_ascii_case(b"BLOCK"));
    for at in 1..last {
        if [&b"EX"[..], b"PX"].iter().any(|it| request[at].eq_ignore_ascii_case(it)) {
            tame_number(request, at + 1, not_soon);
        }
    }
    match name(request).as_str() {
        "BLPOP" | "BRPOP" | "BZPOPMIN" | "BZPOPMAX" | "BLMOVE" | "BRPOPLPUSH" => {
            tame_timeout(request, last);
        }
        "BLMPOP" | "BZMPOP" => tame_timeout(request, 1),
        "XREAD" | "XREADGROUP" => {
            // The first BLOCK may be a key, so all of them are checked.
            for at in block.unwrap_or(last)..last {
                if request[at].eq_ignore_ascii_case(b"BLOCK") {
                    tame_number(request, at + 1, |it| if it < 0 { it } else { it.clamp(1, 10) });
                }
            }
        }
        "EXPIRE" | "PEXPIRE" | "HEXPIRE" | "HPEXPIRE" | "SETEX" | "PSETEX" => {
            tame_number(request, 2, not_soon);
        }
        // SORT would change the form of another sorted set.
        "SORT" | "SORT_RO" if last > 0 && request[1].starts_with(b"z") => {
            request[1] = b"zs".to_vec();
        }
        "COPY" | "RENAME" | "RENAMENX" => tame_target(request),
        // Valkey ends names at a zero byte, and keeps it.
        "CLIENT SETNAME" | "HELLO" => request.iter_mut().for_each(|it| it.retain(|it| *it != 0)),
        "SETRANGE" => tame_number(request, 2, |it| bounded(it, 2 << 20, 600 << 20)),
        "SETBIT" => tame_number(request, 2, |it| bounded(it, 16 << 20, 5 << 30)),
        "BITFIELD" | "BITFIELD_RO" => {
            tame_fields(request);
            tame_set(request);
        }
        "SRANDMEMBER" | "HRANDFIELD" | "ZRANDMEMBER" => {
            tame_number(request, 2, |it| if it == i64::MIN { it } else { it.max(-1000) });
        }
        _ => {}
    }
}

/// Redirects COPY and RENAME to `zs`, so that no other sorted set becomes one that SORT has sorted.
fn tame_target(request: &mut Request) {
    if let [_, from, to, ..] = request.as_mut_slice()
        && to.starts_with(b"z")
        && (from == b"zs" || !from.starts_with(b"z"))
    {
        *to = b"zs".to_vec();
    }
}

/// Moves a time out of the duration of a round, in which one server would see it first.
fn not_soon(time: i64) -> i64 {
    if (1..SOON).contains(&time) { time + SOON } else { time }
}

fn bounded(number: i64, from: i64, to: i64) -> i64 {
    if (from..to).contains(&number) { number % from } else { number }
}

fn tame_number(request: &mut Request, at: usize, into: impl Fn(i64) -> i64) {
    if let Some(word) = request.get_mut(at)
        && let Some(number) = text::parse_i64(word)
        && into(number) != number
    {
        *word = text(into(number));
    }
}

fn tame_timeout(request: &mut Request, at: usize) {
    let Some(word) = request.get_mut(at) else { return };
    let number = std::str::from_utf8(word).ok().and_then(|it| it.trim().parse::<f64>().ok());
    let harmless = |it: f64| it.is_nan() || it < 0.0 || it.is_infinite();
    let is_hex = word.get(1).is_some_and(|it| it.eq_ignore_ascii_case(&b'x'));
    if is_hex || number.is_some_and(|it| !harmless(it) && !(0.001..=0.02).contains(&it)) {
        *word = b"0.01".to_vec();
    }
}

/// Bounds the offsets of BITFIELD, which follow the types of fields; with `#` they count fields.
fn tame_fields(request: &mut Request) {
    for at in 1..request.len() {
        if !request[at - 1].first().is_some_and(|it| b"iu".contains(&it.to_ascii_lowercase())) {
            continue;
        }
        let (mark, digits) = match request[at].as_slice() {
            [b'#', rest @ ..] => (&b"#"[..], rest),
            rest => (&b""[..], rest),
        };
        let (from, to) = if mark.is_empty() { (16 << 20, 5 << 30) } else { (1 << 18, 5 << 30) };
        if let Some(number) = text::parse_i64(digits)
            && bounded(number, from, to) != number
        {
            request[at] = [mark, &text(bounded(number, from, to))].concat();
        }
    }
}

/// Bounds values of BITFIELD: with others Valkey 9.1.2 saturates at the wrong end.
fn tame_set(request: &mut Request) {
    for at in 4..request.len() {
        let is_value = request[at - 3].eq_ignore_ascii_case(b"SET");
        if is_value && !request[at - 2].eq_ignore_ascii_case(b"i64") {
            tame_number(request, at, |it| it.max(-(1 << 62)));
        }
    }
}

const SOON: i64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::super::super::step::request;
    use super::*;

    fn tamed(words: &[&str]) -> Request {
        let mut request = request(words);
        tame(&mut request);
        request
    }

    #[test]
    fn nothing_waits_for_ever() {
        assert_eq!(tamed(&["BLPOP", "k", "0"]), request(&["BLPOP", "k", "0.01"]));
        assert_eq!(tamed(&["blpop", "k", "-1"]), request(&["blpop", "k", "-1"]));
        assert_eq!(tamed(&["BLMPOP", "7", "1", "k"]), request(&["BLMPOP", "0.01", "1", "k"]));
        let read = ["XREAD", "BLOCK", "0", "STREAMS", "x", "$"];
        assert_eq!(tamed(&read)[2], b"1");
    }

    #[test]
    fn nothing_fills_the_memory() {
        assert_eq!(tamed(&["SETBIT", "k", "4294967295", "1"])[2], b"16777215");
        assert_eq!(tamed(&["BITFIELD", "k", "GET", "u8", "#4294967295"])[4], b"#262143");
        let set = ["BITFIELD", "k", "SET", "i16", "0", "-9223372036854775808"];
        assert_eq!(tamed(&set)[5], b"-4611686018427387904");
        assert_eq!(tamed(&["SRANDMEMBER", "k", "-9223372036854775807"])[2], b"-1000");
    }
}
