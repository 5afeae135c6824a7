//! Sample trees for each rule: one that keeps it and one that breaks it.

use super::{RULES, Rule, apply};
use crate::tree::Tree;

type Files = &'static [(&'static str, &'static str)];

struct Sample {
    rule: &'static str,
    keeps: Files,
    breaks: Files,
    /// Position, as `path:line`, of every finding in `breaks`.
    found: &'static [&'static str],
}

const WIDE: &str = concat!(
    "const X: u8 = 1;\n// 45678901234567890123456789012345678901234567890",
    "12345678901234567890123456789012345678901234567890\n",
    "// a://678901234567890123456789012345678901234567890123456",
    "789012345678901234567890123456789012345678901234567890\n",
);
const TOO_WIDE: &str = concat!(
    "const X: u8 = 1;\n// 45678901234567890123456789012345678901234567890",
    "123456789012345678901234567890123456789012345678901\n",
);
const LONG_NAME: &str = concat!(
    "fn a_34567890123456789012345678901234567890",
    "1234567890123456789012345678901234567890() {}",
);
const TOO_LONG_NAME: &str = concat!(
    "fn b() {}\nfn a_34567890123456789012345678901234567890",
    "12345678901234567890123456789012345678901() {}",
);
const MAY: &str = "[may]\nunsafe_code = [\"heap\", \"crates/index/src/a.rs\"]\n\
    clock = [\"base\"]\nfiles = []\nsockets = [\"server\"]\n\
    vector_instructions = [\"crates/index/src/probe/\"]\n";
const TESTS_USE: &str = "[uses]\nbase = []\nwire = [\"base\"]\n[tests_use]\nbase = [\"wire\"]";
const USES: &str = "[uses]\nbase = []\nwire = [\"base\"]\nstore = [\"base\"]\n";
const ROWS: &str = "const TABLE: &[C] = &[C { a: \"x\", ..row(\"SCAN\", 1) },\n\
    C { ..C::parent(G::A, \"XGROUP\", B) }, C { ..row(\"GET\", 2) }];\n\
    const B: &[C] = &[C { ..row(\"LIST\", 1) }];";
const FRONT: &str = "//! A.\n//! Owner: b.\n//!     Not here: c.\n//! Start at: d.";

const SAMPLES: &[Sample] = &[
    Sample {
        rule: "syntax",
        keeps: &[("a.rs", "fn f() {}"), ("layers.toml", USES), ("b.toml", "[c]\nd = 1")],
        breaks: &[
            ("a.rs", "fn f() {\n"),
            ("layers.toml", "[uses]\n[could]"),
            ("b.toml", "a = 1\nb"),
            ("crates/c/Cargo.toml", "[dependencies]\nd = 1"),
        ],
        found: &["a.rs:1", "b.toml:2", "crates/c/Cargo.toml:2", "layers.toml:2"],
    },
    Sample {
        rule: "line_width",
        keeps: &[("a.rs", WIDE)],
        breaks: &[("a.rs", TOO_WIDE)],
        found: &["a.rs:2"],
    },
    Sample {
        rule: "function_names",
        keeps: &[("a.rs", LONG_NAME)],
        breaks: &[("a.rs", TOO_LONG_NAME)],
        found: &["a.rs:2"],
    },
    Sample {
        rule: "exceptions",
        keeps: &[(
            "xtask/exceptions.toml",
            "[[exception]]\nrule = \"file_lines\"\nreason = \"one two three\"",
        )],
        breaks: &[(
            "xtask/exceptions.toml",
            "[[exception]]\nrule = \"diary\"\nreason = \"because\"",
        )],
        found: &["xtask/exceptions.toml:1", "xtask/exceptions.toml:1"],
    },
    Sample {
        rule: "no_globs",
        keeps: &[(
            "a.rs",
            "use a::{b, c};\nmod tests { use super::*; }\nconst X: &str = \"use a::*;\";",
        )],
        breaks: &[("a.rs", "use a::{b::*, c};\nuse super::*;\nmod tests { use b::*; }")],
        found: &["a.rs:1", "a.rs:2", "a.rs:3"],
    },
    Sample {
        rule: "front_page",
        keeps: &[("crates/a/src/lib.rs", FRONT), ("crates/a/src/main.rs", "")],
        breaks: &[("crates/a/src/main.rs", "//! Owner: b.\n//! Start at:\n//! Not here: c.")],
        found: &["crates/a/src/main.rs:1"],
    },
    Sample {
        rule: "layers",
        keeps: &[
            ("layers.toml", USES),
            ("crates/store/Cargo.toml", "[dependencies]\nbase.workspace = true\nlibc = \"1\""),
            ("crates/store/src/lib.rs", "mod wire;\nuse wire::a;\nuse base::b;"),
        ],
        breaks: &[
            ("layers.toml", USES),
            ("crates/store/Cargo.toml", "[dependencies]\nw = { path = \"\", package = \"wire\" }"),
            ("crates/store/src/lib.rs", "use base::a;\nuse wire::{b, c};"),
            ("crates/new/Cargo.toml", "[package]"),
        ],
        found: &[
            "crates/new/Cargo.toml:1",
            "crates/store/Cargo.toml:2",
            "crates/store/src/lib.rs:2",
            "crates/store/src/lib.rs:2",
        ],
    },
    Sample {
        rule: "layers",
        keeps: &[
            ("layers.toml", TESTS_USE),
            ("crates/base/Cargo.toml", "[dev-dependencies]\nwire.workspace = true"),
            ("crates/base/src/lib.rs", "#[cfg(test)]\nmod tests {\n    use wire::a;\n}"),
        ],
        breaks: &[
            ("layers.toml", TESTS_USE),
            ("crates/base/Cargo.toml", "[dependencies]\nwire.workspace = true"),
            (
                "crates/base/src/lib.rs",
                "use wire::a;\n#[cfg(test)]\nmod tests {\n    use wire::b;\n}",
            ),
        ],
        found: &["crates/base/Cargo.toml:2", "crates/base/src/lib.rs:1"],
    },
    Sample {
        rule: "layers",
        keeps: &[("layers.toml", USES)],
        breaks: &[("layers.toml", "[uses]\nwire = [\"base\"]\nbase = []")],
        found: &["layers.toml:2"],
    },
    Sample {
        rule: "unused_grants",
        keeps: &[
            (
                "layers.toml",
                "[uses]\nbase = []\nstore = [\"base\"]\n[may]\nclock = [\"base\"]\n\
                 unsafe_code = [\"store\", \"crates/base/src/a.rs\"]\n\
                 vector_instructions = [\"crates/base/src/v/\"]",
            ),
            ("crates/base/src/a.rs", "use std::time::Instant; unsafe fn a() {}"),
            ("crates/base/src/v/b.rs", "use std::arch::x86_64::_mm_or_si128;"),
            ("crates/store/src/a.rs", "unsafe fn a() { base::b() }"),
        ],
        breaks: &[
            (
                "layers.toml",
                "[uses]\nbase = []\nstore = [\n \"base\"]\n[may]\nclock = [\"base\"]\n\
                 unsafe_code = [\n \"store\",\n \"crates/base/src/a.rs\"]\n\
                 vector_instructions = [\"crates/base/src/v/\"]\ntime = [\"base\"]",
            ),
            ("crates/base/src/a.rs", "mod tests { use std::time::Instant; } // unsafe"),
            ("crates/base/src/v/b.rs", "use std::arch::x86_64::_mm_prefetch;"),
            ("crates/store/src/a.rs", "mod base; use base::a;"),
        ],
        found: &[
            "layers.toml:4",
            "layers.toml:6",
            "layers.toml:8",
            "layers.toml:9",
            "layers.toml:10",
            "layers.toml:11",
        ],
    },
    Sample {
        rule: "documents",
        keeps: &[
            (
                "docs/a.md",
                "# One `b`, and two!\n\n[x](../src/b/c.rs) [y](#one-b-and-two) <http://d.e>",
            ),
            (
                "README.md",
                "[x](docs/a.md#one-b-and-two) ![y](docs) `src/b/c.rs --to x.y` `b/c.rs` `c.rs`\n\
                 `docs/NAME.md` `docs/*.md` `target/x.rs` `other/x` `/etc/x.toml`\n\n    `d.rs`",
            ),
            ("src/b/c.rs", "//! See `docs/a.md`.\n//! Start at: `c.rs`,\n//! then `d.rs`."),
            ("src/b/c/d.rs", "// see `e.rs`"),
        ],
        breaks: &[
            ("docs/a.md", "# One\n[x](b/c.rs)\n[y](#two)\n"),
            ("README.md", "[x](docs/a.md#two) `src/d`\n`d.rs`, or\n`vi docs/b.md`"),
            ("src/b/c.rs", "//! See `docs/b.md`.\n//! Start at: `c.rs`,\n//! then `a.md`, `e.rs`."),
            ("src/e.rs", ""),
        ],
        found: &[
            "README.md:1",
            "README.md:1",
            "README.md:2",
            "README.md:3",
            "docs/a.md:2",
            "docs/a.md:3",
            "src/b/c.rs:1",
            "src/b/c.rs:3",
        ],
    },
    Sample {
        rule: "module_rings",
        keeps: &[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "mod b; mod d; pub use b::C; pub struct E;"),
            ("crates/a/src/b/mod.rs", "mod c; pub(crate) use c::C; pub struct B;"),
            (
                "crates/a/src/b/c.rs",
                "use super::B; use crate::E; pub struct C; mod t { use super::C; }",
            ),
            ("crates/a/src/d.rs", "use crate::C; use crate::b::B; mod tests { use crate::d::x; }"),
        ],
        breaks: &[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "mod b; mod d; mod e; pub use b::C;"),
            (
                "crates/a/src/b/mod.rs",
                "mod c;\npub use c::C;\nuse c::f; pub struct B; pub struct D;",
            ),
            ("crates/a/src/b/c.rs", "use super::B;\nuse super::D; pub struct C; pub fn f() {}"),
            ("crates/a/src/d.rs", "use crate::e;\nfn f() { e::g() }"),
            ("crates/a/src/e.rs", "pub fn g() { crate::d::f() }"),
        ],
        found: &["crates/a/src/b/mod.rs:3", "crates/a/src/e.rs:1"],
    },
    Sample {
        rule: "folder_rings",
        keeps: &[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "mod b; mod d; use d::e::F; pub struct G;"),
            ("crates/a/src/b.rs", "mod c; use crate::d::e::F; pub use c::C; pub struct B;"),
            ("crates/a/src/b/c.rs", "use super::B; use crate::d::F; pub struct C;"),
            ("crates/a/src/d/mod.rs", "pub mod e; pub use e::F; mod tests { use crate::b::C; }"),
            ("crates/a/src/d/e.rs", "pub struct F;"),
        ],
        breaks: &[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "mod b; mod d;"),
            ("crates/a/src/b.rs", "mod c; pub mod f;\nuse crate::d::E;"),
            ("crates/a/src/b/c.rs", "use crate::d::E;"),
            ("crates/a/src/b/f/mod.rs", "pub struct G;"),
            ("crates/a/src/d.rs", "pub struct E; pub mod j;"),
            ("crates/a/src/d/j.rs", "use crate::d::E;\n\nuse crate::b::f::G;"),
        ],
        found: &["crates/a/src/d/j.rs:3"],
    },
    Sample {
        rule: "command_names",
        keeps: &[
            ("crates/families/src/a/table.rs", ROWS),
            (
                "crates/command/src/b.rs",
                "fn f() { g(\"get\", \"list\"); }\nmod tests { const A: B = \"scan\"; }",
            ),
        ],
        breaks: &[
            ("crates/families/src/a/table.rs", ROWS),
            ("crates/command/src/b.rs", "const A: [&str; 1] = [\n\"scan\"];"),
            ("crates/server/src/b.rs", "fn f() {\n\n matches!(a, b\"XGROUP|SETID\") }"),
        ],
        found: &["crates/command/src/b.rs:2", "crates/server/src/b.rs:3"],
    },
    Sample {
        rule: "reachable",
        keeps: &[
            ("crates/a/Cargo.toml", "[[bin]]\npath = \"other/e.rs\""),
            ("crates/a/src/lib.rs", "mod b; #[path = \"x/y.rs\"]\npub mod z; mod i { mod j; }"),
            ("crates/a/src/b/mod.rs", "mod c;"),
            ("crates/a/src/b/c.rs", "mod d;"),
            ("crates/a/src/b/c/d.rs", "include!(\"e.rs\");"),
            ("crates/a/src/b/c/e.rs", ""),
            ("crates/a/src/i/j.rs", ""),
            ("crates/a/src/x/y.rs", "mod v;"),
            ("crates/a/src/x/v.rs", ""),
            ("crates/a/tests/t.rs", ""),
            ("crates/a/other/e.rs", ""),
        ],
        breaks: &[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "// mod b;\nmod c { }"),
            ("crates/a/src/b.rs", "mod d;"),
            ("crates/a/src/b/d.rs", ""),
            ("tests/t.rs", ""),
        ],
        found: &["crates/a/src/b.rs:1", "crates/a/src/b/d.rs:1", "tests/t.rs:1"],
    },
    Sample {
        rule: "leftovers",
        keeps: &[(
            "a.rs",
            "fn f() { let x = \"todo!() FIXME\"; // a todo list, XXXL\nif todo != 1 {} }",
        )],
        breaks: &[("a.rs", "todo!();\ndbg!(x);\n// FIXME: a\n/* XXX */\nunimplemented!();")],
        found: &["a.rs:1", "a.rs:2", "a.rs:3", "a.rs:4", "a.rs:5"],
    },
    Sample {
        rule: "diary",
        keeps: &[(
            "a.rs",
            "// Supported, exported; in March, `2000-12-31`. Bytes 4-6, 10-20-30, [#derive]\n\
             // a#1\nconst X: &str = \"#1\";",
        )],
        breaks: &[(
            "a.rs",
            "// Ported.\n/* Is no longer so */\n//! (#12)\n// PR 7.\n// 2026-11-20:\n\
             // in May 2026",
        )],
        found: &["a.rs:1", "a.rs:2", "a.rs:3", "a.rs:4", "a.rs:5", "a.rs:6"],
    },
    Sample {
        rule: "riddles",
        keeps: &[("a.rs", "// Those that wait.\n// Who waits?\nconst X: &str = \"whoever\";")],
        breaks: &[(
            "a.rs",
            "// Whoever waits.\n//! For whom\n\n/// Those\n/// who wait.\n\
             const X: u8 = 1; // those who",
        )],
        found: &["a.rs:1", "a.rs:2", "a.rs:5", "a.rs:6"],
    },
    Sample {
        rule: "unsafe_islands",
        keeps: &[
            ("layers.toml", MAY),
            ("crates/heap/src/lib.rs", "unsafe fn a() {}"),
            ("crates/index/src/lib.rs", "mod a;"),
            ("crates/index/src/a.rs", "unsafe fn a() {}"),
            ("crates/store/src/lib.rs", "#![forbid(unsafe_code)]\n// unsafe"),
        ],
        breaks: &[
            ("layers.toml", MAY),
            ("crates/index/src/b.rs", "unsafe fn a() {}"),
            ("crates/store/src/lib.rs", "mod a;"),
            ("crates/store/src/a.rs", "fn a() {\n unsafe { b() }\n}"),
        ],
        found: &["crates/index/src/b.rs:1", "crates/store/src/a.rs:2", "crates/store/src/lib.rs:1"],
    },
    Sample {
        rule: "outside_world",
        keeps: &[
            ("layers.toml", MAY),
            ("crates/base/src/a.rs", "use std::time::Instant;"),
            ("crates/store/src/a.rs", "use std::{net::IpAddr, time::Duration};\nuse a::fs;"),
            ("crates/store/src/b.rs", "mod tests { use std::fs; }"),
            ("crates/store/tests/c.rs", "use std::net::TcpStream;"),
        ],
        breaks: &[
            ("layers.toml", MAY),
            ("crates/store/src/a.rs", "use std::{time::{Duration, Instant}, net};"),
            (
                "crates/base/src/a.rs",
                "fn a() {\n std::fs::read(b) }\nuse std::net::TcpStream as T;",
            ),
        ],
        found: &[
            "crates/base/src/a.rs:2",
            "crates/base/src/a.rs:3",
            "crates/store/src/a.rs:1",
            "crates/store/src/a.rs:1",
        ],
    },
    Sample {
        rule: "simd_folder",
        keeps: &[
            ("layers.toml", MAY),
            ("crates/index/src/probe/sse2.rs", "use std::arch::x86_64::{__m128i, _mm_or_si128};"),
            ("crates/base/src/a.rs", "use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};"),
        ],
        breaks: &[
            ("layers.toml", MAY),
            (
                "crates/wire/src/a.rs",
                "use core::arch::aarch64::vld1q_u8;\nfn a() { std::arch::x86_64::_mm_x() }",
            ),
        ],
        found: &["crates/wire/src/a.rs:1", "crates/wire/src/a.rs:2"],
    },
];

fn all() -> impl Iterator<Item = &'static Rule> {
    RULES.iter()
}

fn places(rule: &str, tree: &Tree) -> Vec<String> {
    let rule = all().find(|row| row.name == rule).expect("a sample names a rule");
    let mut findings = apply(rule, tree);
    findings.sort();
    findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
}

#[test]
fn every_rule_passes_its_good_sample_and_finds_its_bad_one() {
    for sample in SAMPLES {
        assert_eq!(places(sample.rule, &Tree::of(sample.keeps)), [""; 0], "{}", sample.rule);
        assert_eq!(places(sample.rule, &Tree::of(sample.breaks)), sample.found, "{}", sample.rule);
    }
}

#[test]
fn every_rule_has_samples() {
    let measured_below = ["file_lines", "function_lines"];
    for rule in all().filter(|rule| !measured_below.contains(&rule.name)) {
        assert!(SAMPLES.iter().any(|sample| sample.rule == rule.name), "{}", rule.name);
    }
}

fn exception(rule: &str, limit: usize) -> String {
    let head = "[[exception]]\npath = \"a.rs\"\nfunction = ";
    let function = if rule == "file_lines" { "" } else { "f" };
    format!("{head}\"{function}\"\nrule = \"{rule}\"\nlimit = {limit}\nreason = \"r\"\n")
}

/// Returns the places of findings in a file of one function, both of so many lines.
fn places_at(rule: &str, lines: usize, limit: Option<usize>) -> Vec<String> {
    let text = format!("fn f() {{\n{}}}", "    g('{', \"}\");\n".repeat(lines - 2));
    let exceptions = limit.map_or(String::new(), |limit| exception(rule, limit));
    places(rule, &Tree::of(&[("a.rs", &text), ("xtask/exceptions.toml", &exceptions)]))
}

#[test]
fn a_length_is_measured_against_its_limit() {
    for (rule, limit) in [("file_lines", 600), ("function_lines", 60)] {
        assert_eq!(places_at(rule, limit, None), [""; 0]);
        assert_eq!(places_at(rule, limit + 1, None), ["a.rs:1"]);
    }
}

#[test]
fn an_exception_excuses_up_to_its_own_limit() {
    for (rule, limit) in [("file_lines", 600), ("function_lines", 60)] {
        assert_eq!(places_at(rule, limit + 9, Some(limit + 9)), [""; 0]);
        assert_eq!(places_at(rule, limit + 10, Some(limit + 9)), ["a.rs:1"]);
    }
}

#[test]
fn an_exception_that_nothing_needs_is_an_error() {
    for (rule, limit) in [("file_lines", 600), ("function_lines", 60)] {
        assert_eq!(places_at(rule, limit, Some(limit + 9)), ["xtask/exceptions.toml:1"]);
    }
}
