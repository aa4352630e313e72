//! The server's certificate: the user's own, or one created at the first start; and the CA that signs
//! certificates of clients.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::certificate::CertificateDates;
use crate::config::TlsConfig;
use crate::credentials::{write_private, write_whole};

/// Why TLS cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {path}: {reason}")]
    Unreadable { path: PathBuf, reason: String },
    #[error("cannot write {path}: {source}")]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("cannot make a certificate: {0}")]
    NotMade(#[from] rcgen::Error),
    #[error("certificate and key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

/// What TLS needs, and the dates of the server's certificate.
pub type ServerTls = (Arc<rustls::ServerConfig>, CertificateDates);

/// The configuration of TLS 1.2 and 1.3; `None` if TLS is off. `client_ca`: a client is asked for a certificate, which
/// it need not have; one that these authorities have not signed ends the handshake.
pub fn server_config(
    tls: &TlsConfig,
    client_ca: Option<&Path>,
    data_directory: Option<&Path>,
) -> Result<Option<ServerTls>, TlsError> {
    let (chain, key) = match (tls, data_directory) {
        (TlsConfig::Off, _) => return Ok(None),
        (TlsConfig::Files { certificate, key }, _) => read(certificate, key)?,
        (TlsConfig::SelfMade, None) => {
            let made = make()?;
            (vec![made.cert.der().clone()], key_der(&made))
        }
        (TlsConfig::SelfMade, Some(directory)) => read_or_make(directory)?,
    };
    let dates = chain.first().and_then(|first| CertificateDates::of(first));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = match client_ca {
        None => rustls::server::WebPkiClientVerifier::no_client_auth(),
        Some(path) => client_verifier(path, &provider)?,
    };
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    Ok(Some((Arc::new(config), dates.unwrap_or_default())))
}

fn client_verifier(
    path: &Path,
    provider: &Arc<rustls::crypto::CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let mut authorities = rustls::RootCertStore::empty();
    for authority in certificates(path)? {
        authorities.add(authority)?;
    }
    rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(provider))
        .allow_unauthenticated()
        .build()
        .map_err(|error| unreadable(path, &error))
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read(certificate: &Path, key: &Path) -> Result<Identity, TlsError> {
    let chain = certificates(certificate)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| no_pem(key, error))?;
    Ok((chain, key))
}

fn unreadable(path: &Path, reason: &dyn std::fmt::Display) -> TlsError {
    TlsError::Unreadable {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

/// The library's errors show the bytes, which may be those of a private key.
fn no_pem(path: &Path, error: pem::Error) -> TlsError {
    match error {
        pem::Error::MissingSectionEnd { .. } => {
            unreadable(path, &"a section does not end: it is cut off or damaged")
        }
        pem::Error::IllegalSectionStart { .. } => unreadable(path, &"the first line of a section is damaged"),
        other => unreadable(path, &other),
    }
}

/// The certificates of a PEM file, of which there is one at least.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(|error| no_pem(path, error))?;
    match found.is_empty() {
        true => Err(unreadable(path, &"there is no certificate in it")),
        false => Ok(found),
    }
}

fn read_or_make(directory: &Path) -> Result<Identity, TlsError> {
    let (certificate, key) = (
        directory.join("server-cert.pem"),
        directory.join("server-key.pem"),
    );
    if !certificate.exists() || !key.exists() {
        let made = make()?;
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |source| TlsError::Unwritable { path, source }
        };
        // If the process stops before it writes the new certificate, no certificate of an older
        // key must be there.
        match fs::remove_file(&certificate) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(unwritable(&certificate)(error));
            }
            _ => {}
        }
        write_private(&key, made.signing_key.serialize_pem().as_bytes()).map_err(unwritable(&key))?;
        write_whole(&certificate, made.cert.pem().as_bytes(), 0o644).map_err(unwritable(&certificate))?;
        tracing::info!("made a self-signed certificate: {}", certificate.display());
    }
    read(&certificate, &key)
}

fn make() -> Result<rcgen::CertifiedKey<rcgen::KeyPair>, rcgen::Error> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut params = rcgen::CertificateParams::new(names)?;
    params.distinguished_name.push(
        rcgen::DnType::CommonName,
        "StemDB_Server_Auto_Generated_Server_Certificate",
    );
    let signing_key = rcgen::KeyPair::generate()?;
    let cert = params.self_signed(&signing_key)?;
    Ok(rcgen::CertifiedKey { cert, signing_key })
}

fn key_der(made: &rcgen::CertifiedKey<rcgen::KeyPair>) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_certificate_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert!(
            server_config(&TlsConfig::SelfMade, None, Some(path))
                .unwrap()
                .is_some()
        );
        let first = fs::read(path.join("server-cert.pem")).unwrap();
        assert!(
            server_config(&TlsConfig::SelfMade, None, Some(path))
                .unwrap()
                .is_some()
        );
        assert_eq!(fs::read(path.join("server-cert.pem")).unwrap(), first);
        let mode = fs::metadata(path.join("server-key.pem"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn files_that_are_missing_or_wrong_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let certificate = directory.path().join("cert.pem");
        fs::write(&certificate, "nothing").unwrap();
        let tls = TlsConfig::Files {
            certificate: certificate.clone(),
            key: directory.path().join("key.pem"),
        };
        let error = server_config(&tls, None, None).unwrap_err().to_string();
        assert!(error.contains("cert.pem"), "{error}");
        assert!(server_config(&TlsConfig::Off, None, None).unwrap().is_none());
        assert!(server_config(&TlsConfig::SelfMade, None, None).unwrap().is_some());
        let error = server_config(&TlsConfig::SelfMade, Some(&certificate), None).unwrap_err();
        assert!(error.to_string().contains("cert.pem"), "{error}");
    }

    #[test]
    fn errors_show_nothing_of_a_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        server_config(&TlsConfig::SelfMade, None, Some(path)).unwrap();
        let key = path.join("server-key.pem");
        let pem = fs::read_to_string(&key).unwrap();
        for damaged in [pem.replacen('\n', "\x0b", 1), pem.replace("-----END", "-----AND")] {
            fs::write(&key, damaged).unwrap();
            let error = server_config(&TlsConfig::SelfMade, None, Some(path)).unwrap_err();
            let shown = error.to_string().replace(&path.display().to_string(), "");
            assert!(
                shown.contains("server-key.pem") && shown.contains("section"),
                "{shown}"
            );
            assert!(!shown.contains(|c: char| c.is_ascii_digit()), "{shown}");
        }
        // What a run has left that ended before the certificate was written.
        fs::remove_file(path.join("server-cert.pem")).unwrap();
        assert!(
            server_config(&TlsConfig::SelfMade, None, Some(path))
                .unwrap()
                .is_some()
        );
    }
}
