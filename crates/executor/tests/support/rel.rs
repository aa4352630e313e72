//! Plans that tests build by hand.

use std::sync::Arc;

use functions::Expr;
use functions::bind::TypeEnv;
use planner::plan::{
    Access, OutputColumn, Plan, QueryPlan, Range, RangeValue, Rel, ResultColumn, Route, TableScan,
};
use types::{Collation, Result, SqlType, Value};

use super::{Answer, Conn};

pub const INT: SqlType = SqlType::BIGINT;

pub fn text() -> SqlType {
    SqlType::varchar(20, Collation::Utf8mb40900AiCi)
}

/// A column that may be NULL.
pub fn column(index: usize, ty: SqlType) -> Expr {
    Expr::column(index, ty, true)
}

pub fn int(value: i64) -> Expr {
    Expr::literal(Value::Int(value), INT)
}

pub fn call(name: &str, args: Vec<Expr>) -> Expr {
    functions::bind::call(name, args, &TypeEnv::default()).unwrap()
}

pub fn equal(left: Expr, right: Expr) -> Expr {
    call("=", vec![left, right])
}

pub fn values(types: &[SqlType], rows: &[Vec<Value>]) -> Rel {
    let literals = |row: &Vec<Value>| {
        let row = row.iter().zip(types);
        row.map(|(value, ty)| Expr::literal(value.clone(), *ty)).collect()
    };
    Rel::Values {
        columns: types
            .iter()
            .map(|ty| OutputColumn {
                ty: *ty,
                nullable: true,
            })
            .collect(),
        rows: rows.iter().map(literals).collect(),
    }
}

/// Rows of one or more integers.
pub fn ints(rows: &[&[Option<i64>]]) -> Rel {
    let width = rows.first().map_or(1, |row| row.len());
    let value = |value: &Option<i64>| value.map_or(Value::Null, Value::Int);
    let rows: Vec<Vec<Value>> = rows.iter().map(|row| row.iter().map(value).collect()).collect();
    values(&vec![INT; width], &rows)
}

pub fn texts(rows: &[Option<&str>]) -> Rel {
    let value = |text: &Option<&str>| vec![text.map_or(Value::Null, Value::from)];
    values(&[text()], &rows.iter().map(value).collect::<Vec<_>>())
}

/// A scan of all columns of a table of the database `d`.
pub fn scan(c: &Conn<'_>, table: &str, access: Access) -> TableScan {
    let schema = c.db.cluster.schema();
    let table = schema.table("d", table).unwrap();
    TableScan {
        table: Arc::clone(table),
        alias: table.name.to_string(),
        columns: (0..table.columns.len()).collect(),
        access,
        hints: Vec::new(),
        filter: None,
        as_of: None,
        locking: None,
        expected: planner::plan::Expected::default(),
        read: None,
        partitions: None,
        execution_cache: planner::plan::ExecutionCache::default(),
    }
}

pub fn full(c: &Conn<'_>, table: &str) -> Rel {
    Rel::Scan(scan(c, table, Access::Full { reverse: false }))
}

/// The position of a table's index.
pub fn index(c: &Conn<'_>, table: &str, name: &str) -> usize {
    let schema = c.db.cluster.schema();
    let table = schema.table("d", table).unwrap();
    table
        .indexes
        .iter()
        .position(|index| *index.name == *name)
        .unwrap()
}

pub fn equal_range(expr: Expr) -> Range {
    Range {
        prefix: vec![RangeValue::Equal(expr)],
        lower: None,
        upper: None,
    }
}

pub fn limit(input: Rel, count: i64) -> Rel {
    Rel::Limit {
        input: Box::new(input),
        offset: None,
        count: Some(Expr::literal(Value::UInt(count as u64), INT)),
    }
}

pub fn filter(input: Rel, predicate: Expr) -> Rel {
    Rel::Filter {
        input: Box::new(input),
        predicate,
    }
}

pub fn project(input: Rel, exprs: Vec<Expr>) -> Rel {
    Rel::Project {
        input: Box::new(input),
        exprs,
    }
}

pub fn query(root: Rel) -> Plan {
    let column = |ty: SqlType| ResultColumn::unnamed("", ty, true);
    let columns = root.output_types().into_iter().map(column).collect();
    let locking = root.scans().iter().find_map(|scan| scan.locking);
    Plan::Query(QueryPlan {
        root,
        columns,
        locking,
        route: Route::Transactional,
        limit_of_output: None,
        max_execution: None,
        larger: None,
    })
}

impl Conn<'_> {
    /// The rows of a plan as lines, columns separated by spaces.
    pub fn try_rel(&mut self, root: Rel) -> Result<Vec<String>> {
        match self.run_made(&query(root), &[])? {
            Answer::Rows(rows) => Ok(rows.iter().map(|row| row.join(" ")).collect()),
            Answer::Done(_) => panic!("a query gives rows"),
        }
    }

    pub fn rel(&mut self, root: Rel) -> Vec<String> {
        self.try_rel(root).unwrap()
    }

    /// The rows of a plan in one line.
    pub fn line(&mut self, root: Rel) -> String {
        self.rel(root).join(", ")
    }
}
