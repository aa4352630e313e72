//! Statements about the session and the server: their names and expressions resolved as far as can be done
//! without running anything.

use functions::Expr;
use syntax::ast::{
    self, Diagnostics, ExplainFormat, Flush, Maintenance, SelectInto, SetClause, ShowStatement, SplitPoints,
    Statement, Target,
};
use types::{Error, Result, Warning};

use super::alter_partitions::maintained;
use super::collation::charset_named;
use super::context::Context;
use super::scope::NO_NAMES;
use super::subqueries::Subqueries;
use super::{Binder, alter_partitions, block_operators, grant, load_data};
use crate::command::{Bound, Command, Explained, IntoFile, OfRow, RowUse, SetItem, Show, TableToLock};
use crate::errno::ER_WARN_DEPRECATED_INNER_INTO;
use crate::logical::{Logical, LogicalQuery, LogicalStatement};
use crate::plan::ResultColumn;

pub(super) fn bind_command(binder: &Binder<'_>, statement: &Statement) -> Result<Command> {
    match statement {
        Statement::Transaction(statement) => Ok(Command::Transaction(statement.clone())),
        Statement::Xa(statement) => Ok(Command::Xa(statement.clone())),
        Statement::ExplainConnection { format, connection } => Ok(Command::ExplainConnection {
            format: *format,
            connection: *connection,
        }),
        Statement::User(statement) => Ok(Command::User(statement.clone())),
        Statement::Use(database) => Ok(Command::Use {
            database: database.clone(),
        }),
        Statement::Flush(Flush::Kinds(kinds)) => Ok(Command::Flush(kinds.clone())),
        Statement::Flush(Flush::Tables { tables, read_lock }) => Ok(Command::FlushTables {
            tables: binder.table_names(tables)?,
            read_lock: *read_lock,
        }),
        Statement::Prepare { name, source } => Ok(Command::Prepare {
            name: name.clone(),
            source: source.clone(),
        }),
        Statement::Execute { name, using } => Ok(Command::Execute {
            name: name.clone(),
            using: using.clone(),
        }),
        Statement::Deallocate { name } => Ok(Command::Deallocate { name: name.clone() }),
        Statement::AdminShowDdlJobs { past } => Ok(Command::AdminShowDdlJobs { past: *past }),
        Statement::AdminCancelDdlJobs { jobs } => Ok(Command::AdminCancelDdlJobs { jobs: jobs.clone() }),
        Statement::UnlockTables => Ok(Command::UnlockTables),
        Statement::LockInstance => Ok(Command::LockInstance),
        Statement::UnlockInstance => Ok(Command::UnlockInstance),
        Statement::ResetPersist { name, if_exists } => Ok(Command::ResetPersist {
            name: name.clone(),
            if_exists: *if_exists,
        }),
        Statement::Empty => Ok(Command::DoNothing(Vec::new())),
        Statement::Show(show) => Ok(Command::Show(bind_show(binder, show)?)),
        Statement::Set(clauses) => {
            binder.verb.set("SET");
            set(binder, clauses)
        }
        Statement::Explain {
            format,
            analyze,
            statement,
        } => explain(binder, *format, *analyze, statement),
        Statement::Kill {
            connection,
            query_only,
        } => Ok(Command::Kill {
            connection: free(binder, connection)?,
            query_only: *query_only,
        }),
        Statement::AlterTable { name, items, .. } => match maintained(items) {
            Some((action, partitions)) => {
                match alter_partitions::check_maintained(binder, name, action, partitions)? {
                    Some(error) => Ok(Command::MaintenanceFailed {
                        table: binder.table_name(name)?,
                        action,
                        error,
                    }),
                    None => maintenance(binder, action, std::slice::from_ref(name)),
                }
            }
            None => Err(no_command(statement)),
        },
        Statement::TableMaintenance { action, tables } => maintenance(binder, *action, tables),
        Statement::ChecksumTable { tables, quick } => Ok(Command::ChecksumTable {
            tables: binder.table_names(tables)?,
            quick: *quick,
        }),
        Statement::Histograms {
            tables,
            columns,
            change,
        } => Ok(Command::Histograms {
            tables: binder.table_names(tables)?,
            columns: columns.clone(),
            change: change.clone(),
        }),
        Statement::SplitTable { table, index, points } => Ok(Command::SplitTable {
            table: binder.table_name(table)?,
            index: index.clone(),
            points: split_points(binder, points)?,
        }),
        Statement::DropObject {
            kind,
            names,
            if_exists,
        } => Ok(Command::DropAbsent {
            kind: *kind,
            names: binder.table_names(names)?,
            if_exists: *if_exists,
        }),
        Statement::OfProgram { action, kind, name } => Ok(Command::OfProgram {
            action: *action,
            kind: *kind,
            name: binder.table_name(name)?,
        }),
        Statement::LockTables(tables) => Ok(Command::LockTables {
            tables: tables_to_lock(binder, tables)?,
        }),
        Statement::GetDiagnostics(asked) => get_diagnostics(binder, asked),
        Statement::Signal(signal) => bind_signal(binder, signal),
        Statement::Resignal => Ok(Command::Resignal),
        Statement::Do(exprs) => evaluated(binder, exprs),
        Statement::Grant(grant) => grant::bind_grant(binder, grant),
        Statement::Revoke(revoke) => grant::bind_revoke(binder, revoke),
        other => Err(no_command(other)),
    }
}

fn no_command(statement: &Statement) -> Error {
    Error::internal(format_args!("no command: {statement:?}"))
}

fn set(binder: &Binder<'_>, clauses: &[SetClause]) -> Result<Command> {
    let subqueries = Subqueries::default();
    let items = clauses
        .iter()
        .map(|clause| set_item(binder, clause, &subqueries))
        .collect::<Result<Vec<_>>>()?;
    match subqueries.is_empty() {
        true => Ok(Command::Set(items)),
        false => set_of_row(binder, items, subqueries),
    }
}

/// CHECK TABLE and its like. The partitions that ALTER TABLE names are checked to exist, and the work is done on
/// the whole table.
fn maintenance(binder: &Binder<'_>, action: Maintenance, tables: &[ast::ObjectName]) -> Result<Command> {
    let tables = binder.table_names(tables)?;
    Ok(match action {
        Maintenance::AdminCheck => Command::AdminCheckTable { tables },
        Maintenance::Check => Command::CheckTable { tables },
        Maintenance::Analyze => Command::AnalyzeTable { tables },
        Maintenance::Optimize => Command::OptimizeTable { tables },
        Maintenance::Repair => Command::RepairTable { tables },
        Maintenance::AssignToKeyCache | Maintenance::PreloadKeys => Command::KeyCache {
            tables,
            preload: action == Maintenance::PreloadKeys,
        },
    })
}

fn get_diagnostics(binder: &Binder<'_>, asked: &Diagnostics<ast::Expr>) -> Result<Command> {
    Ok(Command::GetDiagnostics(match asked {
        Diagnostics::OfStatement(items) => Diagnostics::OfStatement(items.clone()),
        Diagnostics::OfCondition { number, items } => Diagnostics::OfCondition {
            number: free(binder, number)?,
            items: items.clone(),
        },
    }))
}

fn bind_signal(binder: &Binder<'_>, signal: &ast::Signal) -> Result<Command> {
    let mut items = Vec::with_capacity(signal.items.len());
    for (item, name, value) in &signal.items {
        items.push((*item, *name, free(binder, value)?));
    }
    Ok(Command::Signal(ast::Signal {
        state: signal.state.clone(),
        items,
    }))
}

fn tables_to_lock(binder: &Binder<'_>, tables: &[ast::LockedTable]) -> Result<Vec<TableToLock>> {
    let to_lock = |locked: &ast::LockedTable| {
        let table = binder.table_name(&locked.name)?;
        Ok(TableToLock {
            alias: locked.alias.clone().unwrap_or_else(|| table.name.clone()),
            table,
            write: locked.write,
        })
    };
    tables.iter().map(to_lock).collect()
}

/// The expressions of DO.
fn evaluated(binder: &Binder<'_>, exprs: &[ast::Expr]) -> Result<Command> {
    if exprs.iter().any(|expr| expr.has_aggregate() || expr.has_window()) {
        return of_query(binder, exprs);
    }
    let subqueries = Subqueries::default();
    let bound = |expr| free_with(binder, expr, &subqueries);
    let exprs = exprs.iter().map(bound).collect::<Result<Vec<_>>>()?;
    match subqueries.is_empty() {
        true => Ok(Command::DoNothing(exprs)),
        false => of_row(binder, exprs, subqueries, RowUse::Nothing),
    }
}

/// `SELECT ... INTO`
pub(super) fn bind_select_into(
    binder: &Binder<'_>,
    query: &ast::Query,
    into: &SelectInto,
) -> Result<Command> {
    if query.into_place == ast::IntoPlace::WithinOperand {
        binder.warn_each_time(Warning::warning(
            ER_WARN_DEPRECATED_INNER_INTO,
            INNER_INTO_DEPRECATED,
        ));
    }
    let bound = binder.statement_query(query)?;
    let file = match into {
        SelectInto::Variables(variables) if bound.columns.len() != variables.len() => {
            return Err(super::bound_query::different_widths());
        }
        SelectInto::Variables(variables) => {
            return Ok(Command::OfRow(Box::new(OfRow {
                query: binder.bound_statement(LogicalStatement::Query(bound))?,
                schema_version: binder.env.schema.version,
                row_use: RowUse::Into(variables.clone()),
            })));
        }
        SelectInto::File(file) => file,
    };
    let format = file
        .format
        .as_ref()
        .map(|format| load_data::file_format(binder, format))
        .transpose()?;
    let charset = file.charset.as_deref().map(charset_named).transpose()?;
    Ok(Command::IntoFile(Box::new(IntoFile {
        file: file.file.clone(),
        format,
        charset,
        query: binder.bound_statement(LogicalStatement::Query(bound))?,
        schema_version: binder.env.schema.version,
    })))
}

/// SET of expressions with subqueries: the query of all values, and items that name its columns.
fn set_of_row(binder: &Binder<'_>, mut items: Vec<SetItem>, subqueries: Subqueries) -> Result<Command> {
    let mut values = Vec::new();
    for item in &mut items {
        if let SetItem::Variable {
            value: Some(value), ..
        }
        | SetItem::User { value, .. } = item
        {
            let column = Expr::column(values.len(), value.ty(), true);
            values.push(std::mem::replace(value, column));
        }
    }
    of_row(binder, values, subqueries, RowUse::Set(items))
}

/// A command that takes the values of expressions with subqueries.
fn of_row(
    binder: &Binder<'_>,
    values: Vec<Expr>,
    subqueries: Subqueries,
    row_use: RowUse,
) -> Result<Command> {
    let (root, output) = block_operators::projected(binder, subqueries.applied_to(Logical::OneRow), &values);
    let columns = values
        .iter()
        .map(|value| ResultColumn::unnamed("", value.ty(), value.nullable()));
    let query = LogicalQuery {
        root,
        output,
        columns: columns.collect(),
        limit_of_output: None,
        max_execution: None,
        in_order: false,
    };
    Ok(Command::OfRow(Box::new(OfRow {
        query: binder.bound_statement(LogicalStatement::Query(query))?,
        schema_version: binder.env.schema.version,
        row_use,
    })))
}

/// DO as the SELECT of its expressions, whose row nobody reads.
fn of_query(binder: &Binder<'_>, exprs: &[ast::Expr]) -> Result<Command> {
    let items = exprs.iter().map(|expr| ast::SelectItem::Expr {
        expr: expr.clone(),
        name: String::new(),
        aliased: false,
    });
    let select = ast::Select {
        items: items.collect(),
        ..ast::Select::default()
    };
    let query = ast::Query::of_select(select);
    let bound = binder.query(&query, None)?.into_logical();
    Ok(Command::OfRow(Box::new(OfRow {
        query: binder.bound_statement(LogicalStatement::Query(bound))?,
        schema_version: binder.env.schema.version,
        row_use: RowUse::Nothing,
    })))
}

fn free_with(binder: &Binder<'_>, expr: &ast::Expr, subqueries: &Subqueries) -> Result<Expr> {
    let context = Context {
        subqueries: Some(subqueries),
        ..Context::of(&NO_NAMES)
    };
    binder.scalar(expr, &context)
}

/// An expression without columns.
fn free(binder: &Binder<'_>, expr: &ast::Expr) -> Result<Expr> {
    binder.scalar(expr, &Context::of(&NO_NAMES))
}

fn split_points(binder: &Binder<'_>, points: &SplitPoints<ast::Expr>) -> Result<SplitPoints<Expr>> {
    let bound = |values: &Vec<ast::Expr>| values.iter().map(|value| free(binder, value)).collect();
    Ok(match points {
        SplitPoints::Between {
            lower,
            upper,
            regions,
        } => SplitPoints::Between {
            lower: bound(lower)?,
            upper: bound(upper)?,
            regions: *regions,
        },
        SplitPoints::By(points) => {
            SplitPoints::By(points.iter().map(bound).collect::<Result<Vec<Vec<Expr>>>>()?)
        }
    })
}

fn set_item(binder: &Binder<'_>, clause: &SetClause, subqueries: &Subqueries) -> Result<SetItem> {
    Ok(match clause {
        SetClause::Variable { scope, name, value } => SetItem::Variable {
            scope: *scope,
            name: name.clone(),
            value: value
                .as_ref()
                .map(|value| free_with(binder, value, subqueries))
                .transpose()?,
        },
        SetClause::User { name, value } => SetItem::User {
            name: name.clone(),
            value: free_with(binder, value, subqueries)?,
        },
        SetClause::Names { charset, collation } => SetItem::Names {
            charset: charset.clone(),
            collation: collation.clone(),
        },
        SetClause::CharacterSet(charset) => SetItem::CharacterSet(charset.clone()),
        SetClause::Transaction {
            scope,
            isolation,
            read_only,
        } => SetItem::Transaction {
            scope: *scope,
            isolation: *isolation,
            read_only: *read_only,
        },
    })
}

fn explain(
    binder: &Binder<'_>,
    format: Option<ExplainFormat>,
    analyze: bool,
    statement: &Statement,
) -> Result<Command> {
    let bound = match statement {
        // The rows' target is no part of the plan.
        Statement::Query(query) => {
            binder.bound_statement(LogicalStatement::Query(binder.statement_query(query)?))?
        }
        other => binder.statement(other)?,
    };
    match bound {
        bound @ Bound::Statement { .. } => Ok(Command::Explain(Box::new(Explained {
            format,
            analyze,
            bound,
        }))),
        _ => Err(Error::internal("EXPLAIN of a statement without a plan")),
    }
}

fn bind_show(binder: &Binder<'_>, show: &ShowStatement) -> Result<Show> {
    Ok(match show {
        ShowStatement::OfServer(show) => Show::OfServer(show.clone()),
        ShowStatement::OfDatabase {
            target: Target::OpenTables,
            database,
            filter,
            ..
        } => Show::OpenTables {
            database: database.clone(),
            filter: filter.clone(),
        },
        ShowStatement::OfDatabase {
            target,
            database,
            full,
            filter,
        } => {
            let database = binder.database(database.as_deref())?;
            let filter = filter.clone();
            let empty = |what, database, filter| Show::Empty {
                database,
                what,
                filter,
            };
            match target {
                Target::TableStatus => Show::TableStatus { database, filter },
                Target::Triggers => empty("TRIGGERS", database, filter),
                Target::Events => empty("EVENTS", database, filter),
                _ => Show::Tables {
                    database,
                    full: *full,
                    filter,
                },
            }
        }
        ShowStatement::Regions { table, index, filter } => Show::Regions {
            table: binder.table_name(table)?,
            index: index.clone(),
            filter: filter.clone(),
        },
        ShowStatement::OfTable {
            target,
            table,
            full,
            filter,
        } => {
            let table = binder.table_name(table)?;
            let filter = filter.clone();
            match target {
                Target::Index => Show::Index {
                    table,
                    extended: *full,
                    filter,
                },
                Target::CreateTable => Show::CreateTable {
                    name: table,
                    is_view: false,
                },
                Target::CreateView => Show::CreateTable {
                    name: table,
                    is_view: true,
                },
                _ => Show::Columns {
                    table,
                    full: *full,
                    filter,
                },
            }
        }
    })
}

const INNER_INTO_DEPRECATED: &str = "The INTO clause is deprecated inside query blocks of query expressions and will be removed in \
     a future release. Please move the INTO clause to the end of statement instead.";
