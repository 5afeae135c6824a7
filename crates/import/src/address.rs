//! Addresses of servers, as they are written on the command line.

use std::path::PathBuf;

/// Address of a server and who asks it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Host and port.
    pub place: String,
    /// Name of the user; the default user if there is none.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// How it is spoken to with TLS; plain without it.
    pub encryption: Option<Encryption>,
}

/// Files for a connection with TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encryption {
    /// Certificates from which that of the server must come, whatever name it carries.
    pub ca: PathBuf,
    /// The own certificate and its key, if the server asks for that.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// Port of servers that name none.
const PORT: &str = "6379";

impl Address {
    /// Reads `redis://[[USER]:PASSWORD@]HOST[:PORT]`, `valkey://...` or `HOST:PORT`, and
    /// `rediss://...` or `valkeys://...` for TLS; `None` if the text is none of them.
    pub fn parse(text: &str) -> Option<Address> {
        let plain = ["redis://", "valkey://"].iter().find_map(|it| text.strip_prefix(it));
        let encrypted = ["rediss://", "valkeys://"].iter().find_map(|it| text.strip_prefix(it));
        let encryption = encrypted.map(|_| Encryption::default());
        let Some(rest) = plain.or(encrypted) else {
            let is_port = port_of(text).is_some_and(|port| port.parse::<u16>().is_ok());
            let is_plain = is_port && !text.contains(['/', '@']);
            return is_plain.then(|| Address { place: text.to_owned(), ..Address::default() });
        };
        let rest = rest.trim_end_matches('/');
        let (who, place) = rest.rsplit_once('@').map_or((None, rest), |(who, at)| (Some(who), at));
        if place.is_empty() || place.contains('/') {
            return None;
        }
        let place =
            if port_of(place).is_some() { place.to_owned() } else { format!("{place}:{PORT}") };
        let (user, password) = match who.map(|who| who.split_once(':').unwrap_or((who, ""))) {
            None => (None, None),
            Some((user, password)) => (decoded(user)?, decoded(password)?),
        };
        Some(Address { place, user, password, encryption })
    }
}

/// The port behind a host, which may be an address in brackets.
fn port_of(place: &str) -> Option<&str> {
    let (host, port) = place.rsplit_once(':')?;
    let is_host = !host.contains(':') || host.ends_with(']');
    is_host.then_some(port)
}

/// A part of an address without `%` and two digits; `Some(None)` if it is empty.
fn decoded(text: &str) -> Option<Option<String>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    Some((!text.is_empty()).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(place: &str, user: Option<&str>, password: Option<&str>) -> Option<Address> {
        let [user, password] = [user, password].map(|it| it.map(str::to_owned));
        Some(Address { place: place.to_owned(), user, password, encryption: None })
    }

    #[test]
    fn addresses_are_hosts_with_ports_or_urls() {
        assert_eq!(Address::parse("localhost:1"), address("localhost:1", None, None));
        assert_eq!(Address::parse("redis://a"), address("a:6379", None, None));
        assert_eq!(Address::parse("redis://[::1]:7/"), address("[::1]:7", None, None));
        assert_eq!(
            Address::parse("valkey://me:a%40b@h:7"),
            address("h:7", Some("me"), Some("a@b"))
        );
        assert_eq!(Address::parse("redis://:secret@h"), address("h:6379", None, Some("secret")));
    }

    #[test]
    fn addresses_with_an_s_are_encrypted() {
        for text in ["rediss://me:secret@h:7", "valkeys://me:secret@h:7"] {
            let parsed = Address::parse(text).expect("an address");
            assert_eq!((parsed.place.as_str(), parsed.encryption.is_some()), ("h:7", true));
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in ["dump.rdb", "a/b:1", "host:port", "redis://", "redis://%x@h", "host:70000"] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
    }
}
