//! struct takes any format: what it unpacks of any bytes is packed with the same format again as
//! bytes that unpack to the same values; a number beyond 2^53 may not fit what it is packed as. bit
//! takes any numbers.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;

const UNPACK_AND_PACK: &str = "local format, bytes = ARGV[1], ARGV[2] \
    pcall(struct.size, format) pcall(struct.pack, format, 1, 2.5, bytes, -3, bytes) \
    pcall(bit.tohex, #format, #bytes) pcall(bit.rol, bytes, #format) \
    local values = {pcall(struct.unpack, format, bytes, 1)} \
    if not values[1] then return 'refused' end \
    table.remove(values) table.remove(values, 1) \
    local ok, packed = pcall(struct.pack, format, unpack(values)) \
    if not ok then return 'refused' end \
    local again = {pcall(struct.unpack, format, packed, 1)} \
    if not again[1] then return packed end \
    for i, value in ipairs(values) do \
        local is_held = type(value) ~= 'number' or math.abs(value) <= 2^53 \
        if is_held and again[i + 1] ~= value then return format .. tostring(value) end \
    end \
    return 'same'";

fuzz_target!(|data: &[u8]| {
    let split = data.iter().position(|byte| *byte == b'|').unwrap_or(data.len());
    let (format, bytes) = data.split_at(split);
    script::assert_is_refused_or_stays(UNPACK_AND_PACK, &[format, bytes.get(1..).unwrap_or(&[])]);
});
