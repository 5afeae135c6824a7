//! A host with a few commands, and verbs to run scripts on it.

use std::collections::HashMap;

use script::{
    Call, Ending, Host, Input, Interpreter, LogLevel, Options, Protocol, Replication, Verdict,
};

/// Keys with texts, and what the script said.
#[derive(Default)]
pub struct Fake {
    keys: HashMap<Vec<u8>, Vec<u8>>,
    pub lines: Vec<(LogLevel, Vec<u8>)>,
    pub replications: Vec<Replication>,
    pub polls: u32,
    /// Polls after which the script is ended.
    pub patience: Option<u32>,
}

impl Host for Fake {
    fn call(&mut self, call: &Call<'_>, reply: &mut Vec<u8>) -> u32 {
        let name = call.arguments[0].to_ascii_lowercase();
        match (&name[..], &call.arguments[1..]) {
            (b"get", [key]) => match self.keys.get(*key) {
                Some(value) => bulk(reply, value),
                None if call.protocol == Protocol::Resp3 => reply.extend_from_slice(b"_\r\n"),
                None => reply.extend_from_slice(b"$-1\r\n"),
            },
            (b"set", [key, value]) => {
                self.keys.insert(key.to_vec(), value.to_vec());
                reply.extend_from_slice(b"+OK\r\n");
            }
            (b"echo", [text]) => bulk(reply, text),
            (b"type", [_]) => reply.extend_from_slice(b"+string\r\n"),
            (b"lpush", [..]) => reply.extend_from_slice(
                b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
            ),
            (b"debug", [_, kind]) => reply.extend_from_slice(sample(kind, call.protocol)),
            (b"slow", []) => {
                reply.extend_from_slice(b"+OK\r\n");
                return u32::MAX;
            }
            (b"raw", [text]) => reply.extend_from_slice(text),
            (b"get" | b"incr", _) => {
                reply.extend_from_slice(
                    b"-ERR Wrong number of args calling command from script\r\n",
                );
            }
            _ => reply.extend_from_slice(b"-ERR Unknown command called from script\r\n"),
        }
        0
    }

    fn poll(&mut self) -> Verdict {
        self.polls += 1;
        match self.patience {
            Some(patience) if self.polls >= patience => {
                Verdict::End("Script killed by user with SCRIPT KILL.")
            }
            _ => Verdict::Continue,
        }
    }

    fn log(&mut self, level: LogLevel, text: &[u8]) {
        self.lines.push((level, text.to_vec()));
    }

    fn replicate(&mut self, to: Replication) {
        self.replications.push(to);
    }

    fn may_call(&mut self, arguments: &[&[u8]]) -> Option<bool> {
        (arguments[0] == b"get").then_some(true)
    }
}

/// Returns a reply of each kind, as DEBUG PROTOCOL does.
fn sample(kind: &[u8], protocol: Protocol) -> &'static [u8] {
    match (kind, protocol) {
        (b"double", Protocol::Resp3) => b",3.141\r\n",
        (b"double", Protocol::Resp2) => b"$5\r\n3.141\r\n",
        (b"null", Protocol::Resp3) => b"_\r\n",
        (b"null", Protocol::Resp2) => b"$-1\r\n",
        (b"array", _) | (b"set", Protocol::Resp2) => b"*3\r\n:0\r\n:1\r\n:2\r\n",
        (b"set", Protocol::Resp3) => b"~3\r\n:0\r\n:1\r\n:2\r\n",
        (b"map", Protocol::Resp3) => b"%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n",
        (b"map", Protocol::Resp2) => b"*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n",
        (b"attrib", Protocol::Resp3) => {
            b"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n\
              $39\r\nSome real reply following the attribute\r\n"
        }
        (b"attrib", _) => b"$39\r\nSome real reply following the attribute\r\n",
        (b"bignum", Protocol::Resp3) => b"(1234567999999999999999999999999999999\r\n",
        (b"bignum", _) => b"$37\r\n1234567999999999999999999999999999999\r\n",
        (b"verbatim", Protocol::Resp3) => b"=29\r\ntxt:This is a verbatim\nstring\r\n",
        (b"verbatim", _) => b"$25\r\nThis is a verbatim\nstring\r\n",
        (b"true", Protocol::Resp3) => b"#t\r\n",
        (b"true", _) => b":1\r\n",
        (b"false", Protocol::Resp3) => b"#f\r\n",
        (b"false", _) => b":0\r\n",
        _ => b":12345\r\n",
    }
}

fn bulk(reply: &mut Vec<u8>, text: &[u8]) {
    reply.extend_from_slice(format!("${}\r\n", text.len()).as_bytes());
    reply.extend_from_slice(text);
    reply.extend_from_slice(b"\r\n");
}

/// An interpreter and its host.
pub struct Server {
    pub interpreter: Interpreter,
    pub fake: Fake,
    pub protocol: Protocol,
}

impl Server {
    pub fn new() -> Self {
        Server::with(&Options::default())
    }

    pub fn with(options: &Options) -> Self {
        let interpreter = Interpreter::new(options).expect("there is memory for the libraries");
        Server { interpreter, fake: Fake::default(), protocol: Protocol::Resp2 }
    }

    /// Compiles and runs a script, and returns its reply.
    pub fn eval(&mut self, source: impl AsRef<[u8]>) -> Vec<u8> {
        self.eval_with(source, &[], &[]).1
    }

    pub fn eval_with(
        &mut self,
        source: impl AsRef<[u8]>,
        keys: &[&[u8]],
        arguments: &[&[u8]],
    ) -> (Option<Ending>, Vec<u8>) {
        let mut reply = Vec::new();
        let function = match self.interpreter.compile(source.as_ref()) {
            Ok(function) => function,
            Err(text) => {
                reply.extend_from_slice(b"-ERR Error compiling script (new function): ");
                reply.extend(text.iter().map(|b| if b"\r\n".contains(b) { b' ' } else { *b }));
                reply.extend_from_slice(b"\r\n");
                return (None, reply);
            }
        };
        let input = Input { keys, arguments, protocol: self.protocol };
        let ending = self.interpreter.run(&function, input, &mut self.fake, &mut reply);
        self.interpreter.release(function);
        (Some(ending), reply)
    }

    /// Returns the text of a script's reply, which is a bulk string.
    pub fn text(&mut self, source: impl AsRef<[u8]>) -> String {
        let reply = self.eval(source);
        let reply = String::from_utf8_lossy(&reply).into_owned();
        match reply.split_once("\r\n") {
            Some((head, rest)) if head.starts_with('$') => rest.trim_end_matches("\r\n").to_owned(),
            _ => reply.trim_end_matches("\r\n").to_owned(),
        }
    }
}
