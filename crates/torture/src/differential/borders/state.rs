//! A value on one side of a border, and the commands that it meets.

use super::words::Words;
use crate::differential::generate::KEYS;
use crate::differential::step::{Action, Request, name, request};
use std::cell::OnceCell;
use std::rc::Rc;

/// See the module page.
#[derive(Clone, Debug)]
pub struct State {
    /// Which border, and where from it.
    pub label: String,
    /// Settings and their values, in turn.
    pub settings: String,
    /// What makes the key hold the value.
    pub build: Vec<Request>,
    /// What names in forms stand for.
    pub words: Words,
    /// Texts with a form on each line.
    pub forms: Vec<&'static str>,
    /// All members of a sorted set have one score, so that ranges by bytes are defined.
    pub is_level: bool,
    /// Commands that are drawn for the value's usual key are tried, too.
    pub takes_drafts: bool,
    /// What all cases do before; made once, as there is much of it.
    whole_build: OnceCell<Rc<[Request]>>,
}

/// A value, and commands for it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The first command's name.
    pub name: String,
    /// What is done before: all keys are removed, and those of the state are made.
    pub build: Rc<[Request]>,
    /// The commands; after each of them the values are compared.
    pub actions: Vec<Action>,
    /// The keys that are looked at.
    pub keys: Vec<Vec<u8>>,
    /// The fields whose deadlines are looked at, if a key is a hash.
    pub fields: Vec<Vec<u8>>,
}

impl State {
    /// A state under the keys of its words, to which the usual forms are given.
    pub fn new(label: String, settings: &str, words: Words, forms: &[&'static str]) -> State {
        let settings = settings.to_owned();
        let (build, forms) = (Vec::new(), forms.to_vec());
        let (is_level, takes_drafts, whole_build) = (false, true, OnceCell::new());
        State { label, settings, build, words, forms, is_level, takes_drafts, whole_build }
    }

    /// The key of the value.
    pub fn key(&self) -> &[u8] {
        &self.words.get("k")[0]
    }

    /// The settings as a request, if there are any.
    pub fn configure(&self) -> Option<Request> {
        let words = self.settings.split_whitespace();
        let all: Vec<_> = ["CONFIG", "SET"].into_iter().chain(words).collect();
        (all.len() > 2).then(|| request(&all))
    }

    /// The forms that mean something at it.
    pub fn forms(&self) -> impl Iterator<Item = &'static str> {
        let lines = self.forms.iter().flat_map(|text| text.lines());
        lines.filter(|form| self.is_level || !form.contains("LEX"))
    }

    /// The case of a form.
    pub fn case_of(&self, form: &str) -> Case {
        self.case(self.words.actions(form))
    }

    /// A case of commands.
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

    /// The command that a case is about: the first that is no preparation.
    fn name<'a>(&self, requests: impl Iterator<Item = &'a [Vec<u8>]>) -> String {
        let mut names: Vec<_> = requests.map(name).collect();
        names.retain(|it| it != "SELECT");
        let chosen = names.iter().position(|it| it.starts_with("SORT")).unwrap_or(0);
        names.get(chosen).cloned().unwrap_or_default()
    }

    /// Some of the elements that are there or may come.
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

    /// Gives the key of another kind its value.
    fn wrong(&self) -> Request {
        let key = self.words.get("w")[0].as_slice();
        match key {
            b"s3" => request(&[b"SET", key, b"v"]),
            _ => request(&[b"RPUSH", key, b"a", b"b"]),
        }
    }
}

/// Fields whose deadlines are looked at.
const SOME: usize = 40;
