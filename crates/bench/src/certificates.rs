//! A certificate for servers that are measured, and the rules of clients that trust it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize};
use tempfile::{Builder, TempDir};
use tls::{Choices, ClientRules, Roots, Suites, Versions};

/// Suite with which all are measured.
const SUITE: &str = "TLS_AES_128_GCM_SHA256";

/// Certificate and key of a server, in a folder that goes with this.
pub struct Certificates {
    folder: TempDir,
    /// The same folder for peers, which have a root of their own.
    _of_peers: Option<TempDir>,
    roots: Roots,
}

impl Certificates {
    /// Makes a certificate that is its own CA, with a key of this kind: `ecdsa` or `rsa`.
    ///
    /// # Errors
    /// If there is no such kind, or files cannot be written.
    pub fn make(kind: &str) -> Result<Self> {
        let key = match kind {
            "ecdsa" => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?,
            "rsa" => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?,
            _ => bail!("no key is of the kind {kind:?}: ecdsa or rsa"),
        };
        let certificate =
            CertificateParams::new(vec!["localhost".to_owned()])?.self_signed(&key)?;
        let folder = Builder::new().prefix("varve-bench-tls-").tempdir_in("/tmp")?;
        let of_peers = folder_of_peers(&folder)?;
        for folder in [&folder].into_iter().chain(&of_peers) {
            // Peers may run as somebody else.
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
            fs::write(folder.path().join("server.crt"), certificate.pem())?;
            fs::write(folder.path().join("server.key"), key.serialize_pem())?;
        }
        let roots = Roots::read(certificate.pem().as_bytes()).context("the certificate")?;
        Ok(Self { folder, _of_peers: of_peers, roots })
    }

    /// Returns the options of a server with it, at this port.
    pub fn options(&self, port: u16) -> Vec<String> {
        let file = |name: &str| -> PathBuf { self.folder.path().join(name) };
        let options = [
            ("tls-port", port.to_string()),
            ("tls-cert-file", file("server.crt").display().to_string()),
            ("tls-key-file", file("server.key").display().to_string()),
            ("tls-auth-clients", "no".to_owned()),
            ("tls-ciphersuites", SUITE.to_owned()),
        ];
        options.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]).collect()
    }

    /// Returns the rules of clients; those that take up sessions have some in common.
    ///
    /// # Errors
    /// If they are refused.
    pub fn rules(&self, resumes: bool) -> Result<ClientRules> {
        let sessions = resumes.then_some(tls::Sessions { most: 1000, seconds: 300 });
        let choices = Choices {
            versions: Versions::read("TLSv1.3")?.0,
            suites: Suites::read("", SUITE)?.0,
            prefers_own: false,
            sessions,
        };
        Ok(ClientRules::new(None, &self.roots, &choices)?)
    }
}

/// Makes the folder of the same name that peers see, if they are in a root of their own: that of
/// `PEERS_DIR`, as the script has it that runs them.
fn folder_of_peers(folder: &TempDir) -> Result<Option<TempDir>> {
    let peers = env::var_os("PEERS_DIR").map_or_else(|| "/opt/peers".into(), PathBuf::from);
    let parent = peers.join("root/tmp");
    if !parent.is_dir() {
        return Ok(None);
    }
    let name = folder.path().file_name().unwrap_or(Path::new("tls").as_os_str());
    Ok(Some(Builder::new().prefix(name).rand_bytes(0).tempdir_in(parent)?))
}
