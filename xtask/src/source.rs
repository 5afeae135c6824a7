//! One file, split into what the compiler sees and what people read.

/// A file with its comments taken out and the contents of its literals blanked.
pub struct Source {
    pub path: String,
    pub text: String,
    /// As long as `text`: comments and the insides of literals are spaces, so that an
    /// offset into one is an offset into the other.
    pub code: String,
    pub comments: Vec<Comment>,
    line_starts: Vec<usize>,
}

/// One line of a comment; a block comment gives one for each of its lines.
#[derive(Debug, PartialEq, Eq)]
pub struct Comment {
    pub line: usize,
    pub text: String,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let line_starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code: text.to_owned(),
            comments: Vec::new(),
            line_starts,
        };
        if path.ends_with(".rs") {
            source.blank();
        }
        source
    }

    /// The line of an offset, counted from one.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }

    /// The literal whose opening quote stands at `offset`, without its quotes.
    pub fn string_at(&self, offset: usize) -> Option<&str> {
        let inside = self.text.get(offset + 1..)?;
        inside.split('"').next()
    }

    fn blank(&mut self) {
        let mut code = self.text.clone().into_bytes();
        let mut at = 0;
        while at < code.len() {
            let (end, kind) = span(self.text.as_bytes(), at);
            match kind {
                Span::Code => {}
                Span::Comment => {
                    self.note_comment(at, end);
                    blank_bytes(&mut code[at..end]);
                }
                Span::Literal { quote } => {
                    // A raw string has as many hashes behind it as before it.
                    blank_bytes(&mut code[at + quote + 1..end - quote.max(1)]);
                }
            }
            at = end;
        }
        self.code = String::from_utf8(code).unwrap_or_default();
    }

    fn note_comment(&mut self, start: usize, end: usize) {
        let first = self.line_of(start);
        for (number, text) in self.text[start..end].lines().enumerate() {
            self.comments.push(Comment { line: first + number, text: text.to_owned() });
        }
    }
}

enum Span {
    Code,
    Comment,
    /// `quote` is the distance from the start to the opening quote; at least two bytes follow.
    Literal {
        quote: usize,
    },
}

/// The extent of what begins at `at`. Always moves on by at least one byte.
fn span(text: &[u8], at: usize) -> (usize, Span) {
    let rest = &text[at..];
    let plain = (at + 1, Span::Code);
    match rest {
        [b'/', b'/', ..] => (at + line_length(rest), Span::Comment),
        [b'/', b'*', ..] => (at + block_comment_length(rest), Span::Comment),
        [b'"', ..] => literal(at, 0, quoted_length(rest)),
        [b'\'', ..] => match char_length(rest) {
            Some(length) => literal(at, 0, length),
            None => plain,
        },
        [b'r', ..] if !continues_word(text, at) => match raw_length(rest) {
            Some((quote, length)) => literal(at, quote, length),
            None => plain,
        },
        _ => plain,
    }
}

fn literal(at: usize, quote: usize, length: usize) -> (usize, Span) {
    if length < quote + 2 {
        return (at + length, Span::Code);
    }
    (at + length, Span::Literal { quote })
}

fn blank_bytes(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
}

fn block_comment_length(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

fn quoted_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `None` for a lifetime, which starts with the same quote as a character.
fn char_length(rest: &[u8]) -> Option<usize> {
    let body = if rest.get(1) == Some(&b'\\') { 3 } else { 1 + utf8_length(*rest.get(1)?) };
    let close = rest.iter().skip(body).take(12).position(|&byte| byte == b'\'')?;
    (close == 0 || rest[1] == b'\\').then_some(body + close + 1)
}

fn utf8_length(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// The distance to the opening quote and the whole length of a raw string.
fn raw_length(rest: &[u8]) -> Option<(usize, usize)> {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    let open = hashes + 1;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = [b"\"", vec![b'#'; hashes].as_slice()].concat();
    let inside = &rest[open + 1..];
    let found = inside.windows(close.len()).position(|window| window == close)?;
    Some((open, open + 1 + found + close.len()))
}

/// Whether the `r` at `at` ends a longer word; the prefixes `br` and `cr` do not count.
fn continues_word(text: &[u8], at: usize) -> bool {
    let word = |back: usize| {
        at.checked_sub(back).is_some_and(|at| text[at].is_ascii_alphanumeric() || text[at] == b'_')
    };
    word(1) && (!matches!(text[at - 1], b'b' | b'c') || word(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::new("a.rs", text).code
    }

    #[test]
    fn comments_vanish_and_are_kept_aside() {
        let source = Source::new("a.rs", "a // one\nb /* two /* in */\nthree */ c");
        assert_eq!(source.code, "a       \nb                \n         c");
        let lines: Vec<usize> = source.comments.iter().map(|comment| comment.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }

    #[test]
    fn strings_keep_their_quotes_only() {
        assert_eq!(code(r#"f("a // \" b") + 1"#), r#"f("         ") + 1"#);
        assert_eq!(code(r##"f(br#"a " {"#, 1)"##), r##"f(br#"     "#, 1)"##);
    }

    #[test]
    fn characters_are_literals_and_lifetimes_are_not() {
        assert_eq!(code(r"f('{', '\'', b'\n', 'é')"), "f(' ', '  ', b'  ', '  ')");
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn a_raw_name_is_not_a_raw_string() {
        assert_eq!(code("let r#fn = for_r; \"x\""), "let r#fn = for_r; \" \"");
    }

    #[test]
    fn an_open_literal_ends_with_the_file() {
        for text in ["\"", "\"a", "'", "/*", "r#\"a", "'\\", "b'"] {
            assert_eq!(code(text).len(), text.len(), "{text}");
        }
    }

    #[test]
    fn lines_are_counted_from_one() {
        let source = Source::new("a.rs", "a\nb\n");
        assert_eq!((source.line_of(0), source.line_of(1), source.line_of(2)), (1, 1, 2));
    }
}
