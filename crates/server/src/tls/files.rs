//! Files of certificates and keys that the settings name.
//!
//! They are read whole first, so that what is judged is what is told apart from what was in force.

use settings::Settings;
use settings::tls::{
    TLS_CA_CERT_DIR, TLS_CA_CERT_FILE, TLS_CERT_FILE, TLS_CLIENT_CERT_FILE, TLS_CLIENT_KEY_FILE,
    TLS_KEY_FILE,
};
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tls::{Identity, PemError, Roots};

/// Most bytes of a file: the certificates of all the world's public CAs take a fortieth.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// Most files of a folder, and most bytes of them together.
const FOLDER_FILES_MAX: usize = 10_000;
const FOLDER_BYTES_MAX: usize = 64 << 20;

/// A file, and the setting that names it or its folder.
#[derive(Debug, Hash)]
pub struct Contents {
    setting: &'static str,
    path: String,
    bytes: Vec<u8>,
}

/// The files that the settings name.
#[derive(Debug, Hash)]
pub struct Files {
    certificate: Contents,
    key: Contents,
    /// Certificate and key for other servers, if they are others.
    client: Option<(Contents, Contents)>,
    roots: Option<Contents>,
    /// Files of the folder of CA certificates, in the order of their names.
    folder: Option<Vec<Contents>>,
}

impl Contents {
    fn read(setting: &'static str, path: &str) -> Result<Contents, String> {
        if path.is_empty() {
            return Err(format!("`{setting}` names no file"));
        }
        let bytes = read_file(Path::new(path), FILE_BYTES_MAX)
            .map_err(|error| format!("`{setting}`: {path}: {error}"))?;
        Ok(Contents { setting, path: path.to_owned(), bytes })
    }

    /// Returns a complaint about the file.
    fn wrong(&self, what: &dyn std::fmt::Display) -> String {
        format!("`{}`: {}: {what}", self.setting, self.path)
    }

    fn certificates(&self) -> Result<Roots, String> {
        Roots::read(&self.bytes).map_err(|error| self.wrong(&error))
    }
}

impl Files {
    /// Reads all of them.
    ///
    /// # Errors
    /// The first that cannot be read, with its setting.
    pub fn read(settings: &Settings) -> Result<Files, String> {
        let certificate = Contents::read(TLS_CERT_FILE.name(), &TLS_CERT_FILE.get(settings))?;
        let key = Contents::read(TLS_KEY_FILE.name(), &TLS_KEY_FILE.get(settings))?;
        let client_certificate = TLS_CLIENT_CERT_FILE.get(settings);
        let client_key = TLS_CLIENT_KEY_FILE.get(settings);
        let client = if client_certificate.is_empty() || client_key.is_empty() {
            None
        } else {
            let certificate = Contents::read(TLS_CLIENT_CERT_FILE.name(), &client_certificate)?;
            Some((certificate, Contents::read(TLS_CLIENT_KEY_FILE.name(), &client_key)?))
        };
        let (file, folder) = (TLS_CA_CERT_FILE.get(settings), TLS_CA_CERT_DIR.get(settings));
        let roots = Some(file).filter(|it| !it.is_empty());
        let roots = roots.map(|it| Contents::read(TLS_CA_CERT_FILE.name(), &it)).transpose()?;
        let folder = Some(folder).filter(|it| !it.is_empty());
        let folder = folder.map(|it| read_folder(&it)).transpose()?;
        Ok(Files { certificate, key, client, roots, folder })
    }

    /// Returns a number by which they are told from others.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns who the server is, whose key has this pass phrase.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn identity(&self, pass: &[u8]) -> Result<Identity, String> {
        identity(&self.certificate, &self.key, pass)
    }

    /// Returns who the server is for others, if that is somebody else.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn client_identity(&self, pass: &[u8]) -> Option<Result<Identity, String>> {
        self.client.as_ref().map(|(certificate, key)| identity(certificate, key, pass))
    }

    /// Returns the certificates of the CA, from the file and the folder, and complaints about
    /// files of the folder that are passed over.
    ///
    /// # Errors
    /// What is wrong with which file, or that the folder has none.
    pub fn roots(&self) -> Result<(Roots, Vec<String>), String> {
        let (mut roots, mut passed_over) = (Roots::default(), Vec::new());
        if let Some(file) = &self.roots {
            roots.add(file.certificates()?);
        }
        let Some(folder) = &self.folder else { return Ok((roots, passed_over)) };
        let mut is_empty = true;
        for file in folder {
            match Roots::read(&file.bytes) {
                Ok(more) => {
                    is_empty = false;
                    roots.add(more);
                }
                Err(PemError::None) => passed_over.push(file.wrong(&"passed over: no certificate")),
                Err(error) => passed_over.push(file.wrong(&format_args!("passed over: {error}"))),
            }
        }
        if is_empty {
            let setting = TLS_CA_CERT_DIR.name();
            return Err(format!("`{setting}`: no file of the folder has a certificate"));
        }
        Ok((roots, passed_over))
    }

    /// Returns a complaint about the key, which goes with the certificate.
    pub fn wrong_pair(&self, what: &dyn std::fmt::Display) -> String {
        format!(
            "{} (`{}`: {})",
            self.key.wrong(what),
            self.certificate.setting,
            self.certificate.path
        )
    }
}

fn identity(certificate: &Contents, key: &Contents, pass: &[u8]) -> Result<Identity, String> {
    let chain = certificate.certificates()?;
    Identity::of_key(chain, &key.bytes, pass).map_err(|error| key.wrong(&error))
}

/// Reads a file, which must be a plain one: nobody waits for what others write into a pipe.
fn read_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let no_wait = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(no_wait).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("larger than {} MiB", bytes_max >> 20)));
    }
    Ok(bytes)
}

/// Reads all plain files of the folder of CA certificates.
fn read_folder(path: &str) -> Result<Vec<Contents>, String> {
    let setting = TLS_CA_CERT_DIR.name();
    let wrong = |error: &dyn std::fmt::Display| format!("`{setting}`: {path}: {error}");
    let mut files = Vec::new();
    let mut bytes = 0;
    for entry in fs::read_dir(path).map_err(|error| wrong(&error))? {
        let entry = entry.map_err(|error| wrong(&error))?;
        // It may be a link to one, as those that OpenSSL looks for are.
        if !fs::metadata(entry.path()).is_ok_and(|it| it.is_file()) {
            continue;
        }
        let name = entry.path().display().to_string();
        let file = Contents::read(setting, &name)?;
        bytes += file.bytes.len();
        files.push(file);
        if files.len() > FOLDER_FILES_MAX || bytes > FOLDER_BYTES_MAX {
            let most = format!("more than {FOLDER_FILES_MAX} files or {FOLDER_BYTES_MAX} bytes");
            return Err(wrong(&most));
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}
