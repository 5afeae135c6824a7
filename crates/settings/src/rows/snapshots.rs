//! Settings of snapshots: RDB files and payloads of DUMP.

use crate::choice::{RdbReader, VersionCheck};
use crate::row::{file_name, integer, one_of, save_points, text, yes_no};
use crate::value::SavePoints;
use std::sync::Arc;

super::declare::rows! { from super::values::END;
    RDBCOMPRESSION: bool = yes_no("rdbcompression", true,
        "Compress texts of more than twenty bytes in RDB files and payloads of DUMP.");
    RDBCHECKSUM: bool = yes_no("rdbchecksum", true,
        "Compare the checksum of the RDB file with its contents.").at_start();
    RDB_VERSION_CHECK: VersionCheck = one_of("rdb-version-check", VersionCheck::NAMES,
        VersionCheck::Strict as usize,
        "RDB files of versions that are not known, and payloads of versions that Valkey 9 does not \
         take, as those of Redis 7.4 and later: refuse them, or read what of them is known.");
    RDB_READER: RdbReader = one_of("rdb-reader", RdbReader::NAMES, RdbReader::Valkey as usize,
        "Servers that are to read hashes whose fields have deadlines, in RDB files and payloads of \
         DUMP; everything else is written so that both do.");
    DBFILENAME: Arc<str> = file_name("dbfilename", "dump.rdb",
        "RDB file in the directory of `dir` that is read at start, if it is there, and that \
         snapshots replace.").protected();
    SAVE: SavePoints = save_points("save",
        "Snapshots by themselves: pairs of seconds and changes. One is made when so many changes \
         are older than so many seconds; what came later is lost if the process dies. Empty: \
         none, also none when the server ends.");
    STOP_WRITES_ON_BGSAVE_ERROR: bool = yes_no("stop-writes-on-bgsave-error", true,
        "Refuse writes while the last snapshot in the background has failed and `save` asks for \
         snapshots.");
    RDB_SAVE_INCREMENTAL_FSYNC: bool = yes_no("rdb-save-incremental-fsync", true,
        "Have the system write a snapshot to the disk while it is made, and not all of it at its \
         end.");
    RDB_DEL_SYNC_FILES: bool = yes_no("rdb-del-sync-files", false,
        "Whether a replica without append-only files and without `save` points leaves no RDB file \
         of its primary's data. Otherwise a snapshot that came as a file, see \
         `repl-diskless-load`, becomes `dbfilename`, and the next start goes on from there. A \
         primary leaves none of those that it makes for replicas.");
    BGSAVE_CPULIST: Arc<str> = text("bgsave-cpulist", "",
        "Processor cores on which snapshots are made, as in `0,2-5` or `0-7:2`. Empty: all.")
        .alias("bgsave_cpulist").at_start();
    RDB_KEY_SAVE_DELAY: i32 = integer("rdb-key-save-delay", -2147483648..=2147483647, 0,
        "Microseconds that a snapshot pauses after each key, for tests. Negative: a number of keys \
         after which it pauses for one microsecond.").hidden();
    KEY_LOAD_DELAY: i32 = integer("key-load-delay", -2147483648..=2147483647, 0,
        "Microseconds that loading pauses after each key or command, for tests. Negative: a number \
         of keys after which it pauses for one microsecond.").hidden();
    LOADING_PROCESS_EVENTS_INTERVAL_BYTES: u32 = integer("loading-process-events-interval-bytes",
        1024..=2147483647, 2097152,
        "Bytes after which loading lets clients be served.").hidden()
        .idle("clients are served by other threads all the time");
}
