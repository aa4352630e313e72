//! Variables whose values depend on what others have: MySQL refuses some values beside them, and moves some to the
//! limit that another one sets.

use types::{Error, Result, Value, Warning, errno};

use super::convert::{number, shown, wrong_value};
use super::definitions::Definition;

const ER_EXPIRE_LOGS_DAYS_AND_SECONDS: u16 = 3683;
const ER_SECONDS_AND_EXPIRE_LOGS_DAYS: u16 = 4113;

/// Fails for a value that MySQL does not take beside those that the server has. `text`: the value in printed form.
/// `global`: what the server has.
///
/// # Errors
/// 1231, 3683, 4113.
pub fn check(
    definition: &Definition,
    is_session: bool,
    value: &Value,
    text: Option<&str>,
    global: impl Fn(&str) -> u64,
) -> Result<()> {
    let name = definition.name;
    let is_set = text.is_some_and(|text| text != "0");
    match name {
        // InnoDB counts the threads from its start on, or never.
        "innodb_commit_concurrency" if (number(value) == Some(0)) != (global(name) == 0) => {
            Err(wrong_value(name, &shown(value)))
        }
        // A session only turns them off.
        "max_delayed_threads" | "max_insert_delayed_threads"
            if is_session && is_set && text != Some(global(name).to_string().as_str()) =>
        {
            Err(wrong_value(name, &shown(value)))
        }
        "expire_logs_days" if is_set && global("binlog_expire_logs_seconds") != 0 => Err(Error::new(
            ER_EXPIRE_LOGS_DAYS_AND_SECONDS,
            "The option expire_logs_days and binlog_expire_logs_seconds cannot be used together. Please use \
             binlog_expire_logs_seconds to set the expire time (expire_logs_days is deprecated)",
        )),
        "binlog_expire_logs_seconds" if is_set && global("expire_logs_days") != 0 => Err(Error::new(
            ER_SECONDS_AND_EXPIRE_LOGS_DAYS,
            "The option expire_logs_days cannot be used together with option binlog_expire_logs_seconds. To set one, \
             first unset the other by setting it to 0.",
        )),
        _ => Ok(()),
    }
}

/// What becomes of a value beyond the limit that another variable sets.
#[derive(Debug, PartialEq)]
pub struct Limited {
    /// The variable that changes: the one that is set, or its limit.
    pub name: &'static str,
    pub text: String,
    pub warnings: [String; 2],
}

impl Limited {
    fn new(name: &'static str, text: &str, reason: &str, done: &str) -> Self {
        Self {
            name,
            text: text.to_owned(),
            warnings: [reason.to_owned(), format!("{done} to {text}")],
        }
    }

    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        let one = |text: &String| Warning::warning(errno::ER_WRONG_ARGUMENTS, text.clone());
        self.warnings.iter().map(one)
    }
}

/// `other`: the text of another variable in the same scope.
pub fn limited(name: &str, text: &str, other: impl Fn(&str) -> Option<String>) -> Option<Limited> {
    const CAPACITY: &str = "innodb_io_capacity";
    const CAPACITY_MAX: &str = "innodb_io_capacity_max";
    const DIRTY: &str = "innodb_max_dirty_pages_pct";
    const DIRTY_LOW: &str = "innodb_max_dirty_pages_pct_lwm";
    let limit = match name {
        CAPACITY => other(CAPACITY_MAX)?,
        CAPACITY_MAX => other(CAPACITY)?,
        DIRTY => other(DIRTY_LOW)?,
        DIRTY_LOW => other(DIRTY)?,
        _ => return None,
    };
    let order = text.parse::<f64>().ok()?.total_cmp(&limit.parse().ok()?);
    match name {
        CAPACITY if order.is_gt() => Some(Limited::new(
            CAPACITY,
            &limit,
            "innodb_io_capacity cannot be set higher than innodb_io_capacity_max.",
            "Setting innodb_io_capacity",
        )),
        CAPACITY_MAX if order.is_lt() => Some(Limited::new(
            CAPACITY_MAX,
            &limit,
            "innodb_io_capacity_max cannot be set lower than innodb_io_capacity.",
            "Setting innodb_io_capacity_max",
        )),
        // MySQL's texts name the variables without an `s`.
        DIRTY if order.is_lt() => Some(Limited::new(
            DIRTY_LOW,
            text,
            "innodb_max_dirty_pages_pct cannot be set lower than innodb_max_dirty_pages_pct_lwm.",
            "Lowering innodb_max_dirty_page_pct_lwm",
        )),
        DIRTY_LOW if order.is_gt() => Some(Limited::new(
            DIRTY_LOW,
            &limit,
            "innodb_max_dirty_pages_pct_lwm cannot be set higher than innodb_max_dirty_pages_pct.",
            "Setting innodb_max_dirty_page_pct_lwm",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_moves_the_value_or_is_moved() {
        let limits = |name: &str| match name {
            "innodb_io_capacity_max" => Some("2000".to_owned()),
            "innodb_max_dirty_pages_pct_lwm" => Some("10.000000".to_owned()),
            _ => None,
        };
        let moved = |name: &str, text: &str| limited(name, text, limits).map(|l| (l.name, l.text));
        assert_eq!(moved("innodb_io_capacity", "2000"), None);
        assert_eq!(
            moved("innodb_io_capacity", "18446744073709551615"),
            Some(("innodb_io_capacity", "2000".to_owned()))
        );
        assert_eq!(
            moved("innodb_max_dirty_pages_pct", "5.500000"),
            Some(("innodb_max_dirty_pages_pct_lwm", "5.500000".to_owned()))
        );
        assert_eq!(moved("wait_timeout", "1"), None);
    }
}
