//! The table of all commands, and how a name finds its row.

use crate::args::Args;
use crate::family;
use crate::spec::{CommandSpec, Flags, KeySpec, Needs};
use std::sync::OnceLock;

/// Names are compared as sixteen bytes; longer ones by their row.
const NAME_BYTES: usize = 16;
/// Places for rows, more than twice as many as there are commands.
const PLACES: usize = 1024;

/// A command or subcommand, with its number.
#[derive(Debug)]
pub struct Row {
    /// What the family's table says.
    pub spec: &'static CommandSpec,
    /// Number for counts.
    pub id: usize,
    /// What must be given for it to run.
    pub needs: Needs,
    /// The command that it is a subcommand of.
    pub parent: Option<&'static CommandSpec>,
    /// Rows of subcommands: ids from here on.
    first_child: usize,
    /// `config|get`, as INFO and COMMAND write it.
    pub full_name: String,
}

impl Row {
    /// Whether CLIENT PAUSE WRITE holds it back.
    pub fn may_change_data(&self) -> bool {
        self.spec.flags.intersects(Flags::WRITE.union(Flags::MAY_REPLICATE))
    }
}

/// All rows.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Row>,
    /// Ids of commands plus one, by hash of the name; zero for none.
    places: Box<[(u128, u16)]>,
}

impl Table {
    /// The table; built at the first call.
    pub fn get() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Table::build(family::ALL))
    }

    fn build(families: &[&'static [CommandSpec]]) -> Table {
        let mut rows = Vec::new();
        for spec in families.iter().copied().flatten() {
            let parent = rows.len();
            rows.push(row(spec, parent, None));
            for child in spec.subcommands {
                let id = rows.len();
                rows.push(row(child, id, Some(spec)));
            }
            rows[parent].first_child = parent + 1;
        }
        let mut places = vec![(0, 0); PLACES].into_boxed_slice();
        for row in rows.iter().filter(|row| row.parent.is_none()) {
            let name = folded(name_bytes(row.spec.name.as_bytes()));
            let mut place = place_of(name, row.spec.name.len());
            while places[place].1 != 0 {
                place = (place + 1) % PLACES;
            }
            places[place] = (name, row.id as u16 + 1);
        }
        Table { rows, places }
    }

    /// Rows, subcommands included.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// All rows, subcommands behind their commands.
    pub fn rows(&'static self) -> &'static [Row] {
        &self.rows
    }

    /// The command with a name, in upper or lower case.
    pub fn find(&'static self, name: &[u8]) -> Option<&'static Row> {
        self.find_folded(folded(name_bytes(name)), name)
    }

    /// The command that a request names.
    #[inline]
    pub(crate) fn find_named(&'static self, args: &Args<'_>) -> Option<&'static Row> {
        self.find_folded(folded(args.name_bytes()), args.get(0))
    }

    #[inline]
    fn find_folded(&'static self, wanted: u128, name: &[u8]) -> Option<&'static Row> {
        let mut place = place_of(wanted, name.len());
        loop {
            let (found, id) = self.places[place];
            let row = self.rows.get(usize::from(id).checked_sub(1)?)?;
            // Folding may make other bytes than letters alike.
            if found == wanted && is(row, name) {
                return Some(row);
            }
            place = (place + 1) % PLACES;
        }
    }

    /// The row of a subcommand of `row`.
    pub fn find_child(&'static self, row: &'static Row, name: &[u8]) -> Option<&'static Row> {
        let children = row.first_child..row.first_child + row.spec.subcommands.len();
        self.rows[children].iter().find(|child| is(child, name))
    }
}

fn is(row: &Row, name: &[u8]) -> bool {
    row.spec.name.as_bytes().eq_ignore_ascii_case(name)
}

fn row(spec: &'static CommandSpec, id: usize, parent: Option<&'static CommandSpec>) -> Row {
    let name = spec.name.to_ascii_lowercase();
    let full_name = match parent {
        Some(parent) => format!("{}|{name}", parent.name.to_ascii_lowercase()),
        None => name,
    };
    Row { spec, id, needs: spec.needs(), parent, first_child: id, full_name }
}

/// The first sixteen bytes of a name, zeros behind it.
fn name_bytes(name: &[u8]) -> u128 {
    let mut bytes = [0_u8; NAME_BYTES];
    let len = name.len().min(NAME_BYTES);
    bytes[..len].copy_from_slice(&name[..len]);
    u128::from_le_bytes(bytes)
}

/// Without the bit in which upper and lower case differ.
#[inline]
fn folded(name: u128) -> u128 {
    name & !0x2020_2020_2020_2020_2020_2020_2020_2020
}

#[inline]
fn place_of(name: u128, len: usize) -> usize {
    let mixed =
        (name as u64 ^ (name >> 64) as u64 ^ len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize % PLACES
}

impl KeySpec {
    /// Whether there are keys at all.
    pub fn is_some(self) -> bool {
        self.first > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name_in_any_case() {
        let table = Table::get();
        for row in table.rows().iter().filter(|row| row.parent.is_none()) {
            let found = table.find(row.spec.name.to_ascii_lowercase().as_bytes());
            assert_eq!(found.map(|found| found.id), Some(row.id), "{}", row.spec.name);
            for child in row.spec.subcommands {
                let found = table.find_child(row, child.name.to_ascii_lowercase().as_bytes());
                assert_eq!(found.map(|found| found.spec.name), Some(child.name));
            }
        }
        assert!(table.find(b"nosuchcommand").is_none());
        assert!(table.find(b"").is_none());
        assert!(table.find(&[b'x'; 4096]).is_none());
    }

    #[test]
    fn counting_may_change_a_value_as_writing_does() {
        for (name, may_change) in [("pfadd", true), ("pfcount", true), ("get", false)] {
            let row = Table::get().find(name.as_bytes());
            assert_eq!(row.map(Row::may_change_data), Some(may_change), "{name}");
        }
    }

    #[test]
    fn names_are_unique_and_arity_covers_the_keys() {
        let table = Table::get();
        let mut names = std::collections::BTreeSet::new();
        for row in table.rows() {
            assert!(names.insert(&row.full_name), "{} twice", row.full_name);
            let least = row.spec.arity.unsigned_abs() as usize;
            let keys = row.spec.keys;
            if keys.is_some() {
                assert!(keys.positions(least).count() > 0, "{}", row.full_name);
            }
            assert!(!row.spec.summary.is_empty(), "{}", row.full_name);
        }
    }
}
