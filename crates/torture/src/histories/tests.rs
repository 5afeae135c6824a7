//! Histories that somebody could see, and what the checker says of them.

use super::checker::check;
use super::history::{Held, History, Key, Transaction};

/// A transaction of a client, from one moment to another.
fn transaction(
    client: usize,
    (sent, answered): (u64, u64),
    reads: &[(Key, Held)],
    writes: &[(Key, Held)],
) -> Transaction {
    let mut transaction = Transaction::new(client, sent, answered);
    for (key, held) in reads {
        transaction.reads(*key, *held).expect("each key once");
    }
    writes.iter().for_each(|(key, held)| transaction.writes(*key, *held));
    transaction
}

/// Transactions that are all under way at once, each of another client.
fn at_once(transactions: &[(&[(Key, Held)], &[(Key, Held)])]) -> Vec<Transaction> {
    let with_client = transactions.iter().enumerate();
    with_client
        .map(|(client, (reads, writes))| transaction(client, (0, 9), reads, writes))
        .collect()
}

fn verdict(transactions: Vec<Transaction>) -> Result<(), String> {
    let mut history = History::default();
    history.add(transactions);
    check(&history).map_err(|error| format!("{error:#}"))
}

fn has_no_order(transactions: Vec<Transaction>, why: &str) {
    let error = verdict(transactions).expect_err("it has no order");
    assert!(error.contains(why), "{error}");
}

#[test]
fn transactions_that_saw_each_other_in_one_direction_have_an_order() {
    let all = at_once(&[
        (&[(1, Some(10)), (2, Some(20))], &[(1, Some(11))]),
        (&[(1, None)], &[(1, Some(10)), (2, Some(20))]),
        (&[(1, Some(11)), (2, Some(20))], &[]),
        (&[(1, None), (2, None)], &[]),
    ]);
    assert_eq!(verdict(all), Ok(()));
}

#[test]
fn half_of_a_transaction_has_no_order() {
    let all = at_once(&[
        (&[(1, None), (2, None)], &[(1, Some(10)), (2, Some(20))]),
        (&[(1, Some(10)), (2, Some(20))], &[(1, Some(11)), (2, Some(21))]),
        (&[(1, Some(11)), (2, Some(20))], &[]),
    ]);
    has_no_order(all, "no order of whole transactions");
}

#[test]
fn two_that_replace_the_same_have_no_order() {
    let all = at_once(&[
        (&[], &[(1, Some(10))]),
        (&[(1, Some(10))], &[(1, Some(11))]),
        (&[(1, Some(10))], &[(1, Some(12))]),
    ]);
    has_no_order(all, "10 was replaced twice");
}

#[test]
fn two_that_each_read_what_the_other_replaced_have_no_order() {
    let all = at_once(&[
        (&[], &[(1, Some(10)), (2, Some(20))]),
        (&[(1, Some(10)), (2, Some(20))], &[(1, Some(11))]),
        (&[(1, Some(10)), (2, Some(20))], &[(2, Some(21))]),
    ]);
    has_no_order(all, "no order of whole transactions");
}

#[test]
fn a_value_of_nobody_has_no_order() {
    let all = at_once(&[(&[(1, Some(10))], &[])]);
    has_no_order(all, "which nobody wrote");
}

#[test]
fn a_read_of_what_was_replaced_before_it_was_sent_has_no_order() {
    let written = [
        transaction(0, (0, 1), &[], &[(1, Some(10))]),
        transaction(0, (2, 3), &[(1, Some(10))], &[(1, Some(11))]),
    ];
    let read = |moment| transaction(1, moment, &[(1, Some(10))], &[]);
    assert_eq!(verdict([&written[..], &[read((2, 9))]].concat()), Ok(()));
    has_no_order([&written[..], &[read((4, 9))]].concat(), "by time");
}

#[test]
fn the_order_of_a_client_counts_where_time_tells_nothing() {
    let all = vec![
        transaction(0, (0, 9), &[], &[(1, Some(10))]),
        transaction(1, (0, 9), &[(1, Some(10))], &[(1, Some(11))]),
        transaction(2, (0, 9), &[(1, Some(11))], &[]),
        transaction(2, (0, 9), &[(1, Some(10))], &[]),
    ];
    has_no_order(all, "by the order of its client");
}

#[test]
fn nobody_finds_nothing_between_a_value_and_its_replacement() {
    let written = [
        transaction(0, (0, 1), &[], &[(1, Some(10))]),
        transaction(0, (6, 7), &[(1, Some(10))], &[(1, Some(11))]),
    ];
    let found_nothing = |moment| transaction(1, moment, &[(1, None)], &[]);
    assert_eq!(verdict([&written[..], &[found_nothing((0, 9))]].concat()), Ok(()));
    has_no_order([&written[..], &[found_nothing((2, 3))]].concat(), "nobody else changed it");
}

#[test]
fn what_expired_may_be_written_again() {
    let all = vec![
        transaction(0, (0, 1), &[], &[(1, Some(10))]),
        transaction(1, (2, 3), &[(1, None)], &[]),
        transaction(0, (4, 5), &[(1, None)], &[(1, Some(11))]),
        transaction(1, (6, 7), &[(1, Some(11))], &[]),
    ];
    assert_eq!(verdict(all), Ok(()));
}

#[test]
fn a_transaction_sees_its_own_writes() {
    let mut transaction = Transaction::new(0, 0, 9);
    transaction.writes(1, Some(10));
    assert!(transaction.reads(1, Some(10)).is_ok());
    assert!(transaction.reads(1, None).is_err());
    transaction.writes(1, None);
    assert!(transaction.reads(1, None).is_ok());
    assert_eq!(transaction.read(1), None);
}
