//! Number texts: whatever is accepted prints as it was, or reads back as the same number.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[derive(arbitrary::Arbitrary, Debug)]
struct Texts<'a> {
    left: &'a [u8],
    right: &'a [u8],
    bits: u64,
}

fuzz_target!(|texts: Texts<'_>| {
    integers(texts.left);
    doubles(texts.left, f64::from_bits(texts.bits));
    sums(texts.left, texts.right);
    let _ = text::parse_memory(texts.left);
});

fn integers(text: &[u8]) {
    let std_text = std::str::from_utf8(text).unwrap_or("");
    let signed = std_text.parse::<i64>().ok().filter(|value| value.to_string() == std_text);
    assert_eq!(text::parse_i64(text), signed);
    let unsigned = std_text.parse::<u64>().ok().filter(|value| value.to_string() == std_text);
    assert_eq!(text::parse_u64(text), unsigned);
}

fn doubles(text: &[u8], value: f64) {
    for value in text::parse_f64(text).into_iter().chain((!value.is_nan()).then_some(value)) {
        for printed in [text::format_f64(value), text::format_g17(value)] {
            let read = text::parse_f64(printed.as_bytes());
            assert_eq!(read.map(f64::to_bits), Some(value.to_bits()), "{printed}");
        }
    }
}

fn sums(left: &[u8], right: &[u8]) {
    let sum = text::add_floats(left, right);
    assert_eq!(text::add_floats(right, left), sum);
    let Ok(sum) = sum else { return };
    assert!(sum.len() < text::FLOAT_TEXT_BYTES_MAX);
    assert_eq!(text::add_floats(sum.as_bytes(), b"-0").as_ref(), Ok(&sum));
}
