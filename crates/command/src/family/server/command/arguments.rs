//! COMMAND DOCS: summary and arguments of a command, from the tree of its syntax.

use crate::call::Row;
use crate::syntax::{Node, parse};
use wire::Reply;

/// An argument as COMMAND DOCS describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    name: String,
    kind: &'static str,
    token: Option<&'static str>,
    /// Index of the key specification that finds it.
    key_spec: Option<usize>,
    optional: bool,
    multiple: bool,
    /// True if its token is repeated with it.
    repeats_token: bool,
    /// Parts of a block, or alternatives.
    arguments: Vec<Argument>,
}

/// Names of arguments that are keys, if the row has keys.
const KEYS: [&str; 8] =
    ["key", "key1", "key2", "newkey", "destkey", "source", "sourcekey", "destination"];
const INTEGERS: [&str; 28] = [
    "bit",
    "client-id",
    "count",
    "cursor",
    "db",
    "decrement",
    "destination-db",
    "end",
    "id",
    "increment",
    "index",
    "index1",
    "index2",
    "maxage",
    "milliseconds",
    "min-match-len",
    "numkeys",
    "offset",
    "port",
    "protover",
    "samples",
    "seconds",
    "size",
    "start",
    "stop",
    "threshold",
    "timeout",
    "numreplicas",
];

/// Writes the map of one command, with its subcommands.
pub(super) fn write_docs(reply: &mut Reply<'_>, row: &'static Row) {
    let (arguments, children) = (arguments(row), row.children());
    let has_arguments = !arguments.is_empty() && children.is_empty();
    let texts = [
        ("summary", row.spec.summary),
        ("since", row.spec.since),
        ("group", row.spec.group.name()),
        ("complexity", row.spec.complexity),
    ];
    let told = texts.iter().filter(|(_, value)| !value.is_empty());
    let parts = usize::from(has_arguments) + usize::from(!children.is_empty());
    reply.map(told.clone().count() + parts);
    for (name, value) in told {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    if has_arguments {
        reply.bulk(b"arguments");
        write_arguments(reply, &arguments);
    }
    if !children.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(children.len());
        for child in children {
            reply.bulk(child.full_name.as_bytes());
            write_docs(reply, child);
        }
    }
}

fn write_arguments(reply: &mut Reply<'_>, arguments: &[Argument]) {
    reply.array(arguments.len());
    arguments.iter().for_each(|argument| write_argument(reply, argument));
}

fn write_argument(reply: &mut Reply<'_>, argument: &Argument) {
    let is_nested = !argument.arguments.is_empty();
    let has_flags = argument.optional || argument.multiple;
    let optional_fields = [argument.key_spec.is_some(), argument.token.is_some(), has_flags];
    reply.map(3 + optional_fields.iter().filter(|is_there| **is_there).count());
    let mut field = |name: &str, value: &str| {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    };
    field("name", &argument.name);
    field("type", argument.kind);
    if !is_nested {
        field("display_text", &argument.name);
    }
    if let Some(token) = argument.token {
        field("token", token);
    }
    if let Some(spec) = argument.key_spec {
        reply.bulk(b"key_spec_index");
        reply.integer(spec as i64);
    }
    if has_flags {
        reply.bulk(b"flags");
        let mark = reply.deferred_set();
        let flags = [
            ("optional", argument.optional),
            ("multiple", argument.multiple),
            ("multiple_token", argument.repeats_token),
        ];
        let set = flags.iter().filter(|(_, is_set)| *is_set);
        let count = set.map(|(name, _)| reply.simple(name)).count();
        reply.close_set(mark, count);
    }
    if is_nested {
        reply.bulk(b"arguments");
        write_arguments(reply, &argument.arguments);
    }
}

/// Returns the arguments of a row.
pub(super) fn arguments(row: &Row) -> Vec<Argument> {
    let mut arguments = Reader { row, keys: 0 }.sequence(&parse(row.spec.syntax));
    rename_groups(row, &mut arguments);
    keep_names_apart(&mut arguments);
    arguments
}

/// Gives groups the names that the row has for them.
fn rename_groups(row: &Row, arguments: &mut [Argument]) {
    for argument in arguments.iter_mut().filter(|it| !it.arguments.is_empty()) {
        let given = row.spec.group_names.iter().find(|(name, _)| *name == argument.name);
        if let Some((_, name)) = given {
            argument.name = (*name).to_owned();
        }
        rename_groups(row, &mut argument.arguments);
    }
}

/// State of describing the arguments of a row.
struct Reader<'r> {
    row: &'r Row,
    /// Number of keys that have been described.
    keys: usize,
}

impl Reader<'_> {
    fn sequence(&mut self, nodes: &[Node]) -> Vec<Argument> {
        let mut arguments = Vec::new();
        let mut rest = nodes;
        while let [node, tail @ ..] = rest {
            rest = tail;
            match (node, tail) {
                (Node::Token(token), _) => {
                    // A token belongs to the value behind it, where there is one.
                    if let [value, tail @ ..] = tail
                        && let Some(argument) = self.with_token(token, value)
                    {
                        arguments.push(argument);
                        rest = tail;
                    } else {
                        arguments.push(leaf(token.to_ascii_lowercase(), "pure-token", Some(token)));
                    }
                }
                (Node::Word(word), _) => arguments.push(self.word(word)),
                (Node::Group { alternatives, optional, multiple }, _) => {
                    let mut argument = self.group(alternatives);
                    argument.optional |= optional;
                    argument.multiple |= multiple;
                    argument.repeats_token |= *multiple && argument.token.is_some();
                    arguments.push(argument);
                }
            }
        }
        arguments
    }

    /// Describes a value with the token in front; `None` if the token stands for itself.
    fn with_token(&mut self, token: &'static str, value: &Node) -> Option<Argument> {
        let mut argument = match value {
            Node::Word(word) => self.word(word),
            Node::Group { alternatives, optional: false, multiple } => {
                let mut argument = self.group(alternatives);
                argument.multiple |= multiple;
                argument
            }
            Node::Token(_) | Node::Group { .. } => return None,
        };
        if argument.token.is_some() {
            return None;
        }
        argument.token = Some(token);
        if !argument.arguments.is_empty() {
            argument.name = token.to_ascii_lowercase();
        }
        Some(argument)
    }

    fn group(&mut self, alternatives: &[Vec<Node>]) -> Argument {
        match alternatives {
            [sequence] => self.block(sequence),
            // `TYPE NORMAL | PUBSUB`: the first token introduces the choice.
            [first, rest @ ..]
                if let [Node::Token(token), Node::Token(_)] = first.as_slice()
                    && rest.iter().all(|it| matches!(it.as_slice(), [Node::Token(_)])) =>
            {
                let choices = [&[first[1..].to_vec()], rest].concat();
                let name = token.to_ascii_lowercase();
                Argument { token: Some(token), name, ..self.group(&choices) }
            }
            _ => {
                let arguments: Vec<Argument> =
                    alternatives.iter().map(|sequence| self.block(sequence)).collect();
                Argument { arguments, ..leaf(choice_name(alternatives), "oneof", None) }
            }
        }
    }

    /// Describes a sequence as one argument.
    fn block(&mut self, nodes: &[Node]) -> Argument {
        // `LIMIT offset count` is a block with a token, not an offset with one.
        if let [Node::Token(token), Node::Word(_), Node::Word(_) | Node::Token(_), ..] = nodes {
            let arguments = self.sequence(&nodes[1..]);
            let name = token.to_ascii_lowercase();
            return Argument { token: Some(token), arguments, ..leaf(name, "block", None) };
        }
        let mut arguments = self.sequence(nodes);
        if arguments.len() == 1 {
            return arguments.remove(0);
        }
        let names: Vec<&str> = arguments.iter().map(|it| it.name.as_str()).collect();
        let name = match names.as_slice() {
            ["key", "value"] => "data".to_owned(),
            ["start", "end", ..] | ["start", "end-unit"] => "range".to_owned(),
            _ => names.join("-"),
        };
        Argument { arguments, ..leaf(name, "block", None) }
    }

    fn word(&mut self, word: &'static str) -> Argument {
        let (row, name) = (self.row, word.trim_matches('"'));
        if KEYS.contains(&name) && !row.spec.keys.is_empty() {
            let spec = self.keys.min(row.spec.keys.len() - 1);
            self.keys += 1;
            return Argument { key_spec: Some(spec), ..leaf(name.to_owned(), "key", None) };
        }
        leaf(name.to_owned(), kind_of(row, name), None)
    }
}

fn leaf(name: String, kind: &'static str, token: Option<&'static str>) -> Argument {
    Argument {
        name,
        kind,
        token,
        key_spec: None,
        optional: false,
        multiple: false,
        repeats_token: false,
        arguments: Vec::new(),
    }
}

fn kind_of(row: &Row, name: &str) -> &'static str {
    if let Some((_, kind)) = row.spec.argument_types.iter().find(|(it, _)| *it == name) {
        return kind;
    }
    match name {
        "pattern" => "pattern",
        _ if name.starts_with("unix-time") => "unix-time",
        _ if INTEGERS.contains(&name) => "integer",
        _ => "string",
    }
}

/// Names a choice by its tokens, since its alternatives do not give it a name.
fn choice_name(alternatives: &[Vec<Node>]) -> String {
    let tokens = alternatives.iter().filter_map(|it| match it.first() {
        Some(Node::Token(token)) => Some(*token),
        _ => None,
    });
    let tokens: Vec<&str> = tokens.collect();
    let name = match tokens.as_slice() {
        [] => "choice",
        tokens if tokens.contains(&"EX") => "expiration",
        tokens if tokens.contains(&"NX") || tokens.contains(&"FNX") => "condition",
        tokens if tokens.contains(&"ASYNC") => "flush-type",
        tokens if tokens.contains(&"BYTE") => "unit",
        ["ON", "OFF"] => "enabled",
        tokens if tokens.contains(&"LARGE-REPLY") => "type",
        _ => "operation",
    };
    name.to_owned()
}

/// Numbers choices of the same name, which clients use for labels.
fn keep_names_apart(arguments: &mut [Argument]) {
    for at in 1..arguments.len() {
        let same = |other: &Argument| other.name == arguments[at].name && other.kind == "oneof";
        if arguments[..at].iter().any(same) {
            let number = at + 1;
            arguments[at].name.push_str(&format!("-{number}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::table;

    fn of(name: &str) -> Vec<Argument> {
        arguments(table().find(name.as_bytes()).expect("it exists"))
    }

    #[test]
    fn a_key_names_the_specification_that_finds_it() {
        let get = of("GET");
        assert_eq!((get[0].kind, get[0].key_spec), ("key", Some(0)));
    }

    #[test]
    fn a_group_has_the_name_that_its_row_gives() {
        for row in table().rows() {
            let given = row.spec.group_names.iter().map(|(_, name)| *name);
            let names: Vec<String> = arguments(row).into_iter().map(|it| it.name).collect();
            let mut missing = given.filter(|name| !names.iter().any(|it| it == name));
            assert_eq!(missing.next(), None, "{}: {names:?}", row.full_name);
        }
    }

    #[test]
    fn an_optional_repetition_is_one_argument() {
        let info = of("INFO");
        assert_eq!(info.len(), 1);
        assert!(info[0].optional && info[0].multiple);
        assert_eq!((info[0].name.as_str(), info[0].kind), ("section", "string"));
    }

    #[test]
    fn options_of_shutdown_are_tokens() {
        let shutdown = of("SHUTDOWN");
        assert_eq!(shutdown[0].kind, "oneof");
        assert_eq!(shutdown[0].arguments[1].token, Some("SAVE"));
        assert_eq!((shutdown[1].kind, shutdown[1].token), ("pure-token", Some("NOW")));
    }

    #[test]
    fn every_syntax_describes_as_many_words_as_the_arity_asks_for() {
        for row in table().rows().iter().filter(|row| row.spec.subcommands.is_empty()) {
            let words = 1 + usize::from(row.parent.is_some());
            let required: usize = arguments(row).iter().map(least_words).sum();
            let arity = row.spec.arity.unsigned_abs() as usize;
            assert_eq!(words + required, arity, "{}: {}", row.full_name, row.spec.syntax);
        }
    }

    /// Returns the minimum number of words of an argument.
    fn least_words(argument: &Argument) -> usize {
        if argument.optional {
            return 0;
        }
        let inner = argument.arguments.iter().map(least_words);
        let own = usize::from(argument.token.is_some());
        match argument.kind {
            "oneof" => own + inner.min().unwrap_or(0),
            "block" => own + inner.sum::<usize>(),
            "pure-token" => 1,
            _ => own + 1,
        }
    }
}
