//! Items that may be gone at any time, since memory ends: what is there is whole, with its flags.

use super::super::chance::Chance;
use super::super::content::{check, value};
use super::super::phase::Place;
use super::connection::Connection;
use anyhow::{Context, Result, bail, ensure};

/// Writes and reads items that others write too, until the phase is over.
pub(in super::super) fn play(place: &Place, number: u64) -> Result<()> {
    let mut chance = Chance::new(place.seed, number);
    let mut connection = Connection::open(place)?;
    while !place.is_over() {
        let family = chance.below(place.shape.families) as u32;
        let (key, flags) = (format!("item:{family}"), flags(family));
        match chance.below(6) {
            0..=2 => {
                let value = value(family, chance.length(place.shape.value_bytes), &mut chance);
                let line = match chance.below(3) {
                    0 => format!("set {key} {flags} 0 {}\r\n", value.len()),
                    1 => format!("ms {key} {} F{flags}\r\n", value.len()),
                    _ => format!("ms {key} {} F{flags} T500 E{}\r\n", value.len(), family + 1),
                };
                let answer = connection.ask(&[line.as_bytes(), &value, b"\r\n"].concat())?;
                let answers = [&b"STORED\r\n"[..], b"HD\r\n", OUT_OF_MEMORY];
                ensure!(answers.contains(&&answer[..]), "{}", answer.escape_ascii());
            }
            3 => {
                let answer = connection.ask(format!("touch {key} 400\r\n").as_bytes())?;
                let answers = [&b"TOUCHED\r\n"[..], b"NOT_FOUND\r\n", OUT_OF_MEMORY];
                ensure!(answers.contains(&&answer[..]), "{}", answer.escape_ascii());
            }
            _ => read(&mut connection, &key, family, &mut chance).context(key)?,
        }
        place.count(1);
    }
    Ok(())
}

fn read(connection: &mut Connection, key: &str, family: u32, chance: &mut Chance) -> Result<()> {
    let with_cas = chance.one_in(2);
    let line = format!("mg {key} f v{}\r\n", if with_cas { " c" } else { "" });
    let answer = connection.ask(line.as_bytes())?;
    if answer == b"EN\r\n" || answer == OUT_OF_MEMORY {
        return Ok(());
    }
    let end = answer.iter().position(|byte| *byte == b'\n').context("a line")?;
    let words = String::from_utf8_lossy(&answer[..end]).into_owned();
    let mut words = words.split_ascii_whitespace().skip(2);
    let Some(flags) = words.next().and_then(|word| word.strip_prefix('f')) else {
        bail!("{}", answer[..end].escape_ascii());
    };
    let expected = self::flags(family).to_string();
    ensure!(flags == expected, "flags {flags} instead of {expected}");
    check(family, &answer[end + 1..answer.len() - 2])
}

/// Returns flags by which an item is known, of each width.
fn flags(family: u32) -> u32 {
    family.wrapping_mul(0x9e37_79b9) >> (family % 4 * 8)
}

const OUT_OF_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";
