//! Column definitions: types with their limits, attributes, defaults.

use schema::create_options::CreateOptions;
use schema::expression::Generated;
use schema::model::{Column, Default, SchemaState};
use schema::sharded_id::{self, AutoRandom};
use types::{Charset, Collation, Error, Result, SqlType, TypeKind, Warning, errno};

use super::collation::{of_clauses, own_collation};
use super::comment::{self, Commented};
use super::{Binder, collation, default_value, members, stored};
use crate::errno::{
    ER_INVALID_ON_UPDATE, ER_INVALID_YEAR_COLUMN_LENGTH, ER_TOO_BIG_DISPLAYWIDTH, ER_WARN_DEPRECATED_SYNTAX,
    ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
};
use syntax::ast::{ColumnDefinition, DataType, DefaultClause, Expr as AstExpr, TypeName};

/// The note that a type was replaced by another one.
const ER_AUTO_CONVERT: u16 = 1246;
const DISPLAY_WIDTH_MAX: u64 = 255;
const CHAR_LENGTH_MAX: u64 = 255;
const VARCHAR_BYTES_MAX: u64 = 65_535;
const FRACTION_DIGITS_MAX: u64 = 6;
const DECIMALS_MAX: u64 = 30;

/// Error 1171.
pub(super) fn primary_with_null() -> Error {
    Error::new(
        errno::ER_PRIMARY_CANT_HAVE_NULL,
        "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
    )
}

/// A column with no id yet. `inherited` is the table's collation.
pub(super) fn bind_column(
    binder: &Binder<'_>,
    definition: &ColumnDefinition,
    inherited: Collation,
) -> Result<Column> {
    let column = written_column(binder, definition, inherited)?;
    with_default(binder, definition, column)
}

/// Converts the value of the default, which MySQL does after it has checked the table's columns and keys.
pub(super) fn with_default(
    binder: &Binder<'_>,
    definition: &ColumnDefinition,
    mut column: Column,
) -> Result<Column> {
    if definition.primary && definition.says_null {
        return Err(primary_with_null());
    }
    if let Some(clause) = &definition.default
        && !definition.auto_increment
    {
        let nullable = is_nullable(definition);
        column.default = default_value::bind_default(binder, &column.name, column.ty, clause, nullable)?;
    }
    Ok(column)
}

/// Whether a definition has NULL or DEFAULT NULL, which a column of the primary key must not have.
pub(super) fn says_null(definition: &ColumnDefinition) -> bool {
    definition.says_null || is_default_null(definition)
}

fn is_default_null(definition: &ColumnDefinition) -> bool {
    matches!(definition.default, Some(DefaultClause::Literal(AstExpr::Null)))
}

fn is_nullable(definition: &ColumnDefinition) -> bool {
    !definition.primary && definition.nullable.unwrap_or(true)
}

/// The column without the value of its default.
pub(super) fn written_column(
    binder: &Binder<'_>,
    definition: &ColumnDefinition,
    inherited: Collation,
) -> Result<Column> {
    let name = &definition.name;
    let (ty, explicit_collation) = match column_type(binder, name, &definition.ty, inherited) {
        Err(error) if error.code == errno::ER_TOO_BIG_FIELDLENGTH => {
            let text = as_text(binder, definition).ok_or(error)?;
            column_type(binder, name, &text, inherited)?
        }
        found => found?,
    };
    let nullable = is_nullable(definition);
    if definition.auto_increment {
        check_auto_increment(definition, &ty)?;
        warn_of_float_ids(binder, name, &ty);
    }
    let auto_random = auto_random(definition, &ty)?;
    let generated = generated(binder, definition)?;
    if let Some(clause) = &definition.default
        && !definition.auto_increment
    {
        default_value::check_clause(binder, name, ty, clause, nullable)?;
    }
    let is_moment = matches!(ty.kind, TypeKind::DateTime | TypeKind::Timestamp);
    if definition
        .on_update
        .is_some_and(|digits| !is_moment || digits != ty.decimals)
    {
        return Err(Error::new(
            ER_INVALID_ON_UPDATE,
            format!("Invalid ON UPDATE clause for '{name}' column"),
        ));
    }
    Ok(Column {
        id: 0,
        name: name.clone(),
        ty,
        nullable,
        explicit_collation,
        default: Default::None,
        on_update_now: definition.on_update.is_some(),
        auto_increment: definition.auto_increment,
        auto_random,
        comment: comment::limited(
            binder,
            definition.comment.as_deref().unwrap_or_default(),
            Commented::Column(name),
        )?,
        state: SchemaState::Public,
        original_default: None,
        generated,
        invisible: definition.invisible,
        hidden: false,
        elements: None,
        options: shown_options(definition)?,
    })
}

/// The attributes that InnoDB only shows.
fn shown_options(definition: &ColumnDefinition) -> Result<CreateOptions> {
    let mut options = CreateOptions::default();
    for (name, value) in &definition.shown {
        if definition.generated.is_some() {
            return Err(wrong_usage_of_generated(name));
        }
        options.set(name, value);
    }
    Ok(options)
}

fn generated(binder: &Binder<'_>, definition: &ColumnDefinition) -> Result<Option<Generated>> {
    let Some(clause) = &definition.generated else {
        return Ok(None);
    };
    let refused = [
        (definition.default.is_some(), "DEFAULT"),
        (definition.auto_increment, "AUTO_INCREMENT"),
        (definition.on_update.is_some(), "ON UPDATE"),
    ];
    if let Some((_, what)) = refused.iter().find(|(is_there, _)| *is_there) {
        return Err(wrong_usage_of_generated(what));
    }
    Ok(Some(Generated {
        expression: stored::stored_expression(binder, &clause.value),
        stored: clause.stored,
    }))
}

/// The type, and whether its character set or collation was written.
pub(super) fn column_type(
    binder: &Binder<'_>,
    name: &str,
    ty: &DataType,
    inherited: Collation,
) -> Result<(SqlType, bool)> {
    // The collation of a number has no effect, but it must exist. Bytes have only one.
    let charset = is_of_bytes(ty.name).then_some(Charset::Binary.name());
    of_clauses(charset, ty.collation.as_deref())?;
    let written = collation::collation_of_type(binder, ty);
    if ty.zerofill {
        deprecated(
            binder,
            "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD function to zero-pad \
             numbers, or store the formatted numbers in a CHAR column.",
        );
    }
    // YEAR has no width at all.
    let is_too_wide = ty.length.is_some_and(|length| length > u64::from(u32::MAX));
    if is_too_wide && ty.name != TypeName::Year {
        return Err(Error::new(
            ER_TOO_BIG_DISPLAYWIDTH,
            format!(
                "Display width out of range for column '{name}' (max = {})",
                u32::MAX
            ),
        ));
    }
    use TypeName::*;
    if ty.unsigned && matches!(ty.name, Decimal | Float | Double) {
        warn_of_unsigned(binder);
    }
    let plain = |ty| Ok((ty, false));
    match ty.name {
        TinyInt => plain(integer(binder, name, ty, TypeKind::TinyInt)?),
        SmallInt => plain(integer(binder, name, ty, TypeKind::SmallInt)?),
        MediumInt => plain(integer(binder, name, ty, TypeKind::MediumInt)?),
        Int => plain(integer(binder, name, ty, TypeKind::Int)?),
        BigInt => plain(integer(binder, name, ty, TypeKind::BigInt)?),
        Bool => plain(SqlType {
            kind: TypeKind::TinyInt,
            length: 1,
            ..SqlType::BIGINT
        }),
        Serial => plain(SqlType::BIGINT_UNSIGNED),
        Decimal => {
            let precision = ty.length.filter(|&length| length > 0).unwrap_or(10);
            if let (Some(0), Some(scale @ 1..)) = (ty.length, ty.decimals) {
                check_decimals(name, 0, scale)?;
            }
            let exact = decimal_type(name, clamped(precision), clamped(ty.decimals.unwrap_or(0)))?;
            plain(SqlType {
                unsigned: ty.unsigned || ty.zerofill,
                zerofill: ty.zerofill,
                ..exact
            })
        }
        Float | Double => plain(floating(binder, name, ty)?),
        Char | VarChar | TinyText | Text | MediumText | LongText => characters(name, ty, written?, inherited),
        Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob => {
            plain(text_type(name, ty, Collation::Binary)?)
        }
        Date => plain(SqlType::DATE),
        Time => plain(SqlType::time(fraction_digits(name, ty)?)),
        DateTime => plain(SqlType::datetime(fraction_digits(name, ty)?)),
        Timestamp => plain(SqlType::timestamp(fraction_digits(name, ty)?)),
        Year => plain(year(binder, ty)?),
        Json => plain(SqlType::JSON),
        Bit => plain(super::members::bit(name, ty.length)?),
        Enum | Set => members::with_members(binder, name, ty, written?, inherited),
    }
}

fn is_of_bytes(name: TypeName) -> bool {
    use TypeName::*;
    matches!(
        name,
        Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob | Json
    )
}

fn integer(binder: &Binder<'_>, name: &str, ty: &DataType, kind: TypeKind) -> Result<SqlType> {
    if let Some(width) = ty.length {
        deprecated(
            binder,
            "Integer display width is deprecated and will be removed in a future release.",
        );
        check_display_width(name, width)?;
    }
    let unsigned = ty.unsigned || ty.zerofill;
    let width = ty.length.filter(|&width| width > 0).map(clamped);
    Ok(SqlType {
        kind,
        unsigned,
        length: width
            .or(SqlType::full_width(kind, unsigned))
            .unwrap_or(SqlType::BIGINT.length),
        zerofill: ty.zerofill,
        ..SqlType::BIGINT
    })
}

fn floating(binder: &Binder<'_>, name: &str, ty: &DataType) -> Result<SqlType> {
    let mut exact = if ty.name == TypeName::Double {
        SqlType::DOUBLE
    } else {
        SqlType::FLOAT
    };
    exact.unsigned = ty.unsigned || ty.zerofill;
    exact.zerofill = ty.zerofill;
    match (ty.length, ty.decimals) {
        (Some(digits), Some(decimals)) => {
            warn_of_digits(binder);
            check_display_width(name, digits)?;
            check_decimals(name, digits, decimals)?;
            exact.length = clamped(digits);
            exact.decimals = decimals as u8;
        }
        // FLOAT(p): the precision in bits decides which of the two it is.
        (Some(bits), None) if bits > 53 => return Err(wrong_specifier(name)),
        (Some(bits), None) if bits > 24 => {
            exact = SqlType {
                unsigned: exact.unsigned,
                zerofill: exact.zerofill,
                ..SqlType::DOUBLE
            };
        }
        _ => {}
    }
    Ok(exact)
}

fn year(binder: &Binder<'_>, ty: &DataType) -> Result<SqlType> {
    match ty.length {
        None => {}
        Some(4) => binder.warn_of_text(Warning::warning(
            ER_WARN_DEPRECATED_SYNTAX,
            "'YEAR(4)' is deprecated and will be removed in a future release. Please use YEAR instead",
        )),
        Some(_) => {
            return Err(Error::new(
                ER_INVALID_YEAR_COLUMN_LENGTH,
                "Invalid display width. Use YEAR instead.",
            ));
        }
    }
    Ok(SqlType::YEAR)
}

fn warn_of_float_ids(binder: &Binder<'_>, name: &str, ty: &SqlType) {
    const ER_WARN_DEPRECATED_FLOAT_AUTO_INCREMENT: u16 = 3856;
    if ty.is_float() {
        binder.warn(Warning::warning(
            ER_WARN_DEPRECATED_FLOAT_AUTO_INCREMENT,
            format!(
                "AUTO_INCREMENT support for FLOAT/DOUBLE columns is deprecated and will be removed in a future \
                 release. Consider removing AUTO_INCREMENT from column '{name}'."
            ),
        ));
    }
}

/// FLOAT(M,D) and DOUBLE(M,D).
pub(super) fn warn_of_digits(binder: &Binder<'_>) {
    deprecated(
        binder,
        "Specifying number of digits for floating point data types is deprecated and will be removed in a future release.",
    );
}

/// UNSIGNED of DECIMAL, FLOAT and DOUBLE.
pub(super) fn warn_of_unsigned(binder: &Binder<'_>) {
    deprecated(
        binder,
        "UNSIGNED for decimal and floating point data types is deprecated and support for it will be removed in a future \
         release.",
    );
}

fn deprecated(binder: &Binder<'_>, message: &str) {
    binder.warn_of_text(Warning::warning(
        ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
        message,
    ));
}

/// Error 1221.
pub fn wrong_usage_of_generated(what: &str) -> Error {
    Error::new(
        errno::ER_WRONG_USAGE,
        format!("Incorrect usage of {what} and generated column"),
    )
}

fn check_auto_increment(definition: &ColumnDefinition, ty: &SqlType) -> Result<()> {
    if !(ty.is_integer() || ty.is_float()) || matches!(ty.kind, TypeKind::Year | TypeKind::Bit) {
        return Err(wrong_specifier(&definition.name));
    }
    // DEFAULT NULL says nothing.
    if definition.default.is_some() && !is_default_null(definition) {
        return Err(Error::new(
            errno::ER_INVALID_DEFAULT,
            format!("Invalid default value for '{}'", definition.name),
        ));
    }
    Ok(())
}

/// AUTO_RANDOM of a column, with TiDB's errors about what cannot have it.
fn auto_random(definition: &ColumnDefinition, ty: &SqlType) -> Result<Option<AutoRandom>> {
    let Some(bits) = definition.auto_random else {
        return Ok(None);
    };
    let shard_bits = bits.shard.unwrap_or(AutoRandom::SHARD_BITS_DEFAULT);
    let range_bits = bits.range.unwrap_or(AutoRandom::RANGE_BITS_DEFAULT);
    if ty.kind != TypeKind::BigInt {
        let name = ty.column_type();
        let name = name.split(['(', ' ']).next().unwrap_or_default();
        return Err(sharded_id::invalid(format!(
            "auto_random option must be defined on `bigint` column, but not on `{name}` column"
        )));
    }
    if definition.auto_increment {
        return Err(sharded_id::invalid(
            "auto_random is incompatible with auto_increment",
        ));
    }
    if definition.default.is_some() {
        return Err(sharded_id::invalid("auto_random is incompatible with default"));
    }
    AutoRandom::new(shard_bits, range_bits, ty.unsigned, &definition.name).map(Some)
}

/// What a VARCHAR or VARBINARY that is too long becomes where the mode is not strict: TEXT or BLOB. It must
/// have no default.
fn as_text(binder: &Binder<'_>, definition: &ColumnDefinition) -> Option<DataType> {
    let (from, to, name) = match definition.ty.name {
        TypeName::VarChar => ("VARCHAR", "TEXT", TypeName::Text),
        TypeName::VarBinary => ("VARBINARY", "BLOB", TypeName::Blob),
        _ => return None,
    };
    if binder.env.sql_mode.strict || definition.default.is_some() {
        return None;
    }
    binder.warn(Warning::note(
        ER_AUTO_CONVERT,
        format!("Converting column '{}' from {from} to {to}", definition.name),
    ));
    Some(DataType {
        name,
        ..definition.ty.clone()
    })
}

/// Error 1063.
fn wrong_specifier(name: &str) -> Error {
    Error::new(
        errno::ER_WRONG_FIELD_SPEC,
        format!("Incorrect column specifier for column '{name}'"),
    )
}

fn check_display_width(name: &str, width: u64) -> Result<()> {
    if width > DISPLAY_WIDTH_MAX {
        return Err(Error::new(
            ER_TOO_BIG_DISPLAYWIDTH,
            format!("Display width out of range for column '{name}' (max = {DISPLAY_WIDTH_MAX})"),
        ));
    }
    Ok(())
}

pub fn check_decimals(name: &str, digits: u64, decimals: u64) -> Result<()> {
    if decimals > DECIMALS_MAX {
        return Err(Error::new(
            errno::ER_TOO_BIG_SCALE,
            format!("Too big scale {decimals} specified for column '{name}'. Maximum is {DECIMALS_MAX}."),
        ));
    }
    if decimals > digits {
        return Err(Error::new(
            errno::ER_M_BIGGER_THAN_D,
            format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}')."),
        ));
    }
    Ok(())
}

/// DECIMAL(precision, scale). Fails with 1425, 1426, 1427.
pub fn decimal_type(name: &str, precision: u32, scale: u32) -> Result<SqlType> {
    if u64::from(scale) > DECIMALS_MAX {
        check_decimals(name, u64::from(precision), u64::from(scale))?;
    }
    if precision > 65 {
        return Err(Error::new(
            errno::ER_TOO_BIG_PRECISION,
            format!("Too-big precision {precision} specified for '{name}'. Maximum is 65."),
        ));
    }
    let precision = if precision == 0 { 10 } else { precision };
    check_decimals(name, u64::from(precision), u64::from(scale))?;
    Ok(SqlType::decimal(precision, scale as u8))
}

fn fraction_digits(name: &str, ty: &DataType) -> Result<u8> {
    let digits = ty.decimals.unwrap_or(0);
    if digits > FRACTION_DIGITS_MAX {
        return Err(Error::new(
            errno::ER_TOO_BIG_PRECISION,
            format!("Too-big precision {digits} specified for '{name}'. Maximum is {FRACTION_DIGITS_MAX}."),
        ));
    }
    Ok(digits as u8)
}

/// A character type with the collation it names or inherits.
fn characters(
    name: &str,
    ty: &DataType,
    written: Option<Collation>,
    inherited: Collation,
) -> Result<(SqlType, bool)> {
    let (collation, explicit) = own_collation(ty, written, inherited);
    Ok((text_type(name, ty, collation)?, explicit))
}

fn text_type(name: &str, ty: &DataType, collation: Collation) -> Result<SqlType> {
    let bytes_per_char = u64::from(collation.charset().max_bytes_per_char());
    let (kind, length) = match ty.name {
        TypeName::Char | TypeName::Binary => (
            TypeKind::Char,
            limited(name, ty.length.unwrap_or(1), CHAR_LENGTH_MAX)?,
        ),
        TypeName::VarChar | TypeName::VarBinary => {
            let longest = VARCHAR_BYTES_MAX / bytes_per_char;
            (TypeKind::VarChar, limited(name, ty.length.unwrap_or(1), longest)?)
        }
        TypeName::TinyText | TypeName::TinyBlob => (TypeKind::TinyText, 255),
        TypeName::MediumText | TypeName::MediumBlob => (TypeKind::MediumText, 16_777_215),
        TypeName::LongText | TypeName::LongBlob => (TypeKind::LongText, u32::MAX),
        // TEXT(n) and BLOB(n): the smallest that holds so much.
        _ => match ty.length.map(|length| length.saturating_mul(bytes_per_char)) {
            Some(0) | None | Some(256..=65_535) => (TypeKind::Text, 65_535),
            Some(..=255) => (TypeKind::TinyText, 255),
            Some(65_536..=16_777_215) => (TypeKind::MediumText, 16_777_215),
            Some(_) => (TypeKind::LongText, u32::MAX),
        },
    };
    Ok(SqlType {
        kind,
        ..SqlType::varchar(length, collation)
    })
}

fn limited(name: &str, length: u64, longest: u64) -> Result<u32> {
    if length > longest {
        return Err(Error::new(
            errno::ER_TOO_BIG_FIELDLENGTH,
            format!("Column length too big for column '{name}' (max = {longest}); use BLOB or TEXT instead"),
        ));
    }
    Ok(clamped(length))
}

fn clamped(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
