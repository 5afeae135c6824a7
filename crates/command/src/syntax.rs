//! Parser of a row's syntax into a tree, from which COMMAND DOCS and random requests of tests are
//! made.
//!
//! ```text
//! sequence     = { item }
//! item         = TOKEN | word | "[" alternatives "]" | "<" alternatives ">"
//! alternatives = sequence { "|" sequence }
//! syntax       = alternatives
//! ```
//! `...` at the end of a group says that the group may be repeated. A group that repeats the nodes
//! right before it (`key [key ...]`) adds no node: it makes those nodes a repeatable group.

/// A part of a syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Literal word.
    Token(&'static str),
    /// Placeholder for a value.
    Word(&'static str),
    /// One of several sequences.
    Group {
        /// The sequences.
        alternatives: Vec<Vec<Node>>,
        /// True if the group may be left out.
        optional: bool,
        /// True if the group may be repeated.
        multiple: bool,
    },
}

/// Parses a syntax; parts that make no sense are left out.
pub fn parse(syntax: &'static str) -> Vec<Node> {
    let mut words = split(syntax).into_iter().peekable();
    let mut alternatives = vec![sequence(&mut words).nodes];
    while let Some(end) = words.next() {
        let nodes = sequence(&mut words).nodes;
        match alternatives.last_mut() {
            // A bracket that closes nothing.
            Some(last) if end != "|" => last.extend(nodes),
            _ => alternatives.push(nodes),
        }
    }
    match alternatives.len() {
        1 => alternatives.remove(0),
        _ => vec![Node::Group { alternatives, optional: false, multiple: false }],
    }
}

type Words = std::iter::Peekable<std::vec::IntoIter<&'static str>>;

/// Splits a syntax into words, brackets and bars.
fn split(syntax: &'static str) -> Vec<&'static str> {
    let mut words = Vec::new();
    for word in syntax.split_ascii_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find(['[', ']', '<', '>', '|']) {
            let (before, from) = rest.split_at(at);
            words.push(before);
            words.push(&from[..1]);
            rest = &from[1..];
        }
        words.push(rest);
    }
    words.retain(|word| !word.is_empty());
    words
}

struct Sequence {
    nodes: Vec<Node>,
    /// True if it ended with `...`.
    repeats: bool,
}

/// Reads nodes up to a closing bracket, a bar or the end, which is left unread.
fn sequence(words: &mut Words) -> Sequence {
    let mut nodes: Vec<Node> = Vec::new();
    let mut repeats = false;
    while let Some(word) = words.next_if(|word| !matches!(*word, "]" | ">" | "|")) {
        match word {
            "..." => repeats = true,
            "[" | "<" => add_group(&mut nodes, group(words, word == "[")),
            _ if word.contains(|letter: char| letter.is_ascii_lowercase()) => {
                nodes.push(Node::Word(word));
            }
            _ => nodes.push(Node::Token(word)),
        }
    }
    Sequence { nodes, repeats }
}

/// Reads alternatives and the bracket that closes them.
fn group(words: &mut Words, optional: bool) -> Node {
    let mut alternatives = Vec::new();
    let mut multiple = false;
    loop {
        let Sequence { nodes, repeats } = sequence(words);
        alternatives.push(nodes);
        multiple |= repeats;
        if words.next() != Some("|") {
            return fold(Node::Group { alternatives, optional, multiple });
        }
    }
}

/// Folds `[a | b [a | b ...]]` into `[a | b]`, repeatable.
fn fold(node: Node) -> Node {
    let Node::Group { mut alternatives, optional, multiple } = node else { return node };
    let last = alternatives.last_mut().and_then(|last| match last.last() {
        Some(Node::Group { multiple: true, .. }) => last.pop(),
        _ => None,
    });
    let Some(last) = last else { return Node::Group { alternatives, optional, multiple } };
    match &last {
        Node::Group { alternatives: inner, .. } if *inner == alternatives => {
            Node::Group { alternatives, optional, multiple: true }
        }
        _ => {
            if let Some(sequence) = alternatives.last_mut() {
                sequence.push(last);
            }
            Node::Group { alternatives, optional, multiple }
        }
    }
}

/// Adds a group, or makes the nodes that it repeats a repeatable group.
fn add_group(nodes: &mut Vec<Node>, group: Node) {
    if let Node::Group { alternatives, multiple: true, .. } = &group
        && let [repeated] = alternatives.as_slice()
        && nodes.ends_with(repeated)
        && !repeated.is_empty()
    {
        let first = nodes.len() - repeated.len();
        let sequence = nodes.split_off(first);
        nodes.push(Node::Group { alternatives: vec![sequence], optional: false, multiple: true });
        return;
    }
    nodes.push(group);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(alternatives: &[&[Node]], optional: bool, multiple: bool) -> Node {
        let alternatives = alternatives.iter().map(|it| it.to_vec()).collect();
        Node::Group { alternatives, optional, multiple }
    }

    #[test]
    fn words_tokens_and_choices_become_a_tree() {
        let (nx, xx) = (Node::Token("NX"), Node::Token("XX"));
        let ex = [Node::Token("EX"), Node::Word("seconds")];
        assert_eq!(
            parse("key [NX | XX] [EX seconds]"),
            [Node::Word("key"), group(&[&[nx], &[xx]], true, false), group(&[&ex], true, false),]
        );
    }

    #[test]
    fn a_repetition_marks_what_it_repeats() {
        let key = [Node::Word("key")];
        assert_eq!(parse("key [key ...]"), [group(&[&key], false, true)]);
        let pair = [Node::Word("key"), Node::Word("value")];
        assert_eq!(parse("key value [key value ...]"), [group(&[&pair], false, true)]);
        assert_eq!(
            parse("[section [section ...]]"),
            [group(&[&[group(&[&[Node::Word("section")]], false, true)]], true, false)]
        );
    }

    #[test]
    fn nested_alternatives_are_kept_apart() {
        let (wrap, fail) = (Node::Token("WRAP"), Node::Token("FAIL"));
        let overflow = [Node::Token("OVERFLOW"), group(&[&[wrap], &[fail]], false, false)];
        let set = [group(&[&overflow], true, false), Node::Token("SET"), Node::Word("value")];
        assert_eq!(
            parse("[OVERFLOW <WRAP | FAIL>] SET value"),
            [set[0].clone(), set[1].clone(), set[2].clone()]
        );
    }

    #[test]
    fn alternatives_that_repeat_themselves_are_folded() {
        let (a, b) = ([Node::Token("A"), Node::Word("x")], [Node::Token("B")]);
        assert_eq!(parse("[A x | B [A x | B ...]]"), [group(&[&a, &b], true, true)]);
    }

    #[test]
    fn nonsense_does_not_harm() {
        for text in ["", "]", "[", "[[[", "a ] b", "| ...", "[a|]>", "... ..."] {
            parse(text);
        }
    }
}
