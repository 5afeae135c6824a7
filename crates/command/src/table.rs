//! The table of commands: rows with their numbers, and how a name finds its row.
//!
//! Which rows there are, `commands` knows, which stands above all families. A row leads back to its
//! table, for commands that tell about commands.

use crate::args::Args;
use crate::key_spec::{self, FindKeys, KeySpec};
use crate::needs::Needs;
use crate::spec::CommandSpec;
use std::fmt;
use std::ptr::fn_addr_eq;
use std::sync::LazyLock;

/// Names are compared as sixteen bytes; longer ones by their row.
const NAME_BYTES: usize = 16;
/// Places for rows, more than twice as many as there are commands.
const PLACES: usize = 1024;

/// A command or subcommand, with its number.
pub struct Row<Run: 'static> {
    /// What the family's table says.
    pub spec: &'static CommandSpec<Run>,
    /// Number for counts.
    pub id: usize,
    /// What must hold for it to run.
    pub needs: Needs,
    /// Position of its first key, if that is the same in every request; zero if not.
    pub first_key: usize,
    /// Whether every request has that key and no other.
    pub has_one_key: bool,
    /// The command that it is a subcommand of.
    pub parent: Option<&'static CommandSpec<Run>>,
    /// `config|get`, as INFO and COMMAND write it.
    pub full_name: String,
    /// Rows of subcommands: ids from here on.
    first_child: usize,
    table: &'static LazyLock<Table<Run>>,
}

/// All rows.
pub struct Table<Run: 'static> {
    rows: Vec<Row<Run>>,
    /// Stands for requests that name no command, or have not as many arguments as it takes.
    nameless: Row<Run>,
    /// Ids of commands plus one, by hash of the name; zero for none.
    places: Box<[(u128, u16)]>,
}

impl<Run> Row<Run> {
    /// The table that the row stands in.
    pub fn table(&self) -> &'static Table<Run> {
        self.table
    }

    /// Rows of its subcommands.
    pub fn children(&self) -> &'static [Row<Run>] {
        let table: &'static Table<Run> = self.table;
        &table.rows[self.first_child..self.first_child + self.spec.subcommands.len()]
    }

    /// The row of a subcommand.
    pub fn find_child(&self, name: &[u8]) -> Option<&'static Row<Run>> {
        self.children().iter().find(|child| child.is(name))
    }

    fn is(&self, name: &[u8]) -> bool {
        self.spec.name.as_bytes().eq_ignore_ascii_case(name)
    }
}

impl<Run> fmt::Debug for Row<Run> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full_name)
    }
}

impl<Run> fmt::Debug for Table<Run> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.rows).finish()
    }
}

impl<Run> Table<Run> {
    /// Numbers the rows of all families. `kept_in` is where the table will be, and `nameless` what
    /// stands for requests that have no row.
    pub fn build(
        kept_in: &'static LazyLock<Table<Run>>,
        families: &[&'static [CommandSpec<Run>]],
        nameless: &'static CommandSpec<Run>,
    ) -> Table<Run> {
        let mut rows = Vec::new();
        for spec in families.iter().copied().flatten() {
            let parent = rows.len();
            rows.push(row(kept_in, spec, parent, None));
            for child in spec.subcommands {
                let id = rows.len();
                rows.push(row(kept_in, child, id, Some(spec)));
            }
        }
        let mut places = vec![(0, 0); PLACES].into_boxed_slice();
        for row in rows.iter().filter(|row| row.parent.is_none()) {
            let name = folded(name_bytes(row.spec.name.as_bytes()));
            let mut place = place_of(name, row.spec.name.len());
            while places[place].1 != 0 {
                place = (place + 1) % PLACES;
            }
            places[place] = (name, narrow::to_u16(row.id) + 1);
        }
        let mut nameless = row(kept_in, nameless, rows.len(), None);
        nameless.needs |= Needs::NAMED;
        Table { rows, nameless, places }
    }

    /// Numbers that rows have: of all, subcommands included, and of the one for requests without.
    pub fn ids(&self) -> usize {
        self.rows.len() + 1
    }

    /// All rows, subcommands behind their commands.
    pub fn rows(&self) -> &[Row<Run>] {
        &self.rows
    }

    /// The row that stands for requests that have none.
    pub fn nameless(&self) -> &Row<Run> {
        &self.nameless
    }

    /// The command with a name, in upper or lower case.
    pub fn find(&self, name: &[u8]) -> Option<&Row<Run>> {
        self.find_folded(folded(name_bytes(name)), name)
    }

    /// The command that a request names.
    #[inline]
    pub(crate) fn find_named(&self, args: &Args<'_>) -> Option<&Row<Run>> {
        self.find_folded(folded(args.name_bytes()), args.get(0))
    }

    #[inline]
    fn find_folded(&self, wanted: u128, name: &[u8]) -> Option<&Row<Run>> {
        let mut place = place_of(wanted, name.len());
        loop {
            let (found, id) = self.places[place];
            let row = self.rows.get(usize::from(id).checked_sub(1)?)?;
            // Folding may make other bytes than letters alike.
            if found == wanted && row.is(name) {
                return Some(row);
            }
            place = (place + 1) % PLACES;
        }
    }
}

fn row<Run>(
    table: &'static LazyLock<Table<Run>>,
    spec: &'static CommandSpec<Run>,
    id: usize,
    parent: Option<&'static CommandSpec<Run>>,
) -> Row<Run> {
    let name = spec.name.to_ascii_lowercase();
    let full_name = match parent {
        Some(parent) => format!("{}|{name}", parent.name.to_ascii_lowercase()),
        None => name,
    };
    let first_key = spec.keys.iter().find_map(KeySpec::first_position).unwrap_or(0);
    let first_child = id + 1;
    let has_one_key = fn_addr_eq(spec.find_keys, key_spec::find as FindKeys)
        && matches!(spec.keys, [key] if key.is_one());
    let needs = spec.needs();
    Row { spec, id, needs, first_key, has_one_key, parent, full_name, first_child, table }
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
    let mixed = (narrow::low_u64(name) ^ (name >> 64) as u64 ^ len as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize % PLACES
}
