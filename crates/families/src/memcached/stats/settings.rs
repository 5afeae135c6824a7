//! `stats settings`: Memcached's options, by the settings that are their counterparts.

use super::lines::{Lines, yes_or_no};
use crate::memcached::item_bytes_max;
use ::settings::general::LOGLEVEL;
use ::settings::memcached::{
    MEMCACHED_BIND, MEMCACHED_PORT, MEMCACHED_TLS_PORT, MEMCACHED_UNIX_SOCKET,
};
use ::settings::memory::{MAXMEMORY, MAXMEMORY_POLICY};
use ::settings::network::{BIND, MAXCLIENTS, TCP_BACKLOG, TIMEOUT, UNIX_SOCKET_PERM};
use ::settings::{LogLevel, MaxmemoryPolicy};
use command::Call;

/// Bytes of the flags of an item at most.
const FLAGS_BYTES: u32 = u32::BITS / 8;
/// What Memcached says of an option that was not given: with parentheses where it is a text.
const NOT_GIVEN: &str = "NULL";

pub(super) fn settings(call: &mut Call<'_>) {
    let mut lines = Lines::default();
    network(&mut lines, call);
    protocol(&mut lines, call);
    slabs_and_lru(&mut lines, call);
    logs_and_extstore(&mut lines);
    tls_and_rest(&mut lines, call);
    lines.answer(call);
}

fn network(lines: &mut Lines, call: &Call<'_>) {
    let settings = &call.instance.settings;
    let own = MEMCACHED_BIND.get(settings);
    let addresses = if own.is_empty() { BIND.get(settings) } else { own };
    let path = MEMCACHED_UNIX_SOCKET.get(settings);
    let path = if path.is_empty() { NOT_GIVEN } else { &path };
    let verbosity = match LOGLEVEL.get(settings) {
        LogLevel::Debug => 2,
        LogLevel::Verbose => 1,
        LogLevel::Notice | LogLevel::Warning | LogLevel::Nothing => 0,
    };
    let evicts = MAXMEMORY_POLICY.get(settings) != MaxmemoryPolicy::NoEviction;
    let flushed = call.instance.pending_flush.due();
    lines.put_all(&[
        ("maxbytes", &MAXMEMORY.get(settings)),
        ("maxconns", &MAXCLIENTS.get(settings)),
        ("tcpport", &MEMCACHED_PORT.get(settings)),
        ("udpport", &0),
        ("inter", &addresses.join(",")),
        ("verbosity", &verbosity),
        ("oldest", &flushed.map_or(0, |due| due.since(call.now) / 1000)),
        ("evictions", &if evicts { "on" } else { "off" }),
        ("domain_socket", &path),
        ("umask", &format_args!("{:o}", UNIX_SOCKET_PERM.get(settings))),
        ("shutdown_command", &"no"),
    ]);
}

fn protocol(lines: &mut Lines, call: &Call<'_>) {
    let settings = &call.instance.settings;
    let needs_password = !call.instance.access.default_user().user.takes_any_password();
    lines.put_zeros(&["growth_factor", "chunk_size"]);
    lines.put_all(&[
        ("num_threads", &call.instance.identity.threads),
        ("num_threads_per_udp", &0),
        ("stat_key_prefix", &":"),
        ("detail_enabled", &"no"),
        ("reqs_per_event", &0),
        ("cas_enabled", &"yes"),
        ("tcp_backlog", &TCP_BACKLOG.get(settings)),
        ("binding_protocol", &"ascii"),
        ("auth_enabled_sasl", &"no"),
        ("auth_enabled_ascii", &yes_or_no(needs_password)),
        ("item_size_max", &item_bytes_max(call)),
        ("maxconns_fast", &"yes"),
    ]);
}

fn slabs_and_lru(lines: &mut Lines, call: &Call<'_>) {
    lines.put_zeros(&["hashpower_init"]);
    lines.put("slab_reassign", "no");
    lines.put_zeros(&[
        "slab_automove",
        "slab_automove_ratio",
        "slab_automove_window",
        "slab_chunk_max",
    ]);
    lines.put("lru_crawler", "no");
    lines.put_zeros(&["lru_crawler_sleep", "lru_crawler_tocrawl", "tail_repair_time"]);
    lines.put_all(&[
        ("flush_enabled", &"yes"),
        ("dump_enabled", &"yes"),
        ("hash_algorithm", &"none"),
        ("lru_maintainer_thread", &"no"),
        ("lru_segmented", &"no"),
    ]);
    lines.put_zeros(&["hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor"]);
    lines.put("temp_lru", "no");
    lines.put_zeros(&["temporary_ttl"]);
    lines.put("idle_timeout", TIMEOUT.get(&call.instance.settings));
}

fn logs_and_extstore(lines: &mut Lines) {
    lines.put_zeros(&["watcher_logbuf_size", "worker_logbuf_size", "read_buf_mem_limit"]);
    lines.put_all(&[("track_sizes", &"no"), ("inline_ascii_response", &"no")]);
    lines.put_zeros(&[
        "ext_item_size",
        "ext_item_age",
        "ext_low_ttl",
        "ext_recache_rate",
        "ext_wbuf_size",
        "ext_compact_under",
        "ext_drop_under",
        "ext_max_sleep",
        "ext_max_frag",
        "slab_automove_freeratio",
    ]);
    lines.put("ext_drop_unread", "no");
}

fn tls_and_rest(lines: &mut Lines, call: &Call<'_>) {
    let settings = &call.instance.settings;
    let is_encrypted = MEMCACHED_TLS_PORT.get(settings) != 0;
    let text = |text: &str, none: &str| if text.is_empty() { none } else { text }.to_owned();
    let certificate = text(&::settings::tls::TLS_CERT_FILE.get(settings), "(null)");
    let key = text(&::settings::tls::TLS_KEY_FILE.get(settings), "(null)");
    let authorities = text(&::settings::tls::TLS_CA_CERT_FILE.get(settings), NOT_GIVEN);
    lines.put_all(&[
        ("ssl_enabled", &yes_or_no(is_encrypted)),
        ("ssl_chain_cert", &certificate),
        ("ssl_key", &key),
        ("ssl_verify_mode", &0),
        ("ssl_keyformat", &1),
        ("ssl_ciphers", &NOT_GIVEN),
        ("ssl_ca_cert", &authorities),
        ("ssl_wbuf_size", &0),
        ("ssl_session_cache", &"no"),
        ("ssl_kernel_tls", &"no"),
        ("ssl_min_version", &"tlsv1.2"),
        ("proxy_enabled", &"no"),
        ("proxy_uring_enabled", &"no"),
        ("num_napi_ids", &0),
        ("memory_file", &"(null)"),
        ("client_flags_size", &FLAGS_BYTES),
    ]);
}
