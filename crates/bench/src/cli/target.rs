//! Which process serves a port.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::generator::Protocol;

/// Asks a server on 127.0.0.1 for the number of its process.
///
/// # Errors
/// If it does not say, or not soon.
pub fn ask_pid(port: u16, protocol: Protocol) -> Result<u32> {
    let (question, field) = match protocol {
        Protocol::Resp => ("INFO server\r\n", "process_id:"),
        Protocol::Memcached => ("stats\r\n", "STAT pid "),
    };
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    stream.write_all(question.as_bytes())?;
    for line in BufReader::new(stream).lines().take(LINES_MAX) {
        let line = line?;
        if let Some(number) = line.strip_prefix(field) {
            return number.trim().parse().context("the number of a process");
        }
        if line == "END" || line.starts_with(['+', '-']) {
            break;
        }
    }
    bail!("the server does not say which process it is")
}

const ANSWER_MAX: Duration = Duration::from_secs(1);
const LINES_MAX: usize = 1000;
