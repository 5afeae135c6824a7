//! Forms of commands at borders, by kinds of values.

pub const LISTS: &str = include_str!("forms/lists.txt");
pub const HASHES: &str = include_str!("forms/hashes.txt");
pub const SETS: &str = include_str!("forms/sets.txt");
pub const SORTED_SETS: &str = include_str!("forms/sorted_sets.txt");
pub const PLACES: &str = include_str!("forms/places.txt");
pub const STRINGS: &str = include_str!("forms/strings.txt");
pub const BITMAPS: &str = include_str!("forms/bitmaps.txt");
pub const LONG_STRINGS: &str = include_str!("forms/long_strings.txt");
pub const HYPERLOGLOGS: &str = include_str!("forms/hyperloglogs.txt");
pub const STREAMS: &str = include_str!("forms/streams.txt");
pub const GENERIC: &str = include_str!("forms/generic.txt");
pub const SORT: &str = include_str!("forms/sort.txt");
pub const SORT_OF_SORTED_SETS: &str = include_str!("forms/sort_of_sorted_sets.txt");
