//! COLUMNS, and what a column is to its table's keys.

use functions::TimeZone;
use schema::default_value::implicit;
use schema::model::{Column, Default, Handle, Table};
use schema::show_create::{default_text, hex_bytes};
use types::{SqlType, TypeKind, Value};

use super::{CATALOG, Context, Row, number, optional, signed, text};

pub(super) fn columns(ctx: &Context) -> Vec<Row> {
    let zone = ctx.surroundings.time_zone();
    let mut rows = Vec::new();
    for (_, table) in ctx.tables() {
        for (position, at) in (1..).zip(table.public_columns()) {
            rows.push(column_row(table, at, position, &zone));
        }
    }
    rows
}

fn column_row(table: &Table, at: usize, position: u64, zone: &TimeZone) -> Row {
    let column = &table.columns[at];
    let ty = &column.ty;
    let (precision, scale) = numeric(ty);
    let is_text = ty.is_string() && !ty.is_binary();
    vec![
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        text(&column.name),
        number(position),
        optional(default(column, zone)),
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
        text(column_key(table, at)),
        text(extra(column)),
        text(if table.database == schema::model::INFORMATION_SCHEMA {
            "select"
        } else {
            "select,insert,update,references"
        }),
        text(&column.comment),
        text(""),
        Value::Null,
    ]
}

/// A string type's length; NULL for the others.
fn length(ty: &SqlType, value: u64) -> Value {
    if !ty.is_string() {
        return Value::Null;
    }
    i64::try_from(value).map_or(Value::Null, signed)
}

fn characters(ty: &SqlType) -> u64 {
    match ty.kind {
        TypeKind::Char | TypeKind::VarChar => u64::from(ty.length),
        _ => ty.max_bytes(),
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
        TypeKind::Float => (Some(12), None),
        TypeKind::Double => (Some(22), None),
        _ => (None, None),
    }
}

/// The default as SHOW COLUMNS and COLUMN_DEFAULT show it: without quotes.
pub fn default(column: &Column, zone: &TimeZone) -> Option<String> {
    match &column.default {
        Default::None | Default::Null | Default::Dropped => None,
        Default::Now if column.ty.decimals > 0 => Some(format!("CURRENT_TIMESTAMP({})", column.ty.decimals)),
        Default::Now => Some("CURRENT_TIMESTAMP".to_owned()),
        Default::NowExpression(fsp) => Some(schema::default_value::now_call(*fsp)),
        Default::Literal(literal) if column.ty.is_binary() => {
            // MySQL shows hexadecimal digits, as far as the first zero byte.
            let bytes = hex_bytes(literal).unwrap_or_else(|| literal.clone().into_bytes());
            let shown = bytes.iter().take_while(|b| **b != 0);
            Some(shown.fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}")))
        }
        Default::Literal(literal) => Some(default_text(column, literal, zone)),
    }
}

/// What a new row has in the column before anything is put there, as COM_FIELD_LIST tells it: text, or the bytes of a
/// binary column. `None` is NULL.
pub fn initial(column: &Column, zone: &TimeZone) -> Option<Vec<u8>> {
    let text = match &column.default {
        Default::Literal(literal) if column.ty.is_binary() => literal.clone(),
        Default::Literal(literal) => default_text(column, literal, zone),
        _ if column.nullable => return None,
        _ => implicit(&column.ty),
    };
    let bytes = hex_bytes(&text).filter(|_| column.ty.is_binary());
    Some(bytes.unwrap_or_else(|| text.into_bytes()))
}

/// EXTRA.
pub fn extra(column: &Column) -> String {
    let now = match column.ty.decimals {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        fsp => format!("CURRENT_TIMESTAMP({fsp})"),
    };
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    if matches!(column.default, Default::Now | Default::NowExpression(_)) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_now {
        words.push(format!("on update {now}"));
    }
    words.join(" ")
}

/// COLUMN_KEY: `PRI`, `UNI`, `MUL` or nothing. Source: manual 26.3.8 "The INFORMATION_SCHEMA COLUMNS Table".
pub fn column_key(table: &Table, column: usize) -> &'static str {
    let in_primary = match table.handle {
        // A unique key that cannot be NULL is shown as the primary key that is not there.
        Handle::Hidden => table
            .public_indexes()
            .find(|i| {
                let whole = |p: &schema::model::IndexPart| {
                    p.prefix.is_none() && table.columns.get(p.column).is_some_and(|c| !c.nullable)
                };
                i.unique && i.parts.iter().all(whole)
            })
            .is_some_and(|i| i.parts.iter().any(|p| p.column == column)),
        _ => table.primary_parts().iter().any(|p| p.column == column),
    };
    if in_primary {
        return "PRI";
    }
    let mut leading = table
        .public_indexes()
        .filter(|i| i.parts.first().is_some_and(|p| p.column == column))
        .peekable();
    if leading.peek().is_none() {
        ""
    } else if leading.any(|i| i.unique && i.parts.len() == 1) {
        "UNI"
    } else {
        "MUL"
    }
}
