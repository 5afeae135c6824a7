//! A snapshot as plain commands, executed by a few lines that know no store.

use super::model::{Model, ModelValue, read_model};
use super::{Busy, START, Target, client::Client, new_store, save};
use crate::SaveProgress;
use base::Millis;
use std::collections::BTreeMap;
use store::Kind;

/// Fields of a hash with their values and deadlines.
type Fields = BTreeMap<Vec<u8>, (Vec<u8>, Option<Millis>)>;

/// Splits what was written into commands.
fn parse(mut rest: &[u8]) -> Vec<Vec<Vec<u8>>> {
    fn number(rest: &mut &[u8]) -> usize {
        let end = rest.windows(2).position(|it| it == b"\r\n").expect("a line");
        let digits = std::str::from_utf8(&rest[1..end]).expect("digits");
        *rest = &rest[end + 2..];
        digits.parse().expect("a number")
    }
    let mut commands = Vec::new();
    while !rest.is_empty() {
        let words = (0..number(&mut rest)).map(|_| {
            let len = number(&mut rest);
            let (word, behind) = rest.split_at(len);
            rest = &behind[2..];
            word.to_vec()
        });
        commands.push(words.collect());
    }
    commands
}

/// Executes commands on all types but streams.
fn execute(commands: Vec<Vec<Vec<u8>>>) -> Model {
    let (mut model, mut database) = (Model::new(), 0);
    let mut fields: BTreeMap<(usize, Vec<u8>), Fields> = BTreeMap::new();
    let number = |word: &[u8]| std::str::from_utf8(word).expect("digits").parse::<u64>();
    for words in commands {
        let name = words[0].as_slice();
        if name == b"SELECT" {
            database = number(&words[1]).expect("a number") as usize;
            continue;
        }
        let (key, rest) = ((database, words[1].clone()), &words[2..]);
        let kind = match name {
            b"SET" => Kind::String,
            b"RPUSH" => Kind::List,
            b"SADD" => Kind::Set,
            b"ZADD" => Kind::SortedSet,
            b"HSET" | b"HPEXPIREAT" => Kind::Hash,
            b"PEXPIREAT" => {
                if let Some(kept) = model.get_mut(&key) {
                    kept.deadline = Some(Millis(number(&rest[0]).expect("a number")));
                }
                continue;
            }
            _ => continue,
        };
        let kept = ModelValue { kind, deadline: None, rows: Vec::new() };
        let kept = model.entry(key.clone()).or_insert(kept);
        match name {
            b"ZADD" => kept.rows.extend(rest.chunks(2).map(|pair| {
                let score: f64 = std::str::from_utf8(&pair[0]).expect("a score").parse().expect("");
                [&score.to_le_bytes()[..], &pair[1]].concat()
            })),
            b"HSET" => {
                let pairs = rest.chunks(2).map(|pair| (pair[0].clone(), (pair[1].clone(), None)));
                fields.entry(key).or_default().extend(pairs);
            }
            b"HPEXPIREAT" => {
                let field = fields.get_mut(&key).and_then(|it| it.get_mut(&rest[3]));
                let at = Millis(number(&rest[0]).expect("a number"));
                field.expect("it was set").1 = Some(at);
            }
            _ => kept.rows.extend_from_slice(rest),
        }
    }
    for (key, fields) in fields {
        let row = |(field, (value, deadline)): (Vec<u8>, (Vec<u8>, Option<Millis>))| {
            [field, b"=".to_vec(), value, format!("@{deadline:?}").into()].concat()
        };
        model.get_mut(&key).expect("a hash").rows = fields.into_iter().map(row).collect();
    }
    let unordered = |kept: &&mut ModelValue| matches!(kept.kind, Kind::Set | Kind::Hash);
    model.values_mut().filter(unordered).for_each(|kept| kept.rows.sort_unstable());
    model
}

#[test]
fn commands_make_what_was_there_at_the_cut() {
    for seed in 0..3 {
        let store = new_store(seed, 0);
        let [mut thread, mut other] = [(); 2].map(|()| store.thread_context().expect("a thread"));
        let mut client = Client::new(&store, seed, START);
        (0..6_000).for_each(|_| client.change());
        let (progress, now) = (SaveProgress::default(), client.now);
        let mut expected = Model::new();
        let mut save = save(&store, &mut thread, now, &progress);
        let sink = Busy { client: &mut client, changes: 2, bytes: Vec::new() };
        let target = save.target(sink, &progress).in_small_pieces();
        let mut target = Target { is_rdb: false, ..target };
        let at_cut = || expected = read_model(&store, &mut other, now);
        save.write_to(&mut target, at_cut).expect("a sink that takes everything");
        expected.retain(|_, kept| kept.kind != Kind::Stream);
        assert!(execute(parse(&target.sink.bytes)) == expected, "seed {seed}");
    }
}
