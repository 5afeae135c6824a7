//! Settings of what Valkey does with its threads, its memory, its process and its messages.

use crate::row::{Row, integer, memory, one_of, text, yes_no};

const INT_MAX: i128 = i32::MAX as i128;
const LONG_MAX: i128 = i64::MAX as i128;

const THREADS: &str = "Varve has no I/O threads: use `threads`";
const CORES: &str = "start the server with `taskset`, whose choice all its threads keep";
const NO_DEFRAGMENTER: &str = "Varve has no defragmenter: its cleaner keeps memory compact";
const SYSLOG: &str = "Varve does not write to syslog: a service manager passes its messages on";
const CRASHES: &str =
    "Varve leaves crashes to the system, which makes a core dump if it is told to";
const RDMA: &str = "Varve does not listen on RDMA";
const TITLE: &str = "Varve does not change its process title";
const BATCHES: &str = "each worker accepts what waits, between rounds of commands";

pub(crate) const ROWS: &[Row] = &[
    integer("io-threads", 1..=256, 1, "Threads that read requests and write replies.")
        .idle(THREADS),
    yes_no("io-threads-always-active", false, "Use I/O threads whatever the load is.")
        .hidden()
        .idle(THREADS),
    text("server-cpulist", "", "Processor cores of the threads that serve clients.")
        .alias("server_cpulist")
        .at_start()
        .idle(CORES),
    text("bio-cpulist", "", "Processor cores of background threads.")
        .alias("bio_cpulist")
        .at_start()
        .idle(CORES),
    yes_no("activerehashing", true, "Grow tables also while no client asks for anything.")
        .idle("Varve always grows its index in small steps"),
    yes_no("activedefrag", false, "Move values together while the server runs.")
        .idle(NO_DEFRAGMENTER),
    memory(
        "active-defrag-ignore-bytes",
        1..=LONG_MAX,
        104857600,
        "Bytes that may be wasted before anything is moved.",
    )
    .idle(NO_DEFRAGMENTER),
    integer(
        "active-defrag-threshold-lower",
        0..=1000,
        10,
        "Share of wasted memory, in percent, before anything is moved.",
    )
    .idle(NO_DEFRAGMENTER),
    integer(
        "active-defrag-threshold-upper",
        0..=1000,
        100,
        "Share of wasted memory, in percent, from which on most effort is made.",
    )
    .idle(NO_DEFRAGMENTER),
    integer("active-defrag-cycle-min", 1..=99, 1, "Least effort of moving, in percent of a core.")
        .idle(NO_DEFRAGMENTER),
    integer("active-defrag-cycle-max", 1..=99, 25, "Most effort of moving, in percent of a core.")
        .idle(NO_DEFRAGMENTER),
    integer("active-defrag-cycle-us", 0..=100000, 500, "Microseconds of one round of moving.")
        .idle(NO_DEFRAGMENTER),
    integer(
        "active-defrag-max-scan-fields",
        1..=LONG_MAX,
        1000,
        "Fields up to which a collection is moved in one go.",
    )
    .idle(NO_DEFRAGMENTER),
    yes_no("jemalloc-bg-thread", true, "Give freed memory back in the background.")
        .idle("freed memory is always returned in the background"),
    yes_no("disable-thp", true, "Keep the system from using huge pages.")
        .at_start()
        .idle("Varve asks for huge pages only where they help"),
    text("hash-seed", "", "Seed of the hash function, so that SCAN has the same order elsewhere.")
        .at_start()
        .idle("the order of SCAN does not depend on a seed that others could know"),
    one_of("enable-module-command", &["no", "yes", "local"], 0, "Who may load modules by command.")
        .at_start()
        .idle("this version of Varve has no modules, so nobody may"),
    yes_no("syslog-enabled", false, "Write messages to syslog too.").at_start().idle(SYSLOG),
    text("syslog-ident", "valkey", "Name of the server in syslog.").at_start().idle(SYSLOG),
    one_of(
        "syslog-facility",
        &["user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"],
        1,
        "Facility of its messages in syslog.",
    )
    .at_start()
    .idle(SYSLOG),
    yes_no("crash-log-enabled", true, "Write a report when the server crashes.").idle(CRASHES),
    yes_no("crash-memcheck-enabled", true, "Test the memory when the server crashes.")
        .idle(CRASHES),
    yes_no("use-exit-on-panic", false, "End without a core dump when something is wrong.")
        .hidden()
        .idle(CRASHES),
    integer(
        "watchdog-period",
        0..=INT_MAX,
        0,
        "Milliseconds after which a command that hangs is reported. 0: never.",
    )
    .hidden()
    .idle("LATENCY and the command log tell what takes long"),
    text("ignore-warnings", "", "Checks at start that may fail.")
        .idle("Varve makes no such checks"),
    yes_no("always-show-logo", false, "Begin the log with a picture.")
        .at_start()
        .idle("Varve shows no logo"),
    yes_no("set-proc-title", true, "Show the address in the list of processes.")
        .at_start()
        .idle(TITLE),
    text("proc-title-template", "{title} {listen-addr} {server-mode}", "How that is shown.")
        .idle(TITLE),
    text("locale-collate", "", "Locale by which SORT with ALPHA compares.")
        .idle("Varve compares bytes and uses no locale"),
    yes_no("mptcp", false, "Listen with Multipath TCP.")
        .at_start()
        .idle("Varve listens with TCP, which such clients fall back to"),
    integer(
        "max-new-connections-per-cycle",
        1..=1000,
        10,
        "Connections that are accepted in a row.",
    )
    .idle(BATCHES),
    integer("rdma-rx-size", 65536..=16777216, 1048576, "Bytes of the buffer for RDMA.")
        .at_start()
        .idle(RDMA),
    integer("rdma-completion-vector", -1..=1024, -1, "Interrupt that RDMA uses. -1: any.")
        .at_start()
        .idle(RDMA),
    text("debug-context", "", "Text that is added to crash reports.").hidden().idle(CRASHES),
    yes_no("enable-debug-assert", false, "Check more than usual, for tests of the server.")
        .at_start()
        .hidden()
        .idle("Varve has no assertions to switch on"),
];
