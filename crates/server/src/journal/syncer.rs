//! The thread that makes what was written safe, so that the writer goes on meanwhile.

use crossbeam_channel::{Receiver, Sender, unbounded};
use journal::disk::OpenFile;
use journal::writer::SyncJob;
use std::io;
use std::thread::{self, JoinHandle, Thread};

/// A sync that has ended, and how.
pub type Ended = (SyncJob<OpenFile>, io::Result<()>);

/// The writer's end of the syncer.
#[derive(Debug)]
pub struct Syncer {
    jobs: Sender<SyncJob<OpenFile>>,
    ended: Receiver<Ended>,
    thread: JoinHandle<()>,
}

impl Syncer {
    /// Starts the thread, which wakes `writer` after each sync.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(writer: Thread) -> io::Result<Syncer> {
        let (jobs, taken) = unbounded::<SyncJob<OpenFile>>();
        let (tell, ended) = unbounded();
        let work = move || {
            for job in taken {
                let outcome = job.run();
                if tell.send((job, outcome)).is_err() {
                    return;
                }
                writer.unpark();
            }
        };
        let thread = thread::Builder::new().name("syncer".to_owned()).spawn(work)?;
        Ok(Syncer { jobs, ended, thread })
    }

    /// Begins a sync.
    pub fn begin(&self, job: SyncJob<OpenFile>) {
        // The thread lives as long as the sender.
        let _ = self.jobs.send(job);
    }

    /// The sync that has ended, if one has.
    pub fn ended(&self) -> Option<Ended> {
        self.ended.try_recv().ok()
    }

    /// Waits for the sync at work.
    pub fn wait(&self) -> Option<Ended> {
        self.ended.recv().ok()
    }

    /// Ends the thread.
    pub fn stop(self) {
        drop(self.jobs);
        let _ = self.thread.join();
    }
}
