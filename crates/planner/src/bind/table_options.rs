//! Table options that only SHOW CREATE TABLE shows here. They have the values that InnoDB takes.

use syntax::ast::TableOptions;
use types::{Error, Result};

const ER_TABLESPACE_MISSING: u16 = 3510;
const ER_RESERVED_TABLESPACE: u16 = 3723;
const ER_ILLEGAL_CREATE_OPTION: u16 = 1478;
const ER_AUTOEXTEND_UNIT: u16 = 4023;
const ER_AUTOEXTEND_RANGE: u16 = 4025;
const ER_AUTOEXTEND_TEMPORARY: u16 = 4026;

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
pub(super) fn shown_options(written: &TableOptions, of: OptionsOf<'_>) -> Result<Vec<(String, String)>> {
    let mut shown = written.shown.clone();
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

/// There is no CREATE TABLESPACE here, so those that MySQL begins with are all there are.
fn check_tablespace(name: &str, of: OptionsOf<'_>) -> Result<()> {
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
