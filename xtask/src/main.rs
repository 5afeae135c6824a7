//! Checks of the repository that neither the compiler nor clippy makes.
//!
//! ```text
//! cargo xtask tidy ──▶ tree (every file, read once) ──▶ rules (one row each) ──▶ findings
//! ```
//!
//! Owner: whoever changes a rule of the house; `CONTRIBUTING.md` explains the rules to people.
//! Not here: formatting (`cargo fmt`), code smells (`clippy.toml`), licences (`deny.toml`).
//! Start at: `rules.rs`, then `source.rs`.

#![forbid(unsafe_code)]

mod finding;
mod mentions;
mod rules;
mod source;
mod tokens;
mod toml;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use tree::Tree;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["rules"] => list_rules(),
        _ => {
            eprintln!("usage: cargo xtask tidy     check the tree");
            eprintln!("       cargo xtask rules    say what is checked, and why");
            ExitCode::from(2)
        }
    }
}

fn tidy() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let tree = match Tree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: cannot read {}: {error}", root.display());
            return ExitCode::from(2);
        }
    };
    let findings = rules::check(&tree);
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
