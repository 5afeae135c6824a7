//! Certificates and keys from the contents of PEM files.

use pkcs8::pkcs5::pbes2::Kdf;
use pkcs8::{EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef, SecretDocument};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fmt;
use thiserror::Error;

/// Most memory that a pass phrase may take to be turned into a key.
const SCRYPT_BYTES_MAX: u64 = 256 << 20;
/// Most rounds in which a pass phrase may be turned into a key; OpenSSL writes 2,048.
const ROUNDS_MAX: u32 = 1_000_000;

/// Certificate chain and private key of a server or a client.
pub struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("chain", &self.chain.len()).finish_non_exhaustive()
    }
}

/// Certificates that are trusted.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    pub(crate) certificates: Vec<CertificateDer<'static>>,
}

/// What is wrong with a file of certificates.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PemError {
    /// It has none.
    #[error("no certificate in it (`-----BEGIN CERTIFICATE-----`)")]
    None,
    /// It breaks off or is no base64.
    #[error("bad PEM: {0}")]
    Broken(String),
    /// A certificate that is none.
    #[error("certificate {0} of it is not X.509")]
    NotX509(usize),
}

/// What is wrong with the file of a private key.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// It has none.
    #[error("no private key in it (`-----BEGIN PRIVATE KEY-----`)")]
    None,
    /// It breaks off or is no base64.
    #[error("bad PEM: {0}")]
    Broken(String),
    /// It is encrypted, and there is no pass phrase.
    #[error("it is encrypted, and there is no pass phrase")]
    NeedsPass,
    /// The pass phrase does not fit.
    #[error("the pass phrase does not fit")]
    WrongPass,
    /// It is encrypted in a way that is not supported.
    #[error("it is encrypted in a way that is not supported: {0}")]
    Cipher(String),
    /// It is encrypted as before PKCS#8.
    #[error(
        "it is encrypted in the old form (`Proc-Type: 4,ENCRYPTED`): convert it with `openssl \
         pkcs8 -topk8 -v2 aes256 -in OLD -out NEW`"
    )]
    OldForm,
    /// It would take too much memory or time to try the pass phrase.
    #[error("its pass phrase takes too much memory or time to be tried")]
    TooCostly,
}

impl Identity {
    /// Reads the chain, the own certificate first, and the key, which `pass` decrypts where it is
    /// encrypted.
    ///
    /// # Errors
    /// What is wrong with the one, or with the other.
    pub fn of_key(chain: Roots, key: &[u8], pass: &[u8]) -> Result<Identity, KeyError> {
        Ok(Identity { chain: chain.certificates, key: private_key(key, pass)? })
    }

    /// Returns the own certificate.
    pub fn certificate(&self) -> &[u8] {
        self.chain.first().map_or(&[], |it| it)
    }
}

impl Roots {
    /// Reads all certificates of a file. Other contents are passed over.
    ///
    /// # Errors
    /// When it has none, or one that is broken.
    pub fn read(pem: &[u8]) -> Result<Roots, PemError> {
        let read: Result<Vec<CertificateDer<'static>>, _> =
            CertificateDer::pem_slice_iter(pem).collect();
        let certificates = read.map_err(|error| PemError::Broken(error.to_string()))?;
        if certificates.is_empty() {
            return Err(PemError::None);
        }
        let is_broken = |it: &CertificateDer<'_>| crate::facts(it).is_none();
        match certificates.iter().position(is_broken) {
            Some(at) => Err(PemError::NotX509(at + 1)),
            None => Ok(Roots { certificates }),
        }
    }

    /// Adds those of another file.
    pub fn add(&mut self, other: Roots) {
        self.certificates.extend(other.certificates);
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }

    /// Returns the certificates.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.certificates.iter().map(|it| &**it)
    }
}

fn private_key(pem: &[u8], pass: &[u8]) -> Result<PrivateKeyDer<'static>, KeyError> {
    const BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
    const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";
    let text = String::from_utf8_lossy(pem);
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(KeyError::OldForm);
    }
    if let Some(begin) = text.find(BEGIN) {
        let end = text[begin..].find(END).map(|end| begin + end + END.len());
        let end = end.ok_or_else(|| KeyError::Broken("it has no end".to_owned()))?;
        return decrypt(&text[begin..end], pass);
    }
    let labelled = PrivateKeyDer::from_pem_slice(pem).map_err(|error| match error {
        rustls_pki_types::pem::Error::NoItemsFound => KeyError::None,
        error => KeyError::Broken(error.to_string()),
    })?;
    Ok(as_it_is(labelled))
}

/// Returns a key in the form that it has. A file may say `RSA PRIVATE KEY` above a key of PKCS#8,
/// which OpenSSL reads.
fn as_it_is(labelled: PrivateKeyDer<'static>) -> PrivateKeyDer<'static> {
    match PrivateKeyInfoRef::try_from(labelled.secret_der()) {
        Ok(_) => PrivatePkcs8KeyDer::from(labelled.secret_der().to_vec()).into(),
        Err(_) => labelled,
    }
}

fn decrypt(pem: &str, pass: &[u8]) -> Result<PrivateKeyDer<'static>, KeyError> {
    let broken = |error: &dyn fmt::Display| KeyError::Broken(error.to_string());
    let (_, document) = SecretDocument::from_pem(pem).map_err(|error| broken(&error))?;
    let info = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes());
    let info = info.map_err(|error| broken(&error))?;
    let parameters = info.encryption_algorithm.pbes2();
    let parameters = parameters.ok_or_else(|| KeyError::Cipher("not PBES2".to_owned()))?;
    if is_too_costly(&parameters.kdf) {
        return Err(KeyError::TooCostly);
    }
    if pass.is_empty() {
        return Err(KeyError::NeedsPass);
    }
    let decrypted = info.decrypt(pass).map_err(|error| match error {
        pkcs8::Error::EncryptedPrivateKey(pkcs8::pkcs5::Error::DecryptFailed) => {
            KeyError::WrongPass
        }
        pkcs8::Error::EncryptedPrivateKey(error) => KeyError::Cipher(error.to_string()),
        _ => KeyError::WrongPass,
    })?;
    Ok(PrivatePkcs8KeyDer::from(decrypted.as_bytes().to_vec()).into())
}

/// Returns true if a file asks for more memory or time than a server should spend on it.
fn is_too_costly(kdf: &Kdf) -> bool {
    if let Some(scrypt) = kdf.scrypt() {
        let block = 128 * u64::from(scrypt.block_size);
        let cost = scrypt.cost_parameter;
        let lanes = u64::from(scrypt.parallelization);
        return cost.saturating_mul(block).saturating_mul(lanes) > SCRYPT_BYTES_MAX;
    }
    kdf.pbkdf2().is_some_and(|pbkdf2| pbkdf2.iteration_count > ROUNDS_MAX)
}
