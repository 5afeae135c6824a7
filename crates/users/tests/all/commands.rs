//! A small table of commands.

use users::{Catalog, CommandFacts, CommandId, Language};

pub const READ: u32 = 1;
pub const WRITE: u32 = 2;
pub const ADMIN: u32 = 4;

/// GET, SET, SELECT, PUBLISH, CONFIG with GET and SET, ACL with SETUSER, AUTH.
pub fn catalog() -> Catalog {
    let command =
        |name: &str, categories, parent| CommandFacts { name: name.into(), categories, parent };
    let commands = vec![
        command("get", READ, None),
        command("set", WRITE, None),
        command("select", 0, None),
        command("publish", 0, None),
        command("config", 0, None),
        command("config|get", ADMIN, Some(4)),
        command("config|set", ADMIN | WRITE, Some(4)),
        command("acl", 0, None),
        command("acl|setuser", ADMIN, Some(7)),
        command("auth", 0, None),
    ];
    Catalog::new(commands, vec![("read", READ), ("write", WRITE), ("admin", ADMIN)])
}

/// The number of a command.
pub fn id(catalog: &Catalog, name: &str) -> CommandId {
    catalog.find(name.as_bytes()).expect("it is there")
}

/// Rules for servers that open no channels.
pub fn language(catalog: &Catalog) -> Language<'_> {
    Language { catalog, opens_channels: false }
}
