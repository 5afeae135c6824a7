//! Imports, paths, functions and modules, from the syntax tree.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, Ident, Item, Lit, Meta, UseTree, Visibility};

use super::facts::{Definition, Function, Import, Mention, Module, Rust, Scope, names_tests};

pub struct Reader<'a> {
    pub rust: &'a mut Rust,
    pub scope: Scope,
    /// Number of enclosing function bodies; an item defined in one is visible nowhere else.
    bodies: usize,
}

impl<'a> Reader<'a> {
    pub fn new(rust: &'a mut Rust) -> Self {
        Reader { rust, scope: Scope::default(), bodies: 0 }
    }

    pub fn function(&mut self, name: &str, first: Span, last: Span) {
        let lines = first.start().line..=last.end().line;
        self.rust.functions.push(Function { name: name.to_owned(), lines });
    }

    pub fn mention(&mut self, span: Span, path: String, import: Option<Import>) {
        let (line, scope) = (span.start().line, self.scope.clone());
        self.rust.mentions.push(Mention { line, path, import, scope });
    }

    /// Reads the inside of a module, with that module in the scope.
    pub fn inside(&mut self, name: &str, read: impl FnOnce(&mut Self)) {
        let mut scope = self.scope.clone();
        scope.modules = scope.modules.iter().cloned().chain([name.to_owned()]).collect();
        scope.is_in_tests |= names_tests(name);
        let outer = std::mem::replace(&mut self.scope, scope);
        read(self);
        self.scope = outer;
    }

    fn attributed(&mut self, attributes: &[Attribute], read: impl FnOnce(&mut Self)) {
        let outer = self.scope.is_for_tests;
        self.scope.is_for_tests |= attributes.iter().any(is_for_tests);
        read(self);
        self.scope.is_for_tests = outer;
    }

    pub fn import(&mut self, item: &syn::ItemUse) {
        let is_public = !matches!(item.vis, Visibility::Inherited);
        self.import_tree(&item.tree, "", is_public);
    }

    fn import_tree(&mut self, tree: &UseTree, prefix: &str, is_public: bool) {
        let mut leaf = |span: Span, last: &str, name: &str| {
            let path = if last == "self" { prefix.to_owned() } else { join(prefix, last) };
            let name = match name {
                "self" => prefix.rsplit("::").next().unwrap_or(""),
                name => name,
            };
            self.mention(span, path, Some(Import { name: name.to_owned(), is_public }));
        };
        match tree {
            UseTree::Path(path) => {
                let prefix = join(prefix, &path.ident.to_string());
                self.import_tree(&path.tree, &prefix, is_public);
            }
            UseTree::Name(it) => {
                leaf(it.ident.span(), &it.ident.to_string(), &it.ident.to_string())
            }
            UseTree::Rename(it) => {
                leaf(it.ident.span(), &it.ident.to_string(), &it.rename.to_string());
            }
            UseTree::Glob(it) => leaf(it.star_token.span, "*", "*"),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import_tree(tree, prefix, is_public));
            }
        }
    }

    fn define(&mut self, item: &Item) {
        if let Some(name) = name_of(item).filter(|_| self.bodies == 0) {
            let (modules, name) = (self.scope.modules.clone(), name.to_string());
            self.rust.definitions.push(Definition { modules, name });
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        self.define(item);
        self.attributed(attributes_of(item), |reader| visit::visit_item(reader, item));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        self.rust.modules.push(Module {
            name: name.clone(),
            is_inline: item.content.is_some(),
            path: item.attrs.iter().find_map(file_path),
            scope: self.scope.clone(),
        });
        self.inside(&name, |reader| visit::visit_item_mod(reader, item));
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.signature(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.signature(&item.sig, &item.block);
        self.attributed(&item.attrs, |reader| visit::visit_impl_item_fn(reader, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.signature(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_block(&mut self, block: &'ast Block) {
        self.bodies += 1;
        visit::visit_block(self, block);
        self.bodies -= 1;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let words = path.segments.iter().map(|segment| segment.ident.to_string());
            let text = words.collect::<Vec<_>>().join("::");
            self.mention(path.segments[0].ident.span(), text, None);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.unparsed(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        visit::visit_attribute(self, attribute);
        if let Meta::List(list) = &attribute.meta {
            self.unparsed(list.tokens.clone());
        }
    }

    /// Skips the path of `pub(in path)`, which is no dependency.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

impl Reader<'_> {
    fn signature(&mut self, signature: &syn::Signature, block: &Block) {
        let (first, last) = (signature.fn_token.span, block.brace_token.span.close());
        self.function(&signature.ident.to_string(), first, last);
    }
}

pub fn forbids_unsafe(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) => {
            list.path.is_ident("forbid") && has_word(list.tokens.clone(), "unsafe_code")
        }
        _ => false,
    }
}

/// Returns true for an attribute that is for tests only: `cfg(test)`, `cfg(all(test, loom))`.
fn is_for_tests(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) => {
            let has = |word| has_word(list.tokens.clone(), word);
            list.path.is_ident("cfg") && has("test") && !has("not") && !has("any")
        }
        _ => false,
    }
}

fn has_word(tokens: TokenStream, wanted: &str) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Group(group) => has_word(group.stream(), wanted),
        TokenTree::Ident(word) => word == wanted,
        _ => false,
    })
}

/// Returns the value of `#[path = "..."]`.
fn file_path(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(literal) if pair.path.is_ident("path") => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

fn name_of(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(it) => Some(&it.ident),
        Item::Enum(it) => Some(&it.ident),
        Item::Fn(it) => Some(&it.sig.ident),
        Item::Macro(it) => it.ident.as_ref(),
        Item::Static(it) => Some(&it.ident),
        Item::Struct(it) => Some(&it.ident),
        Item::Trait(it) => Some(&it.ident),
        Item::Type(it) => Some(&it.ident),
        Item::Union(it) => Some(&it.ident),
        _ => None,
    }
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

pub fn join(prefix: &str, word: &str) -> String {
    if prefix.is_empty() { word.to_owned() } else { format!("{prefix}::{word}") }
}
