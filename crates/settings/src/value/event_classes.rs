//! Classes of keyspace notifications, each named by a letter.

use std::fmt;

/// Classes of events that are published, and the channels to which they go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventClasses(u32);

/// Letters of all classes, in the order in which they are shown; the bit of each is its place.
const LETTERS: &str = "g$lshzxetdnKEm";
/// Letter that stands for all classes but `n` and `m`.
const ALL: char = 'A';
/// Bits of these classes.
const ALL_BITS: u32 = (1 << 10) - 1;

impl EventClasses {
    /// Returns true if the class with a letter is among these.
    pub const fn has(self, letter: u8) -> bool {
        let letters = LETTERS.as_bytes();
        let mut at = 0;
        while at < letters.len() {
            if letters[at] == letter {
                return self.0 & (1 << at) != 0;
            }
            at += 1;
        }
        false
    }

    /// Reads letters.
    pub(crate) fn parse(text: &str) -> Result<EventClasses, &'static str> {
        let bits = |letter| match LETTERS.find(letter) {
            Some(at) => Ok(1 << at),
            None if letter == ALL => Ok(ALL_BITS),
            None => Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'."),
        };
        text.chars()
            .try_fold(EventClasses(0), |all, letter| Ok(EventClasses(all.0 | bits(letter)?)))
    }

    /// Returns the classes, one bit each.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns the classes with these bits.
    pub fn of_bits(bits: u32) -> EventClasses {
        EventClasses(bits)
    }
}

impl fmt::Display for EventClasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_all = self.0 & ALL_BITS == ALL_BITS;
        if has_all {
            write!(f, "{ALL}")?;
        }
        for (at, letter) in LETTERS.chars().enumerate() {
            let bit = 1 << at;
            if self.0 & bit != 0 && !(has_all && ALL_BITS & bit != 0) {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::EventClasses;

    #[test]
    fn letters_are_shown_in_one_order_and_all_of_them_as_one() {
        let shown = |text| EventClasses::parse(text).map(|classes| classes.to_string());
        for (text, expected) in [
            ("", ""),
            ("KEA", "AKE"),
            ("KEg$lshzxetd", "AKE"),
            ("mKxE", "xKEm"),
            ("AKn", "AnK"),
            ("gg", "g"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(shown("KEq").is_err());
    }

    #[test]
    fn a_class_is_found_by_its_letter() {
        let classes = EventClasses::parse("Kxm").expect("they exist");
        assert!(classes.has(b'K') && classes.has(b'x') && classes.has(b'm'));
        assert!(!classes.has(b'E') && !classes.has(b'A') && !classes.has(b'?'));
    }
}
