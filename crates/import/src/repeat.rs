//! Which commands may be executed twice.
//!
//! A batch of which nobody knows how much was executed can be sent again as a whole where each of
//! its commands writes the same to the same place whatever stands there, or removes it: then the
//! last one that names a place decides, the second time as the first time.

use crate::note::behind_note;

/// What the commands of a batch do.
#[derive(Debug, Default)]
pub struct Repeat {
    /// True if keys are given deadlines, and true if elements are removed. Both together may end
    /// otherwise the second time: a collection that became empty, and so lost its deadline, does
    /// not become empty again where it has got elements since.
    gives_deadlines: bool,
    removes_elements: bool,
    /// The first command that may not be executed twice.
    obstacle: Option<Vec<u8>>,
}

impl Repeat {
    /// Adds a command.
    pub fn add(&mut self, words: &[&[u8]]) {
        if self.obstacle.is_some() {
            return;
        }
        let words = behind_note(words);
        let name = words.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
        self.gives_deadlines |= matches!(&name[..], b"EXPIREAT" | b"PEXPIREAT");
        // Fields whose deadline has come are removed at once.
        self.removes_elements |= matches!(&name[..], b"HDEL" | b"HPEXPIREAT" | b"SREM" | b"ZREM");
        let is_mixed = self.gives_deadlines && self.removes_elements;
        if is_mixed || !is_repeatable(&name, words) {
            self.obstacle = Some(words[..words.len().min(2)].join(&b' '));
        }
    }

    /// Name and key of the first command that may not be executed twice.
    pub fn obstacle(&self) -> Option<&[u8]> {
        self.obstacle.as_deref()
    }
}

fn is_repeatable(name: &[u8], words: &[&[u8]]) -> bool {
    match name {
        b"SELECT" | b"PING" | b"FLUSHALL" | b"FLUSHDB" => true,
        // It reads, or gives a string that is there what is noted.
        b"EXISTS" => true,
        b"DEL" | b"UNLINK" | b"MSET" | b"GETSET" | b"SETRANGE" | b"SETBIT" | b"PFADD" => true,
        b"HSET" | b"HMSET" | b"HDEL" | b"SADD" | b"SREM" | b"ZREM" | b"PERSIST" => true,
        b"EXPIREAT" | b"PEXPIREAT" => words.len() == 3,
        b"HPEXPIREAT" => word(words, 3).eq_ignore_ascii_case(b"FIELDS"),
        b"HPERSIST" => true,
        b"SET" => words[words.len().min(3)..].iter().all(|word| is_absolute(word)),
        // Words before the first score are conditions.
        b"ZADD" => is_number(word(words, 2)),
        b"GEOADD" => is_number(word(words, 2)),
        b"RESTORE" => {
            let has = |name: &[u8]| words.iter().skip(4).any(|it| it.eq_ignore_ascii_case(name));
            has(b"REPLACE") && (has(b"ABSTTL") || word(words, 2) == b"0")
        }
        _ => false,
    }
}

/// True for what may follow the value of SET: a point in time and the words around it.
fn is_absolute(word: &[u8]) -> bool {
    [&b"PXAT"[..], b"EXAT", b"KEEPTTL"].iter().any(|it| word.eq_ignore_ascii_case(it))
        || text::parse_u64(word).is_some()
}

fn word<'w>(words: &[&'w [u8]], at: usize) -> &'w [u8] {
    words.get(at).copied().unwrap_or_default()
}

fn is_number(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obstacle(commands: &[&str]) -> Option<String> {
        let mut repeat = Repeat::default();
        for command in commands {
            let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
            repeat.add(&words);
        }
        repeat.obstacle().map(|it| String::from_utf8_lossy(it).into_owned())
    }

    #[test]
    fn what_writes_the_same_to_the_same_place_may_be_repeated() {
        let all = [
            "SELECT 3",
            "set a 1",
            "SET a 1 PXAT 1900000000000",
            "SET a 1 KEEPTTL",
            "HSET h f v",
            "SADD s x y",
            "ZADD z 1.5 a inf b",
            "PEXPIREAT a 1900000000000",
            "RESTORE r 0 payload REPLACE",
            "VARVE.NOTED f5 SET a 1",
            "VARVE.NOTED s EXISTS a",
            "DEL a h s",
        ];
        assert_eq!(obstacle(&all), None);
    }

    #[test]
    fn what_depends_on_what_stands_there_may_not() {
        let all = [
            "INCR a",
            "RPUSH l x",
            "SET a 1 NX",
            "SET a 1 EX 100",
            "ZADD z GT 1 a",
            "PEXPIREAT a 1900000000000 GT",
            "HPEXPIREAT h 1900000000000 NX FIELDS 1 f",
            "RESTORE r 0 payload",
            "VARVE.NOTED f5 RESTORE r 0 payload",
            "VARVE.NOTED f5",
            "RENAME a b",
            "SUNIONSTORE a b c",
            "XADD x 1-1 f v",
            "",
        ];
        for command in all {
            assert!(obstacle(&["SET a 1", command, "LPOP l"]).is_some(), "{command}");
        }
        assert_eq!(obstacle(&["SET a 1", "INCR a", "LPOP l"]).as_deref(), Some("INCR a"));
    }

    #[test]
    fn elements_are_not_removed_again_from_what_may_have_a_deadline() {
        assert_eq!(obstacle(&["SADD s x", "SREM s x"]), None);
        let mixed = ["SADD s x", "PEXPIREAT s 1900000000000", "SREM s x", "SADD s y"];
        assert_eq!(obstacle(&mixed).as_deref(), Some("SREM s"));
    }
}
