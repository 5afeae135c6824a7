//! What the server tells at start about what it keeps.

use crate::journal::append_folder;
use settings::AppendFsync;
use settings::Settings;
use settings::general::DIR;
use settings::journal::{APPENDFSYNC, APPENDONLY};
use settings::snapshots::{DBFILENAME, SAVE};

/// Logs what is kept, how much may be lost, and which setting changes it.
pub fn log(settings: &Settings) {
    lines(settings).iter().for_each(|line| tracing::info!("{line}"));
}

fn lines(settings: &Settings) -> Vec<String> {
    if APPENDONLY.get(settings) { vec![journal(settings)] } else { vec![snapshots(settings)] }
}

fn journal(settings: &Settings) -> String {
    let folder = append_folder(settings);
    let path = folder.display();
    let promise = match APPENDFSYNC.get(settings) {
        AppendFsync::Always => "no acknowledged change is lost, even if the machine dies",
        AppendFsync::EverySecond => {
            "if the machine dies, changes of about the last second are lost; if only the process \
             dies, of milliseconds"
        }
        AppendFsync::No => {
            "if the machine dies, what the system has not written is lost; if only the process \
             dies, changes of milliseconds"
        }
    };
    format!("Every change is kept in {path}: {promise}; settings: appendonly, appendfsync")
}

fn snapshots(settings: &Settings) -> String {
    let path = format!("{}/{}", DIR.get(settings), DBFILENAME.get(settings));
    let points = SAVE.get(settings).points;
    if points.is_empty() {
        return format!(
            "No snapshots are made by themselves, also not at the end: what is not saved by \
             SAVE or BGSAVE to {path} is lost when the server ends; setting: save"
        );
    }
    let points = points.iter().map(|point| {
        let (seconds, changes) = (point.seconds, point.changes);
        let many = if changes == 1 { "change" } else { "changes" };
        format!("{changes} {many} in {seconds} s")
    });
    let points = points.collect::<Vec<String>>().join(", ");
    format!(
        "Data is kept in {path}: written at the end and after {points}; if the process dies, \
         changes since the last snapshot are lost; setting: save"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::{Sources, load_text};

    #[test]
    fn it_is_logged_what_may_be_lost() {
        let settings = Settings::new();
        let logged = lines(&settings).join("\n");
        assert!(logged.contains("1 change in 3600 s, 100 changes in 300 s"), "{logged}");
        load_text(&settings, "test", b"save \"\"", Sources::Nowhere).expect("a setting");
        let logged = lines(&settings).join("\n");
        assert!(logged.contains("lost when the server ends"), "{logged}");
        let on = b"appendonly yes\nappendfsync always";
        load_text(&settings, "test", on, Sources::Nowhere).expect("settings");
        let logged = lines(&settings).join("\n");
        assert!(logged.contains("no acknowledged change is lost"), "{logged}");
    }
}
