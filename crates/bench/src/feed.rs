//! A feed: a primary without data, whose stream is written beforehand and sent as fast as its
//! replica takes it. What the replica needs for it is the cost of applying.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde::Deserialize;

use crate::control::encode;
use crate::generator::{Batch, Chance, Template};
use crate::measure::cpu_time_at_rest;
use crate::moving::Importer;
use crate::process;
use crate::protocol::Protocol;
use crate::servers::Server;

/// What follows a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The server, as a replica.
    #[default]
    Server,
    /// `varve-import`, for the server.
    Import,
}

/// What a replica needed for a stream.
pub struct Applied {
    /// Commands per second, from the first byte sent to the acknowledgement of the last one.
    pub per_second: f64,
    /// Processor time of the replica for a command, in microseconds.
    pub us: f64,
}

/// Has a server follow a primary that sends so many commands, made of a template for the numbers
/// below `keys` in turn.
///
/// # Errors
/// If the server does not follow, or does not acknowledge everything in time.
pub fn feed(server: &Server, by: By, request: &str, keys: u64, count: u64) -> Result<Applied> {
    let pieces = pieces(request, keys)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let serve_next = |cpu_time: &dyn Fn() -> Result<Duration>| {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        serve(cpu_time, stream, &pieces, count).context("the replica of a feed")
    };
    match by {
        By::Server => {
            let mut control = server.control()?;
            control.run(["REPLICAOF", "127.0.0.1", &port.to_string()])?;
            let applied = serve_next(&|| cpu_time_at_rest(server));
            control.run(["REPLICAOF", "NO", "ONE"])?;
            applied
        }
        By::Import => {
            let importer = Importer::follow(port, server.port, &["--replace"])?;
            serve_next(&|| process::cpu_time(importer.pid()))
        }
    }
}

/// Returns pieces of the stream, of `PER_PIECE` commands each, for all keys.
fn pieces(request: &str, keys: u64) -> Result<Vec<Vec<u8>>> {
    let template = Template::parse(Protocol::Resp, request)?;
    let mut chance = Chance::new(SmallRng::seed_from_u64(1));
    ensure!(keys.is_multiple_of(PER_PIECE) && keys > 0, "a multiple of {PER_PIECE} keys");
    let piece = |first: u64| {
        let mut batch = Batch::default();
        (first..first + PER_PIECE).for_each(|n| template.write(n, &mut chance, &mut batch));
        batch.bytes
    };
    Ok((0..keys).step_by(PER_PIECE as usize).map(piece).collect())
}

fn serve(
    cpu_time: &dyn Fn() -> Result<Duration>,
    stream: TcpStream,
    pieces: &[Vec<u8>],
    count: u64,
) -> Result<Applied> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut link, mut replies) = (stream.try_clone()?, BufReader::new(stream));
    answer(&mut link, &mut replies)?;
    let acknowledged = AtomicU64::new(NOTHING);
    thread::scope(|scope| {
        let reading = scope.spawn(|| read_acknowledgements(&mut replies, &acknowledged));
        let applied = send(cpu_time, &mut link, pieces, count, &acknowledged);
        let _ = link.shutdown(Shutdown::Both);
        let read = reading.join().map_err(|_| anyhow!("the reader broke"))?;
        // The end of the link ends the reader, so its error tells something only beside another.
        applied.with_context(|| read.err().map_or_else(String::new, |it| format!("{it:#}")))
    })
}

/// Sends the stream, once the replica has its snapshot, and waits until all of it is acknowledged.
fn send(
    cpu_time: &dyn Fn() -> Result<Duration>,
    link: &mut TcpStream,
    pieces: &[Vec<u8>],
    count: u64,
    acknowledged: &AtomicU64,
) -> Result<Applied> {
    wait_for(acknowledged, 0)?;
    let (before, began) = (cpu_time()?, Instant::now());
    let select = encode(["SELECT", "0"]);
    link.write_all(select.as_bytes())?;
    let mut sent = select.len() as u64;
    let turns = (count / PER_PIECE) as usize;
    for piece in pieces.iter().cycle().take(turns) {
        link.write_all(piece).context("sending")?;
        sent += piece.len() as u64;
    }
    link.write_all(encode(["REPLCONF", "GETACK", "*"]).as_bytes())?;
    wait_for(acknowledged, sent)?;
    let took = began.elapsed().as_secs_f64();
    let used = cpu_time()?.saturating_sub(before).as_secs_f64();
    let count = (turns as u64 * PER_PIECE) as f64;
    Ok(Applied { per_second: count / took, us: used * 1e6 / count })
}

/// Answers what a replica says up to its request for a snapshot, and sends one without data.
fn answer(link: &mut TcpStream, replies: &mut impl BufRead) -> Result<()> {
    loop {
        let words = command(replies)?;
        let reply = match words[0].to_ascii_uppercase().as_str() {
            "PING" => "+PONG\r\n".to_owned(),
            "PSYNC" => break,
            _ => "+OK\r\n".to_owned(),
        };
        link.write_all(reply.as_bytes())?;
    }
    let id = "f".repeat(40);
    link.write_all(format!("+FULLRESYNC {id} 0\r\n${}\r\n", EMPTY.len()).as_bytes())?;
    Ok(link.write_all(EMPTY)?)
}

fn read_acknowledgements(replies: &mut impl BufRead, acknowledged: &AtomicU64) -> Result<()> {
    loop {
        let words = command(replies)?;
        if let [_, what, offset, ..] = &words[..]
            && what.eq_ignore_ascii_case("ACK")
        {
            acknowledged.store(offset.parse().context("an offset")?, SeqCst);
        }
    }
}

fn wait_for(acknowledged: &AtomicU64, offset: u64) -> Result<()> {
    let began = Instant::now();
    loop {
        let now = acknowledged.load(SeqCst);
        if now != NOTHING && now >= offset {
            return Ok(());
        }
        ensure!(began.elapsed() < PATIENCE, "{now} of {offset} bytes were acknowledged");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Reads one command as its words; empty lines before it, which say that a replica lives, are
/// passed over.
fn command(replies: &mut impl BufRead) -> Result<Vec<String>> {
    let count = loop {
        let line = line(replies)?;
        if !line.is_empty() {
            break length(&line, '*')?;
        }
    };
    let word = |_| {
        let mut word = vec![0; length(&line(replies)?, '$')? + 2];
        replies.read_exact(&mut word)?;
        word.truncate(word.len() - 2);
        Ok(String::from_utf8_lossy(&word).into_owned())
    };
    let words: Vec<_> = (0..count).map(word).collect::<Result<_>>()?;
    ensure!(!words.is_empty(), "a command without words");
    Ok(words)
}

fn line(replies: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    ensure!(replies.by_ref().take(LINE_MAX).read_line(&mut line)? > 0, "the replica left");
    Ok(line.trim_end().to_owned())
}

fn length(line: &str, kind: char) -> Result<usize> {
    let length = line.strip_prefix(kind).and_then(|it| it.parse().ok());
    length.filter(|it| *it <= WORD_MAX).with_context(|| format!("no length: {line:?}"))
}

/// A snapshot of version 11 without keys and without a checksum.
const EMPTY: &[u8] = b"REDIS0011\xff\0\0\0\0\0\0\0\0";
/// Commands written at once.
const PER_PIECE: u64 = 1000;
const NOTHING: u64 = u64::MAX;
const PATIENCE: Duration = Duration::from_secs(300);
const LINE_MAX: u64 = 64;
const WORD_MAX: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::{command, pieces};

    #[test]
    fn what_a_replica_says_is_read_word_by_word() {
        let mut said: &[u8] =
            b"\n*1\r\n$4\r\nPING\r\n\n\n*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$1\r\n0\r\n*9\r\n";
        assert_eq!(command(&mut said).unwrap(), ["PING"]);
        assert_eq!(command(&mut said).unwrap(), ["REPLCONF", "ACK", "0"]);
        assert!(command(&mut said).is_err(), "it is cut off");
        assert!(command(&mut &b"+PONG\r\n"[..]).is_err());
    }

    #[test]
    fn the_stream_has_each_key_once_in_a_turn() {
        let pieces = pieces("SET k{n:4} v", 2000).unwrap();
        let all = String::from_utf8(pieces.concat()).unwrap();
        assert_eq!((pieces.len(), all.matches("SET").count()), (2, 2000));
        assert!((0..2000).all(|n| all.contains(&format!("k{n:04}\r\n"))));
    }
}
