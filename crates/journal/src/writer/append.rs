//! Units and the lines among them on their way to the file.

use super::{BEHIND_BYTES, Tail, Writer};
use crate::disk::{File, append_all, append_all_past_cache};
use crate::gap_line::gap_line;
use crate::moment_line::moment_line;
use crate::ring::Consumer;
use base::Millis;
use std::collections::VecDeque;
use std::io;

impl<F: File> Writer<F> {
    /// Appends what is whole up to `limit`, with lines that tell moments.
    pub(super) fn append_units(
        &mut self,
        consumer: &Consumer,
        limit: u64,
        moments: &VecDeque<(u64, Millis)>,
        tail: &mut Tail,
    ) -> io::Result<()> {
        let first = moments.partition_point(|(position, _)| *position < tail.reached.position);
        for (position, moment) in moments.range(first..).take_while(|it| it.0 < limit) {
            self.append_until(consumer, *position, tail)?;
            self.append(&moment_line(*moment), tail)?;
        }
        self.append_until(consumer, limit, tail)
    }

    /// Appends what is whole up to `limit`, and lines in place of what is no data.
    fn append_until(&mut self, consumer: &Consumer, limit: u64, tail: &mut Tail) -> io::Result<()> {
        while let Some(gap) = consumer.ring().first_gap(tail.reached.position, limit) {
            self.append_data(consumer, gap.start, tail)?;
            self.append_gap(gap.end - gap.start, tail)?;
            tail.reached.position = gap.end;
        }
        self.append_data(consumer, limit, tail)
    }

    /// Appends a line in place of bytes that are no data.
    pub(super) fn append_gap(&self, bytes: u64, tail: &mut Tail) -> io::Result<()> {
        tail.has_gap = true;
        self.append(&gap_line(bytes), tail)
    }

    fn append_data(&mut self, consumer: &Consumer, limit: u64, tail: &mut Tail) -> io::Result<()> {
        let mut stage = std::mem::take(&mut self.stage);
        let mut append = || {
            while tail.reached.position < limit {
                stage.begin_at(tail.reached.bytes);
                let mut next = tail.reached.position;
                while next < limit && stage.room() > 0 {
                    next += stage.push(consumer.slice(next, limit)) as u64;
                }
                // Where more and more waits, the cache takes it at once.
                if limit - tail.reached.position > BEHIND_BYTES {
                    append_all(&*self.file, stage.bytes())?;
                } else {
                    append_all_past_cache(&*self.file, stage.bytes())?;
                }
                tail.note(stage.bytes());
                tail.reached.position = next;
            }
            Ok(())
        };
        let outcome = append();
        self.stage = stage;
        outcome
    }
}
