//! A conversion of a value from one type to another, and its warnings.

use types::{Result, SqlType, TypeKind, errno};

use crate::datum::Datum;
use crate::json::loss::{JsonLoss, json_name};
use crate::{EvalContext, Expr};

/// A conversion, apart from the value.
#[derive(Clone, Copy)]
pub(crate) struct Conversion<'a> {
    pub from: SqlType,
    pub to: SqlType,
    pub implicit: bool,
    pub ctx: &'a EvalContext,
    /// The expression converted, for messages.
    pub input: &'a Expr,
}

impl Conversion<'_> {
    /// Warning 1292, an error in strict DML.
    pub fn truncated(&self, kind: &str, datum: Datum<'_>) -> Result<()> {
        if self.reads_large_column() {
            return Ok(());
        }
        let text = datum.to_value().display_text(&self.from);
        self.ctx.conversion_lost(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!("Truncated incorrect {kind} value: '{text}'"),
        )
    }

    /// Whether a TEXT or BLOB column is converted to a number. MySQL uses the number at its beginning without
    /// a warning about the rest. An explicit CAST does so only to DOUBLE.
    fn reads_large_column(&self) -> bool {
        use TypeKind::*;
        // The result of an aggregate is a column without a label.
        matches!(self.input, Expr::Column { label, .. } if label.as_str().is_some())
            && matches!(self.from.kind, TinyText | Text | MediumText | LongText)
            && (self.implicit || self.to.is_float())
    }

    /// Warning 3156, an error in strict DML: JSON that is not a value of the type. `kind` is the type's name
    /// in messages.
    pub fn invalid_json(&self, kind: &str) -> Result<()> {
        self.json_lost(JsonLoss::Invalid, kind)
    }

    /// Reports that JSON is not a value of the type, for any of the reasons.
    pub fn json_lost(&self, loss: JsonLoss, kind: &str) -> Result<()> {
        let column = json_name(self.input);
        let (code, reason) = loss.code();
        self.ctx.conversion_lost(
            code,
            format!("{reason} JSON value for CAST to {kind} from column {column} at row 1"),
        )
    }
}
