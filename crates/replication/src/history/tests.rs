use super::*;
use proptest::prelude::{ProptestConfig, proptest};

fn id(number: u64) -> ReplicationId {
    ReplicationId::parse(format!("{number:040x}").as_bytes()).expect("digits")
}

fn ask(history: &History, number: u64, first: i64, kept: (u64, u64)) -> Decision {
    history.decide(id(number).as_str().as_bytes(), first, kept)
}

#[test]
fn a_replica_goes_on_with_the_first_byte_that_it_lacks() {
    let history = History::new(id(1));
    assert_eq!(ask(&history, 1, 1, (0, 100)), Decision::Continue(0));
    assert_eq!(ask(&history, 1, 101, (0, 100)), Decision::Continue(100));
    assert_eq!(ask(&history, 1, 41, (40, 100)), Decision::Continue(40));
    assert_eq!(ask(&history, 1, 40, (40, 100)), Decision::Full(FullSync::Gone(1)));
    assert_eq!(ask(&history, 1, 105, (40, 100)), Decision::Full(FullSync::Diverged(4)));
    assert_eq!(ask(&history, 2, 50, (40, 100)), Decision::Full(FullSync::Unknown));
    for first in [0, -1, i64::MIN] {
        assert_eq!(ask(&history, 1, first, (0, 100)), Decision::Full(FullSync::Unknown));
    }
    let beyond = u64::try_from(i64::MAX).expect("positive") - 101;
    let full = Decision::Full(FullSync::Diverged(beyond));
    assert_eq!(ask(&history, 1, i64::MAX, (0, 100)), full);
}

#[test]
fn letters_of_an_id_may_be_of_either_case() {
    let history = History::new(id(0xabc));
    let asked = id(0xabc).as_str().to_ascii_uppercase();
    assert_eq!(history.decide(asked.as_bytes(), 1, (0, 0)), Decision::Continue(0));
    assert_eq!(history.decide(b"?", -1, (0, 0)), Decision::Full(FullSync::Unknown));
}

#[test]
fn an_earlier_id_holds_up_to_where_it_was_given_up() {
    let mut history = History::new(id(1));
    history.rename(id(2), 70);
    assert_eq!(ask(&history, 1, 71, (0, 100)), Decision::Continue(70));
    assert_eq!(ask(&history, 1, 72, (0, 100)), Decision::Full(FullSync::Diverged(1)));
    assert_eq!(ask(&history, 2, 101, (0, 100)), Decision::Continue(100));
}

#[test]
fn a_primary_hands_over_to_one_that_has_its_stream_or_is_about_to() {
    let mut history = History::new(id(1));
    history.rename(id(2), 70);
    let lacks = |number, first| history.lacks(id(number).as_str().as_bytes(), first, 100);
    assert_eq!([lacks(2, 101), lacks(2, 51), lacks(2, 104)], [Some(0), Some(0), Some(3)]);
    assert_eq!([lacks(2, 0), lacks(2, -1)], [Some(0), Some(0)]);
    assert_eq!([lacks(1, 71), lacks(1, 1)], [Some(0), Some(0)], "this one has more of it");
    assert_eq!([lacks(1, 72), lacks(1, 0), lacks(1, -1), lacks(3, 1)], [None; 4]);
    assert!(history.knows(id(1).as_str().as_bytes()) && !history.knows(b"?"));
}

#[test]
fn the_ninth_id_before_the_present_one_is_forgotten() {
    let mut history = History::new(id(0));
    for number in 1..=9 {
        history.rename(id(number), number * 10);
    }
    assert_eq!(history.earlier().len(), EARLIER_MAX);
    assert_eq!(ask(&history, 1, 15, (0, 100)), Decision::Continue(14));
    assert_eq!(ask(&history, 0, 5, (0, 100)), Decision::Full(FullSync::Unknown));
}

#[test]
fn the_same_name_again_changes_nothing() {
    let mut history = History::new(id(1));
    history.rename(id(2), 70);
    let before = history.clone();
    history.rename(id(2), 90);
    assert_eq!(history, before);
}

#[test]
fn an_id_that_a_primary_tells_again_is_not_there_twice() {
    let mut history = History::new(id(1));
    history.rename(id(2), 70);
    history.rename(id(1), 90);
    assert_eq!(history.earlier(), [Earlier { id: id(2), upto: 90 }]);
}

#[test]
fn what_a_file_keeps_is_read_again_and_nothing_else_is() {
    let mut history = History::new(id(0));
    for number in 0..=20 {
        let earlier = history.earlier_text();
        let read = History::parse(history.id().as_str().as_bytes(), earlier.as_bytes());
        assert_eq!(read.as_ref(), Some(&history));
        history.rename(id(number), number * 1000);
    }
    let (one, two) = (id(1), id(2));
    let (one, two) = (one.as_str(), two.as_str());
    for earlier in [
        "x",
        two,
        &format!("{two}:"),
        &format!("{two}:-1"),
        &format!("{two}:99999999999999999999"),
        &format!("{two}:1,"),
        &format!("{one}:1"),
        &format!("{two}:1,{two}:1"),
        &format!("{two}:1,{}:2", id(3).as_str()),
        &(2..11).map(|it| format!("{}:5", id(it).as_str())).collect::<Vec<_>>().join(","),
    ] {
        assert_eq!(History::parse(one.as_bytes(), earlier.as_bytes()), None, "{earlier}");
    }
}

/// A server: the bytes of its stream, of which the first `lost` are not kept, and what it knows.
#[derive(Clone)]
struct Server {
    stream: Vec<u32>,
    lost: usize,
    history: History,
    /// True if it may write: its id is its own.
    is_primary: bool,
}

impl Server {
    fn end(&self) -> u64 {
        self.stream.len() as u64
    }

    /// Follows another one, and returns true if that took a snapshot.
    fn follow(&mut self, primary: &Server) -> bool {
        self.is_primary = false;
        let first = i64::try_from(self.stream.len() + 1).expect("short");
        let kept = (primary.lost as u64, primary.end());
        let asked = self.history.id();
        match primary.history.decide(asked.as_str().as_bytes(), first, kept) {
            Decision::Continue(from) => {
                assert_eq!(from, self.end());
                let common = &primary.stream[..self.stream.len()];
                assert_eq!(self.stream, common, "it goes on with what is not its own");
                self.history.rename(primary.history.id(), self.end());
                self.stream.clone_from(&primary.stream);
                false
            }
            Decision::Full(_) => {
                self.history = History::new(primary.history.id());
                self.stream.clone_from(&primary.stream);
                self.lost = self.stream.len();
                true
            }
        }
    }

    /// Becomes a primary, as by REPLICAOF NO ONE.
    fn promote(&mut self, drawn: u64) {
        self.history.rename(id(drawn), self.end());
        self.is_primary = true;
    }

    /// Dies with its machine, which forgets up to so many bytes; it starts again as a primary, or
    /// as a replica.
    fn die(&mut self, forgets: usize, drawn: Option<u64>) {
        let left = self.stream.len().saturating_sub(forgets);
        self.stream.truncate(left);
        self.lost = self.lost.min(left);
        let id = drawn.map_or(self.history.id(), id);
        self.history.rename(id, left as u64);
        self.is_primary = drawn.is_some();
    }
}

fn servers(number: usize) -> Vec<Server> {
    let server = |at| Server {
        stream: Vec::new(),
        lost: 0,
        history: History::new(id(at)),
        is_primary: true,
    };
    (0..number as u64).map(server).collect()
}

fn pair(servers: &mut [Server], one: usize, other: usize) -> (&mut Server, Server) {
    let other = servers[other].clone();
    (&mut servers[one], other)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 2_000 }))]

    #[test]
    fn whatever_happens_nobody_goes_on_with_bytes_that_are_not_its_own(
        events in proptest::collection::vec((0..6_u8, 0..4_usize, 0..4_usize, 0..5_usize), 1..80)
    ) {
        let (mut servers, mut drawn, mut written) = (servers(4), 100, 0);
        for (event, one, other, amount) in events {
            drawn += 1;
            match event {
                0 => servers[one].promote(drawn),
                1 | 2 if one != other => {
                    let (replica, primary) = pair(&mut servers, one, other);
                    replica.follow(&primary);
                }
                3 => servers[one].die(amount, Some(drawn)),
                4 => servers[one].die(amount, None),
                _ => {
                    // Others may have left a primary, which writes on under its id.
                    if !servers[one].is_primary {
                        servers[one].promote(drawn);
                    }
                    for _ in 0..amount {
                        written += 1;
                        servers[one].stream.push(written);
                    }
                }
            }
        }
    }
}

#[test]
fn three_servers_that_restart_one_after_the_other_need_no_snapshot() {
    let mut servers = servers(3);
    servers[0].stream.extend(0..100);
    for replica in [1, 2] {
        let (replica, primary) = pair(&mut servers, replica, 0);
        assert!(replica.follow(&primary), "it knew nothing of it");
        replica.lost = 0;
    }
    let mut drawn = 100;
    for round in 0..3 {
        for primary in 0..3 {
            // Another one takes over, and the one before it restarts and follows.
            drawn += 1;
            servers[primary].promote(drawn);
            servers[primary].stream.extend(0..10 + round);
            servers[(primary + 2) % 3].die(0, None);
            for replica in [primary + 1, primary + 2] {
                let (replica, primary) = pair(&mut servers, replica % 3, primary);
                assert!(!replica.follow(&primary));
            }
        }
    }
}

#[test]
fn a_primary_that_forgot_what_its_replica_has_makes_it_begin_anew() {
    let mut servers = servers(2);
    servers[0].stream.extend(0..100);
    let (replica, primary) = pair(&mut servers, 1, 0);
    replica.follow(&primary);
    servers[0].die(5, Some(7));
    let asked = servers[1].history.id();
    let decision = servers[0].history.decide(asked.as_str().as_bytes(), 101, (0, 95));
    assert_eq!(decision, Decision::Full(FullSync::Diverged(5)));
}
