//! Commands that two clients of a pair send each other.

use crate::control::encode;
use crate::generator::{Answer, Expected};

/// Commands that hand an element over, and that wait for it.
pub struct Exchange {
    /// Names of the commands, for tables.
    pub name: &'static str,
    /// Words of the request that hands an element to the partner; see [`Keys`] for the names in
    /// them.
    give: &'static [&'static str],
    given: Answer,
    /// Words of the request that waits.
    wait: &'static [&'static str],
    waited: Answer,
    /// Words of the request that puts an element where the first client to give takes it from.
    stock: Option<&'static [&'static str]>,
}

/// The exchanges. BLMOVE stores the element at a second key, from which LMOVE gives it back.
pub const EXCHANGES: [Exchange; 2] = [
    Exchange {
        name: "BLPOP/LPUSH",
        give: &["LPUSH", PARTNER, "x"],
        given: Answer::Integer,
        wait: &["BLPOP", OWN, "0"],
        waited: Answer::Array,
        stock: None,
    },
    Exchange {
        name: "BLMOVE/LMOVE",
        give: &["LMOVE", STOCK, PARTNER, "LEFT", "LEFT"],
        given: Answer::Value,
        wait: &["BLMOVE", OWN, STOCK, "LEFT", "LEFT", "0"],
        waited: Answer::Value,
        stock: Some(&["RPUSH", STOCK, "x"]),
    },
];

/// Keys of one client.
pub struct Keys {
    /// Key at which it waits.
    own: String,
    /// Key at which its partner waits.
    partner: String,
    /// Key in which it stores the received element.
    stock: String,
}

impl Keys {
    /// Returns the keys of a client; partners have the numbers `2n` and `2n + 1`.
    pub fn of(client: usize) -> Self {
        let partner = client ^ 1;
        Self {
            own: format!("waited:{client:08}"),
            partner: format!("waited:{partner:08}"),
            stock: format!("stock:{client:08}"),
        }
    }

    fn fill<'word>(&'word self, words: &[&'word str]) -> Vec<&'word str> {
        let filled = words.iter().map(|word| match *word {
            OWN => self.own.as_str(),
            PARTNER => self.partner.as_str(),
            STOCK => self.stock.as_str(),
            word => word,
        });
        filled.collect()
    }
}

impl Exchange {
    /// Returns the request that waits, and its replies.
    pub fn waiting(&self, keys: &Keys) -> (Vec<u8>, Expected) {
        let mut expected = Expected::default();
        expected.count(self.waited);
        (encode(&keys.fill(self.wait)).into_bytes(), expected)
    }

    /// Returns the request that gives and the one that waits, and their replies.
    pub fn giving_and_waiting(&self, keys: &Keys) -> (Vec<u8>, Expected) {
        let (waiting, mut expected) = self.waiting(keys);
        expected.count(self.given);
        ([encode(&keys.fill(self.give)).into_bytes(), waiting].concat(), expected)
    }

    /// Returns the command that the first client to give needs beforehand, if it needs one.
    pub fn stocking<'word>(&self, keys: &'word Keys) -> Option<Vec<&'word str>> {
        self.stock.map(|words| keys.fill(words))
    }
}

const OWN: &str = "<own>";
const PARTNER: &str = "<partner>";
const STOCK: &str = "<stock>";

#[cfg(test)]
mod tests {
    use super::{EXCHANGES, Keys};
    use crate::control::encode;

    #[test]
    fn a_client_gives_at_the_key_where_its_partner_waits() {
        for exchange in &EXCHANGES {
            let [first, second] = [6, 7].map(Keys::of);
            assert_eq!((&first.partner, &second.partner), (&second.own, &first.own));
            let (both, expected) = exchange.giving_and_waiting(&first);
            let (waiting, _) = exchange.waiting(&first);
            let giving = both.strip_suffix(&waiting[..]).unwrap();
            let has = |bytes: &[u8], key: &str| String::from_utf8_lossy(bytes).contains(key);
            assert!(has(giving, &first.partner) && has(&waiting, &first.own));
            assert_eq!(expected.total(), 2);
        }
    }

    #[test]
    fn what_is_given_back_was_kept_or_stocked() {
        let keys = Keys::of(3);
        let stocking = EXCHANGES[1].stocking(&keys).unwrap();
        assert_eq!(encode(&stocking), encode(&["RPUSH", "stock:00000003", "x"]));
        assert!(EXCHANGES[0].stocking(&keys).is_none());
    }
}
