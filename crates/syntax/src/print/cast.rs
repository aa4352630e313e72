//! CAST and its types.

use super::printer::Printer;
use crate::ast::{CastType, Expr};

pub fn cast(printer: &mut Printer<'_>, operand: &Expr, ty: &CastType) {
    // `CAST(x AT TIME ZONE 'zone' AS DATETIME)` has the zone in a call of its own.
    let (operand, zone) = match operand {
        Expr::Function { name, args } if name == "at time zone" => (&args[0], args.get(1)),
        _ => (operand, None),
    };
    printer.put("cast(");
    printer.expr(operand);
    if let Some(Expr::Keyword(zone)) = zone {
        printer.put(" at time zone ");
        printer.quoted(zone);
    }
    printer.put(" as ");
    cast_type(printer, ty);
    printer.put(")");
}

/// `CONVERT(operand USING charset)`
pub fn convert_using(printer: &mut Printer<'_>, operand: &Expr, charset: &str) {
    printer.put("convert(");
    printer.expr(operand);
    printer.put(" using ");
    printer.put(&charset.to_lowercase());
    printer.put(")");
}

/// A type of CAST.
pub fn cast_type(printer: &mut Printer<'_>, ty: &CastType) {
    let optional = |length: &Option<u32>| length.map_or(String::new(), |length| format!("({length})"));
    let fraction = |digits: u8| match digits {
        0 => String::new(),
        digits => format!("({digits})"),
    };
    let text = match ty {
        CastType::Binary(length) => format!("char{} charset binary", optional(length)),
        CastType::Char {
            length,
            charset,
            binary,
        } => {
            let charset = charset
                .as_deref()
                .unwrap_or(printer.style.charset)
                .to_ascii_lowercase();
            let binary = if *binary { " binary" } else { "" };
            format!("char{} charset {charset}{binary}", optional(length))
        }
        CastType::NChar(length) => format!("char{} charset utf8mb3", optional(length)),
        CastType::Signed => "signed".into(),
        CastType::Unsigned => "unsigned".into(),
        CastType::Date => "date".into(),
        CastType::Time(digits) => format!("time{}", fraction(*digits)),
        CastType::DateTime(digits) => format!("datetime{}", fraction(*digits)),
        CastType::Year => "year".into(),
        CastType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        CastType::Float => "float".into(),
        CastType::Double => "double".into(),
        CastType::Json => "json".into(),
        CastType::Array(element) => {
            match &**element {
                CastType::Binary(length) => printer.put(&format!("binary{}", optional(length))),
                element => returned_type(printer, element),
            }
            " array".into()
        }
    };
    printer.put(&text);
}

/// A type after RETURNING of JSON_VALUE, whose form differs from CAST's.
pub fn returned_type(printer: &mut Printer<'_>, ty: &CastType) {
    match ty {
        CastType::Decimal { precision, scale } => printer.put(&format!("decimal({precision}, {scale})")),
        CastType::Char {
            length,
            charset: None,
            binary: false,
        } => {
            let length = length.map_or(String::new(), |length| format!("({length})"));
            printer.put(&format!("char{length}"));
        }
        _ => cast_type(printer, ty),
    }
}
