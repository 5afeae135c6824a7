//! Commands are named in their rows, and in the effects of others, and nowhere else.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, Lit};

use crate::finding::Report;
use crate::rust::names_tests;
use crate::source::{Source, is_test_file};
use crate::tree::Tree;

/// Folder of the rows: the tables of the families.
const FAMILIES: &str = "crates/families/src/";
const TABLE_FILE: &str = "/table.rs";
/// Constant whose rows are commands; rows of other constants are subcommands.
const COMMANDS: &str = "TABLE";
/// End of the files of functions that make effects, which are commands.
const EFFECTS_FILE: &str = "/effects.rs";
/// Folders whose code must not single out a command.
const LOOKED_AT: [&str; 4] =
    ["crates/session/src/", "crates/command/src/", "crates/families/src/", "crates/server/src/"];

/// Names of commands that are other words too, with their other meaning.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("append", "an option of FUNCTION RESTORE"),
    ("asking", "a flag"),
    ("auth", "an option of HELLO"),
    ("client", "a field of a waiter that is shown"),
    ("cluster", "a group, and a section of INFO"),
    ("command", "a field of a waiter that is shown"),
    ("copy", "an option of MIGRATE"),
    ("debug", "a section of INFO"),
    ("dump", "a subcommand of FUNCTION"),
    ("failover", "an option of PSYNC and SHUTDOWN"),
    ("get", "a step of BITFIELD, an option of SET and SORT"),
    ("incr", "an option of ZADD"),
    ("incrby", "a step of BITFIELD"),
    ("keys", "an option of MIGRATE"),
    ("memory", "a section of INFO, a thread, and what a command may need"),
    ("module", "a condition of COMMAND LIST"),
    ("multi", "where a command was denied, in the log of denials"),
    ("object", "a subcommand of DEBUG"),
    ("persist", "an option of GETEX and HGETEX"),
    ("pubsub", "a group, a flag and a type of clients"),
    ("readonly", "a flag"),
    ("reset", "what RESET answers"),
    ("role", "a field of HELLO and INFO"),
    ("save", "an option of SHUTDOWN"),
    ("set", "a step of BITFIELD, a kind of value"),
    ("sync", "an option of FLUSHALL, FUNCTION and SCRIPT"),
    ("time", "an option of XCLAIM"),
    ("type", "an option of SCAN and CLIENT LIST, a field of COMMAND"),
];

pub fn command_names(tree: &Tree, report: &mut Report) {
    let is_table =
        |source: &&Source| source.path.starts_with(FAMILIES) && source.path.ends_with(TABLE_FILE);
    let mut rows = Rows::default();
    for source in tree.rust_files().filter(is_table) {
        read(source, &mut rows);
    }
    let is_looked_at = |source: &&Source| {
        LOOKED_AT.iter().any(|folder| source.path.starts_with(folder))
            && !is_test_file(&source.path)
            && !is_table(source)
            && !source.path.ends_with(EFFECTS_FILE)
    };
    for source in tree.rust_files().filter(is_looked_at) {
        let mut literals = Literals::default();
        read(source, &mut literals);
        for (line, text) in literals.found {
            let text = text.to_ascii_lowercase();
            let (name, rest) = text.split_once('|').unwrap_or((text.as_str(), ""));
            let is_word = rest.is_empty() && OTHER_WORDS.iter().any(|(word, _)| *word == text);
            let is_path = rest.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
            if rows.names.contains(name) && is_path && !is_word {
                let message = format!("`{text}` is a command: say it in its row");
                report.add(&source.path, line, message);
            }
        }
    }
}

fn read(source: &Source, reader: &mut impl for<'a> Visit<'a>) {
    // The rule `syntax` reports a file that cannot be parsed.
    if let Ok(file) = syn::parse_file(&source.text) {
        reader.visit_file(&file);
    }
}

/// Names of commands in a table: the first string passed to the call that makes a row.
#[derive(Default)]
struct Rows {
    names: BTreeSet<String>,
}

impl Visit<'_> for Rows {
    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        if item.ident == COMMANDS {
            visit::visit_item_const(self, item);
        }
    }

    /// Visits a row, which is a struct whose rest comes from a call.
    fn visit_expr_struct(&mut self, row: &syn::ExprStruct) {
        let Some(Expr::Call(call)) = row.rest.as_deref() else { return };
        let name = call.args.iter().find_map(|argument| match argument {
            Expr::Lit(literal) => text_of(&literal.lit),
            _ => None,
        });
        self.names.extend(name.map(|name| name.to_ascii_lowercase()));
    }
}

/// String literals of product code, with their lines.
#[derive(Default)]
struct Literals {
    found: Vec<(usize, String)>,
}

impl Literals {
    fn tokens(&mut self, tokens: TokenStream) {
        for tree in tokens {
            match tree {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => self.visit_lit(&Lit::new(literal)),
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl Visit<'_> for Literals {
    fn visit_item_mod(&mut self, module: &syn::ItemMod) {
        if !names_tests(&module.ident.to_string()) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_attribute(&mut self, _: &syn::Attribute) {}

    /// Skips the names of events, which are often those of commands, and the words of effects.
    fn visit_expr_call(&mut self, call: &syn::ExprCall) {
        if !makes_event_or_effect(&call.func) {
            visit::visit_expr_call(self, call);
        }
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        self.tokens(call.tokens.clone());
    }

    fn visit_lit(&mut self, literal: &Lit) {
        let line = literal.span().start().line;
        self.found.extend(text_of(literal).map(|text| (line, text)));
    }
}

/// Returns true for a function that names an event or an effect, such as `Event::hash`,
/// `effects::words` and `Pieces::new`.
fn makes_event_or_effect(function: &Expr) -> bool {
    let Expr::Path(function) = function else { return false };
    let makers = ["Event", "effects", "Pieces"];
    let from = function.path.segments.iter().rev().nth(1);
    from.is_some_and(|segment| makers.iter().any(|maker| segment.ident == maker))
}

fn text_of(literal: &Lit) -> Option<String> {
    match literal {
        Lit::Str(text) => Some(text.value()),
        Lit::ByteStr(bytes) => String::from_utf8(bytes.value()).ok(),
        _ => None,
    }
}
