//! Words of a syntax, drawn by name and command.

use super::dice::Dice;
use super::values::{count, element, float, integer, odd, offset, place, text, value};
use crate::differential::rule::WHOLE;
use command::{Group, Row};

/// Order in which a request reads a sorted set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// By ranks.
    Rank,
    /// By scores.
    Score,
    /// By bytes.
    Lex,
}

/// Draws an argument for a word.
pub fn draw(dice: &mut Dice, row: &Row, word: &str, range: Range) -> Vec<u8> {
    let group = row.spec.group;
    match word {
        "key" | "key1" | "key2" | "newkey" | "source" | "destination" | "dst" | "src"
        | "destkey" | "sourcekey" => key(dice, group, row.spec.name),
        "value" if row.spec.name == "SETBIT" => pick(dice, &["0", "1", "1", "0", "2"]),
        "value" | "increment" if group == Group::Bitmap => integer(dice),
        "bit" => pick(dice, &["0", "1", "1", "0", "2"]),
        "value" | "comparison-value" | "message" => value(dice),
        "element" | "pivot" | "field" => element(dice),
        "member" | "member1" | "member2" if group == Group::Geo => {
            format!("m{}", dice.below(12)).into_bytes()
        }
        "member" | "member1" | "member2" => element(dice),
        "radius" | "width" | "height" if dice.percent(80) => {
            let far = *dice.pick(&[10, 5_000, 1_000_000, 30_000_000]);
            text(dice.between(0, far))
        }
        "score" | "weight" | "radius" | "width" | "height" => float(dice),
        "increment" if !matches!(row.spec.name, "INCRBY" | "HINCRBY") => float(dice),
        "increment" | "decrement" => integer(dice),
        "longitude" => angle(dice, 180),
        "latitude" => angle(dice, 85),
        "min" | "max" | "start" | "stop" if group == Group::SortedSet => bound(dice, row, range),
        "start" | "end" | "id" | "last-id" | "lastid" | "max-deleted-id" | "threshold"
            if group == Group::Stream =>
        {
            stream_id(dice, row.spec.name, word)
        }
        "start" | "end" | "stop" | "index" if group != Group::Connection => place(dice),
        "offset" if row.spec.name == "SETRANGE" || group == Group::Bitmap => {
            bit_offset(dice, group)
        }
        "encoding" => bit_encoding(dice),
        "cursor" => cursor(dice),
        "pattern" => pick(dice, PATTERNS),
        "by-pattern" => pick(dice, &["nosort", "s*", "h*->m1", "*", "w*", "s1", "l*", "h1->*"]),
        "get-pattern" => pick(dice, &["#", "s*", "h*->m1", "*", "h1->*", "x"]),
        "type" => pick(dice, &["string", "list", "set", "zset", "hash", "stream", "none", "LIST"]),
        _ => draw_more(dice, row, word),
    }
}

fn draw_more(dice: &mut Dice, row: &Row, word: &str) -> Vec<u8> {
    match word {
        "count" => number(dice, row),
        "offset" | "limit" | "rank" | "num-matches" | "len" | "min-match-len" => count(dice),
        "entries-added" | "entries-read" => count(dice),
        "seconds" => seconds(dice),
        "milliseconds" if row.spec.group == Group::Stream => {
            pick(dice, &["1", "10", "3", "-1", "x"])
        }
        "milliseconds" => milliseconds(dice),
        "unix-time-seconds" => {
            pick(dice, &["1", "1700000000", "9999999999", "9999999998", "-5", "0"])
        }
        "unix-time-milliseconds" => unix_milliseconds(dice),
        "timeout" if dice.percent(70) => pick(dice, &["0.01", "0.001", "0.005"]),
        "timeout" => pick(dice, &["0.01", "-1", "abc", "nan", "inf", "1e400"]),
        "min-idle-time" => {
            pick(dice, &["0", "0", "0", "0", "0", "0", "3600000", "9223372036854775807", "-1", "x"])
        }
        "ms" => pick(dice, &["0", "36000000", "-1", "9223372036854775807"]),
        "group" => pick(dice, &["g1", "g1", "g2", "", "g\u{1}"]),
        "consumer" => pick(dice, &["c1", "c1", "c2", "c3", ""]),
        "db" | "destination-db" | "index" | "index1" | "index2" => {
            pick(dice, &["0", "0", "1", "2", "0", "1", "-1", "16", "abc", "1x", "99999999999"])
        }
        "subcommand" => pick(dice, &["GETREG", "DECODE", "ENCODING", "TODENSE", "x"]),
        "protover" => pick(dice, &["2", "3", "2", "3", "1", "4", "x"]),
        "clientname" | "connection-name" | "libname" | "libver" => {
            pick(dice, &["me", "", "a b", "x\n", "lib-1.0", "é"])
        }
        "username" => pick(dice, &["default", "me", ""]),
        "password" => pick(dice, &["", "secret", "default"]),
        "capability" => pick(dice, &["redirect", "x", ""]),
        "client-id" => pick(dice, &["999999999", "0", "-1", "x"]),
        _ => odd(dice),
    }
}

/// Draws a key: mostly one with a value for the command.
fn key(dice: &mut Dice, group: Group, name: &str) -> Vec<u8> {
    if dice.permille(15) {
        let odd = [b"".to_vec(), vec![b'k'; 300], b"\xff\x00\r\n".to_vec(), vec![b'k'; 70_000]];
        // Where a key can be renamed, its length affects how Valkey keeps the value.
        let long = if group == Group::Generic { [0, 0] } else { [30, 2] };
        return odd[dice.weighted(&[40, long[0], 28, long[1]])].clone();
    }
    let own: &[&str] = match group {
        Group::String | Group::Bitmap => &["s1", "s2", "s3"],
        Group::List => &["l1", "l2"],
        Group::Hash => &["h1", "h2"],
        Group::Set => &["t1", "t2", "t3"],
        Group::SortedSet => &["z1", "z2", "z3", "z1", "z2", "z3", SORTED],
        Group::Geo => &["g1", "g2"],
        Group::Stream => &["x1", "x2"],
        Group::HyperLogLog => &["p1", "p2"],
        _ if name.starts_with("SORT") => &["l1", "t1", SORTED],
        _ => KEYS,
    };
    let all = KEYS.strip_suffix(&[SORTED]).unwrap_or(KEYS);
    let is_own = own != KEYS && dice.percent(93);
    pick(dice, if is_own { own } else { all })
}

/// Keys of all rounds.
pub const KEYS: &[&str] = &[
    "s1", "s2", "s3", "l1", "l2", "h1", "h2", "t1", "t2", "t3", "z1", "z2", "z3", "x1", "x2", "p1",
    "p2", "g1", "g2", SORTED,
];

/// Only sorted set that SORT sorts, since that changes how Valkey keeps it.
const SORTED: &str = "zs";

fn number(dice: &mut Dice, row: &Row) -> Vec<u8> {
    if row.spec.name.ends_with("SCAN") && dice.percent(80) {
        return text(WHOLE);
    }
    count(dice)
}

fn angle(dice: &mut Dice, most: i64) -> Vec<u8> {
    match dice.weighted(&[80, 14, 6]) {
        0 => format!("{}", dice.between(-most * 1000, most * 1000) as f64 / 1000.0).into_bytes(),
        1 => pick(
            dice,
            &["0", "180", "-180", "85.05112878", "-85.05112878", "181", "86", "1e-9", "90", "-0"],
        ),
        _ => float(dice),
    }
}

fn bound(dice: &mut Dice, row: &Row, range: Range) -> Vec<u8> {
    let name = row.spec.name;
    let range = match name {
        _ if name.contains("LEX") => Range::Lex,
        "ZCOUNT" => Range::Score,
        _ if name.contains("BYSCORE") => Range::Score,
        "ZRANGE" | "ZRANGESTORE" => range,
        _ => Range::Rank,
    };
    match range {
        Range::Rank => place(dice),
        Range::Score => match dice.weighted(&[30, 25, 45]) {
            0 => pick(dice, &["-inf", "+inf", "inf", "(inf", "(-inf", "-Inf", "(+inf", "nan", "("]),
            1 => [b"(".to_vec(), float(dice)].concat(),
            _ => float(dice),
        },
        Range::Lex => match dice.weighted(&[40, 25, 30, 5]) {
            0 => pick(dice, &["-", "+", "-", "+", "[", "("]),
            1 => [b"(".to_vec(), element(dice)].concat(),
            2 => [b"[".to_vec(), element(dice)].concat(),
            _ => odd(dice),
        },
    }
}

fn stream_id(dice: &mut Dice, name: &str, word: &str) -> Vec<u8> {
    if word == "threshold" && dice.percent(85) {
        return count(dice);
    }
    let special: &[&str] = match name {
        "XADD" => &["5-*", "20-*", "30-*", "*", "0-0", "0-1", "18446744073709551615-*"],
        "XREADGROUP" => &[">", ">", ">", "0", "0", "$"],
        "XREAD" => &["$", "0", "0", "+", "-"],
        "CREATE" | "SETID" => &["$", "0", "0-0", "$"],
        "XRANGE" | "XREVRANGE" | "XPENDING" => &["-", "+", "-", "+", "(1-1", "(5", "(-", "("],
        _ => &["0", "0-0", "$", "-", "+"],
    };
    match dice.weighted(&[45, 10, 37, 6, 2]) {
        0 => {
            let entry = dice.between(0, if name == "XADD" { 60 } else { 20 });
            format!("{entry}-{}", dice.pick(&[1, 1, 1, 1, 0, 2, 5])).into_bytes()
        }
        1 => text(dice.between(0, 60)),
        2 => pick(dice, special),
        3 => pick(
            dice,
            &[
                "18446744073709551615-18446744073709551615",
                "18446744073709551615",
                "18446744073709551616-1",
                "1-18446744073709551615",
                "1-18446744073709551616",
                "-1-1",
            ],
        ),
        _ => odd(dice),
    }
}

fn bit_offset(dice: &mut Dice, group: Group) -> Vec<u8> {
    let offset = offset(dice);
    if group == Group::Bitmap && dice.percent(25) {
        [b"#".to_vec(), offset].concat()
    } else {
        offset
    }
}

fn bit_encoding(dice: &mut Dice) -> Vec<u8> {
    let sign = *dice.pick(b"iuiuiuIU");
    let bits = *dice.pick(&[1, 2, 3, 5, 7, 8, 9, 15, 16, 31, 32, 33, 62, 63, 64, 65, 0]);
    format!("{}{bits}", char::from(sign)).into_bytes()
}

fn cursor(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[92, 4, 4]) {
        0 => b"0".to_vec(),
        1 => pick(dice, &["-1", "abc", "", "18446744073709551616", "0x1", " 0"]),
        _ => dice.any().to_string().into_bytes(),
    }
}

/// Draws seconds: never so few that they end within a round.
fn seconds(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[70, 10, 12, 8]) {
        0 => text(dice.between(10_000, 90_000_000)),
        1 => pick(dice, &["0", "-1", "-100000"]),
        2 => pick(
            dice,
            &[
                "9223372036854775807",
                "9223372036854775",
                "9223372036854774",
                "-9223372036854775808",
                "9300000000000000",
                "4294967296000",
                "99999999999",
            ],
        ),
        _ => odd_time(dice),
    }
}

fn milliseconds(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[70, 10, 12, 8]) {
        0 => text(dice.between(10_000_000, 90_000_000_000)),
        1 => pick(dice, &["0", "-1", "-100000"]),
        2 => pick(
            dice,
            &[
                "9223372036854775807",
                "9200000000000000000",
                "-9223372036854775808",
                "281474976710656",
                "140737488355328",
            ],
        ),
        _ => odd_time(dice),
    }
}

fn unix_milliseconds(dice: &mut Dice) -> Vec<u8> {
    match dice.weighted(&[70, 20, 10]) {
        0 => text(9_999_999_000_000 + dice.between(0, 100_000)),
        1 => pick(
            dice,
            &[
                "1",
                "0",
                "-1",
                "1700000000000",
                "9223372036854775807",
                "281474976710655",
                "281474976710656",
                "-9223372036854775808",
            ],
        ),
        _ => odd_time(dice),
    }
}

/// Draws an invalid time, spelled so that no server takes it for one in the near future.
fn odd_time(dice: &mut Dice) -> Vec<u8> {
    pick(dice, &["", "abc", "+100000", "0x10", "1e5", "1000000.5", " 1000000", "01000000", "-0"])
}

fn pick(dice: &mut Dice, from: &[&str]) -> Vec<u8> {
    dice.pick(from).as_bytes().to_vec()
}

const PATTERNS: &[&str] = &[
    "*", "*", "s*", "m?", "m1*", "[a-c]*", "[^m]*", "\\*", "m[", "*1", "", "?", "??", "[1-3]",
    "*m*1*", "l[12]", "\\", "[]", "[z-a]*",
];
