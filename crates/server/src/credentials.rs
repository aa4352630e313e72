//! The server's own data for logins: digests of users that have logged in with `caching_sha2_password`, and the RSA
//! key.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parking_lot::RwLock;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPrivateKey};
use types::{Error, Result};
use wire::auth::Nonce;
use wire::auth::caching_sha2::{CachedDigest, unmask_password};

use crate::accounts::Account;

/// Digests for the fast path, in memory only.
#[derive(Default)]
pub struct DigestCache {
    /// By user and host. The stored form shows whether the digest still belongs to the account's current
    /// password.
    digests: RwLock<HashMap<(String, String), (String, CachedDigest)>>,
}

impl DigestCache {
    /// Whether the scramble proves the account's current password; `None` if only the password itself can
    /// show that.
    pub fn verify(&self, account: &Account, scramble: &[u8], nonce: &Nonce) -> Option<bool> {
        let digests = self.digests.read();
        let (stored, digest) = digests.get(&(account.user.clone(), account.host.clone()))?;
        (*stored == account.auth_string).then(|| digest.verify(scramble, nonce))
    }

    /// Caches the digest of a password that has been verified.
    pub fn insert(&self, account: &Account, password: &[u8]) {
        let key = (account.user.clone(), account.host.clone());
        self.digests
            .write()
            .insert(key, (account.auth_string.clone(), CachedDigest::of(password)));
    }

    /// Removes all digests: FLUSH PRIVILEGES.
    pub fn clear(&self) {
        self.digests.write().clear();
    }
}

/// The key that encrypts passwords on connections without TLS. It is created on first use, which takes a
/// moment, so the server calls [`RsaKey::get`] in the background when it starts.
pub struct RsaKey {
    directory: Option<PathBuf>,
    key: OnceLock<std::result::Result<Loaded, String>>,
}

struct Loaded {
    private: RsaPrivateKey,
    public_pem: String,
}

const KEY_BITS: usize = 2048;

impl RsaKey {
    /// `directory` holds `private_key.pem` and `public_key.pem`, or will hold them.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            key: OnceLock::new(),
        }
    }

    fn get(&self) -> Result<&Loaded> {
        let loaded = self.key.get_or_init(|| {
            let loaded = match &self.directory {
                Some(directory) => load_or_make(directory),
                None => generate(),
            };
            loaded.inspect_err(|error| tracing::error!("no RSA key for passwords: {error}"))
        });
        loaded
            .as_ref()
            .map_err(|error| Error::internal(format_args!("no RSA key: {error}")))
    }

    /// Loads or creates the key now.
    pub fn prepare(&self) {
        // A failure is stored and reported to each login that needs the key.
        let _ = self.get();
    }

    /// The key that clients may request.
    pub fn public_pem(&self) -> Result<&str> {
        self.get().map(|key| key.public_pem.as_str())
    }

    /// The password that a client has encrypted; `None` if the data are not that.
    pub fn decrypt_password(&self, encrypted: &[u8], nonce: &Nonce) -> Result<Option<Vec<u8>>> {
        let key = self.get()?;
        // With blinding, so that the time it takes reveals nothing about the key.
        let decrypted = key
            .private
            .decrypt_blinded(&mut OsRng, Oaep::new::<sha1::Sha1>(), encrypted);
        let Ok(mut password) = decrypted else {
            return Ok(None);
        };
        Ok(unmask_password(&mut password, nonce).then_some(password))
    }
}

fn load_or_make(directory: &Path) -> std::result::Result<Loaded, String> {
    let path = directory.join("private_key.pem");
    match fs::read_to_string(&path) {
        Ok(pem) => {
            let private = RsaPrivateKey::from_pkcs8_pem(&pem)
                .or_else(|_| RsaPrivateKey::from_pkcs1_pem(&pem))
                .map_err(|error| format!("{}: {error}", path.display()))?;
            with_public(private)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let loaded = generate()?;
            let pem = loaded
                .private
                .to_pkcs8_pem(LineEnding::LF)
                .map_err(|error| error.to_string())?;
            write_private(&path, pem.as_bytes()).map_err(|error| format!("{}: {error}", path.display()))?;
            let public = directory.join("public_key.pem");
            write_whole(&public, loaded.public_pem.as_bytes(), 0o644)
                .map_err(|error| format!("{}: {error}", public.display()))?;
            Ok(loaded)
        }
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn generate() -> std::result::Result<Loaded, String> {
    let private = RsaPrivateKey::new(&mut OsRng, KEY_BITS).map_err(|error| error.to_string())?;
    with_public(private)
}

fn with_public(private: RsaPrivateKey) -> std::result::Result<Loaded, String> {
    let public_pem = private
        .to_public_key()
        .to_public_key_pem(LineEnding::LF)
        .map_err(|error| error.to_string())?;
    Ok(Loaded { private, public_pem })
}

/// Writes a file that only its owner may read.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_whole(path, bytes, 0o600)
}

/// Writes a file either as a whole or not at all, also if the process or the machine stops.
pub fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    use std::io::Write;

    let temporary = path.with_extension("tmp");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsa::RsaPublicKey;
    use rsa::pkcs8::DecodePublicKey;
    use wire::auth::caching_sha2;

    fn account(auth_string: &str) -> Account {
        Account {
            user: "app".to_owned(),
            host: "%".to_owned(),
            plugin: wire::auth::CACHING_SHA2_PASSWORD.to_owned(),
            auth_string: auth_string.to_owned(),
            locked: false,
            tls: crate::accounts::TlsRequirement::None,
            administrator: false,
            second_auth_string: String::new(),
            tracking: None,
            expired: false,
        }
    }

    #[test]
    fn a_changed_password_makes_the_cache_forget() {
        let nonce = Nonce::generate().unwrap();
        let cache = DigestCache::default();
        let scramble = caching_sha2::scramble(b"one", &nonce);
        assert_eq!(cache.verify(&account("stored one"), &scramble, &nonce), None);
        cache.insert(&account("stored one"), b"one");
        assert_eq!(
            cache.verify(&account("stored one"), &scramble, &nonce),
            Some(true)
        );
        assert_eq!(
            cache.verify(&account("stored one"), &[0; 32], &nonce),
            Some(false)
        );
        assert_eq!(cache.verify(&account("stored two"), &scramble, &nonce), None);
    }

    #[test]
    fn the_key_is_kept_and_decrypts() {
        let directory = tempfile::tempdir().unwrap();
        let key = RsaKey::new(Some(directory.path().to_owned()));
        let pem = key.public_pem().unwrap().to_owned();
        let again = RsaKey::new(Some(directory.path().to_owned()));
        assert_eq!(again.public_pem().unwrap(), pem);

        let nonce = Nonce::generate().unwrap();
        let masked: Vec<u8> = b"secret\0"
            .iter()
            .zip(nonce.as_bytes())
            .map(|(byte, mask)| byte ^ mask)
            .collect();
        let public = RsaPublicKey::from_public_key_pem(&pem).unwrap();
        let encrypted = public
            .encrypt(&mut OsRng, Oaep::new::<sha1::Sha1>(), &masked)
            .unwrap();
        assert_eq!(
            again.decrypt_password(&encrypted, &nonce).unwrap().unwrap(),
            b"secret"
        );
        assert_eq!(again.decrypt_password(&encrypted[1..], &nonce).unwrap(), None);
        assert_eq!(again.decrypt_password(b"", &nonce).unwrap(), None);
    }
}
