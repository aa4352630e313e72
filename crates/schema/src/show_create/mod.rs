//! SHOW CREATE TABLE and SHOW CREATE DATABASE: statements that create the same object, in exactly MySQL 8.0's
//! form.

mod style;

use functions::TimeZone;
pub use types::quoted;
use types::{Collation, TypeKind, Value};

use crate::expression::Check;
use crate::foreign_key::describe;
use crate::model::{Column, Database, Default, Index, IndexPart, Table};
use crate::partition;
use crate::sharded_id::AutoRandom;
use crate::view::View;

pub use style::Style;

/// The statement that creates the table; options that only TiDB has are in its comments.
/// `next_auto_increment`: the id of the next row, or its sequence number if the table has AUTO_RANDOM.
pub fn table(table: &Table, next_auto_increment: Option<u64>, style: &Style) -> String {
    let mut lines: Vec<String> = table
        .public_columns()
        .map(|at| format!("  {}", column(table, &table.columns[at], style)))
        .collect();
    let integer_key = table.integer_key();
    let indexes = integer_key.iter().chain(table.public_indexes());
    lines.extend(indexes.map(|i| format!("  {}", index(table, i, style))));
    let quoted_name = |name: &str| style.identifier(name);
    let keys = table.public_foreign_keys();
    lines.extend(keys.map(|key| format!("  {}", describe(table, key, &quoted_name))));
    lines.extend(table.public_checks().map(|c| format!("  {}", check(c, style))));
    let mut text = format!(
        "CREATE {}TABLE {} (\n{}\n)",
        if table.is_temporary() { "TEMPORARY " } else { "" },
        style.identifier(&table.name),
        lines.join(",\n"),
    );
    if !style.ansi {
        text.push_str(&options(table, next_auto_increment, style));
    }
    if let Some(partitioning) = &table.partitioning {
        text.push_str(&partition::show::clause(table, partitioning, style));
    }
    text
}

/// What stands between the columns and the partitions.
fn options(table: &Table, next_auto_increment: Option<u64>, style: &Style) -> String {
    let mut text = table.options.shown_first(&|name| style.identifier(name));
    text.push_str(" ENGINE=InnoDB");
    let next = next_auto_increment.filter(|&n| n > 1);
    let is_random = table.auto_random_layout().is_some();
    if let Some(next) = next.filter(|_| !is_random) {
        text.push_str(&format!(" AUTO_INCREMENT={next}"));
    }
    text.push_str(&format!(" DEFAULT CHARSET={}", table.collation.charset().name()));
    if shows_collation(table.collation) {
        text.push_str(&format!(" COLLATE={}", table.collation.name()));
    }
    if let Some(next) = next.filter(|_| is_random) {
        text.push_str(&format!(" /*T![auto_rand_base] AUTO_RANDOM_BASE={next} */"));
    }
    text.push_str(&sharding(table));
    match style.row_format {
        true => text.push_str(&table.options.with_row_format().shown()),
        false => text.push_str(&table.options.shown()),
    }
    if !table.comment.is_empty() {
        text.push_str(&format!(" COMMENT={}", quoted(&table.comment)));
    }
    text.push_str(&table.options.shown_last());
    text
}

/// `/*T! SHARD_ROW_ID_BITS=4 PRE_SPLIT_REGIONS=2 */`, with the options that the table has.
fn sharding(table: &Table) -> String {
    let options = [
        ("SHARD_ROW_ID_BITS", table.shard_row_id_bits),
        ("PRE_SPLIT_REGIONS", table.pre_split_regions),
    ];
    let shown: String = options
        .iter()
        .filter(|(_, bits)| *bits > 0)
        .map(|(name, bits)| format!("{name}={bits} "))
        .collect();
    if shown.is_empty() {
        return shown;
    }
    format!(" /*T! {shown}*/")
}

/// The statement that creates the view. `query`: as it is shown in the session's database.
pub fn view(table: &Table, view: &View, (query, database): (&str, Option<&str>), style: &Style) -> String {
    let mut name = style.identifier(&table.name);
    if database != Some(table.database.as_str()) {
        name = format!("{}.{name}", style.identifier(&table.database));
    }
    let names: Vec<String> = match view.columns_are_named {
        true => table.columns.iter().map(|c| style.identifier(&c.name)).collect(),
        false => Vec::new(),
    };
    let columns = match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(",")),
    };
    let check = view.check_option.map_or_else(String::new, |option| {
        format!(" WITH {} CHECK OPTION", option.name())
    });
    let attributes = match style.ansi {
        true => String::new(),
        false => format!(
            "ALGORITHM={} DEFINER={}@{} SQL SECURITY {} ",
            view.algorithm.name(),
            style.identifier(&view.definer.user),
            style.identifier(&view.definer.host),
            view.security.name(),
        ),
    };
    let query = style.requoted(query);
    format!("CREATE {attributes}VIEW {name}{columns} AS {query}{check}")
}

/// The statement that creates the database, with its options in comments as in MySQL.
pub fn database(database: &Database, if_not_exists: bool, style: &Style) -> String {
    let options = if shows_collation(database.collation) {
        format!(
            "{} COLLATE {}",
            database.collation.charset().name(),
            database.collation.name()
        )
    } else {
        database.collation.charset().name().to_owned()
    };
    let condition = if if_not_exists {
        "/*!32312 IF NOT EXISTS*/ "
    } else {
        ""
    };
    format!(
        "CREATE DATABASE {condition}{} /*!40100 DEFAULT CHARACTER SET {options} */ /*!80016 DEFAULT ENCRYPTION='N' */",
        style.identifier(&database.name)
    )
}

/// MySQL omits the default collation of a character set, except for utf8mb4's, since older servers have
/// another default.
fn shows_collation(collation: Collation) -> bool {
    collation != collation.charset().default_collation() || collation == Collation::Utf8mb40900AiCi
}

fn column(table: &Table, column: &Column, style: &Style) -> String {
    let mut text = format!("{} {}", style.identifier(&column.name), column.ty.column_type());
    if column.ty.is_text() || column.ty.has_members() {
        text.push_str(&collation_clauses(table, column));
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        text.push_str(&format!(
            " GENERATED ALWAYS AS ({}) {kind}",
            style
                .of_expressions()
                .requoted_for(&generated.expression.text, table)
        ));
    }
    if !column.nullable {
        text.push_str(" NOT NULL");
    } else if column.ty.kind == TypeKind::Timestamp {
        text.push_str(" NULL");
    }
    text.push_str(&column.options.shown_of_column());
    if let Some(default) = default_clause(table, column, style) {
        text.push_str(&format!(" DEFAULT {default}"));
    }
    if column.on_update_now {
        text.push_str(&format!(" ON UPDATE {}", now(column)));
    }
    if column.auto_increment {
        text.push_str(" AUTO_INCREMENT");
    }
    if let Some(random) = column.auto_random {
        let range = match u64::from(random.range_bits) {
            AutoRandom::RANGE_BITS_DEFAULT => String::new(),
            bits => format!(", {bits}"),
        };
        let shards = random.shard_bits;
        text.push_str(&format!(" /*T![auto_rand] AUTO_RANDOM({shards}{range}) */"));
    }
    if column.invisible {
        text.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        text.push_str(&format!(" COMMENT {}", quoted(&column.comment)));
    }
    text
}

fn check(check: &Check, style: &Style) -> String {
    let enforced = if check.enforced {
        ""
    } else {
        " /*!80016 NOT ENFORCED */"
    };
    let (name, text) = (style.identifier(&check.name), &check.expression.text);
    format!("CONSTRAINT {name} CHECK ({text}){enforced}")
}

fn collation_clauses(table: &Table, column: &Column) -> String {
    let collation = column.ty.collation;
    let differs = collation != table.collation;
    let mut text = String::new();
    if column.explicit_collation || differs {
        text.push_str(&format!(" CHARACTER SET {}", collation.charset().name()));
    }
    // The default one could be taken for that of MySQL 5.7.
    let is_new_default = collation == Collation::DEFAULT && differs;
    if column.explicit_collation || is_new_default || collation != collation.charset().default_collation() {
        text.push_str(&format!(" COLLATE {}", collation.name()));
    }
    text
}

fn now(column: &Column) -> String {
    match column.ty.decimals {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        fsp => format!("CURRENT_TIMESTAMP({fsp})"),
    }
}

/// The text after DEFAULT; `None` if there is no clause.
fn default_clause(table: &Table, column: &Column, style: &Style) -> Option<String> {
    match &column.default {
        Default::Now => Some(now(column)),
        Default::Expression(expression) => {
            let text = style.of_expressions().requoted_for(&expression.text, table);
            Some(format!("({text})"))
        }
        Default::Literal(text) => Some(literal(column, text, &style.time_zone)),
        _ if column.generated.is_some() || column.auto_increment => None,
        Default::Null | Default::None if column.nullable && !column.ty.is_blob_or_text() => {
            Some("NULL".to_owned())
        }
        Default::Null | Default::None | Default::Dropped => None,
    }
}

fn literal(column: &Column, text: &str, time_zone: &TimeZone) -> String {
    if column.ty.kind == TypeKind::Bit {
        return text.to_owned();
    }
    if !column.ty.is_binary() {
        return quoted(&default_text(column, text, time_zone));
    }
    match hex_bytes(text).map(String::from_utf8) {
        Some(Ok(printable)) => quoted(&printable),
        // Not text: a hexadecimal literal, in capitals.
        Some(Err(_)) | None if text.starts_with("0x") => format!("0x{}", text[2..].to_ascii_uppercase()),
        _ => quoted(text),
    }
}

/// A literal default as a client sees it: a TIMESTAMP in its time zone, a FLOAT with six digits.
pub fn default_text(column: &Column, text: &str, time_zone: &TimeZone) -> String {
    match column.ty.kind {
        TypeKind::Timestamp => crate::default_value::timestamp_in_zone(text, column.ty.decimals, time_zone),
        TypeKind::Float => match text.parse() {
            Ok(number) => Value::Double(number).display_text(&column.ty),
            Err(_) => text.to_owned(),
        },
        // The empty value of a VARBINARY is shown as text, unlike all others.
        TypeKind::VarChar if text == "0x" && column.ty.is_binary() => String::new(),
        _ => text.to_owned(),
    }
}

/// The bytes of a `0x...` literal.
pub fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    if digits.len() % 2 != 0 {
        return None;
    }
    digits
        .chunks(2)
        .map(|pair| {
            let digit = |b: u8| (b as char).to_digit(16);
            Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)
        })
        .collect()
}

fn index(table: &Table, index: &Index, style: &Style) -> String {
    let mut text = if index.primary {
        "PRIMARY KEY".to_owned()
    } else {
        let kind = match (&index.full_text, index.unique) {
            (Some(_), _) => "FULLTEXT KEY",
            (None, true) => "UNIQUE KEY",
            (None, false) => "KEY",
        };
        format!("{kind} {}", style.identifier(&index.name))
    };
    text.push_str(&format!(
        " ({})",
        key_parts(table, &index.shown(table).parts, style)
    ));
    if style.ansi {
        return text;
    }
    if index.using_btree {
        text.push_str(" USING BTREE");
    }
    if !index.comment.is_empty() {
        text.push_str(&format!(" COMMENT {}", quoted(&index.comment)));
    }
    if index.invisible {
        text.push_str(" /*!80000 INVISIBLE */");
    }
    if index.full_text.as_ref().is_some_and(|words| words.ngram) {
        text.push_str(" /*!50100 WITH PARSER `ngram` */ ");
    }
    text
}

fn key_parts(table: &Table, parts: &[IndexPart], style: &Style) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|part| {
            let name = table
                .columns
                .get(part.column)
                .map_or_else(String::new, |c| part_name(table, c, style));
            let prefix = part
                .prefix
                .map_or_else(String::new, |length| format!("({length})"));
            let order = if part.descending { " DESC" } else { "" };
            format!("{name}{prefix}{order}")
        })
        .collect();
    parts.join(",")
}

/// The column of an index's part, or its expression.
fn part_name(table: &Table, column: &Column, style: &Style) -> String {
    match &column.generated {
        Some(generated) if column.hidden => {
            format!(
                "({})",
                style
                    .of_expressions()
                    .requoted_for(&generated.expression.text, table)
            )
        }
        _ => style.identifier(&column.name),
    }
}

#[cfg(test)]
mod tests;
