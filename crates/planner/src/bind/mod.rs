//! Names and types: from [`syntax::ast`] to plans, definitions and commands.
//!
//! [`Binder`] is one statement's binding. It has methods in a few files only, through which expressions and queries
//! call each other: `scalar`, `hinted` and `call` ([`expr`]), `query` ([`mod@query`]), `block` ([`select`]), `from`
//! and `table` ([`mod@from`]), and those that all files need (here). Everything else is a function that takes the
//! binder, in a file that is named after what it binds.
//!
//! - [`expr`] and below it: [`literal`], [`parameter`], [`row_compare`], [`subquery`], [`mod@window`],
//!   [`default_value`]. Which function a call is and what types it has is decided by `functions::bind`.
//! - [`mod@query`]: query expressions. [`common_table`]: WITH. [`mod@from`]: FROM, with [`join`], [`view`],
//!   [`json_table`]. [`select`]: query blocks, with [`clauses`], [`grouping`], [`full_group_by`], [`output`], [`limit`],
//!   [`hints`].
//! - What these pass to each other: [`names`] (what a name can mean), [`context`] (where an expression stands),
//!   [`relation`], [`scope`], [`subqueries`], [`from_place`], [`bound_query`], [`bound_block`].
//! - [`mod@write`], [`insert`], [`load_data`]: INSERT, UPDATE, DELETE, LOAD DATA. [`definition`]: CREATE and ALTER.
//!   [`command`]: everything else. [`stored`], [`table_expressions`]: the expressions of a definition.

mod added_index;
mod aggregates;
mod alter;
mod alter_partitions;
mod block;
mod block_keys;
mod block_operators;
mod bound_block;
mod bound_query;
mod bound_rows;
mod check;
mod clauses;
mod collation;
mod column;
mod column_default;
mod command;
mod comment;
mod common_table;
mod context;
mod create_select;
mod create_table;
mod default_value;
mod defined_view;
mod definition;
mod engine;
mod expr;
mod filter;
mod foreign_key;
mod from;
mod from_place;
mod full_group_by;
mod full_text;
mod full_text_columns;
mod full_text_counts;
mod full_text_index;
mod full_text_search;
mod functional_index;
mod generated_key;
mod grant;
pub(crate) mod grouping;
mod hint_conflicts;
mod hints;
mod insert;
mod insert_target;
mod join;
mod json_table;
mod limit;
mod literal;
mod load_data;
mod members;
mod multi_valued;
mod name_lookup;
mod names;
mod on_duplicate;
mod output;
mod over_items;
mod parameter;
mod partition;
mod partition_error;
mod partition_function;
mod query;
mod query_definition;
mod query_width;
mod read_and_written;
mod relation;
mod resolution;
mod result_column;
mod row_compare;
mod scope;
mod select;
mod stored;
mod stored_date;
mod subqueries;
mod subquery;
mod table_expressions;
mod table_is_there;
mod table_options;
mod values;
mod view;
mod view_definition;
mod volatile_items;
mod window;
mod write;
mod write_target;
mod written_view;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use functions::Expr;
use functions::bind::TypeEnv;
use schema::definition::TableName;
use types::{Error, Result, SqlType, Value, Warning, errno};

use crate::command::Bound;
use crate::command::Command;
use crate::env::{BindEnv, PlannedFor};
use crate::errno::ER_WRONG_VALUE;
use crate::logical::{Column, ColumnId, CommonTableId, Logical, LogicalQuery, LogicalStatement};
use crate::object_access::Accesses;
use crate::plan::ResultColumn;
use read_and_written::{ReadTable, WrittenTable};
use syntax::Parsed;
use syntax::ast::{self, ObjectName, Statement};

pub use collation::{collation_named, deprecated_charset, deprecated_collation};
pub use default_value::default_text;
pub use parameter::{GUESSED_CHARS, WIDEST_DECIMAL};
pub use partition_function::check_partitions;
use result_column::result_column;
pub use stored::{check_new_constraint, columns_of_check};
pub use table_expressions::expressions;
pub use view::{view_columns, view_text};

/// Resolves a statement's names and types and chooses how it is run.
///
/// # Errors
/// What MySQL answers for unknown or ambiguous names and wrong uses (1046, 1049, 1052, 1054, 1055, 1146 ...);
/// 1235 for what StemDB does not have.
pub fn bind(parsed: &Parsed, env: &BindEnv<'_>) -> Result<Bound> {
    if env.params_known && env.params.len() != parsed.parameters {
        return Err(Error::internal(format_args!(
            "{} types for {} parameters",
            env.params.len(),
            parsed.parameters
        )));
    }
    let of_file = load_data::variable_types(&parsed.statement, env);
    if parsed.assigns || !of_file.is_empty() {
        return bind_assigning(parsed, &of_file, env);
    }
    let binder = Binder::new(env);
    let bound = binder.statement(&parsed.statement);
    bound.map_err(|error| binder.denied_before(&parsed.statement, error))
}

/// Binds a statement with `@a := x` in it. The types of the variables are a result of binding and its input
/// as well, so the statement is bound until they do not change any more. `of_file`: the types of the variables
/// that LOAD DATA reads fields into.
fn bind_assigning(parsed: &Parsed, of_file: &HashMap<String, SqlType>, env: &BindEnv<'_>) -> Result<Bound> {
    /// A type grows from INT to DECIMAL to DOUBLE to text, and no further.
    const MOST_ROUNDS: usize = 8;
    let mut types = HashMap::new();
    for _ in 0..MOST_ROUNDS {
        let mut binder = Binder::new(env);
        binder.assigns = true;
        binder.types.variable_types = of_file.clone();
        binder.types.variable_types.extend(types.clone());
        let bound = binder.statement(&parsed.statement)?;
        let assigned = binder.types.notes.assigned.take();
        if assigned == types {
            return Ok(bound);
        }
        env.warnings.take();
        types = assigned;
    }
    Err(Error::internal("the types of assigned variables do not settle"))
}

/// Binds the WHERE of a SHOW statement: its columns are those of the statement's own output, by position.
///
/// `None` for a condition with subqueries: see [`bind_list_query`].
///
/// # Errors
/// As [`bind`]; 1054 for a name that is not in `columns`.
pub fn bind_filter(
    condition: &ast::Expr,
    columns: &[(String, SqlType)],
    env: &BindEnv<'_>,
) -> Result<Option<Expr>> {
    let binder = Binder::new(env);
    let (bound, subqueries) = list_condition(&binder, condition, columns)?;
    Ok(subqueries.is_empty().then_some(bound))
}

/// A condition about a list's columns, whose ids are their positions, and its subqueries.
fn list_condition(
    binder: &Binder<'_>,
    condition: &ast::Expr,
    columns: &[(String, SqlType)],
) -> Result<(Expr, subqueries::Subqueries)> {
    binder.new_columns(columns.len());
    binder.types.is_in_query.set(true);
    let names = names::ListNames { columns };
    let subqueries = subqueries::Subqueries::default();
    let context = context::Context {
        subqueries: Some(&subqueries),
        ..context::Context::of(&names)
    };
    let bound = binder.scalar(condition, &context)?;
    Ok((bound, subqueries))
}

/// The positions of the rows of a SHOW statement's output that satisfy its WHERE, as a query.
///
/// # Errors
/// As [`bind_filter`].
pub fn bind_list_query(
    condition: &ast::Expr,
    columns: &[(String, SqlType)],
    rows: &[Vec<Value>],
    env: &BindEnv<'_>,
) -> Result<Bound> {
    let binder = Binder::new(env);
    let (condition, subqueries) = list_condition(&binder, condition, columns)?;
    let condition = filter::as_condition(&binder, condition)?;
    let position = binder.new_column();
    let column = |id, ty, nullable| Column { id, ty, nullable };
    let of_list = columns.iter().enumerate();
    let values = rows.iter().enumerate().map(|(at, row)| {
        let row = row.iter().zip(columns);
        let row = row.map(|(value, (_, ty))| Expr::literal(value.clone(), *ty));
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        row.chain([Expr::literal(Value::Int(at), SqlType::BIGINT)])
            .collect()
    });
    let values = Logical::Values {
        rows: values.collect(),
        columns: of_list
            .map(|(at, (_, ty))| column(ColumnId(at), *ty, true))
            .chain([column(position, SqlType::BIGINT, false)])
            .collect(),
    };
    let root = from_place::filtered(subqueries.applied_to(values), Some(condition));
    binder.bound_statement(LogicalStatement::Query(LogicalQuery {
        root,
        output: vec![position],
        columns: vec![ResultColumn::unnamed("", SqlType::BIGINT, false)],
        limit_of_output: None,
        max_execution: None,
        in_order: false,
    }))
}

/// The error for a part that an expression of a definition may not have, with the name of the function if the part
/// is a call.
type RefusedPart<'a> = &'a dyn Fn(Option<&str>) -> Error;

/// One statement's binding.
pub(crate) struct Binder<'a> {
    pub env: &'a BindEnv<'a>,
    pub types: TypeEnv,
    /// False once the plan depends on this session or this moment.
    cacheable: Cell<bool>,
    /// The statement assigns to user variables, row by row.
    pub assigns: bool,
    /// Set while an expression of a definition is bound.
    in_definition: Option<RefusedPart<'a>>,
    /// The privileges and locks that the statement needs.
    pub accesses: Accesses,
    /// The tables that the statement writes to.
    written: RefCell<Vec<WrittenTable>>,
    /// The tables that subqueries have read so far.
    read_by_subqueries: RefCell<Vec<ReadTable>>,
    /// The ids of the temporary tables that the statement names, and what it calls them.
    opened: RefCell<Vec<(i64, String)>>,
    /// How many queries are around what is being bound.
    query_depth: Cell<usize>,
    /// How many derived tables and common table expressions are around what is being bound.
    derived_depth: Cell<usize>,
    /// The depth of the query of EXISTS, which reads nothing of what `*` stands for there.
    unread_stars: Cell<Option<usize>>,
    /// How many columns and common table expressions have an id.
    columns: Cell<usize>,
    table_expressions: Cell<usize>,
    /// The common table expressions whose names are known here, the innermost last.
    common_tables: RefCell<Vec<common_table::KnownTable>>,
    /// The named windows of the blocks that are being bound, the innermost last.
    windows: RefCell<Vec<Vec<ast::NamedWindow>>>,
    hints: RefCell<hints::BlockHints>,
    /// The ids of the views around what is being bound, the innermost last.
    views: Vec<i64>,
    /// What the names mean: where a view is being defined.
    resolution: Option<resolution::Resolution>,
    /// The view that is being defined.
    defined: Option<TableName>,
    /// Its query reads the view itself.
    reads_defined: Cell<bool>,
    /// INSERT, UPDATE or DELETE, for error messages.
    verb: Cell<&'static str>,
}

impl<'a> Binder<'a> {
    fn new(env: &'a BindEnv<'a>) -> Self {
        Self {
            env,
            types: env.type_env(),
            cacheable: Cell::new(true),
            assigns: false,
            in_definition: None,
            accesses: Accesses::default(),
            written: RefCell::default(),
            read_by_subqueries: RefCell::default(),
            opened: RefCell::default(),
            query_depth: Cell::new(0),
            derived_depth: Cell::new(0),
            unread_stars: Cell::new(None),
            columns: Cell::new(0),
            table_expressions: Cell::new(0),
            common_tables: RefCell::default(),
            windows: RefCell::default(),
            hints: RefCell::default(),
            views: Vec::new(),
            resolution: None,
            defined: None,
            reads_defined: Cell::new(false),
            verb: Cell::new(""),
        }
    }

    fn statement(&self, statement: &Statement) -> Result<Bound> {
        let plan = match statement {
            Statement::Query(query) => match query.into_clause() {
                Some(into) => return command::bind_select_into(self, query, into).map(Bound::Command),
                None => LogicalStatement::Query(self.statement_query(query)?),
            },
            Statement::Insert(insert) => {
                self.verb.set("INSERT");
                hints::enter_block(self, insert.hints.as_deref());
                hints::time_limit(self, false);
                LogicalStatement::Insert(insert::bind_insert(self, insert)?)
            }
            Statement::Update(update) => {
                self.verb.set("UPDATE");
                hints::enter_block(self, update.hints.as_deref());
                hints::time_limit(self, false);
                write::bind_update(self, update)?
            }
            Statement::Delete(delete) => {
                self.verb.set("DELETE");
                hints::enter_block(self, delete.hints.as_deref());
                hints::time_limit(self, false);
                write::bind_delete(self, delete)?
            }
            Statement::LoadData(load) => {
                self.verb.set("LOAD");
                return load_data::bind_load_data(self, load).map(Bound::Command);
            }
            Statement::Invalid(error) => return Err(error.clone()),
            other => return self.definition_or_command(other),
        };
        self.bound_statement(plan)
    }

    /// The error of a statement that cannot be bound. MySQL checks the privilege on a column as it resolves its name, so
    /// that the lack of one comes before what is wrong further on. Tables are looked up before.
    fn denied_before(&self, statement: &Statement, error: Error) -> Error {
        let resolves = matches!(
            statement,
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
        );
        if !resolves || table_is_there::is_of_opening(&error) || error.code == errno::ER_NOT_SUPPORTED_YET {
            return error;
        }
        let denied = (self.env.check_accesses)(&self.accesses.of_failed_statement());
        denied.err().unwrap_or(error)
    }

    /// A statement with what it needs besides.
    fn bound_statement(&self, plan: LogicalStatement) -> Result<Bound> {
        hints::report_unknown_blocks(self);
        self.report_incorrect(&plan)?;
        let accesses = self.accesses.of_statement(&plan);
        Ok(Bound::Statement {
            statement: plan,
            types: self.types.clone(),
            assigns: self.assigns,
            accesses,
            cacheable: self.cacheable.get(),
            next_column: self.next_column(),
        })
    }

    /// Constants that are not of the type they are compared with: warnings, or an error in strict writes.
    fn report_incorrect(&self, plan: &LogicalStatement) -> Result<()> {
        if self.types.notes.needs_literals.get() {
            self.not_cacheable();
        }
        for _ in 0..self.types.notes.json_truths.take() {
            self.not_cacheable();
            self.warn_of_text(Warning::warning(ER_JSON_AS_TRUTH, JSON_AS_TRUTH));
        }
        let incorrect = self.types.notes.incorrect.take();
        let no_dates = self.types.notes.no_dates.take();
        if incorrect.is_empty() && no_dates.is_empty() {
            return Ok(());
        }
        // The next execution must raise it as well.
        self.not_cacheable();
        let ignores = match plan {
            LogicalStatement::Query(_) => true,
            LogicalStatement::Insert(insert) => insert.ignore,
            LogicalStatement::Update(update) => update.ignore,
            LogicalStatement::Delete(delete) => delete.ignore,
            LogicalStatement::FoundWrite(write) => write.ignore,
        };
        let lost = |message: String| {
            if self.env.sql_mode.strict && !ignores {
                return Err(Error::new(errno::ER_TRUNCATED_WRONG_VALUE, message));
            }
            self.warn(Warning::warning(errno::ER_TRUNCATED_WRONG_VALUE, message));
            Ok(())
        };
        for message in incorrect {
            lost(message)?;
        }
        if let Some(no_date) = no_dates.into_iter().next() {
            lost(no_date.incorrect)?;
            return Err(Error::new(ER_WRONG_VALUE, no_date.wrong));
        }
        Ok(())
    }

    fn definition_or_command(&self, statement: &Statement) -> Result<Bound> {
        if let Statement::CreateTable(create) = statement
            && let Some(command) = table_is_there::bind(self, create)?
        {
            return Ok(Bound::Command(command));
        }
        if let Statement::CreateTable(create) = statement
            && let Some(select) = &create.select
        {
            return create_select::bind_create_table_select(self, create, select).map(Bound::Command);
        }
        match definition::bind_definition(self, statement)? {
            Some(ddl) if statement.is_temporary() => Ok(Bound::Command(Command::Temporary(Box::new(ddl)))),
            Some(ddl) => Ok(Bound::Ddl(ddl)),
            None => command::bind_command(self, statement).map(Bound::Command),
        }
    }

    /// An id for a column.
    pub fn new_column(&self) -> ColumnId {
        self.new_columns(1)
    }

    /// The first of as many ids in a row.
    pub fn new_columns(&self, count: usize) -> ColumnId {
        let first = self.columns.get();
        self.columns.set(first + count);
        ColumnId(first)
    }

    /// The id that the next column gets.
    pub fn next_column(&self) -> ColumnId {
        ColumnId(self.columns.get())
    }

    pub fn new_common_table(&self) -> CommonTableId {
        let next = self.table_expressions.get();
        self.table_expressions.set(next + 1);
        CommonTableId(next)
    }

    /// Marks the plan as good for this execution only.
    pub fn not_cacheable(&self) {
        self.cacheable.set(false);
    }

    /// [`Self::warn_of_text`] of a statement whose plan does not keep its warnings.
    pub fn warn_each_time(&self, warning: Warning) {
        self.not_cacheable();
        self.warn_of_text(warning);
    }

    /// A warning about a hint. A view has none of the hints of its query: CREATE VIEW only says which of them cannot be
    /// read.
    pub fn warn_of_hint(&self, warning: Warning) {
        if self.defined.is_none() {
            self.warn_each_time(warning);
        }
    }

    /// A warning of what the text says, which MySQL gives as it reads the text: PREPARE gives it, and executions of
    /// the prepared statement do not.
    pub fn warn_of_text(&self, warning: Warning) {
        if !self.env.planned_for.is_execution() {
            self.env.warnings.push(warning);
        }
    }

    /// A warning of what the statement does, which its executions give, and PREPARE does not.
    pub fn warn(&self, warning: Warning) {
        if self.env.planned_for != PlannedFor::Prepare {
            self.env.warnings.push(warning);
        }
    }

    /// The named database, or the default one.
    pub fn database(&self, name: Option<&str>) -> Result<String> {
        match name.or(self.env.database) {
            Some(name) => Ok(system_database(name).unwrap_or(name).to_owned()),
            None => Err(Error::new(errno::ER_NO_DB_ERROR, "No database selected")),
        }
    }

    /// The name with the default database filled in.
    pub fn table_name(&self, name: &ObjectName) -> Result<TableName> {
        Ok(TableName {
            database: self.database(name.database.as_deref())?,
            name: name.name.clone(),
        })
    }

    pub fn table_names(&self, names: &[ObjectName]) -> Result<Vec<TableName>> {
        names.iter().map(|name| self.table_name(name)).collect()
    }
}

const ER_JSON_AS_TRUTH: u16 = 3986;
const JSON_AS_TRUTH: &str = "Evaluating a JSON value in SQL boolean context does an implicit comparison against JSON integer 0; \
     if this is not what you want, consider converting JSON to a SQL numeric type with JSON_VALUE RETURNING";

/// Databases made by the server are found in any case, as those of MySQL are.
fn system_database(name: &str) -> Option<&'static str> {
    ["information_schema", "performance_schema"]
        .into_iter()
        .find(|system| system.eq_ignore_ascii_case(name))
}
