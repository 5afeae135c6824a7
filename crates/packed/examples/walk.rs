//! Measures nanoseconds of the operations of commands on a small collection, by number of elements.

use packed::{Element, PackedList, PackedListMut};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 20_000;

fn filled(memory: &mut [u8], pairs: impl Iterator<Item = [String; 2]>) {
    let mut list = PackedListMut::empty_in(memory);
    for [field, value] in pairs {
        let row = [Element::of(field.as_bytes()), Element::of(value.as_bytes())];
        list.insert_row(list.as_list().end(), &row).expect("room");
    }
}

fn nanos(mut work: impl FnMut(usize)) -> f64 {
    let began = Instant::now();
    (0..ROUNDS).for_each(&mut work);
    began.elapsed().as_nanos() as f64 / ROUNDS as f64
}

fn main() {
    println!("pairs   bytes   find equal   find mixed   iterate   queue");
    for pairs in [10, 64, 128, 512] {
        let mut equal = vec![0; 40 * pairs + 100];
        let mut mixed = vec![0; 60 * pairs + 100];
        let value = |number| format!("value-{number:010}");
        let pair = |number: usize| [format!("f{number:07}"), value(number)];
        filled(&mut equal, (0..pairs).map(pair));
        let pair = |number: usize| [format!("{number}{}", "x".repeat(number % 23)), value(number)];
        filled(&mut mixed, (0..pairs).map(pair));
        let find = |memory: &[u8]| {
            let list = PackedList::new(memory);
            let fields: Vec<_> = list.iter().step_by(2).map(Element::to_text).collect();
            nanos(|round| {
                let wanted = Element::of(&fields[round * 7 % pairs]);
                assert!(black_box(list.find(wanted, list.front(), 2)).is_some());
            })
        };
        let iterate =
            nanos(|_| assert!(black_box(PackedList::new(&equal)).iter().count() == 2 * pairs));
        let bytes = PackedList::new(&equal).byte_len();
        let (equal_nanos, mixed_nanos) = (find(&equal), find(&mixed));
        let queue = nanos(|round| {
            let mut list = PackedListMut::new(&mut equal);
            let (field, value) = (format!("f{round:07}"), value(round));
            let row = [Element::of(field.as_bytes()), Element::of(value.as_bytes())];
            list.insert_row(list.as_list().end(), &row).expect("room");
            list.remove(list.as_list().front(), 2);
        });
        println!(
            "{pairs:5} {bytes:7} {equal_nanos:12.0} {mixed_nanos:12.0} {iterate:9.0} {queue:7.0}"
        );
    }
}
