//! Users at the start: `requirepass`, and the lines `user` or the file of `aclfile`.

use session::AccessControl;
use settings::network::REQUIREPASS;
use settings::users::ACLFILE;
use settings::{Settings, UserLine};
use std::collections::HashSet;
use thiserror::Error;
use users::{DEFAULT, SetError, has_blanks};

/// Why users could not be made.
#[derive(Debug, Error)]
pub enum UsersError {
    /// Lines and a file.
    #[error(
        "`aclfile {0}` and lines `user` exclude each other: write the users into the file, or \
         remove `aclfile`"
    )]
    Both(String),
    /// A line that is wrong.
    #[error("{place}: user {name}: {reason}")]
    Line {
        /// Where it stands.
        place: String,
        /// Name of the user.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A file that is wrong.
    #[error("{0}")]
    File(String),
}

/// Makes the users that the settings ask for.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn load(access: &AccessControl, settings: &Settings) -> Result<(), UsersError> {
    access.set_default_password(&REQUIREPASS.get(settings));
    let (lines, path) = (settings.user_lines(), ACLFILE.get(settings));
    if path.is_empty() {
        return load_lines(access, settings, &lines);
    }
    if !lines.is_empty() {
        return Err(UsersError::Both(path.to_string()));
    }
    access.load(&path, settings).map_err(UsersError::File)
}

fn load_lines(
    access: &AccessControl,
    settings: &Settings,
    lines: &[UserLine],
) -> Result<(), UsersError> {
    let mut names = HashSet::new();
    for UserLine { place, words } in lines {
        let Some((name, rules)) = words.split_first() else { continue };
        let wrong = |reason: String| UsersError::Line {
            place: place.clone(),
            name: String::from_utf8_lossy(name).into_owned(),
            reason,
        };
        if has_blanks(name) {
            return Err(wrong("a name cannot have blanks".to_owned()));
        }
        if !names.insert(name) {
            return Err(wrong("Duplicate user found. A user can only be defined once".to_owned()));
        }
        // What it is at the start does not count for one that has a line.
        let reset = Some(&b"reset"[..]).filter(|_| **name == *DEFAULT);
        let rules = reset.into_iter().chain(rules.iter().map(Vec::as_slice));
        let user = access.set(name, rules, settings);
        let user = user.map_err(|error| wrong(reason_of(error)))?;
        if !user.is_on() {
            tracing::info!(
                "The user '{}' is disabled (there is no 'on' modifier in the user description). \
                 Make sure this is not a configuration error.",
                String::from_utf8_lossy(name)
            );
        }
    }
    Ok(())
}

/// Returns what is wrong with a rule. One that may be a password is not repeated.
fn reason_of(error: SetError) -> String {
    match error {
        SetError::Rule { rule, error } if !rule.starts_with(b">") && !rule.starts_with(b"<") => {
            format!("'{}': {error}", String::from_utf8_lossy(&rule))
        }
        SetError::Rule { error, .. } => error.to_string(),
        SetError::Unmatched(_) => error.to_string(),
    }
}
