//! Calls of functions and operators by name.

use types::{Collation, Error, Result, SqlType, TypeKind, errno};

use super::arguments::{implicit_cast, numeric_type, read_members, text_type};
use super::compare::{ComparisonKind, by_member, date_side, pair, under_one_collation};
use super::env::TypeEnv;
use crate::expr::Binding;
use crate::string::ill_formed::refuse_in_json;
use crate::{Expr, registry};
/// Resolves a function or operator by its lower-case name.
///
/// Operators: `+ - * / div % unary - ~ & | ^ << >>`, `= <=> <> < <= > >=`, `between` (3 arguments), `in` (the
/// value, then the list), `like` (value, pattern[, escape]), `regexp`, `and or xor not`, `is null`, `is
/// true`, `is false`, `is unknown` and the same with `is not`, `binary`, `collate` (value, name as a string
/// literal), `convert using` (value, name), `->`, `->>`, `@` (name). `!=`, `mod`, `&&`, `||` (as OR), `!`,
/// `rlike`, `not between`, `not in`, `not like` and `not regexp` are accepted, too. An interval is two
/// arguments, the amount and its unit as a string literal: `date_add(d, INTERVAL 1 DAY)` is `call("date_add",
/// [d, 1, 'day'])`; so are the units of `extract('year', d)`, `timestampdiff('day', a, b)`, `timestampadd`
/// and `get_format('date', 'usa')`. `trim(LEADING x FROM s)` is `call("trim leading", [s, x])`, likewise
/// `trim trailing` and `trim both`; `char(n, ... USING cs)` is `char` with the character set's name (`binary`
/// if there is none) as its last argument; `weight_string(s AS CHAR(n))` is `weight_string(s, 'char', n)`;
/// `position(a IN b)` is `locate(a, b)`.
///
/// Fails with 1582 for a wrong number of arguments, with 1305 for an unknown name, and with 1267 if
/// collations cannot be mixed.
pub fn call(name: &str, args: Vec<Expr>, env: &TypeEnv) -> Result<Expr> {
    call_as_written(name, name, args, env)
}

/// Error 1582, about a function by its name as `written`.
pub fn wrong_count(written: &str) -> Error {
    Error::new(
        errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
        format!("Incorrect parameter count in the call to native function '{written}'"),
    )
}

/// [`call()`] of a function that a statement names. Errors show its name as `written`.
pub fn call_as_written(name: &str, written: &str, args: Vec<Expr>, env: &TypeEnv) -> Result<Expr> {
    if let Some(positive) = name.strip_prefix("not ")
        && matches!(positive, "between" | "in" | "like" | "regexp" | "rlike")
    {
        return call("not", vec![call(positive, args, env)?], env);
    }
    let Some(function) = registry::find(name) else {
        return Err(unknown_function(written, env));
    };
    let def = function.0;
    if args.len() < def.min_args || args.len() > def.max_args {
        return Err(wrong_count(written));
    }
    let args: Vec<Expr> = args.into_iter().map(read_members).collect();
    refuse_in_json(def.name, &args)?;
    let mut binding = Binding {
        name: def.name,
        written,
        args,
        env,
    };
    if let Some(rewritten) = rewrite(&mut binding)? {
        return Ok(rewritten);
    }
    let ty = (def.resolve)(&mut binding)?.computed();
    Ok(Expr::Call {
        function,
        args: binding.args,
        ty,
    })
}

/// How the names of spatial functions begin, and those that are the names of types.
const SPATIAL_PREFIXES: [&str; 2] = ["st_", "mbr"];
const SPATIAL: [&str; 8] = [
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
    "geomcollection",
];

/// Functions that only the views of MySQL's data dictionary may call.
const OF_DICTIONARY: &str = "
    CAN_ACCESS_DATABASE CAN_ACCESS_TABLE CAN_ACCESS_USER CAN_ACCESS_VIEW CAN_ACCESS_TRIGGER CAN_ACCESS_ROUTINE
    CAN_ACCESS_EVENT CAN_ACCESS_COLUMN CAN_ACCESS_RESOURCE_GROUP CONVERT_CPU_ID_MASK GET_DD_PROPERTY_KEY_VALUE
    REMOVE_DD_PROPERTY_KEY CONVERT_INTERVAL_TO_USER_INTERVAL INTERNAL_GET_DD_COLUMN_EXTRA INTERNAL_GET_USERNAME
    INTERNAL_GET_HOSTNAME INTERNAL_GET_ENABLED_ROLE_JSON INTERNAL_GET_MANDATORY_ROLES_JSON
    INTERNAL_IS_MANDATORY_ROLE INTERNAL_IS_ENABLED_ROLE GET_DD_CREATE_OPTIONS INTERNAL_DD_CHAR_LENGTH
    GET_DD_SCHEMA_OPTIONS INTERNAL_GET_VIEW_WARNING_OR_ERROR INTERNAL_GET_COMMENT_OR_ERROR
    GET_DD_TABLESPACE_PRIVATE_DATA GET_DD_INDEX_PRIVATE_DATA INTERNAL_GET_PARTITION_NODEGROUP
    GET_DD_INDEX_SUB_PART_LENGTH INTERNAL_TABLE_ROWS INTERNAL_AVG_ROW_LENGTH INTERNAL_DATA_LENGTH
    INTERNAL_MAX_DATA_LENGTH INTERNAL_INDEX_LENGTH INTERNAL_DATA_FREE INTERNAL_AUTO_INCREMENT
    INTERNAL_UPDATE_TIME INTERNAL_CHECK_TIME INTERNAL_CHECKSUM INTERNAL_KEYS_DISABLED
    INTERNAL_INDEX_COLUMN_CARDINALITY INTERNAL_TABLESPACE_ID INTERNAL_TABLESPACE_TYPE
    INTERNAL_TABLESPACE_LOGFILE_GROUP_NAME INTERNAL_TABLESPACE_LOGFILE_GROUP_NUMBER
    INTERNAL_TABLESPACE_FREE_EXTENTS INTERNAL_TABLESPACE_TOTAL_EXTENTS INTERNAL_TABLESPACE_EXTENT_SIZE
    INTERNAL_TABLESPACE_INITIAL_SIZE INTERNAL_TABLESPACE_MAXIMUM_SIZE INTERNAL_TABLESPACE_AUTOEXTEND_SIZE
    INTERNAL_TABLESPACE_VERSION INTERNAL_TABLESPACE_ROW_FORMAT INTERNAL_TABLESPACE_DATA_FREE
    INTERNAL_TABLESPACE_STATUS INTERNAL_TABLESPACE_EXTRA IS_VISIBLE_DD_OBJECT";
const ER_NO_ACCESS_TO_NATIVE_FCT: u16 = 3566;

/// Error 3566 for a function of MySQL's data dictionary, 1305, or 1046 without a default database; 1235 for a spatial function.
fn unknown_function(name: &str, env: &TypeEnv) -> Error {
    let lower = name.to_lowercase();
    if SPATIAL.contains(&lower.as_str()) || SPATIAL_PREFIXES.iter().any(|begin| lower.starts_with(begin)) {
        return Error::not_supported(
            format!("the spatial function {}()", name.to_uppercase()),
            "store coordinates as numbers",
        );
    }
    if OF_DICTIONARY
        .split_whitespace()
        .any(|one| lower.eq_ignore_ascii_case(one))
    {
        return Error::new(
            ER_NO_ACCESS_TO_NATIVE_FCT,
            format!("Access to native function '{name}' is rejected."),
        );
    }
    match &env.database {
        Some(database) => Error::new(
            errno::ER_SP_DOES_NOT_EXIST,
            format!("FUNCTION {database}.{name} does not exist"),
        ),
        None => Error::new(errno::ER_NO_DB_ERROR, "No database selected"),
    }
}

/// Splits IN and BETWEEN into several calls if their values are compared as different types.
pub(crate) fn rewrite(binding: &mut Binding<'_>) -> Result<Option<Expr>> {
    match binding.name {
        "in" => bind_in(binding, true),
        "between" => bind_between(binding),
        _ => Ok(None),
    }
}

/// `is_whole`: the list is as written, not a part of one whose values are compared in several ways.
fn bind_in(binding: &mut Binding<'_>, is_whole: bool) -> Result<Option<Expr>> {
    let mut args = std::mem::take(&mut binding.args).into_iter();
    let Some(needle) = args.next() else {
        return Ok(None);
    };
    let list: Vec<Expr> = args.collect();
    let null = |e: &Expr| e.ty().kind == TypeKind::Null;
    if needle.ty().is_string() && list.iter().all(|e| e.ty().is_string()) {
        // All texts are compared under one collation. One of them is compared as `=` compares.
        let operation = if list.len() == 1 { "=" } else { " IN " };
        let mut all = vec![needle];
        all.extend(list);
        under_one_collation(&mut all, operation, binding.env)?;
        binding.args = by_member(all);
        return Ok(None);
    }
    // Among points in time, a TIME is one of today for all of the list.
    let has_moment = list.len() > 1 && list.iter().any(|item| item.ty().is_datetime());
    let needle = match needle.ty().kind == TypeKind::Time && has_moment {
        true => {
            let digits = needle.ty().decimals;
            implicit_cast(needle, SqlType::datetime(digits))
        }
        false => needle,
    };
    // A list of one is compared as `=` compares.
    let ty = needle.ty();
    let is_text_of_row = is_whole && ty.is_string() && !needle.is_constant();
    let kind = if let [item] = list.as_slice()
        && (matches!(ty.kind, TypeKind::Year | TypeKind::Time)
            || ty.is_datetime()
            || ty.is_float()
            || (is_text_of_row && item.ty().is_datetime()))
    {
        ComparisonKind::Operator
    } else {
        ComparisonKind::List
    };
    let mut pairs = Vec::with_capacity(list.len());
    for item in &list {
        pairs.push(pair(needle.clone(), item.clone(), "=", binding.env, kind)?);
    }
    let first = pairs
        .iter()
        .find(|(_, item)| !null(item))
        .map_or(&needle, |(n, _)| n)
        .clone();
    if pairs.iter().all(|(n, item)| *n == first || null(item)) {
        binding.args.push(first);
        binding.args.extend(pairs.into_iter().map(|(_, item)| item));
        return Ok(None);
    }
    // What is compared in the same way is one list: the needle is converted once for it.
    let mut lists: Vec<(Expr, Vec<Expr>)> = Vec::new();
    for ((converted, _), item) in pairs.into_iter().zip(list) {
        match lists
            .iter_mut()
            .find(|(of_list, _)| *of_list == converted || null(&item))
        {
            Some((_, items)) => items.push(item),
            None => lists.push((converted, vec![item])),
        }
    }
    let mut any = Vec::with_capacity(lists.len());
    for (_, items) in lists {
        let mut part = Binding {
            name: binding.name,
            written: binding.written,
            args: std::iter::once(needle.clone()).chain(items).collect(),
            env: binding.env,
        };
        any.push(match bind_in(&mut part, false)? {
            Some(rewritten) => rewritten,
            None => Expr::Call {
                function: registry::find("in").ok_or_else(|| Error::internal("there is no in"))?,
                args: part.args,
                ty: SqlType::BOOL,
            },
        });
    }
    call("or", any, binding.env).map(Some)
}

fn bind_between(binding: &mut Binding<'_>) -> Result<Option<Expr>> {
    let Ok([value, low, high]) = <[Expr; 3]>::try_from(std::mem::take(&mut binding.args)) else {
        return Ok(None);
    };
    let types = [value.ty(), low.ty(), high.ty()];
    let null = |e: &Expr| e.ty().kind == TypeKind::Null;
    let numbers = types.iter().any(SqlType::is_numeric);
    let others = types.iter().any(|t| t.is_string() || t.is_temporal());
    // A column of numbers or dates has constants converted to its type, one by one.
    let converts = matches!(value, Expr::Column { .. }) && !value.ty().is_string();
    if numbers && others && !converts {
        for expr in [value, low, high] {
            let ty = expr.ty();
            let ty = if ty.kind == TypeKind::Null {
                ty
            } else {
                numeric_type(&ty)
            };
            binding.args.push(implicit_cast(expr, ty));
        }
        return Ok(None);
    }
    let is_json = |ty: &SqlType| ty.kind == TypeKind::Json;
    if types.iter().all(|ty| ty.is_string() || is_json(ty)) {
        // MySQL compares the texts of documents here: strings have quotes.
        let as_text = |arg: Expr| match is_json(&arg.ty()) {
            true => {
                let ty = text_type(&arg.ty(), Collation::Utf8mb4Bin);
                implicit_cast(arg, ty)
            }
            false => arg,
        };
        let mut all: Vec<Expr> = [value, low, high].into_iter().map(as_text).collect();
        under_one_collation(&mut all, "between", binding.env)?;
        binding.args = all;
        return Ok(None);
    }
    let date = [&value, &low, &high]
        .into_iter()
        .find(|arg| arg.ty().is_datetime())
        .cloned();
    if let Some(date) = date.filter(|_| !numbers) {
        // If one of the three is a date, texts among the others are compared as dates.
        for arg in [value, low, high] {
            let is_date = null(&arg) || arg.ty().is_datetime() || arg.ty().kind == TypeKind::Json;
            let arg = match is_date {
                true => arg,
                false => date_side(arg, &date, ComparisonKind::Range, binding.env)?,
            };
            binding.args.push(arg);
        }
        return Ok(None);
    }
    let (a, low2) = pair(
        value.clone(),
        low.clone(),
        "between",
        binding.env,
        ComparisonKind::Range,
    )?;
    let (b, high2) = pair(
        value.clone(),
        high.clone(),
        "between",
        binding.env,
        ComparisonKind::Range,
    )?;
    if a == b || null(&low) || null(&high) {
        let value = if null(&low) { b } else { a };
        binding.args.extend([value, low2, high2]);
        return Ok(None);
    }
    let from = call(">=", vec![value.clone(), low], binding.env)?;
    let to = call("<=", vec![value, high], binding.env)?;
    call("and", vec![from, to], binding.env).map(Some)
}
