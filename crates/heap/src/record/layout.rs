//! Layout of a record: the bits of its form and state, the widths of its lengths, and the size of
//! its slack.

use base::Millis;

pub(super) const FORM_RECORD: u8 = 1 << 0;
pub(super) const FORM_DEADLINE: u8 = 1 << 1;
pub(super) const FORM_WIDE_KEYSPACE: u8 = 1 << 2;
pub(super) const FORM_WIDE_KEY: u8 = 1 << 3;
/// Position of the two bits that give the width of the room's length: one, two or four bytes, or
/// [`FORM_SHAPED`].
pub(super) const FORM_ROOM_SHIFT: u8 = 4;
pub(super) const FORM_ROOM: u8 = 3;
/// Their value in a record with attributes, whose shape byte gives the width.
pub(super) const FORM_SHAPED: u8 = 3;
pub(super) const FORM_NODE: u8 = 1 << 6;
pub(super) const FORM_FAR_DEADLINE: u8 = 1 << 7;
/// Form of most nodes of collections: a room's length of two bytes, nothing else wide.
pub(super) const FORM_LARGE_NODE: u8 = FORM_RECORD | FORM_NODE | 1 << FORM_ROOM_SHIFT;

/// Bits of a shape byte that give the width of the room's length, as those of a form do.
pub(super) const SHAPE_ROOM: u8 = 3;
/// Position of the two bits that give the width of the flags: none, one, two or four bytes.
pub(super) const SHAPE_FLAGS_SHIFT: u8 = 2;
pub(super) const SHAPE_FLAGS: u8 = 3;
/// Bit of a record with a place for a CAS value.
pub(super) const SHAPE_CAS: u8 = 1 << 4;
/// Bit of a record with a byte of marks.
pub(super) const SHAPE_MARKS: u8 = 1 << 5;
/// Bytes of the place for a CAS value.
pub(super) const CAS_BYTES: usize = 8;

pub(super) const STATE_SLACK: u8 = 1 << 7;
/// Mask of the seven bits that belong to the store: kind and encoding of the value.
pub(super) const STATE_VALUE_TAG: u8 = STATE_SLACK - 1;

/// Bytes of a deadline, enough until the year 10889; later deadlines take eight bytes.
pub(super) const DEADLINE_BYTES: usize = 6;
pub(super) const FAR_DEADLINE_BYTES: usize = 8;
/// First deadline that does not fit into six bytes; all bits set mean no deadline.
pub(super) const FAR: Millis = Millis((1 << 48) - 1);
/// Last byte of slack whose size does not fit into one byte; the size is in the four bytes before.
pub(super) const SLACK_WIDE: u8 = 255;

/// Bits of `Parts::extras` that hold the width of the deadline in bytes.
pub(super) const EXTRAS_DEADLINE: u64 = 15;
/// Bit of a record with attributes.
pub(super) const EXTRAS_ATTRIBUTES: u64 = 1 << 4;
/// Position of its shape byte.
pub(super) const EXTRAS_SHAPE_SHIFT: u64 = 8;

/// Offsets of a record's parts, from its begin, and the room of its value. Whole words, since the
/// processor is slow to read back as one word what was written as two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// What stands right before the key: zero for nothing, so that one comparison tells.
    pub(super) extras: u64,
    pub(super) key: u64,
    pub(super) value: u64,
    pub(super) room: u64,
}

#[inline]
pub(super) fn deadline_width(deadline: Millis) -> usize {
    if deadline < FAR { DEADLINE_BYTES } else { FAR_DEADLINE_BYTES }
}

#[inline]
pub(super) fn deadline_form(deadline: Millis) -> u8 {
    FORM_DEADLINE | if deadline < FAR { 0 } else { FORM_FAR_DEADLINE }
}

#[inline]
pub(super) fn room_width(room: usize) -> u8 {
    if room <= 0xff { 0 } else { 1 + u8::from(room > 0xffff) }
}

/// # Safety
/// `width` bytes at `to` are the caller's to write; `width` is at most four.
#[inline]
pub(super) unsafe fn put(to: *mut u8, number: u32, width: usize) -> *mut u8 {
    // SAFETY: as the caller says.
    unsafe {
        to.copy_from_nonoverlapping(number.to_le_bytes().as_ptr(), width);
        to.add(width)
    }
}

/// # Safety
/// `width` bytes at `from` are readable; `width` is one, two or four.
#[inline]
pub(super) unsafe fn get(from: *const u8, width: usize) -> u32 {
    // SAFETY: as the caller says.
    unsafe {
        match width {
            1 => u32::from(from.read()),
            2 => u32::from(u16::from_le_bytes(from.cast::<[u8; 2]>().read())),
            _ => u32::from_le_bytes(from.cast::<[u8; 4]>().read()),
        }
    }
}

/// # Safety
/// A record with form `form` and single-byte lengths begins at `begin`.
#[inline]
pub(super) unsafe fn narrow_parts(begin: *const u8, form: u8) -> Parts {
    let deadline_bytes = if form & FORM_DEADLINE != 0 { DEADLINE_BYTES as u64 } else { 0 };
    // SAFETY: as the caller says.
    let (key, room) = unsafe { (u64::from(begin.add(3).read()), u64::from(begin.add(4).read())) };
    Parts { extras: deadline_bytes, key: 5 + deadline_bytes, value: 5 + deadline_bytes + key, room }
}

/// # Safety
/// A record with form `FORM_LARGE_NODE` begins at `begin`.
#[inline]
pub(super) unsafe fn large_node_parts(begin: *const u8) -> Parts {
    // SAFETY: as the caller says.
    let (key, room) = unsafe { (u64::from(begin.add(3).read()), get(begin.add(4), 2)) };
    Parts { extras: 0, key: 6, value: 6 + key, room: u64::from(room) }
}

/// Out of line, so that look-ups, which meet few such records, stay short.
///
/// # Safety
/// A record with form `form` begins at `begin`.
#[inline(never)]
pub(super) unsafe fn wide_parts(begin: *const u8, form: u8) -> Parts {
    if form & !(FORM_RECORD | FORM_DEADLINE) == FORM_SHAPED << FORM_ROOM_SHIFT {
        // SAFETY: a record of this form has the byte.
        let shape = unsafe { begin.add(4).read() };
        if shape & SHAPE_ROOM == 0 {
            // SAFETY: as the caller says, and all lengths are single bytes.
            return unsafe { shaped_parts(begin, form, shape) };
        }
    }
    // Six bytes, and two more for a far deadline.
    let deadline_bytes = usize::from(form & FORM_DEADLINE) / usize::from(FORM_DEADLINE)
        * DEADLINE_BYTES
        + usize::from(form & FORM_FAR_DEADLINE) / usize::from(FORM_FAR_DEADLINE)
            * (FAR_DEADLINE_BYTES - DEADLINE_BYTES);
    let key_at = 3 + usize::from(form & FORM_WIDE_KEYSPACE != 0);
    let key_width = if form & FORM_WIDE_KEY != 0 { 4 } else { 1 };
    let (mut room_at, mut extras) = (key_at + key_width, deadline_bytes as u64);
    let mut shape = form >> FORM_ROOM_SHIFT & FORM_ROOM;
    if shape == FORM_SHAPED {
        // SAFETY: a record of this form has the byte.
        shape = unsafe { begin.add(room_at).read() };
        room_at += 1;
        extras |= EXTRAS_ATTRIBUTES | u64::from(shape) << EXTRAS_SHAPE_SHIFT;
    }
    let room_width = 1 << (shape & SHAPE_ROOM);
    let key_begin = (room_at + room_width + attribute_bytes(shape) + deadline_bytes) as u64;
    // SAFETY: as the caller says.
    let (key, room) =
        unsafe { (get(begin.add(key_at), key_width), get(begin.add(room_at), room_width)) };
    Parts { extras, key: key_begin, value: key_begin + u64::from(key), room: u64::from(room) }
}

/// # Safety
/// A record with form `form`, attributes of shape `shape` and single-byte lengths begins at
/// `begin`.
#[inline]
unsafe fn shaped_parts(begin: *const u8, form: u8, shape: u8) -> Parts {
    let deadline_bytes = if form & FORM_DEADLINE != 0 { DEADLINE_BYTES as u64 } else { 0 };
    let key_begin = 6 + attribute_bytes(shape) as u64 + deadline_bytes;
    // SAFETY: as the caller says.
    let (key, room) = unsafe { (u64::from(begin.add(3).read()), u64::from(begin.add(5).read())) };
    let extras = deadline_bytes | EXTRAS_ATTRIBUTES | u64::from(shape) << EXTRAS_SHAPE_SHIFT;
    Parts { extras, key: key_begin, value: key_begin + key, room }
}

/// Bits that give the width of flags in a shape byte.
#[inline]
pub(super) fn flags_code(flags: u32) -> u8 {
    match flags {
        0 => 0,
        1..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 3,
    }
}

/// Width of the flags in bytes.
#[inline]
pub(super) fn flags_width(shape: u8) -> usize {
    (1 << (shape >> SHAPE_FLAGS_SHIFT & SHAPE_FLAGS)) >> 1
}

/// Bytes of all attributes behind the room's length.
#[inline]
pub(super) fn attribute_bytes(shape: u8) -> usize {
    usize::from(ATTRIBUTE_BYTES[usize::from(shape >> SHAPE_FLAGS_SHIFT & 15)])
}

/// The same, by the four bits of a shape that tell it: the width of flags, and what else there is.
const ATTRIBUTE_BYTES: [u8; 16] = [0, 1, 2, 4, 8, 9, 10, 12, 1, 2, 3, 5, 9, 10, 11, 13];
const _: () = assert!(SHAPE_CAS >> SHAPE_FLAGS_SHIFT == 4 && SHAPE_MARKS >> SHAPE_FLAGS_SHIFT == 8);

/// # Safety
/// `slack` bytes before `end` are the caller's to write.
#[inline]
pub(super) unsafe fn write_slack(end: *mut u8, slack: usize) {
    // SAFETY: a wide size is written only where the slack is wider than its five bytes.
    unsafe {
        if slack < usize::from(SLACK_WIDE) {
            end.sub(1).write(narrow::to_u8(slack));
        } else {
            end.sub(1).write(SLACK_WIDE);
            put(end.sub(5), narrow::to_u32(slack), 4);
        }
    }
}

/// # Safety
/// Slack written by `write_slack` ends at `end`.
#[inline]
pub(super) unsafe fn read_slack(end: *const u8) -> usize {
    // SAFETY: as the caller says.
    unsafe {
        match end.sub(1).read() {
            SLACK_WIDE => get(end.sub(5), 4) as usize,
            slack => usize::from(slack),
        }
    }
}
