//! Accounts that are blocked because of failed logins, on this server (manual 6.2.15, "Password Management").

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use types::Error;

use crate::accounts::{Account, LoginTracking};

const ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK: u16 = 3955;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// By user and host of the account.
#[derive(Default)]
pub struct FailedLogins(Mutex<HashMap<(String, String), Failures>>);

#[derive(Default)]
struct Failures {
    /// [`LoginTracking::since_us`] when counting began.
    since_us: i64,
    count: u32,
    blocked: Option<SystemTime>,
}

/// The account cannot be logged in to, for as many days, or until it is unlocked.
#[derive(Debug, PartialEq, Eq)]
pub struct Blocked {
    days_left: Option<u64>,
}

impl FailedLogins {
    /// Counts one login. It fails while the account is blocked, whether or not the password is right.
    pub fn note(&self, account: &Account, tracking: LoginTracking, succeeded: bool) -> Result<(), Blocked> {
        self.note_at(account, tracking, succeeded, SystemTime::now())
    }

    fn note_at(
        &self,
        account: &Account,
        tracking: LoginTracking,
        succeeded: bool,
        now: SystemTime,
    ) -> Result<(), Blocked> {
        let mut all = self.0.lock();
        let key = (account.user.clone(), account.host.clone());
        let failures = all.entry(key).or_default();
        let lock_time = tracking.lock_days.map(|days| DAY * days);
        let is_over = failures.blocked.is_some_and(|at| {
            let passed = now.duration_since(at).unwrap_or_default();
            lock_time.is_some_and(|time| passed >= time)
        });
        if is_over || failures.since_us != tracking.since_us {
            *failures = Failures {
                since_us: tracking.since_us,
                ..Failures::default()
            };
        }
        if failures.blocked.is_none() {
            if succeeded {
                failures.count = 0;
                return Ok(());
            }
            failures.count += 1;
            if failures.count < tracking.attempts {
                return Ok(());
            }
            failures.blocked = Some(now);
        }
        let since = failures.blocked.unwrap_or(UNIX_EPOCH);
        Err(Blocked {
            days_left: lock_time.map(|time| {
                let left = time.saturating_sub(now.duration_since(since).unwrap_or_default());
                left.as_secs().div_ceil(DAY.as_secs())
            }),
        })
    }
}

impl Blocked {
    /// Error 3955, as MySQL words it.
    pub fn error(&self, user: &str, host: &str, tracking: LoginTracking) -> Error {
        let days = |days: Option<u64>| days.map_or_else(|| "unlimited".to_owned(), |days| days.to_string());
        Error::new(
            ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK,
            format!(
                "Access denied for user '{user}'@'{host}'. Account is blocked for {} day(s) ({} day(s) remaining) due to \
                 {} consecutive failed logins.",
                days(tracking.lock_days.map(u64::from)),
                days(self.days_left),
                tracking.attempts
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_blocked_for_its_days_or_until_it_is_unlocked() {
        let account = Account {
            user: "app".to_owned(),
            host: "%".to_owned(),
            plugin: String::new(),
            auth_string: String::new(),
            locked: false,
            tls: crate::accounts::TlsRequirement::None,
            administrator: false,
            second_auth_string: String::new(),
            tracking: None,
            expired: false,
        };
        let tracking = |lock_days, since_us| LoginTracking {
            attempts: 2,
            lock_days,
            since_us,
        };
        let failed = FailedLogins::default();
        let start = UNIX_EPOCH + DAY * 1000;
        let two_days = tracking(Some(2), 1);
        let blocked = |days_left| Err(Blocked { days_left });
        assert_eq!(failed.note_at(&account, two_days, false, start), Ok(()));
        assert_eq!(failed.note_at(&account, two_days, true, start), Ok(()));
        assert_eq!(failed.note_at(&account, two_days, false, start), Ok(()));
        assert_eq!(failed.note_at(&account, two_days, false, start), blocked(Some(2)));
        let later = start + DAY + DAY / 2;
        assert_eq!(failed.note_at(&account, two_days, true, later), blocked(Some(1)));
        assert_eq!(failed.note_at(&account, two_days, true, start + DAY * 2), Ok(()));
        let unbounded = tracking(None, 1);
        assert_eq!(failed.note_at(&account, unbounded, false, later), Ok(()));
        assert_eq!(failed.note_at(&account, unbounded, false, later), blocked(None));
        assert_eq!(
            failed.note_at(&account, unbounded, true, later + DAY * 999),
            blocked(None)
        );
        assert_eq!(failed.note_at(&account, tracking(None, 2), true, later), Ok(()));
    }
}
