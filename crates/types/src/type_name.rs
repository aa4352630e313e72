//! The names of types as MySQL prints them: in SHOW CREATE TABLE, SHOW COLUMNS, information_schema.
//!
//! Not here: collations, which are clauses of the column, and the protocol's codes (`wire`).

use std::fmt::Write;

use crate::{Members, SqlType, TypeKind};

impl SqlType {
    /// `int unsigned`, `decimal(10,2)`, `varchar(20)`, `timestamp(6)`:
    /// `information_schema.columns.column_type`.
    pub fn column_type(&self) -> String {
        let mut text = self.data_type().to_owned();
        // Writing to a String cannot fail.
        let _ = match self.kind {
            // Besides that of ZEROFILL, MySQL 8 shows only this display width, because clients read it as
            // BOOLEAN.
            TypeKind::TinyInt if self.length == 1 && !self.unsigned => write!(text, "(1)"),
            _ if self.zerofill && self.is_integer() => write!(text, "({})", self.length),
            TypeKind::Decimal => write!(text, "({},{})", self.length, self.decimals),
            TypeKind::Float | TypeKind::Double if self.decimals < Self::NOT_FIXED => {
                write!(text, "({},{})", self.length, self.decimals)
            }
            TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time if self.decimals > 0 => {
                write!(text, "({})", self.decimals)
            }
            TypeKind::Char | TypeKind::VarChar | TypeKind::Bit => write!(text, "({})", self.length),
            TypeKind::Enum(members) | TypeKind::Set(members) => write!(text, "({})", quoted_list(members)),
            _ => Ok(()),
        };
        if self.unsigned && !matches!(self.kind, TypeKind::Year | TypeKind::Bit) {
            text.push_str(" unsigned");
        }
        if self.zerofill {
            text.push_str(" zerofill");
        }
        text
    }

    /// The bare name: `information_schema.columns.data_type`.
    pub fn data_type(&self) -> &'static str {
        let of_strings = |text, binary| if self.is_binary() { binary } else { text };
        match self.kind {
            TypeKind::Null => "null",
            TypeKind::TinyInt => "tinyint",
            TypeKind::SmallInt => "smallint",
            TypeKind::MediumInt => "mediumint",
            TypeKind::Int => "int",
            TypeKind::BigInt => "bigint",
            TypeKind::Year => "year",
            TypeKind::Decimal => "decimal",
            TypeKind::Float => "float",
            TypeKind::Double => "double",
            TypeKind::Date => "date",
            TypeKind::DateTime => "datetime",
            TypeKind::Timestamp => "timestamp",
            TypeKind::Time => "time",
            TypeKind::Char => of_strings("char", "binary"),
            TypeKind::VarChar => of_strings("varchar", "varbinary"),
            TypeKind::TinyText => of_strings("tinytext", "tinyblob"),
            TypeKind::Text => of_strings("text", "blob"),
            TypeKind::MediumText => of_strings("mediumtext", "mediumblob"),
            TypeKind::LongText => of_strings("longtext", "longblob"),
            TypeKind::Json => "json",
            TypeKind::Enum(_) => "enum",
            TypeKind::Set(_) => "set",
            TypeKind::Bit => "bit",
        }
    }

    /// The most bytes that a value of a string type, an ENUM, a SET or JSON takes as text in its own
    /// character set; 0 for other types.
    pub fn max_bytes(&self) -> u64 {
        match self.kind {
            TypeKind::Char | TypeKind::VarChar | TypeKind::Enum(_) | TypeKind::Set(_) => {
                u64::from(self.length) * u64::from(self.collation.charset().max_bytes_per_char())
            }
            TypeKind::TinyText => 255,
            TypeKind::Text => 65_535,
            TypeKind::MediumText => 16_777_215,
            TypeKind::LongText | TypeKind::Json => 4_294_967_295,
            _ => 0,
        }
    }

    /// How many bytes MySQL counts for a value of any other type, in rows and keys; 0 for strings and JSON.
    pub fn fixed_bytes(&self) -> u64 {
        let fraction = u64::from(self.decimals.div_ceil(2));
        match self.kind {
            TypeKind::TinyInt | TypeKind::Year => 1,
            TypeKind::SmallInt => 2,
            TypeKind::MediumInt | TypeKind::Date => 3,
            TypeKind::Int | TypeKind::Float => 4,
            TypeKind::BigInt | TypeKind::Double => 8,
            TypeKind::Time => 3 + fraction,
            TypeKind::Timestamp => 4 + fraction,
            TypeKind::DateTime => 5 + fraction,
            TypeKind::Decimal => {
                let scale = u32::from(self.decimals);
                decimal_bytes(self.length.saturating_sub(scale)) + decimal_bytes(scale)
            }
            TypeKind::Enum(members) if members.texts().len() < 256 => 1,
            TypeKind::Enum(_) => 2,
            TypeKind::Set(members) => match members.texts().len().div_ceil(8) as u64 {
                5.. => 8,
                bytes => bytes,
            },
            TypeKind::Bit => u64::from(self.length.div_ceil(8)),
            _ => 0,
        }
    }
}

fn quoted_list(members: Members) -> String {
    let texts: Vec<String> = members.texts().iter().map(|text| quoted(text)).collect();
    texts.join(",")
}

/// A string literal, escaped as in SHOW CREATE TABLE.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("''"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

/// Nine digits take four bytes; the remaining digits take as few bytes as possible.
fn decimal_bytes(digits: u32) -> u64 {
    const REST: [u64; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    u64::from(digits / 9) * 4 + REST[(digits % 9) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    #[test]
    fn names_as_mysql_prints_them() {
        let int = |kind, length, unsigned| SqlType {
            kind,
            length,
            unsigned,
            ..SqlType::BIGINT
        };
        let text = SqlType {
            kind: TypeKind::LongText,
            ..SqlType::varchar(0, Collation::DEFAULT)
        };
        for (ty, expected) in [
            (int(TypeKind::TinyInt, 1, false), "tinyint(1)"),
            (int(TypeKind::TinyInt, 1, true), "tinyint unsigned"),
            (int(TypeKind::Int, 11, false), "int"),
            (SqlType::BIGINT_UNSIGNED, "bigint unsigned"),
            (SqlType::YEAR, "year"),
            (SqlType::decimal(10, 0), "decimal(10,0)"),
            (SqlType::DOUBLE, "double"),
            (
                SqlType {
                    length: 7,
                    decimals: 3,
                    ..SqlType::FLOAT
                },
                "float(7,3)",
            ),
            (
                SqlType {
                    unsigned: true,
                    ..SqlType::decimal(5, 2)
                },
                "decimal(5,2) unsigned",
            ),
            (SqlType::DATE, "date"),
            (SqlType::timestamp(0), "timestamp"),
            (SqlType::timestamp(6), "timestamp(6)"),
            (SqlType::time(3), "time(3)"),
            (SqlType::varchar(16, Collation::Binary), "varbinary(16)"),
            (SqlType::varchar(10, Collation::AsciiBin), "varchar(10)"),
            (
                SqlType {
                    kind: TypeKind::Char,
                    ..SqlType::varchar(4, Collation::Binary)
                },
                "binary(4)",
            ),
            (text, "longtext"),
            (
                SqlType {
                    collation: Collation::Binary,
                    ..text
                },
                "longblob",
            ),
            (SqlType::JSON, "json"),
        ] {
            assert_eq!(ty.column_type(), expected);
        }
    }

    #[test]
    fn bytes_follow_the_character_set() {
        assert_eq!(SqlType::varchar(10, Collation::DEFAULT).max_bytes(), 40);
        assert_eq!(SqlType::varchar(10, Collation::Latin1SwedishCi).max_bytes(), 10);
        assert_eq!(SqlType::BIGINT.max_bytes(), 0);
    }
}
