//! Documentation of the conditions of CLIENT KILL and CLIENT LIST.

use command::ArgumentFact::{DeprecatedSince, Display, Name, PartsOptional, Since};
use command::{ArgumentFact, ArgumentFacts};

/// Syntax of KILL.
pub(super) const KILL: &str = "<ip:port | <ID client-id [client-id ...] | TYPE <NORMAL | MASTER | \
     PRIMARY | SLAVE | REPLICA | PUBSUB> | USER username | ADDR ip:port | \
     LADDR ip:port | SKIPME <YES | NO> | MAXAGE maxage | NAME name | IDLE \
     idle | FLAGS flags | LIB-NAME lib-name | LIB-VER lib-ver | DB db | \
     CAPA capa | IP ip | NOT-TYPE <NORMAL | MASTER | PRIMARY | SLAVE | \
     REPLICA | PUBSUB> | NOT-ID client-id [client-id ...] | NOT-USER \
     username | NOT-ADDR ip:port | NOT-LADDR ip:port | NOT-NAME name | \
     NOT-FLAGS flags | NOT-LIB-NAME lib-name | NOT-LIB-VER lib-ver | NOT-DB \
     db | NOT-CAPA capa | NOT-IP ip ...>>";

/// Syntax of LIST.
pub(super) const LIST: &str = "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] \
     [ID client-id [client-id ...]] [USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME <YES | \
     NO>] [MAXAGE maxage] [NAME name] [IDLE idle] [FLAGS flags] [LIB-NAME \
     lib-name] [LIB-VER lib-ver] [DB db] [CAPA capa] [IP ip] [NOT-TYPE \
     <NORMAL | MASTER | REPLICA | PUBSUB>] [NOT-ID client-id [client-id \
     ...]] [NOT-USER username] [NOT-ADDR ip:port] [NOT-LADDR ip:port] \
     [NOT-NAME name] [NOT-FLAGS flags] [NOT-LIB-NAME lib-name] [NOT-LIB-VER \
     lib-ver] [NOT-DB db] [NOT-CAPA capa] [NOT-IP ip]";

/// Arguments of KILL.
pub(super) const ARGUMENTS_OF_KILL: ArgumentFacts =
    &with_shared::<{ ONLY_OF_KILL.len() + SHARED.len() }>(ONLY_OF_KILL);

/// Arguments of LIST.
pub(super) const ARGUMENTS_OF_LIST: ArgumentFacts =
    &with_shared::<{ ONLY_OF_LIST.len() + SHARED.len() }>(ONLY_OF_LIST);

const ONLY_OF_KILL: ArgumentFacts = &[
    ("choice", Name("filter")),
    ("ip:port", Name("old-format")),
    ("ip:port", Display("ip:port")),
    ("ip:port", DeprecatedSince("2.8.12")),
    ("operation", Name("new-format")),
    ("operation", PartsOptional),
    ("ID", Since("2.8.12")),
    ("TYPE", Name("client-type")),
    ("TYPE", Since("2.8.12")),
    ("MASTER", Since("3.2.0")),
    ("PRIMARY", Since("8.0.0")),
    ("REPLICA", Since("5.0.0")),
    ("ADDR", Name("addr")),
    ("ADDR", Display("ip:port")),
    ("LADDR", Name("laddr")),
    ("LADDR", Display("ip:port")),
    ("LADDR", Since("6.2.0")),
    ("MAXAGE", Since("8.0.0")),
];

const ONLY_OF_LIST: ArgumentFacts = &[
    ("TYPE", Name("client-type")),
    ("TYPE", Since("5.0.0")),
    ("ID", Since("6.2.0")),
    ("USER", Since("8.1.0")),
    ("ADDR", Name("addr")),
    ("ADDR", Display("ip:port")),
    ("ADDR", Since("8.1.0")),
    ("LADDR", Name("laddr")),
    ("LADDR", Display("ip:port")),
    ("LADDR", Since("8.1.0")),
    ("SKIPME", Since("8.1.0")),
    ("MAXAGE", Since("8.1.0")),
];

/// Arguments that are the same in both.
const SHARED: ArgumentFacts = &[
    ("NAME", Since("9.0.0")),
    ("IDLE", Since("9.0.0")),
    ("FLAGS", Since("9.0.0")),
    ("LIB-NAME", Since("9.0.0")),
    ("LIB-VER", Since("9.0.0")),
    ("DB", Since("9.0.0")),
    ("CAPA", Since("9.0.0")),
    ("IP", Since("9.0.0")),
    ("NOT-TYPE", Name("not-client-type")),
    ("NOT-TYPE", Since("9.0.0")),
    ("NOT-ID", Name("not-client-id")),
    ("NOT-ID", Since("9.0.0")),
    ("NOT-USER", Name("not-username")),
    ("NOT-USER", Since("9.0.0")),
    ("NOT-ADDR", Name("not-addr")),
    ("NOT-ADDR", Display("ip:port")),
    ("NOT-ADDR", Since("9.0.0")),
    ("NOT-LADDR", Name("not-laddr")),
    ("NOT-LADDR", Display("ip:port")),
    ("NOT-LADDR", Since("9.0.0")),
    ("NOT-NAME", Name("not-name")),
    ("NOT-NAME", Since("9.0.0")),
    ("NOT-FLAGS", Name("not-flags")),
    ("NOT-FLAGS", Since("9.0.0")),
    ("NOT-LIB-NAME", Name("not-lib-name")),
    ("NOT-LIB-NAME", Since("9.0.0")),
    ("NOT-LIB-VER", Name("not-lib-ver")),
    ("NOT-LIB-VER", Since("9.0.0")),
    ("NOT-DB", Name("not-db")),
    ("NOT-DB", Since("9.0.0")),
    ("NOT-CAPA", Name("not-capa")),
    ("NOT-CAPA", Since("9.0.0")),
    ("NOT-IP", Name("not-ip")),
    ("NOT-IP", Since("9.0.0")),
];

/// Returns the arguments of one command, those that both share last.
const fn with_shared<const COUNT: usize>(
    own: ArgumentFacts,
) -> [(&'static str, ArgumentFact); COUNT] {
    let mut all = [SHARED[0]; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = if at < own.len() { own[at] } else { SHARED[at - own.len()] };
        at += 1;
    }
    all
}

/// Changes of KILL.
pub(super) const HISTORY_OF_KILL: &[(&str, &str)] = &[
    ("2.8.12", "Conditions."),
    ("2.8.12", "ID."),
    ("3.2.0", "TYPE MASTER."),
    ("5.0.0", "TYPE REPLICA, the same as SLAVE."),
    ("6.2.0", "LADDR."),
    ("8.0.0", "TYPE PRIMARY, the same as MASTER."),
    ("8.0.0", "MAXAGE."),
    ("8.1.0", "Several ids behind ID."),
    ("9.0.0", "NAME, IDLE, FLAGS, LIB-NAME, LIB-VER, DB, CAPA, IP, and the conditions with NOT."),
];

/// Changes of LIST.
pub(super) const HISTORY_OF_LIST: &[(&str, &str)] = &[
    ("2.8.12", "The field id."),
    ("5.0.0", "TYPE."),
    ("6.0.0", "The field user."),
    ("6.2.0", "ID, and the fields argv-mem, tot-mem, laddr and redir."),
    ("7.0.0", "The fields resp, multi-mem, rbs and rbp."),
    ("7.0.3", "The field ssub."),
    ("8.0.0", "TYPE PRIMARY, the same as MASTER."),
    ("8.1.0", "USER, ADDR, LADDR, SKIPME and MAXAGE."),
    ("9.0.0", "NAME, IDLE, FLAGS, LIB-NAME, LIB-VER, DB, CAPA, IP, and the conditions with NOT."),
];
