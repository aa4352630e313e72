//! Small random tables: few different values, so that many are equal, and many NULLs.
//!
//! Values that are equal are also identical (no case, no trailing spaces, one scale), so that a query's
//! result does not depend on which of two equal values a plan keeps.

use super::super::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Int,
    Decimal,
    Text,
    Date,
}

pub const TYPES: [Type; 4] = [Type::Int, Type::Decimal, Type::Text, Type::Date];

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub ty: Type,
}

/// A table, or another relation in FROM.
#[derive(Debug, Clone)]
pub struct Relation {
    pub name: String,
    pub columns: Vec<Column>,
}

impl Type {
    pub fn random(random: &mut Random) -> Self {
        // Numbers are twice as likely as other types.
        match random.below(5) {
            0 | 1 => Self::Int,
            2 => Self::Decimal,
            3 => Self::Text,
            _ => Self::Date,
        }
    }

    pub fn literal(self, random: &mut Random) -> &'static str {
        let literals: &[&'static str] = match self {
            Self::Int => &["-1", "0", "1", "2", "3", "4", "5"],
            Self::Decimal => &["-2.25", "0.00", "1.00", "1.50", "3.00"],
            Self::Text => &["''", "'a'", "'ab'", "'b'", "'c'"],
            Self::Date => &[
                "DATE '2024-01-01'",
                "DATE '2024-01-02'",
                "DATE '2024-02-29'",
                "DATE '2024-12-31'",
            ],
        };
        random.pick(literals)
    }

    fn declaration(self, random: &mut Random) -> &'static str {
        match self {
            Self::Int => random.pick(&["INT", "BIGINT", "SMALLINT"]),
            Self::Decimal => "DECIMAL(8,2)",
            Self::Text => "VARCHAR(10)",
            Self::Date => "DATE",
        }
    }
}

/// Tables, and the statements that make and fill them.
pub fn tables(random: &mut Random) -> (Vec<Relation>, Vec<String>) {
    let count = 2 + random.below(3);
    let mut statements = Vec::new();
    let tables = (0..count)
        .map(|number| table(format!("t{number}"), random, &mut statements))
        .collect();
    (tables, statements)
}

fn table(name: String, random: &mut Random, statements: &mut Vec<String>) -> Relation {
    let others = 2 + random.below(4);
    let mut columns = vec![Column {
        name: "id".to_string(),
        ty: Type::Int,
    }];
    let key = if random.one_in(4) { "" } else { " PRIMARY KEY" };
    let mut parts = vec![format!("id INT{key}")];
    for number in 0..others {
        let ty = Type::random(random);
        let name = format!("{}{number}", letter(ty));
        parts.push(format!("{name} {}", ty.declaration(random)));
        columns.push(Column { name, ty });
    }
    for _ in 0..random.below(3) {
        let first = &columns[random.below(columns.len())].name;
        let second = &columns[random.below(columns.len())].name;
        let both = first != second && random.one_in(2);
        let second = if both {
            format!(", {second}")
        } else {
            String::new()
        };
        parts.push(format!("KEY ({first}{second})"));
    }
    statements.push(format!("CREATE TABLE {name} ({})", parts.join(", ")));
    let rows = [0, 3, 6, 6, 9, 9, 9, 12, 12, 30][random.below(10)];
    let rows: Vec<String> = (1..=rows).map(|id| row(id, &columns, random)).collect();
    if !rows.is_empty() {
        statements.push(format!("INSERT INTO {name} VALUES {}", rows.join(", ")));
    }
    Relation { name, columns }
}

fn letter(ty: Type) -> &'static str {
    match ty {
        Type::Int => "i",
        Type::Decimal => "d",
        Type::Text => "s",
        Type::Date => "day",
    }
}

/// The first column is the row's number, which is unique.
fn row(id: usize, columns: &[Column], random: &mut Random) -> String {
    let mut values = vec![id.to_string()];
    for column in &columns[1..] {
        let value = match random.one_in(4) {
            true => "NULL",
            false => column.ty.literal(random),
        };
        values.push(value.to_string());
    }
    format!("({})", values.join(", "))
}
