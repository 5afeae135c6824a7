//! Claims on files: two servers never write the same ones, also if both were started in the same
//! directory, or in two that a link makes one.
//!
//! ```text
//! RDB file            dir/.dump.rdb.lock                       held by who saves by itself, from
//!                                                              start on, or by its first snapshot
//! append-only files   dir/appendonlydir/.appendonly.aof.lock   held by who writes them, while it
//!                                                              does
//! ```
//! A claim is a lock of such a file, which the system ends with the process, however that ends, so
//! a file that is left over claims nothing. Servers with files of different names may share a
//! directory, and so may those that write none.

use base::mutex::{Mutex, MutexGuard};
use rustix::io::Errno;
use rustix::system::uname;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// How often a lock is tried whose file its holder has just removed.
const TRIES: usize = 100;
/// Longest text that is read of who holds a claim.
const HOLDER_BYTES: u64 = 300;

/// Somebody else writes these files.
#[derive(Debug, Error)]
#[error("{path} is written by another server{holder}. End that one, or give this one {remedy}")]
pub struct Taken {
    path: String,
    /// Description of the other server, as far as it has left one.
    holder: String,
    /// What the operator may give this one.
    remedy: &'static str,
}

/// What a server writes under one name, with what it may be given instead.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'n> {
    /// Folder of the files.
    pub folder: &'n Path,
    /// Their name.
    pub name: &'n str,
    /// What the operator may give a server whose files are another's.
    pub remedy: &'static str,
}

/// Claims of one kind of files. There is more than one while files at an old place are still
/// written.
#[derive(Debug, Default)]
pub struct Claims(Mutex<Vec<Claim>>);

/// A claim that is held.
#[derive(Debug)]
struct Claim {
    place: Place,
    path: PathBuf,
    /// Holds the lock as long as it is open.
    file: File,
}

/// A name in a folder, whichever way leads there.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    device: u64,
    inode: u64,
    name: String,
}

impl Claims {
    /// Claims files, unless they are claimed already. `port` tells others which server this is. A
    /// file system on which nothing can be locked is no obstacle, but that is logged.
    ///
    /// # Errors
    /// Names the other server that has claimed them.
    pub fn add(&self, wanted: Wanted<'_>, port: u16) -> Result<(), Taken> {
        let mut claims = self.claims();
        let Some(place) = Place::of(wanted.folder, wanted.name) else { return Ok(()) };
        // Others do not see a lock whose file somebody has removed.
        claims.retain(|claim| claim.place != place || claim.is_seen());
        if claims.iter().any(|claim| claim.place == place) {
            return Ok(());
        }
        claims.extend(claim(place, wanted, port)?);
        Ok(())
    }

    /// Does the same, and gives up all others.
    ///
    /// # Errors
    /// Those of `add`.
    pub fn set(&self, wanted: Wanted<'_>, port: u16) -> Result<(), Taken> {
        self.add(wanted, port)?;
        let place = Place::of(wanted.folder, wanted.name);
        self.claims().retain(|claim| Some(&claim.place) == place.as_ref());
        Ok(())
    }

    /// Returns true if there is one.
    pub fn is_any(&self) -> bool {
        !self.claims().is_empty()
    }

    /// Gives all up.
    pub fn clear(&self) {
        self.claims().clear();
    }

    fn claims(&self) -> MutexGuard<'_, Vec<Claim>> {
        self.0.lock()
    }
}

impl Claim {
    /// False if the file of the lock is not where others look for it.
    fn is_seen(&self) -> bool {
        is_named(&self.file, &self.path).unwrap_or(true)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The lock ends behind this, so the next holder makes a file of its own. Another file in
        // the place of this one is another server's.
        if self.is_seen() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Place {
    /// The place, if there is such a folder.
    fn of(folder: &Path, name: &str) -> Option<Place> {
        let folder = fs::metadata(folder).ok()?;
        Some(Place { device: folder.dev(), inode: folder.ino(), name: name.to_owned() })
    }
}

/// Claims a place; `None` where nothing can be locked.
fn claim(place: Place, wanted: Wanted<'_>, port: u16) -> Result<Option<Claim>, Taken> {
    let Wanted { folder, name, remedy } = wanted;
    // The way there may change when the process goes elsewhere.
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let path = folder.join(format!(".{name}.lock"));
    match lock(&path) {
        Ok(Lock::Ours(file)) => {
            write_holder(&file, port);
            Ok(Some(Claim { place, path, file }))
        }
        Ok(Lock::Another(file)) => Err(Taken {
            path: folder.join(name).display().to_string(),
            holder: read_holder(file),
            remedy,
        }),
        Err(error) => {
            let path = path.display();
            tracing::warn!("{path} cannot be locked, so nothing keeps other servers away: {error}");
            Ok(None)
        }
    }
}

enum Lock {
    Ours(File),
    Another(File),
}

fn lock(path: &Path) -> io::Result<Lock> {
    for _ in 0..TRIES {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            // Its holder may have removed it before it ended, and another may have made the next.
            Ok(()) if is_named(&file, path)? => return Ok(Lock::Ours(file)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Lock::Another(file)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(Errno::AGAIN.into())
}

/// Returns true if the name is that of the open file.
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == (open.dev(), open.ino())))
}

/// Writes down in the file who holds it. On a full disk it stays empty.
fn write_holder(mut file: &File, port: u16) {
    let host = uname().nodename().to_string_lossy().into_owned();
    let who = format!("pid {}, port {port}, host {host}", std::process::id());
    let _ = file.set_len(0).and_then(|()| file.write_all(who.as_bytes()));
}

fn read_holder(file: File) -> String {
    let mut who = String::new();
    let is_read = file.take(HOLDER_BYTES).read_to_string(&mut who).is_ok();
    let is_plain = !who.is_empty() && !who.chars().any(char::is_control);
    if is_read && is_plain { format!(" ({who})") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn wanted<'n>(folder: &'n Path, name: &'n str) -> Wanted<'n> {
        Wanted { folder, name, remedy: "other files" }
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).expect("listed").map(|it| it.expect("a name").file_name());
        let mut names: Vec<_> = names.map(|it| it.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_of_one_name_are_claimed_once_whichever_way_leads_to_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::create_dir(&real).expect("made");
        symlink(&real, &link).expect("linked");
        let (first, second) = (Claims::default(), Claims::default());
        first.add(wanted(&real, "dump.rdb"), 7001).expect("free");
        first.add(wanted(&link, "dump.rdb"), 7001).expect("its own");
        let taken = second.add(wanted(&link, "dump.rdb"), 7002).expect_err("taken").to_string();
        let pid = format!("(pid {}, port 7001, host ", std::process::id());
        assert!(taken.contains("real/dump.rdb is written by another server"), "{taken}");
        assert!(
            taken.contains(&pid) && taken.ends_with(" or give this one other files"),
            "{taken}"
        );
        second.add(wanted(&link, "other.rdb"), 7002).expect("another name");
        first.clear();
        assert!(!first.is_any() && second.is_any());
        second.add(wanted(&real, "dump.rdb"), 7002).expect("free again");
        second.clear();
        assert!(names(&real).is_empty(), "nothing is left over");
    }

    #[test]
    fn what_a_killed_server_has_left_claims_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(".dump.rdb.lock"), "pid 1, port 2, host 3").expect("written");
        let claims = Claims::default();
        claims.add(wanted(folder.path(), "dump.rdb"), 7001).expect("free");
        let text = fs::read_to_string(folder.path().join(".dump.rdb.lock")).expect("there");
        assert!(text.starts_with(&format!("pid {}, port 7001,", std::process::id())), "{text}");
    }

    #[test]
    fn another_place_is_claimed_beside_the_first_or_instead() {
        let folder = tempfile::tempdir().expect("a folder");
        let claims = Claims::default();
        claims.add(wanted(folder.path(), "a"), 1).expect("free");
        claims.add(wanted(folder.path(), "b"), 1).expect("free");
        assert_eq!(names(folder.path()), [".a.lock", ".b.lock"]);
        claims.set(wanted(folder.path(), "c"), 1).expect("free");
        assert_eq!(names(folder.path()), [".c.lock"]);
        let other = Claims::default();
        other.add(wanted(folder.path(), "d"), 2).expect("free");
        claims.set(wanted(folder.path(), "d"), 1).expect_err("taken");
        assert_eq!(names(folder.path()), [".c.lock", ".d.lock"], "it keeps what it has");
    }

    #[test]
    fn a_claim_whose_file_was_removed_is_made_anew_or_is_anothers() {
        let folder = tempfile::tempdir().expect("a folder");
        let lock = folder.path().join(".a.lock");
        let (first, second) = (Claims::default(), Claims::default());
        first.add(wanted(folder.path(), "a"), 1).expect("free");
        fs::remove_file(&lock).expect("removed");
        first.add(wanted(folder.path(), "a"), 1).expect("free");
        second.add(wanted(folder.path(), "a"), 2).expect_err("taken again");
        fs::remove_file(&lock).expect("removed");
        second.add(wanted(folder.path(), "a"), 2).expect("not seen to be taken");
        first.clear();
        assert_eq!(names(folder.path()), [".a.lock"], "it is the second's");
        first.add(wanted(folder.path(), "a"), 1).expect_err("taken");
    }

    #[test]
    fn a_place_that_is_not_there_is_no_obstacle() {
        let folder = tempfile::tempdir().expect("a folder");
        let claims = Claims::default();
        claims.add(wanted(&folder.path().join("gone"), "a"), 1).expect("no obstacle");
        assert!(!claims.is_any());
    }

    #[test]
    fn one_of_many_who_claim_and_give_up_has_it_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let holders = std::sync::atomic::AtomicUsize::new(0);
        let order = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let claims = Claims::default();
                    for _ in 0..200 {
                        if claims.add(wanted(folder.path(), "a"), 1).is_ok() {
                            assert_eq!(holders.fetch_add(1, order), 0);
                            holders.fetch_sub(1, order);
                            claims.clear();
                        }
                    }
                });
            }
        });
        assert!(names(folder.path()).is_empty());
    }
}
