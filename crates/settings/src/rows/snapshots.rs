//! Settings of snapshots: RDB files and payloads of DUMP.

use crate::row::yes_no;

super::declare::rows! { from super::values::END;
    RDBCOMPRESSION: bool = yes_no("rdbcompression", true,
        "Compress texts of more than twenty bytes in payloads of DUMP.");
}
