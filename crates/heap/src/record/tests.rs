//! Records that are read back in all widths.

use super::layout::FAR;
use super::*;
use base::KeyspaceId;

fn round_trip<A: DraftAttributes>(draft: Draft<'_, A>, value: &[u8]) {
    let mut bytes = vec![0xAA; draft.extent() + 8];
    // SAFETY: the buffer is as large as the record and nobody else knows of it.
    unsafe {
        draft.write(bytes.as_mut_ptr());
        let record = Record::at(bytes.as_mut_ptr());
        record.set_value_len(value.len(), draft.value_tag);
        record.value_mut().copy_from_slice(value);
        assert_eq!(record.is_node(), draft.is_node);
        assert_eq!(record.keyspace(), draft.keyspace);
        assert_eq!(record.key(), draft.key);
        assert_eq!(record.value(), value);
        assert_eq!(record.value_tag(), draft.value_tag);
        assert_eq!(record.deadline(), draft.deadline);
        assert_eq!(record.extent() as usize, draft.extent());
        assert_eq!(record.slack(), draft.room - value.len());
        assert_eq!(record.attributes().as_ref(), draft.attributes.get());
        assert_eq!(record.has_attributes(), draft.attributes.get().is_some());
    }
    assert_eq!(bytes[draft.extent()..], [0xAA; 8]);
}

#[test]
fn every_width_of_header_reads_back_what_was_written() {
    let lengths = [0, 1, 16, 255, 256, 300, 65_535, 65_536];
    for keyspace in [0, 255, 256, u16::MAX].map(KeyspaceId) {
        for key_len in [0, 1, 255, 256, 70_000] {
            for value_len in lengths {
                for slack in [0, 1, 254, 255, 256, 70_000] {
                    let deadlines = [1_700_000_000_000, FAR.0 - 1, FAR.0, 1 << 62];
                    for deadline in [None].into_iter().chain(deadlines.map(Some)) {
                        let deadline = deadline.map(Millis);
                        let (key, value) = (vec![b'k'; key_len], vec![b'v'; value_len]);
                        let draft = Draft {
                            is_node: key_len == 1,
                            grows: false,
                            keyspace,
                            value_tag: 0x55,
                            key: &key,
                            value_len,
                            room: value_len + slack,
                            deadline,
                            attributes: NoAttributes,
                        };
                        round_trip(draft, &value);
                    }
                }
            }
            if cfg!(miri) {
                break;
            }
        }
    }
}

#[test]
fn sixteen_and_sixteen_bytes_take_five_more() {
    let draft = Draft {
        is_node: false,
        grows: false,
        keyspace: KeyspaceId(0),
        value_tag: 0,
        key: &[b'k'; 16],
        value_len: 16,
        room: 16,
        deadline: None,
        attributes: NoAttributes,
    };
    assert_eq!(draft.extent(), 37);
    assert_eq!(Draft { deadline: Some(Millis(1)), ..draft }.extent(), 43);
    assert_eq!(Draft { deadline: Some(FAR), ..draft }.extent(), 45);
}

#[test]
fn a_deadline_is_changed_in_place_where_it_fits() {
    let (near, far) = (Some(Millis(FAR.0 - 1)), Some(Millis(i64::MAX as u64)));
    for (first, fitting) in [(near, [near, None, near]), (far, [near, None, far])] {
        let draft = Draft {
            is_node: false,
            grows: false,
            keyspace: KeyspaceId(0),
            value_tag: 0,
            key: b"k",
            value_len: 0,
            room: 0,
            deadline: first,
            attributes: NoAttributes,
        };
        let mut bytes = vec![0; draft.extent()];
        // SAFETY: the buffer is as large as the record and nobody else knows of it.
        unsafe {
            draft.write(bytes.as_mut_ptr());
            let record = Record::at(bytes.as_mut_ptr());
            assert_eq!(record.fits_deadline(far), first == far);
            for deadline in fitting {
                assert!(record.fits_deadline(deadline));
                record.set_deadline(deadline);
                assert_eq!((record.deadline(), record.key()), (deadline, &b"k"[..]));
            }
        }
    }
}

/// Attributes on both sides of each border between widths.
fn borders() -> impl Iterator<Item = Attributes> {
    let flags = [0, 1, 0xff, 0x100, 0xffff, 0x1_0000, u32::MAX];
    let rest = [(None, 0), (None, 0x80), (Some(0), 0), (Some(u64::MAX), 0xff)];
    let all = flags.into_iter().flat_map(move |flags| rest.map(|rest| (flags, rest)));
    all.map(|(flags, (cas, marks))| Attributes { flags, cas, marks })
}

#[test]
fn attributes_of_every_width_read_back_beside_every_width_of_header() {
    let key_lens = if cfg!(miri) { vec![16, 256] } else { vec![0, 16, 255, 256, 70_000] };
    let lens = if cfg!(miri) { vec![16, 300] } else { vec![0, 16, 255, 256, 65_535, 65_536] };
    for attributes in borders() {
        for (key_len, value_len) in
            key_lens.iter().flat_map(|key_len| lens.iter().map(move |len| (*key_len, *len)))
        {
            let (key, value) = (vec![b'k'; key_len], vec![b'v'; value_len]);
            for (keyspace, slack, deadline) in [
                (0, 0, None),
                (255, 1, Some(Millis(1_700_000_000_000))),
                (256, 255, Some(FAR)),
                (u16::MAX, 256, None),
            ] {
                let draft = Draft {
                    is_node: false,
                    grows: false,
                    keyspace: KeyspaceId(keyspace),
                    value_tag: 0x2a,
                    key: &key,
                    value_len,
                    room: value_len + slack,
                    deadline,
                    attributes: NoAttributes,
                };
                round_trip(draft.with_attributes(Some(attributes)), &value);
            }
        }
    }
}

/// A record of one key without slack, with these attributes and deadline, for `act`.
fn with_record(
    attributes: Option<Attributes>,
    deadline: Option<Millis>,
    act: impl FnOnce(Record<'_>),
) {
    let draft = Draft {
        is_node: false,
        grows: false,
        keyspace: KeyspaceId(0),
        value_tag: 0x2a,
        key: b"key",
        value_len: 5,
        room: 5,
        deadline,
        attributes,
    };
    let mut bytes = vec![0xAA; draft.extent() + 8];
    // SAFETY: the buffer is as large as the record and nobody else knows of it.
    unsafe {
        draft.write(bytes.as_mut_ptr());
        let record = Record::at(bytes.as_mut_ptr());
        record.set_value_len(5, draft.value_tag);
        record.value_mut().copy_from_slice(b"value");
        act(record);
        let record = Record::at(bytes.as_mut_ptr());
        assert_eq!((record.key(), record.value()), (&b"key"[..], &b"value"[..]));
        assert_eq!(record.deadline(), deadline);
    }
    assert_eq!(bytes[draft.extent()..], [0xAA; 8]);
}

#[test]
fn attributes_change_in_place_where_they_fit_and_nothing_else_does() {
    let some = || borders().step_by(if cfg!(miri) { 5 } else { 1 });
    for (first, next) in some().flat_map(|first| some().map(move |next| (first, next))) {
        let fits_flags = match first.flags {
            0 => next.flags == 0,
            1..=0xff => next.flags <= 0xff,
            0x100..=0xffff => next.flags <= 0xffff,
            _ => true,
        };
        let fits_cas = next.cas.is_none() || first.cas.is_some();
        let fits = fits_flags && fits_cas && (next.marks == 0 || first.marks != 0);
        for deadline in [None, Some(Millis(7)), Some(FAR)] {
            with_record(Some(first), deadline, |record| {
                assert_eq!(record.fits_attributes(&next), fits, "{first:?} {next:?}");
                if fits {
                    let kept = Attributes { cas: first.cas.and(next.cas.or(Some(0))), ..next };
                    // SAFETY: the fixture's buffer is used by this thread alone.
                    unsafe {
                        record.set_attributes(&next);
                        assert_eq!(record.attributes(), Some(kept));
                    }
                }
            });
        }
    }
}

#[test]
fn a_record_without_attributes_has_room_for_none() {
    with_record(None, Some(Millis(7)), |record| {
        assert!(record.fits_attributes(&Attributes::default()));
        assert!(borders().skip(1).all(|attributes| !record.fits_attributes(&attributes)));
        // SAFETY: the fixture's buffer is used by this thread alone.
        unsafe {
            record.set_attributes(&Attributes::default());
            assert_eq!(record.attributes(), None);
        }
    });
}

#[test]
fn a_value_tag_changes_in_place_and_slack_stays() {
    with_record(Some(Attributes::default()), None, |record| {
        // SAFETY: the fixture's buffer is used by this thread alone.
        unsafe {
            record.set_value_tag(0x7f);
            assert_eq!((record.value_tag(), record.slack()), (0x7f, 0));
            record.set_value_len(3, 0x7f);
            record.set_value_tag(0);
            assert_eq!((record.value_tag(), record.slack()), (0, 2));
            record.set_value_len(5, 0x2a);
            record.value_mut().copy_from_slice(b"value");
        }
    });
}

#[test]
fn attributes_take_a_byte_and_what_they_need() {
    let extent_of = |attributes| {
        let mut extent = 0;
        with_record(attributes, None, |record| extent = record.extent());
        extent
    };
    let plain = extent_of(None);
    let rows = [
        (Attributes::default(), 1),
        (Attributes { flags: 255, ..Attributes::default() }, 2),
        (Attributes { flags: 256, ..Attributes::default() }, 3),
        (Attributes { flags: 65_536, ..Attributes::default() }, 5),
        (Attributes { cas: Some(0), ..Attributes::default() }, 9),
        (Attributes { marks: 1, ..Attributes::default() }, 2),
        (Attributes { flags: 1, cas: Some(1), marks: 0 }, 10),
        (Attributes { flags: u32::MAX, cas: Some(1), marks: 1 }, 14),
    ];
    for (attributes, bytes) in rows {
        assert_eq!(extent_of(Some(attributes)), plain + bytes, "{attributes:?}");
    }
}

#[test]
fn no_record_takes_more_than_the_most_besides_key_and_value() {
    let key = [b'k'; 300];
    let draft = Draft {
        is_node: false,
        grows: false,
        keyspace: KeyspaceId(u16::MAX),
        value_tag: 0,
        key: &key,
        value_len: 70_000,
        room: 70_000,
        deadline: Some(FAR),
        attributes: Some(Attributes { flags: u32::MAX, cas: Some(1), marks: 1 }),
    };
    assert_eq!(draft.extent() - draft.key.len() - draft.room, 34);
    assert!(draft.extent() - draft.key.len() - draft.room <= RECORD_OVERHEAD_MAX);
}
