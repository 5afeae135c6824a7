//! Checks of the repository that neither the compiler nor clippy makes.
//!
//! ```text
//! cargo xtask tidy ──▶ tree (every file, read once) ──▶ rules (one row each) ──▶ findings
//! ```
//!
//! Owner: the rules of the project; `CONTRIBUTING.md` explains them to people.
//! Not here: formatting (`cargo fmt`), code smells (`clippy.toml`), licences (`deny.toml`).
//! Start at: `rules.rs`, then `rust.rs`.

#![forbid(unsafe_code)]

mod finding;
mod folders;
mod imports;
mod modules;
mod rings;
mod rules;
mod rust;
mod source;
mod tables;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use tree::Tree;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => with_tree(tidy),
        ["rules"] => list_rules(),
        ["unsafe"] => with_tree(count_unsafe),
        ["rings"] => with_tree(|tree| list_rings(tree, None)),
        ["rings", name] => with_tree(|tree| list_rings(tree, Some(name))),
        _ => {
            eprintln!("usage: cargo xtask tidy             check the tree");
            eprintln!("       cargo xtask rules            say what is checked, and why");
            eprintln!(
                "       cargo xtask unsafe           count lines with unsafe code, island by island"
            );
            eprintln!("       cargo xtask rings [CRATE]    show imports that form a ring");
            ExitCode::from(2)
        }
    }
}

fn with_tree(work: impl FnOnce(&Tree) -> ExitCode) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    match Tree::read(root) {
        Ok(tree) => work(&tree),
        Err(error) => {
            eprintln!("xtask: cannot read {}: {error}", root.display());
            ExitCode::from(2)
        }
    }
}

fn tidy(tree: &Tree) -> ExitCode {
    let findings = rules::check(tree);
    for finding in &findings {
        println!("{finding}");
    }
    let (files, rules) = (tree.rust_files().count(), rules::RULES.len());
    println!("tidy: {files} Rust files, {rules} rules, {} findings", findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list_rules() -> ExitCode {
    for rule in rules::RULES {
        println!("{:<16} {}", rule.name, rule.reason);
    }
    ExitCode::SUCCESS
}

fn count_unsafe(tree: &Tree) -> ExitCode {
    for (island, lines) in rules::unsafe_lines(tree) {
        println!("{lines:>5} {island}");
    }
    ExitCode::SUCCESS
}

fn list_rings(tree: &Tree, name: Option<&str>) -> ExitCode {
    let text =
        rules::module_rings::describe(tree, name) + &rules::folder_rings::describe(tree, name);
    if text.is_empty() {
        eprintln!("xtask: no crate is called {}", name.unwrap_or(""));
        return ExitCode::from(2);
    }
    print!("{text}");
    ExitCode::SUCCESS
}
