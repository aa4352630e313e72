//! Statements about the session and the server: their names and expressions resolved as far as can be done
//! without running anything.

use functions::Expr;
use syntax::ast::{
    self, ExplainFormat, Maintenance, SetClause, ShowStatement, SplitPoints, Statement, Target,
};
use types::{Error, Result};

use super::Binder;
use super::alter_partitions::maintained;
use super::expr::Context;
use super::scope::NO_NAMES;
use super::subquery::Subqueries;
use crate::command::Bound;
use crate::command::{Command, Explained, OfRow, RowUse, SetItem, Show, TableToLock};
use crate::logical::{Logical, LogicalQuery, LogicalStatement};
use crate::plan::ResultColumn;

impl Binder<'_> {
    pub fn command(&self, statement: &Statement) -> Result<Command> {
        match statement {
            Statement::Transaction(statement) => Ok(Command::Transaction(statement.clone())),
            Statement::User(statement) => Ok(Command::User(statement.clone())),
            Statement::Use(database) => Ok(Command::Use {
                database: database.clone(),
            }),
            Statement::Flush(what) => Ok(Command::Flush { what: what.clone() }),
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
            Statement::Empty => Ok(Command::DoNothing(Vec::new())),
            Statement::Show(show) => Ok(Command::Show(self.show(show)?)),
            Statement::Set(clauses) => {
                let subqueries = Subqueries::default();
                let items = clauses
                    .iter()
                    .map(|clause| self.set_item(clause, &subqueries))
                    .collect::<Result<Vec<_>>>()?;
                if subqueries.is_empty() {
                    return Ok(Command::Set(items));
                }
                self.set_of_row(items, subqueries)
            }
            Statement::Explain {
                format,
                analyze,
                statement,
            } => self.explain(*format, *analyze, statement),
            Statement::Kill {
                connection,
                query_only,
            } => Ok(Command::Kill {
                connection: self.free(connection)?,
                query_only: *query_only,
            }),
            Statement::AlterTable { name, items, .. } if maintained(items).is_some() => {
                let Some((action, names)) = maintained(items) else {
                    return Err(Error::internal("ALTER TABLE that maintains no partition"));
                };
                self.check_maintained(name, action, names)?;
                let statement = Statement::TableMaintenance {
                    action,
                    tables: vec![name.clone()],
                };
                self.command(&statement)
            }
            Statement::TableMaintenance { action, tables } => {
                let tables = self.table_names(tables)?;
                Ok(match action {
                    Maintenance::AdminCheck => Command::AdminCheckTable { tables },
                    Maintenance::Check => Command::CheckTable { tables },
                    Maintenance::Analyze => Command::AnalyzeTable { tables },
                    Maintenance::Optimize => Command::OptimizeTable { tables },
                    Maintenance::Repair => Command::RepairTable { tables },
                })
            }
            Statement::Histograms {
                tables,
                columns,
                buckets,
            } => Ok(Command::Histograms {
                tables: self.table_names(tables)?,
                columns: columns.clone(),
                buckets: *buckets,
            }),
            Statement::SplitTable { table, index, points } => Ok(Command::SplitTable {
                table: self.table_name(table)?,
                index: index.clone(),
                points: self.split_points(points)?,
            }),
            Statement::DropObject {
                kind,
                names,
                if_exists,
            } => Ok(Command::DropAbsent {
                kind: *kind,
                names: self.table_names(names)?,
                if_exists: *if_exists,
            }),
            Statement::LockTables(tables) => {
                let mut named = Vec::with_capacity(tables.len());
                for locked in tables {
                    let table = self.table_name(&locked.name)?;
                    named.push(TableToLock {
                        alias: locked.alias.clone().unwrap_or_else(|| table.name.clone()),
                        table,
                        write: locked.write,
                    });
                }
                Ok(Command::LockTables { tables: named })
            }
            Statement::Do(exprs) => {
                let subqueries = Subqueries::default();
                let bound = |expr| self.free_with(expr, &subqueries);
                let exprs = exprs.iter().map(bound).collect::<Result<Vec<_>>>()?;
                if subqueries.is_empty() {
                    return Ok(Command::DoNothing(exprs));
                }
                self.of_row(exprs, subqueries, RowUse::Nothing)
            }
            Statement::Grant(grant) => self.grant(grant),
            Statement::Revoke(revoke) => self.revoke(revoke),
            other => Err(Error::internal(format_args!("no command: {other:?}"))),
        }
    }

    /// `SELECT ... INTO @a, @b`.
    pub fn select_into(&self, query: &ast::Query) -> Result<Command> {
        let variables = query.variables_of_into().to_vec();
        let bound = self.statement_query(query)?;
        if bound.columns.len() != variables.len() {
            return Err(super::query::different_widths());
        }
        Ok(Command::OfRow(Box::new(OfRow {
            query: self.bound_statement(LogicalStatement::Query(bound))?,
            schema_version: self.env.schema.version,
            row_use: RowUse::Into(variables),
        })))
    }

    /// SET of expressions with subqueries: the query of all values, and items that name its columns.
    fn set_of_row(&self, mut items: Vec<SetItem>, subqueries: Subqueries) -> Result<Command> {
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
        self.of_row(values, subqueries, RowUse::Set(items))
    }

    /// A command that takes the values of expressions with subqueries.
    fn of_row(&self, values: Vec<Expr>, subqueries: Subqueries, row_use: RowUse) -> Result<Command> {
        let (root, output) = self.projected(subqueries.applied_to(Logical::OneRow), &values);
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
            query: self.bound_statement(LogicalStatement::Query(query))?,
            schema_version: self.env.schema.version,
            row_use,
        })))
    }

    fn free_with(&self, expr: &ast::Expr, subqueries: &Subqueries) -> Result<Expr> {
        let context = Context {
            subqueries: Some(subqueries),
            ..Context::of(&NO_NAMES)
        };
        self.scalar(expr, &context)
    }

    /// An expression without columns.
    fn free(&self, expr: &ast::Expr) -> Result<Expr> {
        self.scalar(expr, &Context::of(&NO_NAMES))
    }

    fn split_points(&self, points: &SplitPoints<ast::Expr>) -> Result<SplitPoints<Expr>> {
        let bound = |values: &Vec<ast::Expr>| values.iter().map(|value| self.free(value)).collect();
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

    fn set_item(&self, clause: &SetClause, subqueries: &Subqueries) -> Result<SetItem> {
        Ok(match clause {
            SetClause::Variable { scope, name, value } => SetItem::Variable {
                scope: *scope,
                name: name.clone(),
                value: value
                    .as_ref()
                    .map(|value| self.free_with(value, subqueries))
                    .transpose()?,
            },
            SetClause::User { name, value } => SetItem::User {
                name: name.clone(),
                value: self.free_with(value, subqueries)?,
            },
            SetClause::Names { charset, collation } => SetItem::Names {
                charset: charset.clone(),
                collation: collation.clone(),
            },
            SetClause::CharacterSet(charset) => SetItem::CharacterSet {
                charset: charset.clone(),
            },
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
        &self,
        format: Option<ExplainFormat>,
        analyze: bool,
        statement: &Statement,
    ) -> Result<Command> {
        match self.statement(statement)? {
            bound @ Bound::Statement { .. } => Ok(Command::Explain(Box::new(Explained {
                format,
                analyze,
                bound,
            }))),
            _ => Err(Error::internal("EXPLAIN of what is no plan")),
        }
    }

    fn show(&self, show: &ShowStatement) -> Result<Show> {
        Ok(match show {
            ShowStatement::OfServer(show) => Show::OfServer(show.clone()),
            ShowStatement::OfDatabase {
                target,
                database,
                full,
                filter,
            } => {
                let database = self.database(database.as_deref())?;
                let filter = filter.clone();
                let empty = |what, filter| Show::Empty { what, filter };
                match target {
                    Target::TableStatus => Show::TableStatus { database, filter },
                    Target::OpenTables => empty("OPEN TABLES", filter),
                    Target::Triggers => empty("TRIGGERS", filter),
                    Target::Events => empty("EVENTS", filter),
                    _ => Show::Tables {
                        database,
                        full: *full,
                        filter,
                    },
                }
            }
            ShowStatement::Regions { table, index, filter } => Show::Regions {
                table: self.table_name(table)?,
                index: index.clone(),
                filter: filter.clone(),
            },
            ShowStatement::OfTable {
                target,
                table,
                full,
                filter,
            } => {
                let table = self.table_name(table)?;
                let filter = filter.clone();
                match target {
                    Target::Index => Show::Index { table, filter },
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
}
