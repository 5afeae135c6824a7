//! CONFIG GET: settings by name or pattern.

use crate::live::Settings;
use crate::names::{index_of, names};
use crate::rows::row_at;
use crate::value::Value;

impl Settings {
    /// Returns name and value of every setting that one of the patterns names, each once, sorted by
    /// name. Names without wildcards are returned as they were written. Wildcards match aliases
    /// too, and leave hidden settings out.
    pub fn get_matching<P: AsRef<[u8]>>(&self, patterns: &[P]) -> Vec<(String, Vec<u8>)> {
        let mut found: Vec<(String, usize)> = Vec::new();
        // Those that no pattern has named so far: however many patterns there are, each is found
        // once.
        let mut left: Vec<(&str, usize)> = names().collect();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            if pattern.iter().any(|byte| b"[*?".contains(byte)) {
                let named = left.extract_if(.., |(name, index)| {
                    !row_at(*index).hidden && text::glob_match(pattern, name.as_bytes(), true)
                });
                found.extend(named.map(|(name, index)| (name.to_owned(), index)));
            } else {
                let mut names = left.iter().map(|(name, _)| name.as_bytes());
                if let Some(at) = names.position(|name| name.eq_ignore_ascii_case(pattern)) {
                    let (_, index) = left.swap_remove(at);
                    found.push((String::from_utf8_lossy(pattern).into_owned(), index));
                }
            }
        }
        found.sort();
        let answer = |(name, index)| (name, self.value(index, Value::to_bytes));
        found.into_iter().map(answer).collect()
    }

    /// Returns the value of one setting as CONFIG GET replies it.
    pub fn get_text(&self, name: &[u8]) -> Option<Vec<u8>> {
        index_of(name).map(|index| self.value(index, Value::to_bytes))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Origin, Settings};

    fn names(patterns: &[&str]) -> Vec<String> {
        Settings::new().get_matching(patterns).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_plain_name_is_answered_as_it_was_written() {
        assert_eq!(names(&["PORT"]), ["PORT"]);
        assert_eq!(names(&["no-such-setting"]), [""; 0]);
    }

    #[test]
    fn a_setting_that_several_patterns_name_is_answered_once() {
        assert_eq!(
            names(&["maxmemory", "maxmemory-p*", "MAXMEMORY", "maxmemory-p*"]),
            ["maxmemory", "maxmemory-policy"]
        );
    }

    #[test]
    fn however_many_patterns_name_a_setting_and_its_alias_each_is_answered_once() {
        let all = names(&["*"]);
        assert!(all.len() > 100 && all.is_sorted_by(|one, other| one < other));
        assert_eq!(names(&["*a*", "*", "*", "PORT", "?*"]), all);
        let shouted = names(&["PORT", "*"]);
        assert_eq!((shouted.len(), shouted[0].as_str()), (all.len(), "PORT"));
    }

    #[test]
    fn aliases_are_answered_under_the_name_that_matched() {
        assert_eq!(names(&["slaveof"]), ["slaveof"]);
        assert_eq!(names(&["hash-max-z*-entries"]), ["hash-max-ziplist-entries"]);
    }

    #[test]
    fn values_are_answered_in_plain_numbers_and_names() {
        let settings = Settings::new();
        settings
            .set_many(&[("maxmemory", "1gb"), ("maxmemory-clients", "5%")], Origin::Local)
            .expect("both are valid");
        let expect = |name: &str, value: &str| {
            let found = settings.get_text(name.as_bytes()).expect("it exists");
            assert_eq!(String::from_utf8_lossy(&found), value, "{name}");
        };
        expect("maxmemory", "1073741824");
        expect("maxmemory-clients", "5%");
        expect("bind", "* -::*");
        expect("save", "3600 1 300 100 60 10000");
        expect("unixsocketperm", "0");
        expect("shutdown-on-sigint", "default");
        expect(
            "client-output-buffer-limit",
            "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
        );
    }
}
