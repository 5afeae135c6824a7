use super::{write_distance, write_point};
use crate::testing::{World, check};
use store::value::geo::Point;
use wire::{Protocol, Reply};

fn written(write: impl FnOnce(&mut Reply<'_>)) -> String {
    let mut out = Vec::new();
    write(&mut Reply::new(&mut out, Protocol::Resp2));
    String::from_utf8(out).expect("text").replace("\r\n", " ")
}

#[test]
fn distances_have_four_places_after_the_point() {
    let rows = [
        (0.0, "$6 0.0000 "),
        (0.00004, "$6 0.0000 "),
        (0.00005, "$6 0.0000 "),
        (166_274.151_56, "$11 166274.1516 "),
        (f64::NAN, "$21 -922337203685477.5808 "),
    ];
    for (distance, text) in rows {
        assert_eq!(written(|reply| write_distance(reply, distance)), text, "{distance}");
    }
}

#[test]
fn coordinates_have_as_many_places_as_they_need() {
    let place = Point { longitude: 13.361_389_338_970_184, latitude: -0.0 };
    let text = written(|reply| write_point(reply, place));
    assert_eq!(text, "*2 $20 13.36138933897018433 $1 0 ");
}

#[test]
fn changes_are_counted_as_clients_know_it() {
    let mut world = World::new();
    let mut before = 0;
    for (line, expected) in [
        ("GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania", 2),
        ("GEOADD g 13.361389 38.115556 Palermo", 0),
        ("GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 500 km", 2),
        ("GEORADIUS g 15 37 500 km", 0),
        ("GEORADIUS g 15 37 500 km STORE d", 2),
        ("GEORADIUS g 15 37 1 m STORE d", 1),
        ("GEORADIUS g 15 37 1 m STORE d", 0),
    ] {
        world.answer(line);
        assert_eq!(world.changes() - before, expected, "{line}");
        before = world.changes();
    }
}

#[test]
fn a_key_named_by_an_option_is_locked_with_the_other() {
    let mut world = World::new();
    world.answer("GEOADD g 13.361389 38.115556 Palermo");
    let rows = [
        ("GEORADIUSBYMEMBER g Palermo 1 km COUNT 1 STORE count STOREDIST dist", ":1"),
        ("EXISTS count dist", ":1"),
        ("ZSCORE dist Palermo", "$1 0"),
        ("GEORADIUSBYMEMBER_RO g Palermo 1 km STORE x", "-ERR syntax error"),
    ];
    check(&mut world, &rows);
}
