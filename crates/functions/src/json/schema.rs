//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: documents against a schema of JSON Schema, draft 4.
//!
//! Keywords are checked in the order of the library that MySQL uses, so that the report names the same
//! failure. Regular expressions are those of REGEXP. Source: manual 12.18.7 "JSON Schema Validation
//! Functions"; draft-fge-json-schema-validation-00.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use regex::Regex;
use types::json::{Json, JsonBinary};
use types::{Error, Result, Value, errno};

use super::argument::{document, made};
use super::order;
use crate::EvalContext;
use crate::datum::Datum;
use crate::expr::Call;

pub(super) fn valid(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(Value::Int(i64::from(failure(call, args)?.is_none())))
}

pub(super) fn report(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let member = |name: &str, value: &str| (name.to_owned(), Json::String(value.to_owned()));
    let valid = |valid| ("valid".to_owned(), Json::Bool(valid));
    let members = match failure(call, args)? {
        None => vec![valid(true)],
        Some(Failure {
            schema,
            document,
            keyword,
        }) => {
            let reason = format!(
                "The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema location \
                 '{schema}'"
            );
            vec![
                valid(false),
                member("reason", &reason),
                member("schema-location", &schema),
                member("document-location", &document),
                member("schema-failed-keyword", keyword),
            ]
        }
    };
    made(Json::object(members))
}

fn failure(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Option<Failure>> {
    let schema = document(call, args, 0)?.to_tree();
    if !matches!(schema, Json::Object(_)) {
        return Err(Error::new(
            errno::ER_INVALID_JSON_TYPE,
            format!(
                "Invalid JSON type in argument 1 to function {}; an object is required.",
                call.def.name
            ),
        ));
    }
    refuse_external(&schema)?;
    let document = document(call, args, 1)?.to_tree();
    let at = Location::Root;
    let outcome = Schema {
        root: &schema,
        ctx: call.ctx,
    }
    .check(&schema, &at, &document, &at, 0);
    match outcome {
        Ok(()) => Ok(None),
        Err(Stop::Failed(failure)) => Ok(Some(failure)),
        Err(Stop::Refused(error)) => Err(error),
    }
}

/// Error 1235 for `$ref` to another document.
fn refuse_external(schema: &Json) -> Result<()> {
    match schema {
        Json::Object(members) => {
            for (key, value) in members {
                match value {
                    Json::String(target) if key == "$ref" && !target.starts_with('#') => {
                        return Err(Error::new(
                            errno::ER_NOT_SUPPORTED_YET,
                            "This version of MySQL doesn't yet support 'references in JSON Schema'",
                        ));
                    }
                    value => refuse_external(value)?,
                }
            }
            Ok(())
        }
        Json::Array(items) => items.iter().try_for_each(refuse_external),
        _ => Ok(()),
    }
}

/// The first requirement that does not hold.
struct Failure {
    schema: String,
    document: String,
    keyword: &'static str,
}

/// Why a check ends early.
enum Stop {
    Failed(Failure),
    Refused(Error),
}

type Checked = std::result::Result<(), Stop>;

/// A location in a document or a schema, from the outside in.
enum Location<'a> {
    Root,
    Member(&'a Location<'a>, &'a str),
    Item(&'a Location<'a>, usize),
}

impl fmt::Display for Location<'_> {
    /// A JSON Pointer as the fragment of a URI (RFC 6901, section 6).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_char('#'),
            Self::Item(parent, index) => write!(f, "{parent}/{index}"),
            Self::Member(parent, key) => {
                write!(f, "{parent}/")?;
                for byte in key.bytes() {
                    match byte {
                        b'~' => f.write_str("~0")?,
                        b'/' => f.write_str("~1")?,
                        b'-' | b'.' | b'_' => f.write_char(char::from(byte))?,
                        byte if byte.is_ascii_alphanumeric() => f.write_char(char::from(byte))?,
                        byte => write!(f, "%{byte:02X}")?,
                    }
                }
                Ok(())
            }
        }
    }
}

/// How deep references between schemas may be nested for one value.
const MAX_DEPTH: usize = 200;

// What a check, the comparison of two items, and the compilation of a pattern take: see `EvalContext::count_work`.
const STEPS_OF_CHECK: usize = 256;
const STEPS_OF_COMPARISON: usize = 16;
const STEPS_OF_PATTERN: usize = 1 << 16;

struct Schema<'s> {
    root: &'s Json,
    ctx: &'s EvalContext,
}

/// A rule of a schema, and the location of the value that it applies to.
#[derive(Clone, Copy)]
struct Place<'a> {
    schema: &'a Location<'a>,
    document: &'a Location<'a>,
}

impl Place<'_> {
    fn require(self, holds: bool, keyword: &'static str) -> Checked {
        if holds {
            return Ok(());
        }
        Err(Stop::Failed(Failure {
            schema: self.schema.to_string(),
            document: self.document.to_string(),
            keyword,
        }))
    }
}

impl<'s> Schema<'s> {
    /// Rules that refer to each other, and items that are compared in pairs, can take any time.
    fn count(&self, work: usize) -> Checked {
        self.ctx.count_work(work).map_err(Stop::Refused)
    }

    fn check(
        &self,
        schema: &'s Json,
        schema_at: &Location<'_>,
        value: &Json,
        value_at: &Location<'_>,
        depth: usize,
    ) -> Checked {
        self.count(STEPS_OF_CHECK)?;
        if depth > MAX_DEPTH {
            return Ok(());
        }
        if let Some(Json::String(target)) = schema.get("$ref") {
            return self.check_reference(target, value, value_at, depth);
        }
        let place = Place {
            schema: schema_at,
            document: value_at,
        };
        if let Some(types) = schema.get("type") {
            place.require(has_type(value, types), "type")?;
        }
        match value {
            Json::Object(members) => self.object(schema, members, place, depth)?,
            Json::Array(items) => self.array(schema, items, place, depth)?,
            Json::String(text) => string(schema, text, place)?,
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => {
                number(schema, value, place)?
            }
            _ => {}
        }
        self.combinations(schema, value, place, depth)
    }

    /// `{"$ref": "#/definitions/name"}`. A reference to nothing allows everything.
    fn check_reference(&self, target: &str, value: &Json, value_at: &Location<'_>, depth: usize) -> Checked {
        let tokens: Vec<String> = target
            .split('/')
            .skip(1)
            .map(|token| token.replace("~1", "/").replace("~0", "~"))
            .collect();
        self.follow(self.root, &Location::Root, &tokens, value, value_at, depth)
    }

    fn follow(
        &self,
        schema: &'s Json,
        schema_at: &Location<'_>,
        tokens: &[String],
        value: &Json,
        value_at: &Location<'_>,
        depth: usize,
    ) -> Checked {
        let Some((token, rest)) = tokens.split_first() else {
            return self.check(schema, schema_at, value, value_at, depth + 1);
        };
        let next = match schema {
            Json::Array(items) => token.parse().ok().and_then(|index: usize| items.get(index)),
            schema => schema.get(token),
        };
        match next {
            Some(next) => {
                let at = Location::Member(schema_at, token);
                self.follow(next, &at, rest, value, value_at, depth)
            }
            None => Ok(()),
        }
    }

    fn accepts(&self, schema: &'s Json, value: &Json, depth: usize) -> std::result::Result<bool, Stop> {
        match self.check(schema, &Location::Root, value, &Location::Root, depth + 1) {
            Ok(()) => Ok(true),
            Err(Stop::Failed(_)) => Ok(false),
            Err(refused) => Err(refused),
        }
    }

    fn object(
        &self,
        schema: &'s Json,
        members: &[(String, Json)],
        place: Place<'_>,
        depth: usize,
    ) -> Checked {
        let patterns = patterns(schema)?;
        self.count(patterns.len() * STEPS_OF_PATTERN)?;
        for (key, value) in members {
            self.member(schema, &patterns, (key, value), place, depth)?;
        }
        let has = |key: &Json| match key {
            Json::String(key) => members.iter().any(|(name, _)| name == key),
            _ => true,
        };
        let names = |list: &Json| match list {
            Json::Array(names) => names.iter().all(has),
            _ => true,
        };
        place.require(schema.get("required").is_none_or(names), "required")?;
        let count = members.len() as u64;
        place.require(
            limit(schema, "minProperties").is_none_or(|least| count >= least),
            "minProperties",
        )?;
        place.require(
            limit(schema, "maxProperties").is_none_or(|most| count <= most),
            "maxProperties",
        )?;
        if let Some(Json::Object(dependencies)) = schema.get("dependencies") {
            for (key, needs) in dependencies {
                if !members.iter().any(|(name, _)| name == key) {
                    continue;
                }
                let holds = match needs {
                    Json::Array(_) => names(needs),
                    needs => self.accepts(needs, &Json::Object(members.to_vec()), depth)?,
                };
                place.require(holds, "dependencies")?;
            }
        }
        Ok(())
    }

    fn member(
        &self,
        schema: &'s Json,
        patterns: &[(Regex, &'s Json)],
        (key, value): (&str, &Json),
        place: Place<'_>,
        depth: usize,
    ) -> Checked {
        let value_at = Location::Member(place.document, key);
        let here = Place {
            document: &value_at,
            ..place
        };
        let additional = schema.get("additionalProperties");
        let listed_at = Location::Member(place.schema, "properties");
        let property_at = Location::Member(&listed_at, key);
        let additional_at = Location::Member(place.schema, "additionalProperties");
        let property = schema.get("properties").and_then(|listed| listed.get(key));
        let (own, own_at) = match (property, additional) {
            (Some(own), _) => (Some(own), &property_at),
            (None, Some(own @ Json::Object(_))) => (Some(own), &additional_at),
            (None, _) => (None, &additional_at),
        };
        let mut matching = patterns
            .iter()
            .filter(|(pattern, _)| pattern.is_match(key))
            .peekable();
        if matching.peek().is_none() {
            return match own {
                Some(own) => self.check(own, own_at, value, &value_at, depth),
                None => here.require(additional != Some(&Json::Bool(false)), "additionalProperties"),
            };
        }
        let mut fits = true;
        for (_, under) in matching {
            fits &= self.accepts(under, value, depth)?;
        }
        let holds = match own {
            None => fits,
            Some(own) => {
                let fits_own = self.accepts(own, value, depth)?;
                // As in MySQL's library: additional properties may violate their rule if a pattern allows
                // them.
                if property.is_some() {
                    fits && fits_own
                } else {
                    fits || fits_own
                }
            }
        };
        here.require(holds, "patternProperties")
    }

    fn array(&self, schema: &'s Json, items: &[Json], place: Place<'_>, depth: usize) -> Checked {
        let items_at = Location::Member(place.schema, "items");
        let more_at = Location::Member(place.schema, "additionalItems");
        let unique = schema.get("uniqueItems") == Some(&Json::Bool(true));
        for (index, value) in items.iter().enumerate() {
            let value_at = Location::Item(place.document, index);
            let here = Place {
                document: &value_at,
                ..place
            };
            match schema.get("items") {
                Some(all @ Json::Object(_)) => self.check(all, &items_at, value, &value_at, depth)?,
                Some(Json::Array(each)) => match (each.get(index), schema.get("additionalItems")) {
                    (Some(own), _) => {
                        let own_at = Location::Item(&items_at, index);
                        self.check(own, &own_at, value, &value_at, depth)?;
                    }
                    (None, Some(more @ Json::Object(_))) => {
                        self.check(more, &more_at, value, &value_at, depth)?;
                    }
                    (None, more) => here.require(more != Some(&Json::Bool(false)), "additionalItems")?,
                },
                _ => {}
            }
            if unique {
                self.count(index * STEPS_OF_COMPARISON)?;
            }
            let earlier = items.iter().take(index);
            let is_new = !unique || earlier.into_iter().all(|other| !same(other, value));
            here.require(is_new, "uniqueItems")?;
        }
        let count = items.len() as u64;
        place.require(
            limit(schema, "minItems").is_none_or(|least| count >= least),
            "minItems",
        )?;
        place.require(
            limit(schema, "maxItems").is_none_or(|most| count <= most),
            "maxItems",
        )
    }

    fn combinations(&self, schema: &'s Json, value: &Json, place: Place<'_>, depth: usize) -> Checked {
        if let Some(Json::Array(values)) = schema.get("enum") {
            place.require(values.iter().any(|one| same(one, value)), "enum")?;
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let Some(Json::Array(schemas)) = schema.get(keyword) else {
                continue;
            };
            let mut accepting = 0;
            for one in schemas {
                accepting += usize::from(self.accepts(one, value, depth)?);
            }
            let holds = match keyword {
                "allOf" => accepting == schemas.len(),
                "anyOf" => accepting > 0,
                _ => accepting == 1,
            };
            place.require(holds, keyword)?;
        }
        if let Some(not @ Json::Object(_)) = schema.get("not") {
            let accepts = self.accepts(not, value, depth)?;
            place.require(!accepts, "not")?;
        }
        Ok(())
    }
}

fn has_type(value: &Json, types: &Json) -> bool {
    match types {
        Json::Array(types) => types.iter().any(|one| has_type(value, one)),
        Json::String(name) => match name.as_str() {
            "null" => matches!(value, Json::Null),
            "boolean" => matches!(value, Json::Bool(_)),
            "object" => matches!(value, Json::Object(_)),
            "array" => matches!(value, Json::Array(_)),
            "string" => matches!(value, Json::String(_)),
            "integer" => matches!(value, Json::Int(_) | Json::UInt(_)),
            "number" => as_double(value).is_some(),
            _ => false,
        },
        _ => false,
    }
}

fn as_double(value: &Json) -> Option<f64> {
    Some(match value {
        Json::Int(v) => *v as f64,
        Json::UInt(v) => *v as f64,
        Json::Double(v) => *v,
        Json::Decimal(v) => v.to_f64(),
        _ => return None,
    })
}

/// Whether two values are the same: numbers by value, also within arrays and objects.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            let mut members = a.iter().zip(b);
            a.len() == b.len() && members.all(|((name, a), (other, b))| name == other && same(a, b))
        }
        (a, b) => match (as_double(a), as_double(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

/// A keyword's non-negative integer.
fn limit(schema: &Json, keyword: &str) -> Option<u64> {
    match schema.get(keyword)? {
        Json::Int(v) => u64::try_from(*v).ok(),
        Json::UInt(v) => Some(*v),
        _ => None,
    }
}

fn compare_numbers(a: &Json, b: &Json) -> Ordering {
    match (JsonBinary::new(a), JsonBinary::new(b)) {
        (Ok(a), Ok(b)) => order::compare(a.root(), b.root()),
        _ => Ordering::Equal,
    }
}

fn number(schema: &Json, value: &Json, place: Place<'_>) -> Checked {
    let bound = |keyword| schema.get(keyword).filter(|bound| as_double(bound).is_some());
    let exclusive = |keyword| schema.get(keyword) == Some(&Json::Bool(true));
    if let Some(least) = bound("minimum") {
        let order = compare_numbers(value, least);
        let holds = order.is_gt() || order.is_eq() && !exclusive("exclusiveMinimum");
        place.require(holds, "minimum")?;
    }
    if let Some(most) = bound("maximum") {
        let order = compare_numbers(value, most);
        let holds = order.is_lt() || order.is_eq() && !exclusive("exclusiveMaximum");
        place.require(holds, "maximum")?;
    }
    let Some(divisor) = bound("multipleOf") else {
        return Ok(());
    };
    let holds = match (value, divisor) {
        (Json::Int(v), Json::Int(d)) if *d > 0 => v % d == 0,
        (Json::UInt(v), Json::Int(d)) if *d > 0 => v % d.unsigned_abs() == 0,
        _ => match (as_double(value), as_double(divisor)) {
            (Some(v), Some(d)) if d > 0.0 => v.abs() - (v.abs() / d).floor() * d <= 0.0,
            _ => true,
        },
    };
    place.require(holds, "multipleOf")
}

fn string(schema: &Json, text: &str, place: Place<'_>) -> Checked {
    let length = text.chars().count() as u64;
    place.require(
        limit(schema, "minLength").is_none_or(|least| length >= least),
        "minLength",
    )?;
    place.require(
        limit(schema, "maxLength").is_none_or(|most| length <= most),
        "maxLength",
    )?;
    match schema.get("pattern") {
        Some(Json::String(pattern)) => place.require(compiled(pattern)?.is_match(text), "pattern"),
        _ => Ok(()),
    }
}

fn patterns(schema: &Json) -> std::result::Result<Vec<(Regex, &Json)>, Stop> {
    match schema.get("patternProperties") {
        Some(Json::Object(listed)) => {
            let patterns = listed
                .iter()
                .map(|(pattern, under)| Ok((compiled(pattern)?, under)));
            patterns.collect()
        }
        _ => Ok(Vec::new()),
    }
}

fn compiled(pattern: &str) -> std::result::Result<Regex, Stop> {
    Regex::new(pattern).map_err(|_| {
        let what = format!("the regular expression {pattern} in a JSON schema");
        Stop::Refused(Error::not_supported(
            what,
            "use a pattern without look-around and back references",
        ))
    })
}
