//! Calls: synonyms are printed by one name, some functions as operators, some with clauses among their
//! arguments.

use super::printer::Printer;
use super::{cast, operators};
use crate::ast::{CastType, Expr, NumberText};

/// Functions that MySQL prints under another name. Source: MySQL 8.0.33's answers.
const SYNONYMS: &[(&str, &str)] = &[
    ("atan2", "atan"),
    ("ceil", "ceiling"),
    ("character_length", "char_length"),
    ("day", "dayofmonth"),
    ("json_merge", "json_merge_preserve"),
    ("lcase", "lower"),
    ("octet_length", "length"),
    ("power", "pow"),
    ("schema", "database"),
    ("sha1", "sha"),
    ("substring", "substr"),
    ("mid", "substr"),
    ("ucase", "upper"),
];

pub fn function(printer: &mut Printer<'_>, name: &str, args: &[Expr]) {
    let name = name.to_ascii_lowercase();
    match (name.as_str(), args) {
        ("mod", [left, right]) => operators::infix(printer, "%", left, right),
        ("isnull", [operand]) => {
            printer.put("(");
            printer.expr(operand);
            printer.put(" is null)");
        }
        ("date_add" | "timestampadd" | "date_sub", _) => date_arithmetic(printer, &name, args),
        ("extract", [unit, date]) => {
            printer.put("extract(");
            printer.expr(unit);
            printer.put(" from ");
            printer.expr(date);
            printer.put(")");
        }
        ("timestampdiff", [Expr::Keyword(unit), from, to]) => {
            printer.put("timestampdiff(");
            printer.put(&unit.to_ascii_uppercase());
            printer.put(",");
            printer.separated(&[from, to], ",", |printer, arg| printer.expr(arg));
            printer.put(")");
        }
        ("get_format", [Expr::Keyword(kind), region]) => {
            printer.put("get_format(");
            printer.put(&kind.to_ascii_uppercase());
            printer.put(", ");
            printer.expr(region);
            printer.put(")");
        }
        ("trim leading" | "trim trailing" | "trim both", [text, what]) => {
            printer.put("trim(");
            printer.put(name.trim_start_matches("trim "));
            printer.put(" ");
            printer.expr(what);
            printer.put(" from ");
            printer.expr(text);
            printer.put(")");
        }
        ("instr", [text, what]) => printer.call("locate", &[what, text]),
        ("member of", [value, document]) => {
            operators::put_operand(printer, value);
            printer.put(" member of (");
            printer.expr(document);
            printer.put(")");
        }
        // No digits after the point is what they have without the number.
        (
            "now" | "sysdate" | "curtime" | "utc_time" | "utc_timestamp",
            [Expr::Number(NumberText::Integer(digits))],
        ) if digits == "0" => {
            printer.call(&name, &[]);
        }
        ("bin", [number]) => conv(printer, number, 2),
        ("oct", [number]) => conv(printer, number, 8),
        ("from_unixtime", [seconds, format]) => {
            printer.put("date_format(from_unixtime(");
            printer.expr(seconds);
            printer.put("),");
            printer.expr(format);
            printer.put(")");
        }
        ("datediff", [to, from]) => {
            printer.put("(to_days(");
            printer.expr(to);
            printer.put(") - to_days(");
            printer.expr(from);
            printer.put("))");
        }
        ("match against" | "match in boolean mode" | "match with query expansion", [query, columns @ ..]) => {
            printer.put("(match ");
            printer.separated(columns, ",", |printer, column| printer.expr(column));
            printer.put(" against (");
            printer.expr(query);
            match name.as_str() {
                "match in boolean mode" => printer.put(" in boolean mode"),
                "match with query expansion" => printer.put(" with query expansion"),
                _ => {}
            }
            printer.put("))");
        }
        ("week", [date]) => week(printer, "week", date, printer.style.week_format),
        ("yearweek", [date]) => week(printer, "yearweek", date, 0),
        ("weekofyear", [date]) => week(printer, "week", date, 3),
        ("date", [operand]) => cast_of(printer, operand, "date"),
        ("time", [operand]) => cast_of(printer, operand, "time"),
        ("timestamp", [operand]) => cast_of(printer, operand, "datetime"),
        ("char", [args @ .., Expr::Keyword(charset)]) => {
            printer.put("char(");
            printer.exprs(args);
            if charset != "binary" {
                printer.put(" using ");
                printer.put(charset);
            }
            printer.put(")");
        }
        ("weight_string", [text, Expr::Keyword(form), length, ..]) => {
            weight_string(printer, text, form, length);
        }
        ("json_value", [document, path, clauses @ ..]) => json_value(printer, document, path, clauses),
        _ => {
            let printed = SYNONYMS.iter().find(|(synonym, _)| *synonym == name);
            printer.put(printed.map_or(name.as_str(), |(_, printed)| printed));
            printer.put("(");
            printer.exprs(args);
            printer.put(")");
        }
    }
}

/// `AS BINARY(n)` is printed as a cast; of the form with three numbers MySQL prints the weights alone.
fn weight_string(printer: &mut Printer<'_>, text: &Expr, form: &str, length: &Expr) {
    printer.put("weight_string(");
    let is_zero = matches!(length, Expr::Number(NumberText::Integer(digits)) if digits == "0");
    match form {
        "binary" => {
            printer.put("cast(");
            printer.expr(text);
            printer.put(" as char(");
            printer.expr(length);
            printer.put(") charset binary)");
        }
        _ if is_zero => printer.expr(text),
        _ => {
            printer.expr(text);
            printer.put(" as char(");
            printer.expr(length);
            printer.put(")");
        }
    }
    printer.put(")");
}

/// What numbers weeks, with its mode.
fn week(printer: &mut Printer<'_>, name: &str, date: &Expr, mode: u8) {
    printer.put(name);
    printer.put("(");
    printer.expr(date);
    printer.put(&format!(",{mode})"));
}

/// A number in another base: `conv(n,10,base)`.
fn conv(printer: &mut Printer<'_>, number: &Expr, base: u8) {
    printer.put("conv(");
    printer.expr(number);
    printer.put(&format!(",10,{base})"));
}

fn cast_of(printer: &mut Printer<'_>, operand: &Expr, ty: &str) {
    printer.put("cast(");
    printer.expr(operand);
    printer.put(" as ");
    printer.put(ty);
    printer.put(")");
}

/// `(date + interval amount unit)`; TIMESTAMPADD has the unit first.
fn date_arithmetic(printer: &mut Printer<'_>, name: &str, args: &[Expr]) {
    let (date, amount, unit) = match (name, args) {
        ("timestampadd", [unit, amount, date]) => (date, amount, unit),
        (_, [date, amount, unit]) => (date, amount, unit),
        _ => return printer.call(name, &args.iter().collect::<Vec<_>>()),
    };
    printer.put("(");
    operators::put_operand(printer, date);
    printer.put(if name == "date_sub" {
        " - interval "
    } else {
        " + interval "
    });
    operators::put_operand(printer, amount);
    printer.put(" ");
    printer.expr(unit);
    printer.put(")");
}

/// `clauses` has a NULL cast to the type, then keyword and default of ON EMPTY and of ON ERROR. See
/// `parser::call_clauses`.
fn json_value(printer: &mut Printer<'_>, document: &Expr, path: &Expr, clauses: &[Expr]) {
    printer.put("json_value(");
    printer.expr(document);
    printer.put(", ");
    match path {
        Expr::Text(path) => printer.quoted(path),
        other => printer.expr(other),
    }
    match clauses.first() {
        Some(Expr::Cast { ty, .. }) => {
            printer.put(" returning ");
            cast::returned_type(printer, ty);
        }
        _ => {
            let ty = CastType::Char {
                length: Some(512),
                charset: None,
                binary: false,
            };
            printer.put(" returning ");
            cast::returned_type(printer, &ty);
        }
    }
    let conditions = clauses.get(1..).unwrap_or_default();
    let is_null = |condition: &Expr| matches!(condition, Expr::Keyword(word) if word == "null");
    // NULL is the default of both clauses.
    if conditions.iter().step_by(2).all(is_null) {
        return printer.put(")");
    }
    for (condition, place) in conditions.chunks_exact(2).zip([" on empty", " on error"]) {
        printer.put(" ");
        printer.expr(&condition[0]);
        if matches!(&condition[0], Expr::Keyword(word) if word == "default") {
            printer.put(" ");
            printer.expr(&condition[1]);
        }
        printer.put(place);
    }
    printer.put(")");
}
