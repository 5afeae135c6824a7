use super::{
    Expiry, block_length, item_expiry, item_flags, signed32, stored, unsigned32, unsigned64,
};

/// What `incr n 1` of Memcached 1.6.45 made of an item, and of what it could make nothing.
#[test]
fn items_hold_numbers_as_measured() {
    for (value, expected) in [
        ("007", Some(7)),
        (" 7", Some(7)),
        ("7 ", Some(7)),
        ("+7", Some(7)),
        ("7 a", Some(7)),
        ("7  a", Some(7)),
        ("-7", None),
        ("", None),
        (" ", None),
        ("+", None),
        ("7a", None),
        ("+-7", None),
        ("++7", None),
        ("0x7", None),
        ("7.0", None),
        ("\t7", Some(7)),
        ("7\t", Some(7)),
        ("7\0", Some(7)),
        ("7\n", Some(7)),
        ("\u{b}7", Some(7)),
        ("7\u{b}", Some(7)),
        ("\r7", Some(7)),
        ("7\r", Some(7)),
        ("  +07", Some(7)),
        ("-0", Some(0)),
        ("00000000000000000000007", Some(7)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551615 ", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("99999999999999999999", None),
        ("-18446744073709551615", Some(1)),
    ] {
        assert_eq!(stored(value.as_bytes()), expected, "{value:?}");
    }
    assert_eq!(stored(b"7\xff"), None);
}

#[test]
fn flags_of_set_are_taken_as_measured() {
    for (text, expected) in [
        ("0", Some(0)),
        ("4294967295", Some(u32::MAX)),
        ("4294967296", Some(0)),
        ("4294967297", Some(1)),
        ("9223372036854775807", Some(u32::MAX)),
        ("18446744073709551615", Some(u32::MAX)),
        ("18446744073709551616", None),
        ("-1", None),
        ("-2", None),
        ("-0", Some(0)),
        ("-9223372036854775808", None),
        ("-9223372036854775809", Some(u32::MAX)),
        ("-18446744073709551615", Some(1)),
        ("+1", Some(1)),
        ("+", None),
        ("01", Some(1)),
        ("010", Some(10)),
        ("\t1", Some(1)),
        ("5\tx", Some(5)),
        ("5\0", Some(5)),
        ("x", None),
        ("1x", None),
        ("1.5", None),
        ("00000000000000000000000000000000001", Some(1)),
    ] {
        assert_eq!(item_flags(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn the_expiry_of_set_is_taken_as_measured() {
    for (text, expected) in [
        ("0", Some(0)),
        ("-1", Some(-1)),
        ("+1", Some(1)),
        ("-0", Some(0)),
        ("2592000", Some(2_592_000)),
        ("2147483647", Some(i32::MAX)),
        ("2147483648", Some(i32::MIN)),
        ("4294967296", Some(0)),
        ("4294967297", Some(1)),
        ("-4294967295", Some(1)),
        ("-2147483649", Some(i32::MAX)),
        ("9223372036854775807", Some(-1)),
        ("9223372036854775808", None),
        ("-9223372036854775808", Some(0)),
        ("-9223372036854775809", None),
        ("\t1", Some(1)),
        ("5\u{b}x", Some(5)),
        ("-", None),
        ("-x", None),
        ("--1", None),
        ("x", None),
        ("1x", None),
        ("1.5", None),
    ] {
        assert_eq!(item_expiry(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn other_expiries_have_32_bits() {
    for (text, expected) in [
        ("0", Some(0)),
        ("-1", Some(-1)),
        ("-0", Some(0)),
        ("-", Some(0)),
        ("01", Some(1)),
        ("00000000001", Some(1)),
        ("000000000001", None),
        ("-0000000001", Some(-1)),
        ("-00000000001", None),
        ("2147483647", Some(i32::MAX)),
        ("2147483648", None),
        ("-2147483648", Some(i32::MIN)),
        ("-2147483649", None),
        ("", None),
        ("+1", None),
        ("\t1", None),
        ("1x", None),
        ("--1", None),
        ("1.5", None),
    ] {
        assert_eq!(signed32(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn a_length_is_below_2_147_483_646_and_not_negative() {
    for (text, expected) in [
        ("0", Some(0)),
        ("01", Some(1)),
        ("-", Some(0)),
        ("-0", Some(0)),
        ("-1", None),
        ("2147483645", Some(2_147_483_645)),
        ("2147483646", None),
        ("4294967297", None),
        ("99999999999999999999", None),
        ("+1", None),
        ("0x1", None),
        ("1\0", None),
    ] {
        assert_eq!(block_length(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn numbers_without_a_sign_are_digits_alone() {
    for (text, expected) in [
        ("0", Some(0)),
        ("007", Some(7)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("0000000000000000000001", Some(1)),
        ("00000000000000000000001", None),
        ("", None),
        ("-0", None),
        ("-", None),
        ("+1", None),
        ("\t1", None),
        ("1\0", None),
        ("x", None),
    ] {
        assert_eq!(unsigned64(text.as_bytes()), expected, "{text:?}");
    }
    for (text, expected) in [
        ("4294967295", Some(u32::MAX)),
        ("4294967296", None),
        ("00000000001", Some(1)),
        ("000000000001", None),
        ("", None),
        ("-0", None),
    ] {
        assert_eq!(unsigned32(text.as_bytes()), expected, "{text:?}");
    }
}

#[test]
fn an_expiry_counts_from_now_for_30_days_and_then_from_1970() {
    assert_eq!(Expiry::of(0), Expiry::Never);
    assert_eq!(Expiry::of(-1), Expiry::AtOnce);
    assert_eq!(Expiry::of(i32::MIN), Expiry::AtOnce);
    assert_eq!(Expiry::of(1), Expiry::InSeconds(1));
    assert_eq!(Expiry::of(2_592_000), Expiry::InSeconds(2_592_000));
    assert_eq!(Expiry::of(2_592_001), Expiry::AtUnixSeconds(2_592_001));
}
