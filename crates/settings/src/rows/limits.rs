//! Limits on one client: input, arguments, output.

use crate::row::{integer, memory, output_limits};
use crate::value::OutputLimits;

super::declare::rows! { from super::memory::END;
    CLIENT_QUERY_BUFFER_LIMIT: u64 = memory("client-query-buffer-limit",
        1048576..=9223372036854775807, 1073741824,
        "Most bytes of unprocessed input kept for one client.");
    PROTO_MAX_BULK_LEN: u64 = memory("proto-max-bulk-len",
        1048576..=9223372036854775807, 536870912,
        "Largest single argument or string value, in bytes.");
    CLIENT_OUTPUT_BUFFER_LIMIT: OutputLimits = output_limits("client-output-buffer-limit",
        "For each class (`normal`, `replica`, `pubsub`): bytes of memory of pending replies that \
         disconnect a client at once, bytes that do so when they last, and for how many seconds. \
         0: no limit.");
    TRACKING_TABLE_MAX_KEYS: u64 = integer("tracking-table-max-keys",
        0..=9223372036854775807, 1000000,
        "Most keys of which the server knows which clients have read them and may have cached \
         them. Beyond that it tells the clients to forget some. 0: no limit.");
    MIN_IO_THREADS_AVOID_COPY_REPLY: u32 = integer("min-io-threads-avoid-copy-reply",
        0..=2147483647, 7,
        "I/O threads from which on Valkey sends strings without a copy.").hidden()
        .idle("values move, so replies are copies");
    MIN_STRING_SIZE_AVOID_COPY_REPLY: u64 = integer("min-string-size-avoid-copy-reply",
        0..=9223372036854775807, 16384,
        "Size from which on Valkey sends strings without a copy.").hidden()
        .idle("values move, so replies are copies");
    MIN_STRING_SIZE_AVOID_COPY_REPLY_THREADED: u64 = integer(
        "min-string-size-avoid-copy-reply-threaded", 0..=9223372036854775807, 65536,
        "The same with I/O threads.").hidden()
        .idle("values move, so replies are copies");
}
