//! A disk that lies as disks do: what was not synced may be lost, torn or reordered when the
//! machine dies, and any operation may fail.

use super::{File, Files};
use base::Random;
use base::mutex::{Mutex, MutexGuard};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Bytes that a disk writes as a whole.
const SECTOR_BYTES: usize = 16;

/// Failure of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No space is left. What is written may be written in part.
    NoSpace,
    /// The device fails. A sync loses for ever what was not safe before it.
    Device,
    /// The process stops: this operation and all later ones fail.
    Stop,
}

/// A simulated directory. Its clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct SimulatedFiles(Arc<Mutex<State>>);

/// A file of a simulated directory.
#[derive(Debug)]
pub struct SimulatedFile {
    state: Arc<Mutex<State>>,
    inode: usize,
}

#[derive(Clone, Debug, Default)]
struct State {
    inodes: Vec<Inode>,
    names: Names,
    durable_names: Names,
    /// Changes of names since the last sync of them.
    pending: Vec<NameChange>,
    operations: usize,
    faults: Vec<(usize, Fault)>,
    is_full: bool,
}

type Names = BTreeMap<String, usize>;

#[derive(Clone, Debug)]
enum NameChange {
    Create(String, usize),
    Rename(String, String, usize),
    Remove(String),
}

#[derive(Clone, Debug, Default)]
struct Inode {
    bytes: Vec<u8>,
    /// Where bytes are appended: before the padding.
    end: usize,
    durable: Vec<u8>,
    /// First byte that was written since the last sync.
    dirty: usize,
    /// Places that a failed sync has lost: they read well until the machine dies.
    lost: Vec<(usize, usize)>,
}

impl SimulatedFiles {
    /// An empty directory.
    pub fn new() -> SimulatedFiles {
        SimulatedFiles::default()
    }

    /// Lets an operation fail: the next one is number zero.
    pub fn fail_at(&self, operation: usize, fault: Fault) {
        let mut state = lock(&self.0);
        let operation = state.operations + operation;
        state.faults.push((operation, fault));
    }

    /// Lets every write fail for want of space, until it is called with `false`.
    pub fn set_full(&self, is_full: bool) {
        lock(&self.0).is_full = is_full;
    }

    /// Number of operations so far.
    pub fn operations(&self) -> usize {
        lock(&self.0).operations
    }

    /// The directory as it may be found after the machine has died now.
    pub fn after_power_loss(&self, random: &mut Random) -> SimulatedFiles {
        let state = lock(&self.0).clone();
        let mut names = state.durable_names;
        for change in &state.pending {
            // Any of them may have reached the disk, in any order.
            if random.one_in(2) {
                change.apply(&mut names);
            }
        }
        let inodes = state.inodes.iter().map(|inode| inode.after_power_loss(random)).collect();
        let durable_names = names.clone();
        let state = State { inodes, names, durable_names, ..State::default() };
        SimulatedFiles(Arc::new(Mutex::new(state)))
    }

    /// The directory after the process has died and the machine lives on.
    pub fn after_kill(&self) -> SimulatedFiles {
        let state = lock(&self.0).clone();
        let (operations, faults) = (0, Vec::new());
        SimulatedFiles(Arc::new(Mutex::new(State { operations, faults, ..state })))
    }

    /// Bytes of a file as a thread that reads them sees them.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let state = lock(&self.0);
        state.names.get(name).map(|inode| state.inodes[*inode].bytes.clone())
    }

    /// Replaces the bytes of a file by safe ones.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut state = lock(&self.0);
        let inode = state.inodes.len();
        state.inodes.push(Inode::of_safe(bytes.to_vec()));
        state.names.insert(name.to_owned(), inode);
        state.durable_names.insert(name.to_owned(), inode);
    }

    fn file(&self, inode: usize) -> SimulatedFile {
        SimulatedFile { state: Arc::clone(&self.0), inode }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock()
}

impl State {
    /// Counts an operation; returns the fault that it meets.
    fn begin(&mut self) -> Option<Fault> {
        let number = self.operations;
        self.operations += 1;
        let is_met = |(at, fault): &&(usize, Fault)| match fault {
            Fault::Stop => number >= *at,
            Fault::NoSpace | Fault::Device => number == *at,
        };
        self.faults.iter().find(is_met).map(|(_, fault)| *fault)
    }

    fn change_name(&mut self, change: NameChange) -> io::Result<()> {
        if let Some(fault) = self.begin() {
            return Err(fault.error());
        }
        change.apply(&mut self.names);
        self.pending.push(change);
        Ok(())
    }

    fn inode_of(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Fault {
    fn error(self) -> io::Error {
        match self {
            Fault::NoSpace => Errno::NOSPC.into(),
            Fault::Device | Fault::Stop => Errno::IO.into(),
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        match self {
            NameChange::Create(name, inode) => {
                names.insert(name.clone(), *inode);
            }
            NameChange::Rename(from, to, inode) => {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
            NameChange::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl Inode {
    fn of_safe(bytes: Vec<u8>) -> Inode {
        let (end, dirty) = (bytes.len(), bytes.len());
        Inode { durable: bytes.clone(), bytes, end, dirty, lost: Vec::new() }
    }

    /// Writes at the end, in place of padding.
    fn append(&mut self, bytes: &[u8]) {
        let end = self.end + bytes.len();
        self.write(self.end, bytes);
        self.forget_losses(self.end, end);
        self.end = end;
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        self.bytes.resize(self.bytes.len().max(end), 0);
        self.bytes[at..end].copy_from_slice(bytes);
        self.dirty = self.dirty.min(at);
    }

    /// Bytes that are written again are no more lost than any others.
    fn forget_losses(&mut self, from: usize, to: usize) {
        let outside =
            |(begin, end): &(usize, usize)| [(*begin, from.min(*end)), (to.max(*begin), *end)];
        self.lost = self.lost.iter().flat_map(outside).filter(|(begin, end)| begin < end).collect();
    }

    fn with_losses(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for (from, to) in &self.lost {
            for (at, byte) in bytes[*from..*to].iter_mut().enumerate() {
                *byte = self.durable.get(from + at).copied().unwrap_or(0);
            }
        }
        bytes
    }

    /// What was written over safe bytes has reached the disk sector by sector, or not; of what made
    /// the file longer, there is a part.
    fn after_power_loss(&self, random: &mut Random) -> Inode {
        let mut bytes = self.with_losses();
        let safe = self.durable.len();
        if bytes.len() < safe {
            return Inode::of_safe(if random.one_in(2) { self.durable.clone() } else { bytes });
        }
        let kept = random.below((bytes.len() - safe) as u64 + 1);
        bytes.truncate(safe + narrow::to_usize(kept));
        for at in (0..bytes.len()).step_by(SECTOR_BYTES) {
            let sector = at..bytes.len().min(at + SECTOR_BYTES);
            let before = sector.start.min(safe)..sector.end.min(safe);
            let new = &mut bytes[sector];
            if before.is_empty() {
                if random.one_in(20) {
                    new.fill(0);
                }
            } else if new[..before.len()] != self.durable[before.clone()] && random.one_in(2) {
                new.fill(0);
                new[..before.len()].copy_from_slice(&self.durable[before]);
            }
        }
        Inode::of_safe(bytes)
    }
}

impl Files for SimulatedFiles {
    type File = SimulatedFile;

    fn create(&self, name: &str) -> io::Result<SimulatedFile> {
        let mut state = lock(&self.0);
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.change_name(NameChange::Create(name.to_owned(), inode))?;
        Ok(self.file(inode))
    }

    fn open(&self, name: &str) -> io::Result<SimulatedFile> {
        let mut state = lock(&self.0);
        match state.begin() {
            Some(fault) => Err(fault.error()),
            None => state.inode_of(name).map(|inode| self.file(inode)),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = lock(&self.0);
        let inode = state.inode_of(from)?;
        state.change_name(NameChange::Rename(from.to_owned(), to.to_owned(), inode))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = lock(&self.0);
        state.inode_of(name)?;
        state.change_name(NameChange::Remove(name.to_owned()))
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        Ok(lock(&self.0).names.contains_key(name))
    }

    fn is_in_place(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = lock(&self.0);
        match state.begin() {
            Some(fault) => Err(fault.error()),
            None => Ok(state.names.keys().cloned().collect()),
        }
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = lock(&self.0);
        if let Some(fault) = state.begin() {
            return Err(fault.error());
        }
        state.durable_names = state.names.clone();
        state.pending.clear();
        Ok(())
    }
}

impl SimulatedFile {
    fn with<T>(
        &self,
        act: impl FnOnce(&mut Inode, Option<Fault>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = lock(&self.state);
        let fault = state.begin();
        act(&mut state.inodes[self.inode], fault)
    }
}

impl File for SimulatedFile {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let is_full = lock(&self.state).is_full;
        self.with(|inode, fault| match fault.or(is_full.then_some(Fault::NoSpace)) {
            // A part is written, and the rest then fails: the next call meets `is_full`, or does
            // not.
            Some(Fault::NoSpace) if bytes.len() > 1 && !is_full => {
                inode.append(&bytes[..bytes.len() / 2]);
                Err(Fault::NoSpace.error())
            }
            Some(fault) => Err(fault.error()),
            None => {
                inode.append(bytes);
                Ok(bytes.len())
            }
        })
    }

    fn pad(&self, bytes: u64) -> io::Result<()> {
        let is_full = lock(&self.state).is_full;
        self.with(|inode, fault| match fault.or(is_full.then_some(Fault::NoSpace)) {
            Some(fault) => Err(fault.error()),
            None => {
                inode.write(inode.end, &vec![b'#'; narrow::to_usize(bytes)]);
                Ok(())
            }
        })
    }

    fn write_again(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        self.with(|inode, fault| match fault {
            Some(fault) => Err(fault.error()),
            None => {
                let from = narrow::to_usize(at);
                assert_eq!(&inode.bytes[from..from + bytes.len()], bytes, "other bytes");
                inode.forget_losses(from, from + bytes.len());
                Ok(bytes.len())
            }
        })
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.with(|inode, fault| match fault {
            Some(fault) => Err(fault.error()),
            None => {
                let from = usize::try_from(at).unwrap_or(usize::MAX).min(inode.bytes.len());
                let bytes = into.len().min(inode.bytes.len() - from);
                into[..bytes].copy_from_slice(&inode.bytes[from..from + bytes]);
                Ok(bytes)
            }
        })
    }

    fn bytes(&self) -> io::Result<u64> {
        self.with(|inode, fault| match fault {
            Some(fault) => Err(fault.error()),
            None => Ok(inode.bytes.len() as u64),
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.with(|inode, fault| {
            if let Some(fault) = fault {
                if fault != Fault::Stop && inode.dirty < inode.bytes.len() {
                    inode.lost.push((inode.dirty, inode.bytes.len()));
                }
                return Err(fault.error());
            }
            inode.durable = inode.with_losses();
            inode.dirty = inode.bytes.len();
            Ok(())
        })
    }

    fn has_name(&self) -> io::Result<bool> {
        Ok(lock(&self.state).names.values().any(|inode| *inode == self.inode))
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.with(|inode, fault| match fault {
            Some(fault) => Err(fault.error()),
            None => {
                let end = narrow::to_usize(bytes);
                inode.bytes.resize(end, 0);
                (inode.end, inode.dirty) = (end, inode.dirty.min(end));
                inode.lost.retain(|(from, _)| *from < narrow::to_usize(bytes));
                inode.lost.iter_mut().for_each(|(_, to)| *to = (*to).min(narrow::to_usize(bytes)));
                Ok(())
            }
        })
    }

    fn allocate(&self, _: u64, _: u64) {}

    fn write_back(&self, _: u64, _: u64) {}
}
