//! Durations in words.

/// Formats seconds in words.
pub(super) fn duration(seconds: f64) -> String {
    let whole = seconds.round().clamp(0.0, 1e9) as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn seconds_are_written_as_people_say_them() {
        let times = [0.26, 42.4, 192.0, 4830.0].map(duration);
        assert_eq!(times, ["0.3 s", "42 s", "3 min 12 s", "1 h 20 min"]);
    }
}
