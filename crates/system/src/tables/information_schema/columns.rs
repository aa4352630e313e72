//! The columns of all tables.

use functions::TimeZone;
use schema::model::Table;
use types::{Result, SqlType, TypeKind, Value};

use crate::columns;
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, number, optional, signed, text};

pub(crate) struct Columns;

impl SystemTable for Columns {
    fn name(&self) -> &'static str {
        "information_schema.COLUMNS"
    }

    fn columns(&self) -> &'static str {
        r#"
TABLE_CATALOG varchar(64) bin NOT
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
COLUMN_NAME varchar(64) ci NULL
ORDINAL_POSITION int_unsigned - NOT
COLUMN_DEFAULT text bin NULL
IS_NULLABLE varchar(3) ci NOT ""
DATA_TYPE longtext bin NULL
CHARACTER_MAXIMUM_LENGTH bigint - NULL
CHARACTER_OCTET_LENGTH bigint - NULL
NUMERIC_PRECISION bigint_unsigned - NULL
NUMERIC_SCALE bigint_unsigned - NULL
DATETIME_PRECISION int_unsigned - NULL
CHARACTER_SET_NAME varchar(64) ci NULL
COLLATION_NAME varchar(64) ci NULL
COLUMN_TYPE mediumtext bin NOT
COLUMN_KEY enum('','PRI','UNI','MUL') bin NOT
EXTRA varchar(256) ci NULL
PRIVILEGES varchar(154) ci NULL
COLUMN_COMMENT text bin NOT
GENERATION_EXPRESSION longtext bin NOT
SRS_ID int_unsigned - NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let zone = ctx.sources.server.time_zone();
        let mut rows = Vec::new();
        let privileges = ctx.sources.server.privileges();
        for table in ctx.tables(1, 2)? {
            for (position, at) in (1..).zip(table.public_columns()) {
                let name = &table.columns[at].name;
                if privileges.may_see_column(&table.database, &table.name, name)
                    && ctx.conditions.admit(3, name)?
                {
                    let listed = privileges.listed_of_column(&table.database, &table.name, name);
                    rows.push(row(table, at, (position, &listed), &zone));
                }
            }
        }
        Ok(rows)
    }
}

fn row(table: &Table, at: usize, (position, privileges): (u64, &str), zone: &TimeZone) -> Row {
    let column = &table.columns[at];
    let ty = &column.ty;
    let (precision, scale) = numeric(ty);
    let is_text = ty.is_text();
    vec![
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        text(&column.name),
        number(position),
        optional(columns::default(column, zone)),
        text(if column.nullable { "YES" } else { "NO" }),
        text(ty.data_type()),
        length(ty, characters(ty)),
        length(ty, ty.max_bytes()),
        precision.map_or(Value::Null, number),
        scale.map_or(Value::Null, number),
        match ty.kind {
            TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time => number(u64::from(ty.decimals)),
            _ => Value::Null,
        },
        optional(is_text.then(|| ty.collation.charset().name())),
        optional(is_text.then(|| ty.collation.name())),
        text(ty.column_type()),
        text(columns::column_key(table, at)),
        text(columns::extra(column)),
        text(if table.database == schema::model::INFORMATION_SCHEMA {
            "select"
        } else {
            privileges
        }),
        text(&column.comment),
        text(match &column.generated {
            Some(generated) => columns::escaped(&generated.expression.text),
            None => String::new(),
        }),
        Value::Null,
    ]
}

/// A string type's length; NULL for the others.
fn length(ty: &SqlType, value: u64) -> Value {
    if !ty.is_string() && !ty.has_members() {
        return Value::Null;
    }
    i64::try_from(value).map_or(Value::Null, signed)
}

fn characters(ty: &SqlType) -> u64 {
    match ty.kind {
        TypeKind::Char | TypeKind::VarChar | TypeKind::Enum(_) | TypeKind::Set(_) => u64::from(ty.length),
        _ => ty.max_bytes() / ty.collation.charset().min_bytes_per_char() as u64,
    }
}

/// NUMERIC_PRECISION and NUMERIC_SCALE.
fn numeric(ty: &SqlType) -> (Option<u64>, Option<u64>) {
    let integer = |digits| (Some(digits), Some(0));
    match ty.kind {
        TypeKind::TinyInt => integer(3),
        TypeKind::SmallInt => integer(5),
        TypeKind::MediumInt => integer(7),
        TypeKind::Int => integer(10),
        TypeKind::BigInt => integer(if ty.unsigned { 20 } else { 19 }),
        TypeKind::Decimal => (Some(u64::from(ty.length)), Some(u64::from(ty.decimals))),
        TypeKind::Float | TypeKind::Double if ty.decimals < SqlType::NOT_FIXED => {
            (Some(u64::from(ty.length)), Some(u64::from(ty.decimals)))
        }
        TypeKind::Bit => (Some(u64::from(ty.length)), None),
        TypeKind::Float => (Some(12), None),
        TypeKind::Double => (Some(22), None),
        _ => (None, None),
    }
}
