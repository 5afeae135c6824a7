//! Settings of the journal: the append-only file.

use crate::choice::{AppendFsync, PropagationErrorBehavior};
use crate::row::{directory_name, file_name, integer, memory, one_of, text, yes_no};
use std::sync::Arc;

super::declare::rows! { from super::snapshots::END;
    APPENDONLY: bool = yes_no("appendonly", false,
        "Write every change to an append-only file, from which data is recovered at start.")
        .fixed_while_loading();
    APPENDFILENAME: Arc<str> = file_name("appendfilename", "appendonly.aof",
        "Beginning of the names of the append-only files.").at_start();
    APPENDDIRNAME: Arc<str> = directory_name("appenddirname", "appendonlydir",
        "Directory of the append-only files, in the directory of `dir`.").at_start();
    APPENDFSYNC: AppendFsync = one_of("appendfsync", AppendFsync::NAMES,
        AppendFsync::EverySecond as usize,
        "When what was written is made safe: before a reply leaves, once a second, or when the \
         system does it.");
    NO_APPENDFSYNC_ON_REWRITE: bool = yes_no("no-appendfsync-on-rewrite", false,
        "Leave syncs to the system while a snapshot is written.");
    AUTO_AOF_REWRITE_PERCENTAGE: u32 = integer("auto-aof-rewrite-percentage",
        0..=i32::MAX as i128, 100,
        "Growth of the append-only files over their base, in percent, after which they are \
         rotated; 0 for never.");
    AUTO_AOF_REWRITE_MIN_SIZE: u64 = memory("auto-aof-rewrite-min-size",
        0..=i64::MAX as i128, 64 << 20,
        "Bytes of the append-only files below which they are not rotated.");
    AOF_USE_RDB_PREAMBLE: bool = yes_no("aof-use-rdb-preamble", true,
        "Write bases of the append-only file as RDB, and not as commands.");
    AOF_LOAD_TRUNCATED: bool = yes_no("aof-load-truncated", true,
        "Start where the last append-only file ends within a command: without that command.");
    PROPAGATION_ERROR_BEHAVIOR: PropagationErrorBehavior = one_of("propagation-error-behavior",
        PropagationErrorBehavior::NAMES, PropagationErrorBehavior::Panic as usize,
        "What becomes of an append-only file with a command that cannot be executed: it stops the \
         start, so that nothing is missing unnoticed, or, with `ignore`, which is Valkey's \
         default, and `panic-on-replicas`, it is loaded without such commands. A replica stops its \
         link at one, unless this is `ignore`.");
    AOF_TIMESTAMP_ENABLED: bool = yes_no("aof-timestamp-enabled", false,
        "Write the time into the append-only file, once a second at most.");
    AOF_REWRITE_INCREMENTAL_FSYNC: bool = yes_no("aof-rewrite-incremental-fsync", true,
        "Make a base safe piece by piece while it is written.");
    AOF_REWRITE_CPULIST: Arc<str> = text("aof-rewrite-cpulist", "",
        "Processor cores on which bases are made, as in `0,2-5` or `0-7:2`. Empty: all.")
        .alias("aof_rewrite_cpulist").at_start();
    AOF_DISABLE_AUTO_GC: bool = yes_no("aof-disable-auto-gc", false,
        "Leave append-only files that are not needed any more where they are, for tests.").hidden();
}
