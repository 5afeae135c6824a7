//! Lists, hashes, sets, sorted sets and geo sets of a given size.

use super::forms::{GENERIC, SORT, SORT_OF_SORTED_SETS};
use super::state::State;
use super::texts::Text;
use super::words::Words;
use crate::differential::step::{Request, request};

/// Kind of collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A list.
    List,
    /// A hash.
    Hash,
    /// A set.
    Set,
    /// A sorted set.
    SortedSet,
    /// A sorted set of geohashes.
    Places,
}

/// Way in which a collection reaches its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Built {
    /// With one command.
    AtOnce,
    /// With one command for each element.
    OneByOne,
    /// With more elements at first, some of which are then removed.
    Shrunk,
}

/// Scores of a sorted set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    /// Whole numbers from zero on.
    Rising,
    /// Equal scores.
    Level,
    /// Fractions and infinities.
    Odd,
}

/// Description of a collection to be stored.
#[derive(Clone, Debug)]
pub struct Shape {
    kind: Kind,
    settings: &'static str,
    count: usize,
    text: Text,
    value_bytes: usize,
    threshold: usize,
    special: Option<(usize, Vec<u8>)>,
    special_value: Option<usize>,
    built: Built,
    scores: Scores,
    /// Number of fields with deadlines: none, the first, or all.
    timed: usize,
    has_deadline: bool,
    key_bytes: Option<usize>,
}

impl Shape {
    /// Creates the description of a collection of short texts.
    pub fn new(kind: Kind, settings: &'static str, count: usize) -> Shape {
        Shape {
            kind,
            settings,
            count,
            text: Text::Letters(6),
            value_bytes: 6,
            threshold: 64,
            special: None,
            special_value: None,
            built: Built::AtOnce,
            scores: Scores::Rising,
            timed: 0,
            has_deadline: false,
            key_bytes: None,
        }
    }

    /// Sets the form of the elements.
    pub fn of(mut self, text: Text) -> Shape {
        self.text = text;
        self
    }

    /// Sets the size of values in bytes.
    pub fn values(mut self, bytes: usize) -> Shape {
        self.value_bytes = bytes;
        self
    }

    /// Sets the number of bytes up to which elements count as short.
    pub fn threshold(mut self, bytes: usize) -> Shape {
        self.threshold = bytes;
        self
    }

    /// Makes one element so many bytes long: the last, or the one in the middle.
    pub fn with_one_of(mut self, bytes: usize, is_last: bool) -> Shape {
        let at = if is_last { self.count.saturating_sub(1) } else { self.count / 2 };
        self.special = Some((at, Text::Letters(bytes).number(7_000_000)));
        if bytes < 6 {
            self.special = Some((at, vec![b'z'; bytes]));
        }
        self
    }

    /// Replaces one element by this one.
    pub fn with_one(mut self, element: &str) -> Shape {
        self.special = Some((self.count / 2, element.as_bytes().to_vec()));
        self
    }

    /// Makes one value so many bytes long.
    pub fn with_value_of(mut self, bytes: usize) -> Shape {
        self.special_value = Some(bytes);
        self
    }

    /// Sets the way in which the collection reaches its size.
    pub fn built(mut self, built: Built) -> Shape {
        self.built = built;
        self
    }

    /// Sets the kind of scores.
    pub fn scores(mut self, scores: Scores) -> Shape {
        self.scores = scores;
        self
    }

    /// Gives so many fields deadlines.
    pub fn timed(mut self, fields: usize) -> Shape {
        self.timed = fields;
        self
    }

    /// Gives the key a deadline.
    pub fn with_deadline(mut self) -> Shape {
        self.has_deadline = true;
        self
    }

    /// Makes the key so many bytes long.
    pub fn under_key_of(mut self, bytes: usize) -> Shape {
        self.key_bytes = Some(bytes);
        self
    }

    /// Returns the state of this collection.
    pub fn state(&self, forms: &[&'static str]) -> State {
        let mut texts = self.text.first(self.count);
        if let Some((at, text)) = &self.special
            && let Some(place) = texts.get_mut(*at)
        {
            place.clone_from(text);
        }
        let words = self.words(&texts);
        let mut all = forms.to_vec();
        all.push(GENERIC);
        let is_sorted = matches!(self.kind, Kind::SortedSet | Kind::Places);
        all.push(if is_sorted { SORT_OF_SORTED_SETS } else { SORT });
        let mut state = State::new(self.label(), self.settings, words, &all);
        state.build = self.build(&texts, state.key());
        state.is_level = self.scores == Scores::Level;
        state.takes_drafts = self.key_bytes.is_none();
        state
    }

    fn label(&self) -> String {
        let special = self.special.as_ref().map(|(_, text)| text.len());
        let mut label = format!("{:?}: {} of {:?}", self.kind, self.count, self.text);
        let notes = [
            special.map(|it| format!("one of {it} bytes")),
            (self.value_bytes != 6).then(|| format!("values of {}", self.value_bytes)),
            self.special_value.map(|it| format!("a value of {it}")),
            (self.built != Built::AtOnce).then(|| format!("{:?}", self.built)),
            (self.scores != Scores::Rising).then(|| format!("{:?}", self.scores)),
            (self.timed > 0).then(|| format!("{} fields with deadlines", self.timed)),
            self.has_deadline.then(|| "a deadline".to_owned()),
            self.key_bytes.map(|it| format!("a key of {it} bytes")),
            (!self.settings.is_empty()).then(|| self.settings.to_owned()),
        ];
        for note in notes.into_iter().flatten() {
            label += ", ";
            label += &note;
        }
        label
    }

    fn keys(&self) -> (Vec<u8>, Vec<u8>) {
        let letter = match self.kind {
            Kind::List => "l",
            Kind::Hash => "h",
            Kind::Set => "t",
            Kind::SortedSet => "z",
            Kind::Places => "g",
        };
        let key = match self.key_bytes {
            Some(bytes) => vec![b'k'; bytes],
            None => format!("{letter}1").into_bytes(),
        };
        (key, format!("{letter}2").into_bytes())
    }

    fn words(&self, texts: &[Vec<u8>]) -> Words {
        let (key, other) = self.keys();
        let mut words = Words::new([&key, &other, b"s3"], self.threshold);
        words.elements(texts, self.text);
        let value = |bytes: usize| vec![b'w'; bytes];
        let vlong = value(self.threshold.max(self.value_bytes) + 1);
        words.set("vsame", &value(self.value_bytes)).set("vlong", &vlong);
        words.set("vshort", &value(self.value_bytes / 2)).set("vhuge", &value(20_000));
        let many = words.get("many").to_vec();
        let paired = |texts: &[Vec<u8>], front: &dyn Fn(usize) -> Option<Vec<u8>>| {
            let pair = |(at, text): (usize, &Vec<u8>)| match front(at) {
                Some(score) => [score, text.clone()],
                None => [text.clone(), value(self.value_bytes)],
            };
            texts.iter().enumerate().flat_map(pair).collect::<Request>()
        };
        words.several("allpairs", paired(texts, &|_| None));
        words.several("manypairs", paired(&many, &|_| None));
        let swapped = |at: usize| self.score(texts.len().wrapping_sub(at));
        words.several("allscored", paired(texts, &|at| Some(swapped(at))));
        words.several("manyscored", paired(&many, &|at| Some(self.score(at))));
        words.set("score", &self.score(texts.len() / 2));
        words
    }

    fn score(&self, at: usize) -> Vec<u8> {
        match self.scores {
            Scores::Rising => at.to_string(),
            Scores::Level => "0".to_owned(),
            Scores::Odd if at == 1 => "-inf".to_owned(),
            Scores::Odd if at == 2 => "inf".to_owned(),
            Scores::Odd => format!("{}", at as f64 / 7.0 - 3.0),
        }
        .into_bytes()
    }

    fn build(&self, texts: &[Vec<u8>], key: &[u8]) -> Vec<Request> {
        let (_, other) = self.keys();
        let mut requests = match self.built {
            Built::AtOnce => vec![self.add(key, texts, 0)],
            Built::OneByOne => {
                let each = texts.iter().enumerate();
                each.map(|(at, text)| self.add(key, std::slice::from_ref(text), at)).collect()
            }
            Built::Shrunk => {
                let more: Vec<_> = (0..MORE).map(|it| self.text.number(8_000_000 + it)).collect();
                let all = [texts, &more].concat();
                vec![self.add(key, &all, 0), self.remove(key, &more)]
            }
        };
        if let Some(bytes) = self.special_value {
            let middle = texts[texts.len() / 2].clone();
            requests.push(request(&[b"HSET", key, &middle, &vec![b'y'; bytes]]));
        }
        if self.timed > 0 {
            let fields = &texts[..self.timed.min(texts.len())];
            let count = fields.len().to_string().into_bytes();
            let mut words = request(&[b"HPEXPIREAT", key, b"9999999999999", b"FIELDS", &count]);
            words.extend_from_slice(fields);
            requests.push(words);
        }
        if self.has_deadline {
            requests.push(request(&[b"PEXPIREAT", key, b"9999999999999"]));
        }
        let mut few = vec![texts[0].clone(), b"other".to_vec()];
        if texts.len() > 1 {
            few.push(texts[texts.len() - 1].clone());
        }
        requests.push(self.add(&other, &few, 0));
        requests
    }

    fn add(&self, key: &[u8], texts: &[Vec<u8>], from: usize) -> Request {
        let command = match self.kind {
            Kind::List => "RPUSH",
            Kind::Hash => "HSET",
            Kind::Set => "SADD",
            Kind::SortedSet => "ZADD",
            Kind::Places => "GEOADD",
        };
        let mut words = request(&[command.as_bytes(), key]);
        for (at, text) in texts.iter().enumerate() {
            let at = from + at;
            match self.kind {
                Kind::List | Kind::Set => words.push(text.clone()),
                Kind::Hash => words.extend([text.clone(), vec![b'v'; self.value_bytes]]),
                Kind::SortedSet => words.extend([self.score(at), text.clone()]),
                Kind::Places => {
                    let (east, north) = (at % 40, at / 40 % 80);
                    words.extend([east.to_string().into_bytes(), north.to_string().into_bytes()]);
                    words.push(text.clone());
                }
            }
        }
        words
    }

    fn remove(&self, key: &[u8], texts: &[Vec<u8>]) -> Request {
        let command = match self.kind {
            Kind::List => return request(&[b"RPOP", key, MORE.to_string().as_bytes()]),
            Kind::Hash => "HDEL",
            Kind::Set => "SREM",
            Kind::SortedSet | Kind::Places => "ZREM",
        };
        let mut words = request(&[command.as_bytes(), key]);
        words.extend_from_slice(texts);
        words
    }
}

/// Number of elements that are added and removed again.
const MORE: usize = 3;
