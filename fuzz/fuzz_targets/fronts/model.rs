//! What items are, and what their clients are told.

use base::Millis;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use text::AttributeNote;

/// Item of Memcached's clients, string of RESP's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    pub value: Vec<u8>,
    pub flags: u32,
    /// The number that a client gave or has been told, if it is still that of the value.
    pub cas: Option<u64>,
    pub is_stale: bool,
    pub is_won: bool,
    pub is_fetched: bool,
    pub is_key_in_base64: bool,
    pub deadline: Option<Millis>,
}

/// What an expiry says of a deadline; `None` is at once.
pub type Expiry = Option<Option<Millis>>;

/// Items by their keys.
#[derive(Debug, Default)]
pub struct Model {
    items: BTreeMap<usize, Item>,
    /// Highest number that was drawn.
    drawn_max: u64,
    /// Last number that clients were told of each key.
    pub told: BTreeMap<usize, u64>,
}

impl Item {
    /// What files and replicas are told of it besides its value.
    pub fn note(&self) -> AttributeNote {
        AttributeNote {
            flags: self.flags,
            cas: self.cas.filter(|cas| *cas >= GIVEN).and_then(NonZeroU64::new),
            is_stale: self.is_stale,
            is_won: self.is_won,
            is_key_in_base64: self.is_key_in_base64,
        }
    }
}

impl Model {
    pub fn get(&mut self, key: usize, now: Millis) -> Option<&mut Item> {
        if self.items.get(&key).is_some_and(|it| it.deadline.is_some_and(|it| it <= now)) {
            self.items.remove(&key);
        }
        self.items.get_mut(&key)
    }

    /// All items that are not over.
    pub fn items(&self, now: Millis) -> BTreeMap<usize, Item> {
        let is_there = |item: &Item| item.deadline.is_none_or(|it| it > now);
        let items = self.items.iter().filter(|(_, item)| is_there(item));
        items.map(|(key, item)| (*key, item.clone())).collect()
    }

    pub fn remove(&mut self, key: usize) {
        self.items.remove(&key);
    }

    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Puts an item with an expiry; one that is over at once is none.
    pub fn put(&mut self, key: usize, item: Item, expiry: Expiry) {
        match expiry {
            None => self.remove(key),
            Some(deadline) => drop(self.items.insert(key, Item { deadline, ..item })),
        }
    }

    pub fn set_expiry(&mut self, key: usize, expiry: Expiry) {
        match (expiry, self.items.get_mut(&key)) {
            (None, _) => self.remove(key),
            (Some(deadline), Some(item)) => item.deadline = deadline,
            (Some(_), None) => {}
        }
    }

    /// Takes the number that a client is told of an item: the one that it has, or a new one. One
    /// that is over has none.
    pub fn tell(&mut self, key: usize, number: u64) {
        let Some(item) = self.items.get_mut(&key) else { return assert_eq!(number, 0) };
        match item.cas {
            Some(cas) => assert_eq!(cas, number),
            None => {
                assert!(number > self.drawn_max, "{number} was drawn before");
                self.drawn_max = number;
                item.cas = Some(number);
            }
        }
        self.told.insert(key, number);
    }
}

/// Numbers that clients give are above those that are drawn.
pub const GIVEN: u64 = 9_000_000_000_000_000_000;

/// Compares the number of an item with that of a client; true if the older one of a client makes
/// it stale.
pub fn compare(
    item: Option<&Item>,
    wanted: Option<u64>,
    invalidates: bool,
) -> Result<bool, &'static str> {
    let Some(wanted) = wanted else { return Ok(false) };
    let item = item.ok_or("NF")?;
    let is_older = wanted > 0 && wanted < item.cas.unwrap_or(GIVEN);
    match item.cas {
        Some(cas) if wanted == cas => Ok(false),
        _ if invalidates && is_older => Ok(true),
        _ => Err("EX"),
    }
}
