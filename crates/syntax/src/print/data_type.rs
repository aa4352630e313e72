//! Column types.

use super::Printer;
use crate::ast::{DataType, Member, TypeName};

impl Printer<'_> {
    pub fn data_type(&mut self, ty: &DataType) {
        self.put(name(ty.name));
        match (ty.length, ty.decimals) {
            (Some(length), Some(decimals)) => self.put(&format!("({length},{decimals})")),
            (Some(length), None) => self.put(&format!("({length})")),
            (None, _) => {}
        }
        if !ty.members.is_empty() {
            self.put("(");
            self.separated(&ty.members, ",", |printer, member| match member {
                Member::Text(text) => printer.quoted(text),
                Member::Bytes(bytes) => {
                    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                    printer.put(&format!("0x{digits}"));
                }
            });
            self.put(")");
        }
        if ty.unsigned {
            self.put(" unsigned");
        }
        if ty.zerofill {
            self.put(" zerofill");
        }
        if let Some(charset) = &ty.charset {
            self.put(" character set ");
            self.put(charset);
        }
        if ty.binary {
            self.put(" binary");
        }
        if let Some(collation) = &ty.collation {
            self.put(" collate ");
            self.put(collation);
        }
    }
}

fn name(name: TypeName) -> &'static str {
    match name {
        TypeName::TinyInt => "tinyint",
        TypeName::SmallInt => "smallint",
        TypeName::MediumInt => "mediumint",
        TypeName::Int => "int",
        TypeName::BigInt => "bigint",
        TypeName::Bool => "boolean",
        TypeName::Serial => "serial",
        TypeName::Decimal => "decimal",
        TypeName::Float => "float",
        TypeName::Double => "double",
        TypeName::Char => "char",
        TypeName::VarChar => "varchar",
        TypeName::Binary => "binary",
        TypeName::VarBinary => "varbinary",
        TypeName::TinyText => "tinytext",
        TypeName::Text => "text",
        TypeName::MediumText => "mediumtext",
        TypeName::LongText => "longtext",
        TypeName::TinyBlob => "tinyblob",
        TypeName::Blob => "blob",
        TypeName::MediumBlob => "mediumblob",
        TypeName::LongBlob => "longblob",
        TypeName::Date => "date",
        TypeName::Time => "time",
        TypeName::DateTime => "datetime",
        TypeName::Timestamp => "timestamp",
        TypeName::Year => "year",
        TypeName::Json => "json",
        TypeName::Bit => "bit",
        TypeName::Enum => "enum",
        TypeName::Set => "set",
    }
}
