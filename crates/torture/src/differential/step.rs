//! Steps of a round, and their words.

use text::quote;

/// A command with its arguments.
pub type Request = Vec<Vec<u8>>;

/// One action of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the connection.
    pub client: usize,
    /// Action of the client.
    pub action: Action,
}

/// Action of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a request; its reply is compared.
    Send(Request),
    /// Follows the cursor of a SCAN to its end; all elements are compared at once.
    Iterate(Request),
    /// Writes while other clients wait.
    Serve {
        /// Requests of the waiting clients, from the first client that does not write.
        waiters: Vec<Request>,
        /// Keys that are removed beforehand.
        keys: Vec<Vec<u8>>,
        /// Requests that write; afterwards no client waits.
        then: Vec<Request>,
    },
    /// Sends a request that lets a key expire soon, and asks until it is gone.
    LetExpire(Request, Vec<u8>),
}

impl Step {
    /// Creates a step that sends a request.
    pub fn send(client: usize, request: Request) -> Step {
        Step { client, action: Action::Send(request) }
    }

    /// Returns the number of words that may be removed to make the step shorter.
    pub fn words(&self) -> usize {
        match &self.action {
            Action::Send(request) => request.len(),
            Action::Iterate(_) | Action::LetExpire(..) | Action::Serve { .. } => 0,
        }
    }
}

/// Creates a request from words.
pub fn request<W: AsRef<[u8]>>(words: &[W]) -> Request {
    words.iter().map(|word| word.as_ref().to_vec()).collect()
}

/// Sources of scripts that call the command which their arguments are.
pub const CALLERS: [&str; 2] =
    ["return redis.pcall(unpack(ARGV))", "redis.setresp(3) return redis.pcall(unpack(ARGV))"];

/// Returns the request that has a script call a command.
pub fn scripted(source: &str, called: &[Vec<u8>]) -> Request {
    request(&["EVAL", source, "0"]).into_iter().chain(called.iter().cloned()).collect()
}

/// Returns what a request calls: itself, unless it is such a script.
pub fn called(request: &[Vec<u8>]) -> &[Vec<u8>] {
    match request {
        [eval, source, _, called @ ..]
            if eval == b"EVAL" && CALLERS.iter().any(|it| it.as_bytes() == source) =>
        {
            called
        }
        _ => request,
    }
}

/// Returns the name of the command in upper case; that of a subcommand follows after a blank.
pub fn name(request: &[Vec<u8>]) -> String {
    let request = called(request);
    let word = |at: usize| request.get(at).map(|it| it.to_ascii_uppercase()).unwrap_or_default();
    let first = String::from_utf8_lossy(&word(0)).into_owned();
    if WITH_SUBCOMMANDS.contains(&first.as_str()) {
        return format!("{first} {}", String::from_utf8_lossy(&word(1)));
    }
    first
}

/// Returns all clients but one.
pub fn others(client: usize) -> impl Iterator<Item = usize> {
    (0..).filter(move |it| *it != client)
}

/// Returns the name of a client; `A` for the first one, which exists from the start.
pub fn client_name(client: usize) -> String {
    char::from_digit(client as u32 + 10, 36).map_or('?', |it| it.to_ascii_uppercase()).to_string()
}

/// Formats a request on one line.
pub fn line(request: &[Vec<u8>]) -> String {
    request.iter().map(|it| word(it)).collect::<Vec<_>>().join(" ")
}

/// Formats a word with escapes where needed; long runs of one byte as `"a"*4096`.
pub fn word(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:+*>()[,=".contains(byte);
    if let [first, rest @ ..] = bytes
        && rest.len() >= RUN_MIN
        && rest.iter().all(|byte| byte == first)
    {
        return format!("{}*{}", quote(&[*first]), bytes.len());
    }
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    quote(bytes)
}

const RUN_MIN: usize = 16;
const WITH_SUBCOMMANDS: &[&str] =
    &["CLIENT", "CLUSTER", "COMMAND", "CONFIG", "FUNCTION", "MEMORY", "OBJECT", "XGROUP", "XINFO"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subcommands_belong_to_the_name() {
        assert_eq!(name(&request(&["xinfo", "stream", "k"])), "XINFO STREAM");
        assert_eq!(name(&request(&["get", "k"])), "GET");
    }
}
