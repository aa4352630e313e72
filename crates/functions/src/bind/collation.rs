//! Which operand's collation is used when strings are mixed, and error 1267 if none is.
//!
//! Source: manual 10.8.4 "Collation Coercibility in Expressions", and MySQL 8.0.33's answers.

use types::stack::with_room;
use types::{Charset, Collation, Error, Result, SqlType, Value, errno};

use crate::Expr;
use crate::coercibility::{Coercibility, Strength};

/// A collation and its coercibility.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Derived {
    pub collation: Collation,
    pub coercibility: Coercibility,
    /// The text is certainly ASCII.
    ascii: bool,
}

impl Derived {
    const fn new(collation: Collation, coercibility: Coercibility, ascii: bool) -> Self {
        Self {
            collation,
            coercibility,
            ascii,
        }
    }
}

/// The collation and coercibility of an expression.
pub(crate) fn derive(expr: &Expr) -> Derived {
    use Coercibility::*;
    let ty = expr.ty();
    match expr.as_stored() {
        Expr::Cast {
            input,
            implicit: true,
            ..
        } => derive(input),
        Expr::Literal { value, .. } if value.is_null() => Derived::new(Collation::Binary, Ignorable, true),
        _ if ty.kind == types::TypeKind::Null => Derived::new(Collation::Binary, Ignorable, true),
        _ if ty.kind == types::TypeKind::Json => Derived::new(Collation::Utf8mb4Bin, Implicit, false),
        _ if ty.kind == types::TypeKind::Bit => Derived::new(Collation::Binary, Implicit, false),
        _ if !ty.is_string() && !ty.has_members() => Derived::new(Collation::Binary, Numeric, true),
        Expr::Column { label, .. } => label.strength().map_or_else(
            || of_column(&ty),
            |made| Derived::new(ty.collation, made.coercibility, made.ascii),
        ),
        Expr::Outer { .. } => of_column(&ty),
        Expr::Literal { value, .. } => {
            let ascii = matches!(value, Value::String(s) if s.is_ascii());
            Derived::new(ty.collation, Coercible, ascii)
        }
        // Its value is not known yet. It can be converted to any collation.
        Expr::Param { .. } => Derived::new(ty.collation, Coercible, true),
        Expr::Cast { .. } => Derived::new(ty.collation, Implicit, false),
        Expr::Call { function, args, .. } => with_room(|| derive_call(function.0.name, args, &ty)),
        Expr::Case {
            branches, otherwise, ..
        } => {
            let values = branches.iter().map(|(_, v)| v).chain(otherwise.as_deref());
            mixed(values, &ty)
        }
    }
}

fn of_column(ty: &SqlType) -> Derived {
    let ascii = ty.collation.charset() == Charset::Ascii;
    Derived::new(ty.collation, Coercibility::Implicit, ascii)
}

/// The coercibility of a column of a query. `exprs` has its expression, or the expressions that a set
/// operation or VALUES combines into the column.
pub fn strength_of(exprs: &[Expr]) -> Strength {
    let ignorable = Strength {
        coercibility: Coercibility::Ignorable,
        ascii: true,
        of_aggregate: false,
    };
    let is_ignorable = |expr: &Expr| derive(expr).coercibility == Coercibility::Ignorable;
    let (made, ascii) = match exprs {
        [Expr::Column { label, .. }] if label.strength().is_some() => {
            return label.strength().unwrap_or(ignorable);
        }
        [one] => {
            let derived = derive(one);
            (derived.coercibility, derived.ascii)
        }
        all if all.iter().all(is_ignorable) => return ignorable,
        all => {
            let derived = mixed(all.iter(), &SqlType::NULL);
            (derived.coercibility, derived.ascii)
        }
    };
    // A column of a query can always be compared, whatever its expression is.
    let coercibility = match made {
        Coercibility::None => Coercibility::Implicit,
        made => made,
    };
    Strength {
        coercibility,
        ascii,
        of_aggregate: false,
    }
}

fn derive_call(name: &str, args: &[Expr], ty: &SqlType) -> Derived {
    use Coercibility::*;
    match name {
        "collate" => Derived::new(
            ty.collation,
            Explicit,
            args.first().is_some_and(|a| derive(a).ascii),
        ),
        "user" | "current_user" | "current_role" | "database" | "version" | "icu_version" => {
            Derived::new(ty.collation, SystemConstant, true)
        }
        // It is compared with text as bytes.
        "ill-formed text" => Derived::new(ty.collation, Implicit, false),
        "convert using" | "@" | "@ now" | "@:=" => Derived::new(ty.collation, Implicit, false),
        "binary" => Derived::new(ty.collation, Implicit, false),
        // Their collation does not come from an argument.
        "json_unquote" | "->>" | "json_type" | "json_value" | "json_pretty" | "json_quote" | "unhex"
        | "from_base64" | "aes_encrypt" | "aes_decrypt" | "compress" | "uncompress" => {
            Derived::new(ty.collation, Coercible, false)
        }
        "uuid" | "inet6_ntoa" | "bin_to_uuid" | "charset" | "collation" | "date_add" | "date_sub"
        | "timestampadd" | "md5" | "sha1" | "sha2" | "hex" | "date_format" | "time_format" | "format"
        | "dayname" | "monthname" | "conv" | "bin" | "oct" | "to_base64" => {
            Derived::new(ty.collation, Coercible, true)
        }
        "nullif" => mixed(args.iter().take(1), ty),
        "if" | "nth of" => mixed(args.iter().skip(1), ty),
        // The collation is that of the text that they change.
        "replace" | "insert" | "lpad" | "rpad" | "substring_index" | "trim" | "trim leading"
        | "trim trailing" => mixed(args.iter().take(1), ty),
        _ => mixed(args.iter(), ty),
    }
}

/// The collation and coercibility of a result of several strings. Without strings, they are those of a
/// literal.
fn mixed<'a>(args: impl Iterator<Item = &'a Expr>, ty: &SqlType) -> Derived {
    let strings: Vec<Derived> = args
        .map(derive)
        .filter(|d| d.coercibility < Coercibility::Numeric)
        .collect();
    let ascii = strings.iter().all(|d| d.ascii);
    let coercibility = match combine(&strings) {
        Some(derived) => derived.coercibility,
        None if strings.is_empty() => Coercibility::Coercible,
        None => Coercibility::None,
    };
    Derived::new(ty.collation, coercibility, ascii)
}

/// The collation on which all of `items` agree; `None` if they do not, or if there are none. An explicit
/// collation decides for items that do not agree without it.
fn combine(items: &[Derived]) -> Option<Derived> {
    let (first, rest) = items.split_first()?;
    let mut disagree = false;
    let mut all = *first;
    for item in rest {
        if all.collation != item.collation && (all.coercibility, item.coercibility) == EXPLICIT_BOTH {
            return None;
        }
        all = combine_two(all, *item).unwrap_or_else(|| {
            disagree = true;
            Derived::new(Collation::Binary, Coercibility::None, all.ascii && item.ascii)
        });
    }
    (!disagree || all.coercibility == Coercibility::Explicit).then_some(all)
}

/// Two explicit collations are an error.
const EXPLICIT_BOTH: (Coercibility, Coercibility) = (Coercibility::Explicit, Coercibility::Explicit);

fn combine_two(a: Derived, b: Derived) -> Option<Derived> {
    let ascii = a.ascii && b.ascii;
    let take = |d: Derived| Some(Derived { ascii, ..d });
    if a.collation.charset() != b.collation.charset() {
        if a.collation == Collation::Binary || b.collation == Collation::Binary {
            // A binary string wins over text of the same coercibility.
            let (binary, text) = if a.collation == Collation::Binary {
                (a, b)
            } else {
                (b, a)
            };
            return take(if binary.coercibility <= text.coercibility {
                binary
            } else {
                text
            });
        }
        if holds_all_of(a, b) {
            return take(a);
        }
        if holds_all_of(b, a) {
            return take(b);
        }
        if a.coercibility < b.coercibility && b.coercibility >= Coercibility::SystemConstant {
            return take(a);
        }
        if b.coercibility < a.coercibility && a.coercibility >= Coercibility::SystemConstant {
            return take(b);
        }
        return None;
    }
    if a.coercibility != b.coercibility {
        return take(if a.coercibility < b.coercibility { a } else { b });
    }
    if a.collation == b.collation {
        return take(a);
    }
    match (a.collation.is_bytewise(), b.collation.is_bytewise()) {
        (true, false) => return take(a),
        (false, true) => return take(b),
        // utf8mb4_bin and utf8mb4_0900_bin do not agree, either.
        (true, true) | (false, false) => {}
    }
    let collation = a.collation.charset().bytewise_collation();
    Some(Derived::new(collation, Coercibility::None, ascii))
}

/// Whether `b` may be converted to the character set of `a`, and loses nothing.
fn holds_all_of(a: Derived, b: Derived) -> bool {
    let unicode = |d: Derived| d.collation.charset().is_unicode();
    let stronger = a.coercibility < b.coercibility;
    let equal = a.coercibility == b.coercibility;
    let wider = !unicode(b) || is_widest(a.collation);
    (unicode(a) && (stronger || equal && wider)) || (b.ascii && (stronger || equal && !a.ascii))
}

/// Whether MySQL converts all other Unicode character sets to that of the collation.
fn is_widest(collation: Collation) -> bool {
    match collation.charset() {
        Charset::Utf8mb4 => true,
        Charset::Utf32 => collation != Collation::Utf32Bin,
        _ => false,
    }
}

/// The columns that a set operation combines must agree on a collation.
///
/// # Errors
/// 1271.
pub(crate) fn check_combined(args: &[Expr]) -> Result<()> {
    match mixed(args.iter(), &SqlType::NULL).coercibility {
        Coercibility::None => Err(Error::new(
            1271,
            "Illegal mix of collations for operation 'UNION'",
        )),
        _ => Ok(()),
    }
}

/// The collation of a result made of `args`. Numbers are ignored; if there are only numbers, it is
/// `connection`.
pub(crate) fn of_result(args: &[&Expr], connection: Collation, operation: &str) -> Result<Collation> {
    resolve(args, connection, operation, false)
}

/// The collation that `args` are compared under.
pub(crate) fn of_comparison(args: &[&Expr], connection: Collation, operation: &str) -> Result<Collation> {
    resolve(args, connection, operation, true)
}

fn resolve(args: &[&Expr], connection: Collation, operation: &str, compares: bool) -> Result<Collation> {
    refuse_ill_formed(args, operation)?;
    let all: Vec<Derived> = args.iter().map(|a| derive(a)).collect();
    let strings: Vec<Derived> = all
        .iter()
        .filter(|d| d.coercibility < Coercibility::Numeric)
        .copied()
        .collect();
    if strings.is_empty() {
        return Ok(connection);
    }
    let Some(result) = combine(&strings) else {
        return Err(illegal_mix(&strings, operation));
    };
    if compares && result.coercibility == Coercibility::None {
        return Err(illegal_mix(&strings, operation));
    }
    let charset = result.collation.charset();
    let lost = args
        .iter()
        .any(|a| !fits(a, charset) || !compares && may_lose(a, charset));
    if lost {
        return Err(illegal_mix(&strings, operation));
    }
    Ok(result.collation)
}

/// Fails with 1267 if text that is not well formed is compared with another character set. MySQL converts
/// such text only if its single fault is an incomplete character at the end.
fn refuse_ill_formed(args: &[&Expr], operation: &str) -> Result<()> {
    let Some(Expr::Literal {
        value: Value::Bytes(bytes),
        ty,
    }) = args.iter().find_map(|a| a.as_ill_formed())
    else {
        return Ok(());
    };
    let charset = ty.collation.charset();
    let wrong = bytes.get(charset.valid_len(bytes)..).unwrap_or_default();
    let as_text = |arg: &&Expr| match arg.as_ill_formed() {
        Some(text) => Derived::new(text.ty().collation, Coercibility::Coercible, false),
        None => derive(arg),
    };
    let texts: Vec<Derived> = args.iter().map(as_text).collect();
    let is_other = |text: &Derived| {
        let is_text = text.coercibility < Coercibility::Numeric && text.collation != Collation::Binary;
        is_text && text.collation.charset() != charset
    };
    match texts.iter().any(is_other) && !charset.is_incomplete(wrong) {
        true => Err(illegal_mix(&texts, operation)),
        false => Ok(()),
    }
}

/// Whether an expression with a value for each row has characters that may not exist in the character set of
/// a result. MySQL converts only constants to such a set, because it knows their values.
fn may_lose(expr: &Expr, charset: Charset) -> bool {
    let derived = derive(expr);
    let from = derived.collation.charset();
    derived.coercibility < Coercibility::Numeric
        && !derived.ascii
        && from != charset
        && !charset.is_unicode()
        && ![from, charset].contains(&Charset::Binary)
        && !expr.is_constant()
}

/// Whether a literal can be written in a character set.
fn fits(expr: &Expr, charset: Charset) -> bool {
    match expr {
        Expr::Literal {
            value: Value::String(text),
            ..
        } => charset.has_all_of(text),
        _ => true,
    }
}

/// Error 3854 for a literal with characters that do not exist in the character set to which it would be
/// converted.
pub(crate) fn must_fit(expr: &Expr, charset: Charset) -> Result<()> {
    match expr {
        Expr::Literal {
            value: Value::String(text),
            ty,
        } if !fits(expr, charset) => Err(crate::cast::text::cannot_convert(
            text.as_bytes(),
            ty.collation.charset(),
            charset,
        )),
        _ => Ok(()),
    }
}

fn illegal_mix(items: &[Derived], operation: &str) -> Error {
    let one = |d: &Derived| format!("({},{})", d.collation.name(), d.coercibility.name());
    match items {
        [a, b] => Error::new(
            errno::ER_CANT_AGGREGATE_2COLLATIONS,
            format!(
                "Illegal mix of collations {} and {} for operation '{operation}'",
                one(a),
                one(b)
            ),
        ),
        [a, b, c] => Error::new(
            1270,
            format!(
                "Illegal mix of collations {}, {}, {} for operation '{operation}'",
                one(a),
                one(b),
                one(c)
            ),
        ),
        _ => Error::new(
            1271,
            format!("Illegal mix of collations for operation '{operation}'"),
        ),
    }
}
