//! What follows when CONFIG SET changes a setting: which part of the server hears of it.

use crate::descriptors;
use crate::limits;
use crate::oom_score::OomScoreFile;
use crate::services::Services;
use command::Instance;
use settings::journal::{APPENDFSYNC, APPENDONLY};
use settings::{Hook, Settings, general, memory, network, observing, snapshots};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

/// What is said where the working directory would leave the append-only files behind.
const JOURNAL_STAYS: &str = "the append-only files stay where they are, and the next start would \
    not find them: set appendonly to no before, and to yes again afterwards";

/// Registers the actions on settings that must be passed on when CONFIG SET changes them.
pub(crate) fn follow_settings(instance: &Arc<Instance>, services: &Services) {
    let weak: Weak<Instance> = Arc::downgrade(instance);
    let apply = Arc::new(move |_: &Settings| {
        if let Some(instance) = weak.upgrade() {
            limits::apply(&instance);
        }
        Ok(())
    });
    let followed = [
        memory::MAXMEMORY.name(),
        memory::MAXMEMORY_POLICY.name(),
        memory::RECLAIM_POLICY.name(),
        memory::LFU_LOG_FACTOR.name(),
        memory::LFU_DECAY_TIME.name(),
        general::IMPORT_MODE.name(),
    ];
    for name in followed {
        instance.settings.on_change(name, apply.clone());
    }
    let weak = Arc::downgrade(instance);
    let warn = move |_: &Settings| {
        weak.upgrade().inspect(|instance| limits::warn_of_maxmemory(instance));
        Ok(())
    };
    instance.settings.on_change(memory::MAXMEMORY.name(), Arc::new(warn));
    let (weak, saver) = (Arc::downgrade(instance), Arc::clone(&services.saver));
    let follow_outcome = Arc::new(move |_: &Settings| {
        if let Some(instance) = weak.upgrade() {
            saver.follow_outcome(&instance);
        }
        Ok(())
    });
    for name in [snapshots::SAVE.name(), snapshots::STOP_WRITES_ON_BGSAVE_ERROR.name()] {
        instance.settings.on_change(name, follow_outcome.clone());
    }
    follow_directory(instance, services);
    let (weak, journal) = (Arc::downgrade(instance), Arc::clone(&services.journal));
    let tell_writer = Arc::new(move |_: &Settings| {
        if let Some(instance) = weak.upgrade() {
            journal.follow_settings(&instance);
        }
        Ok(())
    });
    follow_appendonly(instance, services);
    instance.settings.on_change(APPENDFSYNC.name(), tell_writer);
    follow_event_classes(instance);
    follow_key_load_delay(instance);
    instance.settings.on_change(network::MAXCLIENTS.name(), Arc::new(descriptors::follow));
    follow_oom_score(&instance.settings);
}

/// Has loading follow its delay, which is for tests.
fn follow_key_load_delay(instance: &Arc<Instance>) {
    let weak = Arc::downgrade(instance);
    let slow_loading = move |settings: &Settings| {
        if let Some(instance) = weak.upgrade() {
            let delay = snapshots::KEY_LOAD_DELAY.get(settings);
            instance.loading.progress.key_delay.store(delay, Relaxed);
        }
        Ok(())
    };
    let _ = slow_loading(&instance.settings);
    instance.settings.on_change(snapshots::KEY_LOAD_DELAY.name(), Arc::new(slow_loading));
}

/// Sets the score of the process at the out-of-memory killer, now and when its settings change.
fn follow_oom_score(settings: &Settings) {
    let score = OomScoreFile::new("/proc/self/oom_score_adj");
    // The error has been logged; the server runs with the score that it has.
    let _ = score.follow(settings);
    let follow: Arc<Hook> = Arc::new(move |settings: &Settings| score.follow(settings));
    for name in [general::OOM_SCORE_ADJ.name(), general::OOM_SCORE_ADJ_VALUES.name()] {
        settings.on_change(name, Arc::clone(&follow));
    }
}

/// Has CONFIG SET change the working directory, unless files would be left behind.
fn follow_directory(instance: &Instance, services: &Services) {
    let journal = Arc::clone(&services.journal);
    let change = move |settings: &Settings| {
        if !journal.allows_directory(settings) {
            return Err(JOURNAL_STAYS.to_owned());
        }
        std::env::set_current_dir(&*general::DIR.get(settings)).map_err(|error| error.to_string())
    };
    instance.settings.on_change(general::DIR.name(), Arc::new(change));
}

/// Has keyspace notifications follow their setting.
fn follow_event_classes(instance: &Arc<Instance>) {
    instance.follow_event_classes();
    let weak = Arc::downgrade(instance);
    let follow = move |_: &Settings| {
        if let Some(instance) = weak.upgrade() {
            instance.follow_event_classes();
        }
        Ok(())
    };
    instance.settings.on_change(observing::NOTIFY_KEYSPACE_EVENTS.name(), Arc::new(follow));
}

/// Has CONFIG SET turn the journal on or off.
fn follow_appendonly(instance: &Arc<Instance>, services: &Services) {
    let (weak, journal) = (Arc::downgrade(instance), Arc::clone(&services.journal));
    journal.want(APPENDONLY.get(&instance.settings), &instance.settings);
    let turn = move |settings: &Settings| {
        let Some(instance) = weak.upgrade() else { return Ok(()) };
        let on = APPENDONLY.get(settings);
        let claimed = || journal.claim(settings).map_err(|taken| taken.to_string());
        let rehearsed = || journal.rehearse(&instance).map_err(|error| error.to_string());
        let fit = if on { claimed().and_then(|()| rehearsed()) } else { Ok(()) };
        // Where that fails the settings are as before, and this is called for them again. If it
        // fails then, the writer is to try on: the setting says that changes are in files.
        journal.want(on, settings);
        let state = &instance.journal;
        if !on && !state.is_on.load(Relaxed) && !state.is_rewriting.load(Relaxed) {
            // It could not be turned on, so nothing is written.
            journal.give_up_claims();
        }
        if let Err(error) = fit {
            tracing::warn!("The append-only file cannot be turned on: {error}");
            return Err("Unable to turn on AOF. Check server logs.".to_owned());
        }
        journal.follow_settings(&instance);
        Ok(())
    };
    instance.settings.on_change(APPENDONLY.name(), Arc::new(turn));
}
