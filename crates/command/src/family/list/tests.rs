//! Lists through commands. What clients see is in the transcripts; here is what they can not see.

use crate::testing::{World, play};

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
