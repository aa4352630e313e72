//! Statements and what the planner and the optimizer make of them: `golden/*.txt`, over the tables of `golden/schema.sql`.
//!
//! A line that begins with `>` is a statement, what follows it up to the next one is the answer. `> < FILE`: the
//! statement of a file. Lines that begin with `@` set what the next statements are planned with: `@ rows TABLE N`,
//! `@ params TYPE ...`, `@ guess`, `@ route transactional|analytical|auto`, `@ mode default|loose`, `@ database
//! NAME|none`, `@ coprocessor on` (the stores compute), `@ without RULE ...`, `@ tables FILE` (other tables than those of the schema), and statistics ([`statistics`]).
//! `UPDATE_GOLDEN=1` records the answers. Files are those of `crates/loadgen/src`, so that a workload's plans are
//! those of the statements that it sends.

#![allow(clippy::unwrap_used)]

#[path = "golden/statistics.rs"]
mod statistics;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use functions::{TimeZone, Warnings};
use optimizer::{Planned, Rule, Rules, Surroundings, Switches};
use planner::command::{Command, Explained};
use planner::plan::Route;
use planner::{BindEnv, Bound};
use schema::definition::{AlterChange, Ddl, TableDefinition};
use schema::model::{Column, Database, Handle, Index, Schema, Table};
use types::{Collation, Error, Result, SqlMode, SqlType, Value, errno};

#[test]
fn golden() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut wrong = String::new();
    for file in files {
        let expected = std::fs::read_to_string(&file).unwrap();
        let actual = Runner::new().run(&expected);
        if actual == expected {
            continue;
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, actual).unwrap();
        } else {
            let _ = writeln!(wrong, "{}:\n{}", file.display(), difference(&expected, &actual));
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nUPDATE_GOLDEN=1 accepts all of it");
}

/// The first lines that differ.
fn difference(expected: &str, actual: &str) -> String {
    let pairs = expected.lines().zip(actual.lines());
    for (number, (e, a)) in pairs.enumerate() {
        if e != a {
            return format!("line {}\n  expected: {e}\n  actual:   {a}", number + 1);
        }
    }
    "one is longer than the other".into()
}

struct Runner {
    schema: Arc<Schema>,
    known: statistics::Known,
    params: Vec<SqlType>,
    guess: bool,
    route: Option<Route>,
    switches: Switches,
    mode: SqlMode,
    database: Option<String>,
}

impl Runner {
    fn new() -> Self {
        let mut runner = Self {
            schema: Arc::new(empty_schema()),
            known: statistics::Known::default(),
            params: Vec::new(),
            guess: false,
            route: None,
            switches: Switches::default(),
            mode: SqlMode::default(),
            database: Some("shop".into()),
        };
        runner.create(include_str!("golden/schema.sql"));
        runner
    }

    /// The tables of some definitions, and no others.
    fn create(&mut self, definitions: &str) {
        self.schema = Arc::new(empty_schema());
        for parsed in syntax::parse(definitions, &self.mode).unwrap() {
            let Planned::Ddl(Ddl::CreateTable { name, definition, .. }) = self.plan(&parsed).unwrap().0
            else {
                panic!("{parsed:?}")
            };
            self.add(&name.database, &name.name, definition);
        }
    }

    fn add(&mut self, database: &str, name: &str, definition: TableDefinition) {
        let mut schema = Schema::clone(&self.schema);
        let mut in_database = Database::clone(&schema.databases[database]);
        let id = 100 + in_database.tables.len() as i64;
        in_database
            .tables
            .insert(name.into(), Arc::new(table(id, database, name, definition)));
        schema.databases.insert(database.into(), Arc::new(in_database));
        self.schema = Arc::new(schema);
    }

    fn run(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if let Some(setting) = line.strip_prefix("@ ") {
                self.set(setting);
            } else if let Some(statement) = line.strip_prefix("> ") {
                let text = statement.strip_prefix("< ").map(of_loadgen);
                let text = text.as_deref().unwrap_or(statement);
                out += &format!("{line}\n{}\n", self.answer(text));
                continue;
            } else if line.starts_with('#') {
                // A comment.
            } else {
                continue;
            }
            out += &format!("{line}\n");
            if lines.peek().is_some_and(|l| l.is_empty()) {
                out.push('\n');
            }
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        out
    }

    fn set(&mut self, setting: &str) {
        let words: Vec<&str> = setting.split_whitespace().collect();
        match words.as_slice() {
            ["tables", file] => self.create(&of_loadgen(file)),
            [what @ ("rows" | "column" | "index"), name, rest @ ..] => {
                let table = Arc::clone(self.schema.table("shop", name).unwrap());
                self.known.learn(&table, what, rest);
            }
            ["params", types @ ..] => {
                self.guess = false;
                self.params = types.iter().map(|ty| param_type(ty)).collect();
            }
            ["coprocessor", "on"] => self.known.has_coprocessor = true,
            ["guess"] => self.guess = true,
            ["route", "transactional"] => self.route = Some(Route::Transactional),
            ["route", "analytical"] => self.route = Some(Route::Analytical),
            ["route", "auto"] => self.route = None,
            ["without", names @ ..] => {
                let on = Rule::NAMES.iter().copied().filter(|name| !names.contains(name));
                self.switches.rules = Rules::named(&on.collect::<Vec<_>>());
            }
            ["mode", "default"] => self.mode = SqlMode::default(),
            ["mode", "loose"] => self.mode.only_full_group_by = false,
            ["database", "none"] => self.database = None,
            ["database", name] => self.database = Some((*name).into()),
            other => panic!("{other:?}"),
        }
    }

    fn plan(&self, parsed: &syntax::Parsed) -> Result<(Planned, Vec<String>)> {
        let warnings = Warnings::default();
        let user_variables = HashMap::from([("x".to_owned(), Value::Int(5).into())]);
        let count = parsed.parameters;
        let params: Vec<SqlType> = (0..count)
            .map(|i| self.params.get(i).copied().unwrap_or(SqlType::BIGINT))
            .collect();
        let env = BindEnv {
            schema: self.schema.clone(),
            temporary: &schema::temporary_tables::NO_TEMPORARY_TABLES,
            database: self.database.as_deref(),
            params: &params,
            planned_for: planner::PlannedFor::Text,
            params_known: !self.guess,
            places: None,
            literal_params: false,
            sql_mode: self.mode,
            charset_client: types::Charset::Utf8mb4,
            collation_connection: Collation::DEFAULT,
            collation_server: Collation::DEFAULT,
            div_precision_increment: 4,
            default_week_format: 0,
            group_concat_max_len: 1024,
            time_zone: TimeZone::UTC,
            system_variable: &|_, name| match name {
                "autocommit" => Ok(Value::Int(1)),
                _ => Err(Error::new(
                    errno::ER_UNKNOWN_SYSTEM_VARIABLE,
                    format!("Unknown system variable '{name}'"),
                )),
            },
            user_variables: &user_variables,
            check_table: &|_, _, _| Ok(()),
            denied_column: &|_, _, _| None,
            thread: 0,
            check_accesses: &|_| Ok(()),
            denied: &|database| {
                Error::new(
                    errno::ER_DBACCESS_DENIED_ERROR,
                    format!("Access denied for user 'root'@'localhost' to database '{database}'"),
                )
            },
            warnings: &warnings,
            foreign_key_checks: true,
        };
        let planned = self.optimized(planner::bind(parsed, &env)?)?;
        let (list, _) = warnings.take();
        let shown = list
            .iter()
            .map(|w| format!("{} {}: {}", w.level.name(), w.code, w.message))
            .collect();
        Ok((planned, shown))
    }

    fn optimized(&self, bound: Bound) -> Result<Planned> {
        let surroundings = Surroundings {
            route: self.route,
            switches: self.switches,
            estimates: &self.known,
        };
        optimizer::plan(bound, &surroundings)
    }

    fn explained(&self, explained: &Explained) -> Result<String> {
        let Planned::Plan(planned) = self.optimized(explained.bound.clone())? else {
            panic!("EXPLAIN of what is no plan");
        };
        let (columns, rows) = optimizer::explain::explain(
            &planned,
            explained
                .format
                .unwrap_or(syntax::ast::ExplainFormat::Traditional),
        );
        let mut text = String::new();
        for row in rows {
            for (column, value) in columns.iter().zip(row) {
                if !value.is_null() {
                    let _ = writeln!(text, "{}: {}", column.name, value.display_text(&column.ty));
                }
            }
        }
        Ok(text)
    }

    fn answer(&self, statement: &str) -> String {
        let planned = syntax::parse_one(statement, self.mode).and_then(|parsed| self.plan(&parsed));
        let (planned, warnings) = match planned {
            Ok(planned) => planned,
            Err(error) => return format!("{error}\n"),
        };
        let mut text = match planned {
            Planned::Plan(planned) => {
                let once = if planned.cacheable {
                    ""
                } else {
                    "for this execution only\n"
                };
                format!("{}{once}", optimizer::dump::plan(&planned.plan))
            }
            Planned::Ddl(ddl) => definition(&ddl),
            Planned::Command(Command::Explain(explained)) => match self.explained(&explained) {
                Ok(text) => text,
                Err(error) => return format!("{error}\n"),
            },
            Planned::Command(command) => format!("{}\n", without_types(&format!("{command:?}"))),
        };
        for warning in warnings {
            let _ = writeln!(text, "{warning}");
        }
        text
    }
}

/// A file of the workloads.
fn of_loadgen(file: &str) -> String {
    let path = format!("{}/../loadgen/src/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Types of expressions are not this crate's to decide.
fn without_types(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(", ty: SqlType {") {
        out += before;
        rest = behind.split_once('}').map_or("", |(_, behind)| behind);
    }
    out + rest
}

fn param_type(name: &str) -> SqlType {
    match name {
        "bigint" => SqlType::BIGINT,
        "unsigned" => SqlType::BIGINT_UNSIGNED,
        "double" => SqlType::DOUBLE,
        "decimal" => SqlType::decimal(18, 2),
        "varchar" => SqlType::varchar(255, Collation::DEFAULT),
        "datetime" => SqlType::datetime(6),
        "null" => SqlType::NULL,
        other => panic!("{other}"),
    }
}

fn empty_schema() -> Schema {
    let database = Database {
        id: 1,
        name: "shop".into(),
        collation: Collation::DEFAULT,
        tables: HashMap::new(),
    };
    Schema::new(1, BTreeMap::from([("shop".to_owned(), Arc::new(database))]))
}

/// The table as CREATE TABLE would publish it.
fn table(id: i64, database: &str, name: &str, definition: TableDefinition) -> Table {
    let columns: Vec<Column> = (1..)
        .zip(definition.columns)
        .map(|(id, column)| Column { id, ..column })
        .collect();
    let indexes: Vec<Index> = (1..)
        .zip(definition.indexes)
        .map(|(id, index)| {
            let name = match index.name.as_str() {
                "" => columns[index.parts[0].column].name.clone(),
                name => name.into(),
            };
            Index { id, name, ..index }
        })
        .collect();
    Table {
        id,
        name: name.into(),
        database: database.into(),
        max_column_id: columns.len() as i64,
        max_index_id: indexes.len() as i64,
        columns,
        indexes,
        handle: definition.handle,
        collation: definition.collation,
        comment: definition.comment,
        auto_increment_start: definition.auto_increment_start,
        shard_row_id_bits: definition.shard_row_id_bits as u8,
        pre_split_regions: definition.pre_split_regions as u8,
        created_us: 0,
        revision: 1,
        readable_from_ts: 0,
        view: None,
        system: Default::default(),
        checks: definition.checks,
        bound: Default::default(),
        foreign_keys: Vec::new(),
        shadow: None,
        options: definition.options,
        temporary: None,
        physical: None,
        partitioning: None,
    }
}

/// A definition, a line for each thing it holds.
fn definition(ddl: &Ddl) -> String {
    let lines = RefCell::new(String::new());
    let line = |text: String| {
        let _ = writeln!(lines.borrow_mut(), "{text}");
    };
    match ddl {
        Ddl::CreateTable { name, definition, .. } => {
            line(format!(
                "create table {}.{} ({})",
                name.database,
                name.name,
                definition.collation.name()
            ));
            definition
                .columns
                .iter()
                .for_each(|column| line(format!("  {}", column_text(column))));
            for index in &definition.indexes {
                let unique = if index.unique { "unique " } else { "" };
                let parts: Vec<String> = index
                    .parts
                    .iter()
                    .map(|part| {
                        let prefix = part.prefix.map_or(String::new(), |p| format!("({p})"));
                        format!("{}{prefix}", definition.columns[part.column].name)
                    })
                    .collect();
                line(format!("  {unique}index '{}' ({})", index.name, parts.join(", ")));
            }
            line(match definition.handle {
                Handle::Integer { column } => format!("  handle {}", definition.columns[column].name),
                Handle::Clustered { index } => format!("  clustered by index {index}"),
                Handle::Hidden => "  hidden handle".into(),
            });
        }
        Ddl::AlterTable { name, changes, .. } => {
            line(format!("alter table {}.{}", name.database, name.name));
            for change in changes {
                line(match change {
                    AlterChange::AddColumn { column, position } => {
                        format!("  add {} {position:?}", column_text(column))
                    }
                    AlterChange::ModifyColumn {
                        name,
                        column,
                        position,
                    } => {
                        format!("  modify {name}: {} {position:?}", column_text(column))
                    }
                    other => format!("  {other:?}"),
                });
            }
        }
        other => line(format!("{other:?}")),
    }
    lines.into_inner()
}

fn column_text(column: &Column) -> String {
    let mut text = format!("{} {}", column.name, column.ty.column_type());
    if column.ty.is_string() && !column.ty.is_binary() {
        let how = if column.explicit_collation {
            "collate"
        } else {
            "inherits"
        };
        text += &format!(" {how} {}", column.ty.collation.name());
    }
    if !column.nullable {
        text += " not null";
    }
    text += &format!(" default {:?}", column.default);
    if column.auto_increment {
        text += " auto_increment";
    }
    if let Some(random) = column.auto_random {
        text += &format!(" auto_random({}, {})", random.shard_bits, random.range_bits);
    }
    if column.on_update_now {
        text += " on update now";
    }
    if !column.comment.is_empty() {
        text += &format!(" comment '{}'", column.comment);
    }
    text
}
