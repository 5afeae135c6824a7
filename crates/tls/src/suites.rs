//! Versions of TLS and cipher suites, by the names that OpenSSL gives them.
//!
//! Lists are those of OpenSSL as far as they can be: names and words such as `ECDHE` or `AESGCM`,
//! also several with `+` between them, separated by colons, commas or blanks. A leading `-` or `!`
//! takes suites away, for good with the latter, and `+` moves them to the end. What names only
//! suites that do not exist here is passed over.

use rustls::crypto::aws_lc_rs::cipher_suite;
use rustls::{SupportedCipherSuite, SupportedProtocolVersion, version};
use thiserror::Error;

/// What is wrong with a list.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ChoiceError {
    /// A word that names no version.
    #[error("'{0}' is no version of TLS: use 'TLSv1.2' and 'TLSv1.3'")]
    UnknownVersion(String),
    /// Only versions that are not spoken.
    #[error("'{0}' has no version that this server speaks: use 'TLSv1.2' and 'TLSv1.3'")]
    NoVersion(String),
    /// Only suites that do not exist.
    #[error("'{0}' has no suite that exists here: {1}")]
    NoSuite(String, &'static str),
}

const EXISTING: &str = "of TLS 1.2, those with ECDHE and AES-GCM or ChaCha20 exist, and of TLS \
    1.3, TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384 and TLS_CHACHA20_POLY1305_SHA256";

/// Versions that are spoken.
#[derive(Clone, Debug)]
pub struct Versions {
    pub(crate) versions: Vec<&'static SupportedProtocolVersion>,
}

impl Versions {
    /// Reads a list of versions; an empty one stands for all that are spoken. Returns with it the
    /// words that name what is not spoken.
    ///
    /// # Errors
    /// When a word names no version, or none of those is spoken.
    pub fn read(words: &str) -> Result<(Versions, Vec<String>), ChoiceError> {
        let (mut versions, mut passed_over) = (Vec::new(), Vec::new());
        for word in words.split_ascii_whitespace() {
            match word.to_ascii_lowercase().as_str() {
                "tlsv1.2" => versions.push(&version::TLS12),
                "tlsv1.3" => versions.push(&version::TLS13),
                "tlsv1" | "tlsv1.1" => passed_over.push(word.to_owned()),
                _ => return Err(ChoiceError::UnknownVersion(word.to_owned())),
            }
        }
        if words.trim().is_empty() {
            versions = vec![&version::TLS12, &version::TLS13];
        }
        if versions.is_empty() {
            return Err(ChoiceError::NoVersion(words.to_owned()));
        }
        Ok((Versions { versions }, passed_over))
    }
}

/// A suite, its name, and words that name it with others.
struct Suite {
    name: &'static str,
    words: &'static [&'static str],
    suite: SupportedCipherSuite,
}

/// Suites of TLS 1.2, the preferred first.
const OF_TLS_1_2: [Suite; 6] = [
    Suite {
        name: "ECDHE-ECDSA-AES256-GCM-SHA384",
        words: &["ECDSA", "aECDSA", "AESGCM", "AES256", "AES", "SHA384"],
        suite: cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    },
    Suite {
        name: "ECDHE-RSA-AES256-GCM-SHA384",
        words: &["aRSA", "AESGCM", "AES256", "AES", "SHA384"],
        suite: cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    },
    Suite {
        name: "ECDHE-ECDSA-AES128-GCM-SHA256",
        words: &["ECDSA", "aECDSA", "AESGCM", "AES128", "AES", "SHA256"],
        suite: cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    },
    Suite {
        name: "ECDHE-RSA-AES128-GCM-SHA256",
        words: &["aRSA", "AESGCM", "AES128", "AES", "SHA256"],
        suite: cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    },
    Suite {
        name: "ECDHE-ECDSA-CHACHA20-POLY1305",
        words: &["ECDSA", "aECDSA", "CHACHA20"],
        suite: cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    },
    Suite {
        name: "ECDHE-RSA-CHACHA20-POLY1305",
        words: &["aRSA", "CHACHA20"],
        suite: cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    },
];

/// Words that name all of them.
const OF_ALL: [&str; 8] =
    ["ALL", "DEFAULT", "HIGH", "ECDHE", "kECDHE", "EECDH", "kEECDH", "TLSv1.2"];

const OF_TLS_1_3: [(&str, SupportedCipherSuite); 3] = [
    ("TLS_AES_256_GCM_SHA384", cipher_suite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", cipher_suite::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", cipher_suite::TLS13_CHACHA20_POLY1305_SHA256),
];

/// Cipher suites in the order of preference.
#[derive(Clone, Debug)]
pub struct Suites {
    pub(crate) suites: Vec<SupportedCipherSuite>,
}

impl Suites {
    /// Reads both lists, that of TLS 1.2 and before and that of TLS 1.3; an empty one stands for
    /// all suites. Returns with them the words that name no suite that exists.
    ///
    /// # Errors
    /// When a list is left without any suite.
    pub fn read(ciphers: &str, ciphersuites: &str) -> Result<(Suites, Vec<String>), ChoiceError> {
        let mut passed_over = Vec::new();
        let mut suites = read_ciphersuites(ciphersuites, &mut passed_over)?;
        suites.extend(read_ciphers(ciphers, &mut passed_over)?);
        Ok((Suites { suites }, passed_over))
    }
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split([':', ',', ' ', ';']).filter(|word| !word.is_empty())
}

fn read_ciphersuites(
    list: &str,
    passed_over: &mut Vec<String>,
) -> Result<Vec<SupportedCipherSuite>, ChoiceError> {
    if words(list).next().is_none() {
        return Ok(OF_TLS_1_3.map(|(_, suite)| suite).to_vec());
    }
    let mut chosen: Vec<SupportedCipherSuite> = Vec::new();
    for word in words(list) {
        match OF_TLS_1_3.iter().find(|(name, _)| *name == word) {
            Some((_, suite)) if chosen.contains(suite) => {}
            Some((_, suite)) => chosen.push(*suite),
            None => passed_over.push(word.to_owned()),
        }
    }
    if chosen.is_empty() {
        return Err(ChoiceError::NoSuite(list.to_owned(), EXISTING));
    }
    Ok(chosen)
}

fn read_ciphers(
    list: &str,
    passed_over: &mut Vec<String>,
) -> Result<Vec<SupportedCipherSuite>, ChoiceError> {
    let all: Vec<usize> = (0..OF_TLS_1_2.len()).collect();
    if words(list).next().is_none() {
        return Ok(suites_of(&all));
    }
    let (mut chosen, mut killed): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for word in words(list) {
        if word.starts_with('@') {
            passed_over.push(word.to_owned());
            continue;
        }
        let (act, names) = match word.as_bytes()[0] {
            act @ (b'-' | b'!' | b'+') => (act, &word[1..]),
            _ => (b' ', word),
        };
        let named: Vec<usize> = all.iter().copied().filter(|at| is_named(*at, names)).collect();
        if named.is_empty() {
            passed_over.push(word.to_owned());
        }
        match act {
            b'-' => chosen.retain(|at| !named.contains(at)),
            b'!' => {
                chosen.retain(|at| !named.contains(at));
                killed.extend(named);
            }
            b'+' => {
                let moved: Vec<usize> =
                    chosen.iter().copied().filter(|at| named.contains(at)).collect();
                chosen.retain(|at| !named.contains(at));
                chosen.extend(moved);
            }
            _ => {
                let is_new = |at: &usize| !chosen.contains(at) && !killed.contains(at);
                let added: Vec<usize> = named.into_iter().filter(is_new).collect();
                chosen.extend(added);
            }
        }
    }
    if chosen.is_empty() {
        return Err(ChoiceError::NoSuite(list.to_owned(), EXISTING));
    }
    Ok(suites_of(&chosen))
}

/// Returns true if a name, or all words of it, name the suite.
fn is_named(at: usize, names: &str) -> bool {
    let suite = &OF_TLS_1_2[at];
    names
        .split('+')
        .all(|word| suite.name == word || suite.words.contains(&word) || OF_ALL.contains(&word))
}

fn suites_of(places: &[usize]) -> Vec<SupportedCipherSuite> {
    places.iter().map(|at| OF_TLS_1_2[*at].suite).collect()
}

#[cfg(test)]
mod tests {
    use super::{ChoiceError, Suites, Versions};

    fn names(ciphers: &str) -> Vec<String> {
        let (suites, _) = Suites::read(ciphers, "").expect("some suite");
        suites.suites.iter().skip(3).map(|it| format!("{:?}", it.suite())).collect()
    }

    #[test]
    fn a_list_without_any_suite_that_exists_is_refused_by_name() {
        for list in ["AES128-SHA256", "ALL:!ALL", "-ALL", "AES128-SHA256:AES256-SHA256"] {
            let error = Suites::read(list, "").expect_err(list);
            assert!(matches!(error, ChoiceError::NoSuite(named, _) if named == list));
        }
        assert!(Suites::read("", "TLS_NOTHING").is_err());
    }

    #[test]
    fn suites_that_do_not_exist_are_passed_over_and_told() {
        let (suites, passed_over) = Suites::read(
            "DEFAULT:-AES128-SHA256:@SECLEVEL=2",
            "TLS_AES_128_CCM_SHA256:TLS_AES_128_GCM_SHA256",
        )
        .expect("the others exist");
        assert_eq!(suites.suites.len(), 7);
        assert_eq!(passed_over, ["TLS_AES_128_CCM_SHA256", "-AES128-SHA256", "@SECLEVEL=2"]);
    }

    #[test]
    fn words_name_several_suites_and_signs_take_away_or_move() {
        assert_eq!(names("ECDHE-RSA-AES128-GCM-SHA256").len(), 1);
        assert_eq!(names("ECDHE+AESGCM").len(), 4);
        assert_eq!(names("ECDSA:aRSA+CHACHA20").len(), 4);
        assert_eq!(names("ALL:-AES256").len(), 4);
        assert_eq!(names("!CHACHA20:ALL:CHACHA20").len(), 4);
        let moved = names("ALL:+AESGCM");
        assert!(moved[0].contains("CHACHA20") && moved[5].contains("AES_128"), "{moved:?}");
    }

    #[test]
    fn versions_before_1_2_are_passed_over_beside_others_and_refused_alone() {
        let (versions, passed_over) =
            Versions::read("TLSv1 tlsv1.1 TLSv1.2").expect("one is there");
        assert_eq!((versions.versions.len(), passed_over.len()), (1, 2));
        assert_eq!(Versions::read("").expect("all").0.versions.len(), 2);
        assert!(matches!(Versions::read("TLSv1"), Err(ChoiceError::NoVersion(_))));
        assert!(matches!(Versions::read("TLSv1.2 SSLv3"), Err(ChoiceError::UnknownVersion(_))));
    }
}
