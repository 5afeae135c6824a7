//! Tests of lists through commands, for what clients cannot see; the transcripts test what they
//! see.

use crate::testing::{World, check, play, reply_to};

#[test]
fn a_list_that_is_emptied_is_no_key_any_more() {
    let mut world = World::new();
    play(
        &mut world,
        "
        > RPUSH l a b
        < :2
        > LPOP l
        < $1 a
        > RPOP l
        < $1 b
        > EXISTS l
        < :0
        ",
    );
}

#[test]
fn a_move_counts_as_one_change() {
    let mut world = World::new();
    check(&mut world, &[("RPUSH a 1 2 3", ":3")]);
    for command in ["LMOVE a b LEFT LEFT", "RPOPLPUSH a b", "BLMOVE a b LEFT LEFT 0"] {
        let before = world.changes();
        reply_to(&mut world, command);
        assert_eq!(world.changes(), before + 1, "{command}");
    }
}
