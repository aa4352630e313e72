//! JSON_TABLE: the rows of a document. Source: manual 12.18.6 "JSON Table Functions".

use types::json::{Json, JsonBinary, JsonRef, JsonView, field_type};
use types::{Collation, Error, Result, SqlType, TypeKind, Value, errno};

use super::convert::{integer_of_text, parse_argument};
use super::path::{self, Path};
use crate::assign;
use crate::bind::literal_type;
use crate::context::{EvalContext, Strictness};

/// How many NESTED PATHs a JSON_TABLE may have.
const NESTED_MAX: usize = 16;

/// The type of `FOR ORDINALITY` columns.
pub const ORDINALITY: SqlType = SqlType {
    length: 10,
    ..SqlType::BIGINT
};

/// The definition of a JSON_TABLE.
#[derive(Debug, Clone)]
pub struct JsonTable {
    root: Level,
    /// The type of each output column.
    types: Vec<SqlType>,
}

/// A path, the columns for each value it matches, and the nested paths.
#[derive(Debug, Clone)]
pub struct Level {
    path: Path,
    columns: Vec<Column>,
    nested: Vec<Level>,
}

#[derive(Debug, Clone)]
struct Column {
    /// Its position in the output.
    position: usize,
    name: String,
    ty: SqlType,
    kind: ColumnKind,
}

#[derive(Debug, Clone)]
enum ColumnKind {
    Ordinality,
    Exists(Path),
    Value {
        path: Path,
        on_empty: Fallback,
        on_error: Fallback,
    },
}

#[derive(Debug, Clone)]
enum Fallback {
    Error,
    Value(Value),
}

/// The value of a column if there is no value, or none of its type.
#[derive(Debug, Clone)]
pub enum OnCondition {
    Null,
    Error,
    /// The text of a JSON value.
    Default(String),
}

/// Takes a row.
pub type AddRow<'a> = &'a mut dyn FnMut(&[Value]) -> Result<()>;

impl Level {
    /// # Errors
    /// 3143 for a path that is none.
    pub fn new(path: &str) -> Result<Self> {
        Ok(Self {
            path: path::parse(path)?,
            columns: Vec::new(),
            nested: Vec::new(),
        })
    }

    pub fn add_nested(&mut self, nested: Self) {
        self.nested.push(nested);
    }

    /// `name FOR ORDINALITY`
    pub fn add_ordinality(&mut self, position: usize, name: &str) {
        self.add(position, name, ORDINALITY, ColumnKind::Ordinality);
    }

    /// `name type EXISTS PATH path`
    pub fn add_exists(&mut self, position: usize, name: &str, ty: SqlType, path: &str) -> Result<()> {
        let path = path::parse(path)?;
        self.add(position, name, ty, ColumnKind::Exists(path));
        Ok(())
    }

    /// `name type PATH path on_empty on_error`
    ///
    /// # Errors
    /// 3143 for an invalid path, 3141 for a default that is not JSON, 3156 and 3669 for one that is not a value of the
    /// type.
    pub fn add_value(
        &mut self,
        position: usize,
        name: &str,
        ty: SqlType,
        path: &str,
        [on_empty, on_error]: [OnCondition; 2],
    ) -> Result<()> {
        let fallback = |condition| match condition {
            OnCondition::Null => Ok(Fallback::Value(Value::Null)),
            OnCondition::Error => Ok(Fallback::Error),
            OnCondition::Default(text) => default_value(&text, name, &ty).map(Fallback::Value),
        };
        let kind = ColumnKind::Value {
            path: path::parse(path)?,
            on_empty: fallback(on_empty)?,
            on_error: fallback(on_error)?,
        };
        self.add(position, name, ty, kind);
        Ok(())
    }

    fn add(&mut self, position: usize, name: &str, ty: SqlType, kind: ColumnKind) {
        self.columns.push(Column {
            position,
            name: name.to_owned(),
            ty,
            kind,
        });
    }

    fn count_nested(&self) -> usize {
        self.nested.iter().map(|level| 1 + level.count_nested()).sum()
    }
}

impl JsonTable {
    /// `types`: of the columns by position.
    ///
    /// # Errors
    /// 3670 for too many NESTED PATHs.
    pub fn new(alias: &str, root: Level, types: Vec<SqlType>) -> Result<Self> {
        if root.count_nested() > NESTED_MAX {
            return Err(Error::new(
                errno::ER_TF_MAX_NESTED_PATH,
                format!("More than supported {NESTED_MAX} NESTED PATHs were found in JSON_TABLE '{alias}'"),
            ));
        }
        Ok(Self { root, types })
    }

    /// Of the columns by position.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// Passes the rows of a document, which is JSON or its text, to `add` one by one. NULL has no rows.
    ///
    /// # Errors
    /// 3141 for a text that is not JSON, those of ERROR ON EMPTY and ERROR ON ERROR, and those of `add`.
    pub fn rows(&self, document: &Value, ctx: &EvalContext, add: AddRow<'_>) -> Result<()> {
        let parsed;
        let json = match document {
            Value::Null => return Ok(()),
            Value::Json(json) => json.root(),
            Value::String(_) | Value::Bytes(_) => {
                parsed = parse_argument(document.as_bytes().unwrap_or_default(), 1, "json_table")?;
                parsed.root()
            }
            _ => return Err(Error::internal("the document of JSON_TABLE is not text")),
        };
        let strict = strict(ctx);
        let mut row = vec![Value::Null; self.types.len()];
        self.level(&self.root, json, &mut row, add, &strict)?;
        Ok(())
    }

    /// Adds the rows of one level, and returns their number. The rows of sibling paths follow one another,
    /// each with NULL in the columns of the other paths. A value without nested matches has one row.
    fn level(
        &self,
        level: &Level,
        json: JsonRef<'_>,
        row: &mut Vec<Value>,
        add: AddRow<'_>,
        ctx: &EvalContext,
    ) -> Result<usize> {
        let mut count = 0;
        for (number, value) in (1..).zip(level.path.find(json)) {
            for column in &level.columns {
                row[column.position] = self.value(column, value, number, ctx)?;
            }
            let mut below = 0;
            for nested in &level.nested {
                below += self.level(nested, value, row, add, ctx)?;
            }
            if below == 0 {
                add(row)?;
                below = 1;
            }
            count += below;
        }
        clear(level, row);
        Ok(count)
    }

    fn value(&self, column: &Column, json: JsonRef<'_>, number: i64, ctx: &EvalContext) -> Result<Value> {
        let (path, on_empty, on_error) = match &column.kind {
            ColumnKind::Ordinality => return Ok(Value::Int(number)),
            ColumnKind::Exists(path) => {
                let exists = JsonBinary::new(&Json::Int(i64::from(path.find_first(json).is_some())))?;
                return stored(exists.root(), &column.ty, &column.name, ctx);
            }
            ColumnKind::Value {
                path,
                on_empty,
                on_error,
            } => (path, on_empty, on_error),
        };
        let found = path.find(json);
        let array;
        let json = match found.as_slice() {
            [] => {
                return match on_empty {
                    Fallback::Value(value) => Ok(value.clone()),
                    Fallback::Error => Err(Error::new(
                        errno::ER_MISSING_JSON_TABLE_VALUE,
                        format!("Missing value for JSON_TABLE column '{}'", column.name),
                    )),
                };
            }
            [one] => *one,
            // Several values form an array.
            several => {
                array = JsonBinary::new(&Json::Array(several.iter().map(|j| j.to_tree()).collect()))?;
                array.root()
            }
        };
        let value = match is_scalar(json) || column.ty.kind == TypeKind::Json {
            true => stored(json, &column.ty, &column.name, ctx),
            false => Err(Error::new(
                errno::ER_WRONG_JSON_TABLE_VALUE,
                format!(
                    "Can't store an array or an object in the scalar JSON_TABLE column '{}'",
                    column.name
                ),
            )),
        };
        match (value, on_error) {
            (Err(_), Fallback::Value(value)) => Ok(value.clone()),
            (value, _) => value.map_err(|error| misfit(error, &column.name, &column.ty)),
        }
    }
}

/// A default in the type of its column.
fn default_value(text: &str, name: &str, ty: &SqlType) -> Result<Value> {
    let json = parse_argument(text.as_bytes(), 1, "JSON_TABLE")?;
    if !is_scalar(json.root()) && ty.kind != TypeKind::Json {
        return Err(Error::new(
            errno::ER_INVALID_DEFAULT,
            format!("Invalid default value for '{name}'"),
        ));
    }
    let context = strict(&EvalContext::default());
    stored(json.root(), ty, name, &context).map_err(|error| misfit(error, name, ty))
}

fn is_scalar(json: JsonRef<'_>) -> bool {
    !matches!(json.view(), JsonView::Array(_) | JsonView::Object(_))
}

/// The error of a value that a column cannot take: 3669, unless it is about JSON.
fn misfit(error: Error, name: &str, ty: &SqlType) -> Error {
    match error.code {
        errno::ER_WRONG_JSON_TABLE_VALUE => error,
        errno::ER_INVALID_JSON_VALUE_FOR_CAST if !ty.is_temporal() => error,
        _ => Error::new(
            errno::ER_JT_VALUE_OUT_OF_RANGE,
            format!("Value is out of range for JSON_TABLE's column '{name}'"),
        ),
    }
}

/// A context in which a value that does not fit is an error, so that ON ERROR applies.
fn strict(ctx: &EvalContext) -> EvalContext {
    EvalContext {
        strictness: Strictness::Error,
        sql_mode: ctx.sql_mode,
        time_zone: ctx.time_zone,
        now_us: ctx.now_us,
        ..EvalContext::default()
    }
}

/// Converts a JSON value to a column's type.
fn stored(json: JsonRef<'_>, ty: &SqlType, name: &str, ctx: &EvalContext) -> Result<Value> {
    let (value, from) = match json.view() {
        JsonView::Null => return Ok(Value::Null),
        _ if ty.kind == TypeKind::Json => return Ok(Value::Json(json.to_binary())),
        // MySQL keeps the 64 bits of the integer in a string.
        JsonView::String(text) if ty.kind == TypeKind::BigInt && ty.unsigned => match integer_of_text(text) {
            (bits, None) => (Value::UInt(bits), SqlType::BIGINT_UNSIGNED),
            _ => (Value::Json(json.to_binary()), SqlType::JSON),
        },
        // Binary data is stored as it is.
        JsonView::Opaque(field_type::VARCHAR | field_type::TINY_BLOB..=field_type::STRING, bytes)
            if ty.is_string() =>
        {
            let from = literal_type(bytes.len(), Collation::Binary);
            (Value::Bytes(bytes.to_vec()), from)
        }
        _ if ty.is_string() => {
            let text = json.to_unquoted();
            let from = literal_type(text.len(), Collation::DEFAULT);
            (Value::String(text), from)
        }
        _ => (Value::Json(json.to_binary()), SqlType::JSON),
    };
    assign::value(value, &from, ty, name, 1, ctx)
}

/// Sets the columns of a level and of those below to NULL.
fn clear(level: &Level, row: &mut [Value]) {
    for column in &level.columns {
        row[column.position] = Value::Null;
    }
    for nested in &level.nested {
        clear(nested, row);
    }
}
