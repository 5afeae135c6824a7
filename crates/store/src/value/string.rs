//! Strings: ranges, appends, numbers.
