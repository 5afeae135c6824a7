//! A value on one side of a border, and the commands that are run on it.

use super::words::Words;
use crate::differential::case::Case;
use crate::differential::generate::KEYS;
use crate::differential::step::{Action, Request, name, request};
use std::cell::OnceCell;
use std::rc::Rc;

/// A value on one side of a border, with the forms of its commands.
#[derive(Clone, Debug)]
pub struct State {
    /// Name of the border, and position relative to it.
    pub label: String,
    /// Settings and their values, alternating.
    pub settings: String,
    /// Requests that store the value under the key.
    pub build: Vec<Request>,
    /// Words for the names in forms.
    pub words: Words,
    /// Texts with one form on each line.
    pub forms: Vec<&'static str>,
    /// True if all members of a sorted set have one score, so that ranges by bytes are defined.
    pub is_level: bool,
    /// True if random commands for the usual key of the value are tried, too.
    pub takes_drafts: bool,
    /// Requests before each case; built once, since there are many.
    whole_build: OnceCell<Rc<[Request]>>,
}

impl State {
    /// Creates a state with the keys of its words and the usual forms.
    pub fn new(label: String, settings: &str, words: Words, forms: &[&'static str]) -> State {
        let settings = settings.to_owned();
        let (build, forms) = (Vec::new(), forms.to_vec());
        let (is_level, takes_drafts, whole_build) = (false, true, OnceCell::new());
        State { label, settings, build, words, forms, is_level, takes_drafts, whole_build }
    }

    /// Returns the key of the value.
    pub fn key(&self) -> &[u8] {
        &self.words.get("k")[0]
    }

    /// Returns the settings as a request, if there are any.
    pub fn configure(&self) -> Option<Request> {
        let words = self.settings.split_whitespace();
        let all: Vec<_> = ["CONFIG", "SET"].into_iter().chain(words).collect();
        (all.len() > 2).then(|| request(&all))
    }

    /// Returns the forms that are defined for the state.
    pub fn forms(&self) -> impl Iterator<Item = &'static str> {
        let lines = self.forms.iter().flat_map(|text| text.lines());
        lines.filter(|form| self.is_level || !form.contains("LEX"))
    }

    /// Returns the case of a form.
    pub fn case_of(&self, form: &str) -> Case {
        self.case(self.words.actions(form))
    }

    /// Returns a case of commands.
    pub fn case(&self, actions: Vec<Action>) -> Case {
        let named = actions.iter().map(|action| match action {
            Action::Send(request) | Action::Iterate(request) | Action::LetExpire(request, _) => {
                request.as_slice()
            }
            Action::Serve { .. } => &[],
        });
        let all = ["k", "o", "d", "w"].map(|it| self.words.get(it)[0].clone());
        let mut keys = vec![self.key().to_vec()];
        for word in named.clone().flatten() {
            let is_key = all.contains(word) || KEYS.iter().any(|key| key.as_bytes() == word);
            if is_key && !keys.contains(word) {
                keys.push(word.clone());
            }
        }
        let name = self.name(named);
        let build = Rc::clone(self.whole_build.get_or_init(|| {
            [self.clear(), self.wrong()].into_iter().chain(self.build.iter().cloned()).collect()
        }));
        Case { name, build, actions, keys, fields: self.fields() }
    }

    /// Returns the name of the command under test: SORT if there is one, else the first but SELECT.
    fn name<'a>(&self, requests: impl Iterator<Item = &'a [Vec<u8>]>) -> String {
        let mut names: Vec<_> = requests.map(name).collect();
        names.retain(|it| it != "SELECT");
        let chosen = names.iter().position(|it| it.starts_with("SORT")).unwrap_or(0);
        names.get(chosen).cloned().unwrap_or_default()
    }

    /// Returns some elements that exist or may be added.
    fn fields(&self) -> Vec<Vec<u8>> {
        let several = ["first", "mid", "last", "new", "new2", "long"].map(|it| self.words.get(it));
        let some = self.words.get("all").iter().take(SOME).chain(several.into_iter().flatten());
        some.cloned().collect()
    }

    fn clear(&self) -> Request {
        let mut words = request(&["DEL", "zs"]);
        words.extend(KEYS.iter().map(|key| key.as_bytes().to_vec()));
        words.extend(["k", "o", "d", "w"].map(|it| self.words.get(it)[0].clone()));
        words
    }

    /// Returns the request that stores a value of another kind.
    fn wrong(&self) -> Request {
        let key = self.words.get("w")[0].as_slice();
        match key {
            b"s3" => request(&[b"SET", key, b"v"]),
            _ => request(&[b"RPUSH", key, b"a", b"b"]),
        }
    }
}

/// Most existing elements among the fields whose deadlines are compared.
const SOME: usize = 40;
