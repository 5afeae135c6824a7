//! Steps as readable transcripts.

use super::rule::with_company;
use super::step::{Action, Request, Step, client_name, line, others, word};

/// Formats steps in the form of `tests/transcripts`, without replies.
pub fn transcript(steps: &[Step]) -> String {
    let mut out = String::new();
    let mut client = 0;
    for step in steps {
        if step.client != client {
            client = step.client;
            out += &format!("@client {}\n", client_name(client));
        }
        out += &match &step.action {
            Action::Send(request) => {
                let lines = with_company(request).map(|it| format!("> {}\n", line(&it)));
                lines.collect::<String>()
            }
            Action::Iterate(request) => {
                format!("# to the end of the cursor\n> {}\n", line(request))
            }
            Action::Serve { waiters, keys, then } => {
                serve_transcript(step.client, waiters, keys, then)
            }
            Action::LetExpire(request, key) => {
                let until = format!("@until EXISTS {} => (integer) 0", word(key));
                format!("> {}\n{until}\n", line(request))
            }
        };
    }
    out
}

fn serve_transcript(
    client: usize,
    waiters: &[Request],
    keys: &[Vec<u8>],
    then: &[Request],
) -> String {
    let mut out = format!("> DEL {}\n", line(keys));
    let all = || waiters.iter().zip(others(client));
    for (number, (waiter, other)) in all().enumerate() {
        let name = client_name(other);
        out +=
            &format!("@client {name}\n> SELECT 0\n>> {}\n@blocked {}\n", line(waiter), number + 1);
    }
    out += &format!("@client {}\n> SELECT 0\n", client_name(client));
    out.extend(then.iter().map(|request| format!("> {}\n", line(request))));
    out.extend(all().map(|(_, other)| format!("@client {}\n@read\n", client_name(other))));
    out += &format!("@client {}\n", client_name(client));
    out
}

#[cfg(test)]
mod tests {
    use super::super::step::request;
    use super::*;

    #[test]
    fn a_transcript_can_be_played_as_it_is_printed() {
        let steps = [
            Step::send(0, request(&[&b"SET"[..], b"\xff", &[b'a'; 100]])),
            Step::send(1, request(&["GET", ""])),
        ];
        assert_eq!(transcript(&steps), "> SET \"\\xff\" \"a\"*100\n@client B\n> GET \"\"\n");
    }
}
