//! Messages to the log; `log_line` has their form.

use crate::log_file::LogFile;
use crate::log_line::LogLines;
use settings::{LogLevel, Settings, general};
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, reload};

/// Starts logging to `logfile`, or to standard output, at `loglevel`, which may change later.
///
/// # Errors
/// When the file cannot be opened.
pub fn start(settings: &Arc<Settings>) -> io::Result<()> {
    let (filter, handle) = reload::Layer::new(level(general::LOGLEVEL.get(settings)));
    let file = general::LOGFILE.get(settings);
    let layer = fmt::layer().with_ansi(false).event_format(LogLines::new(settings));
    let registry = tracing_subscriber::registry().with(filter);
    // A second start in the same process (tests) keeps the first one's log.
    let _ = if file.is_empty() {
        registry.with(layer.with_writer(io::stdout)).try_init()
    } else {
        let file = LogFile::open(Path::new(&*file))?;
        registry.with(layer.with_writer(file)).try_init()
    };
    settings.on_change(&[general::LOGLEVEL.name()], move |settings| {
        handle.reload(level(general::LOGLEVEL.get(settings))).map_err(|error| error.to_string())
    });
    Ok(())
}

/// Opens the file of `logfile`, if there is one, to see whether that is possible. The working
/// directory need not be `dir`.
///
/// # Errors
/// When the file cannot be opened.
pub fn open_file(settings: &Settings) -> io::Result<()> {
    let file = general::LOGFILE.get(settings);
    let path = Path::new(&*general::DIR.get(settings)).join(&*file);
    let open = || OpenOptions::new().append(true).create(true).open(path).map(drop);
    if file.is_empty() { Ok(()) } else { open() }
}

fn level(setting: LogLevel) -> LevelFilter {
    match setting {
        LogLevel::Debug => LevelFilter::TRACE,
        LogLevel::Verbose => LevelFilter::DEBUG,
        LogLevel::Notice => LevelFilter::INFO,
        LogLevel::Warning => LevelFilter::WARN,
        LogLevel::Nothing => LevelFilter::OFF,
    }
}
