//! Rules of a server and of a client: which CAs they trust, who they are, and what they speak.
//!
//! Rules are made whole, and never change. What clients were given under others (tickets, sessions
//! in the cache) is worth nothing under these: a session of before cannot go round a new rule.

use crate::pem::{Identity, Roots};
use crate::sessions::{Cache, tickets};
use crate::suites::{Suites, Versions};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::sync::Arc;
use thiserror::Error as ThisError;

/// Whether a server asks clients for certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// It does not.
    Never,
    /// It does, and one that is shown must be good; clients may have none.
    Optionally,
    /// It does, and clients must have a good one.
    Always,
}

/// Sessions that clients may resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sessions {
    /// Most sessions in the cache; zero for any number.
    pub most: usize,
    /// Seconds for which they are kept.
    pub seconds: u32,
}

/// What is spoken, and how it is chosen.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Versions.
    pub versions: Versions,
    /// Suites in the order of preference.
    pub suites: Suites,
    /// True if the server's preference counts, and not the client's.
    pub prefers_own: bool,
    /// Sessions that clients may resume; `None` if they may not.
    pub sessions: Option<Sessions>,
}

/// Certificate and key that are no pair.
#[derive(Debug, ThisError, PartialEq, Eq)]
pub enum MismatchError {
    /// The key is not that of the certificate.
    #[error("the key is not that of the certificate")]
    OtherKey,
    /// The key is of a kind that is not supported.
    #[error("the key is of a kind that is not supported: {0}")]
    Kind(String),
    /// The certificate cannot be read by the library.
    #[error("its certificate cannot be used: {0}")]
    Certificate(String),
}

/// Why there can be no rules.
#[derive(Debug, ThisError, PartialEq, Eq)]
pub enum RulesError {
    /// Certificate and key are no pair.
    #[error("{0}")]
    Mismatch(#[from] MismatchError),
    /// A certificate that cannot be trusted, as nothing can be derived from it.
    #[error("a certificate that is to be trusted cannot be used: {0}")]
    Root(String),
    /// Versions and suites that do not go together, and others that the library refuses.
    #[error("{0}")]
    Refused(String),
}

fn refused(error: &dyn std::fmt::Display) -> RulesError {
    RulesError::Refused(error.to_string())
}

/// Rules of a server.
#[derive(Clone, Debug)]
pub struct ServerRules {
    pub(crate) config: Arc<ServerConfig>,
}

impl ServerRules {
    /// Makes the rules of a server with this certificate, which asks clients for theirs, of which
    /// `roots` says which are good.
    ///
    /// # Errors
    /// See `RulesError`.
    pub fn new(
        identity: &Identity,
        (asks, roots): (Asks, &Roots),
        choices: &Choices,
    ) -> Result<ServerRules, RulesError> {
        let provider = provider(&choices.suites);
        let key = certified(identity, &provider)?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&choices.versions.versions)
            .map_err(|error| refused(&error))?;
        let builder = if asks == Asks::Never {
            builder.with_no_client_auth()
        } else {
            let store = Arc::new(store(roots)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(store, provider);
            let verifier = match asks {
                Asks::Optionally => verifier.allow_unauthenticated(),
                _ => verifier,
            };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| refused(&error))?)
        };
        let resolver = SingleCertAndKey::from(key);
        let mut config = builder.with_cert_resolver(Arc::new(resolver));
        config.ignore_client_order = choices.prefers_own;
        config.cert_compressors = Vec::new();
        config.cert_decompressors = Vec::new();
        match choices.sessions {
            Some(sessions) => {
                config.session_storage = Arc::new(Cache::new(sessions.most, sessions.seconds));
                config.ticketer = tickets(sessions.seconds).map_err(|error| refused(&error))?;
            }
            None => {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
        }
        Ok(ServerRules { config: Arc::new(config) })
    }
}

/// Rules of a client.
#[derive(Clone, Debug)]
pub struct ClientRules {
    pub(crate) config: Arc<ClientConfig>,
}

impl ClientRules {
    /// Makes the rules of a client that trusts servers whose certificates come from `roots`,
    /// whatever name they carry, and shows its own if it has one.
    ///
    /// # Errors
    /// See `RulesError`.
    pub fn new(
        identity: Option<&Identity>,
        roots: &Roots,
        choices: &Choices,
    ) -> Result<ClientRules, RulesError> {
        let provider = provider(&choices.suites);
        let verifier = WebPkiServerVerifier::builder_with_provider(
            Arc::new(store(roots)?),
            Arc::clone(&provider),
        );
        let verifier = AnyName { inner: verifier.build().map_err(|error| refused(&error))? };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&choices.versions.versions)
            .map_err(|error| refused(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let key = certified(identity, &provider)?;
                let resolver = SingleCertAndKey::from(key);
                builder.with_client_cert_resolver(Arc::new(resolver))
            }
        };
        if choices.sessions.is_none() {
            config.resumption = Resumption::disabled();
        }
        config.cert_compressors = Vec::new();
        config.cert_decompressors = Vec::new();
        Ok(ClientRules { config: Arc::new(config) })
    }
}

fn provider(suites: &Suites) -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: suites.suites.clone(),
        ..aws_lc_rs::default_provider()
    })
}

fn certified(
    identity: &Identity,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, MismatchError> {
    let key = provider.key_provider.load_private_key(identity.key.clone_key());
    let key = key.map_err(|error| MismatchError::Kind(error.to_string()))?;
    let certified = CertifiedKey::new(identity.chain.clone(), key);
    match certified.keys_match() {
        // Of some keys the library cannot tell; they show themselves at the first handshake.
        Ok(()) | Err(Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => Ok(certified),
        Err(Error::InconsistentKeys(_)) => Err(MismatchError::OtherKey),
        Err(error) => Err(MismatchError::Certificate(error.to_string())),
    }
}

pub(crate) fn store(roots: &Roots) -> Result<RootCertStore, RulesError> {
    let mut store = RootCertStore::empty();
    for certificate in &roots.certificates {
        let added = store.add(certificate.clone());
        added.map_err(|error| RulesError::Root(error.to_string()))?;
    }
    Ok(store)
}

/// Judges servers by the CA of their certificates, and not by the name: replicas and masters are
/// known by addresses.
#[derive(Debug)]
struct AnyName {
    inner: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.inner.verify_server_cert(certificate, others, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
