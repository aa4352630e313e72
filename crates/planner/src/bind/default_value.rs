//! Default values: of `DEFAULT(column)`, and of a column's definition.

use catalog::model::Default;
use functions::bind::{call, implicit_cast};
use functions::{EvalContext, Expr, Strictness, assign};
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::Binder;
use super::expr::Context;
use super::scope::{NoNames, TableBinding};
use crate::ast::{DefaultClause, Expr as AstExpr};

const ER_DEFAULT_AS_VAL_GENERATED: u16 = 3773;

impl Binder<'_> {
    /// The default value of a column, as an expression. Fails with 1364 where there is none.
    pub fn default_value(&self, table: &TableBinding, offset: usize) -> Result<Expr> {
        let column = &table.table.columns[offset];
        match &column.default {
            Default::Null => Ok(implicit_cast(Expr::null(), column.ty)),
            Default::None if column.nullable => Ok(implicit_cast(Expr::null(), column.ty)),
            Default::None | Default::Dropped => Err(Error::new(
                errno::ER_NO_DEFAULT_FOR_FIELD,
                format!("Field '{}' doesn't have a default value", column.name),
            )),
            Default::NowExpression(_) => Err(Error::new(
                ER_DEFAULT_AS_VAL_GENERATED,
                "DEFAULT function cannot be used with default value expressions",
            )),
            Default::Now => {
                let digits = Expr::literal(Value::Int(i64::from(column.ty.decimals)), SqlType::BIGINT);
                call("now", vec![digits], &self.types)
            }
            Default::Literal(text) => {
                if column.ty.kind == TypeKind::Timestamp {
                    // Its value is in this session's zone.
                    self.not_cacheable();
                }
                let value = catalog::layout::default_value(column, text, self.env.time_zone)?;
                Ok(Expr::literal(value, column.ty))
            }
        }
    }

    /// The default of a definition in the form the catalog keeps: checked, and as text of the column's type.
    /// Fails with 1067.
    pub fn definition_default(
        &self,
        name: &str,
        ty: SqlType,
        clause: &DefaultClause,
        nullable: bool,
    ) -> Result<Default> {
        let invalid = || {
            Error::new(
                errno::ER_INVALID_DEFAULT,
                format!("Invalid default value for '{name}'"),
            )
        };
        let literal = match clause {
            DefaultClause::Now(digits) => {
                let is_moment = matches!(ty.kind, TypeKind::DateTime | TypeKind::Timestamp);
                return if is_moment && *digits == ty.decimals {
                    Ok(Default::Now)
                } else {
                    Err(invalid())
                };
            }
            DefaultClause::NowExpression(digits) => {
                let is_moment = matches!(ty.kind, TypeKind::DateTime | TypeKind::Timestamp);
                return if is_moment && *digits <= ty.decimals {
                    Ok(Default::NowExpression(*digits))
                } else {
                    Err(Error::not_supported(
                        "expressions as default values",
                        "use a literal, or CURRENT_TIMESTAMP",
                    ))
                };
            }
            DefaultClause::Literal(AstExpr::Null) => {
                return if nullable {
                    Ok(Default::Null)
                } else {
                    Err(invalid())
                };
            }
            DefaultClause::Literal(literal) => literal,
        };
        if ty.is_blob_or_text() || ty.kind == TypeKind::Json {
            return Err(Error::new(
                errno::ER_BLOB_CANT_HAVE_DEFAULT,
                format!("BLOB, TEXT, GEOMETRY or JSON column '{name}' can't have a default value"),
            ));
        }
        let bound = self.scalar(literal, &Context::of(&NoNames))?;
        let bound = if ty.is_numeric() {
            super::literal::as_number(literal, bound)
        } else {
            bound
        };
        // A default is checked strictly whatever the mode, but for what the modes about zero dates allow.
        let context = EvalContext {
            sql_mode: functions::SqlMode {
                strict: true,
                ..self.env.sql_mode
            },
            strictness: Strictness::Error,
            time_zone: self.env.time_zone,
            ..EvalContext::default()
        };
        let value = functions::eval_value(&bound, &context).map_err(|_| invalid())?;
        let value = assign::value(value, &bound.ty(), &ty, name, 1, &context).map_err(|_| invalid())?;
        Ok(Default::Literal(
            self.default_text(value, ty).ok_or_else(invalid)?,
        ))
    }

    /// The text of a value, as the catalog writes defaults: TIMESTAMPs in UTC, bytes as hexadecimal digits, FLOATs with all
    /// digits, of which clients are shown six.
    fn default_text(&self, value: Value, ty: SqlType) -> Option<String> {
        if let Value::Bytes(bytes) = &value {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            return Some(format!("0x{digits}"));
        }
        let value = match (ty.kind, value) {
            (TypeKind::Timestamp, Value::UInt(0)) => Value::UInt(0),
            (TypeKind::Timestamp, Value::UInt(packed)) => {
                Value::UInt(self.env.time_zone.local_to_utc(packed)?)
            }
            (_, value) => value,
        };
        let shown = match ty.kind {
            TypeKind::Float => SqlType::DOUBLE,
            _ => ty,
        };
        String::from_utf8(value.to_text(&shown)?).ok()
    }
}
