//! Waiters that a pause has postponed, when it is over.

use super::Executor;
use command::Environment;

impl Executor {
    /// Runs their requests if the pause is over.
    pub fn resume_postponed(&mut self) {
        self.read_clock();
        let (instance, statistics) = (&*self.instance, &*self.statistics);
        let environment = Environment { instance, table: self.table, statistics, now: self.now };
        command::resume_postponed(environment, &mut self.thread);
        let position = self.thread.journal_position();
        if std::mem::replace(&mut self.position, position) != position {
            self.journal.after_batch(&self.instance);
        }
        if self.thread.owes_upkeep() {
            self.pay_upkeep(self.now);
        }
        self.instance.send_pending_messages();
    }
}
