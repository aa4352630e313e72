//! Table options that only SHOW CREATE TABLE shows here. They have the values that InnoDB takes.

use syntax::ast::TableOptions;
use types::{Error, Result, Value, Warning};

use super::Binder;

const ER_TABLESPACE_MISSING: u16 = 3510;
const ER_RESERVED_TABLESPACE: u16 = 3723;
const ER_ILLEGAL_CREATE_OPTION: u16 = 1478;
const ER_AUTOEXTEND_UNIT: u16 = 4023;
const ER_AUTOEXTEND_RANGE: u16 = 4025;
const ER_AUTOEXTEND_TEMPORARY: u16 = 4026;

const ER_OPTION_OUT_OF_RANGE: u16 = 4074;
const ER_ILLEGAL_HA: u16 = 1031;

const ROWS_MAX: u64 = u32::MAX as u64;
const MIB: u64 = 1 << 20;

/// The table that the options are of.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OptionsOf<'a> {
    pub(super) table: &'a str,
    pub(super) temporary: bool,
    pub(super) partitioned: bool,
}

/// Names and values of the options that are shown.
///
/// # Errors
/// MySQL's for a tablespace that it does not have or that is not for such a table, and for an AUTOEXTEND_SIZE out of
/// range.
pub(super) fn shown_options(
    binder: &Binder<'_>,
    written: &TableOptions,
    of: OptionsOf<'_>,
) -> Result<Vec<(String, String)>> {
    let mut shown = written.shown.clone();
    for (name, value) in &mut shown {
        limit_rows(binder, name, value);
        if name == "ROW_FORMAT" && value.eq_ignore_ascii_case("fixed") {
            "DYNAMIC".clone_into(value);
        }
    }
    if let Some(name) = &written.tablespace {
        check_tablespace(name, of)?;
        shown.push(("TABLESPACE".to_owned(), name.clone()));
    }
    if let Some(size) = written.autoextend_size {
        check_autoextend_size(size, of)?;
        shown.push(("AUTOEXTEND_SIZE".to_owned(), size.to_string()));
    }
    Ok(shown)
}

/// MAX_ROWS and MIN_ROWS have 32 bits.
fn limit_rows(binder: &Binder<'_>, name: &str, value: &mut String) {
    if !matches!(name, "MAX_ROWS" | "MIN_ROWS") || !value.parse::<u64>().is_ok_and(|n| n > ROWS_MAX) {
        return;
    }
    let name = name.to_lowercase();
    binder.warn(Warning::warning(
        ER_OPTION_OUT_OF_RANGE,
        format!("{name}={value} is outside the valid range [0,{ROWS_MAX}]. {ROWS_MAX} will be used."),
    ));
    *value = ROWS_MAX.to_string();
}

/// InnoDB has no fixed row format. `table`: its name, and whether it is new.
///
/// # Errors
/// 1478, or 1031 for a new table, under `innodb_strict_mode`.
pub(super) fn check_row_format(
    binder: &Binder<'_>,
    written: &TableOptions,
    (table, is_new): (&str, bool),
) -> Result<()> {
    let mut options = written.shown.iter();
    if !options.any(|(name, value)| name == "ROW_FORMAT" && value.eq_ignore_ascii_case("fixed")) {
        return Ok(());
    }
    let is_strict = (binder.env.system_variable)(None, "innodb_strict_mode")?;
    match (is_strict == Value::Int(0), is_new) {
        (true, _) => binder.warn(Warning::warning(
            ER_ILLEGAL_CREATE_OPTION,
            "InnoDB: assuming ROW_FORMAT=DYNAMIC.",
        )),
        (false, true) => {
            return Err(Error::new(
                ER_ILLEGAL_HA,
                format!("Table storage engine for '{table}' doesn't have this option"),
            ));
        }
        (false, false) => {
            return Err(Error::new(
                ER_ILLEGAL_CREATE_OPTION,
                "Table storage engine 'InnoDB' does not support the create option 'ROW_TYPE'",
            ));
        }
    }
    Ok(())
}

/// There is no CREATE TABLESPACE here, so those that MySQL begins with are all there are.
///
/// # Errors
/// As [`shown_options`].
pub(super) fn check_tablespace(name: &str, of: OptionsOf<'_>) -> Result<()> {
    match name.to_ascii_lowercase().as_str() {
        "innodb_system" if of.partitioned => Err(Error::new(
            ER_ILLEGAL_CREATE_OPTION,
            "InnoDB : A partitioned table is not allowed in a shared tablespace.",
        )),
        "innodb_system" | "innodb_file_per_table" if !of.temporary => Ok(()),
        "innodb_temporary" if !of.temporary => Err(Error::new(
            ER_ILLEGAL_CREATE_OPTION,
            "InnoDB: Tablespace `innodb_temporary` can only contain TEMPORARY tables.",
        )),
        "innodb_system" | "innodb_file_per_table" | "innodb_temporary" => Err(Error::not_supported(
            "TABLESPACE of a temporary table",
            "leave it out",
        )),
        "mysql" => Err(Error::new(
            ER_RESERVED_TABLESPACE,
            format!(
                "The table '{}' may not be created in the reserved tablespace '{name}'.",
                of.table
            ),
        )),
        _ => Err(Error::new(
            ER_TABLESPACE_MISSING,
            format!("Tablespace {name} doesn't exist."),
        )),
    }
}

fn check_autoextend_size(size: u64, of: OptionsOf<'_>) -> Result<()> {
    let refused = |code, text| Err(Error::new(code, text));
    match size {
        0 => Ok(()),
        _ if of.temporary => refused(
            ER_AUTOEXTEND_TEMPORARY,
            "AUTOEXTEND_SIZE clause is not valid for temporary tablespace.",
        ),
        _ if !(4 * MIB..=4096 * MIB).contains(&size) => refused(
            ER_AUTOEXTEND_RANGE,
            "AUTOEXTEND_SIZE value should be between 4M and 4096M",
        ),
        _ if !size.is_multiple_of(4 * MIB) => {
            refused(ER_AUTOEXTEND_UNIT, "AUTOEXTEND_SIZE should be a multiple of 4M")
        }
        _ => Ok(()),
    }
}
