//! Clients that ask for too much: server memory for them, and waiting times of others.
//!
//! | file | clients |
//! |---|---|
//! | `garbage` | make and remove values without end |
//! | `readers` | read slowly or not at all; come in great numbers; send without end |
//! | `replies` | ask for excessively large replies |
//! | `stream` | a plain connection that sends and reads at will |
//! | `plan` | amount of load, and findings |
//! | `peak` | peak memory during an action |

mod garbage;
mod peak;
mod plan;
mod readers;
mod replies;
mod stream;

use anyhow::{Context, Result};

use super::{Bench, Scale, Scenario, pin_client};
use crate::report::Section;
use crate::servers::{Kind, Launch, Program, Server};
use plan::Finding;

pub use plan::Plan;

type Attack = fn(&Plan, &Server) -> Result<Vec<Finding>>;

const ATTACKS: [Attack; 10] = [
    garbage::push_and_delete,
    garbage::overwrite,
    garbage::build_and_rename,
    garbage::shrink,
    readers::slow,
    readers::deaf,
    readers::idle,
    readers::pipeline,
    replies::random_members,
    replies::whole_list,
];

impl Scenario for Plan {
    fn scaled(self, scale: Scale) -> Self {
        Self {
            seconds: scale.time(self.seconds),
            overwrites: scale.of(self.overwrites),
            gets: scale.of(self.gets),
            picks: scale.of(self.picks),
            renames: scale.of(self.renames),
            idle: scale.of(self.idle),
            deaf: scale.of(self.deaf),
            pipeline: scale.of(self.pipeline),
            bytes: scale.of(self.bytes),
            elements: scale.of(self.elements),
        }
    }

    fn run(&self, bench: &Bench, section: &mut Section) -> Result<()> {
        pin_client(1);
        section.columns(&["what", "Varve", "Valkey", "unit"]);
        section.note(
            "Each line has a server of its own, with one thread on one core. Memory is resident \
             memory, the most while it happens where nothing else is said.",
        );
        for attack in ATTACKS {
            let ours = self.meet(attack, &bench.varve)?;
            let theirs = bench.valkey.as_ref().map(|valkey| self.meet(attack, valkey));
            let theirs = theirs.transpose()?.unwrap_or_default();
            for Finding { what, value, unit } in ours {
                let other = theirs.iter().find(|other| other.what == what);
                let other = other.map_or("-".to_owned(), |other| format!("{:.1}", other.value));
                section.row([what.to_owned(), format!("{value:.1}"), other, unit.to_owned()]);
                section.finding(what, Some(value), unit);
            }
        }
        Ok(())
    }
}

impl Plan {
    fn meet(&self, attack: Attack, program: &Program) -> Result<Vec<Finding>> {
        let server = program.start(&Launch::default())?;
        let found = attack(self, &server)?;
        let is_ours = server.kind == Kind::Varve;
        server.control()?.ask(&["PING"]).context("the server no longer answers")?;
        if is_ours {
            server.end()?
        }
        Ok(found)
    }
}
