//! Servers that can read a file: what each server knows, compared with what the file asks for.

use std::collections::{BTreeMap, BTreeSet};

/// What a file asks of a server that reads it.
#[derive(Debug, Default)]
pub struct Asked {
    /// Version of the RDB part; zero if there is none.
    pub version: u16,
    /// True if states of slots of a cluster are in it.
    pub slots: bool,
    /// True if fields with deadlines are in it.
    pub timed_fields: bool,
    /// True if function libraries are in it.
    pub functions: bool,
    /// True if streams with a wrong number of entries are in it.
    pub miscounted: bool,
    /// Highest number of a database that is selected.
    pub database: Option<u64>,
    /// Types of modules.
    pub modules: BTreeSet<String>,
    /// Names of commands, in capitals, and how often they stand there.
    pub commands: BTreeMap<String, u64>,
    /// Words of SET that came late, in capitals.
    pub words: BTreeSet<&'static str>,
    /// True if lines that begin with `#` are in it.
    pub lines: bool,
    /// True if it is a directory with a manifest.
    pub manifest: bool,
    /// True if commands follow an RDB part.
    pub preamble: bool,
}

impl Asked {
    /// Notes that a database is selected.
    pub fn ask_database(&mut self, number: u64) {
        self.database = self.database.max(Some(number));
    }
}

/// Whose versions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Redis.
    Redis,
    /// Valkey.
    Valkey,
    /// This server.
    Varve,
}

/// A server that may read files.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    /// Its name on the command line.
    pub name: &'static str,
    maker: Maker,
    /// Its version: major and minor.
    version: (u8, u8),
    /// Highest RDB version in Redis's count.
    rdb: u16,
    /// Highest RDB version of Valkey's own.
    valkey_rdb: Option<u16>,
}

const fn redis(name: &'static str, version: (u8, u8), rdb: u16) -> Server {
    Server { name, maker: Maker::Redis, version, rdb, valkey_rdb: None }
}

const fn valkey(name: &'static str, version: (u8, u8), valkey_rdb: Option<u16>) -> Server {
    Server { name, maker: Maker::Valkey, version, rdb: 11, valkey_rdb }
}

/// All servers, by maker and age.
pub const SERVERS: &[Server] = &[
    redis("redis-2.8", (2, 8), 6),
    redis("redis-3.2", (3, 2), 7),
    redis("redis-4.0", (4, 0), 8),
    redis("redis-5.0", (5, 0), 9),
    redis("redis-6.2", (6, 2), 9),
    redis("redis-7.0", (7, 0), 10),
    redis("redis-7.2", (7, 2), 11),
    redis("redis-7.4", (7, 4), 12),
    redis("redis-8.0", (8, 0), 12),
    valkey("valkey-7.2", (7, 2), None),
    valkey("valkey-8.0", (8, 0), None),
    valkey("valkey-8.1", (8, 1), None),
    valkey("valkey-9.0", (9, 0), Some(80)),
    valkey("valkey-9.1", (9, 1), Some(80)),
    Server { name: "varve", maker: Maker::Varve, version: (9, 1), rdb: 13, valkey_rdb: Some(81) },
];

/// First versions of Redis and of Valkey that know something; `None` for never.
#[derive(Clone, Copy, Debug)]
struct Since {
    redis: Option<(u8, u8)>,
    valkey: Option<(u8, u8)>,
}

const fn since(redis: (u8, u8), valkey: (u8, u8)) -> Since {
    Since { redis: Some(redis), valkey: Some(valkey) }
}

const fn redis_only(redis: (u8, u8)) -> Since {
    Since { redis: Some(redis), valkey: None }
}

const fn both(redis: (u8, u8)) -> Since {
    since(redis, (7, 2))
}

/// Commands that change data and are younger than Redis 2.8.
const COMMANDS: &[(&str, Since)] = &[
    ("PFADD", both((2, 8))),
    ("PFMERGE", both((2, 8))),
    ("GEOADD", both((3, 2))),
    ("GEORADIUS", both((3, 2))),
    ("BITFIELD", both((3, 2))),
    ("UNLINK", both((4, 0))),
    ("SWAPDB", both((4, 0))),
    ("XADD", both((5, 0))),
    ("XDEL", both((5, 0))),
    ("XTRIM", both((5, 0))),
    ("XGROUP", both((5, 0))),
    ("XACK", both((5, 0))),
    ("XCLAIM", both((5, 0))),
    ("XSETID", both((5, 0))),
    ("ZPOPMIN", both((5, 0))),
    ("ZPOPMAX", both((5, 0))),
    ("COPY", both((6, 2))),
    ("LMOVE", both((6, 2))),
    ("GETDEL", both((6, 2))),
    ("GETEX", both((6, 2))),
    ("ZRANGESTORE", both((6, 2))),
    ("ZDIFFSTORE", both((6, 2))),
    ("GEOSEARCHSTORE", both((6, 2))),
    ("XAUTOCLAIM", both((6, 2))),
    ("LMPOP", both((7, 0))),
    ("ZMPOP", both((7, 0))),
    ("FUNCTION", both((7, 0))),
    ("FCALL", both((7, 0))),
    ("HEXPIRE", since((7, 4), (9, 0))),
    ("HPEXPIRE", since((7, 4), (9, 0))),
    ("HEXPIREAT", since((7, 4), (9, 0))),
    ("HPEXPIREAT", since((7, 4), (9, 0))),
    ("HPERSIST", since((7, 4), (9, 0))),
    ("HSETEX", since((8, 0), (9, 0))),
    ("HGETEX", since((8, 0), (9, 0))),
    ("HGETDEL", since((8, 0), (9, 1))),
    ("DELIFEQ", Since { redis: None, valkey: Some((9, 0)) }),
    ("MSETEX", since((8, 4), (9, 1))),
    ("DELEX", redis_only((8, 4))),
    ("XDELEX", redis_only((8, 2))),
    ("XACKDEL", redis_only((8, 2))),
    ("VADD", redis_only((8, 0))),
    ("VREM", redis_only((8, 0))),
    ("VSETATTR", redis_only((8, 0))),
];

/// Words of SET that came later than the command.
pub const SET_WORDS: &[&str] = &["PXAT", "EXAT", "KEEPTTL", "IFEQ"];

fn since_of_word(word: &str) -> Since {
    match word {
        "IFEQ" => since((8, 4), (8, 1)),
        "KEEPTTL" => both((6, 0)),
        _ => both((6, 2)),
    }
}

/// The server of a name; the last of a major version stands for it.
pub fn find(name: &str) -> Option<&'static Server> {
    let is_it = |server: &&Server| {
        let rest = server.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    SERVERS.iter().rfind(is_it)
}

impl Server {
    fn knows(&self, since: Since) -> bool {
        match self.maker {
            Maker::Redis => since.redis.is_some_and(|it| it <= self.version),
            Maker::Valkey | Maker::Varve => since.valkey.is_some_and(|it| it <= self.version),
        }
    }

    /// Reasons why it cannot read a file, and what it would have to have; empty if it can.
    pub fn obstacles(&self, asked: &Asked) -> Vec<String> {
        let mut found = Vec::new();
        self.about_files(asked, &mut found);
        self.about_rdb(asked, &mut found);
        self.about_commands(asked, &mut found);
        found
    }

    fn about_files(&self, asked: &Asked, found: &mut Vec<String>) {
        if asked.manifest && !self.knows(both((7, 0))) {
            found.push("it knows no directory of append-only files".to_owned());
        }
        if asked.lines && !self.knows(both((7, 0))) {
            found.push("it knows no lines that begin with #".to_owned());
        }
        if asked.preamble && !self.knows(both((4, 0))) {
            found.push("it reads no RDB part before commands".to_owned());
        }
    }

    fn about_rdb(&self, asked: &Asked, found: &mut Vec<String>) {
        let version = asked.version;
        let own = self.valkey_rdb.is_some_and(|own| (80..=own).contains(&version));
        if version > self.rdb && !own {
            let own = self.valkey_rdb.map_or(String::new(), |own| format!(", and {own}"));
            found.push(format!("RDB version {version}: it reads up to {}{own}", self.rdb));
        } else if asked.timed_fields && !self.knows(since((7, 4), (9, 0))) {
            found.push("it knows no deadlines of fields".to_owned());
        }
        if asked.miscounted && self.counts_entries() {
            found.push("streams with a wrong number of entries".to_owned());
        }
        if asked.slots && !self.knows(since((7, 4), (8, 0))) {
            found.push("it knows no states of slots".to_owned());
        }
        if self.maker == Maker::Varve && !asked.modules.is_empty() {
            let names: Vec<&str> = asked.modules.iter().map(String::as_str).collect();
            found.push(format!("data of modules: {}", names.join(", ")));
        } else {
            let names = asked.modules.iter();
            found.extend(names.map(|name| format!("the module with type {name} must be loaded")));
        }
    }

    /// True if it refuses streams with a wrong number of entries.
    fn counts_entries(&self) -> bool {
        match self.maker {
            Maker::Varve => true,
            Maker::Valkey => self.version >= (9, 1),
            Maker::Redis => false,
        }
    }

    fn about_commands(&self, asked: &Asked, found: &mut Vec<String>) {
        let mut unknown = Vec::new();
        for (name, count) in &asked.commands {
            let row = COMMANDS.iter().find(|(known, _)| known == name);
            let is_of_a_module = name.contains('.');
            let is_missing = self.maker == Maker::Varve && is_of_a_module;
            if is_missing || row.is_some_and(|(_, since)| !self.knows(*since)) {
                unknown.push(format!("{name} ({count})"));
            } else if is_of_a_module {
                found.push(format!("the module with {name} must be loaded"));
            }
        }
        let words = asked.words.iter().filter(|word| !self.knows(since_of_word(word)));
        unknown.extend(words.map(|word| format!("SET .. {word}")));
        if !unknown.is_empty() {
            found.push(format!("commands that it does not know: {}", unknown.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn can_read(asked: &Asked) -> Vec<&'static str> {
        let servers = SERVERS.iter().filter(|it| it.obstacles(asked).is_empty());
        servers.map(|server| server.name).collect()
    }

    #[test]
    fn a_file_of_valkey_9_is_for_valkey_9_and_one_of_redis_8_for_redis() {
        let of = |version| can_read(&Asked { version, ..Asked::default() });
        assert_eq!(of(80), ["valkey-9.0", "valkey-9.1", "varve"]);
        assert_eq!(of(12), ["redis-7.4", "redis-8.0", "varve"]);
        assert_eq!(of(6).len(), SERVERS.len());
        assert_eq!(of(50), [""; 0]);
    }

    #[test]
    fn commands_are_known_from_some_version_on() {
        let commands = BTreeMap::from([("HPEXPIREAT".to_owned(), 3), ("SET".to_owned(), 1)]);
        let asked = Asked { commands, ..Asked::default() };
        assert_eq!(
            can_read(&asked),
            ["redis-7.4", "redis-8.0", "valkey-9.0", "valkey-9.1", "varve"]
        );
        let older = find("redis-7.2").expect("a server").obstacles(&asked);
        assert_eq!(older, ["commands that it does not know: HPEXPIREAT (3)"]);
    }

    #[test]
    fn a_server_is_found_by_its_name_or_its_major_version() {
        assert_eq!(find("valkey-9").expect("the last").name, "valkey-9.1");
        assert_eq!(find("valkey-9.0").expect("this one").name, "valkey-9.0");
        assert_eq!(find("varve").expect("this one").name, "varve");
        assert!(find("redis-9").is_none() && find("redi").is_none());
    }

    #[test]
    fn modules_must_be_loaded_and_are_never_here() {
        let asked = Asked { modules: ["vectorset".to_owned()].into(), ..Asked::default() };
        assert!(can_read(&asked).is_empty());
    }
}
