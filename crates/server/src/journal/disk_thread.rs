//! Threads that wait for the disk, so that the writer goes on meanwhile: one syncs what was
//! written, one removes files that are not needed any more.

use crossbeam_channel::{Receiver, Sender, unbounded};
use journal::disk::File;
use journal::set::Shortening;
use journal::writer::SyncJob;
use std::io;
use std::thread::{self, JoinHandle, Thread};

/// Something for which the disk takes a while.
pub trait DiskJob: Send + 'static {
    /// Does it.
    ///
    /// # Errors
    /// Those of the system.
    fn run(&self) -> io::Result<()>;
}

impl<F: File + 'static> DiskJob for SyncJob<F> {
    fn run(&self) -> io::Result<()> {
        self.run()
    }
}

impl<F: File + 'static> DiskJob for Shortening<F> {
    fn run(&self) -> io::Result<()> {
        self.run()
    }
}

/// The writer's end of a thread that does one job at a time.
#[derive(Debug)]
pub struct DiskThread<J> {
    jobs: Sender<J>,
    ended: Receiver<(J, io::Result<()>)>,
    is_at_work: bool,
    thread: JoinHandle<()>,
}

impl<J: DiskJob> DiskThread<J> {
    /// Starts the thread, which wakes `writer` after each job.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(name: &str, writer: Thread) -> io::Result<DiskThread<J>> {
        let (jobs, taken) = unbounded::<J>();
        let (done, ended) = unbounded();
        let work = move || {
            for job in taken {
                let outcome = job.run();
                if done.send((job, outcome)).is_err() {
                    return;
                }
                writer.unpark();
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(DiskThread { jobs, ended, is_at_work: false, thread })
    }

    /// Begins a job.
    pub fn begin(&mut self, job: J) {
        self.is_at_work = true;
        // The thread lives as long as the sender.
        let _ = self.jobs.send(job);
    }

    /// Returns true from `begin` until the end of the job is reported.
    pub fn is_at_work(&self) -> bool {
        self.is_at_work
    }

    /// The job that has ended, if one has, and how.
    pub fn ended(&mut self) -> Option<(J, io::Result<()>)> {
        let ended = self.ended.try_recv().ok()?;
        self.is_at_work = false;
        Some(ended)
    }

    /// Waits for the job at work.
    pub fn wait(&mut self) -> Option<(J, io::Result<()>)> {
        let ended = self.ended.recv().ok()?;
        self.is_at_work = false;
        Some(ended)
    }

    /// Ends the thread, after its job.
    pub fn stop(self) {
        drop(self.jobs);
        let _ = self.thread.join();
    }
}
