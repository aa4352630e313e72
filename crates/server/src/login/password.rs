//! A login with the password itself, without a plugin's dialogue: for the pages of the status port.

use types::Result;
use wire::auth::Plugin;
use wire::host::Origin;

use super::admission::{Admission, decoy};
use super::exchange::Proof;
use crate::accounts::{Account, best_match};
use crate::shared::Shared;

/// The account that a client at `origin` gets with this name and password. The connection to the client is not
/// encrypted.
///
/// # Errors
/// Those of any other login: 1045, 1862, 3118, 3955.
pub fn log_in_with_password(shared: &Shared, origin: Origin, user: &str, password: &[u8]) -> Result<Account> {
    let candidates = shared.sessions.accounts(user);
    let found = best_match(&candidates, user, origin);
    let account = found
        .cloned()
        .unwrap_or_else(|| decoy(shared, &shared.sessions.settings(), user));
    let second = account.with_second_password();
    let proof = Proof {
        given: [Some(&account), second.as_ref()]
            .into_iter()
            .flatten()
            .any(|account| is_password(account, password)),
        password_used: !password.is_empty(),
    };
    let admission = Admission {
        shared,
        user,
        origin,
        transport: None,
        can_change_password: false,
    };
    admission.admit(&account, found.is_some(), proof)?;
    Ok(account)
}

/// Whether it is the account's password, by the stored form.
fn is_password(account: &Account, password: &[u8]) -> bool {
    Plugin::named(&account.plugin)
        .is_some_and(|plugin| plugin.verify_password(&account.auth_string, password))
}
