//! Amounts of memory with a unit, as in the configuration.

/// Reads an amount such as `100`, `64kb` or `1gb`, and returns it in bytes.
///
/// `k`, `m` and `g` count in thousands, `kb`, `mb` and `gb` in steps of 1024; case does not matter.
/// A missing number is zero, as with Valkey. Signs, blanks and amounts beyond `u64` are refused.
pub fn parse_memory(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = text.split_at_checked(digits)?;
    amount(number)?.checked_mul(unit_bytes(unit)?)
}

fn amount(digits: &[u8]) -> Option<u64> {
    digits
        .iter()
        .try_fold(0u64, |value, byte| value.checked_mul(10)?.checked_add(u64::from(byte - b'0')))
}

fn unit_bytes(unit: &[u8]) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1000 * 1000,
        b"mb" => 1 << 20,
        b"g" => 1000 * 1000 * 1000,
        b"gb" => 1 << 30,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::parse_memory;

    #[test]
    fn units_with_b_count_in_1024_and_without_in_1000() {
        for (text, bytes) in [
            ("0", 0),
            ("100", 100),
            ("1b", 1),
            ("1k", 1000),
            ("1kb", 1024),
            ("2M", 2_000_000),
            ("2Mb", 2 << 20),
            ("1g", 1_000_000_000),
            ("1GB", 1 << 30),
            ("01k", 1000),
            ("", 0),
            ("gb", 0),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_memory(text.as_bytes()), Some(bytes), "{text:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            " ",
            "-1",
            "+1",
            "1 gb",
            "1tb",
            "1kk",
            "1.5gb",
            "18446744073709551616",
            "18014398509481984kb",
        ] {
            assert_eq!(parse_memory(text.as_bytes()), None, "{text:?}");
        }
    }
}
