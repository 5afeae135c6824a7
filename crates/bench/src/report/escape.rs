//! Escaping of text in markup.

/// Escapes a text for the inside of an element or a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            _ if character.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Returns the text if it is short enough, else its beginning and an ellipsis.
pub(super) fn elide(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(most.saturating_sub(1)).collect();
    beginning.trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::{elide, escape};

    #[test]
    fn markup_in_a_text_is_shown_and_not_obeyed() {
        assert_eq!(escape("<script a='\"'>&"), "&lt;script a=&#39;&quot;&#39;&gt;&amp;");
        assert_eq!(escape("a\0b"), "a\u{fffd}b");
    }

    #[test]
    fn a_long_text_ends_in_an_ellipsis() {
        assert_eq!(elide("abc", 3), "abc");
        assert_eq!(elide("ab cd", 4), "ab…");
    }
}
