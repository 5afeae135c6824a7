//! Names beside a file that are not taken.

use std::io;
use std::path::{Path, PathBuf};

/// Makes something as `FILE.ENDING`, or with a number where that is taken; returns the path too.
///
/// # Errors
/// Those of `make`, but that the name is taken.
pub(crate) fn beside<T>(
    path: &Path,
    ending: &str,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    for number in 1_u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{ending}"));
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let name = PathBuf::from(name);
        match make(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((made?, name)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
