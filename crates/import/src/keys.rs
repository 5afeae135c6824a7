//! Keys of a server, page by page, and their deadlines.

use crate::error::Error;
use crate::resp::Reply;
use crate::server::{Link, Server};
use std::time::{SystemTime, UNIX_EPOCH};

/// Keys that one SCAN looks at.
const KEYS_OF_A_PAGE: &[u8] = b"1000";
/// One page of SCAN: the next cursor and keys.
///
/// # Errors
/// When the connection breaks or the server refuses.
pub fn page(
    link: &mut Link,
    database: u64,
    cursor: &[u8],
) -> Result<(Vec<u8>, Vec<Vec<u8>>), Error> {
    link.select(database)?;
    let reply = link.ask(&[b"SCAN", cursor, b"COUNT", KEYS_OF_A_PAGE])?;
    let Some([cursor, keys]) = reply.array() else {
        return Err(link.refused("SCAN", &reply));
    };
    let (Some(cursor), Some(keys)) = (cursor.bytes(), keys.array()) else {
        return Err(link.refused("SCAN", &reply));
    };
    Ok((cursor.to_vec(), keys.iter().filter_map(Reply::bytes).map(<[u8]>::to_vec).collect()))
}

/// Name of the command that tells the deadline of a key.
pub fn deadline_word(server: &Server) -> &'static [u8] {
    if server.has_expire_time { b"PEXPIRETIME" } else { b"PTTL" }
}

/// The point in time that an answer to that command stands for; `None` if there is none.
pub fn absolute(server: &Server, time: i64) -> Option<u64> {
    let time = u64::try_from(time).ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis());
    let begin = if server.has_expire_time { 0 } else { u64::try_from(now).unwrap_or(0) };
    Some(begin.saturating_add(time))
}
