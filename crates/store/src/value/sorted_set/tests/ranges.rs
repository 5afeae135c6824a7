//! Ranges of scores, members and ranks.

use super::{
    Fixture, LIMIT, LexBound, LexRange, Model, NEVER_SMALL, Pick, Random, SortedSetLimit, Span,
    in_order, lies_in, some_range, some_score,
};

#[test]
fn ranges_of_scores_agree_with_a_filter() {
    for limit in [SortedSetLimit { members_max: 1_000, ..LIMIT }, NEVER_SMALL] {
        let (mut fixture, mut model) = (Fixture::new(), Model::new());
        let mut random = Random::from_seed(5);
        for number in 0..500 {
            let (score, member) = (some_score(&mut random), format!("{number}").into_bytes());
            fixture.add("a", score, &member, limit);
            model.insert(member, score);
        }
        let all = in_order(&model);
        for _ in 0..200 {
            let range = some_range(&mut random);
            let expected: Vec<_> =
                all.iter().filter(|(_, score)| lies_in(&range, *score)).cloned().collect();
            fixture.look("a", |set| {
                let set = set.expect("a set");
                let span = set.span(&Pick::Scores(range), false);
                let mut found = Vec::new();
                set.each_while(span, true, |member, score| {
                    found.push((member.to_text(), score));
                    true
                });
                found.reverse();
                assert_eq!(found, expected, "{range:?}");
            });
        }
    }
}

#[test]
fn ranges_of_members_agree_with_a_filter() {
    for limit in [SortedSetLimit { members_max: 1_000, ..LIMIT }, NEVER_SMALL] {
        let mut fixture = Fixture::new();
        let mut members: Vec<Vec<u8>> =
            (0..300).map(|number| format!("{}", number * 7).into_bytes()).collect();
        for member in &members {
            fixture.add("a", 2.5, member, limit);
        }
        members.sort();
        let mut random = Random::from_seed(6);
        for _ in 0..200 {
            let [from, to] = [0, 0].map(|_: i32| random.below(3_000).to_string().into_bytes());
            let range = LexRange { from: LexBound::Exclusive(&from), to: LexBound::Inclusive(&to) };
            let expected = members.iter().filter(|it| **it > from && **it <= to).count() as u64;
            let open = LexRange { from: LexBound::Inclusive(&from), to: LexBound::Highest };
            let above = members.iter().filter(|it| **it >= from).count() as u64;
            fixture.look("a", |set| {
                let set = set.expect("a set");
                assert_eq!(set.span(&Pick::Members(range), false).count, expected);
                assert_eq!(set.span(&Pick::Members(open), false).count, above);
            });
        }
    }
}

#[test]
fn ranges_of_members_leave_scores_out_of_account() {
    for limit in [LIMIT, NEVER_SMALL] {
        let mut fixture = Fixture::new();
        for (score, member) in [(1.0, b"a"), (2.0, b"b"), (3.0, b"c"), (4.0, b"d")] {
            fixture.add("a", score, member, limit);
        }
        let [b, c] = [LexBound::Inclusive(b"b"), LexBound::Inclusive(b"c")];
        let rows = [
            (b, c, Span { from: 1, count: 2 }),
            (LexBound::Lowest, c, Span { from: 0, count: 3 }),
            (b, LexBound::Highest, Span { from: 1, count: 3 }),
            (LexBound::Highest, LexBound::Lowest, Span { from: 4, count: 0 }),
        ];
        for (from, to, span) in rows {
            let pick = Pick::Members(LexRange { from, to });
            fixture.look("a", |set| assert_eq!(set.expect("a set").span(&pick, false), span));
        }
    }
}

#[test]
fn parts_of_spans_count_from_the_end_that_is_asked_for() {
    let span = Span { from: 10, count: 5 };
    assert_eq!(span.part(1, 2, false), Span { from: 11, count: 2 });
    assert_eq!(span.part(1, 2, true), Span { from: 12, count: 2 });
    assert_eq!(span.part(4, 9, true), Span { from: 10, count: 1 });
    assert_eq!(span.part(9, 9, false).count, 0);
}
