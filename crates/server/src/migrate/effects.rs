//! Effects of MIGRATE on its target: the requests that are sent there.

use base::Millis;
use session::Parcel;
use text::IntegerText;

/// Says who asks: a password, or a user and a password.
pub fn auth(credentials: &[Vec<u8>]) -> Vec<u8> {
    let words = credentials.iter().map(Vec::as_slice);
    encode(std::iter::once(&b"AUTH"[..]).chain(words))
}

/// Selects a database.
pub fn select(database: i64) -> Vec<u8> {
    encode([&b"SELECT"[..], database.to_string().as_bytes()].into_iter())
}

/// Creates a key; `None` if its deadline has passed. What is left of it is sent, as Valkey does, so
/// that the clock of the target may be another one. Another Varve gets the attributes, too, if
/// `is_noted`.
pub fn restore(parcel: &Parcel, replaces: bool, is_noted: bool, now: Millis) -> Option<Vec<u8>> {
    let left = match parcel.deadline {
        None => 0,
        Some(deadline) if deadline < now => return None,
        Some(deadline) => deadline.since(now).max(1),
    };
    let mut millis = IntegerText::new();
    let millis = millis.format_unsigned(left);
    let words = [&b"RESTORE"[..], &parcel.name, millis, &parcel.payload, b"REPLACE"];
    let count = if replaces { 5 } else { 4 };
    let note = [&b"VARVE.NOTED"[..], &parcel.attributes];
    let notes = if is_noted && !parcel.attributes.is_empty() { 2 } else { 0 };
    Some(encode(note.into_iter().take(notes).chain(words.into_iter().take(count))))
}

/// Removes keys.
pub fn del<'n>(names: impl Iterator<Item = &'n [u8]>) -> Vec<u8> {
    let words: Vec<&[u8]> = std::iter::once(&b"DEL"[..]).chain(names).collect();
    encode(words.into_iter())
}

fn encode<'w>(words: impl Iterator<Item = &'w [u8]> + Clone) -> Vec<u8> {
    let bytes: usize = words.clone().map(|word| word.len() + 16).sum();
    let mut request = Vec::with_capacity(bytes + 16);
    request.extend_from_slice(format!("*{}\r\n", words.clone().count()).as_bytes());
    for word in words {
        request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcel(deadline: Option<u64>) -> Parcel {
        let deadline = deadline.map(Millis);
        let [name, payload, attributes] = [&b"k"[..], b"p", b"f5"].map(<[u8]>::to_vec);
        Parcel { name, payload, attributes, deadline, departure: None }
    }

    #[test]
    fn what_is_left_of_a_deadline_is_sent() {
        let text = |deadline, replaces| {
            let request = restore(&parcel(deadline), replaces, false, Millis(1000))?;
            Some(String::from_utf8(request).expect("text").replace("\r\n", " "))
        };
        let expected = "*4 $7 RESTORE $1 k $1 0 $1 p ".to_owned();
        assert_eq!(text(None, false), Some(expected));
        let expected = "*5 $7 RESTORE $1 k $3 500 $1 p $7 REPLACE ".to_owned();
        assert_eq!(text(Some(1500), true), Some(expected));
        assert!(text(Some(1000), false).is_some_and(|it| it.contains("$1 1 ")), "a moment is left");
        assert_eq!(text(Some(999), false), None);
    }

    #[test]
    fn attributes_are_noted_for_a_server_that_knows_them() {
        let text = |parcel: &Parcel| {
            let request = restore(parcel, false, true, Millis(1000)).expect("it has no deadline");
            String::from_utf8(request).expect("text").replace("\r\n", " ")
        };
        let plain = "$7 RESTORE $1 k $1 0 $1 p ";
        assert_eq!(text(&parcel(None)), format!("*6 $11 VARVE.NOTED $2 f5 {plain}"));
        let without = Parcel { attributes: Vec::new(), ..parcel(None) };
        assert_eq!(text(&without), format!("*4 {plain}"));
    }

    #[test]
    fn requests_name_their_words() {
        assert_eq!(select(-1), b"*2\r\n$6\r\nSELECT\r\n$2\r\n-1\r\n");
        assert_eq!(auth(&[b"x".to_vec()]), b"*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n");
        assert_eq!(del([&b"a"[..]].into_iter()), b"*2\r\n$3\r\nDEL\r\n$1\r\na\r\n");
    }
}
