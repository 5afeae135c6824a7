//! A thread's way into the ring.

use super::shared::Journal;
use journal::{Command, Lane, Words};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Effect, EffectWords, ThreadContext, Unit, UnitLog};

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

impl UnitLog for LaneLog {
    /// Takes the unit's place and fills it. The announcement is withdrawn at once, so that no
    /// command that follows holds up a sync.
    fn put(&mut self, unit: &Unit) -> u64 {
        if let [Effect { database, words: EffectWords::Request(at) }] = &unit.effects[..]
            && *database == self.lane.ring().home()
        {
            let end = self.lane.put_request(&unit.requests[at.clone()]);
            self.lane.withdraw();
            return end;
        }
        self.put_any(unit)
    }
}

impl LaneLog {
    fn put_any(&mut self, unit: &Unit) -> u64 {
        let commands = unit.effects.iter().map(|effect| Command {
            database: effect.database,
            words: match &effect.words {
                EffectWords::Request(at) => Words::Request(&unit.requests[at.clone()]),
                EffectWords::Args(args) => Words::OwnedArgs(args),
            },
        });
        let end = self.lane.put_unit(commands);
        self.lane.withdraw();
        let database = unit.effects.first().map_or(0, |effect| effect.database);
        if database != self.lane.ring().home() {
            self.journal.abroad.count.fetch_add(1, Relaxed);
            self.journal.abroad.database.store(database, Relaxed);
        }
        end
    }
}
