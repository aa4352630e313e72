//! The equalities of a join's condition, as keys of a hash table.

use functions::Expr;
use functions::bind::implicit_cast;
use planner::logical::ColumnId;
use planner::logical::columns_of;
use planner::plan::JoinKey;
use types::{SqlType, TypeKind};

/// A join's condition, split into keys and the rest.
#[derive(Debug, Default)]
pub struct Split {
    /// Each side over the ids of its own columns.
    pub keys: Vec<JoinKey>,
    pub residual: Vec<Expr>,
}

/// Takes the equalities between the two sides out of the conditions.
pub fn split(conditions: Vec<Expr>, left: &[ColumnId], right: &[ColumnId]) -> Split {
    let mut split = Split::default();
    for condition in conditions {
        match key_of(&condition, left, right) {
            Some(key) => split.keys.push(key),
            None => split.residual.push(condition),
        }
    }
    split
}

/// The key that a condition is, if it compares something of the one side with something of the other.
pub fn key_of(condition: &Expr, left: &[ColumnId], right: &[ColumnId]) -> Option<JoinKey> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    let null_safe = match function.0.name {
        "=" => false,
        "<=>" => true,
        _ => return None,
    };
    let [a, b] = args.as_slice() else {
        return None;
    };
    if !functions::is_deterministic(condition) {
        return None;
    }
    let (a, b) = if is_of(a, left) && is_of(b, right) {
        (a, b)
    } else if is_of(b, left) && is_of(a, right) {
        (b, a)
    } else {
        return None;
    };
    let (left, right) = under_one_type(a.clone(), b.clone())?;
    Some(JoinKey {
        left,
        right,
        null_safe,
    })
}

/// Whether an expression names columns of one side, and none of another.
fn is_of(expr: &Expr, side: &[ColumnId]) -> bool {
    let columns = columns_of(expr);
    !columns.is_empty() && columns.iter().all(|id| side.contains(id))
}

/// Both in a type in which equal values are those that `=` finds equal; `None` if there is none. Types whose
/// values are the same in memory stay as they are.
pub fn under_one_type(a: Expr, b: Expr) -> Option<(Expr, Expr)> {
    let (ta, tb) = (a.ty(), b.ty());
    let is_json = |ty: &SqlType| ty.kind == TypeKind::Json;
    if is_json(&ta) || is_json(&tb) {
        return None;
    }
    if ta == tb || are_alike(&ta, &tb) {
        return Some((a, b));
    }
    let ty = common_type(&ta, &tb)?;
    Some((implicit_cast(a, ty), implicit_cast(b, ty)))
}

fn is_plain_integer(ty: &SqlType) -> bool {
    ty.is_integer() && ty.kind != TypeKind::Year
}

/// Whether equal values have the same bytes in memory.
fn are_alike(a: &SqlType, b: &SqlType) -> bool {
    let integers = is_plain_integer(a) && is_plain_integer(b) && a.unsigned == b.unsigned;
    let texts = a.is_string() && b.is_string() && a.collation == b.collation;
    let moments = a.is_datetime() && b.is_datetime();
    let times = a.kind == TypeKind::Time && b.kind == TypeKind::Time;
    let free = |ty: &SqlType| ty.is_float() && ty.decimals == SqlType::NOT_FIXED;
    integers || texts || moments || times || free(a) && free(b)
}

fn common_type(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    let exact = |ty: &SqlType| is_plain_integer(ty) || ty.is_decimal();
    let approximate = |ty: &SqlType| ty.is_float() && ty.decimals == SqlType::NOT_FIXED;
    // An exact number is compared with an approximate one as a double; and so is a text, which `=` has
    // converted.
    if approximate(a) && exact(b) || exact(a) && approximate(b) {
        return Some(SqlType::DOUBLE);
    }
    if !exact(a) || !exact(b) {
        return None;
    }
    let scale = |ty: &SqlType| if ty.is_decimal() { ty.decimals } else { 0 };
    let whole = |ty: &SqlType| match ty.is_decimal() {
        true => ty.length.saturating_sub(u32::from(ty.decimals)),
        false => 20,
    };
    let scales = scale(a).max(scale(b));
    let digits = whole(a).max(whole(b)) + u32::from(scales);
    (digits <= 65).then(|| SqlType::decimal(digits, scales))
}
