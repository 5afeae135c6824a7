//! Lines of the log, in the forms that `log-format` and `log-timestamp-format` name.
//!
//! Programs that start a server and wait for it read its log, and so do shippers of logs: Valkey's
//! form is the default.

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use settings::{LogFormat, LogTimestampFormat, Settings, general};
use std::fmt::{self, Write};
use std::sync::Arc;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Writer of lines, which follows the settings.
pub(crate) struct LogLines {
    settings: Arc<Settings>,
    zone: TimeZone,
}

impl LogLines {
    pub(crate) fn new(settings: &Arc<Settings>) -> LogLines {
        LogLines { settings: Arc::clone(settings), zone: TimeZone::system() }
    }
}

impl<S, N> FormatEvent<S, N> for LogLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = String::new();
        context.field_format().format_fields(Writer::new(&mut text), event)?;
        let format = general::LOG_FORMAT.get(&self.settings);
        let stamp = general::LOG_TIMESTAMP_FORMAT.get(&self.settings);
        let (now, level) = (Timestamp::now(), *event.metadata().level());
        let line = Line { pid: std::process::id(), at: now.to_zoned(self.zone.clone()), level };
        line.write(&mut writer, (format, stamp), &text)
    }
}

/// What a line tells besides its text.
struct Line {
    pid: u32,
    at: Zoned,
    level: Level,
}

impl Line {
    fn write(
        &self,
        out: &mut dyn Write,
        (format, stamp): (LogFormat, LogTimestampFormat),
        text: &str,
    ) -> fmt::Result {
        let (pid, time, level) = (self.pid, self.time(stamp), self.level_name());
        match format {
            LogFormat::Legacy => writeln!(out, "{pid}:M {time} {} {text}", self.mark()),
            LogFormat::Logfmt => {
                let text = text.replace('"', "'").replace(['\n', '\r'], " ");
                let place = format!("pid={pid} role=primary timestamp=\"{time}\"");
                writeln!(out, "{place} level={level} message=\"{text}\"")
            }
            LogFormat::Json => {
                let place = format!("\"pid\":{pid},\"role\":\"primary\",\"timestamp\":\"{time}\"");
                let text = json(text);
                writeln!(out, "{{{place},\"level\":\"{level}\",\"message\":\"{text}\"}}")
            }
            LogFormat::Plain => {
                writeln!(out, "{:.3} {:>5} {text}", self.at.timestamp(), self.level)
            }
        }
    }

    fn time(&self, stamp: LogTimestampFormat) -> String {
        let at = &self.at;
        let (hour, minute, second) = (at.hour(), at.minute(), at.second());
        let clock = format!("{hour:02}:{minute:02}:{second:02}.{:03}", at.millisecond());
        match stamp {
            LogTimestampFormat::Legacy => {
                let month = usize::from(at.month().unsigned_abs()).saturating_sub(1);
                format!("{:02} {} {} {clock}", at.day(), MONTHS[month % 12], at.year())
            }
            LogTimestampFormat::Iso8601 => {
                let (year, month, day) = (at.year(), at.month(), at.day());
                format!("{year:04}-{month:02}-{day:02}T{clock}{}", zone_name(at.offset()))
            }
            LogTimestampFormat::Milliseconds => at.timestamp().as_millisecond().to_string(),
        }
    }

    /// The character that stands for the level in Valkey's lines.
    fn mark(&self) -> char {
        match self.level {
            Level::TRACE => '.',
            Level::DEBUG => '-',
            Level::INFO => '*',
            _ => '#',
        }
    }

    fn level_name(&self) -> &'static str {
        match self.level {
            Level::TRACE => "debug",
            Level::DEBUG => "verbose",
            Level::INFO => "notice",
            _ => "warning",
        }
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns an offset from UTC as ISO 8601 writes it, also where it is none.
fn zone_name(offset: Offset) -> String {
    let sign = if offset.is_negative() { '-' } else { '+' };
    let minutes = offset.seconds().unsigned_abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Returns a text as it stands within the quotes of JSON.
fn json(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\0'..='\x1f' => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            _ => quoted.push(letter),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(level: Level, form: (LogFormat, LogTimestampFormat), text: &str) -> String {
        let at: Timestamp = "2026-11-07T03:00:09.007Z".parse().expect("a time");
        let zone = TimeZone::fixed(Offset::from_seconds(-5400).expect("an offset"));
        let mut out = String::new();
        let line = Line { pid: 42, at: at.to_zoned(zone), level };
        line.write(&mut out, form, text).expect("written");
        out
    }

    #[test]
    fn lines_have_the_form_that_readers_of_valkeys_log_expect() {
        let form = (LogFormat::Legacy, LogTimestampFormat::Legacy);
        let levels = [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR];
        for (level, mark) in levels.into_iter().zip([".", "-", "*", "#", "#"]) {
            let wanted = format!("42:M 07 Nov 2026 01:30:09.007 {mark} a \"text\"\n");
            assert_eq!(line(level, form, "a \"text\""), wanted);
        }
    }

    #[test]
    fn times_have_the_form_that_the_setting_names() {
        let of = |stamp| line(Level::INFO, (LogFormat::Legacy, stamp), "text");
        let iso = "42:M 2026-11-07T01:30:09.007-01:30 * text\n";
        assert_eq!(of(LogTimestampFormat::Iso8601), iso);
        assert_eq!(of(LogTimestampFormat::Milliseconds), "42:M 1794020409007 * text\n");
        assert_eq!(zone_name(Offset::UTC), "+00:00");
    }

    #[test]
    fn a_text_cannot_break_out_of_its_quotes() {
        let of = |format| {
            line(Level::WARN, (format, LogTimestampFormat::Iso8601), "a \"b\"\r\n\\c\t\u{1}\u{e4}")
        };
        assert_eq!(
            of(LogFormat::Logfmt),
            "pid=42 role=primary timestamp=\"2026-11-07T01:30:09.007-01:30\" level=warning \
             message=\"a 'b'  \\c\t\u{1}\u{e4}\"\n"
        );
        assert_eq!(
            of(LogFormat::Json),
            "{\"pid\":42,\"role\":\"primary\",\"timestamp\":\"2026-11-07T01:30:09.007-01:30\",\
             \"level\":\"warning\",\"message\":\"a \\\"b\\\"\\r\\n\\\\c\\t\\u0001\u{e4}\"}\n"
        );
    }

    #[test]
    fn the_plain_form_has_the_time_in_utc() {
        let plain = (LogFormat::Plain, LogTimestampFormat::Legacy);
        assert_eq!(line(Level::INFO, plain, "text"), "2026-11-07T03:00:09.007Z  INFO text\n");
        assert_eq!(line(Level::WARN, plain, "text"), "2026-11-07T03:00:09.007Z  WARN text\n");
    }
}
