//! Commands, one for each word that a line may begin with.

/// Command of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// Reads items: `get KEY...`.
    Get,
    /// Reads items with their CAS values: `gets KEY...`.
    Gets,
    /// Reads items and sets their expiry: `gat EXPIRY KEY...`.
    Gat,
    /// Reads items with their CAS values and sets their expiry: `gats EXPIRY KEY...`.
    Gats,
    /// Stores an item: `set KEY FLAGS EXPIRY LENGTH`, a block.
    Set,
    /// Stores an item under a key that has none.
    Add,
    /// Stores an item under a key that has one.
    Replace,
    /// Adds bytes behind those of an item.
    Append,
    /// Adds bytes before those of an item.
    Prepend,
    /// Stores an item if its CAS value is still this: `cas KEY FLAGS EXPIRY LENGTH CAS`, a block.
    Cas,
    /// Sets the expiry of an item: `touch KEY EXPIRY`.
    Touch,
    /// Deletes an item: `delete KEY`.
    Delete,
    /// Adds to a number: `incr KEY DELTA`.
    Increment,
    /// Subtracts from a number, not below 0: `decr KEY DELTA`.
    Decrement,
    /// Deletes all items, or will: `flush_all [DELAY]`.
    FlushAll,
    /// Statistics: `stats [NAME [ARGUMENT...]]`.
    Stats,
    /// Version of the server.
    Version,
    /// Sets how much is logged: `verbosity LEVEL`.
    Verbosity,
    /// Sets the memory for items: `cache_memlimit MEGABYTES`.
    CacheMemlimit,
    /// Closes the connection.
    Quit,
    /// Lists keys with what is known of each: `lru_crawler metadump CLASSES`.
    Metadump,
    /// Lists keys as requests that read them: `lru_crawler mgdump CLASSES`.
    Mgdump,
    /// Meta get: `mg KEY FLAG...`.
    MetaGet,
    /// Meta set: `ms KEY LENGTH FLAG...`, a block.
    MetaSet,
    /// Meta delete: `md KEY FLAG...`.
    MetaDelete,
    /// Meta arithmetic: `ma KEY FLAG...`.
    MetaArithmetic,
    /// Meta debug: `me KEY`.
    MetaDebug,
    /// Meta no-op, which ends a pipeline: `mn`.
    MetaNoop,
    /// The `set` of a connection that has not authenticated yet, whose block holds a user's name,
    /// a blank and a password.
    Authenticate,
}

impl Command {
    /// All commands.
    pub const ALL: [Command; 29] = [
        Command::Get,
        Command::Gets,
        Command::Gat,
        Command::Gats,
        Command::Set,
        Command::Add,
        Command::Replace,
        Command::Append,
        Command::Prepend,
        Command::Cas,
        Command::Touch,
        Command::Delete,
        Command::Increment,
        Command::Decrement,
        Command::FlushAll,
        Command::Stats,
        Command::Version,
        Command::Verbosity,
        Command::CacheMemlimit,
        Command::Quit,
        Command::Metadump,
        Command::Mgdump,
        Command::MetaGet,
        Command::MetaSet,
        Command::MetaDelete,
        Command::MetaArithmetic,
        Command::MetaDebug,
        Command::MetaNoop,
        Command::Authenticate,
    ];

    /// Returns its name: the word that its lines begin with, and for the two dumps the second one.
    pub fn name(self) -> &'static str {
        match self {
            Command::Get => "get",
            Command::Gets => "gets",
            Command::Gat => "gat",
            Command::Gats => "gats",
            Command::Set => "set",
            Command::Add => "add",
            Command::Replace => "replace",
            Command::Append => "append",
            Command::Prepend => "prepend",
            Command::Cas => "cas",
            Command::Touch => "touch",
            Command::Delete => "delete",
            Command::Increment => "incr",
            Command::Decrement => "decr",
            Command::FlushAll => "flush_all",
            Command::Stats => "stats",
            Command::Version => "version",
            Command::Verbosity => "verbosity",
            Command::CacheMemlimit => "cache_memlimit",
            Command::Quit => "quit",
            Command::Metadump => "metadump",
            Command::Mgdump => "mgdump",
            Command::MetaGet => "mg",
            Command::MetaSet => "ms",
            Command::MetaDelete => "md",
            Command::MetaArithmetic => "ma",
            Command::MetaDebug => "me",
            Command::MetaNoop => "mn",
            Command::Authenticate => "authenticate",
        }
    }

    /// Returns the command whose lines begin with `word`, if the word alone tells it.
    #[inline]
    pub(crate) fn of_word(word: &[u8]) -> Option<Command> {
        Some(match word {
            b"get" => Command::Get,
            b"set" => Command::Set,
            b"mg" => Command::MetaGet,
            b"ms" => Command::MetaSet,
            b"md" => Command::MetaDelete,
            b"ma" => Command::MetaArithmetic,
            b"mn" => Command::MetaNoop,
            b"me" => Command::MetaDebug,
            b"gets" => Command::Gets,
            b"gat" => Command::Gat,
            b"gats" => Command::Gats,
            b"add" => Command::Add,
            b"cas" => Command::Cas,
            b"incr" => Command::Increment,
            b"decr" => Command::Decrement,
            b"quit" => Command::Quit,
            b"touch" => Command::Touch,
            b"stats" => Command::Stats,
            b"delete" => Command::Delete,
            b"append" => Command::Append,
            b"replace" => Command::Replace,
            b"prepend" => Command::Prepend,
            b"version" => Command::Version,
            b"flush_all" => Command::FlushAll,
            b"verbosity" => Command::Verbosity,
            b"cache_memlimit" => Command::CacheMemlimit,
            _ => return None,
        })
    }

    /// Returns true if Memcached takes its lines with blanks before the first word too.
    #[inline]
    pub(crate) fn may_be_indented(self) -> bool {
        matches!(self, Command::FlushAll | Command::Verbosity | Command::CacheMemlimit)
    }

    /// Returns the number of words before the first key of a line of keys; `None` for other
    /// commands.
    #[inline]
    pub fn words_before_keys(self) -> Option<usize> {
        match self {
            Command::Get | Command::Gets => Some(1),
            Command::Gat | Command::Gats => Some(2),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Command;
    use std::collections::HashSet;

    #[test]
    fn each_command_has_a_name_of_its_own_by_which_it_is_found() {
        let names: HashSet<&str> = Command::ALL.iter().map(|command| command.name()).collect();
        assert_eq!(names.len(), Command::ALL.len());
        for command in Command::ALL {
            let found = Command::of_word(command.name().as_bytes());
            let needs_more =
                matches!(command, Command::Metadump | Command::Mgdump | Command::Authenticate);
            assert_eq!(found, (!needs_more).then_some(command));
        }
    }
}
