//! A thread's way into the ring.

use super::shared::Journal;
use journal::{Command, Lane, Words};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{EffectWords, ThreadContext, Unit, UnitLog};

/// Log of the units of one thread.
#[derive(Debug)]
pub struct LaneLog {
    lane: Lane,
    journal: Arc<Journal>,
}

impl Journal {
    /// Gives a thread a lane, so that it may change data.
    pub fn join(self: &Arc<Journal>, thread: &mut ThreadContext) {
        if let Some(lane) = self.take_lane() {
            thread.set_unit_log(Box::new(LaneLog { lane, journal: Arc::clone(self) }));
        }
    }
}

/// Announcements are withdrawn at once, so that no command that follows holds up a sync.
impl UnitLog for LaneLog {
    fn put(&mut self, unit: &Unit) -> u64 {
        let commands = unit.effects.iter().map(|effect| Command {
            database: effect.database,
            words: match &effect.words {
                EffectWords::Request(at) => Words::Request(&unit.requests[at.clone()]),
                EffectWords::Args(args) => Words::OwnedArgs(args),
                EffectWords::Noted(note, args) => Words::Noted(*note, args),
            },
        });
        self.put_commands(commands)
    }

    fn put_aside(&mut self, request: &[u8]) -> u64 {
        self.lane.put_aside(request)
    }

    #[inline]
    fn put_request(&mut self, database: usize, request: &[u8]) -> u64 {
        if database == self.lane.ring().selected_database() {
            return self.lane.put_request(request);
        }
        self.put_commands(std::iter::once(Command { database, words: Words::Request(request) }))
    }
}

impl LaneLog {
    fn put_commands<'a>(&mut self, commands: impl Iterator<Item = Command<'a>> + Clone) -> u64 {
        let end = self.lane.put_unit(commands.clone());
        self.lane.withdraw();
        let database = commands.clone().next().map_or(0, |command| command.database);
        if database != self.lane.ring().selected_database() {
            self.journal.unselected.count.fetch_add(1, Relaxed);
            self.journal.unselected.database.store(database, Relaxed);
        }
        end
    }
}
