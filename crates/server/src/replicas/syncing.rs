//! Snapshots for replicas: when one begins, who shares it, and when it is forgotten.

use super::link::{Link, State, Taking};
use super::parcel::Parcel;
use super::sender::{SenderThread, Sync, new_id};
use super::sync::{Cut, SyncJob, Wish};
use base::Steady;
use crossbeam_channel::{Receiver, Sender, unbounded};
use settings::general::DIR;
use settings::replication as rows;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Least bytes of a snapshot that may be in memory, and the divisor of the data for more.
const PARCEL_MIN: u64 = 8 << 20;
const PARCEL_PART: u64 = 64;
/// Time from a snapshot that has ended before its cut to the next one.
const NO_CUT_MILLIS: u64 = 1000;

impl SenderThread {
    /// Begins a snapshot for those that wait for one, if none is at work.
    pub(super) fn begin_sync(&mut self, now: Steady) {
        if self.sync.is_some() {
            return;
        }
        let settings = &self.instance.settings;
        let waiting = |link: &Link| matches!(link.state, State::Waits) && link.not_before <= now;
        let Some(first) = self.links.values().filter(|it| waiting(it)).min_by_key(|it| it.since)
        else {
            return;
        };
        let (wish, waited) = (first.wish, now.since(first.since));
        let is_meant = |link: &Link| waiting(link) && link.wish == wish;
        let members: Vec<usize> =
            self.links.iter().filter(|(_, it)| is_meant(it)).map(|(token, _)| *token).collect();
        let is_diskless = rows::REPL_DISKLESS_SYNC.get(settings)
            && members.iter().any(|it| self.links[it].replica.about.takes_mark);
        let delay = u64::from(rows::REPL_DISKLESS_SYNC_DELAY.get(settings)) * 1000;
        let enough = rows::REPL_DISKLESS_SYNC_MAX_REPLICAS.get(settings) as usize;
        let is_enough = enough > 0 && members.len() >= enough;
        if is_diskless && waited < delay && !is_enough {
            return;
        }
        let (cut, is_cut) = unbounded();
        self.start_job(wish, members, (cut, is_cut));
    }

    pub(super) fn start_job(
        &mut self,
        wish: Wish,
        members: Vec<usize>,
        cut: (Sender<Cut>, Receiver<Cut>),
    ) {
        let Ok(new_id) = new_id() else { return };
        let settings = &self.instance.settings;
        let memory_max = (self.instance.store.live_bytes() / PARCEL_PART).max(PARCEL_MIN);
        let directory = PathBuf::from(&*DIR.get(settings));
        let memory_max = usize::try_from(memory_max).unwrap_or(usize::MAX);
        let parcel = Parcel::new(memory_max, directory, Arc::clone(&self.door));
        self.saver.push(Box::new(SyncJob {
            wish,
            parcel: Arc::clone(&parcel),
            journal: Arc::clone(&self.journal),
            lane: Arc::clone(&self.lane),
            door: Arc::clone(&self.door),
            cut: cut.0,
            begins_backlog: self.backlog.is_none(),
            new_id,
            fields: Arc::default(),
            home: 0,
        }));
        tracing::info!("Starting a snapshot for {} replicas", members.len());
        self.sync = Some(Sync { parcel, members, cut: cut.1, is_cut: false });
    }

    /// Lets replicas take their snapshot, once its cut is made.
    pub(super) fn follow_cut(&mut self) {
        let Some(sync) = &mut self.sync else { return };
        if sync.is_cut {
            return;
        }
        let cut = match sync.cut.try_recv() {
            Ok(cut) => cut,
            Err(error) if error.is_disconnected() => return self.try_again_soon(),
            Err(_) => return,
        };
        sync.is_cut = true;
        if let Some(backlog) = cut.backlog {
            self.backlog = Some(backlog);
            self.instance.replicas.backlog.is_kept.store(true, Relaxed);
        }
        let Some(history) = self.instance.replicas.history() else { return };
        self.journal.wait_until_told(history.id());
        let is_diskless = rows::REPL_DISKLESS_SYNC.get(&self.instance.settings);
        let (line, mut gone) = (
            format!(
                "+FULLRESYNC {} {}\r\n",
                history.id().as_str(),
                cut.position.wrapping_add(self.journal.shift())
            ),
            Vec::new(),
        );
        for token in &sync.members {
            let Some(link) = self.links.get_mut(token) else { continue };
            let takes_mark = is_diskless && link.replica.about.takes_mark;
            let mark = if takes_mark { new_id().ok() } else { None };
            let mark = mark.and_then(|id| id.as_str().as_bytes().try_into().ok());
            self.instance.replicas.syncs.full.fetch_add(1, Relaxed);
            link.take(Taking {
                parcel: Arc::clone(&sync.parcel),
                place: 0,
                mark,
                has_begun: false,
                offset: cut.position,
            });
            if !link.is_old
                && let Err(reason) = link.say(&line)
            {
                gone.push((*token, reason));
            }
        }
        gone.into_iter().for_each(|(token, reason)| self.close(token, &reason));
    }

    /// Has those that wait be served by the next snapshot, as this one has ended without a cut.
    fn try_again_soon(&mut self) {
        self.sync = None;
        let next = self.instance.clock.steady().after(NO_CUT_MILLIS);
        self.links.values_mut().for_each(|link| link.not_before = link.not_before.max(next));
    }

    /// Has the snapshot at work forget what all have taken.
    pub(super) fn let_parcel_go(&mut self) {
        let Some(Sync { parcel, members, is_cut: true, .. }) = &mut self.sync else { return };
        members.retain(|token| {
            self.links.get(token).is_some_and(|link| link.needs_of(parcel).is_some())
        });
        let needs = members.iter().filter_map(|token| self.links[token].needs_of(parcel));
        match needs.min() {
            Some(place) => parcel.take_up_to(place),
            None => {
                if !parcel.length().1 {
                    self.saver.cancel_replicas(&self.instance);
                }
                self.sync = None;
            }
        }
    }
}
