//! Checks before each statement that only some accounts need: an expired password, and resource limits
//! (manual 6.2.16 and 6.2.21). Other accounts have no [`Guard`], and their statements update no counter.

use std::collections::HashMap;
use std::sync::Arc;

use accounts::{Account, AccountName, ResourceLimits};
use parking_lot::Mutex;
use planner::command::Command;
use planner::plan::Plan;
use syntax::ast::UserStatement;
use types::{Error, Result, errno};

use crate::compiled::Compiled;

const ER_MUST_CHANGE_PASSWORD: u16 = 1820;

const HOUR_US: i64 = 60 * 60 * 1_000_000;

/// The resources that accounts with limits have used on this server.
#[derive(Default)]
pub struct AccountUsage {
    accounts: Mutex<HashMap<AccountName, Arc<Mutex<Usage>>>>,
}

#[derive(Default)]
struct Usage {
    hour_began_us: i64,
    queries: u32,
    updates: u32,
    connections: u32,
    /// Open connections.
    open: u32,
}

/// The checks of one connection.
pub struct Guard {
    user: String,
    /// The password has expired: the account can only change it.
    must_change_password: bool,
    default_days: u16,
    limits: ResourceLimits,
    usage: Option<Arc<Mutex<Usage>>>,
}

impl AccountUsage {
    /// Begins a connection of the account. `default_days` is `@@default_password_lifetime`, and `default_most`
    /// is `@@global.max_user_connections`, which is for accounts without a limit of their own (0: none).
    ///
    /// # Errors
    /// 1226 or 1203 if the account has too many.
    pub fn begin(
        &self,
        account: &Account,
        (default_days, default_most): (u16, u32),
        now_us: i64,
    ) -> Result<Option<Box<Guard>>> {
        let limits = account.options.limits;
        let must_change_password = account.is_expired(default_days, now_us);
        let is_counted = !limits.is_none() || default_most > 0;
        if !is_counted && !must_change_password {
            return Ok(None);
        }
        let usage = is_counted.then(|| {
            let name = (account.user.clone(), account.host.clone());
            Arc::clone(self.accounts.lock().entry(name).or_default())
        });
        if let Some(usage) = &usage {
            let mut usage = usage.lock();
            usage.begin_hour(now_us);
            if limits.connections > 0 && usage.open >= limits.connections {
                return Err(exceeded(
                    &account.user,
                    "max_user_connections",
                    limits.connections,
                ));
            }
            if limits.connections == 0 && default_most > 0 && usage.open >= default_most {
                return Err(too_many(&account.user));
            }
            let name = "max_connections_per_hour";
            count(
                &mut usage.connections,
                limits.connections_per_hour,
                &account.user,
                name,
            )?;
            usage.open += 1;
        }
        Ok(Some(Box::new(Guard {
            user: account.user.clone(),
            must_change_password,
            default_days,
            limits,
            usage,
        })))
    }

    /// FLUSH USER_RESOURCES.
    pub fn reset(&self) {
        for usage in self.accounts.lock().values() {
            usage.lock().hour_began_us = 0;
        }
    }
}

impl Usage {
    fn begin_hour(&mut self, now_us: i64) {
        if now_us.saturating_sub(self.hour_began_us) >= HOUR_US {
            *self = Self {
                hour_began_us: now_us,
                open: self.open,
                ..Self::default()
            };
        }
    }
}

impl Guard {
    /// Must be called before a statement.
    ///
    /// # Errors
    /// 1820, 1226.
    pub fn check(&self, compiled: &Compiled, now_us: i64) -> Result<()> {
        if self.must_change_password && !changes_password(compiled) {
            return Err(must_change_password());
        }
        self.count(changes_data(compiled), now_us)
    }

    /// [`Guard::check`] of BEGIN, COMMIT and ROLLBACK.
    ///
    /// # Errors
    /// 1820, 1226.
    pub fn check_transaction_word(&self, now_us: i64) -> Result<()> {
        self.check_password()?;
        self.count(false, now_us)
    }

    fn count(&self, changes_data: bool, now_us: i64) -> Result<()> {
        let (queries, updates) = (self.limits.queries_per_hour, self.limits.updates_per_hour);
        // Often only the connections are counted. Then a statement must not wait for the account's others.
        let Some(usage) = self.usage.as_ref().filter(|_| queries > 0 || updates > 0) else {
            return Ok(());
        };
        let mut usage = usage.lock();
        usage.begin_hour(now_us);
        count(&mut usage.queries, queries, &self.user, "max_questions")?;
        match changes_data {
            true => count(&mut usage.updates, updates, &self.user, "max_updates"),
            false => Ok(()),
        }
    }

    /// Must be called before a command that is not a statement.
    ///
    /// # Errors
    /// 1820.
    pub fn check_password(&self) -> Result<()> {
        match self.must_change_password {
            true => Err(must_change_password()),
            false => Ok(()),
        }
    }

    /// Takes over a change of the account.
    pub fn refresh(&mut self, account: &Account, now_us: i64) {
        self.limits = account.options.limits;
        self.must_change_password &= account.is_expired(self.default_days, now_us);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(usage) = &self.usage {
            usage.lock().open -= 1;
        }
    }
}

fn count(used: &mut u32, limit: u32, user: &str, resource: &str) -> Result<()> {
    if limit > 0 && *used >= limit {
        return Err(exceeded(user, resource, limit));
    }
    *used = used.saturating_add(1);
    Ok(())
}

fn exceeded(user: &str, resource: &str, limit: u32) -> Error {
    Error::new(
        errno::ER_USER_LIMIT_REACHED,
        format!("User '{user}' has exceeded the '{resource}' resource (current value: {limit})"),
    )
}

fn too_many(user: &str) -> Error {
    Error::new(
        errno::ER_TOO_MANY_USER_CONNECTIONS,
        format!("User {user} already has more than 'max_user_connections' active connections"),
    )
}

fn must_change_password() -> Error {
    Error::new(
        ER_MUST_CHANGE_PASSWORD,
        "You must reset your password using ALTER USER statement before executing this statement.",
    )
}

fn changes_password(compiled: &Compiled) -> bool {
    let Compiled::Command(command) = compiled else {
        return false;
    };
    matches!(
        &**command,
        Command::User(UserStatement::Alter { .. } | UserStatement::SetPassword(_))
    )
}

fn changes_data(compiled: &Compiled) -> bool {
    match compiled {
        Compiled::Plan(plan) => !matches!(plan.plan, Plan::Query(_)),
        Compiled::Ddl(_) => true,
        Compiled::Command(command) => match &**command {
            Command::User(statement) => !matches!(statement, UserStatement::SetRole(_)),
            Command::Grant { .. }
            | Command::Revoke { .. }
            | Command::CreateTableSelect(_)
            | Command::TableIsThere(_) => true,
            _ => false,
        },
    }
}
