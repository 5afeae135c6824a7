use super::{ArithmeticFlags, DeleteFlags, GetFlags, SetFlags, SetMode};
use crate::Refusal;

fn words(line: &str) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(' ').filter(|word| !word.is_empty()).map(str::as_bytes)
}

/// Flags that Memcached 1.6.45 refuses alike in mg, ms and md, for a key that is no base64.
const REFUSED: &[(&str, Refusal)] = &[
    ("z z", Refusal::InvalidFlag),
    ("z", Refusal::InvalidFlag),
    ("0", Refusal::InvalidFlag),
    ("[", Refusal::InvalidFlag),
    ("k k", Refusal::DuplicateFlag),
    ("k k z", Refusal::DuplicateFlag),
    ("z k k", Refusal::InvalidFlag),
    ("k k Cx", Refusal::DuplicateFlag),
    ("Cx k k", Refusal::DuplicateFlag),
    ("Cx z", Refusal::InvalidFlag),
    ("b z", Refusal::InvalidFlag),
    ("b b", Refusal::DuplicateFlag),
    ("O O", Refusal::DuplicateFlag),
    ("M Mx", Refusal::DuplicateFlag),
    ("q q", Refusal::DuplicateFlag),
    ("b", Refusal::KeyEncoding),
    ("Cx b", Refusal::KeyEncoding),
    ("b Cx", Refusal::FlagNumber),
    ("b Fx", Refusal::KeyEncoding),
    ("Fx b", Refusal::KeyEncoding),
    ("Fx Cx", Refusal::FlagNumber),
    ("Cx Fx", Refusal::FlagNumber),
    ("Mz Cx", Refusal::FlagNumber),
    ("Dx Jx", Refusal::FlagInitial),
    ("Jx Dx", Refusal::FlagDelta),
    ("D", Refusal::FlagDelta),
    ("D-1", Refusal::FlagDelta),
    ("D18446744073709551616", Refusal::FlagDelta),
    ("J", Refusal::FlagInitial),
    ("J18446744073709551616", Refusal::FlagInitial),
    ("C", Refusal::FlagNumber),
    ("C-1", Refusal::FlagNumber),
    ("C18446744073709551616", Refusal::FlagNumber),
    ("E", Refusal::FlagNumber),
    ("E-0", Refusal::FlagNumber),
    ("N", Refusal::FlagNumber),
    ("N2147483648", Refusal::FlagNumber),
    ("R", Refusal::FlagNumber),
    ("T", Refusal::FlagNumber),
    ("Tx", Refusal::FlagNumber),
    ("T+1", Refusal::FlagNumber),
    ("T-2147483649", Refusal::FlagNumber),
    ("F", Refusal::Format),
    ("F-1", Refusal::Format),
    ("F-0", Refusal::Format),
    ("F4294967296", Refusal::Format),
    ("Oaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Refusal::OpaqueTooLong),
    ("Oaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa z", Refusal::InvalidFlag),
    ("Oaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa Cx", Refusal::FlagNumber),
    ("Oaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", Refusal::KeyEncoding),
];

#[test]
fn flags_are_refused_as_measured() {
    for (flags, refusal) in REFUSED {
        assert_eq!(GetFlags::parse(b"k", words(flags)).err(), Some(*refusal), "mg {flags}");
        assert_eq!(SetFlags::parse(b"k", words(flags)).err(), Some(*refusal), "ms {flags}");
        assert_eq!(DeleteFlags::parse(b"k", words(flags)).err(), Some(*refusal), "md {flags}");
    }
}

#[test]
fn arithmetic_has_fewer_reasons_to_refuse() {
    for (flags, refusal) in REFUSED {
        let own = match refusal {
            Refusal::OpaqueTooLong => Refusal::OpaqueTooLong,
            _ => Refusal::ArithmeticFlags,
        };
        assert_eq!(ArithmeticFlags::parse(b"k", words(flags)).err(), Some(own), "ma {flags}");
    }
    let long = [b'k'; 251];
    assert_eq!(ArithmeticFlags::parse(&long, words("Mz")).err(), Some(Refusal::ArithmeticFlags));
    assert_eq!(GetFlags::parse(&long, words("k k")).err(), Some(Refusal::Format));
}

#[test]
fn the_mode_is_looked_at_last_but_for_the_opaque_text() {
    let opaque = "a".repeat(32);
    for flags in ["Mz", "M", "Ms", "Mset", "Me", &format!("Mz O{opaque}"), &format!("O{opaque} Mz")]
    {
        assert_eq!(SetFlags::parse(b"k", words(flags)).err(), Some(Refusal::SetMode), "{flags}");
    }
    for flags in
        ["Mz", "M", "Mi", "Mincr", "Md", &format!("Mz O{opaque}"), &format!("O{opaque} Mz")]
    {
        let refusal = ArithmeticFlags::parse(b"k", words(flags)).err();
        assert_eq!(refusal, Some(Refusal::ArithmeticMode), "{flags}");
    }
    assert!(GetFlags::parse(b"k", words("Mz")).is_ok());
    assert!(DeleteFlags::parse(b"k", words("M")).is_ok());
}

#[test]
fn the_first_letter_of_a_mode_counts() {
    for (flags, mode) in [
        ("", SetMode::Set),
        ("MS", SetMode::Set),
        ("MSz", SetMode::Set),
        ("MSE", SetMode::Set),
        ("ME", SetMode::Add),
        ("MR", SetMode::Replace),
        ("MA", SetMode::Append),
        ("MP", SetMode::Prepend),
    ] {
        assert_eq!(SetFlags::parse(b"k", words(flags)).map(|it| it.mode), Ok(mode), "{flags}");
    }
    for (flags, is_decrement) in
        [("", false), ("MI", false), ("MIx", false), ("M+", false), ("MD", true), ("M-", true)]
    {
        let parsed = ArithmeticFlags::parse(b"k", words(flags)).map(|it| it.is_decrement);
        assert_eq!(parsed, Ok(is_decrement), "{flags}");
    }
}

#[test]
fn what_is_echoed_keeps_its_order() {
    let all = "t s Oxy l k h f c v u x I L P";
    let echoes = |common: super::Common<'_>| common.echoes.letters().to_vec();
    assert_eq!(echoes(GetFlags::parse(b"k", words(all)).unwrap().common), b"tsOlkhfc");
    assert_eq!(echoes(SetFlags::parse(b"k", words(all)).unwrap().common), b"sOkc");
    assert_eq!(echoes(DeleteFlags::parse(b"k", words(all)).unwrap().common), b"Ok");
    assert_eq!(echoes(ArithmeticFlags::parse(b"k", words(all)).unwrap().common), b"tOkc");
    assert_eq!(GetFlags::parse(b"k", words(all)).unwrap().common.opaque, b"xy");
}

#[test]
fn an_opaque_text_has_at_most_31_bytes() {
    let (longest, longer) = (format!("O{}", "a".repeat(31)), format!("O{}", "a".repeat(32)));
    assert_eq!(GetFlags::parse(b"k", words(&longest)).unwrap().common.opaque.len(), 31);
    assert_eq!(GetFlags::parse(b"k", words(&longer)).err(), Some(Refusal::OpaqueTooLong));
    assert_eq!(GetFlags::parse(b"k", words("O")).unwrap().common.opaque, b"");
}

#[test]
fn values_of_flags_are_read() {
    let get = GetFlags::parse(b"YSBi", words("b q u v E5 N-1 R30 T0")).unwrap();
    assert!(get.common.is_base64 && get.common.is_quiet && get.keeps_history && get.wants_value);
    assert_eq!(
        (get.new_cas, get.vivify, get.recache, get.expiry),
        (Some(5), Some(-1), Some(30), Some(0))
    );
    let set = SetFlags::parse(b"k", words("C7 E8 F4294967295 I T2147483647 MA N60")).unwrap();
    assert_eq!((set.compare, set.new_cas, set.item_flags), (Some(7), Some(8), u32::MAX));
    assert_eq!((set.invalidates, set.expiry, set.vivify), (true, Some(i32::MAX), Some(60)));
    let delete = DeleteFlags::parse(b"k", words("C0 E9 I x F3 T-")).unwrap();
    assert_eq!((delete.compare, delete.new_cas), (Some(0), Some(9)));
    assert!(delete.invalidates && delete.drops_value);
    assert_eq!((delete.item_flags, delete.expiry), (Some(3), Some(0)));
    let sum =
        ArithmeticFlags::parse(b"k", words("D007 J18446744073709551615 N0 v T5 C1 E2")).unwrap();
    assert_eq!((sum.delta, sum.initial, sum.vivify, sum.expiry), (7, u64::MAX, Some(0), Some(5)));
    assert!(sum.wants_value && !sum.is_decrement);
}

#[test]
fn what_is_not_given_has_its_usual_value() {
    let sum = ArithmeticFlags::parse(b"k", words("")).unwrap();
    assert_eq!((sum.delta, sum.initial, sum.vivify), (1, 0, None));
    let set = SetFlags::parse(b"k", words("E0")).unwrap();
    assert_eq!((set.new_cas, set.compare, set.item_flags, set.expiry), (None, None, 0, None));
}

#[test]
fn what_is_behind_the_letter_of_a_flag_without_a_value_means_nothing() {
    let get = GetFlags::parse(b"k", words("k? v\tx qq")).unwrap();
    assert!(get.wants_value && get.common.is_quiet && get.common.echoes.letters() == b"k");
}
