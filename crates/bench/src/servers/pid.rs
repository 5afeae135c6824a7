//! Process that serves a port, as the server reports it.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::control::encode;
use crate::generator::Protocol;

/// Asks a server on 127.0.0.1 for its process id; `None` if it does not report one.
///
/// # Errors
/// If it does not accept, or sends no reply for a second.
pub fn ask_pid(port: u16, protocol: Protocol) -> Result<Option<u32>> {
    let (question, field) = match protocol {
        // The reply to PING ends the reading if the reply to INFO holds no process id.
        Protocol::Resp => (encode(&["INFO", "server"]) + &encode(&["PING"]), "process_id:"),
        Protocol::Memcached => ("stats\r\n".to_owned(), "STAT pid "),
    };
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    stream.write_all(question.as_bytes())?;
    for line in BufReader::new(stream).lines().take(LINES_MAX) {
        let line = line?;
        if let Some(number) = line.strip_prefix(field) {
            return number.trim().parse().map(Some).context("the number of a process");
        }
        if line == "END" || line.starts_with(['+', '-']) {
            break;
        }
    }
    Ok(None)
}

const ANSWER_MAX: Duration = Duration::from_secs(1);
const LINES_MAX: usize = 1000;
