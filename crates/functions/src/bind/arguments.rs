//! The conversions that functions ask for when their arguments are bound, and the widths of converted values.

use types::{Collation, Result, SqlType, TypeKind, Value};

use super::{collation, fraction};
use crate::Expr;
use crate::expr::Binding;

/// How many digits before the point a number of a type may have.
pub(crate) fn integer_digits(ty: &SqlType) -> u32 {
    if ty.is_decimal() {
        ty.length.saturating_sub(u32::from(ty.decimals))
    } else {
        // The display width of a signed integer counts the sign.
        integer_width(ty).saturating_sub(u32::from(!ty.unsigned)).max(1)
    }
}

/// How many characters an integer may take, but for leading zeros: the display width of a column with ZEROFILL
/// may be less.
fn integer_width(ty: &SqlType) -> u32 {
    match ty.zerofill {
        true => ty.computed().as_operand().length,
        false => ty.length,
    }
}

/// How many digits before and after the point an expression may have, as MySQL counts them for DECIMAL
/// results.
pub(crate) fn digits(expr: &Expr) -> (u32, u8) {
    let ty = expr.ty();
    let scale = if ty.is_decimal() || ty.is_temporal() {
        ty.decimals
    } else {
        0
    };
    let whole = match expr {
        Expr::Literal {
            value: Value::Int(v), ..
        } => v.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1),
        Expr::Literal {
            value: Value::UInt(v),
            ..
        } if ty.is_integer() => v.checked_ilog10().map_or(1, |log| log + 1),
        _ => match ty.kind {
            TypeKind::Date => 8,
            TypeKind::DateTime | TypeKind::Timestamp => 14,
            TypeKind::Time => 7,
            _ => integer_digits(&ty),
        },
    };
    (whole, scale)
}

/// A computed DOUBLE with some digits after the point, if their number is fixed.
pub(crate) fn double_with_decimals(decimals: u8) -> SqlType {
    const DIGITS: u32 = 17;
    match decimals < SqlType::NOT_FIXED {
        true => SqlType {
            decimals,
            length: DIGITS + u32::from(decimals),
            ..SqlType::COMPUTED_DOUBLE
        },
        false => SqlType::COMPUTED_DOUBLE,
    }
}

/// How many characters (bytes of binary data) a value of a type takes as text.
pub(crate) fn text_length(ty: &SqlType) -> u32 {
    use TypeKind::*;
    let fraction = |fsp: u8| if fsp > 0 { u32::from(fsp) + 1 } else { 0 };
    match ty.kind {
        Null => 0,
        TinyInt | SmallInt | MediumInt | Int | BigInt | Year => integer_width(ty).max(ty.length).max(1),
        Decimal => ty.length + 1 + u32::from(ty.decimals > 0),
        Float => 12,
        Double => 22,
        Date => 10,
        DateTime | Timestamp => 19 + fraction(ty.decimals),
        Time => 10 + fraction(ty.decimals),
        Json => u32::MAX,
        Char | VarChar | Enum(_) | Set(_) | Bit => ty.length,
        TinyText | Text | MediumText | LongText if ty.is_binary() => ty.length,
        // For these types MySQL counts bytes as characters.
        TinyText | Text => ty.length,
        // Their length counts bytes.
        MediumText | LongText => ty.length / ty.collation.charset().max_bytes_per_char(),
    }
}

/// The type of a value of `ty` as text in `collation`.
pub(crate) fn text_type(ty: &SqlType, collation: Collation) -> SqlType {
    if ty.is_string() {
        let length = if ty.collation.charset() == collation.charset() {
            ty.length
        } else {
            text_length(ty).saturating_mul(if collation == Collation::Binary {
                ty.collation.charset().max_bytes_per_char()
            } else {
                1
            })
        };
        return SqlType {
            length,
            collation,
            ..*ty
        };
    }
    // The text of a BIT is its bytes.
    let collation = match ty.kind {
        TypeKind::Bit => Collation::Binary,
        _ => collation,
    };
    let kind = if ty.kind == TypeKind::Json {
        TypeKind::LongText
    } else {
        TypeKind::VarChar
    };
    SqlType {
        kind,
        ..SqlType::varchar(text_length(ty), collation)
    }
}

/// Converts the expression to `ty`, or returns it unchanged if it has that type. Of IF, CASE and NULLIF the
/// chosen branch is converted from its own type (see [`reads_branches`]).
pub(crate) fn implicit_cast(expr: Expr, ty: SqlType) -> Expr {
    if expr.ty() == ty {
        return expr;
    }
    // A number is read from the stored text without padding, so that warnings show no spaces. An ENUM or SET
    // becomes the number of its member.
    if ty.is_numeric() && !std::ptr::eq(expr.as_stored(), &expr) {
        return implicit_cast(expr.as_stored().clone(), ty);
    }
    if reads_branches(&expr, &ty) {
        return of_branches(expr, ty, &|branch| implicit_cast(branch, ty));
    }
    if ty.is_numeric()
        && let Some(form) = value_behind_text(&expr)
    {
        return implicit_cast(form, ty);
    }
    let expr = hex_as_number(expr, &ty);
    match expr {
        expr if expr.ty() == ty => expr,
        Expr::Literal {
            value: Value::Null, ..
        } => Expr::Literal {
            value: Value::Null,
            ty,
        },
        // The representation is the same, only the collation differs.
        Expr::Literal {
            value: value @ Value::String(_),
            ty: from,
        } if ty.is_string() && !ty.is_binary() && from.is_string() => Expr::Literal {
            value,
            ty: SqlType {
                collation: ty.collation,
                ..from
            },
        },
        expr => Expr::Cast {
            input: Box::new(expr),
            ty,
            implicit: true,
        },
    }
}

/// The value of a text expression in a numeric context, if it is not the number in the text: the weekday's
/// number for DAYNAME, the date for GREATEST and LEAST, or the greatest of the numbers if one of them is a TIME.
pub(crate) fn value_behind_text(expr: &Expr) -> Option<Expr> {
    let Expr::Call { function, args, ty } = expr else {
        return None;
    };
    match function.0.name {
        "dayname" => Some(Expr::Call {
            function: crate::registry::find("weekday")?,
            args: args.clone(),
            ty: SqlType {
                length: 1,
                ..SqlType::BIGINT
            },
        }),
        "greatest" | "least" if ty.is_string() && has_time(args) => {
            let args: Vec<Expr> = args.iter().map(|arg| before_text(arg).clone()).collect();
            let ty = double_with_decimals(fraction::of_times(&args));
            Some(Expr::Call {
                function: *function,
                args: args.into_iter().map(|arg| implicit_cast(arg, ty)).collect(),
                ty,
            })
        }
        "greatest" | "least" if ty.is_string() => {
            let (moment, dates) = args.split_last().filter(|(last, _)| last.ty().is_datetime())?;
            let name = match function.0.name {
                "greatest" => "greatest moment",
                _ => "least moment",
            };
            Some(Expr::Call {
                function: crate::registry::find(name)?,
                args: dates.to_vec(),
                ty: moment.ty(),
            })
        }
        _ => None,
    }
}

/// Whether there is a TIME among values that are compared as texts, and no date.
fn has_time(texts: &[Expr]) -> bool {
    let is_time = |text: &Expr| before_text(text).ty().kind == TypeKind::Time;
    texts.iter().any(is_time) && !texts.last().is_some_and(|last| last.ty().is_datetime())
}

fn before_text(text: &Expr) -> &Expr {
    match text {
        Expr::Cast {
            input,
            implicit: true,
            ..
        } => input,
        other => other,
    }
}

/// Functions read an ENUM or SET as its text. [`implicit_cast`] to a number uses the member's number instead.
pub(crate) fn read_members(expr: Expr) -> Expr {
    let ty = expr.ty();
    match ty.has_members() {
        true => implicit_cast(expr, text_type(&ty, ty.collation)),
        false => expr,
    }
}

/// Whether `expr` as a value of `ty` is the chosen branch of IF, CASE or NULLIF, converted to `ty` directly
/// and not first to the common type of all branches. `IF(1, f, 'a')` is text, but as a number it is the
/// FLOAT's own value, and `IF(1, date, 'a') + 0` is the date's digits. Likewise `IF(1, 5, 1.25)` is a DECIMAL
/// with two decimals, and its text is `5`. (COALESCE, GREATEST and similar functions convert to their own
/// type first.)
pub(crate) fn reads_branches(expr: &Expr, ty: &SqlType) -> bool {
    let chooses = match expr {
        Expr::Call { function, .. } if function.0.name == ELT => ty.is_numeric() && !ty.is_decimal(),
        Expr::Call { function, .. } => function.0.chooses() || function.0.name == NULLIF,
        Expr::Case { .. } => true,
        _ => false,
    };
    let from = expr.ty();
    chooses
        && match from.kind {
            _ if from.is_string() => ty.is_numeric() || ty.is_temporal(),
            _ if from.is_temporal() => ty.is_numeric(),
            _ if from.is_decimal() || from.is_float() => ty.kind != from.kind && ty.kind != TypeKind::Json,
            _ => false,
        }
}

const NULLIF: &str = "nullif";
/// It chooses as IF does, but only integers and doubles are read from the chosen branch.
const ELT: &str = "elt";

/// An expression as the condition of a WHERE, ON or HAVING: of IF, CASE and ELT the chosen branch decides, so that an
/// ENUM is the number of its member.
pub fn branch_condition(expr: Expr) -> Expr {
    match expr.ty().is_string() && reads_branches(&expr, &SqlType::DOUBLE) {
        true => condition(expr),
        false => expr,
    }
}

/// The same IF, CASE or NULLIF, with each branch converted to `ty` by `convert`.
fn of_branches(expr: Expr, ty: SqlType, convert: &dyn Fn(Expr) -> Expr) -> Expr {
    // Without the conversion to the common type of all branches.
    let convert = |branch: Expr| match branch {
        Expr::Cast {
            input,
            implicit: true,
            ..
        } => convert(*input),
        branch => convert(branch),
    };
    match expr {
        Expr::Call { function, args, .. } => {
            let is_branch = |position: usize| (position == 0) == (function.0.name == NULLIF);
            let convert = |(position, arg)| if is_branch(position) { convert(arg) } else { arg };
            Expr::Call {
                function,
                args: args.into_iter().enumerate().map(convert).collect(),
                ty,
            }
        }
        Expr::Case {
            branches, otherwise, ..
        } => Expr::Case {
            branches: branches
                .into_iter()
                .map(|(condition, value)| (condition, convert(value)))
                .collect(),
            otherwise: otherwise.map(|value| Box::new(convert(*value))),
            ty,
        },
        expr => expr,
    }
}

/// The text of a DECIMAL in a query's output, if it differs from the text in the common type of the branches
/// (see [`reads_branches`]). `None` for all other expressions.
pub fn output_text(expr: &Expr) -> Option<Expr> {
    let is_nullif = matches!(expr, Expr::Call { function, .. } if function.0.name == NULLIF);
    let ty = text_type(&expr.ty(), Collation::DEFAULT);
    let mut reads_bits = false;
    expr.walk(&mut |part| reads_bits |= part.ty().kind == TypeKind::Bit);
    (expr.ty().is_decimal() && !is_nullif && !reads_bits && reads_branches(expr, &ty))
        .then(|| implicit_cast(expr.clone(), ty))
}

/// Converts a hexadecimal or bit literal to a number in a numeric context. Among binary literals, these have
/// an unsigned type.
pub(crate) fn hex_as_number(expr: Expr, target: &SqlType) -> Expr {
    if !target.is_numeric() {
        return expr;
    }
    match expr {
        Expr::Literal {
            value: Value::Bytes(bytes),
            ty,
        } if ty.unsigned => {
            if bytes.len() > 8 {
                // Its value is 0, with a warning when it is evaluated.
                return Expr::Cast {
                    input: Box::new(Expr::literal(Value::Bytes(bytes), ty)),
                    ty: SqlType::BIGINT_UNSIGNED,
                    implicit: true,
                };
            }
            let number = bytes.iter().fold(0u64, |v, b| v << 8 | u64::from(*b));
            Expr::Literal {
                value: Value::UInt(number),
                ty: SqlType::BIGINT_UNSIGNED,
            }
        }
        expr => expr,
    }
}

/// An expression used as a truth value: text becomes a number.
pub(crate) fn condition(expr: Expr) -> Expr {
    let ty = expr.ty();
    if ty.is_string() || ty.kind == TypeKind::Json {
        implicit_cast(expr, SqlType::DOUBLE)
    } else {
        expr
    }
}

/// The type that a value has in arithmetic.
pub(crate) fn numeric_type(ty: &SqlType) -> SqlType {
    match ty.kind {
        _ if ty.is_numeric() => *ty,
        TypeKind::Date => SqlType {
            length: 9,
            ..SqlType::BIGINT
        },
        TypeKind::DateTime | TypeKind::Timestamp if ty.decimals == 0 => SqlType {
            length: 15,
            ..SqlType::BIGINT
        },
        TypeKind::DateTime | TypeKind::Timestamp => {
            SqlType::decimal(14 + u32::from(ty.decimals), ty.decimals)
        }
        TypeKind::Time if ty.decimals == 0 => SqlType {
            length: 8,
            ..SqlType::BIGINT
        },
        TypeKind::Time => SqlType::decimal(7 + u32::from(ty.decimals), ty.decimals),
        _ => SqlType::DOUBLE,
    }
}

impl Binding<'_> {
    /// Converts argument `index`, if there is one, to `ty`.
    pub fn cast(&mut self, index: usize, ty: SqlType) {
        if let Some(arg) = self.args.get_mut(index) {
            let expr = std::mem::replace(arg, Expr::null());
            *arg = implicit_cast(expr, ty);
        }
    }

    /// Converts an argument to an integer: to BIGINT unless it is one already.
    pub fn integer(&mut self, index: usize) {
        if !self.ty(index).is_integer() {
            self.cast(index, SqlType::BIGINT);
        }
    }

    /// [`Self::integer`] for an argument that may be missing.
    pub fn integer_if_given(&mut self, index: usize) {
        if index < self.args.len() {
            self.integer(index);
        }
    }

    /// Converts an argument to a double. Integers, FLOATs and DECIMALs stay, because
    /// [`crate::datum::Datum::double`] reads them.
    pub fn double(&mut self, index: usize) {
        if !self.ty(index).is_numeric() {
            self.cast(index, SqlType::DOUBLE);
        }
    }

    /// Converts an argument to a number of any type: text becomes DOUBLE, dates and times become their
    /// digits.
    pub fn number(&mut self, index: usize) {
        if let Some(form) = self.args.get(index).and_then(value_behind_text) {
            // A text is a DOUBLE, whatever is behind it.
            let ty = form.ty();
            let decimals = if ty.is_temporal() || ty.is_float() {
                ty.decimals
            } else {
                SqlType::NOT_FIXED
            };
            self.args[index] = form;
            self.cast(index, double_with_decimals(decimals));
            return;
        }
        let ty = self.ty(index);
        if ty.kind != TypeKind::Null {
            self.cast(index, numeric_type(&ty));
        }
    }

    /// [`Self::number`] for functions of one number, to which a date or time is a DOUBLE.
    pub fn number_or_double(&mut self, index: usize) {
        let ty = self.ty(index);
        match ty.is_temporal() {
            true => self.cast(index, double_with_decimals(ty.decimals)),
            false => self.number(index),
        }
    }

    /// Converts an argument to text. Text and binary data keep their collation; other values become text in
    /// the connection's.
    pub fn text(&mut self, index: usize) {
        let ty = self.ty(index);
        if !ty.is_string() {
            let collation = if ty.kind == TypeKind::Json {
                Collation::Utf8mb4Bin
            } else {
                self.env.collation
            };
            self.cast(index, text_type(&ty, collation));
        }
    }

    /// Converts the arguments at `indexes` to text in the collation of their common result, and returns it.
    pub fn texts(&mut self, indexes: impl Iterator<Item = usize> + Clone) -> Result<Collation> {
        let of: Vec<&Expr> = indexes.clone().filter_map(|i| self.args.get(i)).collect();
        let collation = collation::of_result(&of, self.env.collation, self.name)?;
        self.in_collation(indexes, collation);
        Ok(collation)
    }

    /// Converts the argument at `text` to text in its own collation, and those at `others`, which are
    /// searched for in it or inserted into it, to the same one. Error 3854 if that is impossible.
    pub fn texts_like(
        &mut self,
        text: usize,
        others: impl Iterator<Item = usize> + Clone,
    ) -> Result<Collation> {
        self.text(text);
        let collation = self.ty(text).collation;
        for literal in others.clone().filter_map(|i| self.args.get(i)) {
            collation::must_fit(literal, collation.charset())?;
        }
        self.in_collation(others, collation);
        Ok(collation)
    }

    /// [`Self::texts`] for arguments that are compared with each other.
    pub fn compared_texts(&mut self, indexes: impl Iterator<Item = usize> + Clone) -> Result<Collation> {
        let of: Vec<&Expr> = indexes.clone().filter_map(|i| self.args.get(i)).collect();
        let collation = collation::of_comparison(&of, self.env.collation, self.name)?;
        self.in_collation(indexes, collation);
        Ok(collation)
    }

    fn in_collation(&mut self, indexes: impl Iterator<Item = usize>, collation: Collation) {
        for i in indexes {
            let ty = text_type(&self.ty(i), collation);
            self.cast(i, ty);
        }
    }

    /// The sum of the lengths, in characters, of the arguments at `indexes` (which are text).
    pub fn total_length(&self, indexes: impl Iterator<Item = usize>) -> u32 {
        indexes.fold(0u32, |sum, i| sum.saturating_add(text_length(&self.ty(i))))
    }

    /// The type of a text whose length depends on the values of arguments: of as many characters as the longest text has
    /// bytes.
    pub fn text_of_any_length(&self, collation: Collation) -> SqlType {
        text_result(LONGEST_TEXT_BYTES, collation)
    }

    /// The type of a text of at most `length` characters. Beyond VARCHAR's limit it is a LONGTEXT.
    pub fn text_result(&self, length: u32, collation: Collation) -> SqlType {
        text_result(length, collation)
    }
}

/// The most bytes of a text that a function makes, as MySQL announces them.
const LONGEST_TEXT_BYTES: u32 = 16_777_216;

/// The most characters of a text that a function makes.
pub(crate) fn longest_text(collation: Collation) -> u32 {
    LONGEST_TEXT_BYTES / collation.charset().max_bytes_per_char()
}

/// How many bytes a text of a type with `length` characters can take.
pub(crate) fn bytes_of(length: u32, ty: &SqlType) -> u32 {
    let is_text = ty.has_members() || ty.is_string() && ty.kind != TypeKind::Json;
    match is_text {
        true => length.saturating_mul(ty.collation.charset().max_bytes_per_char()),
        // Numbers and dates consist of ASCII characters.
        false => length,
    }
}

/// VARCHAR(length), or the TEXT type that can hold as much.
pub(crate) fn text_result(length: u32, collation: Collation) -> SqlType {
    let per_char = collation.charset().max_bytes_per_char();
    let bytes = length.saturating_mul(per_char);
    let kind = match bytes {
        0..=65_535 => return SqlType::varchar(length, collation),
        65_536..=16_777_215 => TypeKind::MediumText,
        _ => TypeKind::LongText,
    };
    SqlType {
        kind,
        ..SqlType::varchar(bytes, collation)
    }
}

/// The type of a string literal of `chars` characters.
pub fn literal_type(chars: usize, collation: Collation) -> SqlType {
    SqlType::varchar(u32::try_from(chars).unwrap_or(u32::MAX), collation)
}
