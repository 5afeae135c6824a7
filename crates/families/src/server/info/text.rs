//! Text of a reply to INFO.

use std::fmt::{Display, Write};

/// Lines of `name:value`.
#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    /// Begins a section.
    pub fn title(&mut self, title: &str) {
        if !self.0.is_empty() {
            self.0.push_str("\r\n");
        }
        self.line(format_args!("# {title}"));
    }

    /// Appends a line.
    pub fn field(&mut self, name: &str, value: impl Display) {
        self.line(format_args!("{name}:{value}"));
    }

    /// Appends several lines.
    pub fn fields(&mut self, fields: &[(&str, &dyn Display)]) {
        for (name, value) in fields {
            self.field(name, value);
        }
    }

    /// Appends a line with a number of bytes, and another one with the number in readable units.
    pub fn bytes(&mut self, name: &str, bytes: u64) {
        self.field(name, bytes);
        self.line(format_args!("{name}_human:{}", human(bytes)));
    }

    pub fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{line}\r\n");
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Formats a number of bytes in readable units.
pub(super) fn human(bytes: u64) -> String {
    let units = ["K", "M", "G", "T", "P"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let power = (bytes.ilog2() / 10).min(5);
    let value = bytes as f64 / (1_u64 << (10 * power)) as f64;
    format!("{value:.2}{}", units[power as usize - 1])
}

/// Returns a part of a whole in percent; 100 if the whole is zero.
pub(super) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Returns a part of a whole as a fraction; zero if the whole is zero.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_the_largest_unit_that_they_fill() {
        let texts = [1023, 1024, 1_048_575, 1 << 20, 1 << 30, 1 << 40, u64::MAX].map(human);
        assert_eq!(texts, ["1023B", "1.00K", "1024.00K", "1.00M", "1.00G", "1.00T", "16384.00P"]);
    }
}
