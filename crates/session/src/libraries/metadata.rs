//! The first line of a library: `#!engine name=NAME`.

use crate::refusal::Refusal;

const NAME_TEXT: &str = "can only contain letters, numbers, or underscores(_) and must be at \
                         least one character long";

/// Reads the name of a library, and returns where its first line ends.
///
/// # Errors
/// When there is no such line, or not as it has to be.
pub fn read(code: &[u8]) -> Result<(Vec<u8>, usize), Refusal> {
    let rest = code.strip_prefix(b"#!").ok_or(Refusal::of("ERR Missing library metadata"))?;
    let invalid = Refusal::of("ERR Invalid library metadata");
    let length = rest.iter().position(|byte| *byte == b'\n').ok_or(invalid.clone())?;
    let words = text::split_args(&rest[..length]).ok_or(invalid)?;
    let has_engine = rest.first().is_some_and(|byte| !byte.is_ascii_whitespace());
    let (engine, options) = match words.split_first() {
        Some((engine, options)) if has_engine => (&engine[..], options),
        _ => (&[][..], &words[..]),
    };
    let mut name = None;
    for word in options {
        let value = word.split_at_checked(5).filter(|(key, _)| key.eq_ignore_ascii_case(b"name="));
        let Some((_, value)) = value else {
            return Err(Refusal::naming("ERR Invalid metadata value given: {}", &[word]));
        };
        if name.replace(value.to_vec()).is_some() {
            let text = "ERR Invalid metadata value, name argument was given multiple times";
            return Err(Refusal::of(text));
        }
    }
    let name = name.ok_or(Refusal::of("ERR Library name was not given"))?;
    if !is_name(&name) {
        return Err(Refusal::new(format!("ERR Library names {NAME_TEXT}")));
    }
    if !engine.eq_ignore_ascii_case(b"lua") {
        return Err(Refusal::naming("ERR Engine '{}' not found", &[engine]));
    }
    Ok((name, 2 + length))
}

/// Refuses a name that a function cannot have.
///
/// # Errors
/// When it has other signs than names have.
pub fn check_function_name(name: &[u8]) -> Result<(), Refusal> {
    if is_name(name) {
        return Ok(());
    }
    Err(Refusal::new(format!("ERR Function names {NAME_TEXT}")))
}

fn is_name(name: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    !name.is_empty() && name.iter().all(is_part)
}
