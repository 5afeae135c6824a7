//! What can be told from the tokens alone, inside macros as outside.

use std::ops::Range;

use proc_macro2::{Group, Span, TokenStream, TokenTree};

use super::{Comment, MacroCall, Rust};

pub fn read(text: &str, tokens: TokenStream, rust: &mut Rust) {
    let mut reader = Reader { text, rust, covered: Vec::new() };
    reader.stream(tokens);
    let covered = std::mem::take(&mut reader.covered);
    reader.comments(covered);
}

struct Reader<'a> {
    text: &'a str,
    rust: &'a mut Rust,
    /// Bytes of tokens, in the order of the text.
    covered: Vec<Range<usize>>,
}

impl Reader<'_> {
    fn stream(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, tree) in trees.iter().enumerate() {
            match tree {
                TokenTree::Group(group) if self.is_comment(group.span()) => {}
                TokenTree::Group(group) => {
                    self.cover(group.span_open());
                    self.stream(group.stream());
                    self.cover(group.span_close());
                }
                leaf => self.cover(leaf.span()),
            }
            match &trees[at..] {
                [TokenTree::Ident(word), ..] if word == "unsafe" => {
                    self.rust.unsafe_lines.push(word.span().start().line);
                }
                [TokenTree::Ident(word), TokenTree::Punct(sign), TokenTree::Group(group), ..]
                    if sign.as_char() == '!' =>
                {
                    let (line, name) = (word.span().start().line, word.to_string());
                    self.rust.macro_calls.push(MacroCall { line, name, text: first_text(group) });
                }
                _ => {}
            }
        }
    }

    fn cover(&mut self, span: Span) {
        if !self.is_comment(span) {
            self.covered.push(span.byte_range());
        }
    }

    /// A documentation comment arrives as the tokens of an attribute, each of which has the whole
    /// comment for its place.
    fn is_comment(&self, span: Span) -> bool {
        let text = &self.text[span.byte_range()];
        text.starts_with("//") || text.starts_with("/*")
    }

    /// Between tokens stands nothing but space and comments.
    fn comments(&mut self, covered: Vec<Range<usize>>) {
        let (mut line, mut from) = (1, 0);
        let end = self.text.len();
        for token in covered.into_iter().chain([end..end]) {
            let gap = &self.text[from.min(token.start)..token.start];
            for (number, text) in gap.split('\n').map(str::trim).enumerate() {
                if !text.is_empty() {
                    self.rust.comments.push(Comment { line: line + number, text: text.to_owned() });
                }
            }
            let past = &self.text[from.min(token.start)..token.end];
            line += past.bytes().filter(|&byte| byte == b'\n').count();
            from = token.end;
        }
    }
}

fn first_text(group: &Group) -> Option<String> {
    let first = group.stream().into_iter().next()?;
    let text: syn::LitStr = syn::parse2(first.into()).ok()?;
    Some(text.value())
}
