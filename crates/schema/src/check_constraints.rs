//! The names and the order of CHECK constraints.

use types::{Error, Result};

use crate::expression::Check;
use crate::model::{Database, Table};

/// The name of the `number`th CHECK constraint that has no other.
pub fn generated_check_name(table: &str, number: u64) -> String {
    format!("{table}_chk_{number}")
}

/// The number in a name that [`generated_check_name`] made for the table.
pub fn generated_check_number(table: &str, name: &str) -> Option<u64> {
    let digits = name.strip_prefix(table)?.strip_prefix("_chk_")?;
    let is_number =
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_number)
}

impl Table {
    /// Renames the table, and with it the CHECK constraints whose names were generated.
    pub fn rename(&mut self, name: &str) {
        for check in &mut self.checks {
            if let Some(number) = generated_check_number(&self.name, &check.name) {
                check.name = generated_check_name(name, number);
            }
        }
        name.clone_into(&mut self.name);
        self.sort_checks();
    }

    /// Puts CHECK constraints into MySQL's order, in which they are shown and evaluated.
    pub fn sort_checks(&mut self) {
        self.checks.sort_by_key(|check| check.name.to_lowercase());
    }

    /// The CHECK constraints that statements see.
    pub fn public_checks(&self) -> impl Iterator<Item = &Check> {
        let is_new = |check: &&Check| check.validating && check.enforced;
        self.checks.iter().filter(move |check| !is_new(check))
    }

    pub fn check_named(&self, name: &str) -> Option<usize> {
        let mut checks = self.checks.iter();
        checks.position(|check| check.name.to_lowercase() == name.to_lowercase())
    }
}

impl Database {
    /// Whether no other table has a CHECK constraint of the same name, and no two of the table's own have.
    ///
    /// # Errors
    /// 3822
    pub fn check_constraint_names(&self, table: &Table) -> Result<()> {
        for (at, check) in table.checks.iter().enumerate() {
            let others = self.tables.values().filter(|other| other.id != table.id);
            let in_others = others
                .into_iter()
                .any(|other| other.check_named(&check.name).is_some());
            if in_others || table.check_named(&check.name).is_some_and(|first| first < at) {
                return Err(Error::new(
                    3822,
                    format!("Duplicate check constraint name '{}'.", check.name),
                ));
            }
        }
        Ok(())
    }
}
