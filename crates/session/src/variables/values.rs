//! Values of system variables: those of the server, and those of each session.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::settings::GlobalValue;
use functions::{Locale, TimeZone};
use parking_lot::RwLock;
use types::{Collation, Error, Result, Value, Warning, errno};

use super::charset::{charset_of, collation_of, numbered, paired};
use super::convert::{
    beginning, boolean, choice, fraction, integer, number, parse_time_zone, shown, some_of, string,
    wrong_type, wrong_value,
};
use super::definitions::{Definition, Effect, Kind, Scope, all};
use super::flags::Flags;
use super::{limits, sql_mode};

/// Values in the form of SHOW VARIABLES, one for each of [`all`]. `None` is NULL.
type Texts = Vec<Option<Arc<str>>>;

/// The server's values: what `SET GLOBAL` changes and new sessions start from.
pub struct GlobalVariables {
    texts: RwLock<Arc<Texts>>,
    /// By the index of the variable.
    changes: RwLock<BTreeMap<usize, Change>>,
}

/// The last SET GLOBAL of a variable on this server, or the SET PERSIST that it has applied when it started.
#[derive(Debug, Clone)]
pub struct Change {
    pub at_us: i64,
    pub user: String,
    pub host: String,
    pub is_persisted: bool,
}

impl GlobalVariables {
    /// Defaults, with `overrides` from the server's configuration over them.
    pub fn new(overrides: &[(&str, String)]) -> Self {
        let mut texts: Texts = all().iter().map(default_text).collect();
        for (name, value) in overrides {
            if let Some(definition) = super::lookup(name) {
                texts[definition.index] = Some(value.as_str().into());
            }
        }
        Self {
            texts: RwLock::new(Arc::new(texts)),
            changes: RwLock::default(),
        }
    }

    pub fn note_change(&self, definition: &Definition, change: Change) {
        self.changes.write().insert(definition.canonical().index, change);
    }

    pub fn last_change(&self, definition: &Definition) -> Option<Change> {
        self.changes.read().get(&definition.canonical().index).cloned()
    }

    pub fn get(&self, definition: &Definition) -> Option<Arc<str>> {
        self.texts.read()[definition.canonical().index].clone()
    }

    fn all_texts(&self) -> Arc<Texts> {
        self.texts.read().clone()
    }

    /// The changes of a `SET GLOBAL`: names with values in printed form. Also the warnings if the value was
    /// adjusted.
    pub fn changes(
        &self,
        definition: &'static Definition,
        value: Option<Value>,
    ) -> Result<(Vec<GlobalValue>, Vec<Warning>)> {
        let given = value.clone();
        let (mut changes, mut warnings) = self.changes_alone(definition, value)?;
        let name = definition.canonical().name;
        let text = changes.first().and_then(|(_, text)| text.as_deref());
        self.check_limits(definition, given, text)?;
        let limited = text.and_then(|text| limits::limited(name, text, |name| self.text(name)));
        if let Some(limited) = limited {
            warnings.extend(limited.warnings());
            changes.retain(|(name, _)| name != limited.name);
            changes.push((limited.name.to_owned(), Some(limited.text)));
        }
        Ok((changes, warnings))
    }

    /// The same, whatever other variables have. At the start variables are set one after the other, in any order, and
    /// may limit each other.
    fn changes_alone(
        &self,
        definition: &'static Definition,
        value: Option<Value>,
    ) -> Result<(Vec<GlobalValue>, Vec<Warning>)> {
        let numbered = value.as_ref().and_then(numbered);
        let (text, warning) = self.assigned(definition, value)?;
        let definition = definition.canonical();
        let other = text.as_deref().and_then(|text| {
            paired(definition.name, text, numbered).or_else(|| follower(definition.name, text))
        });
        let mut changes = vec![(definition.name.to_owned(), text.as_deref().map(str::to_owned))];
        changes.extend(other.map(|(name, text)| (name, Some(text.to_owned()))));
        Ok((changes, warning.map(truncated_value).into_iter().collect()))
    }

    /// Applies values that this server or another one has checked. Skips values that cannot be set here,
    /// because the other server may have another version.
    pub fn take_over(&self, changes: &[GlobalValue]) {
        let mut texts = self.texts.write();
        let mut copy = Texts::clone(&texts);
        for (name, text) in changes {
            let settable = |d: &&Definition| !matches!(d.effect, Effect::Fixed | Effect::Alias);
            let Some(definition) = super::lookup(name).filter(settable) else {
                continue;
            };
            let value = text
                .as_deref()
                .map_or(Ok(Value::Null), |text| parsed(definition, text));
            match value.and_then(|value| normalize(definition, &value, None)) {
                // The value is out of its range on this server.
                Ok((adjusted, Some(_))) => copy[definition.index] = adjusted.map(Arc::from),
                Ok((_, None)) => copy[definition.index] = text.as_deref().map(Arc::from),
                Err(_) => {}
            }
        }
        *texts = Arc::new(copy);
    }

    /// Fails as SET GLOBAL would, and sets nothing.
    pub fn check(&self, definition: &'static Definition, value: Option<Value>) -> Result<()> {
        let given = value.clone();
        let (text, _) = self.assigned(definition, value)?;
        self.check_limits(definition, given, text.as_deref())
    }

    fn check_limits(&self, definition: &Definition, given: Option<Value>, text: Option<&str>) -> Result<()> {
        given.map_or(Ok(()), |given| {
            limits::check(definition, false, &given, text, |name| self.integer(name))
        })
    }

    fn assigned(&self, definition: &'static Definition, value: Option<Value>) -> Result<Assigned> {
        let written = definition.name;
        if definition.scope == Scope::Session && definition.effect != Effect::Fixed {
            return Err(Error::new(
                errno::ER_LOCAL_VARIABLE,
                format!("Variable '{written}' is a SESSION variable and can't be used with SET GLOBAL"),
            ));
        }
        let current = self.get(definition);
        let assigned = assign(definition, value, default_text(definition), current.as_deref())?;
        check_isolation(definition, assigned, || self.boolean(SKIP_ISOLATION_CHECK))
    }

    /// Sets a variable from the server's configuration file, where values are texts.
    pub fn configure(&self, name: &str, text: &str) -> Result<()> {
        let definition = super::lookup(name).ok_or_else(|| crate::errors::unknown_variable(name))?;
        if definition.is_of_start() {
            let (value, _) = normalize(definition, &parsed(definition, text)?, None)?;
            let mut texts = self.texts.write();
            Arc::make_mut(&mut *texts)[definition.index] = value.map(Arc::from);
            return Ok(());
        }
        let (changes, _) = self.changes_alone(definition, Some(parsed(definition, text)?))?;
        self.take_over(&changes);
        Ok(())
    }

    /// The changes of a value that SET PERSIST has stored, in the form of SHOW VARIABLES.
    ///
    /// # Errors
    /// Those of SET GLOBAL.
    pub fn persisted(&self, definition: &'static Definition, text: Option<&str>) -> Result<Vec<GlobalValue>> {
        let value = text.map_or(Ok(Value::Null), |text| parsed(definition, text))?;
        Ok(self.changes_alone(definition, Some(value))?.0)
    }

    fn text(&self, name: &str) -> Option<String> {
        let text = super::lookup(name).and_then(|d| self.get(d));
        text.as_deref().map(str::to_owned)
    }

    /// The value of an integer variable.
    pub fn integer(&self, name: &str) -> u64 {
        let text = super::lookup(name).and_then(|d| self.get(d));
        text.and_then(|t| t.parse().ok()).unwrap_or(0)
    }

    pub fn boolean(&self, name: &str) -> bool {
        super::lookup(name)
            .and_then(|d| self.get(d))
            .is_some_and(|t| &*t == "ON")
    }
}

/// A text as a value of SET.
fn parsed(definition: &Definition, text: &str) -> Result<Value> {
    let wrong = || wrong_type(definition.name);
    match definition.kind {
        Kind::Int(..) | Kind::Blocks(..) => text.parse().map(Value::UInt).map_err(|_| wrong()),
        Kind::SignedInt => text.parse().map(Value::Int).map_err(|_| wrong()),
        Kind::Double(..) => text.parse().map(Value::Double).map_err(|_| wrong()),
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// A value in printed form, and the text of the warning that it was adjusted.
type Assigned = (Option<Arc<str>>, Option<String>);

/// The values of one session: those of the server when it connected, and those it has set since.
#[derive(Clone)]
pub struct SessionVariables {
    base: Arc<Texts>,
    own: BTreeMap<usize, Option<Arc<str>>>,
    /// The collation that the login or SET NAMES has given, until `character_set_results` is set separately.
    named_collation: Option<Collation>,
}

impl SessionVariables {
    pub fn new(global: &GlobalVariables) -> Self {
        Self {
            base: global.all_texts(),
            own: BTreeMap::new(),
            named_collation: None,
        }
    }

    pub fn named_collation(&self) -> Option<Collation> {
        self.named_collation
    }

    /// Sets the collation of the login or of SET NAMES.
    pub fn name_collation(&mut self, collation: Collation) {
        self.named_collation = Some(collation);
    }

    pub fn text(&self, definition: &Definition) -> Option<Arc<str>> {
        let index = definition.canonical().index;
        self.own.get(&index).unwrap_or(&self.base[index]).clone()
    }

    /// `SET SESSION`. Returns the text of a warning if the value was adjusted.
    pub fn set(
        &mut self,
        definition: &'static Definition,
        value: Option<Value>,
        global: &GlobalVariables,
    ) -> Result<Option<String>> {
        let written = definition.name;
        if definition.scope == Scope::Global && definition.effect != Effect::Fixed {
            return Err(Error::new(
                errno::ER_GLOBAL_VARIABLE,
                format!("Variable '{written}' is a GLOBAL variable and should be set with SET GLOBAL"),
            ));
        }
        let default = session_default(definition, global);
        let current = self.text(definition);
        let given = value.clone();
        let assigned = assign(definition, value, default, current.as_deref())?;
        if let Some(given) = given {
            let (text, _) = &assigned;
            limits::check(definition, true, &given, text.as_deref(), |name| {
                global.integer(name)
            })?;
        }
        let skip = || {
            let skip = super::lookup(SKIP_ISOLATION_CHECK).and_then(|d| self.text(d));
            skip.as_deref() == Some("ON")
        };
        let (text, warning) = check_isolation(definition, assigned, skip)?;
        self.own.insert(definition.canonical().index, text);
        if definition.name == "character_set_results" {
            self.named_collation = None;
        }
        Ok(warning)
    }

    /// Adds a mode to `sql_mode`.
    pub fn add_sql_mode(&mut self, mode: &str) {
        let current = super::lookup("sql_mode").and_then(|definition| self.text(definition));
        let with_mode = format!("{},{mode}", current.unwrap_or_default());
        if let Ok(text) = sql_mode::normalized(&with_mode) {
            self.put("sql_mode", &text);
        }
    }

    /// Sets a value without checking it.
    pub fn put(&mut self, name: &str, text: &str) {
        if let Some(definition) = super::lookup(name) {
            self.own.insert(definition.canonical().index, Some(text.into()));
        }
    }
}

/// In the order of their numbers.
const ISOLATION_LEVELS: [&str; 4] = [
    "READ-UNCOMMITTED",
    "READ-COMMITTED",
    "REPEATABLE-READ",
    "SERIALIZABLE",
];
const SKIP_ISOLATION_CHECK: &str = "stemdb_skip_isolation_level_check";

/// What another variable becomes when this one is set.
pub fn follower(name: &str, text: &str) -> Option<(String, &'static str)> {
    let (other, value) = match (name, text) {
        ("super_read_only", "ON") => ("read_only", "ON"),
        ("read_only", "OFF") => ("super_read_only", "OFF"),
        ("max_join_size", UNLIMITED) => ("sql_big_selects", "ON"),
        ("max_join_size", _) => ("sql_big_selects", "OFF"),
        _ => return None,
    };
    Some((other.to_owned(), value))
}

const UNLIMITED: &str = "18446744073709551615";

fn default_text(definition: &Definition) -> Option<Arc<str>> {
    if let Kind::Flags(flags) = definition.kind {
        return Some(flags.default_text().into());
    }
    match definition.name {
        "secure_file_priv" => None,
        // Drivers convert times with it if `time_zone` is SYSTEM. It is a full name, because MySQL's
        // abbreviations are ambiguous.
        "system_time_zone" => match TimeZone::system() {
            TimeZone::Offset(_) => Some(definition.default.into()),
            zone => Some(zone.name().into()),
        },
        _ if definition.kind == Kind::TextOrNull && definition.default.is_empty() => None,
        _ => Some(definition.default.into()),
    }
}

/// The value that `SELECT @@name` returns.
pub fn typed(definition: &Definition, text: Option<&str>) -> Value {
    let Some(text) = text else { return Value::Null };
    match definition.kind {
        Kind::Bool => Value::Int(i64::from(text == "ON")),
        Kind::Int(..) | Kind::Blocks(..) => text.parse().map_or(Value::Null, Value::UInt),
        Kind::SizeOrAuto | Kind::SignedInt => text.parse().map_or(Value::Null, Value::Int),
        Kind::Double(..) => text.parse().map_or(Value::Null, Value::Double),
        _ => Value::String(text.to_owned()),
    }
}

/// Checks a new value and converts it to printed form. `value` is `None` for DEFAULT.
fn assign(
    definition: &'static Definition,
    value: Option<Value>,
    default: Option<Arc<str>>,
    current: Option<&str>,
) -> Result<Assigned> {
    if definition.effect == Effect::Fixed {
        return Err(Error::new(
            errno::ER_INCORRECT_GLOBAL_LOCAL_VAR,
            format!("Variable '{}' is a read only variable", definition.name),
        ));
    }
    let (text, warning) = match value {
        Some(value) => normalize(definition, &value, current)?,
        None if definition.has_no_default() => return Err(no_default(definition.name)),
        None => (default.map(|text| text.to_string()), None),
    };
    let unchanged = match (&text, current) {
        (Some(new), Some(old)) => new.eq_ignore_ascii_case(old),
        (None, None) => true,
        _ => false,
    };
    if definition.canonical().effect == Effect::Same && !unchanged {
        let shown = text.as_deref().unwrap_or("NULL");
        return Err(Error::not_supported(
            format_args!("{} = {shown}", definition.name),
            &format!("only '{}' is available", current.unwrap_or("NULL")),
        ));
    }
    Ok((text.map(Arc::from), warning))
}

/// What `SET SESSION name = DEFAULT` sets.
fn session_default(definition: &Definition, global: &GlobalVariables) -> Option<Arc<str>> {
    let text = global.get(definition);
    match definition.name {
        // MySQL keeps these two as a bit that turns checks off, and takes the server's bit for the value.
        "foreign_key_checks" | "unique_checks" => match text.as_deref() {
            Some("OFF") => Some("ON".into()),
            _ => Some("OFF".into()),
        },
        _ => text,
    }
}

/// Warning 1292 for a value that was adjusted.
pub fn truncated_value(text: String) -> Warning {
    Warning::warning(errno::ER_TRUNCATED_WRONG_VALUE, text)
}

fn no_default(name: &str) -> Error {
    Error::new(
        errno::ER_NO_DEFAULT,
        format!("Variable '{name}' doesn't have a default value"),
    )
}

/// The name of a storage engine as MySQL shows it, from any of its names.
fn engine(text: &str) -> Result<&'static str> {
    const ENGINES: [(&str, &str); 11] = [
        ("innodb", "InnoDB"),
        ("innobase", "InnoDB"),
        ("myisam", "MyISAM"),
        ("memory", "MEMORY"),
        ("heap", "MEMORY"),
        ("mrg_myisam", "MRG_MYISAM"),
        ("merge", "MRG_MYISAM"),
        ("csv", "CSV"),
        ("archive", "ARCHIVE"),
        ("blackhole", "BLACKHOLE"),
        ("performance_schema", "PERFORMANCE_SCHEMA"),
    ];
    let found = ENGINES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, shown)| *shown).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_STORAGE_ENGINE,
            format!("Unknown storage engine '{text}'"),
        )
    })
}

/// A value in printed form, and the text of a warning if it was adjusted. `current`: the value that it
/// replaces.
fn normalize(
    definition: &Definition,
    value: &Value,
    current: Option<&str>,
) -> Result<(Option<String>, Option<String>)> {
    let name = definition.name;
    // The warning names the variable itself, also if the statement names it by an old name.
    let adjusted = match name {
        "identity" => name,
        _ => definition.canonical().name,
    };
    let range = match definition.kind {
        Kind::Int(low, high) => Some((low, high, 1)),
        Kind::Blocks(low, high, block) => Some((low, high, block)),
        _ => None,
    };
    if let Some(range) = range {
        return match number(value) {
            None => Err(wrong_type(name)),
            Some(_) => integer(adjusted, value, range),
        };
    }
    if let Kind::Double(low, high) = definition.kind {
        let is_time = name == "timestamp";
        return match fraction(name, value, (low, high))? {
            (_, Some(_)) if is_time && number(value).is_none_or(|n| n > 0) => {
                Err(wrong_value(name, &shown(value)))
            }
            within => Ok(within),
        };
    }
    Ok((text_of(definition, value, current)?, None))
}

/// A value in printed form, of a kind whose values are never adjusted.
fn text_of(definition: &Definition, value: &Value, current: Option<&str>) -> Result<Option<String>> {
    let name = definition.name;
    Ok(Some(match definition.kind {
        Kind::Bool => boolean(name, value)?.to_owned(),
        // All with a range were handled before, and none of the sizes can be set.
        Kind::Int(..) | Kind::Blocks(..) | Kind::Double(..) | Kind::SizeOrAuto => {
            return Err(wrong_type(name));
        }
        Kind::SignedInt => number(value).ok_or_else(|| wrong_type(name))?.to_string(),
        Kind::TextOrNull | Kind::CharsetOrNull if value.is_null() => return Ok(None),
        Kind::TextOrEmpty if value.is_null() => String::new(),
        Kind::Text | Kind::TextOrNull | Kind::TextOrEmpty => checked_text(name, string(name, value)?)?,
        Kind::Set(choices) => some_of(name, value, choices)?,
        Kind::NonEmptySet(choices) => match some_of(name, value, choices)? {
            none if none.is_empty() => return Err(wrong_value(name, &shown(value))),
            some => some,
        },
        Kind::Enum(choices) => choice(name, value, choices)?.to_owned(),
        Kind::Charset | Kind::CharsetOrNull => charset_of(name, value)?.name().to_owned(),
        Kind::Collation => collation_of(name, value)?.name().to_owned(),
        Kind::Engine if value.is_null() => return Err(wrong_value(name, "NULL")),
        Kind::Engine => {
            string(name, value)?;
            engine(&shown(value))?.to_owned()
        }
        Kind::Locale => locale(name, value)?.to_owned(),
        Kind::SqlMode => sql_mode_text(name, value)?,
        Kind::Flags(flags) => flags_text(flags, name, value, current)?,
        Kind::TimeZone => match string(name, value)? {
            system if system.eq_ignore_ascii_case("system") => "SYSTEM".to_owned(),
            text => match parse_time_zone(&shown(value))? {
                zone @ TimeZone::Offset(_) => zone.name(),
                // As it was written.
                TimeZone::Named(_) => text,
            },
        },
        Kind::Isolation => choice(name, value, &ISOLATION_LEVELS)?.to_owned(),
    }))
}

/// A text for a variable, unless it is empty where MySQL wants the name of a file.
fn checked_text(name: &str, text: String) -> Result<String> {
    match name {
        "general_log_file" | "slow_query_log_file" if text.is_empty() => Err(wrong_value(name, "")),
        _ => Ok(text),
    }
}

/// The name of a locale, from its name or number.
fn locale(name: &str, value: &Value) -> Result<&'static str> {
    // MySQL keeps 32 bits of a number.
    let number = number(value).map(|number| number as i32);
    let text = match number {
        Some(number) => number.to_string(),
        None => string(name, value)?,
    };
    let numbered = || Locale::numbered(usize::try_from(number?).ok()?);
    let locale = numbered().or_else(|| Locale::named(&text));
    let unknown = || {
        let message = format!("Unknown locale: '{}'", beginning(&text, 64));
        Error::new(errno::ER_UNKNOWN_LOCALE, message)
    };
    Ok(locale.ok_or_else(unknown)?.name)
}

fn sql_mode_text(name: &str, value: &Value) -> Result<String> {
    let text = match number(value) {
        Some(bits) if sql_mode::retired(bits) != 0 => {
            let retired = sql_mode::retired(bits);
            return Err(Error::new(
                errno::ER_UNSUPPORTED_SQL_MODE,
                format!("sql_mode={retired:#010x} is not supported."),
            ));
        }
        Some(bits) => sql_mode::of_bits(bits),
        None => sql_mode::normalized(&string(name, value)?),
    };
    text.map_err(|bad| wrong_value(name, &bad))
}

fn flags_text(flags: Flags<'_>, name: &str, value: &Value, current: Option<&str>) -> Result<String> {
    let text = match number(value) {
        Some(bits) => u64::try_from(bits)
            .ok()
            .and_then(|bits| flags.of_bits(bits))
            .ok_or_else(|| bits.to_string()),
        None if value.is_null() => Err("NULL".to_owned()),
        None => flags.changed(current.unwrap_or_default(), &string(name, value)?),
    };
    text.map_err(|bad| wrong_value(name, &bad))
}

/// Refuses SERIALIZABLE, which StemDB does not have, unless `skip` (the variable
/// `stemdb_skip_isolation_level_check`) allows to use REPEATABLE READ instead.
fn check_isolation(
    definition: &Definition,
    (text, warning): Assigned,
    skip: impl FnOnce() -> bool,
) -> Result<Assigned> {
    if definition.kind != Kind::Isolation || text.as_deref() != Some("SERIALIZABLE") {
        return Ok((text, warning));
    }
    if !skip() {
        return Err(Error::not_supported(
            "transaction isolation SERIALIZABLE",
            "use REPEATABLE READ with SELECT ... FOR UPDATE or FOR SHARE on the rows that must not change; \
             SET stemdb_skip_isolation_level_check = ON lets programs that ask for it run with REPEATABLE READ",
        ));
    }
    let warning = "transaction isolation SERIALIZABLE is run as REPEATABLE READ";
    Ok((text, Some(warning.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::lookup;

    fn set(name: &str, value: Value) -> Result<(String, Option<String>)> {
        let global = GlobalVariables::new(&[]);
        let mut session = SessionVariables::new(&global);
        let definition = lookup(name).ok_or_else(|| crate::errors::unknown_variable(name))?;
        let warning = session.set(definition, Some(value), &global)?;
        Ok((session.text(definition).unwrap_or_default().to_string(), warning))
    }

    fn code(name: &str, value: Value) -> u16 {
        set(name, value).map_or_else(|error| error.code, |_| 0)
    }

    #[test]
    fn values_outside_a_range_are_brought_inside_with_a_warning() {
        let (text, warning) = set("innodb_lock_wait_timeout", Value::Int(0)).unwrap();
        assert_eq!(text, "1");
        assert_eq!(
            warning.as_deref(),
            Some("Truncated incorrect innodb_lock_wait_timeout value: '0'")
        );
        assert_eq!(
            set("wait_timeout", Value::Int(7)).unwrap(),
            ("7".to_owned(), None)
        );
    }

    #[test]
    fn values_are_multiples_of_a_size_or_have_six_digits() {
        let (text, warning) = set("join_buffer_size", Value::Int(1023)).unwrap();
        assert_eq!((text.as_str(), warning.is_some()), ("896", true));
        assert_eq!(
            set("long_query_time", Value::Double(0.25)).unwrap(),
            ("0.250000".to_owned(), None)
        );
        let (text, warning) = set("long_query_time", Value::Int(-1)).unwrap();
        assert_eq!((text.as_str(), warning.is_some()), ("0.000000", true));
    }

    #[test]
    fn errors_are_those_of_mysql() {
        assert_eq!(
            code("wait_timeout", Value::String("x".into())),
            errno::ER_WRONG_TYPE_FOR_VAR
        );
        assert_eq!(code("autocommit", Value::Int(7)), errno::ER_WRONG_VALUE_FOR_VAR);
        assert_eq!(code("max_connections", Value::Int(7)), errno::ER_GLOBAL_VARIABLE);
        assert_eq!(
            code("version", Value::String("1".into())),
            errno::ER_INCORRECT_GLOBAL_LOCAL_VAR
        );
        assert_eq!(
            code("sql_mode", Value::String("SILLY".into())),
            errno::ER_WRONG_VALUE_FOR_VAR
        );
        assert_eq!(code("no_such", Value::Int(1)), errno::ER_UNKNOWN_SYSTEM_VARIABLE);
        let global = GlobalVariables::new(&[]);
        let timestamp = lookup("timestamp").unwrap();
        assert_eq!(
            global.check(timestamp, Some(Value::Int(3))).unwrap_err().code,
            errno::ER_LOCAL_VARIABLE
        );
    }

    /// At the start a variable is set before or after the one that limits it.
    #[test]
    fn limits_of_set_are_not_those_of_the_start() {
        let global = GlobalVariables::new(&[]);
        for (name, text) in [
            ("expire_logs_days", "7"),
            ("innodb_io_capacity", "5000"),
            ("innodb_io_capacity_max", "10000"),
        ] {
            global.configure(name, text).unwrap();
            assert_eq!(global.text(name).as_deref(), Some(text));
        }
        let seconds = lookup("binlog_expire_logs_seconds").unwrap();
        assert!(global.changes(seconds, Some(Value::Int(60))).is_err());
        let stored = global.persisted(lookup("innodb_io_capacity").unwrap(), Some("20000"));
        let stored = stored.unwrap();
        assert_eq!(
            stored,
            [("innodb_io_capacity".to_owned(), Some("20000".to_owned()))]
        );
    }

    #[test]
    fn a_character_set_and_its_collation_follow_each_other() {
        let global = GlobalVariables::new(&[]);
        let text = |name| global.get(lookup(name).unwrap()).unwrap_or_default().to_string();
        global.configure("character_set_server", "latin1").unwrap();
        assert_eq!(text("collation_server"), "latin1_swedish_ci");
        global.configure("collation_server", "utf8mb4_bin").unwrap();
        assert_eq!(text("character_set_server"), "utf8mb4");
        assert_eq!(paired("character_set_client", "latin1", None), None);
    }

    #[test]
    fn what_another_version_has_stored_is_passed_over() {
        let global = GlobalVariables::new(&[]);
        let stored = [
            ("wait_timeout", Some("77")),
            ("lock_wait_timeout", Some("a while")),
            ("max_allowed_packet", None),
            ("port", Some("1")),
            ("cte_max_recursion_depth", Some("9999999999")),
            ("from_the_future", Some("1")),
        ];
        global.take_over(&stored.map(|(name, text)| (name.to_owned(), text.map(str::to_owned))));
        assert_eq!(global.integer("wait_timeout"), 77);
        assert_eq!(global.integer("lock_wait_timeout"), 31_536_000);
        assert!(global.integer("max_allowed_packet") > 0);
        assert_eq!(global.integer("port"), 4000);
        assert_eq!(global.integer("cte_max_recursion_depth"), 4_294_967_295);
    }

    #[test]
    fn checking_sets_nothing() {
        let global = GlobalVariables::new(&[]);
        let definition = lookup("wait_timeout").unwrap();
        global.check(definition, Some(Value::Int(5))).unwrap();
        assert_eq!(global.integer("wait_timeout"), 28800);
        assert!(global.check(definition, Some(Value::Null)).is_err());
    }
}
