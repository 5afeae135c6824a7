//! cjson takes any bytes: what it reads is written so that it is read again as something of the
//! same length (fields may change places), under settings that scripts may choose.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;

const SETTINGS: [&str; 4] = [
    "cjson.encode_sparse_array(false, 2, 10) cjson.encode_number_precision(14)",
    "cjson.encode_sparse_array(true, 1, 1)",
    "cjson.encode_number_precision(3)",
    "cjson.decode_array_with_array_mt(true)",
];

const READ_AND_WRITE: &str = "local ok, value = pcall(cjson.decode, ARGV[1]) \
    if not ok then return 'refused' end \
    local ok, text = pcall(cjson.encode, value) if not ok then return 'refused' end \
    return #cjson.encode(cjson.decode(text)) == #text and 'same' or text";

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let settings = SETTINGS.get(usize::from(first % 16)).unwrap_or(&"");
    let source = format!("{} pcall(function() {settings} end) {READ_AND_WRITE}", SETTINGS[0]);
    script::assert_is_refused_or_stays(&source, &[rest]);
});
