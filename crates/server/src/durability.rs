//! What the server tells at start about what it keeps.

use settings::Settings;
use settings::general::DIR;
use settings::snapshots::{DBFILENAME, SAVE};

/// Logs what is kept, how much may be lost, and which setting changes it.
pub fn tell(settings: &Settings) {
    lines(settings).iter().for_each(|line| tracing::info!("{line}"));
}

fn lines(settings: &Settings) -> Vec<String> {
    vec![snapshots(settings)]
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
    fn it_is_told_what_may_be_lost() {
        let settings = Settings::new();
        let told = lines(&settings).join("\n");
        assert!(told.contains("1 change in 3600 s, 100 changes in 300 s"), "{told}");
        load_text(&settings, "test", b"save \"\"", Sources::Nowhere).expect("a setting");
        let told = lines(&settings).join("\n");
        assert!(told.contains("lost when the server ends"), "{told}");
    }
}
