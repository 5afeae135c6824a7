//! Errors that tell of the state of a server, and not of a command: it is tried again.

/// First words of such errors.
const OF_THE_SERVER: [&str; 11] = [
    "OOM",
    "LOADING",
    "BUSY",
    "MISCONF",
    "NOREPLICAS",
    "READONLY",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "REDIRECT",
    "NOAUTH",
];

/// True if what was refused may be taken later.
pub fn is_of_server(error: &str) -> bool {
    let word = error.split(' ').next().unwrap_or_default();
    OF_THE_SERVER.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_server_are_not_errors_of_a_command() {
        for error in ["OOM command not allowed when used memory > 'maxmemory'.", "LOADING x"] {
            assert!(is_of_server(error), "{error}");
        }
        for error in ["ERR unknown command 'x'", "WRONGTYPE x", "NOPERM x", ""] {
            assert!(!is_of_server(error), "{error}");
        }
    }
}
