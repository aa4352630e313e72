//! A column type's name as MySQL prints it: in SHOW CREATE TABLE, SHOW COLUMNS and information_schema.
//!
//! Not here: collations, which are clauses of the column. See [`crate::show_create`].

use types::{SqlType, TypeKind};

/// `int unsigned`, `decimal(10,2)`, `varchar(20)` ...: `information_schema.columns.column_type`.
pub fn column_type(ty: &SqlType) -> String {
    let mut text = data_type(ty).to_owned();
    match ty.kind {
        // The only display width that MySQL 8 still shows, as clients take it for BOOLEAN.
        TypeKind::TinyInt if ty.length == 1 && !ty.unsigned => text.push_str("(1)"),
        TypeKind::Decimal => text.push_str(&format!("({},{})", ty.length, ty.decimals)),
        TypeKind::Float | TypeKind::Double if ty.decimals < SqlType::NOT_FIXED => {
            text.push_str(&format!("({},{})", ty.length, ty.decimals));
        }
        TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time if ty.decimals > 0 => {
            text.push_str(&format!("({})", ty.decimals));
        }
        TypeKind::Char | TypeKind::VarChar => text.push_str(&format!("({})", ty.length)),
        _ => {}
    }
    if ty.unsigned && ty.kind != TypeKind::Year {
        text.push_str(" unsigned");
    }
    text
}

/// The bare name: `information_schema.columns.data_type`.
pub fn data_type(ty: &SqlType) -> &'static str {
    let binary = ty.is_binary();
    match ty.kind {
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
        TypeKind::Char if binary => "binary",
        TypeKind::Char => "char",
        TypeKind::VarChar if binary => "varbinary",
        TypeKind::VarChar => "varchar",
        TypeKind::TinyText if binary => "tinyblob",
        TypeKind::TinyText => "tinytext",
        TypeKind::Text if binary => "blob",
        TypeKind::Text => "text",
        TypeKind::MediumText if binary => "mediumblob",
        TypeKind::MediumText => "mediumtext",
        TypeKind::LongText if binary => "longblob",
        TypeKind::LongText => "longtext",
        TypeKind::Json => "json",
    }
}

/// Largest number of bytes a string type holds; 0 for the other types.
pub fn max_bytes(ty: &SqlType) -> u64 {
    match ty.kind {
        TypeKind::Char | TypeKind::VarChar => {
            u64::from(ty.length) * u64::from(ty.collation.charset().max_bytes_per_char())
        }
        TypeKind::TinyText => 255,
        TypeKind::Text => 65_535,
        TypeKind::MediumText => 16_777_215,
        TypeKind::LongText | TypeKind::Json => 4_294_967_295,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use types::Collation;

    use super::*;

    #[test]
    fn names_are_mysqls() {
        let int = |kind, length, unsigned| SqlType {
            kind,
            length,
            unsigned,
            ..SqlType::BIGINT
        };
        assert_eq!(column_type(&int(TypeKind::TinyInt, 1, false)), "tinyint(1)");
        assert_eq!(column_type(&int(TypeKind::TinyInt, 1, true)), "tinyint unsigned");
        assert_eq!(column_type(&int(TypeKind::Int, 11, false)), "int");
        assert_eq!(column_type(&SqlType::BIGINT_UNSIGNED), "bigint unsigned");
        assert_eq!(column_type(&SqlType::YEAR), "year");
        assert_eq!(column_type(&SqlType::decimal(10, 0)), "decimal(10,0)");
        assert_eq!(column_type(&SqlType::DOUBLE), "double");
        assert_eq!(column_type(&SqlType { length: 7, decimals: 3, ..SqlType::FLOAT }), "float(7,3)");
        assert_eq!(column_type(&SqlType::timestamp(0)), "timestamp");
        assert_eq!(column_type(&SqlType::time(3)), "time(3)");
        assert_eq!(column_type(&SqlType::varchar(5, Collation::Binary)), "varbinary(5)");
        assert_eq!(column_type(&SqlType::varchar(5, Collation::AsciiBin)), "varchar(5)");
    }
}
