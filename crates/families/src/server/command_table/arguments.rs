//! Arguments of a command in COMMAND DOCS, from the tree of its syntax.

use command::syntax::{Node, parse};
use command::{ArgumentFact, Row};
use std::mem::discriminant;

/// An argument as COMMAND DOCS describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) kind: &'static str,
    /// Text that stands for it.
    pub(super) display: String,
    pub(super) token: Option<&'static str>,
    /// Index of the key specification that finds it.
    pub(super) key_spec: Option<usize>,
    pub(super) optional: bool,
    pub(super) multiple: bool,
    /// True if its token is repeated with it.
    pub(super) repeats_token: bool,
    pub(super) since: Option<&'static str>,
    pub(super) deprecated_since: Option<&'static str>,
    /// Parts of a block, or alternatives.
    pub(super) arguments: Vec<Argument>,
}

/// Names of arguments that are keys, if the row has keys.
const KEYS: [&str; 10] = [
    "key",
    "key1",
    "key2",
    "newkey",
    "destkey",
    "source",
    "src",
    "sourcekey",
    "destination",
    "dst",
];
const DOUBLES: [&str; 6] = ["longitude", "latitude", "radius", "width", "height", "score"];
const INTEGERS: [&str; 42] = [
    "bit",
    "client-id",
    "cluster-bus-port",
    "config-epoch",
    "count",
    "cursor",
    "db",
    "decrement",
    "destination-db",
    "end",
    "end-slot",
    "entries-added",
    "entries-read",
    "frequency",
    "idle",
    "increment",
    "index",
    "index1",
    "index2",
    "len",
    "limit",
    "maxage",
    "milliseconds",
    "min-match-len",
    "num-matches",
    "num-vertices",
    "numfields",
    "numkeys",
    "numreplicas",
    "offset",
    "port",
    "protover",
    "rank",
    "samples",
    "seconds",
    "size",
    "slot",
    "start",
    "start-slot",
    "stop",
    "timeout",
    "weight",
];

/// Returns the arguments of a row.
pub(super) fn arguments(row: &Row) -> Vec<Argument> {
    let mut arguments = of_syntax(row);
    apply_facts(&mut row.spec.arguments.to_vec(), &mut arguments);
    arguments
}

/// Returns the arguments as far as the syntax tells them.
fn of_syntax(row: &Row) -> Vec<Argument> {
    Reader { row, keys: 0 }.sequence(&parse(row.spec.syntax))
}

/// Gives each argument the facts about it, and takes them from the list.
fn apply_facts(facts: &mut Vec<(&'static str, ArgumentFact)>, arguments: &mut [Argument]) {
    for argument in arguments {
        let called = argument.token.map_or_else(|| argument.name.clone(), str::to_owned);
        let mut kinds = Vec::new();
        facts.retain(|(of, fact)| {
            let is_meant = *of == called && !kinds.contains(&discriminant(fact));
            if is_meant {
                kinds.push(discriminant(fact));
                argument.apply(*fact);
            }
            !is_meant
        });
        apply_facts(facts, &mut argument.arguments);
    }
}

impl Argument {
    fn apply(&mut self, fact: ArgumentFact) {
        match fact {
            ArgumentFact::Name(name) => {
                self.name = name.to_owned();
                self.display = name.to_owned();
            }
            ArgumentFact::Type(kind) => self.kind = kind,
            ArgumentFact::Display(text) => self.display = text.to_owned(),
            ArgumentFact::Since(version) => self.since = Some(version),
            ArgumentFact::DeprecatedSince(version) => self.deprecated_since = Some(version),
            ArgumentFact::SpecIndex(spec) => self.key_spec = Some(spec),
            ArgumentFact::Optional => self.optional = true,
            ArgumentFact::PartsOptional => {
                self.arguments.iter_mut().for_each(|part| part.optional = true);
            }
            ArgumentFact::TokenInside => {
                if let Some(first) = self.arguments.first_mut() {
                    first.token = self.token.take();
                }
            }
        }
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
                        arguments.push(pure_token(token));
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
        if let [Node::Token(token), first, second, ..] = nodes
            && !matches!(first, Node::Token(_) | Node::Group { optional: true, .. })
            && !matches!(second, Node::Group { optional: true, .. })
        {
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
            [.., "value" | "member"] => "data".to_owned(),
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
        leaf(name.to_owned(), kind_of(name), None)
    }
}

/// Describes a token that stands for itself. `""` is the empty one.
fn pure_token(token: &'static str) -> Argument {
    let token = token.trim_matches('"');
    leaf(token.to_ascii_lowercase(), "pure-token", Some(token))
}

fn leaf(name: String, kind: &'static str, token: Option<&'static str>) -> Argument {
    Argument {
        display: name.clone(),
        name,
        kind,
        token,
        key_spec: None,
        optional: false,
        multiple: false,
        repeats_token: false,
        since: None,
        deprecated_since: None,
        arguments: Vec::new(),
    }
}

fn kind_of(name: &str) -> &'static str {
    match name {
        _ if name.ends_with("pattern") => "pattern",
        _ if name.starts_with("unix-time") => "unix-time",
        _ if INTEGERS.contains(&name) => "integer",
        _ if DOUBLES.contains(&name) => "double",
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
    let named = CHOICES.iter().find(|(token, _)| tokens.contains(token));
    match (tokens.as_slice(), named) {
        ([], _) => "choice",
        (["ON", "OFF"], _) => "enabled",
        (_, Some((_, name))) => name,
        (_, None) => "operation",
    }
    .to_owned()
}

/// Names of choices, each with a token by which the choice is known.
const CHOICES: [(&str, &str); 15] = [
    ("EX", "expiration"),
    ("NX", "condition"),
    ("FNX", "condition"),
    ("GT", "comparison"),
    ("ASYNC", "flush-type"),
    ("BYTE", "unit"),
    ("KM", "unit"),
    ("ASC", "order"),
    ("BYSCORE", "sortby"),
    ("LEFT", "where"),
    ("MIN", "where"),
    ("BEFORE", "where"),
    ("MAXLEN", "strategy"),
    ("=", "operator"),
    ("LARGE-REPLY", "type"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::table;
    use std::collections::BTreeSet;

    fn of(name: &str) -> Vec<Argument> {
        arguments(table().find(name.as_bytes()).expect("it exists"))
    }

    #[test]
    fn a_key_names_the_specification_that_finds_it() {
        let get = of("GET");
        assert_eq!((get[0].kind, get[0].key_spec), ("key", Some(0)));
    }

    #[test]
    fn every_fact_of_a_row_is_about_one_of_its_arguments() {
        for row in table().rows() {
            let mut facts = row.spec.arguments.to_vec();
            apply_facts(&mut facts, &mut of_syntax(row));
            assert_eq!(facts, [], "{}: {:?}", row.full_name, of_syntax(row));
        }
    }

    #[test]
    fn arguments_beside_each_other_have_names_of_their_own() {
        for row in table().rows() {
            let names: Vec<String> = arguments(row).into_iter().map(|it| it.name).collect();
            let different: BTreeSet<&String> = names.iter().collect();
            assert_eq!(different.len(), names.len(), "{}: {names:?}", row.full_name);
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
    fn a_token_that_is_part_of_a_block_stands_with_its_first_argument() {
        let search = of("GEOSEARCH");
        let box_of = &search[2].arguments[1];
        assert_eq!((box_of.name.as_str(), box_of.token), ("box", None));
        assert_eq!(box_of.arguments[0].token, Some("BYBOX"));
    }

    #[test]
    fn options_of_shutdown_are_tokens() {
        let choice = &of("SHUTDOWN")[0];
        let options = &choice.arguments[0].arguments;
        assert_eq!((choice.kind, options[0].kind), ("oneof", "oneof"));
        assert_eq!(options[0].arguments[1].token, Some("SAVE"));
        assert_eq!((options[1].kind, options[1].token), ("pure-token", Some("NOW")));
        assert_eq!(choice.arguments[1].token, Some("ABORT"));
    }

    #[test]
    fn every_syntax_describes_as_many_words_as_the_arity_asks_for() {
        for row in table().rows().iter().filter(|row| row.spec.subcommands.is_empty()) {
            // Valkey asks for other numbers of words here than its own documentation.
            if ["cluster|migrateslots", "cluster|syncslots"].contains(&row.full_name.as_str()) {
                continue;
            }
            let words = 1 + usize::from(row.parent.is_some());
            let required: usize = of_syntax(row).iter().map(least_words).sum();
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
