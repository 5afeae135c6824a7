//! Order of transactions: which must come before which, and whether such an order exists.
//!
//! | before | behind |
//! |---|---|
//! | a client's transaction | its next one |
//! | whose reply was read | what was sent afterwards |
//! | who wrote a value | who read or replaced it |
//! | who read a value | who replaced it |
//! | a run of a key | another one, if something of it came before something of that |
//!
//! A history whose transactions have an order that respects all these is as if they had been
//! executed one after the other. The order of two runs of which time says nothing stays open.

use super::history::{History, Key, Transaction};
use super::runs::{self, Run};
use anyhow::{Result, bail, ensure};
use std::collections::{HashMap, VecDeque};
use std::fmt;

/// Returns without an error if the transactions have an order.
///
/// # Errors
/// If they have none: with those that must come before each other.
pub(super) fn check(history: &History) -> Result<()> {
    let mut graph = Graph::new(history);
    for (key, runs) in runs::of(history)? {
        for run in &runs {
            graph.add_run(key, run);
        }
        graph.add_order_of_runs(key, runs)?;
    }
    graph.add_order_of_clients();
    graph.add_order_of_time();
    graph.cycle()
}

/// Nodes are transactions, and behind these moments: one for each reply that was read.
struct Graph<'history> {
    all: &'history [Transaction],
    edges: Vec<Vec<(usize, Why)>>,
}

/// Why one transaction is before another.
#[derive(Clone, Copy)]
enum Why {
    Client,
    Time,
    Wrote(Key),
    Read(Key),
    Run(Key),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client => write!(f, "the order of its client"),
            Self::Time => write!(f, "time"),
            Self::Wrote(key) => write!(f, "what it wrote to key {key}"),
            Self::Read(key) => write!(f, "what it read of key {key}, which was replaced"),
            Self::Run(key) => write!(f, "what key {key} held before"),
        }
    }
}

impl<'history> Graph<'history> {
    fn new(history: &'history History) -> Self {
        let all = history.all();
        Self { all, edges: vec![Vec::new(); 2 * all.len()] }
    }

    fn add(&mut self, before: usize, behind: usize, why: Why) {
        if before != behind {
            self.edges[before].push((behind, why));
        }
    }

    fn add_run(&mut self, key: Key, run: &Run) {
        for (at, &writer) in run.writers.iter().enumerate() {
            let next = run.writers.get(at + 1);
            for &reader in &run.readers[at] {
                self.add(writer, reader, Why::Wrote(key));
                next.into_iter().for_each(|&next| self.add(reader, next, Why::Read(key)));
            }
            next.into_iter().for_each(|&next| self.add(writer, next, Why::Wrote(key)));
        }
    }

    fn add_order_of_runs(&mut self, key: Key, runs: Vec<Run>) -> Result<()> {
        let mut spans: Vec<_> = runs.into_iter().map(|run| Span::new(self.all, run)).collect();
        spans.sort_by_key(|span| span.first_sent);
        let mut open: Vec<Span> = Vec::new();
        for span in spans {
            // Of what had ended altogether, time says enough.
            open.retain(|other| other.last_answered >= span.first_sent);
            for other in &open {
                self.add_order_of_two(key, other, &span)?;
            }
            open.push(span);
        }
        Ok(())
    }

    fn add_order_of_two(&mut self, key: Key, one: &Span, other: &Span) -> Result<()> {
        match (one.is_before(other), other.is_before(one)) {
            _ if one.is_point() && other.is_point() => {}
            (true, true) => bail!(
                "key {key} changed while nobody else changed it:\n  {}\n  {}",
                self.shown(&one.run),
                self.shown(&other.run)
            ),
            (true, false) => self.add_runs(key, &one.run, &other.run),
            (false, true) => self.add_runs(key, &other.run, &one.run),
            (false, false) => {}
        }
        Ok(())
    }

    fn add_runs(&mut self, key: Key, before: &Run, behind: &Run) {
        for last in before.last() {
            self.add(last, behind.writers[0], Why::Run(key));
        }
    }

    fn shown(&self, run: &Run) -> String {
        let shown = run.members().take(4).map(|at| format!("{:?}", self.all[at]));
        shown.collect::<Vec<_>>().join("\n  ... ")
    }

    fn add_order_of_clients(&mut self) {
        let mut last = HashMap::new();
        for (at, transaction) in self.all.iter().enumerate() {
            if let Some(before) = last.insert(transaction.client, at) {
                self.add(before, at, Why::Client);
            }
        }
    }

    /// A moment for each reply, one behind the other, and transactions between them.
    fn add_order_of_time(&mut self) {
        let count = self.all.len();
        let mut by_answer: Vec<_> = (0..count).collect();
        by_answer.sort_by_key(|&at| self.all[at].answered);
        for (moment, &at) in by_answer.iter().enumerate() {
            self.add(at, count + moment, Why::Time);
            if moment > 0 {
                self.add(count + moment - 1, count + moment, Why::Time);
            }
        }
        for at in 0..count {
            let sent = self.all[at].sent;
            let known = by_answer.partition_point(|&other| self.all[other].answered < sent);
            if known > 0 {
                self.add(count + known - 1, at, Why::Time);
            }
        }
    }

    /// Takes away whatever has nothing before it; what is left has a cycle.
    fn cycle(&self) -> Result<()> {
        let mut before = vec![0_usize; self.edges.len()];
        self.edges.iter().flatten().for_each(|(behind, _)| before[*behind] += 1);
        let mut free: Vec<_> = (0..before.len()).filter(|&at| before[at] == 0).collect();
        let mut taken = 0;
        while let Some(at) = free.pop() {
            taken += 1;
            for (behind, _) in &self.edges[at] {
                before[*behind] -= 1;
                if before[*behind] == 0 {
                    free.push(*behind);
                }
            }
        }
        ensure!(
            taken == before.len(),
            "no order of whole transactions:\n{}",
            self.report_text(&before)
        );
        Ok(())
    }

    /// One of the shortest cycles among what is left, found from some of its nodes.
    fn report_text(&self, before: &[usize]) -> String {
        let left = (0..self.all.len()).filter(|&at| before[at] > 0).take(TRIED);
        let cycles = left.filter_map(|at| self.way_back(at, before));
        let Some(cycle) = cycles.min_by_key(Vec::len) else {
            return "it lies behind the first ones that have none".to_owned();
        };
        let lines = cycle.iter().map(|(at, why)| match self.all.get(*at) {
            Some(transaction) => format!("  {transaction:?}\n    before, by {why}\n"),
            None => "  a moment, before\n".to_owned(),
        });
        lines.collect()
    }

    /// The shortest way from a node to itself.
    fn way_back(&self, from: usize, before: &[usize]) -> Option<Vec<(usize, Why)>> {
        let mut came: HashMap<usize, (usize, Why)> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for &(behind, why) in self.edges[at].iter().filter(|(behind, _)| before[*behind] > 0) {
                came.entry(behind).or_insert_with(|| {
                    queue.push_back(behind);
                    (at, why)
                });
            }
            if came.contains_key(&from) {
                break;
            }
        }
        let mut way = vec![*came.get(&from)?];
        while let Some(&(at, _)) = way.last().filter(|(at, _)| *at != from) {
            way.push(came[&at]);
        }
        way.reverse();
        Some(way)
    }
}

/// A run, and when it was.
struct Span {
    run: Run,
    first_sent: u64,
    first_answered: u64,
    last_sent: u64,
    last_answered: u64,
}

impl Span {
    fn new(all: &[Transaction], run: Run) -> Self {
        let of = |moment: fn(&Transaction) -> u64| run.members().map(move |at| moment(&all[at]));
        let first_sent = of(|it| it.sent).min().unwrap_or(0);
        let first_answered = of(|it| it.answered).min().unwrap_or(0);
        let last_sent = of(|it| it.sent).max().unwrap_or(0);
        let last_answered = of(|it| it.answered).max().unwrap_or(0);
        Self { run, first_sent, first_answered, last_sent, last_answered }
    }

    /// True if something of it was certainly before something of the other.
    fn is_before(&self, other: &Span) -> bool {
        self.first_answered < other.last_sent
    }

    /// True if it is one moment, as of somebody who found nothing.
    fn is_point(&self) -> bool {
        self.run.members().nth(1).is_none()
    }
}

/// Nodes from which a cycle is looked for.
const TRIED: usize = 200;
