//! Which certificates and keys are taken, who they are, and which are refused, with the reason.

use super::world::{Ca, choices, client, establish, server_rules};
use crate::{
    Asks, ClientRules, HandshakeError, Identity, KeyError, MismatchError, PemError, Roots,
    RulesError, ServerRules, common_name, earliest, facts, uris,
};
use pkcs8::pkcs5::pbes2::{Parameters, Pbkdf2Params, ScryptParams};
use rcgen::KeyPair;

fn roots(pem: &str) -> Roots {
    Roots::read(pem.as_bytes()).expect("a certificate")
}

#[test]
fn a_client_is_asked_for_its_certificate_as_the_rules_say() {
    let (ca, other) = (Ca::new("ca"), Ca::new("other"));
    let (ann, eve) = (ca.person("ann", &[]).identity(), other.person("eve", &[]).identity());
    for versions in ["TLSv1.2", "TLSv1.3"] {
        let connect = |asks: Asks, who: Option<&Identity>| {
            let rules = ClientRules::new(who, &ca.roots(), &choices(versions)).expect("rules");
            let channel = establish(&server_rules(&ca, asks), &mut client(&rules), 1000)?;
            Ok::<_, HandshakeError>(channel.peer_certificate().and_then(common_name))
        };
        assert_eq!(connect(Asks::Never, None), Ok(None));
        assert_eq!(connect(Asks::Never, Some(&ann)), Ok(None));
        assert_eq!(connect(Asks::Optionally, None), Ok(None));
        assert_eq!(connect(Asks::Optionally, Some(&ann)), Ok(Some(b"ann".to_vec())));
        assert!(connect(Asks::Optionally, Some(&eve)).is_err(), "{versions}");
        assert!(connect(Asks::Always, None).is_err(), "{versions}");
        assert!(connect(Asks::Always, Some(&eve)).is_err(), "{versions}");
        assert_eq!(connect(Asks::Always, Some(&ann)), Ok(Some(b"ann".to_vec())));
    }
}

#[test]
fn a_client_trusts_who_comes_from_its_ca_whatever_the_name() {
    let (ca, other) = (Ca::new("ca"), Ca::new("other"));
    let rules = ClientRules::new(None, &other.roots(), &choices("")).expect("rules");
    assert!(establish(&server_rules(&ca, Asks::Never), &mut client(&rules), 1000).is_err());
    let person = ca.person_with(&KeyPair::generate().expect("randomness"), "elsewhere", &[]);
    let server = ServerRules::new(&person.identity(), (Asks::Never, &ca.roots()), &choices(""));
    let rules = ClientRules::new(None, &ca.roots(), &choices("")).expect("rules");
    let name = rustls_pki_types::ServerName::try_from("not.there").expect("a name");
    let connection = rustls::ClientConnection::new(rules.config.clone(), name).expect("a client");
    establish(&server.expect("rules"), &mut connection.into(), 1000).expect("any name will do");
}

#[test]
fn names_are_bytes_and_uris_come_in_order() {
    let ca = Ca::new("ca");
    let person = ca.person("ann\0root", &["urn:x:one", "urn:x:two"]);
    let roots = roots(&person.certificate);
    let certificate = roots.iter().next().expect("one");
    assert_eq!(common_name(certificate), Some(b"ann\0root".to_vec()));
    assert_eq!(uris(certificate), [b"urn:x:one".to_vec(), b"urn:x:two".to_vec()]);
    let nobody = Roots::read(ca.person("", &[]).certificate.as_bytes()).expect("a certificate");
    let certificate = nobody.iter().next().expect("one");
    assert_eq!((common_name(certificate), uris(certificate)), (None, vec![]));
    for broken in [&b""[..], b"x", &certificate[..certificate.len() / 2]] {
        assert_eq!((common_name(broken), uris(broken), facts(broken)), (None, vec![], None));
    }
}

#[test]
fn a_name_of_a_megabyte_is_read() {
    let ca = Ca::new("ca");
    let name = "n".repeat(1 << 20);
    let roots = roots(&ca.person(&name, &[]).certificate);
    let read = common_name(roots.iter().next().expect("one"));
    assert!(read == Some(name.into_bytes()));
}

#[test]
fn files_may_hold_several_certificates_and_what_is_none_between_them() {
    let (one, two) = (Ca::new("one"), Ca::new("two"));
    let text =
        format!("subject=one\n{}\n\nbut not\r\n{}more", one.pem, two.pem.replace('\n', "\r\n"));
    let both = Roots::read(text.as_bytes()).expect("two");
    assert_eq!(both.iter().count(), 2);
    let first = earliest(both.iter()).expect("one of them");
    assert!(both.iter().filter_map(facts).all(|it| it.expires >= first.expires));
    assert_eq!(Roots::read(b"").map(drop), Err(PemError::None));
    assert_eq!(Roots::read(b"nothing\n").map(drop), Err(PemError::None));
    let key = KeyPair::generate().expect("randomness").serialize_pem();
    assert_eq!(Roots::read(key.as_bytes()).map(drop), Err(PemError::None));
    let half = &one.pem[..one.pem.len() / 2];
    assert!(matches!(Roots::read(half.as_bytes()), Err(PemError::Broken(_))));
    let no_certificate = key.replace("PRIVATE KEY", "CERTIFICATE");
    let refused = Roots::read(format!("{}{no_certificate}", one.pem).as_bytes());
    assert_eq!(refused.map(drop), Err(PemError::NotX509(2)));
}

fn read_key(pem: &str, pass: &[u8]) -> Result<(), KeyError> {
    let chain = roots(&Ca::new("ca").person("x", &[]).certificate);
    Identity::of_key(chain, pem.as_bytes(), pass).map(drop)
}

fn encrypted(parameters: Parameters) -> (String, String) {
    let key = KeyPair::generate().expect("randomness");
    let plain = key.serialize_der();
    let info = pkcs8::PrivateKeyInfoRef::try_from(plain.as_slice()).expect("PKCS#8");
    let document = info.encrypt_with_params(parameters, b"secret").expect("parameters");
    let pem = document.to_pem("ENCRYPTED PRIVATE KEY", pkcs8::LineEnding::LF).expect("a label");
    (key.serialize_pem(), pem.to_string())
}

#[test]
fn an_encrypted_key_is_read_with_its_pass_phrase_and_with_no_other() {
    let parameters = Parameters::generate_pbkdf2_sha256_aes256cbc(2048, b"saltsalt", [7; 16]);
    let (_, pem) = encrypted(parameters.expect("parameters"));
    assert_eq!(read_key(&pem, b"secret"), Ok(()));
    assert_eq!(read_key(&pem, b"other"), Err(KeyError::WrongPass));
    assert_eq!(read_key(&pem, b""), Err(KeyError::NeedsPass));
    assert_eq!(read_key(&format!("a line before\n{pem}\nand behind"), b"secret"), Ok(()));
    let half = &pem[..pem.len() / 2];
    assert!(matches!(read_key(half, b"secret"), Err(KeyError::Broken(_))));
}

#[test]
fn a_pass_phrase_that_costs_too_much_is_not_tried() {
    let rounds = Pbkdf2Params::hmac_sha256(20_000_000, b"saltsalt").expect("parameters");
    let memory = scrypt_parameters(20, 1024);
    for kdf in [pkcs8::pkcs5::pbes2::Kdf::from(rounds), memory.into()] {
        let parameters = Parameters { kdf, ..cheap() };
        let pem = pem_of(&parameters);
        assert_eq!(read_key(&pem, b"secret"), Err(KeyError::TooCostly));
    }
}

fn cheap() -> Parameters {
    let parameters = Parameters::generate_pbkdf2_sha256_aes256cbc(2048, b"saltsalt", [7; 16]);
    parameters.expect("parameters")
}

fn scrypt_parameters(log_n: u8, block: u32) -> ScryptParams {
    let parameters = pkcs8::pkcs5::scrypt::Params::new(log_n, block, 1).expect("parameters");
    ScryptParams::from_params_and_salt(parameters, b"saltsalt").expect("a salt")
}

/// A file that says that it was encrypted so, with anything in it.
fn pem_of(parameters: &Parameters) -> String {
    use pkcs8::der::Encode;
    let info = pkcs8::EncryptedPrivateKeyInfoRef {
        encryption_algorithm: parameters.clone().into(),
        encrypted_data: pkcs8::der::asn1::OctetStringRef::new(&[0; 64]).expect("bytes"),
    };
    let der = info.to_der().expect("DER");
    let document = pkcs8::SecretDocument::try_from(der).expect("DER");
    let pem = document.to_pem("ENCRYPTED PRIVATE KEY", pkcs8::LineEnding::LF).expect("a label");
    pem.to_string()
}

#[test]
fn a_key_that_is_none_is_refused_with_the_reason() {
    assert_eq!(read_key("", b""), Err(KeyError::None));
    assert_eq!(read_key(&Ca::new("ca").pem, b""), Err(KeyError::None));
    let old =
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-CBC,00\n\nAA==\n";
    assert_eq!(read_key(old, b"secret"), Err(KeyError::OldForm));
    let plain = KeyPair::generate().expect("randomness").serialize_pem();
    assert!(matches!(read_key(&plain[..60], b""), Err(KeyError::Broken(_))));
}

#[test]
fn a_key_under_the_label_of_another_form_is_read_as_what_it_is() {
    let (ca, key) = (Ca::new("ca"), KeyPair::generate().expect("randomness"));
    let person = ca.person_with(&key, "ann", &[]);
    for label in ["RSA PRIVATE KEY", "EC PRIVATE KEY"] {
        let pem = key.serialize_pem().replace("PRIVATE KEY", label);
        let identity = Identity::of_key(roots(&person.certificate), pem.as_bytes(), b"");
        let identity = identity.expect("a key");
        let rules = ServerRules::new(&identity, (Asks::Never, &ca.roots()), &choices(""));
        assert!(rules.is_ok(), "{label}");
    }
}

#[test]
fn a_key_that_is_not_that_of_the_certificate_is_refused() {
    let ca = Ca::new("ca");
    let (ann, ben) = (ca.person("ann", &[]), ca.person("ben", &[]));
    let mixed = Identity::of_key(roots(&ann.certificate), ben.key.as_bytes(), b"").expect("a key");
    let refused = ServerRules::new(&mixed, (Asks::Never, &ca.roots()), &choices(""));
    assert_eq!(refused.map(drop), Err(RulesError::Mismatch(MismatchError::OtherKey)));
}
