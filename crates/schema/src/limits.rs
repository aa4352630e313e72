//! MySQL's limits on names, columns, keys and rows, checked on a whole definition.
//!
//! Not here: the limits of a single column (lengths, defaults), which the planner checks.

use types::name::check_length;
use types::{Error, Result, TypeKind, Warning, WarningLevel, errno};

use crate::create_options::CreateOptions;
use crate::model::{Column, Handle, Index, IndexPart, Table};
use crate::sharded_id;

/// InnoDB's.
const COLUMNS_MAX: usize = 1017;
const INDEXES_MAX: usize = 64;
const PARTS_MAX: usize = 16;
/// The longest key in bytes, as MySQL counts them.
pub const KEY_BYTES_MAX: u64 = 3072;
/// The longest part of a key in InnoDB's older row formats.
const OLD_PART_BYTES_MAX: u64 = 767;
pub const ROW_BYTES_MAX: u64 = 65_535;
const TABLE_COMMENT_CHARS_MAX: usize = 2048;
const COMMENT_CHARS_MAX: usize = 1024;

const ER_TOO_MANY_FIELDS: u16 = 1117;
const ER_TOO_LONG_TABLE_COMMENT: u16 = 1628;
const ER_TOO_LONG_FIELD_COMMENT: u16 = 1629;
const ER_DUP_INDEX: u16 = 1831;

pub fn check_database_name(name: &str) -> Result<()> {
    check_name(name, errno::ER_WRONG_DB_NAME, "database")
}

pub fn check_table_name(name: &str) -> Result<()> {
    check_name(name, errno::ER_WRONG_TABLE_NAME, "table")
}

/// InnoDB's own columns, and its index if there is no primary key.
const RESERVED_COLUMNS: [&str; 3] = ["DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR"];
const RESERVED_INDEX: &str = "GEN_CLUST_INDEX";

fn wrong_name(name: &str, code: u16, what: &str) -> Error {
    Error::new(code, format!("Incorrect {what} name '{name}'"))
}

/// Names have 1 to 64 characters and no space at the end.
fn check_name(name: &str, code: u16, what: &str) -> Result<()> {
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(wrong_name(name, code, what));
    }
    check_length(name)
}

/// Checks a definition whose indexes have their names and order. Returns warnings for duplicate indexes.
pub fn check_table(table: &Table) -> Result<Vec<Warning>> {
    check_table_name(&table.name)?;
    check_columns(table)?;
    let keys = table.foreign_keys.iter().map(|key| &key.name);
    for name in table.checks.iter().map(|check| &check.name).chain(keys) {
        check_length(name)?;
    }
    check_comment(
        &table.comment,
        TABLE_COMMENT_CHARS_MAX,
        ER_TOO_LONG_TABLE_COMMENT,
        || format!("Comment for table '{}'", table.name),
    )?;
    check_auto_increment(table)?;
    check_auto_random(table)?;
    check_sharding(table)?;
    let warnings = check_indexes(table)?;
    check_row_size(table)?;
    Ok(warnings)
}

fn check_columns(table: &Table) -> Result<()> {
    if table.visible_columns().next().is_none() {
        return Err(Error::new(
            errno::ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN,
            "A table must have at least one visible column.",
        ));
    }
    if table.columns.len() > COLUMNS_MAX {
        return Err(Error::new(ER_TOO_MANY_FIELDS, "Too many columns"));
    }
    check_column_names(&table.columns)?;
    for column in &table.columns {
        check_comment(
            &column.comment,
            COMMENT_CHARS_MAX,
            ER_TOO_LONG_FIELD_COMMENT,
            || format!("Comment for field '{}'", column.name),
        )?;
    }
    Ok(())
}

/// Names that columns can have, each once.
///
/// # Errors
/// 1166, 1059, 1060.
pub fn check_column_names(columns: &[Column]) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        check_name(&column.name, errno::ER_WRONG_COLUMN_NAME, "column")?;
        if RESERVED_COLUMNS
            .iter()
            .any(|name| types::same_name(&column.name, name))
        {
            return Err(wrong_name(&column.name, errno::ER_WRONG_COLUMN_NAME, "column"));
        }
        let same = |c: &Column| types::same_name(&c.name, &column.name);
        if columns[..at].iter().any(same) {
            return Err(match hidden_of(column) {
                Some(index) => duplicate_index_name(index),
                None => duplicate_column(&column.name),
            });
        }
    }
    Ok(())
}

/// 1060 for the first name that another one before it equals.
pub fn check_distinct_columns<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut before: Vec<&str> = Vec::new();
    for name in names {
        if before.iter().any(|other| types::same_name(other, name)) {
            return Err(duplicate_column(name));
        }
        before.push(name);
    }
    Ok(())
}

/// The index whose expression a hidden column holds: `!hidden!index!0!0`.
fn hidden_of(column: &Column) -> Option<&str> {
    let name = column.name.strip_prefix("!hidden!").filter(|_| column.hidden)?;
    name.rsplitn(3, '!').nth(2)
}

/// Error 1061.
fn duplicate_index_name(name: &str) -> Error {
    Error::new(errno::ER_DUP_KEYNAME, format!("Duplicate key name '{name}'"))
}

/// Error 1060.
pub fn duplicate_column(name: &str) -> Error {
    Error::new(errno::ER_DUP_FIELDNAME, format!("Duplicate column name '{name}'"))
}

fn check_comment(comment: &str, longest: usize, code: u16, what: impl Fn() -> String) -> Result<()> {
    if comment.chars().count() <= longest {
        return Ok(());
    }
    Err(Error::new(
        code,
        format!("{} is too long (max = {longest})", what()),
    ))
}

/// At most one AUTO_INCREMENT column, which must be the first column of a key.
fn check_auto_increment(table: &Table) -> Result<()> {
    let mut columns = (0..table.columns.len()).filter(|&at| table.columns[at].auto_increment);
    let Some(column) = columns.next() else {
        return Ok(());
    };
    let first_of = |parts: &[IndexPart]| parts.first().is_some_and(|p| p.column == column);
    let is_key = first_of(&table.primary_parts()) || table.indexes.iter().any(|i| first_of(&i.parts));
    if columns.next().is_some() || !is_key {
        return Err(Error::new(
            errno::ER_WRONG_AUTO_KEY,
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        ));
    }
    Ok(())
}

/// An AUTO_RANDOM column is the first column of the primary key, and excludes AUTO_INCREMENT.
fn check_auto_random(table: &Table) -> Result<()> {
    let first = table.primary_parts().first().map(|part| part.column);
    for (at, column) in table.columns.iter().enumerate() {
        if column.auto_random.is_none() {
            continue;
        }
        if first != Some(at) {
            return Err(sharded_id::invalid(format!(
                "column '{}' must be the first column in primary key",
                column.name
            )));
        }
        if table.auto_increment_column().is_some() {
            return Err(Error::not_supported(
                "AUTO_RANDOM and AUTO_INCREMENT in one table",
                "use one of them",
            ));
        }
    }
    Ok(())
}

/// SHARD_ROW_ID_BITS is for hidden row ids only. The error is TiDB's.
fn check_sharding(table: &Table) -> Result<()> {
    const ER_UNSUPPORTED_DDL_OPERATION: u16 = 8200;
    if table.shard_row_id_bits == 0 || table.handle == Handle::Hidden {
        return Ok(());
    }
    Err(Error::new(
        ER_UNSUPPORTED_DDL_OPERATION,
        "Unsupported shard_row_id_bits for table with primary key as row id",
    ))
}

fn check_indexes(table: &Table) -> Result<Vec<Warning>> {
    let primary_handle = matches!(table.handle, Handle::Integer { .. });
    if table.indexes.len() + usize::from(primary_handle) > INDEXES_MAX {
        return Err(Error::new(
            errno::ER_TOO_MANY_KEYS,
            format!("Too many keys specified; max {INDEXES_MAX} keys allowed"),
        ));
    }
    let mut primaries = usize::from(primary_handle);
    let mut warnings = Vec::new();
    for (at, index) in table.indexes.iter().enumerate() {
        primaries += usize::from(index.primary);
        if primaries > 1 {
            return Err(Error::new(
                errno::ER_MULTIPLE_PRI_KEY,
                "Multiple primary key defined",
            ));
        }
        check_index(table, index)?;
        let earlier = &table.indexes[..at];
        if earlier.iter().any(|i| types::same_name(&i.name, &index.name)) {
            return Err(Error::new(
                errno::ER_DUP_KEYNAME,
                format!("Duplicate key name '{}'", index.name),
            ));
        }
        if index.invisible && is_primary_in_effect(table, at, primaries) {
            return Err(Error::new(3522, "A primary key index cannot be invisible"));
        }
        let same_columns = |i: &Index| match (&i.full_text, &index.full_text) {
            (Some(a), Some(b)) => a.columns == b.columns,
            _ => i.parts == index.parts,
        };
        let same = |i: &Index| same_columns(i) && i.unique == index.unique && !i.primary;
        if earlier.iter().any(same) {
            warnings.push(duplicate_index(table, index));
        }
    }
    Ok(warnings)
}

/// Whether MySQL takes an index for the primary key: in a table without one, the first unique index whose columns
/// are whole and NOT NULL. (`primaries`: of the indexes up to this one; the primary key comes first.)
fn is_primary_in_effect(table: &Table, at: usize, primaries: usize) -> bool {
    primaries == 0
        && table
            .indexes
            .iter()
            .position(|index| identifies_rows(table, index))
            == Some(at)
}

/// Whether an index is unique, and its columns are whole and NOT NULL.
fn identifies_rows(table: &Table, index: &Index) -> bool {
    let is_not_null = |part: &IndexPart| {
        let column = table.columns.get(part.column);
        part.prefix.is_none() && column.is_some_and(|column| !column.nullable && !column.hidden)
    };
    index.unique && index.parts.iter().all(is_not_null)
}

/// Whether MySQL stores the rows of a table in the order of a key of the user's.
pub fn has_clustered_key(table: &Table) -> bool {
    table.handle != Handle::Hidden || table.indexes.iter().any(|index| identifies_rows(table, index))
}

fn duplicate_index(table: &Table, index: &Index) -> Warning {
    Warning {
        level: WarningLevel::Warning,
        code: ER_DUP_INDEX,
        message: format!(
            "Duplicate index '{}' defined on the table '{}.{}'. This is deprecated and will be disallowed in a future \
             release.",
            index.name, table.database, table.name
        ),
    }
}

fn check_index(table: &Table, index: &Index) -> Result<()> {
    let wrong_name = index.primary != index.name.eq_ignore_ascii_case("PRIMARY");
    if wrong_name || index.name.is_empty() || index.name.ends_with(' ') {
        return Err(Error::new(
            errno::ER_WRONG_NAME_FOR_INDEX,
            format!("Incorrect index name '{}'", index.name),
        ));
    }
    check_name(&index.name, errno::ER_WRONG_NAME_FOR_INDEX, "index")?;
    if index.name.eq_ignore_ascii_case(RESERVED_INDEX) {
        return Err(self::wrong_name(
            RESERVED_INDEX,
            errno::ER_WRONG_NAME_FOR_INDEX,
            "index",
        ));
    }
    check_comment(
        &index.comment,
        COMMENT_CHARS_MAX,
        errno::ER_TOO_LONG_INDEX_COMMENT,
        || format!("Comment for index '{}'", index.name),
    )?;
    if index.parts.len() > PARTS_MAX {
        return Err(Error::new(
            errno::ER_TOO_MANY_KEY_PARTS,
            format!("Too many key parts specified; max {PARTS_MAX} parts allowed"),
        ));
    }
    let part_max = key_part_bytes_max(&table.options);
    let mut bytes = 0;
    for (at, part) in index.parts.iter().enumerate() {
        let Some(column) = table.columns.get(part.column) else {
            return Err(Error::internal(format!(
                "key part {} is not a column",
                part.column
            )));
        };
        if index.parts[..at].iter().any(|p| p.column == part.column) {
            return Err(duplicate_column(&column.name));
        }
        let part = part_bytes(column, part)?;
        if part > part_max {
            return Err(too_long_key(part_max));
        }
        bytes += part;
        if bytes > KEY_BYTES_MAX {
            return Err(too_long_key(KEY_BYTES_MAX));
        }
    }
    Ok(())
}

/// Error 1071.
fn too_long_key(most: u64) -> Error {
    Error::new(
        errno::ER_TOO_LONG_KEY,
        format!("Specified key was too long; max key length is {most} bytes"),
    )
}

/// How many bytes a part of a key can have.
pub fn key_part_bytes_max(options: &CreateOptions) -> u64 {
    match options.row_format() {
        "Compact" | "Redundant" => OLD_PART_BYTES_MAX,
        _ => KEY_BYTES_MAX,
    }
}

/// The prefix that MySQL takes outside strict mode for a part of more than `most` bytes, and its warning. Not for parts
/// of unique keys, which are errors.
pub fn shortened_part(column: &Column, prefix: Option<u32>, most: u64) -> Option<(u32, Warning)> {
    let ty = &column.ty;
    let is_text = ty.is_string() && !ty.has_members() && ty.kind != TypeKind::Json && !column.hidden;
    if !is_text || prefix.is_none() && ty.is_blob_or_text() {
        return None;
    }
    let most = match ty.kind {
        TypeKind::TinyText => most.min(TINYTEXT_BYTES_MAX),
        _ => most,
    };
    let each = u64::from(ty.collation.charset().max_bytes_per_char());
    if u64::from(prefix.unwrap_or(ty.length)) * each <= most {
        return None;
    }
    let error = too_long_key(most);
    let prefix = u32::try_from(most / each).ok()?;
    Some((prefix, Warning::warning(error.code, error.message)))
}

/// A longer prefix of a TINYTEXT or TINYBLOB cannot be a key part.
const TINYTEXT_BYTES_MAX: u64 = 255;

/// Checks that a column's type can be a part of a key, whatever its length.
///
/// # Errors
/// 3152, 1167, 1170
pub fn check_key_part(column: &Column, part: &IndexPart) -> Result<()> {
    let ty = &column.key_type();
    if ty.kind == TypeKind::Json {
        return Err(Error::new(
            errno::ER_JSON_USED_AS_KEY,
            format!(
                "JSON column '{}' supports indexing only via generated columns on a specified JSON path.",
                column.name
            ),
        ));
    }
    if ty.is_string() && !ty.is_blob_or_text() && !ty.has_members() && ty.length == 0 {
        return Err(Error::new(
            errno::ER_WRONG_KEY_COLUMN,
            format!("The used storage engine can't index column '{}'", column.name),
        ));
    }
    if part.prefix.is_none() && ty.is_blob_or_text() {
        return Err(Error::new(
            errno::ER_BLOB_KEY_WITHOUT_LENGTH,
            format!(
                "BLOB/TEXT column '{}' used in key specification without a key length",
                column.name
            ),
        ));
    }
    Ok(())
}

/// How many bytes a key part takes as MySQL counts them. Fails if the column cannot be a key part.
fn part_bytes(column: &Column, part: &IndexPart) -> Result<u64> {
    check_key_part(column, part)?;
    let ty = &column.key_type();
    let Some(prefix) = part.prefix else {
        return Ok(if ty.is_string() {
            ty.max_bytes()
        } else {
            ty.fixed_bytes()
        });
    };
    if prefix == 0 {
        return Err(Error::new(
            errno::ER_KEY_PART_0,
            format!("Key part '{}' length cannot be 0", column.name),
        ));
    }
    let bytes = u64::from(prefix) * u64::from(ty.collation.charset().max_bytes_per_char());
    if !ty.is_string() || (!ty.is_blob_or_text() && prefix > ty.length) {
        return Err(Error::new(
            errno::ER_WRONG_SUB_KEY,
            "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or \
             the storage engine doesn't support unique prefix keys",
        ));
    }
    if ty.kind == TypeKind::TinyText && bytes > TINYTEXT_BYTES_MAX {
        return Err(too_long_key(TINYTEXT_BYTES_MAX));
    }
    Ok(bytes)
}

/// A row without its BLOBs has at most 65,535 bytes, counted as in MySQL's row format.
fn check_row_size(table: &Table) -> Result<()> {
    let mut bytes = 0;
    let mut nullable = 0u64;
    for column in &table.columns {
        nullable += u64::from(column.nullable);
        let most = column.ty.max_bytes();
        bytes += match column.ty.kind {
            TypeKind::VarChar => most + if most > 255 { 2 } else { 1 },
            TypeKind::Char => most,
            TypeKind::TinyText => 9,
            TypeKind::Text => 10,
            TypeKind::MediumText => 11,
            TypeKind::LongText | TypeKind::Json => 12,
            _ => column.ty.fixed_bytes(),
        };
    }
    if bytes + nullable.div_ceil(8) <= ROW_BYTES_MAX {
        return Ok(());
    }
    Err(Error::new(
        errno::ER_TOO_BIG_ROWSIZE,
        "Row size too large. The maximum row size for the used table type, not counting BLOBs, is 65535. This includes \
         storage overhead, check the manual. You have to change some columns to TEXT or BLOBs",
    ))
}
