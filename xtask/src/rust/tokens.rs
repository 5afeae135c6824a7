//! Facts from the tokens alone, inside macros as outside.

use proc_macro2::{Group, LineColumn, Span, TokenStream, TokenTree};

use super::facts::{Comment, MacroCall, Rust};

pub fn read(text: &str, tokens: TokenStream, rust: &mut Rust) {
    let lines: Vec<&str> = text.split('\n').collect();
    let end = LineColumn { line: lines.len(), column: usize::MAX };
    let mut reader = Reader { lines, rust, at: LineColumn { line: 1, column: 0 } };
    reader.stream(tokens);
    reader.comments(end);
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    rust: &'a mut Rust,
    /// End of the last token.
    at: LineColumn,
}

impl Reader<'_> {
    fn stream(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut is_comment = false;
        for (at, tree) in trees.iter().enumerate() {
            match tree {
                // A documentation comment arrives as the tokens of an attribute, each of which
                // spans the whole comment.
                TokenTree::Punct(sign) if !is_narrow(sign.span()) => is_comment = true,
                TokenTree::Group(_) if is_comment => is_comment = false,
                TokenTree::Group(group) => {
                    self.token(group.span_open());
                    self.stream(group.stream());
                    self.token(group.span_close());
                }
                leaf => self.token(leaf.span()),
            }
            self.words(&trees[at..]);
        }
    }

    /// Records the fact that begins at the first of the tokens.
    fn words(&mut self, trees: &[TokenTree]) {
        match trees {
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

    fn token(&mut self, span: Span) {
        self.comments(span.start());
        self.at = span.end();
    }

    /// Records comments: between tokens there is nothing but space and comments.
    fn comments(&mut self, end: LineColumn) {
        let start = self.at;
        for line in start.line..=end.line {
            let from = if line == start.line { start.column } else { 0 };
            let to = if line == end.line { end.column } else { usize::MAX };
            if to.saturating_sub(from) < 2 {
                continue;
            }
            let text = columns(self.lines[line - 1], from, to).trim();
            if !text.is_empty() {
                self.rust.comments.push(Comment { line, text: text.to_owned() });
            }
        }
    }
}

/// Returns true for the span of a single character, such as a `#` in the code.
fn is_narrow(span: Span) -> bool {
    let (start, end) = (span.start(), span.end());
    start.line == end.line && start.column + 1 == end.column
}

/// Returns the part of a line between two columns, counted in characters from zero.
fn columns(line: &str, from: usize, to: usize) -> &str {
    let offset = |column: usize| {
        if line.is_ascii() {
            return column.min(line.len());
        }
        line.char_indices().nth(column).map_or(line.len(), |(offset, _)| offset)
    };
    &line[offset(from)..offset(to)]
}

fn first_text(group: &Group) -> Option<String> {
    let first = group.stream().into_iter().next()?;
    let TokenTree::Literal(literal) = first else { return None };
    let text: syn::LitStr = syn::parse2(TokenTree::from(literal).into()).ok()?;
    Some(text.value())
}
