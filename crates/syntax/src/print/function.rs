//! Calls: synonyms have one name, some functions are operators, some have clauses among their arguments.

use super::Printer;
use crate::ast::{CastType, Expr};

/// Names that MySQL prints by another. Source: its answers.
const SYNONYMS: &[(&str, &str)] = &[
    ("ceil", "ceiling"),
    ("character_length", "char_length"),
    ("day", "dayofmonth"),
    ("lcase", "lower"),
    ("octet_length", "length"),
    ("power", "pow"),
    ("schema", "database"),
    ("sha1", "sha"),
    ("substring", "substr"),
    ("mid", "substr"),
    ("ucase", "upper"),
];

impl Printer<'_> {
    pub fn function(&mut self, name: &str, args: &[Expr]) {
        let name = name.to_ascii_lowercase();
        match (name.as_str(), args) {
            ("mod", [left, right]) => self.infix("%", left, right),
            ("isnull", [operand]) => {
                self.put("(");
                self.expr(operand);
                self.put(" is null)");
            }
            ("date_add" | "timestampadd" | "date_sub", _) => self.date_arithmetic(&name, args),
            ("extract", [unit, date]) => {
                self.put("extract(");
                self.expr(unit);
                self.put(" from ");
                self.expr(date);
                self.put(")");
            }
            ("timestampdiff", [Expr::Keyword(unit), from, to]) => {
                self.put("timestampdiff(");
                self.put(&unit.to_ascii_uppercase());
                self.put(",");
                self.separated(&[from, to], ",", |printer, arg| printer.expr(arg));
                self.put(")");
            }
            ("get_format", [Expr::Keyword(kind), region]) => {
                self.put("get_format(");
                self.put(&kind.to_ascii_uppercase());
                self.put(", ");
                self.expr(region);
                self.put(")");
            }
            ("trim leading" | "trim trailing" | "trim both", [text, what]) => {
                self.put("trim(");
                self.put(name.trim_start_matches("trim "));
                self.put(" ");
                self.expr(what);
                self.put(" from ");
                self.expr(text);
                self.put(")");
            }
            ("instr", [text, what]) => self.call("locate", &[what, text]),
            ("member of", [value, document]) => {
                self.operand(value);
                self.put(" member of (");
                self.expr(document);
                self.put(")");
            }
            ("date", [operand]) => self.cast_of(operand, "date"),
            ("time", [operand]) => self.cast_of(operand, "time"),
            ("timestamp", [operand]) => self.cast_of(operand, "datetime"),
            ("char", [args @ .., Expr::Keyword(charset)]) => {
                self.put("char(");
                self.exprs(args);
                if charset != "binary" {
                    self.put(" using ");
                    self.put(charset);
                }
                self.put(")");
            }
            ("weight_string", [text, Expr::Keyword(form), length]) => {
                self.put("weight_string(");
                self.expr(text);
                self.put(" as ");
                self.put(form);
                self.put("(");
                self.expr(length);
                self.put("))");
            }
            ("json_value", [document, path, clauses @ ..]) => self.json_value(document, path, clauses),
            _ => {
                let printed = SYNONYMS.iter().find(|(synonym, _)| *synonym == name);
                self.put(printed.map_or(name.as_str(), |(_, printed)| printed));
                self.put("(");
                self.exprs(args);
                self.put(")");
            }
        }
    }

    pub fn call(&mut self, name: &str, args: &[&Expr]) {
        self.put(name);
        self.put("(");
        self.separated(args, ",", |printer, arg| printer.expr(arg));
        self.put(")");
    }

    fn cast_of(&mut self, operand: &Expr, ty: &str) {
        self.put("cast(");
        self.expr(operand);
        self.put(" as ");
        self.put(ty);
        self.put(")");
    }

    /// `(date + interval amount unit)`; TIMESTAMPADD has the unit first.
    fn date_arithmetic(&mut self, name: &str, args: &[Expr]) {
        let (date, amount, unit) = match (name, args) {
            ("timestampadd", [unit, amount, date]) => (date, amount, unit),
            (_, [date, amount, unit]) => (date, amount, unit),
            _ => return self.call(name, &args.iter().collect::<Vec<_>>()),
        };
        self.put("(");
        self.operand(date);
        self.put(if name == "date_sub" {
            " - interval "
        } else {
            " + interval "
        });
        self.operand(amount);
        self.put(" ");
        self.expr(unit);
        self.put(")");
    }

    /// The clauses are the type as that of a NULL, then keyword and default of ON EMPTY and ON ERROR; see
    /// `parser::call_clauses`.
    fn json_value(&mut self, document: &Expr, path: &Expr, clauses: &[Expr]) {
        self.put("json_value(");
        self.expr(document);
        self.put(", ");
        match path {
            Expr::Text(path) => self.quoted(path),
            other => self.expr(other),
        }
        match clauses.first() {
            Some(Expr::Cast { ty, .. }) => {
                self.put(" returning ");
                self.returned_type(ty);
            }
            _ => {
                let ty = CastType::Char {
                    length: Some(512),
                    charset: None,
                    binary: false,
                };
                self.put(" returning ");
                self.returned_type(&ty);
            }
        }
        let conditions = clauses.get(1..).unwrap_or_default();
        let is_null = |condition: &Expr| matches!(condition, Expr::Keyword(word) if word == "null");
        // NULL is what both give without a clause.
        if conditions.iter().step_by(2).all(is_null) {
            return self.put(")");
        }
        for (condition, place) in conditions.chunks_exact(2).zip([" on empty", " on error"]) {
            self.put(" ");
            self.expr(&condition[0]);
            if matches!(&condition[0], Expr::Keyword(word) if word == "default") {
                self.put(" ");
                self.expr(&condition[1]);
            }
            self.put(place);
        }
        self.put(")");
    }
}
