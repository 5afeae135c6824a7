//! What follows when CONFIG SET changes a setting: which part of the server hears of it.

use crate::descriptors;
use crate::limits;
use crate::listeners::Listeners;
use crate::services::Services;
use crate::tls::Tls;
use session::Instance;
use settings::journal::{APPENDFSYNC, APPENDONLY};
use settings::{
    Settings, general, memcached, memory, network, observing, replication, scripting, snapshots,
    tls,
};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What is said where the working directory would leave the append-only files behind.
const JOURNAL_STAYS: &str = "the append-only files stay where they are, and the next start would \
    not find them: set appendonly to no before, and to yes again afterwards";

/// Registers the actions on settings that must be passed on when CONFIG SET changes them.
pub(crate) fn follow_settings(instance: &Arc<Instance>, services: &Services) {
    let followed = [
        memory::MAXMEMORY.name(),
        memory::MAXMEMORY_POLICY.name(),
        memory::RECLAIM_POLICY.name(),
        memory::LFU_LOG_FACTOR.name(),
        memory::LFU_DECAY_TIME.name(),
        memory::LAZYFREE_LAZY_EXPIRE.name(),
        memory::LAZYFREE_LAZY_EVICTION.name(),
        general::IMPORT_MODE.name(),
        replication::REPLICA_IGNORE_MAXMEMORY.name(),
    ];
    follow(instance, &followed, limits::apply);
    follow(instance, &[memory::MAXMEMORY.name()], limits::warn_of_maxmemory);
    limits::grant_writes(instance);
    let of_replicas =
        [replication::MIN_REPLICAS_TO_WRITE.name(), replication::MIN_REPLICAS_MAX_LAG.name()];
    follow(instance, &of_replicas, limits::grant_writes);
    let of_role =
        [replication::REPLICA_READ_ONLY.name(), replication::REPLICA_SERVE_STALE_DATA.name()];
    follow(instance, &of_role, Instance::follow_role);
    let saver = Arc::clone(&services.saver);
    let of_outcome = [snapshots::SAVE.name(), snapshots::STOP_WRITES_ON_BGSAVE_ERROR.name()];
    follow(instance, &of_outcome, move |instance| saver.follow_outcome(instance));
    follow_directory(instance, services);
    services.follow_claims(&instance.settings);
    follow_appendonly(instance, services);
    let journal = Arc::clone(&services.journal);
    follow(instance, &[APPENDFSYNC.name()], move |instance| journal.follow_settings(instance));
    instance.follow_event_classes();
    let classes = observing::NOTIFY_KEYSPACE_EVENTS.name();
    follow(instance, &[classes], Instance::follow_event_classes);
    slow_loading_down(instance);
    follow(instance, &[snapshots::KEY_LOAD_DELAY.name()], slow_loading_down);
    follow(instance, &[network::REQUIREPASS.name()], |instance| {
        let password = network::REQUIREPASS.get(&instance.settings);
        instance.access.set_default_password(&password);
    });
    instance.settings.on_change(&[network::MAXCLIENTS.name()], descriptors::follow);
    follow_oom_score(&instance.settings, services);
    let of_interpreters =
        [scripting::SCRIPT_MEMORY_LIMIT.name(), scripting::LUA_ENABLE_INSECURE_API.name()];
    follow(instance, &of_interpreters, |instance| {
        instance.scripts.interpreters.clear();
        instance.libraries.interpreters.clear();
    });
}

/// Has `act` run when one of these settings changes.
fn follow(
    instance: &Arc<Instance>,
    names: &[&'static str],
    act: impl Fn(&Instance) + Send + Sync + 'static,
) {
    follow_or_refuse(instance, names, move |instance| {
        act(instance);
        Ok(())
    });
}

/// Has `act` run when one of these settings changes. Where it fails, the change is refused.
fn follow_or_refuse(
    instance: &Arc<Instance>,
    names: &[&'static str],
    act: impl Fn(&Instance) -> Result<(), String> + Send + Sync + 'static,
) {
    // The instance owns its settings, and they own this.
    let weak = Arc::downgrade(instance);
    let hook = move |_: &Settings| weak.upgrade().map_or(Ok(()), |instance| act(&instance));
    instance.settings.on_change(names, hook);
}

/// Has CONFIG SET change the rules of TLS. Several settings in one command are judged together.
pub(crate) fn follow_tls(settings: &Settings, tls: &Arc<Tls>) {
    // It holds the settings, and they hold this.
    let tls = Arc::downgrade(tls);
    settings.on_change(&OF_TLS.map(|name| name()), move |_| {
        tls.upgrade().map_or(Ok(()), |tls| tls.follow_settings())
    });
}

/// Settings of which the rules of TLS are made.
const OF_TLS: [fn() -> &'static str; 21] = [
    || tls::TLS_PORT.name(),
    || memcached::MEMCACHED_TLS_PORT.name(),
    || tls::TLS_REPLICATION.name(),
    || tls::TLS_CLUSTER.name(),
    || tls::TLS_CERT_FILE.name(),
    || tls::TLS_KEY_FILE.name(),
    || tls::TLS_KEY_FILE_PASS.name(),
    || tls::TLS_CLIENT_CERT_FILE.name(),
    || tls::TLS_CLIENT_KEY_FILE.name(),
    || tls::TLS_CLIENT_KEY_FILE_PASS.name(),
    || tls::TLS_CA_CERT_FILE.name(),
    || tls::TLS_CA_CERT_DIR.name(),
    || tls::TLS_AUTH_CLIENTS.name(),
    || tls::TLS_PROTOCOLS.name(),
    || tls::TLS_CIPHERS.name(),
    || tls::TLS_CIPHERSUITES.name(),
    || tls::TLS_PREFER_SERVER_CIPHERS.name(),
    || tls::TLS_SESSION_CACHING.name(),
    || tls::TLS_SESSION_CACHE_SIZE.name(),
    || tls::TLS_SESSION_CACHE_TIMEOUT.name(),
    || tls::TLS_AUTO_RELOAD_INTERVAL.name(),
];

/// Has CONFIG SET change the addresses at which the server listens. The rules of TLS follow first:
/// nobody is to connect to a port without them.
pub(crate) fn follow_addresses(settings: &Settings, listeners: &Arc<Listeners>, tls: &Arc<Tls>) {
    let complaints = [
        (network::PORT.name(), "Unable to listen on this port. Check server logs."),
        (tls::TLS_PORT.name(), "Unable to listen on this port. Check server logs."),
        (network::BIND.name(), "Failed to bind to specified addresses."),
        (memcached::MEMCACHED_PORT.name(), "Unable to listen on this port. Check server logs."),
        (memcached::MEMCACHED_TLS_PORT.name(), "Unable to listen on this port. Check server logs."),
        (memcached::MEMCACHED_BIND.name(), "Failed to bind to specified addresses."),
    ];
    for (name, complaint) in complaints {
        let (listeners, tls) = (Arc::clone(listeners), Arc::downgrade(tls));
        settings.on_change(&[name], move |settings| {
            tls.upgrade().map_or(Ok(()), |tls| tls.prepare(settings))?;
            listeners.follow(settings).map_err(|error| {
                tracing::warn!("{error}");
                complaint.to_owned()
            })
        });
    }
}

/// Has loading follow its delay, which is for tests.
fn slow_loading_down(instance: &Instance) {
    let delay = snapshots::KEY_LOAD_DELAY.get(&instance.settings);
    instance.loading.progress.key_delay.store(delay, Relaxed);
}

/// Sets the score of the process at the out-of-memory killer, now and when its settings change.
fn follow_oom_score(settings: &Settings, services: &Services) {
    let score = Arc::clone(&services.oom_score);
    // The error has been logged; the server runs with the score that it has.
    let _ = score.follow(settings);
    let names = [general::OOM_SCORE_ADJ.name(), general::OOM_SCORE_ADJ_VALUES.name()];
    settings.on_change(&names, move |settings| score.follow(settings));
}

/// Has CONFIG SET change the working directory, unless files would be left behind.
fn follow_directory(instance: &Instance, services: &Services) {
    let journal = Arc::clone(&services.journal);
    instance.settings.on_change(&[general::DIR.name()], move |settings| {
        if !journal.allows_directory(settings) {
            return Err(JOURNAL_STAYS.to_owned());
        }
        std::env::set_current_dir(&*general::DIR.get(settings)).map_err(|error| error.to_string())
    });
}

/// Has CONFIG SET turn the journal on or off.
fn follow_appendonly(instance: &Arc<Instance>, services: &Services) {
    let journal = Arc::clone(&services.journal);
    journal.want(APPENDONLY.get(&instance.settings), &instance.settings);
    follow_or_refuse(instance, &[APPENDONLY.name()], move |instance| {
        let settings = &instance.settings;
        let on = APPENDONLY.get(settings);
        let claimed = || journal.claim(settings).map_err(|taken| taken.to_string());
        let rehearsed = || journal.rehearse(instance).map_err(|error| error.to_string());
        let fit = if on { claimed().and_then(|()| rehearsed()) } else { Ok(()) };
        // Where that fails the settings are as before, and this is called for them again. If it
        // fails then, the writer is to try on: the setting says that changes are in files.
        journal.want(on, settings);
        if let Err(error) = fit {
            tracing::warn!("The append-only file cannot be turned on: {error}");
            return Err("Unable to turn on AOF. Check server logs.".to_owned());
        }
        journal.follow_settings(instance);
        Ok(())
    });
}
