//! What the server offers and does: engines, character sets, collations, variables, connections.

use types::{Charset, Collation, Result, Value};

use super::{Context, ProcessRow, Row, number, optional, signed, text};

/// One engine, under the name that clients ask for.
pub(super) fn engines() -> Vec<Row> {
    vec![
        [
            "InnoDB",
            "DEFAULT",
            "StemDB: transactions, row-level locking",
            "YES",
            "NO",
            "YES",
        ]
        .map(text)
        .to_vec(),
    ]
}

/// Also for SHOW PLUGINS.
pub fn plugins() -> Vec<Row> {
    ["caching_sha2_password", "mysql_native_password"]
        .into_iter()
        .map(|name| {
            vec![
                text(name),
                text("1.0"),
                text("ACTIVE"),
                text("AUTHENTICATION"),
                text("2.1"),
                Value::Null,
                Value::Null,
                text("StemDB"),
                text("Password authentication"),
                text("Apache-2.0"),
                text("FORCE"),
            ]
        })
        .collect()
}

/// `(name, default collation, description, bytes of the longest character)`, for SHOW CHARACTER SET too.
pub fn charset_description(charset: Charset) -> &'static str {
    match charset {
        Charset::Utf8mb4 | Charset::Utf8mb3 => "UTF-8 Unicode",
        Charset::Latin1 => "cp1252 West European",
        Charset::Ascii => "US ASCII",
        Charset::Binary => "Binary pseudo charset",
    }
}

pub(super) fn character_sets() -> Vec<Row> {
    let mut charsets = Charset::ALL;
    charsets.sort_by_key(|c| c.name());
    charsets
        .into_iter()
        .map(|c| {
            vec![
                text(c.name()),
                text(c.default_collation().name()),
                text(charset_description(c)),
                number(u64::from(c.max_bytes_per_char())),
            ]
        })
        .collect()
}

fn sorted_collations() -> [Collation; Collation::ALL.len()] {
    let mut collations = Collation::ALL;
    collations.sort_by_key(|c| c.name());
    collations
}

pub(super) fn collations() -> Vec<Row> {
    sorted_collations()
        .into_iter()
        .map(|c| {
            let is_default = c.charset().default_collation() == c;
            vec![
                text(c.name()),
                text(c.charset().name()),
                number(u64::from(c.id())),
                text(if is_default { "Yes" } else { "" }),
                text("Yes"),
                number(c.sort_length()),
                text(if c.pads_space() { "PAD SPACE" } else { "NO PAD" }),
            ]
        })
        .collect()
}

pub(super) fn applicability() -> Vec<Row> {
    sorted_collations()
        .into_iter()
        .map(|c| vec![text(c.name()), text(c.charset().name())])
        .collect()
}

/// `engine`: with the column that performance_schema has more.
pub(super) fn processlist(ctx: &Context, engine: bool) -> Vec<Row> {
    ctx.surroundings
        .processes()
        .into_iter()
        .map(|p| {
            let mut row = process(p);
            if engine {
                row.push(text("PRIMARY"));
            }
            row
        })
        .collect()
}

fn process(p: ProcessRow) -> Row {
    vec![
        number(p.id),
        text(p.user),
        text(p.host),
        optional(p.database),
        text(p.command),
        signed(p.time_s),
        optional(p.state),
        optional(p.info),
    ]
}

/// As TiDB has it: the same of all nodes, each row beginning with its node's address.
pub(super) fn cluster_processlist(ctx: &Context) -> Result<Vec<Row>> {
    let all = ctx.surroundings.cluster_processes()?;
    let row = |(node, p): (String, ProcessRow)| std::iter::once(text(node)).chain(process(p)).collect();
    Ok(all.into_iter().map(row).collect())
}

/// Names and values.
pub(super) fn named(list: Vec<(String, String)>) -> Vec<Row> {
    list.into_iter()
        .map(|(name, value)| vec![text(name), text(value)])
        .collect()
}
