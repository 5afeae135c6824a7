//! The rows of the geo family.

use super::{add, look, search, seek};
use command::ArgumentFact::{Display, Name, Optional, Since, TokenInside};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec};

const READ: Flags = Flags::READONLY;
const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const UPDATES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const SETS: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);

/// Keys of a search around a place, whose options begin at position 6, or around a member, at 5.
const AROUND_PLACE: &[KeySpec] = &around(6);
const AROUND_MEMBER: &[KeySpec] = &around(5);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::one(UPDATES)],
        summary: "Adds places to a sorted set, which is created if need be, or moves them.",
        syntax: "key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]",
        arguments: &[("condition", Since("6.2.0")), ("CH", Name("change")), ("CH", Since("6.2.0"))],
        complexity: "O(N log M), N members added, M members of the set",
        history: &[("6.2.0", "CH, NX and XX.")],
        ..row("GEOADD", -5, WRITE, "3.2.0", add::geoadd)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns how far two places are apart.",
        syntax: "key member1 member2 [M | KM | FT | MI]",
        complexity: "O(1)",
        ..row("GEODIST", -4, READ, "3.2.0", look::geodist)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the geohashes of places as texts.",
        syntax: "key [member [member ...]]",
        complexity: "O(N), N members asked for",
        ..row("GEOHASH", -2, READ, "3.2.0", look::geohash)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the longitudes and latitudes of places.",
        syntax: "key [member [member ...]]",
        complexity: "O(N), N members asked for",
        ..row("GEOPOS", -2, READ, "3.2.0", look::geopos)
    },
    Command {
        keys: AROUND_PLACE,
        find_keys: seek::keys,
        summary: "Returns the places in a circle around a place, or stores them.",
        syntax: "key longitude latitude radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] \
                 [WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
        arguments: &[
            ("count-any", Name("count-block")),
            ("ANY", Since("6.2.0")),
            ("operation", Name("store")),
            ("STORE", Name("storekey")),
            ("STORE", Display("key")),
            ("STOREDIST", Name("storedistkey")),
            ("STOREDIST", Display("key")),
        ],
        complexity: "O(N+log M), N members near the place, M members of the set",
        history: &[("6.2.0", "ANY behind COUNT."), ("7.0.0", "Units in upper case.")],
        ..row("GEORADIUS", -6, WRITE, "3.2.0", search::georadius)
    },
    Command {
        keys: AROUND_MEMBER,
        find_keys: seek::keys,
        summary: "Returns the places in a circle around that of a member, or stores them.",
        syntax: "key member radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT \
                 count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
        arguments: &[
            ("count-any", Name("count-block")),
            ("operation", Name("store")),
            ("STORE", Name("storekey")),
            ("STORE", Display("key")),
            ("STOREDIST", Name("storedistkey")),
            ("STOREDIST", Display("key")),
        ],
        complexity: "O(N+log M), N members near the place, M members of the set",
        history: &[("6.2.0", "ANY behind COUNT."), ("7.0.0", "Units in upper case.")],
        ..row("GEORADIUSBYMEMBER", -5, WRITE, "3.2.0", search::georadiusbymember)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the places in a circle around that of a member.",
        syntax: "key member radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT \
                 count [ANY]] [ASC | DESC]",
        arguments: &[("count-any", Name("count-block"))],
        complexity: "O(N+log M), N members near the place, M members of the set",
        history: &[("6.2.0", "ANY behind COUNT."), ("7.0.0", "Units in upper case.")],
        ..row("GEORADIUSBYMEMBER_RO", -5, READ, "3.2.10", search::georadiusbymember_ro)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the places in a circle around a place.",
        syntax: "key longitude latitude radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] \
                 [WITHHASH] [COUNT count [ANY]] [ASC | DESC]",
        arguments: &[("count-any", Name("count-block")), ("ANY", Since("6.2.0"))],
        complexity: "O(N+log M), N members near the place, M members of the set",
        history: &[("6.2.0", "ANY behind COUNT."), ("7.0.0", "Units in upper case.")],
        ..row("GEORADIUS_RO", -6, READ, "3.2.10", search::georadius_ro)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the places in a circle, a rectangle or a polygon.",
        syntax: "key <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <M | KM \
                 | FT | MI> | BYBOX width height <M | KM | FT | MI> | BYPOLYGON num-vertices \
                 longitude latitude [longitude latitude ...]> [ASC | DESC] [COUNT count [ANY]] \
                 [WITHCOORD] [WITHDIST] [WITHHASH]",
        arguments: &[
            ("operation", Name("from")),
            ("operation", Optional),
            ("operation", Name("by")),
            ("BYRADIUS", TokenInside),
            ("BYRADIUS", Name("circle")),
            ("BYBOX", TokenInside),
            ("BYBOX", Name("box")),
            ("BYPOLYGON", TokenInside),
            ("BYPOLYGON", Name("polygon")),
            ("BYPOLYGON", Since("9.0.0")),
            ("longitude-latitude", Name("vertices")),
            ("count-any", Name("count-block")),
        ],
        complexity: "O(N+log M), N members near the place, M members of the set",
        history: &[("7.0.0", "Units in upper case."), ("9.0.0", "BYPOLYGON.")],
        ..row("GEOSEARCH", -7, READ, "6.2.0", search::geosearch)
    },
    Command {
        keys: &[KeySpec::one(SETS), KeySpec::at(2, READS)],
        summary: "Stores the places in a circle, a rectangle or a polygon.",
        syntax: "destination source <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS \
                 radius <M | KM | FT | MI> | BYBOX width height <M | KM | FT | MI> | BYPOLYGON \
                 num-vertices longitude latitude [longitude latitude ...]> [ASC | DESC] [COUNT \
                 count [ANY]] [STOREDIST]",
        arguments: &[
            ("operation", Name("from")),
            ("operation", Optional),
            ("operation", Name("by")),
            ("BYRADIUS", TokenInside),
            ("BYRADIUS", Name("circle")),
            ("BYBOX", TokenInside),
            ("BYBOX", Name("box")),
            ("BYPOLYGON", TokenInside),
            ("BYPOLYGON", Name("polygon")),
            ("BYPOLYGON", Since("9.0.0")),
            ("longitude-latitude", Name("vertices")),
            ("count-any", Name("count-block")),
        ],
        complexity: "O(N+log M), N members near the place, M members of the set",
        history: &[("7.0.0", "Units in upper case."), ("9.0.0", "BYPOLYGON.")],
        ..row("GEOSEARCHSTORE", -8, WRITE, "6.2.0", search::geosearchstore)
    },
];

/// Key specifications of a search that may store its result; its options begin at `options_at`.
const fn around(options_at: i16) -> [KeySpec; 3] {
    let flags = SETS.union(KeyFlags::VARIABLE);
    [
        KeySpec::one(READS),
        KeySpec::keyword("STORE", options_at, flags),
        KeySpec::keyword("STOREDIST", options_at, flags),
    ]
}

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::Geo, name, arity, flags, since, run)
}
