//! Settings of snapshots: RDB files and payloads of DUMP.

use crate::row::{file_name, yes_no};
use std::sync::Arc;

super::declare::rows! { from super::values::END;
    RDBCOMPRESSION: bool = yes_no("rdbcompression", true,
        "Compress texts of more than twenty bytes in payloads of DUMP.");
    RDBCHECKSUM: bool = yes_no("rdbchecksum", true,
        "Compare the checksum of the RDB file with its contents.").at_start();
    DBFILENAME: Arc<str> = file_name("dbfilename", "dump.rdb",
        "RDB file in the directory of `dir` that is read at start, if it is there.").protected();
}
