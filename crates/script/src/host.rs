//! Who a script runs for: the commands, the log and the clock are the host's.

/// What a script asks of the server that runs it.
pub trait Host {
    /// Runs a command, and appends its reply in RESP: one value, complete, in the call's protocol.
    /// Returns the instructions of Lua as which it counts: the host is polled after so many.
    fn call(&mut self, call: &Call<'_>, reply: &mut Vec<u8>) -> u32;

    /// Is asked every few microseconds to milliseconds while a script runs.
    fn poll(&mut self) -> Verdict {
        Verdict::Continue
    }

    /// Is told of each error in the reply of the script, and whether a command has ended with it,
    /// which counted it then.
    fn reply_error(&mut self, text: &[u8], is_counted: bool) {
        let _ = (text, is_counted);
    }

    /// Writes a line to the log.
    fn log(&mut self, level: LogLevel, text: &[u8]);

    /// Says what of the following writes goes to replicas and to the journal.
    fn replicate(&mut self, to: Replication);

    /// Returns whether the user may run a command with these arguments; `None` without such one.
    fn may_call(&mut self, arguments: &[&[u8]]) -> Option<bool>;
}

/// Command that a script calls.
#[derive(Clone, Copy, Debug)]
pub struct Call<'call> {
    /// Name and arguments; at least one.
    pub arguments: &'call [&'call [u8]],
    /// Form of the reply, as the script chose it.
    pub protocol: Protocol,
}

/// Version of RESP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2
    #[default]
    Resp2,
    /// RESP3
    Resp3,
}

/// Whether a script goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Continue,
    /// The script ends with this error, whatever it catches.
    End(&'static str),
}

/// Weight of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// `LOG_DEBUG`
    Debug,
    /// `LOG_VERBOSE`
    Verbose,
    /// `LOG_NOTICE`
    Notice,
    /// `LOG_WARNING`
    Warning,
}

/// Where writes of a script go besides the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replication {
    /// To the journal.
    pub journal: bool,
    /// To replicas.
    pub replicas: bool,
}
