//! Rounds in turns (A B C A B C ...), so that a slow minute of the machine falls on all servers;
//! the median of the rounds counts.

use anyhow::Result;

/// Measures all servers in turns; one that fails in one round is left out of the others. `measure`
/// gets a server and the number of the round, from one.
pub fn in_turns<S, T>(
    servers: &mut [S],
    rounds: usize,
    mut measure: impl FnMut(&mut S, u64) -> Result<T>,
) -> Vec<Result<Vec<T>>> {
    let mut all: Vec<Result<Vec<T>>> = servers.iter().map(|_| Ok(Vec::new())).collect();
    for round in 1..=rounds as u64 {
        for (server, measured) in servers.iter_mut().zip(&mut all) {
            let Ok(so_far) = measured else { continue };
            match measure(server, round) {
                Ok(one) => so_far.push(one),
                Err(error) => *measured = Err(error),
            }
        }
    }
    all
}
