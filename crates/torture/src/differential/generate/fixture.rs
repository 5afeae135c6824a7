//! Initial values, so that commands find their keys.

use super::dice::Dice;
use super::values::{blob, text, value};
use crate::differential::step::{Request, request};
use command::Group;

/// Families that have values.
pub const FAMILIES: &[Group] = &[
    Group::String,
    Group::List,
    Group::Hash,
    Group::Set,
    Group::SortedSet,
    Group::Geo,
    Group::Stream,
    Group::HyperLogLog,
];

/// Draws requests that store values for the commands of a family.
pub fn requests(dice: &mut Dice, family: Group, most: usize) -> Vec<Request> {
    let names: &[&str] = match family {
        Group::String => return strings(dice, most),
        Group::List => &["l1", "l2"],
        Group::Hash => &["h1", "h2"],
        Group::Set => &["t1", "t2", "t3"],
        Group::SortedSet => &["z1", "z2", "z3", "zs"],
        Group::Geo => &["g1", "g2"],
        Group::Stream => return stream(dice, most),
        _ => &["p1", "p2"],
    };
    let mut requests = Vec::new();
    for name in names {
        requests.push(request(&["DEL", name]));
        let mut words = request(&[command_of(family), name]);
        for _ in 0..1 + dice.below(most) {
            let member = format!("m{}", dice.below(30)).into_bytes();
            let member = if dice.percent(70) { member } else { text(dice.between(-5, 40)) };
            match family {
                Group::Hash => words.extend([member, value(dice)]),
                Group::SortedSet => words.extend([text(dice.between(-3, 12)), member]),
                Group::Geo => {
                    let place = |dice: &mut Dice, most: i64| {
                        let thousandths = dice.between(-most * 1000, most * 1000);
                        format!("{}", thousandths as f64 / 1000.0).into_bytes()
                    };
                    let member = format!("m{}", dice.below(12)).into_bytes();
                    words.extend([place(dice, 180), place(dice, 85), member]);
                }
                _ => words.push(member),
            }
        }
        requests.push(words);
    }
    requests
}

fn command_of(family: Group) -> &'static str {
    match family {
        Group::List => "RPUSH",
        Group::Hash => "HSET",
        Group::Set => "SADD",
        Group::SortedSet => "ZADD",
        Group::Geo => "GEOADD",
        _ => "PFADD",
    }
}

fn strings(dice: &mut Dice, most: usize) -> Vec<Request> {
    let mut texts = [value(dice), blob(dice), text(dice.between(-1000, 100_000))];
    texts.iter_mut().for_each(|it| it.truncate(most * 1000));
    let names = ["s1", "s2", "s3"].iter().zip(texts);
    names.map(|(name, text)| vec![b"SET".to_vec(), name.as_bytes().to_vec(), text]).collect()
}

fn stream(dice: &mut Dice, most: usize) -> Vec<Request> {
    let name = *dice.pick(&["x1", "x2"]);
    let mut requests = vec![request(&["DEL", name])];
    let entries = 1 + dice.below(most.min(20)) as i64;
    for number in 1..=entries {
        requests.push(request(&["XADD", name, &format!("{number}-1"), "f", &number.to_string()]));
    }
    for group in ["g1", "g2"] {
        let from = dice.between(0, entries).to_string();
        requests.push(request(&["XGROUP", "CREATE", name, group, &from]));
        for consumer in ["c1", "c2"] {
            let count = dice.between(1, 5).to_string();
            requests.push(request(&[
                "XREADGROUP",
                "GROUP",
                group,
                consumer,
                "COUNT",
                &count,
                "STREAMS",
                name,
                ">",
            ]));
        }
    }
    requests
}
