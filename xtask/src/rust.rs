//! Facts about a Rust file, read once with `syn`.
//!
//! ```text
//! text ──▶ tokens ──▶ syntax tree ──▶ items.rs: imports, paths, functions, modules
//!             │                           └── the insides of macros ──▶ macros.rs
//!             └──▶ tokens.rs: comments, calls of macros, the word `unsafe`
//! ```

mod facts;
mod items;
mod macros;
#[cfg(test)]
mod tests;
mod tokens;

use proc_macro2::TokenStream;
use syn::visit::Visit;

pub use facts::{Function, Mention, Module, Rust, names_tests};

/// Reason why a text is not Rust.
#[derive(Debug)]
pub struct Fault {
    pub line: usize,
    pub message: String,
}

pub fn read(text: &str) -> Result<Rust, Fault> {
    let tokens: TokenStream =
        text.parse().map_err(|error: proc_macro2::LexError| fault(error.span(), &error))?;
    let file: syn::File =
        syn::parse2(tokens.clone()).map_err(|error| fault(error.span(), &error))?;
    let mut rust = Rust::default();
    tokens::read(text, tokens, &mut rust);
    rust.forbids_unsafe = file.attrs.iter().any(items::forbids_unsafe);
    items::Reader::new(&mut rust).visit_file(&file);
    Ok(rust)
}

fn fault(span: proc_macro2::Span, error: &dyn std::error::Error) -> Fault {
    Fault { line: span.start().line, message: error.to_string() }
}
