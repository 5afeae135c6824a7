//! Row of the table: everything that describes a setting.

use std::ops::RangeInclusive;

/// Notation of a number in files and commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// A plain decimal number.
    Integer,
    /// A number of bytes, with an optional unit: `1024`, `1kb`, `64mb`, `2gb`.
    Memory,
    /// A number of bytes like `Memory`, or a percentage of `maxmemory`, which is kept as a negative
    /// number.
    MemoryOrPercent,
    /// A number of bytes like `Memory`, or a negative number.
    SignedMemory,
    /// An octal number, as file permissions are written.
    Octal,
}

/// Kind of the value of a setting.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `yes` or `no`.
    YesNo {
        /// Value at start.
        default: bool,
    },
    /// A number within a range.
    Number {
        /// Notation in files and commands.
        notation: Notation,
        /// Smallest accepted value.
        min: i128,
        /// Largest accepted value.
        max: i128,
        /// Value at start.
        default: i128,
        /// Accepted values outside this range are moved to its nearest end.
        clamp: Option<(i128, i128)>,
    },
    /// One of several names; the value is the position in the list.
    OneOf {
        /// The names, lower case.
        names: &'static [&'static str],
        /// Position of the value at start.
        default: usize,
    },
    /// Any of several names; the value has one bit for each. The first name means "none".
    AnyOf {
        /// The names, lower case; `names[0]` stands for no bit, `names[n]` for bit `n - 1`.
        names: &'static [&'static str],
    },
    /// UTF-8 text in one word.
    Text {
        /// Value at start.
        default: &'static str,
    },
    /// Name of a file or a directory in the directory of `dir`.
    FileName {
        /// Value at start.
        default: &'static str,
        /// What it names, in messages.
        what: &'static str,
    },
    /// Address and port of a server, or nothing, which `no one` stands for; nothing at start.
    ServerOrNone,
    /// Any bytes in one word; empty at start.
    Bytes,
    /// Network addresses, one per word.
    Addresses {
        /// Value at start.
        default: &'static [&'static str],
        /// Most words accepted.
        count_max: usize,
    },
    /// Numbers from 0 to 100, one per word.
    Percentiles {
        /// Value at start.
        default: &'static [&'static str],
    },
    /// Whole numbers within a range, one per word, as many as the default has.
    Numbers {
        /// Value at start.
        default: &'static [&'static str],
        /// Smallest accepted number.
        min: i64,
        /// Largest accepted number.
        max: i64,
    },
    /// An existing directory; the working directory at start.
    Directory,
    /// Classes of keyspace notifications, a letter each.
    EventClasses,
    /// Hard limit, soft limit and seconds for each class of clients.
    OutputLimits,
    /// Pairs of seconds and changes.
    SavePoints,
    /// A setting of Valkey with the one value that is true of this server.
    Fixed {
        /// The true value; setting it again is accepted.
        value: &'static str,
        /// Reason why no other value is accepted.
        why: &'static str,
    },
}

/// Row of the table: one setting.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name in files and commands, lower case.
    pub name: &'static str,
    /// Second name under which older files know it; empty if there is none.
    pub alias: &'static str,
    /// Kind of its value.
    pub kind: Kind,
    /// True if it can change while the server runs.
    pub live: bool,
    /// True if CONFIG GET returns it only when named exactly.
    pub hidden: bool,
    /// True if CONFIG SET is refused unless `enable-protected-configs` allows it.
    pub protected: bool,
    /// True if the value is a secret that logs and monitors must not show.
    pub sensitive: bool,
    /// True if setting the value that it has applies it again: what it names may have changed.
    pub reapplied: bool,
    /// True if CONFIG SET is refused while data is loaded, beside what clients read too.
    pub fixed_while_loading: bool,
    /// One line for the manual, with the unit.
    pub doc: &'static str,
    /// Reason why the value, which is accepted and kept, has no effect; empty if it has one.
    pub idle_because: &'static str,
}

impl Row {
    /// Returns true if the value may have several words.
    pub const fn takes_words(&self) -> bool {
        match self.kind {
            Kind::AnyOf { .. }
            | Kind::Addresses { .. }
            | Kind::Percentiles { .. }
            | Kind::Numbers { .. }
            | Kind::OutputLimits
            | Kind::SavePoints
            | Kind::ServerOrNone => true,
            // Some of these are lists in Valkey, and files give them several words.
            Kind::Fixed { .. } => true,
            _ => false,
        }
    }

    /// Returns a line for the log if the value has no effect.
    pub fn idle_note(&self) -> Option<String> {
        let because = self.idle_because;
        (!because.is_empty()).then(|| format!("`{}` has no effect: {because}", self.name))
    }

    /// Makes the setting changeable at start only.
    pub(crate) const fn at_start(mut self) -> Row {
        self.live = false;
        self
    }

    pub(crate) const fn alias(mut self, alias: &'static str) -> Row {
        self.alias = alias;
        self
    }

    pub(crate) const fn hidden(mut self) -> Row {
        self.hidden = true;
        self
    }

    pub(crate) const fn protected(mut self) -> Row {
        self.protected = true;
        self
    }

    pub(crate) const fn sensitive(mut self) -> Row {
        self.sensitive = true;
        self
    }

    /// Has CONFIG SET apply the value again if it is that in force.
    pub(crate) const fn reapplied(mut self) -> Row {
        self.reapplied = true;
        self
    }

    /// Has CONFIG SET refused while data is loaded.
    pub(crate) const fn fixed_while_loading(mut self) -> Row {
        self.fixed_while_loading = true;
        self
    }

    /// Marks the value as accepted and kept, but without effect.
    pub(crate) const fn idle(mut self, because: &'static str) -> Row {
        self.idle_because = because;
        self
    }

    /// Moves accepted numbers outside the range to its nearest end.
    pub(crate) const fn clamped(mut self, low: i128, high: i128) -> Row {
        if let Kind::Number { notation, min, max, default, .. } = self.kind {
            self.kind = Kind::Number { notation, min, max, default, clamp: Some((low, high)) };
        }
        self
    }
}

const fn row(name: &'static str, kind: Kind, doc: &'static str) -> Row {
    Row {
        name,
        alias: "",
        kind,
        live: true,
        hidden: false,
        protected: false,
        sensitive: false,
        reapplied: false,
        fixed_while_loading: false,
        doc,
        idle_because: "",
    }
}

pub(crate) const fn yes_no(name: &'static str, default: bool, doc: &'static str) -> Row {
    row(name, Kind::YesNo { default }, doc)
}

const fn number(
    name: &'static str,
    notation: Notation,
    range: RangeInclusive<i128>,
    default: i128,
    doc: &'static str,
) -> Row {
    let (min, max) = (*range.start(), *range.end());
    row(name, Kind::Number { notation, min, max, default, clamp: None }, doc)
}

pub(crate) const fn integer(
    name: &'static str,
    range: RangeInclusive<i128>,
    default: i128,
    doc: &'static str,
) -> Row {
    number(name, Notation::Integer, range, default, doc)
}

pub(crate) const fn memory(
    name: &'static str,
    range: RangeInclusive<i128>,
    default: i128,
    doc: &'static str,
) -> Row {
    number(name, Notation::Memory, range, default, doc)
}

pub(crate) const fn memory_or_percent(
    name: &'static str,
    range: RangeInclusive<i128>,
    default: i128,
    doc: &'static str,
) -> Row {
    number(name, Notation::MemoryOrPercent, range, default, doc)
}

pub(crate) const fn signed_memory(
    name: &'static str,
    range: RangeInclusive<i128>,
    default: i128,
    doc: &'static str,
) -> Row {
    number(name, Notation::SignedMemory, range, default, doc)
}

pub(crate) const fn octal(
    name: &'static str,
    range: RangeInclusive<i128>,
    default: i128,
    doc: &'static str,
) -> Row {
    number(name, Notation::Octal, range, default, doc)
}

pub(crate) const fn one_of(
    name: &'static str,
    names: &'static [&'static str],
    default: usize,
    doc: &'static str,
) -> Row {
    row(name, Kind::OneOf { names, default }, doc)
}

pub(crate) const fn any_of(
    name: &'static str,
    names: &'static [&'static str],
    doc: &'static str,
) -> Row {
    row(name, Kind::AnyOf { names }, doc)
}

pub(crate) const fn text(name: &'static str, default: &'static str, doc: &'static str) -> Row {
    row(name, Kind::Text { default }, doc)
}

pub(crate) const fn file_name(name: &'static str, default: &'static str, doc: &'static str) -> Row {
    row(name, Kind::FileName { default, what: "filename" }, doc)
}

pub(crate) const fn directory_name(
    name: &'static str,
    default: &'static str,
    doc: &'static str,
) -> Row {
    row(name, Kind::FileName { default, what: "dirname" }, doc)
}

pub(crate) const fn bytes(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::Bytes, doc)
}

pub(crate) const fn addresses(
    name: &'static str,
    default: &'static [&'static str],
    count_max: usize,
    doc: &'static str,
) -> Row {
    row(name, Kind::Addresses { default, count_max }, doc)
}

pub(crate) const fn server_or_none(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::ServerOrNone, doc)
}

pub(crate) const fn percentiles(
    name: &'static str,
    default: &'static [&'static str],
    doc: &'static str,
) -> Row {
    row(name, Kind::Percentiles { default }, doc)
}

pub(crate) const fn numbers(
    name: &'static str,
    range: RangeInclusive<i64>,
    default: &'static [&'static str],
    doc: &'static str,
) -> Row {
    let (min, max) = (*range.start(), *range.end());
    row(name, Kind::Numbers { default, min, max }, doc)
}

pub(crate) const fn directory(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::Directory, doc)
}

pub(crate) const fn event_classes(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::EventClasses, doc)
}

pub(crate) const fn output_limits(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::OutputLimits, doc)
}

pub(crate) const fn save_points(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::SavePoints, doc)
}

pub(crate) const fn fixed(name: &'static str, value: &'static str, why: &'static str) -> Row {
    row(name, Kind::Fixed { value, why }, why)
}
