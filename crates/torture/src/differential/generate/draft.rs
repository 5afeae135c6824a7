//! Random requests drawn along the tree of their syntax.

use super::dice::Dice;
use super::words::{Range, draw};
use crate::differential::step::Request;
use command::{Row, syntax::Node, syntax::parse};

/// Request that is being drawn.
#[derive(Debug)]
pub struct Draft<'a> {
    dice: &'a mut Dice,
    row: &'static Row,
    range: Range,
    /// Words drawn so far.
    pub words: Request,
    /// Index of the word for the number of repetitions that follow.
    number_at: Option<usize>,
    /// Number of repetitions of the last repeated part.
    repeated: usize,
}

/// Draws a request for a row; valid as far as its syntax tells.
pub fn request(dice: &mut Dice, row: &'static Row) -> Request {
    let mut words = Vec::new();
    if let Some(parent) = row.parent {
        words.push(in_some_case(dice, parent.name));
    }
    words.push(in_some_case(dice, row.spec.name));
    let range = [Range::Rank, Range::Score, Range::Lex][dice.weighted(&[50, 30, 20])];
    let nodes = parse(row.spec.syntax);
    let mut draft = Draft { dice, row, range, words, number_at: None, repeated: 1 };
    draft.sequence(&nodes);
    draft.words
}

impl Draft<'_> {
    fn sequence(&mut self, nodes: &[Node]) {
        let mut order: Vec<_> = (0..nodes.len()).collect();
        self.shuffle_options(nodes, &mut order);
        for at in order {
            self.node(&nodes[at]);
        }
    }

    /// Shuffles neighbouring options, which may come in any order.
    fn shuffle_options(&mut self, nodes: &[Node], order: &mut [usize]) {
        let is_option = |at: usize| matches!(nodes[at], Node::Group { optional: true, .. });
        if !self.dice.percent(30) {
            return;
        }
        for at in 1..order.len() {
            if is_option(order[at - 1]) && is_option(order[at]) && self.dice.percent(50) {
                order.swap(at - 1, at);
            }
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Token(token) => {
                let token = in_some_case(self.dice, token);
                self.words.push(token);
            }
            Node::Word(word) => self.word(word),
            Node::Group { alternatives, optional, multiple } => {
                if *optional && !self.wants(alternatives) {
                    return;
                }
                let times = if *multiple { self.times(alternatives) } else { 1 };
                let number_at = if *multiple { self.number_at.take() } else { None };
                for _ in 0..times {
                    let chosen = self.choose(alternatives);
                    self.sequence(&alternatives[chosen]);
                }
                if let Some(at) = number_at {
                    self.words[at] = times.to_string().into_bytes();
                }
                if *multiple {
                    self.repeated = times;
                }
                if *optional && !multiple && self.dice.permille(15) {
                    let chosen = self.choose(alternatives);
                    self.sequence(&alternatives[chosen]);
                }
            }
        }
    }

    fn word(&mut self, word: &str) {
        if matches!(word, "numkeys" | "numfields" | "num-vertices") {
            self.number_at = Some(self.words.len());
        }
        let drawn = match word {
            "numkeys" | "numfields" | "num-vertices" => b"1".to_vec(),
            _ => draw(self.dice, self.row, word, self.range),
        };
        self.words.push(drawn);
    }

    fn wants(&mut self, alternatives: &[Vec<Node>]) -> bool {
        let first = alternatives.first().and_then(|nodes| nodes.first());
        match first {
            Some(Node::Token("BYSCORE")) => self.range != Range::Rank,
            Some(Node::Token("BLOCK")) => self.dice.percent(3),
            Some(Node::Token("MKSTREAM")) => self.dice.percent(70),
            Some(Node::Token("LIMIT")) => self.dice.percent(25),
            _ => self.dice.percent(40),
        }
    }

    fn choose(&mut self, alternatives: &[Vec<Node>]) -> usize {
        let by = match self.range {
            Range::Lex => "BYLEX",
            _ => "BYSCORE",
        };
        let fits = |nodes: &Vec<Node>| matches!(nodes.first(), Some(Node::Token(it)) if *it == by);
        let fitting = alternatives.iter().position(fits);
        fitting.unwrap_or_else(|| self.dice.below(alternatives.len()))
    }

    fn times(&mut self, alternatives: &[Vec<Node>]) -> usize {
        let as_before = match alternatives {
            [nodes] => match nodes.as_slice() {
                [Node::Word("weight")] => true,
                [Node::Word("id")] => self.row.spec.name.starts_with("XREAD"),
                _ => false,
            },
            _ => false,
        };
        if as_before && self.dice.percent(95) {
            return self.repeated;
        }
        let is_key = |node: &Node| matches!(node, Node::Word("key" | "sourcekey"));
        let of_keys = alternatives.iter().flatten().any(is_key);
        self.dice.repeats(if of_keys { 6 } else { 60 })
    }
}

/// Draws the case of a word: mostly that of the manual.
pub fn in_some_case(dice: &mut Dice, word: &str) -> Vec<u8> {
    let mut bytes = word.as_bytes().to_vec();
    match dice.weighted(&[80, 15, 5]) {
        0 => {}
        1 => bytes.make_ascii_lowercase(),
        _ => bytes.iter_mut().step_by(2).for_each(u8::make_ascii_lowercase),
    }
    bytes
}
