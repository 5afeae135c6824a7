//! Which databases and keys are taken, and where they go.

use text::{glob_match, parse_u64};

/// Begin of the names of keys by which a server that follows knows how far it has come. They are
/// neither data of the one side nor of the other.
pub const POSITION_PREFIX: &[u8] = b"varve-import:position:";

/// Databases and keys that are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Number of a database, and of the one it becomes. All, each under its number, if it is empty.
    databases: Vec<(u64, u64)>,
    /// What the names of keys must match, as KEYS does it.
    pattern: Option<Vec<u8>>,
}

impl Scope {
    /// Databases that become others, and a pattern of names.
    pub fn new(databases: Vec<(u64, u64)>, pattern: Option<Vec<u8>>) -> Scope {
        Scope { databases, pattern }
    }

    /// True if everything is taken, and stays where it is.
    pub fn is_whole(&self) -> bool {
        self.takes_all_databases() && self.takes_all_keys()
    }

    /// True if each database is taken and keeps its number.
    pub fn takes_all_databases(&self) -> bool {
        self.databases.is_empty()
    }

    /// True if names of keys do not matter.
    pub fn takes_all_keys(&self) -> bool {
        self.pattern.is_none()
    }

    /// What names of keys must match, if not all are taken.
    pub fn pattern(&self) -> Option<&[u8]> {
        self.pattern.as_deref()
    }

    /// Databases that are taken and what each becomes; `None` if all are, as they are.
    pub fn databases(&self) -> Option<&[(u64, u64)]> {
        (!self.takes_all_databases()).then_some(&self.databases[..])
    }

    /// What a database becomes; `None` if it is not taken.
    pub fn target_of(&self, database: u64) -> Option<u64> {
        if self.takes_all_databases() {
            return Some(database);
        }
        self.databases.iter().find(|(from, _)| *from == database).map(|(_, to)| *to)
    }

    /// Which database becomes this one; `None` if none does.
    pub fn source_of(&self, database: u64) -> Option<u64> {
        if self.takes_all_databases() {
            return Some(database);
        }
        self.databases.iter().find(|(_, to)| *to == database).map(|(from, _)| *from)
    }

    /// True if a key is taken.
    pub fn has(&self, key: &[u8]) -> bool {
        !key.starts_with(POSITION_PREFIX)
            && self.pattern.as_ref().is_none_or(|pattern| glob_match(pattern, key, false))
    }

    /// The database in which a server notes how far it has come.
    pub fn first_target(&self) -> u64 {
        self.databases.first().map_or(0, |(_, to)| *to)
    }

    /// Text by which another run knows that it is the same.
    pub fn shown(&self) -> String {
        let databases = self.databases.iter().map(|(from, to)| format!("{from}:{to}"));
        let databases = databases.collect::<Vec<_>>().join(",");
        let pattern = self.pattern.as_deref().map(text::quote).unwrap_or_default();
        format!("{databases} {pattern}")
    }
}

/// Reads `0:3,1,7:2`: databases, each with what it becomes if that is another number.
///
/// # Errors
/// What is wrong with it.
pub fn parse_databases(list: &str) -> Result<Vec<(u64, u64)>, String> {
    let mut databases: Vec<(u64, u64)> = Vec::new();
    for item in list.split(',') {
        let (from, to) = item.split_once(':').unwrap_or((item, item));
        let number = |text: &str| parse_u64(text.as_bytes());
        let (Some(from), Some(to)) = (number(from), number(to)) else {
            return Err(format!("'{item}' is neither a number nor FROM:TO"));
        };
        if databases.iter().any(|(before, _)| *before == from) {
            return Err(format!("database {from} is named twice"));
        }
        if databases.iter().any(|(_, before)| *before == to) {
            return Err(format!("two databases would become database {to}"));
        }
        databases.push((from, to));
    }
    Ok(databases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_become_others_or_stay_or_are_left_out() {
        let databases = parse_databases("0:3,1,7:2").expect("a list");
        assert_eq!(databases, [(0, 3), (1, 1), (7, 2)]);
        let scope = Scope::new(databases, None);
        assert_eq!(
            (scope.target_of(0), scope.target_of(1), scope.target_of(2)),
            (Some(3), Some(1), None)
        );
        assert_eq!((scope.source_of(2), scope.source_of(0)), (Some(7), None));
        assert_eq!(
            (Scope::default().target_of(9), Scope::default().source_of(9)),
            (Some(9), Some(9))
        );
    }

    #[test]
    fn lists_that_say_two_things_of_a_database_are_refused() {
        for list in ["", "x", "1:", ":1", "1:2:3", "0,0", "0:1,1", "-1", "1,"] {
            assert!(parse_databases(list).is_err(), "{list}");
        }
    }

    #[test]
    fn notes_of_how_far_it_has_come_are_no_data() {
        let scope = Scope::new(Vec::new(), Some(b"user:*".to_vec()));
        assert!(scope.has(b"user:7") && !scope.has(b"users") && Scope::default().has(b"users"));
        assert!(!Scope::default().has(&[POSITION_PREFIX, b"x"].concat()));
    }
}
