//! Identity of the server, and processor time that it used.

use super::text::Text;
use base::process;
use command::Call;
use session::{CertificateFacts, Certificates, versions};

/// Mask of the clock bits that Redis keeps per key.
const LRU_CLOCK_MASK: u64 = (1 << 24) - 1;

/// What Valkey makes of the machine and time of a build; here builds of one version are the same.
const BUILD_ID: &str = "0000000000000000";
/// What Valkey says that was compiled by something else.
const NO_GCC: &str = "0.0.0";

pub(super) fn server(text: &mut Text, call: &mut Call<'_>) {
    let (settings, identity) = (&call.instance.settings, &call.instance.identity);
    let is_redis = settings::general::EXTENDED_REDIS_COMPATIBILITY.get(settings);
    let uptime = call.instance.clock.steady().since(identity.started) / 1000;
    let hz = settings::general::HZ.get(settings);
    let config_file = identity.config_file.as_ref().map(|file| file.display().to_string());
    let zone = settings::general::AVAILABILITY_ZONE.get(settings);
    text.fields(&[
        ("redis_version", &versions::REDIS),
        ("server_name", &"valkey"),
        ("valkey_version", &versions::VALKEY),
        ("valkey_release_stage", &"ga"),
        ("varve_version", &env!("CARGO_PKG_VERSION")),
        ("redis_git_sha1", &"00000000"),
        ("redis_git_dirty", &0),
        ("redis_build_id", &BUILD_ID),
        (if is_redis { "redis_mode" } else { "server_mode" }, &"standalone"),
        ("os", &process::system_name()),
        ("arch_bits", &usize::BITS),
        ("monotonic_clock", &"POSIX clock_gettime"),
        ("multiplexing_api", &"epoll"),
        ("gcc_version", &NO_GCC),
        ("process_id", &std::process::id()),
        ("process_supervised", &identity.supervised),
        ("run_id", &identity.run_id),
        ("tcp_port", &settings::tls::main_port(settings)),
        ("server_time_usec", &base::clock::wall_micros()),
        ("uptime_in_seconds", &uptime),
        ("uptime_in_days", &(uptime / 86_400)),
        ("hz", &hz),
        ("configured_hz", &hz),
        ("clients_hz", &hz),
        ("lru_clock", &((call.now.0 / 1000) & LRU_CLOCK_MASK)),
        ("executable", &identity.executable.display()),
        ("config_file", &config_file.unwrap_or_default()),
        ("threads", &identity.threads),
        ("io_threads_active", &0),
        ("availability_zone", &zone),
    ]);
    listeners(text, call);
}

fn listeners(text: &mut Text, call: &Call<'_>) {
    let settings = &call.instance.settings;
    let addresses = settings::network::BIND.get(settings);
    let binds: String = addresses.iter().map(|it| format!("bind={it},")).collect();
    let mut at_port = |number: u8, name: &str, port: u16| {
        if port != 0 {
            text.line(format_args!("listener{number}:name={name},{binds}port={port}"));
        }
    };
    // Each kind has its number, whether the others are there or not.
    at_port(0, "tcp", settings::network::PORT.get(settings));
    at_port(2, "tls", settings::tls::TLS_PORT.get(settings));
    let socket = settings::network::UNIX_SOCKET.get(settings);
    if !socket.is_empty() {
        text.line(format_args!("listener1:name=unix,bind={socket}"));
    }
}

/// Certificates in force.
pub(super) fn tls(text: &mut Text, call: &mut Call<'_>) {
    let certificates = call.instance.tls.certificates.lock().clone();
    let now = base::clock::wall_micros() / 1_000_000;
    let Certificates { server, client, ca } = certificates;
    for (whose, facts) in [("server", server), ("client", client), ("ca", ca)] {
        let left = |it: &CertificateFacts| u64::try_from(it.expires).unwrap_or(0);
        let left = facts.as_ref().map_or(0, left).saturating_sub(now);
        let serial = facts.map_or_else(|| "none".to_owned(), |it| it.serial);
        text.line(format_args!("tls_{whose}_cert_serial:{serial}"));
        text.line(format_args!("tls_{whose}_cert_expires_in_seconds:{left}"));
    }
}

pub(super) fn cluster(text: &mut Text, _: &mut Call<'_>) {
    text.field("cluster_enabled", 0);
}

/// Modules: Lua is one, built in.
pub(super) fn modules(text: &mut Text, _: &mut Call<'_>) {
    text.line(format_args!(
        "module:name=lua,ver=1,api=1,filters=0,usedby=[],using=[],\
         options=[handle-repl-async-load|handle-atomic-slot-migration]"
    ));
}

/// Engines for scripts: Lua. What an engine keeps besides its interpreters are the sources.
pub(super) fn engines(text: &mut Text, call: &mut Call<'_>) {
    let (scripts, libraries) = (&call.instance.scripts, &call.instance.libraries);
    let used = scripts.interpreters.bytes() + libraries.interpreters.bytes();
    let sources = if scripts.cache.is_empty() { 0 } else { scripts.cache.bytes() };
    let overhead = sources + libraries.table().bytes();
    text.fields(&[
        ("engines_count", &1),
        ("engines_total_used_memory", &used),
        ("engines_total_memory_overhead", &overhead),
    ]);
    text.line(format_args!(
        "engine_0:name=LUA,module=lua,abi_version=4,used_memory={used},memory_overhead={overhead}"
    ));
}

pub(super) fn cpu(text: &mut Text, call: &mut Call<'_>) {
    let (all, thread) = (process::processor_time(), process::processor_time_of_thread());
    text.fields(&[
        ("used_cpu_sys", &seconds(all.system)),
        ("used_cpu_user", &seconds(all.user)),
        ("used_cpu_sys_children", &seconds(all.system_children)),
        ("used_cpu_user_children", &seconds(all.user_children)),
        ("used_cpu_sys_main_thread", &seconds(thread.system)),
        ("used_cpu_user_main_thread", &seconds(thread.user)),
    ]);
    // Every worker does the work of Valkey's main thread, so their times are shown as one sum.
    let nanos = call.instance.statistics.active_nanos();
    text.field("used_active_time_main_thread", format_args!("{:.6}", nanos as f64 / 1e9));
}

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
