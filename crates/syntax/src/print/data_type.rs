//! Column types.

use super::printer::Printer;
use crate::ast::{DataType, Member, TypeName};

pub fn data_type(printer: &mut Printer<'_>, ty: &DataType) {
    printer.put(name(ty.name));
    match (ty.length, ty.decimals) {
        (Some(length), Some(decimals)) => printer.put(&format!("({length},{decimals})")),
        (Some(length), None) => printer.put(&format!("({length})")),
        (None, _) => {}
    }
    if !ty.members.is_empty() {
        printer.put("(");
        printer.separated(&ty.members, ",", |printer, member| match member {
            Member::Text(text) => printer.quoted(text),
            Member::Bytes(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                printer.put(&format!("0x{digits}"));
            }
        });
        printer.put(")");
    }
    if ty.unsigned {
        printer.put(" unsigned");
    }
    if ty.zerofill {
        printer.put(" zerofill");
    }
    if let Some(charset) = &ty.charset {
        printer.put(" character set ");
        printer.put(charset);
    }
    if ty.binary {
        printer.put(" binary");
    }
    if let Some(collation) = &ty.collation {
        printer.put(" collate ");
        printer.put(collation);
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
