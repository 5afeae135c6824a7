//! Tests of the translation.

use super::*;
use proptest::prelude::{any, prop_assert, proptest};

fn translator(databases: &[(u64, u64)], pattern: Option<&str>) -> Translator {
    let pattern = pattern.map(|it| it.as_bytes().to_vec());
    Translator::new(Scope::new(databases.to_vec(), pattern), true, 0)
}

/// What becomes of commands, as text.
fn sent(translator: &mut Translator, command: &str) -> String {
    let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
    match translator.translate(&words, 1_000_000) {
        Translated::AsItCame(database) => format!("{database}> as it came"),
        Translated::Instead(requests) => {
            let shown = |(database, request): &(u64, Request)| {
                format!("{database}> {}", String::from_utf8_lossy(&request.join(&b' ')))
            };
            requests.iter().map(shown).collect::<Vec<_>>().join("; ")
        }
        Translated::Empties(databases) => format!("empties {databases:?}"),
        Translated::LeftOut(reason) => format!("left out: {reason:?}"),
    }
}

fn all(mut translator: Translator, cases: &[(&str, &str)]) {
    for (command, expected) in cases {
        assert_eq!(sent(&mut translator, command), *expected, "{command}");
    }
}

#[test]
fn a_whole_stream_is_sent_as_it_came_but_for_what_belongs_to_the_link() {
    all(
        translator(&[], None),
        &[
            ("SET k v", "0> as it came"),
            ("PING", ""),
            ("REPLCONF GETACK *", ""),
            ("select 4", ""),
            ("INCR k", "4> as it came"),
            ("UNHEARD.OF k", "4> as it came"),
            ("PUBLISH c m", "4> as it came"),
            ("FLUSHALL", "4> FLUSHALL"),
            ("FLUSHDB ASYNC", "4> as it came"),
            ("SWAPDB 0 4", "0> SWAPDB 0 4"),
            ("MOVE k 2", "4> MOVE k 2"),
            ("COPY a b DB 2 REPLACE", "4> COPY a b DB 2 REPLACE"),
            ("CONFIG SET port 1", "left out: NoData"),
            ("XADD s MAXLEN = 5 LIMIT 9 1-1 f v", "4> XADD s MAXLEN = 5 1-1 f v"),
        ],
    );
}

// What Redis 5.0.14 and 6.2 send: times to live, not moments.
#[test]
fn times_to_live_become_moments() {
    all(
        translator(&[], None),
        &[
            ("EXPIRE k 5", "0> PEXPIREAT k 1005000"),
            ("expire k 5 NX", "0> PEXPIREAT k 1005000 NX"),
            ("PEXPIRE k 5", "0> PEXPIREAT k 1000005"),
            ("SETEX k 5 v", "0> SET k v; 0> PEXPIREAT k 1005000"),
            ("PSETEX k 5 v", "0> SET k v; 0> PEXPIREAT k 1000005"),
            ("SET k v EX 5", "0> SET k v; 0> PEXPIREAT k 1005000"),
            ("SET k EX PX 5 NX", "0> SET k EX NX; 0> PEXPIREAT k 1000005"),
            ("GETEX k PX 5", "0> PEXPIREAT k 1000005"),
            ("RESTORE k 5 payload REPLACE", "0> RESTORE k 1000005 payload REPLACE ABSTTL"),
            ("RESTORE k 0 payload", "0> as it came"),
            ("RESTORE k 5 payload ABSTTL", "0> as it came"),
            ("SET k v PXAT 5", "0> as it came"),
            ("SET k EX", "0> as it came"),
            ("PEXPIREAT k 5", "0> as it came"),
            ("EXPIRE k x", "0> as it came"),
            ("EXPIRE k 9223372036854775807", "0> PEXPIREAT k 9223372036854775807"),
        ],
    );
}

#[test]
fn databases_get_their_numbers_and_others_are_left_out() {
    all(
        translator(&[(0, 3), (1, 0)], None),
        &[
            ("SET k v", "3> as it came"),
            ("MOVE k 1", "3> MOVE k 0"),
            ("MOVE k 9", "3> DEL k"),
            ("COPY a b", "3> COPY a b"),
            ("COPY a b DB 1", "3> COPY a b DB 0"),
            ("COPY a b DB 9", ""),
            ("SWAPDB 0 1", "3> SWAPDB 3 0"),
            ("SWAPDB 0 9", "left out: CutInTwo"),
            ("SWAPDB 8 9", ""),
            ("FLUSHDB", "3> as it came"),
            ("FLUSHALL ASYNC", "3> FLUSHDB; 0> FLUSHDB"),
            ("SELECT 9", ""),
            ("SET k v", ""),
            ("FLUSHDB", ""),
            ("MOVE k 8", ""),
            ("MOVE k 1", "left out: CutInTwo"),
            ("COPY a b DB 0", "left out: CutInTwo"),
            ("COPY db b DB 0", "left out: CutInTwo"),
            ("FUNCTION LOAD x", "3> as it came"),
        ],
    );
}

#[test]
fn of_commands_with_several_keys_what_matches_is_taken_or_it_is_told() {
    all(
        translator(&[], Some("a*")),
        &[
            ("SET a v", "0> as it came"),
            ("SET b v", ""),
            ("DEL a b ab", "0> DEL a ab"),
            ("MSET a 1 b 2 ac 3", "0> MSET a 1 ac 3"),
            ("SUNIONSTORE b a", ""),
            ("SUNIONSTORE a ab", "0> as it came"),
            ("SUNIONSTORE a b", "left out: CutInTwo"),
            ("RENAME a b", "0> DEL a"),
            ("RENAME b a", "left out: CutInTwo"),
            ("RENAME b c", ""),
            ("ZUNIONSTORE b 2 a ab", ""),
            ("COPY a b", ""),
            ("COPY b a", "left out: CutInTwo"),
            ("XGROUP CREATE a g 0", "0> as it came"),
            ("XGROUP CREATE b g 0", ""),
            ("EVAL x 1 b", ""),
            ("EVAL x 2 a b", "left out: CutInTwo"),
            ("EVAL x y a", "left out: UnknownKeys"),
            ("UNHEARD.OF a", "left out: UnknownKeys"),
            ("SORT a STORE ab", "0> as it came"),
            ("SORT a BY w* STORE ab", "left out: CutInTwo"),
            ("SORT b STORE c", ""),
            ("SETEX a 5 v", "0> SET a v; 0> PEXPIREAT a 1005000"),
            ("FLUSHDB", "empties [0]"),
            ("FLUSHALL", "empties []"),
            ("SWAPDB 0 1", "left out: CutInTwo"),
            ("PUBLISH c m", "0> as it came"),
        ],
    );
    let cases = [("FLUSHALL", "empties [5]"), ("DEL a b", "5> DEL a")];
    all(translator(&[(0, 5)], Some("a*")), &cases);
}

#[test]
fn libraries_are_left_out_if_that_is_asked_for() {
    let mut translator = Translator::new(Scope::default(), false, 0);
    assert_eq!(sent(&mut translator, "FUNCTION LOAD x"), "left out: Function");
}

proptest! {
    /// Whatever a stream holds, translating it ends.
    #[test]
    fn any_words_are_translated(
        name in "(?i)(SET|MOVE|COPY|SWAPDB|EXPIRE|SETEX|RESTORE|GETEX|XADD|EVAL|MSET|x{0,3})",
        words in proptest::collection::vec(any::<Vec<u8>>(), 0..6),
        has_pattern: bool,
    ) {
        let mut translator = translator(&[(0, 1)], has_pattern.then_some("a*"));
        let words = std::iter::once(name.as_bytes()).chain(words.iter().map(Vec::as_slice));
        let words: Vec<&[u8]> = words.collect();
        let translated = translator.translate(&words, u64::MAX);
        prop_assert!(!matches!(translated, Translated::LeftOut(Reason::Function)));
    }
}
