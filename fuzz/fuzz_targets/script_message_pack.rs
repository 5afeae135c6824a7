//! cmsgpack takes any bytes: what it reads is written so that it is read again as something of the
//! same length (fields may change places). It writes nil for what is nested too deep, and nil ends
//! an array and is no field: so this is held of what has been read and written once.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;

const READ_AND_WRITE: &str = "local ok, value = pcall(cmsgpack.unpack, ARGV[1]) \
    pcall(cmsgpack.unpack_one, ARGV[1], #ARGV[1] % 7) \
    pcall(cmsgpack.unpack_limit, ARGV[1], 2, #ARGV[1] % 5) \
    if not ok then return 'refused' end local ok, bytes = pcall(cmsgpack.pack, value) \
    if not ok then return 'refused' end \
    bytes = cmsgpack.pack((cmsgpack.unpack(bytes))) \
    local again = cmsgpack.pack((cmsgpack.unpack(bytes))) \
    return #again == #bytes and 'same' or bytes";

fuzz_target!(|data: &[u8]| script::assert_is_refused_or_stays(READ_AND_WRITE, &[data]));
