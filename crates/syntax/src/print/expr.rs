//! Expressions.

use types::Charset;

use super::Printer;
use crate::ast::{
    BinaryOp, CastType, Expr, Introducer, NumberText, OrderItem, Quantifier, Query, TemporalKind, UnaryOp,
    VariableScope,
};

impl Printer<'_> {
    pub fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Null => self.put("NULL"),
            Expr::Bool(true) => self.put("true"),
            Expr::Bool(false) => self.put("false"),
            Expr::Number(NumberText::Integer(text) | NumberText::Decimal(text) | NumberText::Float(text)) => {
                self.put(text);
            }
            Expr::Text(text) => self.literal(text),
            Expr::Keyword(word) => self.put(word),
            Expr::Introduced {
                charset,
                bytes,
                quoted,
            } => self.introduced(charset, bytes, *quoted),
            Expr::Bytes(bytes) => self.bytes(bytes),
            Expr::Temporal { kind, text } => {
                self.put(match kind {
                    TemporalKind::Date => "DATE",
                    TemporalKind::Time => "TIME",
                    TemporalKind::Timestamp => "TIMESTAMP",
                });
                self.quoted(text);
            }
            Expr::Parameter(_) => self.put("?"),
            Expr::Column(name) => {
                let name = self.style.names.column(name);
                self.column(&name);
            }
            Expr::SystemVariable { scope, name } => {
                self.put(match scope {
                    Some(VariableScope::Global) => "@@global.",
                    Some(VariableScope::Session) => "@@session.",
                    Some(VariableScope::NextTransaction) | None => "@@",
                });
                self.name(name);
            }
            Expr::UserVariable(name) => self.user_variable(name),
            Expr::Assign { name, value } => {
                self.put("(");
                self.user_variable(name);
                self.put(":=");
                self.expr(value);
                self.put(")");
            }
            Expr::Unary { op, operand } => self.unary(*op, operand),
            Expr::Binary { op, left, right } => self.binary(*op, left, right),
            Expr::And(list) => self.conditions(" and ", list),
            Expr::Or(list) => self.conditions(" or ", list),
            Expr::Is {
                operand,
                test,
                negated,
            } => self.truth_test(operand, *test, *negated),
            Expr::Between {
                operand,
                low,
                high,
                negated,
            } => self.between(operand, low, high, *negated),
            Expr::In {
                operand,
                list,
                negated,
            } => self.in_list(operand, list, *negated),
            Expr::Like {
                operand,
                pattern,
                escape,
                negated,
            } => self.negatable(*negated, |printer| {
                printer.like(operand, pattern, escape.as_deref())
            }),
            Expr::Regexp {
                operand,
                pattern,
                negated,
            } => self.negatable(*negated, |printer| {
                printer.put("regexp_like(");
                printer.expr(operand);
                printer.put(",");
                printer.expr(pattern);
                printer.put(")");
            }),
            Expr::Case {
                operand,
                branches,
                otherwise,
            } => self.case(operand.as_deref(), branches, otherwise.as_deref()),
            Expr::Cast { operand, ty } => self.cast(operand, ty),
            Expr::ConvertUsing { operand, charset } => {
                self.put("convert(");
                self.expr(operand);
                self.put(" using ");
                self.put(charset);
                self.put(")");
            }
            Expr::Collate { operand, collation } => {
                self.put("(");
                self.operand(operand);
                self.put(" collate ");
                self.put(collation);
                self.put(")");
            }
            Expr::Binarize(operand) => self.cast(operand, &CastType::Binary(None)),
            Expr::Row(list) => {
                self.put("(");
                self.exprs(list);
                self.put(")");
            }
            Expr::Function { name, args } => self.function(name, args),
            Expr::Aggregate { name, distinct, args } => self.aggregate(name, *distinct, args),
            Expr::GroupConcat {
                distinct,
                args,
                order_by,
                separator,
            } => self.group_concat(*distinct, args, order_by, separator),
            Expr::Default(column) => match column {
                Some(column) => {
                    self.put("default(");
                    let column = self.style.names.column(column);
                    self.column(&column);
                    self.put(")");
                }
                None => self.put("default"),
            },
            Expr::Values(column) => {
                self.put("values(");
                self.column(column);
                self.put(")");
            }
            Expr::Subquery(query) => self.subquery(query),
            Expr::Exists(query) => {
                self.put("exists");
                self.subquery(query);
            }
            Expr::InSubquery {
                operand,
                query,
                negated,
            } => self.negatable(*negated, |printer| {
                printer.operand(operand);
                printer.put(" in ");
                printer.subquery(query);
            }),
            Expr::Quantified {
                op,
                operand,
                quantifier,
                query,
            } => self.quantified(*op, operand, *quantifier, query),
            Expr::Over { function, window } => self.over(function, window),
        }
    }

    /// A query that is an operand.
    fn subquery(&mut self, query: &Query) {
        let names_items = std::mem::replace(&mut self.names_items, false);
        self.parenthesised(query);
        self.names_items = names_items;
    }

    fn negatable(&mut self, negated: bool, print: impl FnOnce(&mut Self)) {
        match negated {
            true => self.not(print),
            false => print(self),
        }
    }

    /// A string literal of the statement.
    fn literal(&mut self, text: &str) {
        if self.style.introducers {
            self.put("_");
            self.put(self.style.charset);
        }
        self.quoted(text);
    }

    fn introduced(&mut self, charset: &Introducer, bytes: &[u8], quoted: bool) {
        let text = std::str::from_utf8(bytes).ok().filter(|_| quoted);
        if let (Introducer::Named(name), Some(text), true) = (charset, text, self.style.introducers) {
            return self.introduced_text(name, text);
        }
        match (charset, text) {
            (Introducer::National, Some(text)) => self.literal(text),
            (Introducer::National | Introducer::Client, _) => self.bytes(bytes),
            (Introducer::Named(name), text) => {
                self.put("_");
                self.put(&name.to_ascii_lowercase());
                match text {
                    Some(text) => self.quoted(text),
                    None => {
                        self.put(" ");
                        self.bytes(bytes);
                    }
                }
            }
        }
    }

    /// A text that a definition stores, where it stands for what it means: the client's bytes, read in the
    /// character set of the introducer. What has no meaning there is stored as bytes.
    fn introduced_text(&mut self, name: &str, text: &str) {
        let client = Charset::from_name(self.style.charset).unwrap_or(Charset::Utf8mb4);
        let sent = client.encode(text);
        let charset = match Charset::from_name(name) {
            // Bytes that are text are easier to read.
            Some(Charset::Binary) => Some(Charset::Utf8mb4),
            charset => charset,
        };
        self.put("_");
        self.put(&name.to_ascii_lowercase());
        match charset.and_then(|charset| charset.decode(&sent)) {
            Some(text) => self.quoted(&text),
            None => {
                self.put(" ");
                self.bytes(&sent);
            }
        }
    }

    fn user_variable(&mut self, name: &str) {
        self.put("@");
        self.name(name);
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        match op {
            UnaryOp::Not => self.negation(operand),
            UnaryOp::Minus | UnaryOp::BitNot => {
                self.put(if op == UnaryOp::Minus { "-(" } else { "~(" });
                self.expr(operand);
                self.put(")");
            }
        }
    }

    pub fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) {
        match op {
            BinaryOp::JsonExtract => self.call("json_extract", &[left, right]),
            BinaryOp::JsonUnquote => {
                self.put("json_unquote(");
                self.call("json_extract", &[left, right]);
                self.put(")");
            }
            BinaryOp::Xor => {
                self.put("(");
                self.condition(left);
                self.put(" xor ");
                self.condition(right);
                self.put(")");
            }
            _ => {
                let name = match op {
                    BinaryOp::IntegerDivide => "DIV",
                    _ => op.function(),
                };
                self.infix(name, left, right);
            }
        }
    }

    /// `(left operator right)`
    pub fn infix(&mut self, operator: &str, left: &Expr, right: &Expr) {
        self.put("(");
        self.operand(left);
        self.put(" ");
        self.put(operator);
        self.put(" ");
        self.operand(right);
        self.put(")");
    }

    /// An operand. Expressions that are printed without parentheses get them here.
    pub fn operand(&mut self, expr: &Expr) {
        let is_open = match expr {
            Expr::InSubquery { negated, .. } => !negated,
            Expr::Quantified { .. } | Expr::Over { .. } => true,
            Expr::Function { name, .. } => name == "member of",
            _ => false,
        };
        if is_open {
            self.put("(");
            self.expr(expr);
            return self.put(")");
        }
        self.expr(expr);
    }

    pub fn between(&mut self, operand: &Expr, low: &Expr, high: &Expr, negated: bool) {
        self.put("(");
        self.operand(operand);
        self.put(if negated { " not between " } else { " between " });
        self.operand(low);
        self.put(" and ");
        self.operand(high);
        self.put(")");
    }

    pub fn in_list(&mut self, operand: &Expr, list: &[Expr], negated: bool) {
        if let ([only], false) = (list, matches!(operand, Expr::Row(_))) {
            let op = match negated {
                true => BinaryOp::NotEqual,
                false => BinaryOp::Equal,
            };
            return self.binary(op, operand, only);
        }
        self.put("(");
        self.operand(operand);
        self.put(if negated { " not in (" } else { " in (" });
        self.exprs(list);
        self.put("))");
    }

    fn like(&mut self, operand: &Expr, pattern: &Expr, escape: Option<&Expr>) {
        self.put("(");
        self.operand(operand);
        self.put(" like ");
        self.operand(pattern);
        if let Some(escape) = escape {
            self.put(" escape ");
            self.operand(escape);
        }
        self.put(")");
    }

    fn case(&mut self, operand: Option<&Expr>, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) {
        self.put("(case ");
        if let Some(operand) = operand {
            self.expr(operand);
            self.put(" ");
        }
        for (when, then) in branches {
            self.put("when ");
            self.expr(when);
            self.put(" then ");
            self.expr(then);
            self.put(" ");
        }
        if let Some(otherwise) = otherwise {
            self.put("else ");
            self.expr(otherwise);
            self.put(" ");
        }
        self.put("end)");
    }

    fn cast(&mut self, operand: &Expr, ty: &CastType) {
        // `CAST(x AT TIME ZONE 'zone' AS DATETIME)` has the zone in a call of its own.
        let (operand, zone) = match operand {
            Expr::Function { name, args } if name == "at time zone" => (&args[0], args.get(1)),
            _ => (operand, None),
        };
        self.put("cast(");
        self.expr(operand);
        if let Some(Expr::Keyword(zone)) = zone {
            self.put(" at time zone ");
            self.quoted(zone);
        }
        self.put(" as ");
        self.cast_type(ty);
        self.put(")");
    }

    /// A type of CAST.
    fn cast_type(&mut self, ty: &CastType) {
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
                    .unwrap_or(self.style.charset)
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
                    CastType::Binary(length) => self.put(&format!("binary{}", optional(length))),
                    element => self.returned_type(element),
                }
                " array".into()
            }
        };
        self.put(&text);
    }

    /// A type after RETURNING of JSON_VALUE, whose form differs from CAST's.
    pub fn returned_type(&mut self, ty: &CastType) {
        match ty {
            CastType::Decimal { precision, scale } => self.put(&format!("decimal({precision}, {scale})")),
            CastType::Char {
                length,
                charset: None,
                binary: false,
            } => {
                let length = length.map_or(String::new(), |length| format!("({length})"));
                self.put(&format!("char{length}"));
            }
            _ => self.cast_type(ty),
        }
    }

    fn aggregate(&mut self, name: &str, distinct: bool, args: &[Expr]) {
        self.put(match name {
            "stddev" | "stddev_pop" => "std",
            "var_pop" => "variance",
            other => other,
        });
        self.put(if distinct { "(distinct " } else { "(" });
        match (name, args) {
            ("count", []) => self.put("0"),
            _ => self.exprs(args),
        }
        self.put(")");
    }

    fn group_concat(&mut self, distinct: bool, args: &[Expr], order_by: &[OrderItem], separator: &str) {
        self.put(if distinct {
            "group_concat(distinct "
        } else {
            "group_concat("
        });
        self.exprs(args);
        if !order_by.is_empty() {
            self.put(" order by ");
            self.separated(order_by, ",", |printer, item| {
                printer.expr(&item.expr);
                printer.put(if item.descending { " DESC" } else { " ASC" });
            });
        }
        self.put(" separator ");
        self.quoted(separator);
        self.put(")");
    }

    pub fn quantified(&mut self, op: BinaryOp, operand: &Expr, quantifier: Quantifier, query: &Query) {
        match (op, quantifier) {
            (BinaryOp::Equal, Quantifier::Any) => {
                self.operand(operand);
                self.put(" in ");
                self.subquery(query);
            }
            (BinaryOp::NotEqual, Quantifier::All) => self.not(|printer| {
                printer.operand(operand);
                printer.put(" in ");
                printer.subquery(query);
            }),
            _ => {
                self.operand(operand);
                self.put(" ");
                self.put(op.function());
                self.put(match quantifier {
                    Quantifier::All => " all ",
                    Quantifier::Any => " any ",
                });
                self.subquery(query);
            }
        }
    }
}
