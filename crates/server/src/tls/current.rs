//! Rules of TLS in force, made from settings and files.
//!
//! They are made whole, and judged, before they take the place of others; connections that began
//! under others go on. What CONFIG SET asks for is made by the worker that runs it, which serves
//! nobody meanwhile: another client could change settings in the middle of the change. It takes a
//! millisecond, or half a second where a pass phrase is as slow to be tried as it may be.

use super::files::Files;
use super::{is_wanted, renewal};
use crate::peer_stream::PeerStream;
use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use crossbeam_channel::{Sender, bounded};
use session::{CertificateFacts, Certificates, Instance};
use settings::tls::{
    TLS_AUTH_CLIENTS, TLS_CERT_FILE, TLS_CIPHERS, TLS_CIPHERSUITES, TLS_CLIENT_CERT_FILE,
    TLS_CLIENT_KEY_FILE_PASS, TLS_CLUSTER, TLS_DH_PARAMS_FILE, TLS_KEY_FILE_PASS,
    TLS_PREFER_SERVER_CIPHERS, TLS_PROTOCOLS, TLS_REPLICATION, TLS_SESSION_CACHE_SIZE,
    TLS_SESSION_CACHE_TIMEOUT, TLS_SESSION_CACHING,
};
use settings::{AuthClients, Settings};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use tls::{
    Asks, BlockingStream, Choices, ClientRules, Facts, Identity, ServerRules, Sessions, Suites,
    Versions,
};

/// What CONFIG SET answers where TLS cannot be as it asks.
const NOT_UPDATED: &str = "Unable to update TLS configuration. Check server logs.";
const NO_CA: &str = "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when \
    tls-cluster, tls-replication or tls-auth-clients are enabled!";

/// Rules in force.
#[derive(Debug)]
pub struct Tls {
    instance: Arc<Instance>,
    /// Held while rules are made, so that each goes on from the settings as they are then.
    making: Mutex<Made>,
    rules: Mutex<Option<ServerRules>>,
    /// Those of connections to other servers.
    client: Mutex<Option<ClientRules>>,
    complaint: Mutex<Complaint>,
    /// Has the thread that looks for other files look at the settings.
    renewal: Mutex<Option<Sender<()>>>,
}

/// What rules were made of.
#[derive(Debug, Default)]
struct Made {
    /// The files of those in force.
    of: u64,
    /// Files that cannot be used, if the last try found such.
    failed: Option<u64>,
}

/// Milliseconds within which the same complaint is one.
const COMPLAINT_GAP: u64 = 100;

/// A complaint that was logged, and when.
#[derive(Debug, Default)]
struct Complaint {
    text: String,
    at: Steady,
}

impl Complaint {
    /// Logs a complaint. CONFIG SET has its settings of before judged as well, behind a failure:
    /// what is wrong with those too is not said twice.
    fn log(&mut self, text: &str, now: Steady) {
        if self.text != text || now.since(self.at) > COMPLAINT_GAP {
            tracing::warn!("Failed to configure TLS: {text}");
        }
        (self.text, self.at) = (text.to_owned(), now);
    }
}

/// Rules that are not in force yet.
struct New {
    server: ServerRules,
    client_rules: Option<ClientRules>,
    certificates: Certificates,
    /// What of the settings and files has no effect, or surprises.
    warnings: Vec<String>,
}

/// Makes rules as settings ask for them, and returns what their server would warn of.
///
/// # Errors
/// What is wrong.
pub fn judge(settings: &Settings) -> Result<Vec<String>, String> {
    if !is_wanted(settings) {
        return Ok(Vec::new());
    }
    Ok(new_rules(settings, &Files::read(settings)?)?.warnings)
}

impl Tls {
    /// Returns what has no rules yet.
    pub fn new(instance: &Arc<Instance>) -> Arc<Tls> {
        Arc::new(Tls {
            instance: Arc::clone(instance),
            making: Mutex::default(),
            rules: Mutex::default(),
            client: Mutex::default(),
            complaint: Mutex::default(),
            renewal: Mutex::default(),
        })
    }

    /// Returns the rules in force; `None` if TLS is not wanted.
    pub fn rules(&self) -> Option<ServerRules> {
        self.rules.lock().clone()
    }

    /// Establishes a connection to another server.
    ///
    /// # Errors
    /// Those of the socket, and when the other server is not to be trusted.
    pub fn connect(&self, host: &str, socket: TcpStream) -> io::Result<Box<dyn PeerStream>> {
        let rules = self.client.lock().clone();
        let none = || io::Error::new(io::ErrorKind::NotFound, "there are no rules of TLS");
        let rules = rules.ok_or_else(none)?;
        Ok(Box::new(BlockingStream::connect(&rules, host, socket)?))
    }

    /// Makes rules as the settings are now, and puts them in force.
    ///
    /// # Errors
    /// What is wrong. The rules are those of before.
    pub fn configure(&self) -> Result<(), String> {
        let mut made = self.making.lock();
        let settings = &self.instance.settings;
        if !is_wanted(settings) {
            *made = Made::default();
            self.put(None, None, Certificates::default());
            return Ok(());
        }
        let files = Files::read(settings)?;
        let new = new_rules(settings, &files)?;
        self.put_made(&mut made, &files, new);
        Ok(())
    }

    /// Does the same for CONFIG SET.
    ///
    /// # Errors
    /// What a client is told; the log has what is wrong. The rules are those of before.
    pub fn follow_settings(&self) -> Result<(), String> {
        let outcome = self.configure();
        if let Some(renewal) = &*self.renewal.lock() {
            // A message that waits already is enough.
            let _ = renewal.try_send(());
        }
        outcome.map_err(|error| {
            self.complaint.lock().log(&error, self.instance.clock.steady());
            NOT_UPDATED.to_owned()
        })
    }

    /// Does the same unless there are rules or none are wanted.
    ///
    /// # Errors
    /// As `follow_settings`.
    pub fn prepare(&self, settings: &Settings) -> Result<(), String> {
        let is_lacking = is_wanted(settings) && self.rules.lock().is_none();
        if is_lacking { self.follow_settings() } else { Ok(()) }
    }

    /// Makes rules anew if files are not those of the rules in force, and says how it went.
    pub fn renew(&self) {
        let mut made = self.making.lock();
        let settings = &self.instance.settings;
        if !is_wanted(settings) {
            return;
        }
        let files = match Files::read(settings) {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!("TLS materials cannot be read, the old ones stay: {error}");
                return;
            }
        };
        let fingerprint = files.fingerprint();
        if fingerprint == made.of || made.failed == Some(fingerprint) {
            tracing::debug!("TLS reload skipped: materials unchanged");
            return;
        }
        tracing::info!("TLS materials changed, reloading in background");
        match new_rules(settings, &files) {
            Ok(new) => {
                self.put_made(&mut made, &files, new);
                tracing::info!("TLS materials reloaded successfully");
            }
            Err(error) => {
                made.failed = Some(fingerprint);
                tracing::warn!("TLS materials cannot be used, the old ones stay: {error}");
            }
        }
    }

    fn put_made(&self, made: &mut MutexGuard<'_, Made>, files: &Files, new: New) {
        **made = Made { of: files.fingerprint(), failed: None };
        new.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        self.put(Some(new.server), new.client_rules, new.certificates);
    }

    fn put(
        &self,
        server: Option<ServerRules>,
        client: Option<ClientRules>,
        certificates: Certificates,
    ) {
        *self.rules.lock() = server;
        *self.client.lock() = client;
        *self.instance.tls.certificates.lock() = certificates;
    }

    /// Starts the thread that looks whether files have changed, as often as the settings say.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start_renewal(self: &Arc<Self>) -> io::Result<()> {
        let (sender, asked) = bounded(1);
        *self.renewal.lock() = Some(sender);
        let (tls, instance) = (Arc::downgrade(self), Arc::downgrade(&self.instance));
        let work = move || renewal::run(&tls, &instance, &asked);
        thread::Builder::new().name("certificates".to_owned()).spawn(work).map(drop)
    }
}

fn new_rules(settings: &Settings, files: &Files) -> Result<New, String> {
    let identity = files.identity(&TLS_KEY_FILE_PASS.get(settings))?;
    let client = files.client_identity(&TLS_CLIENT_KEY_FILE_PASS.get(settings)).transpose()?;
    let (roots, mut warnings) = files.roots()?;
    let asks = match TLS_AUTH_CLIENTS.get(settings) {
        AuthClients::No => Asks::Never,
        AuthClients::Optional => Asks::Optionally,
        AuthClients::Yes => Asks::Always,
    };
    let is_linked = TLS_CLUSTER.get(settings) || TLS_REPLICATION.get(settings);
    if roots.is_empty() && (asks != Asks::Never || is_linked) {
        return Err(NO_CA.to_owned());
    }
    let (choices, ignored) = choices(settings)?;
    let server = ServerRules::new(&identity, (asks, &roots), &choices)
        .map_err(|error| files.wrong_pair(&error))?;
    let own = client.as_ref().unwrap_or(&identity);
    let client_rules = (!roots.is_empty()).then(|| {
        ClientRules::new(Some(own), &roots, &choices)
            .map_err(|error| format!("certificate and key for other servers: {error}"))
    });
    let client_rules = client_rules.transpose()?;
    if !ignored.is_empty() {
        warnings.push(format!("Of TLS, this server does not have: {}", ignored.join(" ")));
    }
    if !TLS_DH_PARAMS_FILE.get(settings).is_empty() {
        let no_effect = "`tls-dh-params-file` has no effect: there is no exchange with DHE here";
        warnings.push(no_effect.to_owned());
    }
    warnings.extend(time_warning(TLS_CERT_FILE.name(), identity.certificate()));
    let of_client = client.as_ref().map(Identity::certificate);
    warnings.extend(of_client.and_then(|it| time_warning(TLS_CLIENT_CERT_FILE.name(), it)));
    let shown = |facts: Facts| CertificateFacts { serial: facts.serial, expires: facts.expires };
    let certificates = Certificates {
        server: tls::facts(identity.certificate()).map(shown),
        client: client.and_then(|it| tls::facts(it.certificate())).map(shown),
        ca: tls::earliest(roots.iter()).map(shown),
    };
    Ok(New { server, client_rules, certificates, warnings })
}

/// Returns a warning about a certificate that is used though its time is over, or has not come.
fn time_warning(setting: &str, certificate: &[u8]) -> Option<String> {
    let now = i64::try_from(base::clock::wall_micros() / 1_000_000).unwrap_or(i64::MAX);
    let facts = tls::facts(certificate)?;
    let what = if facts.expires <= now {
        "has expired"
    } else if facts.begins > now {
        "is not valid yet"
    } else {
        return None;
    };
    Some(format!("`{setting}`: the certificate {what}, and others will not trust it"))
}

/// Returns what is to be spoken, and words that name what is not.
fn choices(settings: &Settings) -> Result<(Choices, Vec<String>), String> {
    let named = |setting: &str, error: tls::ChoiceError| format!("`{setting}`: {error}");
    let (versions, mut ignored) = Versions::read(&TLS_PROTOCOLS.get(settings))
        .map_err(|error| named(TLS_PROTOCOLS.name(), error))?;
    let lists = (TLS_CIPHERS.get(settings), TLS_CIPHERSUITES.get(settings));
    let (suites, more) = Suites::read(&lists.0, &lists.1)
        .map_err(|error| named("tls-ciphers` or `tls-ciphersuites", error))?;
    ignored.extend(more);
    let seconds = TLS_SESSION_CACHE_TIMEOUT.get(settings);
    let are_kept = TLS_SESSION_CACHING.get(settings) && seconds > 0;
    let sessions =
        are_kept.then(|| Sessions { most: TLS_SESSION_CACHE_SIZE.get(settings), seconds });
    let prefers_own = TLS_PREFER_SERVER_CIPHERS.get(settings);
    Ok((Choices { versions, suites, prefers_own, sessions }, ignored))
}
