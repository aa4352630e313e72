//! Expressions as conditions: a value that is not a truth value is compared with 0, and NOT is moved inward.

use super::Printer;
use crate::ast::{BinaryOp, Expr, Quantifier, TruthTest, UnaryOp};

/// Functions whose result is a truth value in MySQL.
const TRUTH_FUNCTIONS: &[&str] = &[
    "is_uuid",
    "is_ipv4",
    "is_ipv6",
    "is_ipv4_compat",
    "is_ipv4_mapped",
    "isnull",
    "json_contains",
    "json_contains_path",
    "json_overlaps",
    "json_schema_valid",
    "json_valid",
    "member of",
    "regexp_like",
    "strcmp",
];

/// Whether MySQL accepts the expression as a condition without a comparison.
fn is_truth(expr: &Expr) -> bool {
    match expr {
        Expr::Bool(_)
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Is { .. }
        | Expr::Between { .. }
        | Expr::In { .. }
        | Expr::Like { .. }
        | Expr::Regexp { .. }
        | Expr::Exists(_)
        | Expr::InSubquery { .. }
        | Expr::Quantified { .. }
        | Expr::Unary { op: UnaryOp::Not, .. } => true,
        Expr::Binary { op, .. } => op.is_comparison() || *op == BinaryOp::Xor,
        Expr::Function { name, .. } => TRUTH_FUNCTIONS
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known)),
        _ => false,
    }
}

/// The comparison that is true where `op` is false.
fn negated(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::GreaterOrEqual,
        BinaryOp::GreaterOrEqual => BinaryOp::Less,
        BinaryOp::Greater => BinaryOp::LessOrEqual,
        BinaryOp::LessOrEqual => BinaryOp::Greater,
        _ => return None,
    })
}

impl Printer<'_> {
    /// A condition: an operand of AND, OR, XOR and IS TRUE, or the whole of WHERE, HAVING and ON.
    pub fn condition(&mut self, expr: &Expr) {
        if is_truth(expr) {
            return self.expr(expr);
        }
        self.compared_with_zero("<>", expr);
    }

    fn compared_with_zero(&mut self, operator: &str, expr: &Expr) {
        self.put("(0 ");
        self.put(operator);
        self.put(" ");
        self.operand(expr);
        self.put(")");
    }

    /// Operands of AND and OR.
    pub fn conditions(&mut self, operator: &str, list: &[Expr]) {
        self.put("(");
        self.separated(list, operator, Self::condition);
        self.put(")");
    }

    /// `NOT expr`.
    pub fn negation(&mut self, expr: &Expr) {
        match expr {
            Expr::And(list) => self.negations(" or ", list),
            Expr::Or(list) => self.negations(" and ", list),
            // NOT is that of the first operand.
            Expr::Binary {
                op: BinaryOp::Xor,
                left,
                right,
            } => {
                self.put("(");
                self.negation(left);
                self.put(" xor ");
                self.condition(right);
                self.put(")");
            }
            Expr::Binary { op, left, right } if negated(*op).is_some() => {
                self.binary(negated(*op).unwrap_or(*op), left, right);
            }
            Expr::Is {
                operand,
                test,
                negated,
            } => self.truth_test(operand, *test, !negated),
            Expr::Between {
                operand,
                low,
                high,
                negated,
            } => self.between(operand, low, high, !negated),
            Expr::In {
                operand,
                list,
                negated,
            } => self.in_list(operand, list, !negated),
            Expr::Quantified {
                op,
                operand,
                quantifier,
                query,
            } if negated(*op).is_some() => {
                let quantifier = match quantifier {
                    Quantifier::All => Quantifier::Any,
                    Quantifier::Any => Quantifier::All,
                };
                self.quantified(negated(*op).unwrap_or(*op), operand, quantifier, query);
            }
            Expr::Unary {
                op: UnaryOp::Not,
                operand,
            } => self.condition(operand),
            _ if is_truth(expr) => self.not(|printer| printer.expr(expr)),
            _ => self.compared_with_zero("=", expr),
        }
    }

    fn negations(&mut self, operator: &str, list: &[Expr]) {
        self.put("(");
        self.separated(list, operator, Self::negation);
        self.put(")");
    }

    /// `(not(...))`
    pub fn not(&mut self, print: impl FnOnce(&mut Self)) {
        self.put("(not(");
        print(self);
        self.put("))");
    }

    pub fn truth_test(&mut self, operand: &Expr, test: TruthTest, negated: bool) {
        self.put("(");
        let name = match test {
            TruthTest::Null | TruthTest::Unknown => {
                self.operand(operand);
                "null"
            }
            TruthTest::True => {
                self.condition(operand);
                "true"
            }
            TruthTest::False => {
                self.condition(operand);
                "false"
            }
        };
        self.put(if negated { " is not " } else { " is " });
        self.put(name);
        self.put(")");
    }
}
