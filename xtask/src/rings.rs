//! Cycles in a graph, and a few edges whose removal breaks them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Edges as pairs of from and to, with the cost of their removal.
pub type Edges = BTreeMap<(usize, usize), usize>;

/// Returns the strongly connected sets of nodes, the largest first.
pub fn rings(edges: &Edges) -> Vec<BTreeSet<usize>> {
    let mut open: BTreeSet<usize> = edges.keys().map(|&(from, _)| from).collect();
    let mut found = Vec::new();
    while let Some(&start) = open.first() {
        let ahead = reached(edges, start, |(from, to)| (from, to));
        let behind = reached(edges, start, |(from, to)| (to, from));
        let ring: BTreeSet<usize> = ahead.intersection(&behind).copied().collect();
        open.retain(|node| *node != start && !ring.contains(node));
        if ring.len() > 1 {
            found.push(ring);
        }
    }
    found.sort_by_key(|ring| std::cmp::Reverse(ring.len()));
    found
}

/// Returns all nodes reachable from `start`, along the edges or against them.
fn reached(
    edges: &Edges,
    start: usize,
    direction: impl Fn((usize, usize)) -> (usize, usize),
) -> BTreeSet<usize> {
    let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in edges.keys().map(|&edge| direction(edge)) {
        next.entry(from).or_default().push(to);
    }
    let (mut found, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(node) = open.pop() {
        let fresh = next.get(&node).into_iter().flatten().filter(|&&to| found.insert(to));
        open.extend(fresh);
    }
    found
}

/// Returns the edges inside the ring.
pub fn within(edges: &Edges, ring: &BTreeSet<usize>) -> Edges {
    let is_inside = |(from, to): &(usize, usize)| ring.contains(from) && ring.contains(to);
    edges.iter().filter(|(edge, _)| is_inside(edge)).map(|(&edge, &cost)| (edge, cost)).collect()
}

/// Returns edges of low cost whose removal leaves no cycle: those that lead back in an order of the
/// nodes, which is good but not always the best.
pub fn breakers(edges: &Edges, ring: &BTreeSet<usize>) -> BTreeSet<(usize, usize)> {
    let edges = within(edges, ring);
    let mut order = first_order(&edges, ring);
    while improve(&edges, &mut order) {}
    let place: BTreeMap<usize, usize> =
        order.iter().enumerate().map(|(place, &node)| (node, place)).collect();
    edges.keys().copied().filter(|(from, to)| place[from] > place[to]).collect()
}

/// Orders the nodes greedily: the node with the highest outgoing less incoming cost comes next.
fn first_order(edges: &Edges, ring: &BTreeSet<usize>) -> Vec<usize> {
    let mut left = ring.clone();
    let mut order = Vec::new();
    while !left.is_empty() {
        let surplus = |node: usize| {
            let rest =
                edges.iter().filter(|((from, to), _)| left.contains(from) && left.contains(to));
            let worth = rest.map(|(&(from, to), &cost)| match cost as isize {
                cost if from == node => cost,
                cost if to == node => -cost,
                _ => 0,
            });
            worth.sum::<isize>()
        };
        let Some(best) = left.iter().copied().max_by_key(|&node| surplus(node)) else { break };
        left.remove(&best);
        order.push(best);
    }
    order
}

/// Moves one node to a position with a lower cost of edges that lead back; returns `false` if no
/// move helps.
fn improve(edges: &Edges, order: &mut Vec<usize>) -> bool {
    for from in 0..order.len() {
        let node = order[from];
        let cost = |ahead: usize, behind: usize| {
            edges.get(&(behind, ahead)).map_or(0, |&cost| cost as isize)
        };
        let mut best = (0, from);
        let mut change = 0;
        for (to, &other) in order[..from].iter().enumerate().rev() {
            change += cost(node, other) - cost(other, node);
            best = best.min((change, to));
        }
        change = 0;
        for (to, &other) in order.iter().enumerate().skip(from + 1) {
            change += cost(other, node) - cost(node, other);
            best = best.min((change, to));
        }
        if best.0 < 0 {
            order.remove(from);
            order.insert(best.1, node);
            return true;
        }
    }
    false
}

/// Returns the shortest path along the edges from one node to another, both included.
pub fn way(edges: &Edges, from: usize, to: usize) -> Vec<usize> {
    let mut came_from = BTreeMap::from([(from, from)]);
    let mut open = VecDeque::from([from]);
    while let Some(node) = open.pop_front().filter(|&node| node != to) {
        for &(_, next) in edges.keys().filter(|&&(start, _)| start == node) {
            if let Entry::Vacant(entry) = came_from.entry(next) {
                entry.insert(node);
                open.push_back(next);
            }
        }
    }
    let mut way = vec![to];
    while let Some(&before) = way.last().and_then(|node| came_from.get(node)) {
        if way.last() == Some(&before) {
            break;
        }
        way.push(before);
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(list: &[(usize, usize, usize)]) -> Edges {
        list.iter().map(|&(from, to, cost)| ((from, to), cost)).collect()
    }

    #[test]
    fn rings_are_found_apart_and_lines_are_none() {
        let edges =
            edges(&[(1, 2, 1), (2, 3, 1), (3, 1, 1), (3, 4, 1), (4, 5, 1), (5, 4, 1), (5, 6, 1)]);
        assert_eq!(rings(&edges), [BTreeSet::from([1, 2, 3]), BTreeSet::from([4, 5])]);
        assert_eq!(way(&edges, 1, 5), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_cheapest_edge_breaks_a_ring() {
        let edges = edges(&[(1, 2, 3), (2, 3, 1), (3, 1, 3)]);
        let broken = breakers(&edges, &BTreeSet::from([1, 2, 3]));
        assert_eq!(broken, BTreeSet::from([(2, 3)]));
    }

    #[test]
    fn without_its_breakers_a_graph_has_no_ring() {
        let mut edges = Edges::new();
        for node in 0..12 {
            for step in [1, 3, 5] {
                edges.insert((node, (node * step + step) % 12), step);
            }
        }
        for ring in rings(&edges) {
            for edge in breakers(&edges, &ring) {
                edges.remove(&edge);
            }
        }
        assert!(rings(&edges).is_empty());
    }
}
