//! Facts from the insides of macros, which have no syntax tree.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

use super::facts::Module;
use super::items::{Reader, join};

impl Reader<'_> {
    /// Reads tokens by their form. The expansion of the macro is not known.
    pub fn unparsed(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            at += match &trees[at] {
                TokenTree::Group(group) => {
                    self.unparsed(group.stream());
                    1
                }
                TokenTree::Ident(_) => self.unparsed_word(&trees[at..]),
                _ => 1,
            };
        }
    }

    /// Reads from a word on, and returns the number of tokens read.
    fn unparsed_word(&mut self, trees: &[TokenTree]) -> usize {
        match trees[0].to_string().as_str() {
            "use" => self.unparsed_import(trees),
            "fn" => self.unparsed_function(trees),
            "mod" => self.unparsed_module(trees),
            _ => self.unparsed_path(trees),
        }
    }

    fn unparsed_import(&mut self, trees: &[TokenTree]) -> usize {
        let end = trees.iter().position(|tree| is_sign(tree, ';'));
        let tokens = trees[..=end.unwrap_or(0)].iter().cloned().collect();
        match syn::parse2::<syn::ItemUse>(tokens) {
            Ok(item) => {
                self.import(&item);
                end.unwrap_or(0) + 1
            }
            Err(_) => 1,
        }
    }

    /// Skips the word `fn` only: a body is read like all else.
    fn unparsed_function(&mut self, trees: &[TokenTree]) -> usize {
        let named = trees[1..].iter().take(2).find(|tree| !is_sign(tree, '$'));
        if let (Some(TokenTree::Ident(name)), Some(close)) = (named, body_end(trees)) {
            self.function(&name.to_string(), trees[0].span(), close);
        }
        1
    }

    fn unparsed_module(&mut self, trees: &[TokenTree]) -> usize {
        let (name, body) = match trees {
            [_, TokenTree::Ident(name), sign, ..] if is_sign(sign, ';') => (name, None),
            [_, TokenTree::Ident(name), TokenTree::Group(body), ..] => (name, Some(body)),
            _ => return 1,
        };
        let (name, scope) = (name.to_string(), self.scope.clone());
        let is_inline = body.is_some();
        self.rust.modules.push(Module { name: name.clone(), is_inline, path: None, scope });
        if let Some(body) = body {
            self.inside(&name, |reader| reader.unparsed(body.stream()));
        }
        3
    }

    fn unparsed_path(&mut self, trees: &[TokenTree]) -> usize {
        let mut path = trees[0].to_string();
        let mut length = 1;
        while let [first, second, TokenTree::Ident(word), ..] = &trees[length..] {
            if !is_sign(first, ':') || !is_sign(second, ':') {
                break;
            }
            path = join(&path, &word.to_string());
            length += 3;
        }
        if length > 1 {
            self.mention(trees[0].span(), path, None);
        }
        length
    }
}

/// Returns the closing brace of the first body, unless a `;` comes before it.
fn body_end(trees: &[TokenTree]) -> Option<Span> {
    trees.iter().take_while(|tree| !is_sign(tree, ';')).find_map(|tree| match tree {
        TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => Some(body.span_close()),
        _ => None,
    })
}

fn is_sign(tree: &TokenTree, sign: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign)
}
