//! The table of commands: rows with their ids, and the lookup of rows by name.
//!
//! The rows come from `commands`, which stands above all families. A row refers back to its table,
//! for commands that describe commands.

use crate::flags::{Flags, Locks, NamesChannels, ReachesDatabases};
use crate::key_spec::{KeyFlags, KeySpec};
use crate::row::{Command, Row, Table};
use crate::simple_rights::{SimpleRights, access_of};
use session::{Args, Needs};
use std::fmt;
use std::sync::LazyLock;

/// Bytes of a name that are hashed and compared first; the whole name is compared with the row's.
const NAME_BYTES: usize = 16;
/// Number of places for rows, more than twice as many as there are commands.
const PLACES: usize = 1024;

impl Row {
    /// The table that the row stands in.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// Rows of its subcommands.
    pub fn children(&self) -> &'static [Row] {
        &self.table().rows[self.first_child..self.first_child + self.spec.subcommands.len()]
    }

    /// The row of a subcommand, by its name in upper or lower case.
    pub fn find_child(&self, name: &[u8]) -> Option<&'static Row> {
        self.children().iter().find(|child| child.is(name))
    }

    fn is(&self, name: &[u8]) -> bool {
        self.spec.name.as_bytes().eq_ignore_ascii_case(name)
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full_name)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.rows).finish()
    }
}

impl Table {
    /// Builds the table from the rows of all families. `kept_in` is the static that will hold it,
    /// `nameless` the row of requests that have none. No list has the others: `hidden` are found by
    /// requests that name them, and those of `unlisted` by no request of RESP.
    pub fn build(
        kept_in: &'static LazyLock<Table>,
        families: &[&'static [Command]],
        nameless: &'static Command,
        hidden: &'static [Command],
        unlisted: &'static Command,
    ) -> Table {
        let mut rows: Vec<Row> = Vec::new();
        for spec in families.iter().copied().flatten() {
            let parent = rows.len();
            rows.push(row(kept_in, spec, parent, None));
            for child in spec.subcommands {
                let id = rows.len();
                rows.push(row(kept_in, child, id, Some(spec)));
            }
        }
        let listed = rows.len();
        let with_parent = unlisted.subcommands.iter().map(|spec| (spec, Some(unlisted)));
        for (spec, parent) in hidden.iter().map(|spec| (spec, None)).chain(with_parent) {
            let named = rows[..listed].iter().find(|other| other.full_name == spec.right_of);
            let right = named.map_or(rows.len(), |other| other.id);
            rows.push(Row { right, ..row(kept_in, spec, rows.len(), parent) });
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
        let is_closing =
            |row: &&Row| row.spec.locks == Locks::Gate && !row.spec.flags.contains(Flags::NOSCRIPT);
        let closing: Vec<_> = rows.iter().filter(is_closing).map(|row| row.spec.name).collect();
        let lengths = || closing.iter().map(|name| name.len());
        let closing_lengths = lengths().min().unwrap_or(1)..=lengths().max().unwrap_or(0);
        let found = listed + hidden.len();
        Table { rows, listed, found, nameless, places, closing, closing_lengths }
    }

    /// Names of the commands that close the gate and may be called from scripts.
    pub fn closing_gate(&self) -> impl Iterator<Item = &'static str> {
        self.closing.iter().copied()
    }

    /// Returns true for the name of a command that closes the gate and may be called from scripts.
    #[inline]
    pub fn closes_gate(&self, name: &[u8]) -> bool {
        // Nearly all words are shorter or longer.
        self.closing_lengths.contains(&name.len())
            && self.closing.iter().any(|it| it.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Number of row ids: one for each row, subcommands included, and one for requests without a
    /// row.
    pub fn ids(&self) -> usize {
        self.rows.len() + 1
    }

    /// All rows that are listed, subcommands behind their commands.
    pub fn rows(&self) -> &[Row] {
        &self.rows[..self.listed]
    }

    /// The rows that no request of RESP names.
    pub fn unlisted(&self) -> &[Row] {
        &self.rows[self.found..]
    }

    /// The row that is executed in place of a command for which attributes were noted; `None` if
    /// they mean nothing to it.
    pub fn noted(&self, name: &[u8]) -> Option<&Row> {
        let is_named = |row: &&Row| row.spec.noted.as_bytes().eq_ignore_ascii_case(name);
        self.unlisted().iter().rev().find(is_named).filter(|_| !name.is_empty())
    }

    /// All rows, each at the index that is its id.
    pub fn all_rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of requests that have none.
    pub fn nameless(&self) -> &Row {
        &self.nameless
    }

    /// The command with a name, in upper or lower case.
    pub fn find(&self, name: &[u8]) -> Option<&Row> {
        self.find_folded(folded(name_bytes(name)), name)
    }

    /// The command that a request names.
    #[inline]
    pub(crate) fn find_named(&self, args: &Args<'_>) -> Option<&Row> {
        self.find_folded(folded(args.name_bytes()), args.get(0))
    }

    #[inline]
    fn find_folded(&self, wanted: u128, name: &[u8]) -> Option<&Row> {
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

fn row(
    table: &'static LazyLock<Table>,
    spec: &'static Command,
    id: usize,
    parent: Option<&'static Command>,
) -> Row {
    let name = spec.name.to_ascii_lowercase();
    let full_name = match parent {
        Some(parent) => format!("{}|{name}", parent.name.to_ascii_lowercase()),
        None => name,
    };
    let first_key = spec.keys.iter().find_map(KeySpec::first_position).unwrap_or(0);
    let counted = spec.keys.iter().find_map(KeySpec::counted_position).unwrap_or(0);
    let key_ahead = if first_key > 0 { first_key } else { counted };
    let first_child = id + 1;
    let has_one_key = matches!(spec.keys, [key] if key.is_one());
    let needs = spec.needs();
    let simple_rights = simple_rights(spec);
    Row {
        spec,
        id,
        right: id,
        needs,
        first_key,
        key_ahead,
        has_one_key,
        simple_rights,
        parent,
        full_name,
        first_child,
        table,
    }
}

/// Works out what most requests of a row ask of rights; `None` where they name more.
fn simple_rights(spec: &Command) -> Option<SimpleRights> {
    let is_simple = spec.channels == NamesChannels::No
        && matches!(spec.databases, ReachesDatabases::Selected)
        && spec.runs_script.is_none();
    if !is_simple {
        return None;
    }
    let simple = SimpleRights {
        key: None,
        reaches_selected: spec.reaches_selected(),
        words_max: usize::MAX,
    };
    match spec.keys {
        [] => Some(simple),
        [one] if one.is_one() => {
            let at = one.first_position()?;
            if !one.flags.contains(KeyFlags::VARIABLE) {
                let key = Some((at, access_of(one.flags)));
                return Some(SimpleRights { key, ..simple });
            }
            // The fewest words leave no room for options.
            let words_max = usize::from(spec.arity.unsigned_abs());
            let words = vec![&b"0"[..]; words_max];
            let found = (spec.find_keys)(spec.keys, &words)?;
            let key = Some((at, access_of(found.first()?.1)));
            Some(SimpleRights { key, words_max, ..simple })
        }
        _ => None,
    }
}

/// Returns the first sixteen bytes of a name, padded with zeros, as a little-endian number.
fn name_bytes(name: &[u8]) -> u128 {
    let mut bytes = [0_u8; NAME_BYTES];
    let len = name.len().min(NAME_BYTES);
    bytes[..len].copy_from_slice(&name[..len]);
    u128::from_le_bytes(bytes)
}

/// Clears in each byte the bit in which upper and lower case differ.
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
