//! Sorted sets that are made as a whole: combined, stored and gathered.

use super::{
    Aggregate, Element, Fixture, Gathered, GatheredSortedSet, Key, LIMIT, Model, Operand, Random,
    SCORES, ScoreLeaf, Source, TAGS, TagLeaf, count_shared, difference, intersection,
    lookup_without_touch, pairs, store, union,
};

#[test]
fn sets_are_combined() {
    let mut fixture = Fixture::new();
    for (name, pairs) in [
        ("a", &[(1.0, &b"x"[..]), (2.0, b"y"), (3.0, b"7")][..]),
        ("b", &[(10.0, b"y"), (20.0, b"7"), (30.0, b"w")]),
    ] {
        for (score, member) in pairs {
            fixture.add(name, *score, member, LIMIT);
        }
    }
    fixture.on(&["a", "b"], |access, keys| {
        let source = |key: &Key<'_>, weight: f64| Source {
            operand: lookup_without_touch(access, key).expect("a set").map(Operand::SortedSet),
            weight,
        };
        let both = || vec![source(&keys[0], 1.0), source(&keys[1], 2.0)];
        let shown = |all: Vec<(Element<'_>, f64)>| pairs(all.into_iter());
        let pair = |member: &[u8], score: f64| (member.to_vec(), score);
        let [x, w] = [pair(b"x", 1.0), pair(b"w", 60.0)];
        let united = vec![x.clone(), pair(b"y", 22.0), pair(b"7", 43.0), w];
        assert_eq!(shown(union(both(), Aggregate::Sum)), united);
        let shared = vec![pair(b"y", 2.0), pair(b"7", 3.0)];
        assert_eq!(shown(intersection(both(), Aggregate::Min)), shared);
        assert_eq!(shown(difference(&both())), vec![x]);
        assert_eq!(count_shared(both(), u64::MAX), 2);
        assert_eq!(count_shared(both(), 1), 1);
    });
}

#[test]
fn what_is_stored_replaces_any_value() {
    let mut fixture = Fixture::new();
    for (count, is_tree) in [(10, false), (1_000, true), (5, false), (0, false)] {
        let mut model = Model::new();
        let mut gathered = Gathered::default();
        for number in 0..count {
            let (member, score) = (format!("m{number}").into_bytes(), f64::from(number * 7 % 10));
            gathered.push(Element::of(&member), score);
            model.insert(member, score);
        }
        let stored = fixture
            .on(&["b"], |access, keys| store(access, &keys[0], &mut gathered, LIMIT))
            .expect("room");
        assert!(stored);
        fixture.check("b", &model);
        assert_eq!(fixture.encoding("b").is_some_and(|(_, is_tree)| is_tree), is_tree);
    }
    assert_eq!(fixture.encoding("b"), None);
}

#[test]
fn a_gathered_sorted_set_is_two_sound_trees_of_its_members() {
    let (mut fixture, mut random, mut model) = (Fixture::new(), Random::from_seed(4), Model::new());
    let mut gathered = GatheredSortedSet::new(fixture.store.hasher(), LIMIT);
    for number in 0..60_000 {
        let member = match number % 500 {
            0 => vec![b'l'; 600 + number / 500],
            _ => format!("{:x}", number * 7919).into_bytes(),
        };
        let score = [(random.below(100) as f64), -(number as f64), 0.5, -0.0][number % 4];
        gathered.push(&member, score).expect("memory");
        model.insert(member, score);
    }
    let stored = fixture.on(&["a"], |access, keys| {
        let stored = gathered.store(access, &keys[0]);
        let value = access.value(&keys[0]).expect("it is there");
        let (scores, tags) = (value.view::<ScoreLeaf>(SCORES), value.view::<TagLeaf>(TAGS));
        scores.verify().expect("a sound tree");
        tags.verify().expect("a sound tree");
        assert_eq!((scores.root.count, tags.root.count), (60_000, 60_000));
        stored
    });
    assert_eq!(stored, Ok(()));
    fixture.look("a", |set| {
        let set = set.expect("it is there");
        assert!(model.iter().all(|(member, score)| set.score(member) == Some(*score)));
        assert!(set.rank(b"0").is_none());
    });
    // It changes as others do.
    for (member, score) in model.iter_mut().step_by(3) {
        *score += 1.0;
        fixture.add("a", *score, member, LIMIT);
    }
    fixture.look("a", |set| {
        let set = set.expect("it is there");
        assert!(model.iter().all(|(member, score)| set.score(member) == Some(*score)));
    });
}
