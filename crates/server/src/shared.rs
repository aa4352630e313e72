//! The state shared by all connections of one server.

use std::sync::Arc;
use std::time::Instant;

use wire::auth::caching_sha2;

use crate::certificate::CertificateDates;
use crate::config::ServerConfig;
use crate::connections::Connections;
use crate::credentials::{DigestCache, RsaKey};
use crate::failed_logins::FailedLogins;
use crate::metrics::Metrics;
use crate::parking::Parking;
use crate::sessions::Sessions;
use crate::workers::Workers;

pub struct Shared {
    pub config: ServerConfig,
    pub sessions: Arc<dyn Sessions>,
    pub connections: Arc<Connections>,
    pub workers: Arc<Workers>,
    pub parking: Parking,
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Those of the server's certificate; empty without TLS.
    pub certificate_dates: CertificateDates,
    pub rsa: RsaKey,
    pub digests: DigestCache,
    pub failed_logins: FailedLogins,
    pub metrics: Metrics,
    /// The stored form of an unknown password. A login to a missing account is checked against it, so that
    /// it looks the same and takes as long as any other failed login.
    pub decoy: String,
    pub started: Instant,
}

impl Shared {
    /// Creates a stored form for [`Shared::decoy`].
    pub fn make_decoy() -> std::io::Result<String> {
        let nobody_knows = wire::auth::Nonce::generate()?;
        caching_sha2::stored(nobody_knows.as_bytes())
    }
}
