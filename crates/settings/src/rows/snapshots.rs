//! Settings of snapshots: RDB files and payloads of DUMP.

use crate::choice::{RdbReader, VersionCheck};
use crate::row::{file_name, one_of, yes_no};
use std::sync::Arc;

super::declare::rows! { from super::values::END;
    RDBCOMPRESSION: bool = yes_no("rdbcompression", true,
        "Compress texts of more than twenty bytes in RDB files and payloads of DUMP.");
    RDBCHECKSUM: bool = yes_no("rdbchecksum", true,
        "Compare the checksum of the RDB file with its contents.").at_start();
    RDB_VERSION_CHECK: VersionCheck = one_of("rdb-version-check", VersionCheck::NAMES,
        VersionCheck::Strict as usize,
        "RDB files and payloads of versions that are not known: refuse them, or read what of them \
         is known.");
    RDB_READER: RdbReader = one_of("rdb-reader", RdbReader::NAMES, RdbReader::Valkey as usize,
        "Servers that are to read hashes whose fields have deadlines, in RDB files and payloads of \
         DUMP; everything else is written so that both do.");
    DBFILENAME: Arc<str> = file_name("dbfilename", "dump.rdb",
        "RDB file in the directory of `dir` that is read at start, if it is there.").protected();
}
