//! REGEXP, REGEXP_LIKE, REGEXP_REPLACE, REGEXP_SUBSTR, REGEXP_INSTR.
//!
//! MySQL uses ICU's regular expressions; [`Pattern`] says what StemDB matches them with.
//! Source: manual 12.8.2 "Regular Expressions".

use std::borrow::Cow;
use std::sync::Arc;

use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::compiled::{Found, Pattern, Refusal, RegexFlags, timed_out};
use super::icu_rules::{self, COMMENT};
use super::regex_cache::CACHE_LIMIT;
use crate::bind::arguments::longest_text;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::pace::{Pace, Steps};
use crate::registry::{Alias, Family, function};
use crate::truth::value_of;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[Alias {
        name: "rlike",
        of: "regexp",
    }],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("regexp", 2, 2, resolve_like, |c, a| matched(c, a, 2, regexp_like)).sees_null(),
    function("regexp_like", 2, 3, resolve_like, |c, a| {
        matched(c, a, 2, regexp_like)
    })
    .sees_null(),
    function("regexp_instr", 2, 6, resolve_instr, |c, a| {
        matched(c, a, 5, regexp_instr)
    })
    .sees_null(),
    function("regexp_substr", 2, 5, resolve_substr, |c, a| {
        matched(c, a, 4, regexp_substr)
    })
    .sees_null()
    .nullability(Nullability::Always),
    function("regexp_replace", 3, 6, resolve_replace, |c, a| {
        matched(c, a, 5, regexp_replace)
    })
    .sees_null()
    .nullability(Nullability::Always),
];

/// While a pattern is parsed, each character takes some hundred bytes.
const PATTERN_BYTES_MAX: usize = 1 << 18;

fn compared(binding: &mut Binding<'_>) -> Result<()> {
    let are_mixed = are_mixed(&binding.ty(0), &binding.ty(1)) || are_mixed(&binding.ty(1), &binding.ty(0));
    for i in 0..2 {
        binding.text(i);
    }
    let (a, b) = (binding.ty(0), binding.ty(1));
    if are_mixed {
        let name = if binding.name == "regexp" {
            "regexp_like"
        } else {
            binding.name
        };
        return Err(Error::new(
            3995,
            format!(
                "Character set '{}' cannot be used in conjunction with '{}' in call to {name}.",
                a.collation.name(),
                b.collation.name()
            ),
        ));
    }
    binding.compared_texts(0..2).map(|_| ())
}

/// Whether one is a VARBINARY and the other a text, which MySQL refuses to mix here. It takes a BINARY or BLOB
/// with any text, and a VARBINARY with a computed LONGTEXT. Numbers, dates and documents are neither.
fn are_mixed(bytes: &SqlType, text: &SqlType) -> bool {
    bytes.is_string()
        && bytes.is_binary()
        && bytes.kind == TypeKind::VarChar
        && text.is_string()
        && !text.is_binary()
        && text.kind != TypeKind::LongText
}

fn resolve_like(binding: &mut Binding<'_>) -> Result<SqlType> {
    compared(binding)?;
    binding.text(2);
    Ok(SqlType::BOOL)
}

fn resolve_instr(binding: &mut Binding<'_>) -> Result<SqlType> {
    compared(binding)?;
    for i in 2..5 {
        binding.integer_if_given(i);
    }
    binding.text(5);
    Ok(SqlType {
        length: 21,
        ..SqlType::BIGINT
    })
}

fn resolve_substr(binding: &mut Binding<'_>) -> Result<SqlType> {
    compared(binding)?;
    binding.integer_if_given(2);
    binding.integer_if_given(3);
    binding.text(4);
    Ok(binding.text_result(binding.total_length(0..1), binding.ty(0).collation))
}

fn resolve_replace(binding: &mut Binding<'_>) -> Result<SqlType> {
    compared(binding)?;
    binding.text(2);
    binding.integer_if_given(3);
    binding.integer_if_given(4);
    binding.text(5);
    let collation = binding.texts(0..3)?;
    Ok(binding.text_result(longest_text(collation), collation))
}

fn text<'a>(args: &[Datum<'a>], index: usize) -> std::borrow::Cow<'a, str> {
    match args.get(index) {
        Some(Datum::String(text)) => (*text).into(),
        Some(Datum::Bytes(bytes)) => String::from_utf8_lossy(bytes),
        _ => "".into(),
    }
}

type Match = fn(&Call<'_>, &[Datum<'_>], &Pattern) -> Result<Value>;

/// The result of `function`. The pattern is compiled before NULL is looked for in the other arguments, so that a
/// pattern that is none fails beside NULL, too.
fn matched(call: &Call<'_>, args: &[Datum<'_>], match_type: usize, function: Match) -> Result<Value> {
    let is_null = |at: usize| args.get(at).is_some_and(Datum::is_null);
    if is_null(1) || is_null(match_type) {
        return Ok(Value::Null);
    }
    let regex = compile(call, args, match_type)?;
    match args.iter().any(Datum::is_null) {
        true => Ok(Value::Null),
        false => function(call, args, &regex),
    }
}

/// The expression in argument 1 with the flags in argument `match_type`.
fn compile(call: &Call<'_>, args: &[Datum<'_>], match_type: usize) -> Result<Arc<Pattern>> {
    let collation = call.arg_type(0).collation;
    let mut flags = RegexFlags {
        any_case: !collation.is_case_sensitive(),
        multi_line: false,
        dot_matches_newline: false,
    };
    for flag in text(args, match_type).chars() {
        match flag {
            'c' => flags.any_case = false,
            'i' => flags.any_case = true,
            'm' => flags.multi_line = true,
            'n' => flags.dot_matches_newline = true,
            'u' => {}
            _ => {
                let message = format!("Incorrect arguments to {}", call.def.name);
                return Err(Error::new(errno::ER_WRONG_ARGUMENTS, message));
            }
        }
    }
    let pattern = text(args, 1);
    if pattern.is_empty() {
        return Err(Error::new(3685, "Illegal argument to a regular expression."));
    }
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(too_complex());
    }
    let key = (pattern.into_owned(), flags);
    let mut cache = call.ctx.state.regexes.0.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(found) = cache.get(&key) {
        return Ok(found.clone());
    }
    icu_rules::check(&key.0)?;
    let compiled = Pattern::new(&key.0, &translated(&key.0), flags).map_err(|e| refused(&key.0, &e))?;
    let compiled = Arc::new(compiled);
    if cache.len() >= CACHE_LIMIT {
        cache.clear();
    }
    cache.insert(key, compiled.clone());
    Ok(compiled)
}

/// Error 3700.
fn too_complex() -> Error {
    Error::new(
        3700,
        "The regular expression pattern exceeds limits on size or complexity.",
    )
}

/// Escapes of ICU that the crates do not know or take for something else, outside of brackets and within.
const ESCAPES: &[(&str, &str, &str)] = &[
    (r"\h", r"[\t\p{Zs}]", r"\t\p{Zs}"),
    (r"\H", r"[^\t\p{Zs}]", r"[^\t\p{Zs}]"),
    (r"\R", r"(?:\r\n|[\n\x0b\x0c\r\x{85}\x{2028}\x{2029}])", r"\R"),
    (
        r"\v",
        r"[\n\x0b\x0c\r\x{85}\x{2028}\x{2029}]",
        r"\n\x0b\x0c\r\x{85}\x{2028}\x{2029}",
    ),
    (
        r"\V",
        r"[^\n\x0b\x0c\r\x{85}\x{2028}\x{2029}]",
        r"[^\n\x0b\x0c\r\x{85}\x{2028}\x{2029}]",
    ),
    // A class is no end of a range.
    (r"\d-", r"\d-", r"\d\-"),
    (r"\w-", r"\w-", r"\w\-"),
    (r"\s-", r"\s-", r"\s\-"),
    // See [`Pattern`].
    (r"\Z", r"\z", r"\Z"),
];

/// The pattern with ICU's meaning of `[:alpha:]` and the other named classes, classes of Unicode, which are
/// classes of ASCII to the crates; and of some escapes.
fn translated(pattern: &str) -> Cow<'_, str> {
    let has_escape = |(escape, ..): &(&str, &str, &str)| pattern.contains(escape);
    if !pattern.contains("[:") && !pattern.contains(COMMENT) && !ESCAPES.iter().any(has_escape) {
        return pattern.into();
    }
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut depth = 0_usize;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let class = icu_rules::class_name(rest)
            .and_then(|(name, behind)| Some((unicode_class(&icu_rules::loose(name))?, behind)));
        if let Some((class, behind)) = class {
            // ICU takes a class outside of brackets for one inside.
            match depth {
                0 => out.extend(["[", class, "]"]),
                _ => out.push_str(class),
            }
            rest = behind;
            continue;
        }
        if let Some(length) = icu_rules::comment(rest).filter(|_| depth == 0) {
            rest = &rest[length..];
            continue;
        }
        let escape = ESCAPES
            .iter()
            .find_map(|(escape, outside, within)| Some((*outside, *within, rest.strip_prefix(escape)?)));
        if let Some((outside, within, behind)) = escape {
            out.push_str(if depth == 0 { outside } else { within });
            rest = behind;
            continue;
        }
        let length = match c {
            '\\' => rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at),
            c => c.len_utf8(),
        };
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.into()
}

/// A POSIX class, or its complement, as an item of a bracket expression.
fn unicode_class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alpha" => r"\p{Alphabetic}",
        "^alpha" => r"\P{Alphabetic}",
        "lower" => r"\p{Lowercase}",
        "^lower" => r"\P{Lowercase}",
        "upper" => r"\p{Uppercase}",
        "^upper" => r"\P{Uppercase}",
        "digit" => r"\p{Nd}",
        "^digit" => r"\P{Nd}",
        "alnum" => r"\p{Alphabetic}\p{Nd}",
        "space" => r"\p{White_Space}",
        "^space" => r"\P{White_Space}",
        "punct" => r"\p{P}",
        "^punct" => r"\P{P}",
        "cntrl" => r"\p{Cc}",
        "^cntrl" => r"\P{Cc}",
        "^alnum" => r"[^\p{Alphabetic}\p{Nd}]",
        "ascii" => "[:ascii:]",
        "^ascii" => "[:^ascii:]",
        "blank" => "[:blank:]",
        "^blank" => "[:^blank:]",
        "graph" => "[:graph:]",
        "^graph" => "[:^graph:]",
        "print" => "[:print:]",
        "^print" => "[:^print:]",
        "xdigit" => "[:xdigit:]",
        "^xdigit" => "[:^xdigit:]",
        "word" => r"\w",
        "^word" => r"\W",
        _ => return None,
    })
}

/// MySQL's error for a pattern that is none.
fn refused(pattern: &str, refusal: &Refusal) -> Error {
    let text = match refusal {
        Refusal::Linear(regex::Error::CompiledTooBig(_)) => return timed_out(),
        Refusal::Linear(error) => error.to_string(),
        Refusal::Backtracking(error) => error.to_string(),
    };
    // The crates say the same in words of their own.
    let text = text.to_lowercase();
    let has = |part: &str| text.contains(part);
    let (code, message) = if has("look-behind") || has("failed to build dfa") {
        (
            3695,
            "The look-behind assertion exceeds the limit in regular expression.".to_owned(),
        )
    } else if has("group name") || has("invalid back reference") && pattern.contains("\\k") {
        return invalid_name();
    } else if has("invalid back reference") {
        (3694, "Invalid back-reference in regular expression.".to_owned())
    } else if has("too complex") || has("too deeply") {
        return too_complex();
    } else if has("unclosed group") || has("unopened group") || has("parenthesis") {
        (3691, "Mismatched parenthesis in regular expression.".to_owned())
    } else if has("property not found") || has("property value not found") {
        return Error::new(3685, "Illegal argument to a regular expression.");
    } else if has("unclosed character class") {
        (
            3696,
            "The regular expression contains an unclosed bracket expression.".to_owned(),
        )
    } else if has("invalid repetition count range") {
        (
            3693,
            "The maximum is less than the minumum in a {min,max} interval.".to_owned(),
        )
    } else if has("invalid character class range") {
        (
            3697,
            "The regular expression contains an [x-y] character range where x comes after y.".to_owned(),
        )
    } else if has("unrecognized escape")
        || has("incomplete escape")
        || has("invalid escape")
        || has("backslash")
    {
        (
            3689,
            "Unrecognized escape sequence in regular expression.".to_owned(),
        )
    } else {
        // The position that the crate's message points to: the column of its `^`.
        let column = text
            .lines()
            .find(|l| l.trim_start().starts_with('^'))
            .map_or(1, |l| l.find('^').map_or(1, |at| at.saturating_sub(3)));
        let column = column.clamp(1, pattern.chars().count().max(1));
        (
            3688,
            format!("Syntax error in regular expression on line 1, character {column}."),
        )
    };
    Error::new(code, message)
}

fn regexp_like(_: &Call<'_>, args: &[Datum<'_>], regex: &Pattern) -> Result<Value> {
    Ok(value_of(Some(regex.is_match(&text(args, 0))?)))
}

/// The byte offset of the character position (from 1) in an argument; error 3686 beyond the text.
fn start(call: &Call<'_>, args: &[Datum<'_>], index: usize, subject: &str) -> Result<usize> {
    let position = args.get(index).map_or(1, Datum::int);
    if position < 1 {
        return Err(Error::new(
            errno::ER_WRONG_FCT_PARAMETERS,
            format!(
                "Incorrect parameters in the call to native function '{}'",
                call.def.name
            ),
        ));
    }
    let characters = (position - 1) as usize;
    let mut boundaries = subject.char_indices().map(|(i, _)| i).chain([subject.len()]);
    boundaries
        .nth(characters)
        .ok_or_else(|| Error::new(3686, "Index out of bounds in regular expression search."))
}

/// `occurrence`: from 1. Each match may have read all the text.
fn nth_match<'t>(
    call: &Call<'_>,
    regex: &Pattern,
    text: &'t str,
    occurrence: usize,
) -> Result<Option<Found<'t>>> {
    let mut pace = Pace::of(call.ctx);
    for (index, found) in regex.find_iter(text).enumerate() {
        pace.step(text.len())?;
        if index + 1 == occurrence {
            return found.map(Some);
        }
        found?;
    }
    Ok(None)
}

fn regexp_instr(call: &Call<'_>, args: &[Datum<'_>], regex: &Pattern) -> Result<Value> {
    let subject = text(args, 0);
    let from = start(call, args, 2, &subject)?;
    let occurrence = args.get(3).map_or(1, Datum::int).max(1) as usize;
    let after = match args.get(4).map_or(0, Datum::int) {
        0 => false,
        1 => true,
        _ => {
            let message = "Incorrect arguments to regexp_instr: return_option must be 1 or 0.";
            return Err(Error::new(errno::ER_WRONG_ARGUMENTS, message));
        }
    };
    let found = nth_match(call, regex, subject.get(from..).unwrap_or_default(), occurrence)?;
    Ok(Value::Int(found.map_or(0, |m| {
        let end = from + if after { m.range.end } else { m.range.start };
        subject.get(..end).unwrap_or_default().chars().count() as i64 + 1
    })))
}

fn regexp_substr(call: &Call<'_>, args: &[Datum<'_>], regex: &Pattern) -> Result<Value> {
    let subject = text(args, 0);
    let from = start(call, args, 2, &subject)?;
    let occurrence = args.get(3).map_or(1, Datum::int).max(1) as usize;
    let found = nth_match(call, regex, subject.get(from..).unwrap_or_default(), occurrence)?;
    Ok(found.map_or(Value::Null, |m| of_type(call, m.text().to_owned())))
}

fn of_type(call: &Call<'_>, text: String) -> Value {
    if call.ty.is_binary() {
        Value::Bytes(text.into_bytes())
    } else {
        Value::String(text)
    }
}

fn regexp_replace(call: &Call<'_>, args: &[Datum<'_>], regex: &Pattern) -> Result<Value> {
    let subject = text(args, 0);
    let from = start(call, args, 3, &subject)?;
    let only = args.get(4).map_or(0, Datum::int).max(0) as usize;
    let replacement = replacement(&text(args, 2), &regex.group_names());
    let (before, rest) = subject.split_at(from);
    let mut out = before.to_owned();
    let mut copied = 0;
    let mut pace = Pace::of(call.ctx);
    for (i, found) in regex.find_iter(rest).enumerate() {
        let found = found?;
        pace.step(rest.len())?;
        if only > 0 && i + 1 != only {
            continue;
        }
        let groups = regex.groups(&found)?;
        out.push_str(rest.get(copied..found.range.start).unwrap_or_default());
        for part in &replacement {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Group(group) => out.push_str(groups.get(*group).copied().flatten().unwrap_or_default()),
                Part::Wrong(error) => return Err(error.clone()),
            }
        }
        copied = found.range.end;
        if only > 0 {
            break;
        }
    }
    out.push_str(rest.get(copied..).unwrap_or_default());
    Ok(of_type(call, out))
}

enum Part {
    Text(String),
    Group(usize),
    /// It names no group, which is an error where something is replaced.
    Wrong(Error),
}

/// ICU's replacement text: `$1` and `${name}` a group, `\` before a character taken as it is. `groups`: their
/// names.
fn replacement(text: &str, groups: &[Option<&str>]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => plain.extend(rest.next()),
            '$' => {
                parts.push(Part::Text(std::mem::take(&mut plain)));
                parts.push(group(&mut rest, groups));
            }
            c => plain.push(c),
        }
    }
    parts.push(Part::Text(plain));
    parts
}

/// The group that follows a `$`.
fn group(rest: &mut std::str::Chars<'_>, groups: &[Option<&str>]) -> Part {
    let named = rest
        .as_str()
        .strip_prefix('{')
        .and_then(|inner| inner.split_once('}'));
    if let Some((name, behind)) = named {
        *rest = behind.chars();
        let group = groups.iter().position(|group| *group == Some(name));
        return group.map_or_else(|| Part::Wrong(invalid_name()), Part::Group);
    }
    // As many digits as make the number of a group, one at least.
    let mut number = None;
    while let Some(digit) = rest.as_str().chars().next().and_then(|c| c.to_digit(10)) {
        let longer = number.unwrap_or(0) * 10 + digit as usize;
        if number.is_some() && longer >= groups.len() {
            break;
        }
        number = Some(longer);
        rest.next();
    }
    match number {
        Some(number) if number < groups.len() => Part::Group(number),
        Some(_) => Part::Wrong(Error::new(
            3686,
            "Index out of bounds in regular expression search.",
        )),
        None => Part::Wrong(invalid_name()),
    }
}

/// Error 3887.
fn invalid_name() -> Error {
    Error::new(3887, "A capture group has an invalid name.")
}
