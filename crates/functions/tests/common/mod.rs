//! What the tests over whole expressions share: the table they refer to, and the way from text to [`Expr`].

#![allow(clippy::unwrap_used, dead_code)]

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use functions::{EvalContext, Expr, Identity, Strictness, TimeZone, assign};
use planner::BindEnv;
use types::{Collation, Result, SqlMode, SqlType, TypeKind, Value};

/// The table `t` that expressions refer to, as `CREATE TABLE` and one INSERT made it.
pub fn columns() -> Vec<(&'static str, SqlType, &'static str)> {
    let int = |kind, unsigned, length| SqlType {
        kind,
        unsigned,
        length,
        ..SqlType::BIGINT
    };
    let text = |collation| SqlType::varchar(10, collation);
    let sized = |kind, length, collation| SqlType {
        kind,
        ..SqlType::varchar(length, collation)
    };
    use TypeKind::*;
    vec![
        ("i", int(Int, false, 11), "1"),
        ("u", int(Int, true, 10), "2"),
        ("b", int(BigInt, false, 20), "3"),
        ("bu", int(BigInt, true, 20), "4"),
        ("ti", int(TinyInt, false, 4), "5"),
        ("d", SqlType::decimal(10, 2), "6.50"),
        ("f", SqlType::FLOAT, "7.5"),
        ("db", SqlType::DOUBLE, "8.5"),
        ("c", sized(Char, 5, Collation::DEFAULT), "abc"),
        ("v", text(Collation::DEFAULT), "def"),
        ("vb", text(Collation::Binary), "xyz"),
        ("g", text(Collation::Utf8mb4GeneralCi), "g"),
        ("bn", text(Collation::Utf8mb4Bin), "bn"),
        ("l", text(Collation::Latin1SwedishCi), "l"),
        ("dt", SqlType::datetime(3), "2024-01-02 03:04:05.678"),
        ("da", SqlType::DATE, "2024-02-03"),
        ("tm", SqlType::time(2), "11:12:13.45"),
        ("ts", SqlType::timestamp(0), "2024-03-04 05:06:07"),
        ("y", SqlType::YEAR, "2024"),
        ("tx", sized(Text, 65_535, Collation::DEFAULT), "text"),
        ("bl", sized(Text, 65_535, Collation::Binary), "blob"),
        ("js", SqlType::JSON, "{\"a\": 1}"),
        ("nn", int(Int, false, 11), "9"),
    ]
}

pub fn context(sql_mode: SqlMode, time_zone: TimeZone) -> EvalContext {
    EvalContext {
        sql_mode,
        time_zone,
        now_us: 1_704_103_872_654_321,
        connection_id: 8,
        identity: Arc::new(Identity {
            user: "root@localhost".to_owned(),
            current_user: "root@localhost".to_owned(),
            current_role: "NONE".to_owned(),
            ..Identity::default()
        }),
        database: Some("shop".into()),
        found_rows: 1,
        version: "8.0.33",
        ..EvalContext::default()
    }
}

pub fn row() -> Vec<Value> {
    let strict = EvalContext {
        strictness: Strictness::Error,
        ..EvalContext::default()
    };
    columns()
        .into_iter()
        .map(|(name, ty, text)| {
            let from = SqlType::varchar(64, Collation::DEFAULT);
            assign::value(Value::from(text), &from, &ty, name, 1, &strict).unwrap()
        })
        .collect()
}

/// The row, `rows` times.
pub fn batch(row: &[Value], rows: usize) -> RecordBatch {
    let columns = columns();
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, ty, _)| Field::new(*name, ty.arrow_type(), true))
        .collect();
    let arrays = row
        .iter()
        .zip(&columns)
        .map(|(value, (_, ty, _))| types::array::array_of(value, ty, rows).unwrap())
        .collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).unwrap()
}

pub fn bind_text(text: &str, sql_mode: SqlMode, time_zone: TimeZone) -> Result<Expr> {
    let parsed = syntax::parse_expression(text, sql_mode)?;
    let warnings = functions::Warnings::default();
    let no_variable =
        |_: Option<syntax::ast::VariableScope>, _: &str| Err(types::Error::internal("no variables here"));
    let env = BindEnv {
        schema: Arc::default(),
        temporary: &planner::NO_TEMPORARY_TABLES,
        database: Some("shop"),
        params: &[],
        planned_for: planner::PlannedFor::Text,
        params_known: true,
        places: None,
        literal_params: false,
        sql_mode,
        charset_client: types::Charset::Utf8mb4,
        collation_connection: Collation::DEFAULT,
        collation_server: Collation::DEFAULT,
        div_precision_increment: 4,
        default_week_format: 0,
        group_concat_max_len: 1024,
        time_zone,
        system_variable: &no_variable,
        user_variables: &HashMap::new(),
        check_table: &|_, _, _| Ok(()),
        denied_column: &|_, _, _| None,
        thread: 0,
        check_accesses: &|_| Ok(()),
        denied: &|database| types::Error::internal(database),
        warnings: &warnings,
        foreign_key_checks: true,
    };
    let names: Vec<(String, SqlType)> = columns()
        .into_iter()
        .map(|(n, ty, _)| (n.to_owned(), ty))
        .collect();
    let bound =
        planner::bind_filter(&parsed, &names, &env)?.ok_or_else(|| types::Error::internal("a subquery"))?;
    // A condition's text was made a number; here the text itself is wanted.
    Ok(match bound {
        Expr::Cast {
            input,
            ty,
            implicit: true,
        } if ty == SqlType::DOUBLE && (input.ty().is_string() || input.ty().kind == TypeKind::Json) => *input,
        other => other,
    })
}
