//! Values are read as they were written, in one piece or byte by byte, and damaged ones refused.

use super::*;
use crate::blob::{Listpack, intset};
use crate::output::Output;

/// Parts of a value as lines.
fn lines(value_type: ValueType, bytes: &[u8]) -> Result<Vec<String>, Error> {
    let (mut lines, mut input) = (Vec::new(), Input::new(bytes, 0));
    let is_complete = ValueReader::new(value_type).read(&mut input, |part| {
        lines.push(line(&part));
        Ok::<(), Error>(())
    })?;
    if !is_complete {
        return Err(input.error(Flaw::Ends));
    }
    assert_eq!(input.rest(), b"", "all bytes belong to the value");
    Ok(lines)
}

fn shown(element: &Element<'_>) -> String {
    String::from_utf8_lossy(&element.to_text()).into_owned()
}

fn line(part: &Part<'_>) -> String {
    match part {
        Part::String(text) => shown(&text.element()),
        Part::Element(element) => shown(element),
        Part::Member { member, score } => format!("{} {score}", shown(member)),
        Part::Field { field, value, deadline } => {
            format!("{} {} {deadline:?}", shown(field), shown(value))
        }
        Part::Stream(StreamPart::Entry { id, starts_node, texts }) => {
            let texts: Vec<String> = texts.iter().map(shown).collect();
            format!("{}-{} {starts_node} {}", id.ms, id.seq, texts.join(" "))
        }
        Part::Stream(part) => format!("{part:?}"),
    }
}

/// Reads a value in two pieces, split at every byte, and checks that the parts are the same.
fn returns(value_type: ValueType, output: &Output, expected: &[&str]) {
    let bytes = output.bytes();
    assert_eq!(lines(value_type, bytes).as_deref(), Ok(&expected.map_to_strings()[..]));
    for at_byte in 0..bytes.len() {
        let (mut found, mut reader) = (Vec::new(), ValueReader::new(value_type));
        let mut input = Input::new(&bytes[..at_byte], 0);
        let mut keep = |part: Part<'_>| {
            found.push(line(&part));
            Ok::<(), Error>(())
        };
        let is_complete = reader.read(&mut input, &mut keep).expect("not damaged");
        assert!(!is_complete, "{at_byte} of {} bytes", bytes.len());
        let at = input.at();
        let mut input = Input::new(&bytes[narrow::to_usize(at)..], at);
        assert!(reader.read(&mut input, &mut keep).expect("not damaged"));
        assert_eq!(found, expected.map_to_strings(), "split at {at_byte}");
        skips(value_type, bytes, at_byte);
    }
}

/// Passes over a value in two pieces, and checks that it ends where it does for a reader.
fn skips(value_type: ValueType, bytes: &[u8], at_byte: usize) {
    let mut value = ValueReader::new(value_type);
    let mut input = Input::new(&bytes[..at_byte], 0);
    assert_eq!(value.skip(&mut input), Ok(false), "{at_byte} of {} bytes", bytes.len());
    let at = input.at();
    // Something else follows.
    let rest = [&bytes[narrow::to_usize(at)..], b"more"].concat();
    let mut input = Input::new(&rest, at);
    assert_eq!(value.skip(&mut input), Ok(true), "split at {at_byte}");
    assert_eq!(input.rest(), b"more", "split at {at_byte}");
}

trait MapToStrings {
    fn map_to_strings(&self) -> Vec<String>;
}

impl MapToStrings for [&str] {
    fn map_to_strings(&self) -> Vec<String> {
        self.iter().map(|it| (*it).to_owned()).collect()
    }
}

fn output(write: impl FnOnce(&mut Output)) -> Output {
    let mut output = Output::default();
    write(&mut output);
    output
}

fn listpack(texts: &[&str]) -> Vec<u8> {
    let mut listpack = Listpack::default();
    texts.iter().for_each(|text| listpack.push(Element::of(text.as_bytes())));
    listpack.into_bytes()
}

#[test]
fn texts_one_after_the_other_return() {
    returns(ValueType::String, &output(|it| it.text(b"text")), &["text"]);
    returns(ValueType::String, &output(|it| it.text(b"-300")), &["-300"]);
    let three = output(|it| {
        it.length(3);
        [&b"a"[..], b"", b"12"].iter().for_each(|text| it.text(text));
    });
    returns(ValueType::List, &three, &["a", "", "12"]);
    returns(ValueType::Set, &three, &["a", "", "12"]);
    let fields = output(|it| {
        it.length(2);
        [&b"f"[..], b"v", b"g", b"1"].iter().for_each(|text| it.text(text));
    });
    returns(ValueType::Hash, &fields, &["f v None", "g 1 None"]);
}

#[test]
fn scores_return_as_text_and_as_bytes() {
    let old = output(|it| {
        it.length(3);
        for (member, score) in [(b"a", &b"\x031.5"[..]), (b"b", b"\xfe"), (b"c", b"\xff")] {
            it.text(member);
            it.raw(score);
        }
    });
    returns(ValueType::SortedSetText, &old, &["a 1.5", "b inf", "c -inf"]);
    let new = output(|it| {
        it.length(1);
        it.text(b"a");
        it.raw(&(-0.1_f64).to_le_bytes());
    });
    returns(ValueType::SortedSet, &new, &["a -0.1"]);
}

#[test]
fn scores_that_are_no_numbers_are_refused() {
    let text = output(|it| it.raw(b"\x01\x01a\xfd"));
    assert!(lines(ValueType::SortedSetText, text.bytes()).is_err());
    let bytes = output(|it| {
        it.raw(b"\x01\x01a");
        it.raw(&f64::NAN.to_le_bytes());
    });
    assert!(lines(ValueType::SortedSet, bytes.bytes()).is_err());
    let packed = output(|it| it.blob(&listpack(&["a", "nan"])));
    assert!(lines(ValueType::SortedSetListpack, packed.bytes()).is_err());
}

#[test]
fn deadlines_of_fields_return_from_all_four_forms() {
    let rows = |it: &mut Output, deadline: &[u8]| {
        it.length(1);
        it.text(b"f");
        it.text(b"v");
        it.raw(deadline);
    };
    let valkey = output(|it| rows(it, &77_u64.to_le_bytes()));
    returns(ValueType::HashTimed, &valkey, &["f v Some(77)"]);
    let none = output(|it| rows(it, &(-1_i64).to_le_bytes()));
    returns(ValueType::HashTimed, &none, &["f v None"]);
    for (millis, expected) in [(-2_i64, None), (i64::MIN, None), (0, Some(["f v Some(0)"]))] {
        let bytes = [&b"\x01\x01f\x01v"[..], &millis.to_le_bytes()].concat();
        let found = lines(ValueType::HashTimed, &bytes);
        assert_eq!(found.ok(), expected.map(|it| it.map_to_strings()), "{millis}");
    }
    let spans = output(|it| {
        it.raw(&1000_u64.to_le_bytes());
        it.raw(b"\x02\x00\x01f\x01v\x05\x01g\x01w");
    });
    let expected = ["f v None", "g w Some(1004)"];
    returns(ValueType::HashSpans { has_earliest: true }, &spans, &expected);
    let packed = output(|it| {
        it.raw(&1000_u64.to_le_bytes());
        it.blob(&listpack(&["g", "w", "1004", "f", "v", "0"]));
    });
    let expected = ["g w Some(1004)", "f v None"];
    returns(ValueType::HashTimedListpack { has_earliest: true }, &packed, &expected);
}

#[test]
fn blobs_return() {
    let pairs = output(|it| it.blob(&listpack(&["a", "1", "b", "2.5"])));
    returns(ValueType::HashListpack, &pairs, &["a 1 None", "b 2.5 None"]);
    returns(ValueType::SortedSetListpack, &pairs, &["a 1", "b 2.5"]);
    returns(ValueType::SetListpack, &pairs, &["a", "1", "b", "2.5"]);
    returns(ValueType::SetIntset, &output(|it| it.blob(&intset(&[-5, 70_000]))), &["-5", "70000"]);
    let list = output(|it| {
        it.raw(b"\x02\x02");
        it.blob(&listpack(&["a", "b"]));
        it.raw(b"\x01\x03one");
    });
    returns(ValueType::ListListpacks, &list, &["a", "b", "one"]);
}

#[test]
fn rows_that_are_not_full_are_refused() {
    let odd = output(|it| it.blob(&listpack(&["a", "1", "b"])));
    for value_type in [ValueType::HashListpack, ValueType::SortedSetListpack] {
        let error = lines(value_type, odd.bytes()).expect_err("refused");
        assert!(!error.is_end(), "{error}");
    }
}

fn stream(write_nodes: impl FnOnce(&mut Output), len: u64, last: u64) -> Output {
    output(|it| {
        write_nodes(it);
        [len, last, 0, 5, 1, 4, 0, 9].into_iter().for_each(|number| it.length(number));
        it.length(1);
        it.text(b"group");
        [5, 2, u64::MAX, 1].into_iter().for_each(|number| it.length(number));
        it.raw(&StreamId { ms: 5, seq: 1 }.to_bytes());
        it.raw(&1000_u64.to_le_bytes());
        it.length(3);
        it.length(1);
        it.text(b"consumer");
        it.raw(&2000_u64.to_le_bytes());
        it.raw(&u64::MAX.to_le_bytes());
        it.length(1);
        it.raw(&StreamId { ms: 5, seq: 1 }.to_bytes());
    })
}

fn texts<'t>(words: &'t [&'t str]) -> impl Iterator<Item = Element<'t>> + Clone {
    words.iter().map(|word| Element::of(word.as_bytes()))
}

fn node(ids: &[(u64, &[&str])]) -> StreamNode {
    let id = |ms| StreamId { ms, seq: 1 };
    let mut node = StreamNode::new(id(ids[0].0), texts(ids[0].1));
    ids[1..].iter().for_each(|(ms, words)| node.push(id(*ms), texts(words)));
    node
}

fn push(output: &mut Output, node: StreamNode) {
    output.blob(&node.first_id().to_bytes());
    output.blob(&node.into_bytes());
}

#[test]
fn a_stream_returns_with_its_nodes_facts_and_groups() {
    let facts = "Facts(StreamFacts { len: 4, last_id: StreamId { ms: 8, seq: 0 }, first_id: \
                 StreamId { ms: 5, seq: 1 }, max_deleted: StreamId { ms: 4, seq: 0 }, added: 9 })";
    let written = stream(
        |it| {
            it.length(2);
            let same: &[&str] = &["f", "2", "g", "x"];
            push(it, node(&[(5, &["f", "1", "g", "w"]), (6, same), (7, &["h", "3"])]));
            push(it, node(&[(8, &["f", "4"])]));
        },
        4,
        9,
    );
    let expected = [
        "5-1 true f 1 g w",
        "6-1 false f 2 g x",
        "7-1 false h 3",
        "8-1 true f 4",
        &facts.replace("ms: 8", "ms: 9"),
        "Group { name: [103, 114, 111, 117, 112], last_id: StreamId { ms: 5, seq: 2 }, \
         entries_read: None }",
        "Pending { id: StreamId { ms: 5, seq: 1 }, delivered: 1000, deliveries: 3 }",
        "Consumer { name: [99, 111, 110, 115, 117, 109, 101, 114], seen: 2000, active: None }",
        "Owned(StreamId { ms: 5, seq: 1 })",
    ];
    returns(ValueType::Stream3, &written, &expected);
}

#[test]
fn streams_whose_ids_fall_or_whose_counts_are_wrong_are_refused() {
    let refused = |write: &dyn Fn(&mut Output), len: u64| {
        let written = stream(|it| write(it), len, 100);
        lines(ValueType::Stream3, written.bytes()).is_err_and(|error| !error.is_end())
    };
    let one: &[&str] = &["f", "1"];
    assert!(refused(
        &|it| {
            it.length(1);
            push(it, node(&[(5, one), (4, one)]));
        },
        2
    ));
    assert!(refused(
        &|it| {
            it.length(2);
            push(it, node(&[(5, one)]));
            push(it, node(&[(5, one)]));
        },
        2
    ));
    assert!(refused(
        &|it| {
            it.length(1);
            push(it, node(&[(5, one)]));
        },
        2
    ));
}

#[test]
fn the_last_id_of_a_stream_is_never_below_that_of_its_last_entry() {
    let one: &[&str] = &["f", "1"];
    let written = stream(
        |it| {
            it.length(1);
            push(it, node(&[(5, one), (8, one)]));
        },
        2,
        8,
    );
    let found = lines(ValueType::Stream3, written.bytes()).expect("read");
    assert!(found[2].contains("last_id: StreamId { ms: 8, seq: 1 }"), "{}", found[2]);
}

#[test]
fn a_wrong_number_of_entries_is_refused_or_counted_anew() {
    for told in [0, 1, 3, 70_000] {
        let one: &[&str] = &["f", "1"];
        let write = |it: &mut Output| {
            it.length(1);
            push(it, node(&[(5, one), (8, one)]));
        };
        let (right, wrong) = (stream(write, 2, 9), stream(write, told, 9));
        let error = lines(ValueType::Stream3, wrong.bytes()).expect_err("refused");
        assert_eq!(error.flaw, Flaw::Miscounted { told, found: 2 });
        let (mut reader, mut found) = (ValueReader::counting(ValueType::Stream3), vec![]);
        let read = reader.read(&mut Input::new(wrong.bytes(), 0), |part| {
            found.push(line(&part));
            Ok::<(), Error>(())
        });
        assert_eq!(read, Ok(true));
        assert_eq!(Ok(found), lines(ValueType::Stream3, right.bytes()));
        let Miscount { at, bytes, .. } = reader.miscount().expect("a wrong number");
        let [from, to] = [at, at + bytes].map(narrow::to_usize);
        let mut mended = wrong.bytes().to_vec();
        mended.splice(from..to, output(|it| it.length(2)).bytes().to_vec());
        assert_eq!(mended, right.bytes());
        let mut reader = ValueReader::counting(ValueType::Stream3);
        let read = reader.read(&mut Input::new(right.bytes(), 0), |_| Ok::<(), Error>(()));
        assert_eq!((read, reader.miscount()), (Ok(true), None));
    }
}

#[test]
fn modules_are_refused_by_name() {
    let id = output(|it| it.length(0));
    let error = lines(ValueType::Module, id.bytes()).expect_err("refused");
    assert_eq!(error.flaw, Flaw::Module("AAAAAAAAA".to_owned()));
}

#[test]
fn announced_counts_allocate_nothing() {
    let huge = output(|it| it.length(u64::MAX - 1));
    for number in (0..=25).filter(|number| *number != 6 && *number != 7) {
        let Some(value_type) = ValueType::of(number, crate::Dialect::Redis) else { continue };
        assert!(lines(value_type, huge.bytes()).is_err(), "{value_type:?}");
    }
}
