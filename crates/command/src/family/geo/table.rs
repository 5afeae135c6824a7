//! The rows of the geo family.

use super::{add, look, search};
use crate::spec::{CommandSpec, Flags, Group, KeyFlags, KeySpec};

const READ: Flags = Flags::READONLY;
const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const WRITE_MOVABLE: Flags = WRITE.union(Flags::MOVABLE_KEYS);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const UPDATES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const SETS: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);

/// Rows of the family.
pub const TABLE: &[CommandSpec] = &[
    CommandSpec {
        name: "GEOADD",
        arity: -5,
        flags: WRITE,
        keys: KeySpec::one(UPDATES),
        group: Group::Geo,
        since: "3.2.0",
        summary: "Adds places to a sorted set, which is created if need be, or moves them.",
        syntax: "key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]",
        run: add::geoadd,
        subcommands: &[],
    },
    CommandSpec {
        name: "GEODIST",
        arity: -4,
        flags: READ,
        keys: KeySpec::one(READS),
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns how far two places are apart.",
        syntax: "key member1 member2 [M | KM | FT | MI]",
        run: look::geodist,
        subcommands: &[],
    },
    CommandSpec {
        name: "GEOHASH",
        arity: -2,
        flags: READ,
        keys: KeySpec::one(READS),
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns the geohashes of places as texts.",
        syntax: "key [member [member ...]]",
        run: look::geohash,
        subcommands: &[],
    },
    CommandSpec {
        name: "GEOPOS",
        arity: -2,
        flags: READ,
        keys: KeySpec::one(READS),
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns the longitudes and latitudes of places.",
        syntax: "key [member [member ...]]",
        run: look::geopos,
        subcommands: &[],
    },
    CommandSpec {
        name: "GEORADIUS",
        arity: -6,
        flags: WRITE_MOVABLE,
        keys: KeySpec::one(READS),
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns the places in a circle around a place, or stores them.",
        syntax: "key longitude latitude radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] \
                 [WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
        run: search::georadius,
        subcommands: &[],
    },
    CommandSpec {
        name: "GEORADIUSBYMEMBER",
        arity: -5,
        flags: WRITE_MOVABLE,
        keys: KeySpec::one(READS),
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns the places in a circle around that of a member, or stores them.",
        syntax: "key member radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT \
                 count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
        run: search::georadiusbymember,
        subcommands: &[],
    },
    CommandSpec {
        name: "GEORADIUSBYMEMBER_RO",
        arity: -5,
        flags: READ,
        keys: KeySpec::one(READS),
        group: Group::Geo,
        since: "3.2.10",
        summary: "Returns the places in a circle around that of a member.",
        syntax: "key member radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT \
                 count [ANY]] [ASC | DESC]",
        run: search::georadiusbymember_ro,
        subcommands: &[],
    },
    CommandSpec {
        name: "GEORADIUS_RO",
        arity: -6,
        flags: READ,
        keys: KeySpec::one(READS),
        group: Group::Geo,
        since: "3.2.10",
        summary: "Returns the places in a circle around a place.",
        syntax: "key longitude latitude radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] \
                 [WITHHASH] [COUNT count [ANY]] [ASC | DESC]",
        run: search::georadius_ro,
        subcommands: &[],
    },
    CommandSpec {
        name: "GEOSEARCH",
        arity: -7,
        flags: READ,
        keys: KeySpec::one(READS),
        group: Group::Geo,
        since: "6.2.0",
        summary: "Returns the places in a circle, a rectangle or a polygon.",
        syntax: "key <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <M | KM \
                 | FT | MI> | BYBOX width height <M | KM | FT | MI> | BYPOLYGON num-vertices \
                 longitude latitude [longitude latitude ...]> [ASC | DESC] [COUNT count [ANY]] \
                 [WITHCOORD] [WITHDIST] [WITHHASH]",
        run: search::geosearch,
        subcommands: &[],
    },
    CommandSpec {
        name: "GEOSEARCHSTORE",
        arity: -8,
        flags: WRITE,
        keys: KeySpec { first: 1, last: 2, step: 1, flags: SETS },
        group: Group::Geo,
        since: "6.2.0",
        summary: "Stores the places in a circle, a rectangle or a polygon.",
        syntax: "destination source <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS \
                 radius <M | KM | FT | MI> | BYBOX width height <M | KM | FT | MI> | BYPOLYGON \
                 num-vertices longitude latitude [longitude latitude ...]> [ASC | DESC] [COUNT \
                 count [ANY]] [STOREDIST]",
        run: search::geosearchstore,
        subcommands: &[],
    },
];
