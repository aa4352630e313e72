//! Properties of a column as information_schema.COLUMNS, SHOW COLUMNS and COM_FIELD_LIST show them.

use functions::TimeZone;
use schema::default_value::implicit;
use schema::model::{Column, Default, Handle, Index, IndexPart, Table};
use schema::show_create::{default_text, hex_bytes};

use crate::keys::all_indexes;

/// The default as SHOW COLUMNS and COLUMN_DEFAULT show it: without quotes.
pub fn default(column: &Column, zone: &TimeZone) -> Option<String> {
    match &column.default {
        Default::None | Default::Null | Default::Dropped => None,
        Default::Now if column.ty.decimals > 0 => Some(format!("CURRENT_TIMESTAMP({})", column.ty.decimals)),
        Default::Now => Some("CURRENT_TIMESTAMP".to_owned()),
        Default::Expression(expression) => Some(escaped(&expression.text)),
        Default::Literal(literal) if column.ty.is_binary() => {
            // MySQL shows hexadecimal digits, as far as the first zero byte.
            let bytes = hex_bytes(literal).unwrap_or_else(|| literal.clone().into_bytes());
            if bytes.is_empty() {
                return Some(String::new());
            }
            let shown = bytes.iter().take_while(|b| **b != 0);
            Some(shown.fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}")))
        }
        Default::Literal(literal) => Some(default_text(column, literal, zone)),
    }
}

/// The value of a column for which a new row gives none, as COM_FIELD_LIST returns it: text, or the bytes of
/// a binary column. `None` is NULL.
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

/// The text of an expression as information_schema shows it: escaped like a string.
pub fn escaped(expression: &str) -> String {
    expression.replace('\\', "\\\\").replace('\'', "\\'")
}

/// The expression of an index that has the column as a part, if it is one.
pub fn index_expression(column: &Column) -> Option<String> {
    let generated = column.generated.as_ref().filter(|_| column.hidden)?;
    Some(escaped(&generated.expression.text))
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
    if matches!(column.default, Default::Now | Default::Expression(_)) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_now {
        words.push(format!("on update {now}"));
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        words.push(format!("{kind} GENERATED"));
    }
    if column.invisible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}

/// COLUMN_KEY: `PRI`, `UNI`, `MUL` or nothing. Source: manual 26.3.8 "The INFORMATION_SCHEMA COLUMNS Table".
pub fn column_key(table: &Table, column: usize) -> &'static str {
    let of_system = match table.is_virtual() {
        true => all_indexes(table),
        false => Vec::new(),
    };
    let has_words = |index: &&Index| index.full_text.is_some();
    let shown = table
        .public_indexes()
        .filter(has_words)
        .map(|index| index.shown(table));
    let shown: Vec<Index> = shown.chain(of_system).collect();
    let stored = |index: &&Index| index.full_text.is_none();
    let indexes = || table.public_indexes().filter(stored).chain(&shown);
    let in_primary = match table.handle {
        // Without a primary key, a unique key that cannot be NULL is shown as one.
        Handle::Hidden => {
            let is_whole = |part: &IndexPart| {
                part.prefix.is_none() && table.columns.get(part.column).is_some_and(|c| !c.nullable)
            };
            let primary = indexes().find(|index| index.primary);
            primary
                .or_else(|| indexes().find(|index| index.unique && index.parts.iter().all(is_whole)))
                .is_some_and(|index| index.parts.iter().any(|part| part.column == column))
        }
        _ => table.primary_parts().iter().any(|p| p.column == column),
    };
    if in_primary {
        return "PRI";
    }
    let mut leading = indexes()
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
