use super::facts::{Import, Scope};
use super::*;

fn rust(text: &str) -> Rust {
    read(text).unwrap_or_else(|fault| panic!("{}: {}", fault.line, fault.message))
}

fn paths(text: &str) -> Vec<String> {
    rust(text).mentions.into_iter().map(|mention| mention.path).collect()
}

#[test]
fn comments_are_what_stands_between_tokens() {
    let text =
        "/// a\nfn é() /* b\n c /* d */ */ {} // e\n/* */\n//! f\nconst X: &str = \"//\";\n// g";
    let found = rust(&text.replace("//! f", "// f")).comments;
    let found: Vec<(usize, &str)> =
        found.iter().map(|comment| (comment.line, comment.text.as_str())).collect();
    let wanted = [
        (1, "/// a"),
        (2, "/* b"),
        (3, "c /* d */ */"),
        (3, "// e"),
        (4, "/* */"),
        (5, "// f"),
        (7, "// g"),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn front_pages_are_comments_of_several_lines() {
    let found = rust("//! a\n//!\n//! b\n/** c\n d */\nfn f() {}").comments;
    let lines: Vec<usize> = found.iter().map(|comment| comment.line).collect();
    assert_eq!(lines, [1, 2, 3, 4, 5]);
}

#[test]
fn words_in_literals_are_no_code() {
    let found = rust("fn f<'a>() { g(\"unsafe todo!() //\", r#\"\" unsafe\"#, 'u', b'\\'') }");
    assert_eq!((found.unsafe_lines, found.comments), (vec![], vec![]));
    assert!(found.macro_calls.is_empty());
}

#[test]
fn imports_are_unfolded() {
    let text = "pub use std::{fs::{self, File}, time::Duration as D}; use ::a::*;";
    assert_eq!(paths(text), ["std::fs", "std::fs::File", "std::time::Duration", "a::*"]);
    let imports: Vec<Import> = rust(text).mentions.into_iter().filter_map(|it| it.import).collect();
    let names: Vec<&str> = imports.iter().map(|import| import.name.as_str()).collect();
    assert_eq!(names, ["fs", "File", "D", "*"]);
    assert_eq!((imports[0].is_public, imports[3].is_public), (true, false));
}

#[test]
fn paths_in_expressions_are_found() {
    assert_eq!(paths("fn f() { let x = std::fs::read(a)?; y.b::<u8>() }"), ["std::fs::read"]);
}

#[test]
fn macros_are_searched_for_what_they_hold() {
    let text = "m! { use a::{b, c}; fn f() { d::e() } mod tests { g::h } use $crate::i; }";
    let found = rust(text);
    let paths: Vec<&str> = found.mentions.iter().map(|mention| mention.path.as_str()).collect();
    assert_eq!(paths, ["a::b", "a::c", "d::e", "g::h", "crate::i"]);
    assert!(found.mentions[3].scope.is_in_tests);
    assert_eq!((found.functions.len(), found.modules.len()), (1, 1));
}

#[test]
fn a_text_that_is_no_rust_is_a_fault_with_its_line() {
    for text in ["\nuse a::{b, c", "\nuse a::{;", "\nfn f( {}", "\n\""] {
        let fault = read(text).err().expect("no Rust");
        assert_eq!(fault.line, 2, "{text}");
    }
}

#[test]
fn a_prefix_ends_between_names() {
    let mention = |path: &str| {
        let (path, scope) = (path.to_owned(), Scope::default());
        Mention { line: 1, path, import: None, scope }
    };
    assert!(mention("std::fs::File").is_within("std::fs"));
    assert!(!mention("std::fsync").is_within("std::fs"));
}

#[test]
fn functions_are_found_with_their_bodies() {
    let text = "trait T {\n fn a();\n fn b(x: [u8; 2]) -> u8\n { match x { _ => '}' } }\n}\n\
                type F = fn(u8);\nmacro_rules! m { () => { fn $name() {\n } } }";
    let functions = rust(text).functions;
    let found: Vec<_> =
        functions.iter().map(|function| (function.name.as_str(), function.lines.clone())).collect();
    assert_eq!(found, [("b", 3..=4), ("name", 7..=8)]);
}

#[test]
fn modules_know_their_body_and_their_path() {
    let text = "#[cfg(test)]\n#[path = \"other.rs\"]\npub(crate) mod a;\nmod b { mod c; }";
    let found = rust(text).modules;
    let names: Vec<&str> = found.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!((found[0].path.as_deref(), found[0].scope.is_for_tests), (Some("other.rs"), true));
    assert_eq!((found[1].path.as_ref(), found[1].is_inline), (None, true));
    assert_eq!(*found[2].scope.modules, ["b".to_owned()]);
}

#[test]
fn definitions_stand_in_modules_only() {
    let found = rust("struct A; mod b { fn c() { fn d() {} } }").definitions;
    let names: Vec<&str> = found.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["A", "c"]);
}
