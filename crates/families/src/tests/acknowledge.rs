//! Tests of waiting for acknowledgements, with a journal whose state the test sets.

use crate::testing::{Answers, STARTED, World, check, here};
use session::{Owner, Session};
use std::sync::Arc;

/// Returns a server with a journal that has synced nothing, and the answers to its client.
fn world() -> (World, Arc<Answers>) {
    let (mut world, answers) = (World::new(), Arc::new(Answers::default()));
    let client = world.instance.clients.add(
        here(),
        Owner { post: answers.clone(), ..Owner::default() },
        STARTED,
    );
    world.session = Session::new(client, true);
    check(&mut world, &[("CONFIG SET appendonly yes", "+OK")]);
    (world, answers)
}

/// Lets the journal sync up to a position.
fn sync(world: &World, position: Option<u64>) {
    world.instance.journal.set_synced(position);
    command::answer_acknowledged(&world.instance);
}

#[test]
fn the_journal_answers_once_it_has_synced_the_last_unit_of_the_client() {
    let (mut world, answers) = world();
    sync(&world, Some(10));
    check(&mut world, &[("WAITAOF 1 0 0", "*2 :1 :0")]);
    world.session.last_unit = 11;
    check(&mut world, &[("WAITAOF 0 0 0", "*2 :0 :0")]);
    assert!(world.waits("WAITAOF 1 0 0"));
    sync(&world, Some(10));
    assert_eq!((answers.take(), world.instance.waiters.count()), (vec![], 1));
    sync(&world, Some(11));
    assert_eq!(answers.take(), ["*2 :1 :0"]);
    assert_eq!((world.instance.acknowledged.count(), world.instance.waiters.count()), (0, 0));
}

#[test]
fn without_files_that_count_nothing_is_synced() {
    let (mut world, answers) = world();
    assert!(world.waits("WAITAOF 1 0 0"));
    sync(&world, None);
    assert_eq!(answers.take(), Vec::<String>::new());
    sync(&world, Some(0));
    assert_eq!(answers.take(), ["*2 :1 :0"]);
}

#[test]
fn whoever_waits_for_replicas_waits_until_the_time_is_over() {
    let (mut world, answers) = world();
    sync(&world, Some(10));
    for (line, late) in
        [("WAIT 1 0", ":0"), ("WAITAOF 1 1 0", "*2 :1 :0"), ("WAITAOF 0 1 0", "*2 :1 :0")]
    {
        assert!(world.waits(line));
        sync(&world, Some(20));
        let waiter = world.session.client.waiter().clone().expect("it waits");
        assert!(command::time_out(&world.instance, &waiter), "{line}");
        assert_eq!(answers.take(), [late], "{line}");
        sync(&world, Some(20));
        assert_eq!((world.instance.acknowledged.count(), world.instance.waiters.count()), (0, 0));
    }
}

#[test]
fn a_journal_that_is_turned_off_refuses_those_who_wait() {
    let (mut world, answers) = world();
    assert!(world.waits("WAITAOF 1 0 0"));
    check(&mut world, &[("CONFIG SET appendonly no", "+OK")]);
    sync(&world, None);
    let refused = "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
    assert_eq!(answers.take(), [refused]);
    check(&mut world, &[("WAITAOF 1 0 0", refused)]);
}

#[test]
fn nothing_is_left_of_a_client_that_is_gone() {
    let (mut world, answers) = world();
    assert!(world.waits("WAITAOF 1 0 0"));
    world.instance.waiters.forget(&world.session.client);
    sync(&world, Some(10));
    assert_eq!((world.instance.acknowledged.count(), answers.take()), (0, vec![]));
}

#[test]
fn a_client_that_begins_to_wait_looks_at_none_that_waits_already() {
    let (mut world, answers) = world();
    sync(&world, Some(10));
    world.session.last_unit = 11;
    assert!(world.waits("WAITAOF 1 0 0"));
    world.instance.waiters.forget(&world.session.client);
    assert!(world.waits("WAITAOF 1 0 0"));
    assert_eq!(world.instance.acknowledged.count(), 2, "it would have been forgotten");
    sync(&world, Some(11));
    assert_eq!((world.instance.acknowledged.count(), answers.take().len()), (0, 1));
}

#[test]
fn those_whose_time_is_over_do_not_pile_up_while_nothing_is_synced() {
    let (mut world, answers) = world();
    sync(&world, None);
    for _ in 0..1000 {
        assert!(world.waits("WAITAOF 1 0 0"));
        let waiter = world.session.client.waiter().clone().expect("it waits");
        assert!(command::time_out(&world.instance, &waiter));
    }
    assert_eq!(answers.take().len(), 1000);
    assert!(world.instance.acknowledged.count() < 10);
}

#[test]
fn a_transaction_never_waits() {
    let (mut world, _) = world();
    check(&mut world, &[("MULTI", "+OK"), ("WAITAOF 1 1 0", "+QUEUED"), ("WAIT 1 0", "+QUEUED")]);
    check(&mut world, &[("EXEC", "*2 *2 :0 :0 :0")]);
}
