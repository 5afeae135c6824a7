//! Rules for the agreement of two replies to one request.

use super::step::{Request, called, name};
use crate::client::Reply;

/// Degree of agreement between two replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Equal in every byte.
    Exact,
    /// Equal in their elements, in any order.
    Members,
    /// Equal in their pairs, in any order.
    Pairs,
    /// Page of an iteration; its elements are compared if it is the only one.
    Page {
        /// True if the whole collection fits.
        whole: bool,
        /// True if elements come in pairs.
        pairs: bool,
    },
    /// Equal in type and number of elements, for random choices.
    Shape,
    /// Equal in type only.
    Kind,
    /// Positive numbers with at most this difference: deadlines that were set one after the other.
    Near(i64),
    /// Equal but for times and the layout of a stream.
    Times,
    /// Equal but for the third number of each element, which is compared as in [`Rule::Near`].
    Idle,
    /// Pairs of a key and its flags, equal but for the order of flags: a script gets them as a set,
    /// which is a table of Lua.
    Flags,
    /// Equal in their distances, and in the elements at each; those at the last one of a COUNT may
    /// differ.
    ByDistance {
        /// True if elements at the last distance may differ.
        has_count: bool,
    },
}

/// Returns the rule for a request.
pub fn of(request: &Request) -> Rule {
    let request = called(request);
    let name = name(request);
    let has = |word: &[u8]| request.iter().skip(1).any(|it| it.eq_ignore_ascii_case(word));
    match name.as_str() {
        "SMEMBERS" | "SINTER" | "SUNION" | "SDIFF" | "KEYS" | "HKEYS" | "HVALS" => Rule::Members,
        "HGETALL" => Rule::Pairs,
        "SCAN" | "SSCAN" => Rule::Page { whole: is_whole(request), pairs: false },
        "HSCAN" => Rule::Page { whole: is_whole(request), pairs: !has(b"NOVALUES") },
        "ZSCAN" => Rule::Page { whole: is_whole(request), pairs: !has(b"NOSCORES") },
        "SPOP" | "SRANDMEMBER" | "HRANDFIELD" | "ZRANDMEMBER" => Rule::Shape,
        // Expired keys count until they are removed, and replies in flight refer to long strings.
        "RANDOMKEY" | "HELLO" | "DBSIZE" | "DUMP" | "OBJECT REFCOUNT" => Rule::Kind,
        "TTL" | "EXPIRETIME" | "HTTL" | "HEXPIRETIME" => Rule::Near(SECONDS),
        "PTTL" | "PEXPIRETIME" | "HPTTL" | "HPEXPIRETIME" => Rule::Near(MILLISECONDS),
        "XINFO STREAM" | "XINFO CONSUMERS" => Rule::Times,
        "XPENDING" => Rule::Idle,
        "XADD" if has(b"*") => Rule::Kind,
        "COMMAND GETKEYSANDFLAGS" => Rule::Flags,
        "SORT" | "SORT_RO" => sort(request),
        "GEOSEARCH"
        | "GEORADIUS"
        | "GEORADIUS_RO"
        | "GEORADIUSBYMEMBER"
        | "GEORADIUSBYMEMBER_RO" => {
            let has_count = has(b"COUNT");
            let is_sorted = has_count || has(b"ASC") || has(b"DESC");
            match (has(b"ANY") || !has(b"WITHDIST"), is_sorted) {
                (_, false) => Rule::Members,
                (true, true) => Rule::Shape,
                (false, true) => Rule::ByDistance { has_count },
            }
        }
        _ => Rule::Exact,
    }
}

/// Returns the request to send beforehand, so that the reply is defined: a range by bytes needs
/// equal scores.
pub fn prelude(request: &Request) -> Option<Request> {
    let request = called(request);
    let name = name(request);
    let is_by_lex = name.contains("LEX")
        || (name.starts_with("ZRANGE")
            && request.iter().any(|it| it.eq_ignore_ascii_case(b"BYLEX")));
    let key = request.get(if name == "ZRANGESTORE" { 2 } else { 1 })?.as_slice();
    is_by_lex.then(|| super::step::request(&[b"ZUNIONSTORE", key, b"1", key, b"WEIGHTS", b"0"]))
}

/// Returns a request with the requests to send before and after it.
pub fn with_company(request: &Request) -> impl Iterator<Item = Request> {
    [prelude(request), Some(request.clone()), amends(request)].into_iter().flatten()
}

/// Returns the request that makes both sides equal again after a command with a random choice.
pub fn amends(request: &Request) -> Option<Request> {
    let request = called(request);
    let has = |word: &[u8]| request.iter().skip(1).any(|it| it.eq_ignore_ascii_case(word));
    let store = || {
        let stores = |it: &Vec<u8>| {
            it.eq_ignore_ascii_case(b"STORE") || it.eq_ignore_ascii_case(b"STOREDIST")
        };
        Some(request.get(request.iter().rposition(stores)? + 1)?.clone())
    };
    let key = match name(request).as_str() {
        "SPOP" => request.get(1).cloned(),
        "XADD" if has(b"*") => request.get(1).cloned(),
        "SORT" if sort(request) != Rule::Exact || has(b"ALPHA") => store(),
        "GEORADIUS" | "GEORADIUSBYMEMBER" if has(b"COUNT") => store(),
        "GEOSEARCHSTORE" if has(b"COUNT") => request.get(1).cloned(),
        _ => None,
    };
    Some(vec![b"DEL".to_vec(), key?])
}

/// Returns the rule for SORT: elements that compare equal may be in any order.
fn sort(request: &[Vec<u8>]) -> Rule {
    let has = |word: &[u8]| request.iter().any(|it| it.eq_ignore_ascii_case(word));
    let mut by = request.windows(2).filter(|it| it[0].eq_ignore_ascii_case(b"BY")).peekable();
    let is_sorted = by.peek().is_none() || (by.all(|it| it[1].contains(&b'*')) && !has(b"ALPHA"));
    match (is_sorted, has(b"LIMIT") || has(b"GET")) {
        (true, _) => Rule::Exact,
        (false, true) => Rule::Shape,
        (false, false) => Rule::Members,
    }
}

/// Returns true if one page holds the whole collection: the first one, with a large COUNT.
fn is_whole(request: &[Vec<u8>]) -> bool {
    let cursor = request.iter().any(|it| it == b"0");
    // The last COUNT is the one in effect.
    let count = request.iter().rposition(|it| it.eq_ignore_ascii_case(b"COUNT"));
    let count = count.and_then(|at| text::parse_i64(request.get(at + 1)?));
    cursor && count == Some(WHOLE)
}

/// Returns true if two replies agree under a rule; errors must always be equal.
pub fn agree(rule: Rule, one: &Reply, other: &Reply) -> bool {
    if one == other {
        return true;
    }
    if matches!(one, Reply::Error(_)) || matches!(other, Reply::Error(_)) {
        return false;
    }
    match rule {
        Rule::Exact => false,
        Rule::Members => kind(one) == kind(other) && members(one) == members(other),
        Rule::Pairs => kind(one) == kind(other) && pairs(one) == pairs(other),
        Rule::Page { whole, pairs } => pages(whole, pairs, one, other),
        Rule::Shape => kind(one) == kind(other) && elements(one).len() == elements(other).len(),
        Rule::Kind => kind(one) == kind(other),
        Rule::Near(most) => near(most, one, other),
        Rule::Times => times(one, other),
        Rule::Idle => idle(one, other),
        Rule::Flags => flags(one, other),
        Rule::ByDistance { has_count } => by_distance(has_count, one, other),
    }
}

fn kind(reply: &Reply) -> std::mem::Discriminant<Reply> {
    std::mem::discriminant(reply)
}

/// Returns the elements of an aggregate; none for other replies.
pub fn elements(reply: &Reply) -> &[Reply] {
    match reply {
        Reply::Array(it) | Reply::Map(it) | Reply::Set(it) | Reply::Push(it) => it,
        _ => &[],
    }
}

fn flags(one: &Reply, other: &Reply) -> bool {
    let (one, other) = (elements(one), elements(other));
    let is_same = |(one, other): (&Reply, &Reply)| match (elements(one), elements(other)) {
        ([key, flags], [other_key, other_flags]) => {
            key == other_key && members(flags) == members(other_flags)
        }
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

fn members(reply: &Reply) -> Vec<&Reply> {
    let mut members: Vec<_> = elements(reply).iter().collect();
    members.sort();
    members
}

/// Returns the pairs of an aggregate, sorted.
pub fn pairs(reply: &Reply) -> Vec<&[Reply]> {
    let mut pairs: Vec<_> = elements(reply).chunks(2).collect();
    pairs.sort();
    pairs
}

/// Compares pages; a page may contain an element twice.
fn pages(whole: bool, in_pairs: bool, one: &Reply, other: &Reply) -> bool {
    let ([cursor, one], [other_cursor, other]) = (elements(one), elements(other)) else {
        return false;
    };
    if !whole {
        return kind(one) == kind(other);
    }
    let same = if in_pairs {
        let of = |reply| {
            let mut pairs = pairs(reply);
            pairs.dedup();
            pairs
        };
        of(one) == of(other)
    } else {
        let of = |reply| {
            let mut members = members(reply);
            members.dedup();
            members
        };
        of(one) == of(other)
    };
    cursor == other_cursor && kind(one) == kind(other) && same
}

fn near(most: i64, one: &Reply, other: &Reply) -> bool {
    if let (Reply::Integer(one), Reply::Integer(other)) = (one, other) {
        return one == other || (*one > 0 && *other > 0 && one.abs_diff(*other) <= most as u64);
    }
    let (one, other) = (elements(one), elements(other));
    one.len() == other.len()
        && !one.is_empty()
        && one.iter().zip(other).all(|(one, other)| near(most, one, other))
}

fn idle(one: &Reply, other: &Reply) -> bool {
    let (one, other) = (elements(one), elements(other));
    let same = |(one, other): (&Reply, &Reply)| match (elements(one), elements(other)) {
        ([id, consumer, idle, count], [id2, consumer2, idle2, count2]) => {
            (id, consumer, count) == (id2, consumer2, count2) && differ_little(idle, idle2)
        }
        _ => one == other,
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

/// Compares elements that are names with distances, or coordinates without.
fn by_distance(has_count: bool, one: &Reply, other: &Reply) -> bool {
    let distance = |it: &Reply| elements(it).get(1).cloned();
    let far: Vec<_> = elements(one).iter().map(distance).collect();
    let other_far: Vec<_> = elements(other).iter().map(distance).collect();
    let last = far.last().filter(|_| has_count);
    let kept = |reply| {
        let all = members(reply).into_iter();
        all.filter(|it| Some(&distance(it)) != last).collect::<Vec<_>>()
    };
    kind(one) == kind(other) && far == other_far && kept(one) == kept(other)
}

fn times(one: &Reply, other: &Reply) -> bool {
    if let (Reply::Integer(a), Reply::Integer(b)) = (one, other) {
        return a == b || (*a > LEAST_TIME && *b > LEAST_TIME && differ_little(one, other));
    }
    let (kinds, one, other) = (kind(one) == kind(other), elements(one), elements(other));
    if !kinds || one.len() != other.len() || one.is_empty() {
        return false;
    }
    let mut name: Option<&[u8]> = None;
    one.iter().zip(other).all(|(one, other)| {
        let same = match name {
            Some(b"radix-tree-keys" | b"radix-tree-nodes") => true,
            Some(b"idle" | b"inactive") => differ_little(one, other),
            _ => one == other || times(one, other),
        };
        name = match one {
            Reply::Bulk(text) => Some(text.as_slice()),
            _ => None,
        };
        same
    })
}

fn differ_little(one: &Reply, other: &Reply) -> bool {
    match (one, other) {
        (Reply::Integer(one), Reply::Integer(other)) => {
            one.abs_diff(*other) <= MILLISECONDS as u64 && (*one < 0) == (*other < 0)
        }
        _ => false,
    }
}

/// COUNT that no collection of a round exceeds.
pub const WHOLE: i64 = 10_000_000;
const SECONDS: i64 = 20;
const MILLISECONDS: i64 = SECONDS * 1000;
/// Least number that is taken for a time since the epoch, in milliseconds.
const LEAST_TIME: i64 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::super::step::request;
    use super::*;

    fn texts(texts: &[&str]) -> Reply {
        Reply::Array(texts.iter().map(|it| Reply::Bulk(it.as_bytes().to_vec())).collect())
    }

    #[test]
    fn the_order_of_a_set_is_free_and_its_members_are_not() {
        let rule = of(&request(&["smembers", "k"]));
        assert!(agree(rule, &texts(&["a", "b"]), &texts(&["b", "a"])));
        assert!(!agree(rule, &texts(&["a", "b"]), &texts(&["b", "b"])));
    }

    #[test]
    fn the_flags_of_a_key_may_come_in_any_order_and_the_keys_may_not() {
        let rule = of(&request(&["command", "getkeysandflags", "setbit", "k", "1", "0"]));
        let key = |name: &str, flags: &[&str]| {
            Reply::Array(vec![Reply::Bulk(name.as_bytes().to_vec()), texts(flags)])
        };
        let one = Reply::Array(vec![key("a", &["RW", "access"]), key("b", &["RO"])]);
        let same = Reply::Array(vec![key("a", &["access", "RW"]), key("b", &["RO"])]);
        let swapped = Reply::Array(vec![key("b", &["RO"]), key("a", &["access", "RW"])]);
        let other = Reply::Array(vec![key("a", &["access", "RO"]), key("b", &["RO"])]);
        assert!(agree(rule, &one, &same));
        assert!(!agree(rule, &one, &swapped) && !agree(rule, &one, &other));
    }

    #[test]
    fn a_field_keeps_its_value_in_any_order_of_fields() {
        let rule = of(&request(&["hgetall", "k"]));
        assert!(agree(rule, &texts(&["a", "1", "b", "2"]), &texts(&["b", "2", "a", "1"])));
        assert!(!agree(rule, &texts(&["a", "1", "b", "2"]), &texts(&["a", "2", "b", "1"])));
    }

    #[test]
    fn deadlines_may_differ_a_little_and_their_absence_may_not() {
        let rule = of(&request(&["pttl", "k"]));
        assert!(agree(rule, &Reply::Integer(1000), &Reply::Integer(998)));
        assert!(!agree(rule, &Reply::Integer(1000), &Reply::Integer(-1)));
        assert!(!agree(rule, &Reply::Integer(-2), &Reply::Integer(-1)));
    }

    #[test]
    fn places_at_one_distance_may_come_in_any_order() {
        let rule = of(&request(&["geosearch", "g", "count", "2", "withdist"]));
        let place = |name, far| texts(&[name, far]);
        let list = |places: &[Reply]| Reply::Array(places.to_vec());
        let (a, b, c) = (place("a", "1"), place("b", "1"), place("c", "2"));
        let one = list(&[a.clone(), b.clone(), c.clone()]);
        assert!(agree(rule, &one, &list(&[b.clone(), a.clone(), place("d", "2")])));
        assert!(!agree(rule, &one, &list(&[b, c, a])));
    }

    #[test]
    fn a_range_by_bytes_finds_equal_scores() {
        let prelude = |words: &[&str]| prelude(&request(words));
        let levelled = Some(request(&["ZUNIONSTORE", "z", "1", "z", "WEIGHTS", "0"]));
        assert_eq!(prelude(&["zlexcount", "z", "-", "+"]), levelled);
        assert_eq!(prelude(&["zrangestore", "y", "z", "-", "+", "bylex"]), levelled);
        assert_eq!(prelude(&["zrange", "z", "0", "-1"]), None);
    }

    #[test]
    fn what_was_drawn_by_chance_is_removed_on_both_sides() {
        let amends = |words: &[&str]| amends(&request(words));
        assert_eq!(amends(&["spop", "k", "3"]), Some(request(&["DEL", "k"])));
        assert_eq!(amends(&["get", "k"]), None);
    }
}
