use crate::network::{MAXCLIENTS, PORT, TIMEOUT};
use crate::{Origin, SetError, Settings};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn set(settings: &Settings, pairs: &[(&str, &str)]) -> Result<Vec<&'static str>, String> {
    settings
        .set_many(pairs, Origin::Remote)
        .map(|changed| changed.names)
        .map_err(|error| error.to_string())
}

fn refused(pairs: &[(&str, &str)], text: &str) {
    let settings = Settings::new();
    let before = settings.get_matching(&["*"]);
    assert_eq!(set(&settings, pairs), Err(text.to_owned()));
    assert_eq!(settings.get_matching(&["*"]), before);
    assert_eq!(settings.generation(), 0);
}

#[test]
fn a_change_is_seen_by_threads_and_raises_the_generation() {
    let settings = Settings::new();
    let names = set(&settings, &[("TIMEOUT", "7"), ("port", "6379"), ("maxclients", "5")]);
    assert_eq!(names, Ok(vec!["timeout", "maxclients"]));
    assert_eq!(TIMEOUT.get(&settings), 7);
    assert_eq!(MAXCLIENTS.get(&settings), 5);
    assert!(settings.generation() > 0);
}

#[test]
fn an_unknown_name_is_refused_before_any_value_is_looked_at() {
    refused(
        &[("timeout", "x"), ("Foo", "1"), ("daemonize", "yes")],
        "ERR Unknown option or number of arguments for CONFIG SET - 'Foo'",
    );
}

#[test]
fn the_first_wrong_name_decides() {
    refused(
        &[("Daemonize", "yes"), ("foo", "1")],
        "ERR CONFIG SET failed (possibly related to argument 'Daemonize') - \
         can't set immutable config",
    );
}

#[test]
fn the_same_setting_twice_is_refused() {
    refused(
        &[("maxmemory", "1"), ("timeout", "1"), ("MAXMEMORY", "2")],
        "ERR CONFIG SET failed (possibly related to argument 'MAXMEMORY') - duplicate parameter",
    );
}

#[test]
fn a_wrong_value_leaves_all_settings_as_they_were() {
    refused(
        &[("timeout", "1"), ("port", "65536")],
        "ERR CONFIG SET failed (possibly related to argument 'port') - \
         argument must be between 0 and 65535 inclusive",
    );
}

#[test]
fn a_fixed_setting_is_refused_with_its_reason() {
    refused(
        &[("rdma-port", "6380")],
        "ERR CONFIG SET failed (possibly related to argument 'rdma-port') - \
         RDMA is not supported by Varve: remove the line, and have clients use TCP",
    );
    assert_eq!(set(&Settings::new(), &[("rdma-port", "0"), ("activedefrag", "no")]), Ok(vec![]));
}

#[test]
fn a_setting_without_effect_is_changed_and_remembered() {
    let settings = Settings::new();
    let pairs = [("io-threads", "4"), ("masterauth", "secret"), ("repl-backlog-size", "64mb")];
    assert_eq!(set(&settings, &pairs), Ok(vec!["io-threads", "primaryauth", "repl-backlog-size"]));
    assert_eq!(settings.get_text(b"repl-backlog-size"), Some(b"67108864".to_vec()));
    assert_eq!(settings.get_text(b"primaryauth"), Some(b"secret".to_vec()));
}

#[test]
fn a_protected_setting_is_refused_unless_allowed_for_the_client() {
    let text = "ERR CONFIG SET failed (possibly related to argument 'dir') - \
                can't set protected config";
    refused(&[("dir", "/")], text);
    let settings = Settings::new();
    crate::load_text(&settings, "test", b"enable-protected-configs local", crate::Sources::Nowhere)
        .expect("a valid line");
    assert_eq!(set(&settings, &[("dir", "/")]), Err(text.to_owned()));
    assert!(settings.set_many(&[("dir", "/")], Origin::Local).is_ok());
}

#[test]
fn an_alias_changes_the_setting_it_stands_for() {
    let settings = Settings::new();
    assert!(set(&settings, &[("hash-max-ziplist-entries", "3")]).is_ok());
    assert_eq!(settings.get_text(b"hash-max-listpack-entries"), Some(b"3".to_vec()));
}

#[test]
fn several_words_may_stand_in_one_value() {
    let settings = Settings::new();
    set(&settings, &[("client-output-buffer-limit", "normal 1mb 2 3 pubsub 4 5 6")])
        .expect("valid");
    let limits = crate::limits::CLIENT_OUTPUT_BUFFER_LIMIT.get(&settings);
    assert_eq!(limits.normal.hard_bytes, 1 << 20);
    assert_eq!(limits.replica.hard_bytes, 256 << 20);
    assert_eq!(limits.pubsub.soft_seconds, 6);
}

#[test]
fn a_hook_sees_the_new_value_and_is_called_once_for_all_its_settings() {
    let settings = Settings::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    settings.on_change(&["port", "bind"], move |settings| {
        assert_eq!(PORT.get(settings), 7000);
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    set(&settings, &[("port", "7000"), ("bind", "127.0.0.1")]).expect("valid");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    set(&settings, &[("timeout", "1")]).expect("valid");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn a_hook_that_fails_rolls_everything_back_and_applies_the_old_values() {
    let settings = Settings::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    settings.on_change(&["maxclients"], move |settings| {
        noted.lock().expect("not poisoned").push(MAXCLIENTS.get(settings));
        Ok(())
    });
    settings.on_change(&["port"], |settings| match PORT.get(settings) {
        6379 => Ok(()),
        _ => Err("Unable to listen on this port. Check server logs.".to_owned()),
    });
    let pairs = [("maxclients", "3"), ("timeout", "9"), ("port", "1")];
    assert_eq!(
        settings.set_many(&pairs, Origin::Local),
        Err(SetError::Refused {
            name: "port".into(),
            reason: "Unable to listen on this port. Check server logs.".into(),
        })
    );
    assert_eq!(*seen.lock().expect("not poisoned"), [3, 10000]);
    assert_eq!((PORT.get(&settings), TIMEOUT.get(&settings)), (6379, 0));
}

#[test]
fn the_value_in_force_is_applied_again_where_it_names_what_may_have_changed() {
    let settings = Settings::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    settings.on_change(&["tls-cert-file", "tls-key-file", "port"], move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    assert!(set(&settings, &[("port", "6379")]).is_ok());
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    assert!(set(&settings, &[("tls-cert-file", ""), ("tls-key-file", "")]).is_ok());
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}
