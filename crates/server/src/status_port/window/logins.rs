//! Logins to the page, by the token that the browser got.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use types::{Error, Result};
use wire::auth::random_password;
use wire::host::Origin;

use crate::accounts::{Account, best_match};
use crate::shared::Shared;

/// A login that has not been used for this long ends.
const IDLE_MAX: Duration = Duration::from_secs(30 * 60);
/// The largest number of logins. A further one ends the login that has not been used for the longest time.
const LOGINS_MAX: usize = 64;
const TOKEN_CHARACTERS: usize = 40;

#[derive(Debug, Clone)]
pub(super) struct Login {
    /// The name that was given; the account may be the anonymous user's.
    pub user: String,
    pub origin: Origin,
    pub account: Account,
}

#[derive(Default)]
pub(super) struct Logins(Mutex<HashMap<String, (Login, Instant)>>);

impl Logins {
    /// Returns the token.
    pub fn add(&self, login: Login) -> Result<String> {
        let token = random_password(TOKEN_CHARACTERS)
            .map_err(|error| Error::internal(format_args!("the system gives no random numbers: {error}")))?;
        let mut logins = self.0.lock();
        logins.retain(|_, (_, used)| used.elapsed() < IDLE_MAX);
        if logins.len() >= LOGINS_MAX {
            let oldest = logins.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(token, _)| token.clone()) {
                logins.remove(&oldest);
            }
        }
        logins.insert(token.clone(), (login, Instant::now()));
        Ok(token)
    }

    pub fn remove(&self, token: &str) {
        self.0.lock().remove(token);
    }

    /// The login, if it has not been idle for too long and its account is still as it was: an account that
    /// was dropped, locked, or given another password ends its logins.
    pub fn find(&self, token: &str, shared: &Shared) -> Option<Login> {
        let mut logins = self.0.lock();
        let (login, used) = logins.get_mut(token)?;
        let accounts = shared.sessions.accounts(&login.user);
        let is_as_it_was = best_match(&accounts, &login.user, login.origin) == Some(&login.account);
        if used.elapsed() >= IDLE_MAX || !is_as_it_was {
            logins.remove(token);
            return None;
        }
        *used = Instant::now();
        Some(login.clone())
    }
}
