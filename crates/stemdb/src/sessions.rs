//! Implements the traits of `server` with `session`, so that neither depends on the other.

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use server::{
    Account, CertificateRequirement, Credentials, Figures, Limits, LoginTracking, Sessions, Settings,
    TlsRequirement,
};
use session::{Session, Shared, VERSION};
use types::{Error, Result};
use wire::{ClientInfo, Flow, HangUp, PacketSink};

/// Opens sessions for the server.
pub struct Adapter {
    pub shared: Arc<Shared>,
    pub require_tls: bool,
}

impl Sessions for Adapter {
    fn accounts(&self, user: &str) -> Vec<Account> {
        let accounts = self.shared.catalog.accounts.current();
        let default_days = self.shared.variables.integer("default_password_lifetime");
        let default_days = u16::try_from(default_days).unwrap_or(u16::MAX);
        let now_us = cluster::now_us();
        let fits = accounts.iter().filter(|a| a.user == user || a.user.is_empty());
        fits.map(|a| Account {
            user: a.user.clone(),
            host: a.host.clone(),
            plugin: a.plugin.clone(),
            auth_string: a.authentication.clone(),
            locked: a.locked,
            tls: match &a.options.certificate {
                None if a.options.requires_tls => TlsRequirement::Tls,
                None => TlsRequirement::None,
                Some(certificate) => TlsRequirement::Certificate(CertificateRequirement {
                    cipher: certificate.cipher.clone().unwrap_or_default(),
                    issuer: certificate.issuer.clone().unwrap_or_default(),
                    subject: certificate.subject.clone().unwrap_or_default(),
                }),
            },
            second_auth_string: a.options.second_authentication.clone(),
            // Logins are tracked only if both numbers are set.
            tracking: a
                .options
                .login_tracking
                .filter(|tracking| tracking.attempts > 0 && tracking.lock_days != 0)
                .map(|tracking| LoginTracking {
                    attempts: u32::from(tracking.attempts),
                    lock_days: u32::try_from(tracking.lock_days).ok(),
                    since_us: tracking.since_us,
                }),
            expired: a.is_expired(default_days, now_us),
            administrator: a.privileges.administers_connections(),
        })
        .collect()
    }

    fn accounts_without_password(&self) -> Vec<String> {
        let accounts = self.shared.catalog.accounts.current();
        accounts.passwordless().map(|a| a.name()).collect()
    }

    fn settings(&self) -> Settings {
        let variables = &self.shared.variables;
        Settings {
            version: VERSION.to_owned(),
            max_connections: variables.integer("max_connections") as usize,
            connect_timeout: Duration::from_secs(variables.integer("connect_timeout")),
            require_secure_transport: self.require_tls,
            default_plugin: wire::auth::CACHING_SHA2_PASSWORD,
            collation: types::Collation::DEFAULT.id(),
        }
    }

    fn next_connection_id(&self) -> u64 {
        self.shared.next_connection_id()
    }

    fn open(
        &self,
        connection_id: u64,
        client: ClientInfo,
        hang_up: Arc<dyn HangUp>,
    ) -> Result<Box<dyn server::Session>> {
        let session = Session::open(self.shared.clone(), connection_id, client)?;
        // The connection holds the process, to interrupt it. A strong reference back would be a cycle: neither would be
        // freed.
        let connection = Arc::downgrade(&hang_up);
        session.process().set_on_kill(Box::new(move || {
            if let Some(connection) = connection.upgrade() {
                connection.hang_up();
            }
        }));
        Ok(Box::new(Client(session)))
    }
}

/// Puts `server` behind the trait of `session`.
pub struct Connections {
    pub figures: Figures,
    pub credentials: Credentials,
}

impl session::ConnectionLayer for Connections {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.figures.of_connections()
    }

    fn public_key(&self) -> String {
        self.credentials.public_key()
    }

    fn certificate_dates(&self) -> (String, String) {
        self.credentials.certificate_dates()
    }

    fn forget_passwords(&self) {
        self.credentials.forget();
    }
}

struct Client(Session);

impl server::Session for Client {
    fn handle(&mut self, command: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
        self.0.handle(command, out)
    }

    fn pending_reply_failed(&mut self, error: &Error) {
        self.0.pending_reply_failed(error);
    }

    fn change_user(&mut self, client: ClientInfo) -> Result<()> {
        self.0.change_user(client)
    }

    fn in_transaction(&self) -> bool {
        self.0.in_transaction()
    }

    fn interrupter(&self) -> Arc<dyn Fn() + Send + Sync> {
        let process = self.0.process().clone();
        Arc::new(move || process.kill_query())
    }

    fn on_thread(&self) -> Box<dyn Any> {
        Box::new(self.0.on_thread())
    }

    fn limits(&self) -> Limits {
        Limits {
            wait_timeout: self.0.wait_timeout(),
            net_read_timeout: self.0.net_read_timeout(),
            net_write_timeout: self.0.net_write_timeout(),
            max_allowed_packet: self.0.max_allowed_packet(),
        }
    }
}
