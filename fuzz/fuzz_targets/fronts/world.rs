//! A store with its model.

use crate::model::{GIVEN, Model};
use crate::ops::{Number, Op, key_of};
use crate::server::Server;
use base::Millis;
use std::cell::Cell;

const START: u64 = 1_800_000_000_000;

thread_local! {
    static SERVER: Cell<Option<Server>> = const { Cell::new(None) };
}

pub struct World {
    pub server: Server,
    pub model: Model,
}

impl World {
    /// Creates one on the server of the one before, which is empty and whose clock goes on: making
    /// a server takes longer than most operations.
    pub fn new() -> World {
        let server = SERVER.take().unwrap_or_else(|| Server::new(Millis(START)));
        World { server, model: Model::default() }
    }

    /// Leaves the server to the next one.
    pub fn end(mut self) {
        self.server.close();
        SERVER.set(Some(self.server));
    }

    pub fn number(&self, key: usize, number: Number) -> u64 {
        match number {
            Number::Told => self.model.told.get(&key).copied().unwrap_or(1),
            Number::Given(low) => GIVEN + u64::from(low),
            Number::Zero => 0,
            Number::One => 1,
        }
    }

    pub fn now(&self) -> Millis {
        self.server.now
    }

    /// Bytes of the value of a key.
    pub fn len(&mut self, key: usize) -> usize {
        let now = self.now();
        self.model.get(key, now).map_or(0, |it| it.value.len())
    }

    pub fn apply(&mut self, op: &Op) {
        match *op {
            Op::Text { key, is_quiet, line } => self.text(key_of(key), is_quiet, line),
            Op::MetaGet(line) => self.meta_get(line),
            Op::MetaSet(line) => self.meta_set(line),
            Op::MetaDelete(line) => self.meta_delete(line),
            Op::MetaReckon(line) => self.meta_reckon(line),
            Op::FlushAll => {
                same(&self.server.send(b"flush_all\r\n"), "OK\r\n");
                self.model.clear();
            }
            Op::Resp { key, other, what, content } => {
                self.resp(key_of(key), key_of(other), what, content.bytes());
            }
            Op::Advance { millis } => self.server.now.0 += u64::from(millis),
            Op::Clean => self.server.clean(),
            Op::Sweep => self.server.sweep(),
            Op::ReceiveApart(is_apart) => self.server.receives_apart = is_apart,
            // There is one at a time.
            Op::Snapshot { .. } => {}
        }
    }
}

/// Takes the first number behind a text out of an answer.
pub fn number_behind(answer: &[u8], begin: &str) -> (u64, Vec<u8>) {
    let begin = begin.as_bytes();
    let at =
        answer.windows(begin.len()).position(|it| it == begin).expect("a number") + begin.len();
    let len = answer[at..].iter().take_while(|it| it.is_ascii_digit()).count();
    let number = String::from_utf8_lossy(&answer[at..at + len]).parse().expect("a number");
    (number, [&answer[..at], &answer[at + len..]].concat())
}

#[track_caller]
pub fn same(answer: &[u8], expected: impl AsRef<[u8]>) {
    let expected = expected.as_ref();
    assert!(
        answer == expected,
        "{} for {}",
        answer[..answer.len().min(200)].escape_ascii(),
        expected[..expected.len().min(200)].escape_ascii()
    );
}
