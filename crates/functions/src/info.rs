//! Functions about the session, user variables, SLEEP, and functions that StemDB refuses.
//!
//! Source: manual 12.16 "Information Functions", 12.24 "Miscellaneous Functions".

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use types::{Collation, Error, Result, SqlType, TypeKind, Value, errno};

use crate::Expr;
use crate::bind::arguments::condition;
use crate::bind::{common_type, type_of_value};
use crate::cast;
use crate::cast::conversion::Conversion;
use crate::context::Strictness;
use crate::datum::to_double;
use crate::datum::{Cell, Datum};
use crate::eval::row::evaluate;
use crate::expr::{Binding, Call, FunctionDef, Nullability, ScalarFn};
use crate::input::Row;
use crate::registry::{Alias, Family, MANY, function, lazy};
use crate::server::FileContents;
use crate::string::too_large;
use crate::user_variable::UserVariable;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[
        Alias {
            name: "schema",
            of: "database",
        },
        Alias {
            name: "session_user",
            of: "user",
        },
        Alias {
            name: "system_user",
            of: "user",
        },
    ],
};

static FUNCTIONS: &[FunctionDef] = &[
    of_session("version", |_| Ok(text(60)), |c, _| Ok(Value::from(c.ctx.version)))
        .nullability(Nullability::Never),
    of_session(
        "database",
        |_| Ok(text(34)),
        |c, _| Ok(c.ctx.database.as_deref().map_or(Value::Null, Value::from)),
    )
    .nullability(Nullability::Always),
    of_session(
        "user",
        |_| Ok(text(288)),
        |c, _| Ok(Value::from(c.ctx.identity.user.as_str())),
    ),
    of_session(
        "current_user",
        |_| Ok(text(288)),
        |c, _| Ok(Value::from(c.ctx.identity.current_user.as_str())),
    ),
    of_session(
        "current_role",
        |_| Ok(long_text()),
        |c, _| Ok(Value::from(c.ctx.identity.current_role.as_str())),
    ),
    of_session(
        "connection_id",
        |_| Ok(unsigned()),
        |c, _| Ok(Value::UInt(c.ctx.connection_id)),
    ),
    of_session(
        "row_count",
        |_| Ok(signed(21)),
        |c, _| Ok(Value::Int(c.ctx.row_count)),
    ),
    of_session(
        "found_rows",
        |_| Ok(signed(21)),
        |c, _| Ok(Value::Int(c.ctx.found_rows as i64)),
    ),
    function("last_insert_id", 0, 1, resolve_last_insert_id, last_insert_id)
        .sees_null()
        .effects()
        .session(),
    function("@", 1, 1, resolve_variable, variable)
        .nullability(Nullability::Always)
        .session(),
    function("@ now", 1, 1, resolve_variable, variable)
        .nullability(Nullability::Always)
        .session()
        .volatile(),
    function("@:=", 2, 2, resolve_assignment, assign)
        .sees_null()
        .nullability(Nullability::Always)
        .session()
        .effects(),
    function("sleep", 1, 1, resolve_sleep, sleep)
        .sees_null()
        .nullability(Nullability::Never)
        .effects(),
    lazy("benchmark", 2, 2, resolve_benchmark, benchmark)
        .nullability(Nullability::Always)
        .effects(),
    function(
        "name_const",
        2,
        2,
        |b| Ok(b.ty(1)),
        |_, a| Ok(a.get(1).map_or(Value::Null, |d| d.to_value())),
    )
    .sees_null(),
    function("load_file", 1, 1, resolve_file, load_file)
        .nullability(Nullability::Always)
        .session(),
    // Without MySQL's component validate_password, no password has a strength.
    function("validate_password_strength", 1, 1, resolve_strength, |_, _| {
        Ok(Value::Int(0))
    })
    .nullability(Nullability::Always),
    of_session("icu_version", |_| Ok(text(16)), |_, _| Ok(Value::from("69.1")))
        .nullability(Nullability::Never),
    of_session(
        "ps_current_thread_id",
        |_| Ok(unsigned()),
        |c, _| Ok(Value::UInt(c.ctx.connection_id)),
    )
    .nullability(Nullability::Always),
    function("ps_thread_id", 1, 1, resolve_thread, thread_of_connection)
        .nullability(Nullability::Always)
        .session(),
    of_session("roles_graphml", |_| Ok(long_text()), roles_graph).nullability(Nullability::Always),
    refused("master_pos_wait"),
    refused("source_pos_wait"),
    refused("wait_for_executed_gtid_set"),
    refused("statement_digest"),
    refused("statement_digest_text"),
    refused("json_table"),
];

const fn of_session(name: &'static str, resolve: crate::expr::ResolveFn, eval: ScalarFn) -> FunctionDef {
    function(name, 0, 0, resolve, eval).session().infallible()
}

fn resolve_thread(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    Ok(unsigned())
}

/// A connection has one thread, with its number; NULL for one that is not there.
fn thread_of_connection(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let id = match args.first() {
        Some(Datum::Int(id)) => u64::try_from(*id).ok(),
        Some(Datum::UInt(id)) => Some(*id),
        _ => None,
    };
    let id = id.filter(|id| call.ctx.server.has_connection(*id));
    Ok(id.map_or(Value::Null, Value::UInt))
}

fn roles_graph(call: &Call<'_>, _: &[Datum<'_>]) -> Result<Value> {
    Ok(Value::String(match call.ctx.identity.sees_roles {
        true => call.ctx.server.roles_graph(),
        false => "<?xml version=\"1.0\" encoding=\"UTF-8\"?><graphml />".to_owned(),
    }))
}

/// A function that MySQL has and StemDB does not have.
const fn refused(name: &'static str) -> FunctionDef {
    function(name, 0, MANY, refuse, |_, _| Ok(Value::Null))
}

fn refuse(binding: &mut Binding<'_>) -> Result<SqlType> {
    Err(Error::not_supported(
        format!("{}()", binding.name.to_uppercase()),
        "leave the function out",
    ))
}

fn resolve_file(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType {
        kind: TypeKind::LongText,
        ..SqlType::varchar(16_777_216, Collation::Binary)
    })
}

/// NULL for a file that is not there or may not be read.
fn load_file(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [name] = args else {
        return Ok(Value::Null);
    };
    if !call.ctx.identity.reads_files {
        return Ok(Value::Null);
    }
    // The system would refuse a name with a NUL; MySQL takes it for the end.
    let name = name.bytes().split(|byte| *byte == 0).next().unwrap_or_default();
    let path = Path::new(OsStr::from_bytes(name));
    match call.ctx.server.read(path, call.ctx.max_allowed_packet) {
        FileContents::Bytes(bytes) => Ok(Value::Bytes(bytes)),
        FileContents::TooLarge => too_large(call),
        FileContents::Absent => Ok(Value::Null),
        FileContents::NoPlainFile(name) => Err(Error::new(
            ER_TEXTFILE_NOT_READABLE,
            format!("The file '{name}' must be in the database directory or be readable by all"),
        )),
    }
}

const ER_TEXTFILE_NOT_READABLE: u16 = 1085;

fn resolve_strength(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(signed(10))
}

fn text(length: u32) -> SqlType {
    SqlType::varchar(length, Collation::Utf8mb3GeneralCi)
}

/// Of any length.
fn long_text() -> SqlType {
    SqlType {
        kind: TypeKind::LongText,
        ..text(u32::MAX)
    }
}

fn unsigned() -> SqlType {
    SqlType {
        length: 21,
        ..SqlType::BIGINT_UNSIGNED
    }
}

fn signed(length: u32) -> SqlType {
    SqlType {
        length,
        ..SqlType::BIGINT
    }
}

fn resolve_last_insert_id(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer_if_given(0);
    Ok(unsigned())
}

/// With an argument: returns it, and makes it the session's next LAST_INSERT_ID().
fn last_insert_id(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let given = match args.first() {
        None => return Ok(Value::UInt(call.ctx.last_insert_id)),
        Some(Datum::Int(v)) => Some(*v as u64),
        Some(Datum::UInt(v)) => Some(*v),
        Some(_) => None,
    };
    let mut next = call
        .ctx
        .set_last_insert_id
        .lock()
        .unwrap_or_else(|e| e.into_inner());
    *next = Some(given.unwrap_or(0));
    Ok(given.map_or(Value::Null, Value::UInt))
}

fn resolve_variable(binding: &mut Binding<'_>) -> Result<SqlType> {
    let name = binding.keyword(0)?.to_lowercase();
    Ok(match variable_type(binding, &name) {
        ty if ty.kind == TypeKind::Null => SqlType::varchar(16_383, binding.env.collation),
        ty if ty.is_string() => text_of_variable(ty.collation),
        ty if ty.is_integer() => SqlType { length: 21, ..ty },
        ty if ty.is_float() => SqlType::COMPUTED_DOUBLE,
        ty => ty,
    })
}

/// The type of a variable with a text, of any length: the value may be another one when the statement runs.
fn text_of_variable(collation: Collation) -> SqlType {
    const MAX_BYTES: u32 = 16_777_215;
    let bytes = MAX_BYTES * collation.charset().max_bytes_per_char();
    SqlType {
        kind: match bytes > MAX_BYTES {
            true => TypeKind::LongText,
            false => TypeKind::MediumText,
        },
        ..SqlType::varchar(bytes, collation)
    }
}

fn variable_type(binding: &Binding<'_>, name: &str) -> SqlType {
    let env = binding.env;
    let assigned = env.variable_types.get(name).copied();
    assigned.unwrap_or_else(|| {
        let variable = env.user_variables.get(name);
        variable.map_or(SqlType::NULL, |variable| {
            type_of_value(&variable.value, variable.collation(env.collation))
        })
    })
}

/// `@name := value`: dates, times and JSON become text, because a variable stores them as text.
fn resolve_assignment(binding: &mut Binding<'_>) -> Result<SqlType> {
    let name = binding.keyword(0)?.to_lowercase();
    if binding.ty(1).is_temporal() || binding.ty(1).kind == TypeKind::Json {
        binding.text(1);
    }
    let ty = binding.ty(1);
    let notes = &binding.env.notes.assigned;
    let before = notes.borrow().get(&name).copied();
    let before = before.unwrap_or_else(|| variable_type(binding, &name));
    let both = common_type(&[before, ty]);
    let widest = match both.kind {
        _ if both.is_decimal() => SqlType::decimal(65, both.decimals),
        _ if both.is_integer() => SqlType {
            unsigned: both.unsigned,
            ..SqlType::BIGINT
        },
        _ if both.is_float() => SqlType::DOUBLE,
        _ if both.is_string() => SqlType::varchar(16_383, both.collation),
        _ => both,
    };
    notes.borrow_mut().insert(name, widest);
    Ok(match ty.kind {
        TypeKind::Null => SqlType::varchar(0, binding.env.collation),
        TypeKind::Char => SqlType {
            kind: TypeKind::VarChar,
            ..ty
        },
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int => SqlType {
            kind: TypeKind::BigInt,
            zerofill: false,
            ..ty
        },
        _ => ty,
    })
}

/// The new value is visible to expressions that are evaluated later, and is stored in the session when the
/// statement ends.
fn assign(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [Datum::String(name), value] = args else {
        return Ok(Value::Null);
    };
    let value = value.to_value();
    let variable = UserVariable::new(value.clone(), &call.arg_type(1));
    call.ctx.state.assign(name.to_lowercase(), variable);
    Ok(value)
}

/// A variable's value in the type that it was bound with, even if the type has changed since.
fn variable(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(Datum::String(name)) = args.first() else {
        return Ok(Value::Null);
    };
    let name = name.to_lowercase();
    let assigned = if call.def.volatile {
        call.ctx.state.assigned(&name)
    } else {
        None
    };
    let before = || {
        call.ctx
            .user_variables
            .get(&name)
            .map(|variable| variable.value.clone())
    };
    let Some(value) = assigned.or_else(before) else {
        return Ok(Value::Null);
    };
    let from = type_of_value(&value, call.ty.collation);
    if value.is_null() || from.arrow_type() == call.ty.arrow_type() {
        return Ok(value);
    }
    let input = Expr::null();
    let conversion = Conversion {
        from,
        to: call.ty,
        implicit: true,
        ctx: call.ctx,
        input: &input,
    };
    cast::datum(Datum::of(&value), &conversion)
}

fn resolve_sleep(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.double(0);
    Ok(signed(21))
}

/// Returns 0, or 1 if it was interrupted. The caller decides whether the statement continues.
fn sleep(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    /// How often an interruption is checked.
    const STEP: Duration = Duration::from_millis(20);
    let seconds = args.first().filter(|d| !d.is_null()).map(to_double);
    let Some(seconds) = seconds.filter(|s| *s >= 0.0) else {
        const MESSAGE: &str = "Incorrect arguments to sleep.";
        if call.ctx.sql_mode.strict && call.ctx.strictness != Strictness::Ignore {
            return Err(Error::new(errno::ER_WRONG_ARGUMENTS, MESSAGE));
        }
        call.ctx.warn(errno::ER_WRONG_ARGUMENTS, MESSAGE)?;
        return Ok(Value::Int(0));
    };
    let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let start = Instant::now();
    loop {
        if (call.ctx.interrupted)() {
            return Ok(Value::Int(1));
        }
        match limit.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
            Some(left) => std::thread::sleep(left.min(STEP)),
            None => return Ok(Value::Int(0)),
        }
    }
}

fn resolve_benchmark(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    if let Some(count) = binding.args.first_mut() {
        let expr = std::mem::replace(count, Expr::null());
        *count = condition(expr);
    }
    Ok(signed(1))
}

/// Evaluates its second argument many times. Returns 0.
fn benchmark<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let [count, expr] = call.args else {
        return Ok(Cell::NULL);
    };
    let count = match evaluate(count, row, call.ctx)?.datum() {
        Datum::Null => return Ok(Cell::NULL),
        Datum::UInt(count) => i64::try_from(count).unwrap_or(i64::MAX),
        count => count.int(),
    };
    if count < 0 {
        call.ctx.conversion_lost(
            errno::ER_WRONG_VALUE_FOR_TYPE,
            format!("Incorrect count value: '{count}' for function benchmark"),
        )?;
        return Ok(Cell::NULL);
    }
    for i in 0..count {
        if i % 1024 == 0 {
            call.ctx.check_interrupted()?;
        }
        std::hint::black_box(evaluate(expr, row, call.ctx)?);
    }
    Ok(Value::Int(0).into())
}
