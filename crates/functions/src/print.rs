//! Expressions as MySQL prints them in error messages: `(`shop`.`t`.`a` + 1)`.

use types::{SqlType, TypeKind, Value};

use crate::cast::conversion::Conversion;
use crate::expr::Call;
use crate::{EvalContext, Expr};

/// Prints an expression. If the context is given, parameters that stand for literals of the text are printed as their
/// values; those of a prepared statement are not.
pub(crate) fn expr(expr: &Expr, ctx: Option<&EvalContext>) -> String {
    match expr.as_stored() {
        Expr::Column { label, index, .. } => match label.as_str() {
            Some(label) => label.to_owned(),
            None => format!("`column {index}`"),
        },
        Expr::Param {
            ty, nullable: true, ..
        } if ty.kind != TypeKind::Null => "?".to_owned(),
        Expr::Param { index, ty, .. } => match ctx.and_then(|c| c.params.get(*index)) {
            Some(value) => literal(value, ty),
            None => "?".to_owned(),
        },
        Expr::Outer { slot, ty, .. } => match ctx.map(|c| c.state.outer(*slot)) {
            Some(value) => literal(&value, ty),
            None => "?".to_owned(),
        },
        Expr::Literal { value, ty } => literal(value, ty),
        Expr::Call { function, args, .. } => call(function.0.name, args, ctx),
        Expr::Cast {
            input,
            implicit: true,
            ..
        } => self::expr(input, ctx),
        Expr::Cast { input, ty, .. } => cast(input, ty, ctx),
        Expr::Case {
            branches, otherwise, ..
        } => {
            let mut text = "(case".to_owned();
            for (condition, value) in branches {
                text += &format!(
                    " when {} then {}",
                    self::expr(condition, ctx),
                    self::expr(value, ctx)
                );
            }
            if let Some(otherwise) = otherwise {
                text += &format!(" else {}", self::expr(otherwise, ctx));
            }
            text + " end)"
        }
    }
}

/// A call of a function or operator.
pub(crate) fn call(name: &str, args: &[Expr], ctx: Option<&EvalContext>) -> String {
    let printed: Vec<String> = args.iter().map(|a| expr(a, ctx)).collect();
    match (name, printed.as_slice()) {
        ("aggregate result", [a]) => a.clone(),
        ("unary -", [a]) => format!("-({a})"),
        ("~", [a]) => format!("~({a})"),
        ("not", [a]) => format!("(not({a}))"),
        ("is null", [a]) => format!("({a} is null)"),
        ("is not null", [a]) => format!("({a} is not null)"),
        ("between", [a, b, c]) => format!("({a} between {b} and {c})"),
        ("collate", [a, name]) => format!("({a} collate {})", name.trim_matches('\'')),
        ("convert using", [a, name]) => format!("convert({a} using {})", name.trim_matches('\'')),
        ("in", [a, list @ ..]) => format!("({a} in ({}))", list.join(",")),
        ("div", [a, b]) => format!("({a} DIV {b})"),
        (operator, [_, _, ..]) if is_infix(operator) => {
            format!("({})", printed.join(&format!(" {operator} ")))
        }
        (name, args) => format!("{name}({})", args.join(",")),
    }
}

/// `cast(x as decimal(5,2))`.
pub(crate) fn cast(input: &Expr, ty: &SqlType, ctx: Option<&EvalContext>) -> String {
    format!("cast({} as {})", expr(input, ctx), cast_type(ty))
}

fn is_infix(name: &str) -> bool {
    let symbol = name.bytes().all(|b| b.is_ascii_punctuation());
    symbol && !matches!(name, "@" | "~") || matches!(name, "and" | "or" | "xor" | "like" | "regexp")
}

fn cast_type(ty: &SqlType) -> String {
    let fsp = |name: &str| {
        if ty.decimals > 0 {
            format!("{name}({})", ty.decimals)
        } else {
            name.to_owned()
        }
    };
    let sized = |name: &str| {
        if ty.length == u32::MAX {
            name.to_owned()
        } else {
            format!("{name}({})", ty.length)
        }
    };
    match ty.kind {
        TypeKind::Decimal => format!("decimal({},{})", ty.length, ty.decimals),
        TypeKind::Float => "float".to_owned(),
        TypeKind::Double => "double".to_owned(),
        TypeKind::Date => "date".to_owned(),
        TypeKind::DateTime | TypeKind::Timestamp => fsp("datetime"),
        TypeKind::Time => fsp("time"),
        TypeKind::Year => "year".to_owned(),
        TypeKind::Json => "json".to_owned(),
        _ if ty.is_integer() && ty.unsigned => "unsigned".to_owned(),
        _ if ty.is_integer() => "signed".to_owned(),
        _ if ty.is_binary() => sized("binary"),
        _ => format!("{} charset {}", sized("char"), ty.collation.charset().name()),
    }
}

fn literal(value: &Value, ty: &SqlType) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            format!("0x{digits}")
        }
        value if ty.is_temporal() => {
            let name = match ty.kind {
                TypeKind::Date => "DATE",
                TypeKind::Time => "TIME",
                _ => "TIMESTAMP",
            };
            format!("{name}'{}'", value.display_text(ty))
        }
        value if ty.has_members() => literal(&Value::String(value.display_text(ty)), ty),
        value if ty.kind == TypeKind::Bit => value.display_text(&SqlType::BIGINT_UNSIGNED),
        value => {
            let text = value.display_text(ty);
            // MySQL's parser has no negative numbers, only negations.
            text.strip_prefix('-')
                .map_or(text.clone(), |number| format!("-({number})"))
        }
    }
}

impl Call<'_> {
    /// The call as error messages print it.
    pub fn text(&self) -> String {
        call(self.def.name, self.args, Some(self.ctx))
    }

    /// An argument as messages print it.
    pub(crate) fn argument_text(&self, index: usize) -> String {
        self.args
            .get(index)
            .map_or(String::new(), |arg| expr(arg, Some(self.ctx)))
    }

    /// Error 1690: the result is out of range of `kind` ("BIGINT", "BIGINT UNSIGNED", "DOUBLE", "DECIMAL").
    pub fn out_of_range(&self, kind: &str) -> types::Error {
        types::Error::new(
            types::errno::ER_DATA_OUT_OF_RANGE,
            format!("{kind} value is out of range in '{}'", self.text()),
        )
    }
}

impl Conversion<'_> {
    /// Error 1690: the converted value is out of range of the type.
    pub fn out_of_range(&self, kind: &str) -> types::Error {
        types::Error::new(
            types::errno::ER_DATA_OUT_OF_RANGE,
            format!(
                "{kind} value is out of range in '{}'",
                expr(self.input, Some(self.ctx))
            ),
        )
    }

    /// The conversion as messages print it.
    pub fn text(&self) -> String {
        cast(self.input, &self.to, Some(self.ctx))
    }
}
