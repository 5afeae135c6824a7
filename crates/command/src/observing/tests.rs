//! Tests of limits.

use super::Observer;
use settings::Settings;

#[test]
fn a_negative_limit_is_none_and_zero_is_passed_by_all() {
    let settings = Settings::new();
    let set = |name: &[u8], value: &[u8]| {
        settings.set_many(&[(name, value)], settings::Origin::Local).expect("it is valid");
    };
    assert_eq!(Observer::of(&settings).nanos, 10_000_000);
    set(b"slowlog-log-slower-than", b"-1");
    assert_eq!(Observer::of(&settings).nanos, u64::MAX);
    set(b"latency-monitor-threshold", b"3");
    assert_eq!(Observer::of(&settings).nanos, 3_000_000);
    set(b"slowlog-log-slower-than", b"0");
    set(b"commandlog-reply-larger-than", b"-1");
    let observer = Observer::of(&settings);
    assert_eq!((observer.nanos, observer.reply_bytes), (0, u64::MAX));
}
