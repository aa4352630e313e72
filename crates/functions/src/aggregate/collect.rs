//! GROUP_CONCAT, JSON_ARRAYAGG and JSON_OBJECTAGG: aggregates that hold their rows until the group is
//! complete.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::ArrayRef;
use arrow::row::Rows;
use types::json::{Json, JsonBinary, JsonRef};
use types::{Error, Result, SqlType, Value, errno};

use super::{AggregateCall, AggregateFunction, RowGroups};
use crate::comparable;
use crate::context::EvalContext;
use crate::datum::Datum;
use crate::json::convert::{is_boolean, of_value};
use crate::json::of_binary;
use crate::order::RowKeys;
use crate::string::value_of;

/// The clauses of a GROUP_CONCAT. [`AggregateCall::args`] are the text of a row, then the values that
/// DISTINCT compares, then the keys of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct Concat {
    pub separator: String,
    pub distinct_args: usize,
    /// For each key of ORDER BY: whether it is descending.
    pub descending: Vec<bool>,
}

impl Concat {
    /// What the rows are sorted by, as positions among the arguments and directions: the keys of ORDER BY, or
    /// with DISTINCT alone the values themselves.
    fn sort_keys(&self, distinct: bool) -> Vec<(usize, bool)> {
        match self.descending.as_slice() {
            [] if distinct => (1..=self.distinct_args).map(|at| (at, false)).collect(),
            keys => (1 + self.distinct_args..).zip(keys.iter().copied()).collect(),
        }
    }
}

/// The memory that an entry of a set takes besides its bytes.
const SET_ENTRY_BYTES: usize = 24;

/// The rows of each group.
#[derive(Debug)]
pub(super) struct Collected {
    function: AggregateFunction,
    ty: SqlType,
    arg_types: Vec<SqlType>,
    /// Whether the last argument is a truth value: JSON has true and false.
    boolean: bool,
    distinct: bool,
    concat: Option<Concat>,
    sorter: Option<Sorter>,
    groups: Vec<Group>,
    bytes: usize,
    /// The number of rows in the results so far. Warning 1260 names it, counted over all groups.
    shown: AtomicUsize,
}

#[derive(Debug, Default)]
struct Group {
    rows: Vec<Row>,
    /// DISTINCT: the values so far.
    seen: HashSet<Box<[u8]>>,
    text_bytes: usize,
}

/// Makes the keys that rows are sorted by, and from which arguments.
#[derive(Debug)]
struct Sorter {
    args: Vec<usize>,
    keys: RowKeys,
}

impl Sorter {
    /// `None`: the rows keep the order in which they were added.
    fn of(concat: &Concat, distinct: bool, arg_types: &[SqlType]) -> Result<Option<Self>> {
        let sorted = concat.sort_keys(distinct);
        if sorted.is_empty() {
            return Ok(None);
        }
        let of_arg = |(at, descending): &(usize, bool)| Some((*arg_types.get(*at)?, *descending));
        Ok(Some(Self {
            keys: RowKeys::with_order(sorted.iter().filter_map(of_arg).collect())?,
            args: sorted.into_iter().map(|(at, _)| at).collect(),
        }))
    }

    fn encode(&self, args: &[ArrayRef]) -> Result<Rows> {
        let keys: Vec<ArrayRef> = self.args.iter().filter_map(|at| args.get(*at).cloned()).collect();
        self.keys.encode(&keys)
    }
}

type KeyAndText = (Box<[u8]>, Box<[u8]>);

#[derive(Debug)]
struct Row {
    order: Box<[u8]>,
    /// JSON_OBJECTAGG: the member's name. DISTINCT: the compared values.
    key: Box<[u8]>,
    /// The text, or the document in the binary form.
    text: Box<[u8]>,
}

impl Collected {
    pub fn new(call: &AggregateCall) -> Result<Self> {
        let arg_types: Vec<SqlType> = call.args.iter().map(crate::Expr::ty).collect();
        let concat = call.concat.as_deref().cloned();
        let sorter = match &concat {
            Some(concat) => Sorter::of(concat, call.distinct, &arg_types)?,
            None => None,
        };
        Ok(Self {
            function: call.function,
            ty: call.ty,
            arg_types,
            boolean: call.args.last().is_some_and(is_boolean),
            distinct: call.distinct,
            concat,
            sorter,
            groups: Vec::new(),
            bytes: 0,
            shown: AtomicUsize::new(0),
        })
    }

    pub fn resize(&mut self, groups: usize) {
        self.groups.resize_with(groups, Group::default);
    }

    pub fn size_bytes(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<Group>()
    }

    /// Adds rows. `max_bytes`: the longest result of GROUP_CONCAT.
    pub fn update(&mut self, args: &[ArrayRef], groups: RowGroups<'_>, max_bytes: usize) -> Result<()> {
        let Some(values) = args.first() else { return Ok(()) };
        let orders = self
            .sorter
            .as_ref()
            .map(|sorter| sorter.encode(args))
            .transpose()?;
        for (row, group) in groups.rows() {
            if let Some((key, text)) = self.texts(args, values, row)? {
                let order = orders
                    .as_ref()
                    .map(|o| o.row(row).data().into())
                    .unwrap_or_default();
                let row = Row { order, key, text };
                self.take(group, row, max_bytes);
            }
        }
        Ok(())
    }

    /// A row's key and text; `None` for a row that is skipped.
    fn texts(&self, args: &[ArrayRef], values: &ArrayRef, row: usize) -> Result<Option<KeyAndText>> {
        let value = Datum::at(values.as_ref(), row)?;
        let json = |datum: &Datum<'_>, index: usize| -> Result<Box<[u8]>> {
            let ty = self.arg_types.get(index).copied().unwrap_or(SqlType::NULL);
            let document = JsonBinary::new(&of_value(datum, &ty, self.boolean))?;
            Ok(document.as_bytes().into())
        };
        match self.function {
            AggregateFunction::JsonArray => Ok(Some((Box::default(), json(&value, 0)?))),
            AggregateFunction::JsonObject => {
                if value.is_null() {
                    let message = "JSON documents may not contain NULL member names.";
                    return Err(Error::new(errno::ER_JSON_DOCUMENT_NULL_KEY, message));
                }
                if self.arg_types.first().is_some_and(SqlType::is_binary) {
                    return Err(of_binary());
                }
                let member = match args.get(1) {
                    Some(array) => json(&Datum::at(array.as_ref(), row)?, 1)?,
                    None => Box::default(),
                };
                Ok(Some((value.bytes().into(), member)))
            }
            _ if value.is_null() => Ok(None),
            _ => {
                let mut key = Vec::new();
                if self.distinct {
                    let compared = self.concat.as_ref().map_or(0, |c| c.distinct_args);
                    for (array, ty) in args.iter().zip(&self.arg_types).skip(1).take(compared) {
                        comparable::write(&Datum::at(array.as_ref(), row)?, ty, &mut key);
                    }
                }
                Ok(Some((key.into(), value.bytes().into())))
            }
        }
    }

    fn take(&mut self, group: usize, mut row: Row, max_bytes: usize) {
        let most = max_bytes.saturating_mul(self.utf8_bytes_per_byte());
        let Some(group) = self.groups.get_mut(group) else {
            return;
        };
        if self.distinct {
            let key_bytes = row.key.len() + SET_ENTRY_BYTES;
            if !group.seen.insert(std::mem::take(&mut row.key)) {
                return;
            }
            self.bytes += key_bytes;
        } else if self.concat.is_some() && self.sorter.is_none() && group.text_bytes > most {
            return;
        }
        group.text_bytes += row.text.len();
        self.bytes += row.order.len() + row.key.len() + row.text.len() + size_of::<Row>();
        group.rows.push(row);
    }

    /// One group's result.
    pub fn value(&self, group: usize, ctx: &EvalContext) -> Result<Value> {
        let rows = match self.groups.get(group) {
            Some(group) if !group.rows.is_empty() => &group.rows,
            _ => return Ok(Value::Null),
        };
        let mut sorted: Vec<&Row> = rows.iter().collect();
        if self.sorter.is_some() {
            // MySQL puts a row before those with an equal key.
            sorted.reverse();
            sorted.sort_by(|a, b| a.order.cmp(&b.order));
        }
        let text = match (&self.concat, self.function) {
            (Some(concat), _) => self.concatenate(&sorted, &concat.separator, ctx)?,
            (None, function) => return JsonBinary::new(&document(function, &sorted)).map(Value::Json),
        };
        Ok(value_of(&self.ty, text))
    }

    /// The texts with the separator between them, cut at `@@group_concat_max_len` bytes of the result's character
    /// set: 1260, an error in strict DML.
    fn concatenate(&self, rows: &[&Row], separator: &str, ctx: &EvalContext) -> Result<Vec<u8>> {
        let mut room = ctx.group_concat_max_len;
        let mut out = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let shown = self.shown.fetch_add(1, Ordering::Relaxed) + 1;
            let separator = if number > 0 { separator.as_bytes() } else { b"" };
            for part in [separator, &row.text[..]] {
                let (length, bytes) = self.fitting(part, room);
                out.extend_from_slice(&part[..length]);
                room -= bytes;
                if length < part.len() {
                    let message = format!("Row {shown} was cut by GROUP_CONCAT()");
                    ctx.conversion_lost(errno::ER_CUT_VALUE_GROUP_CONCAT, message)?;
                    return Ok(out);
                }
            }
        }
        Ok(out)
    }

    /// How much of a text fits into `room` bytes of the result's character set, and how many of them it takes.
    fn fitting(&self, text: &[u8], room: usize) -> (usize, usize) {
        let charset = self.ty.collation.charset();
        if charset.is_utf8() && text.len() <= room {
            return (text.len(), text.len());
        }
        let text = match std::str::from_utf8(text) {
            Ok(text) if !self.ty.is_binary() => text,
            _ => return (text.len().min(room), text.len().min(room)),
        };
        // Only the text that is cut is read character by character.
        let all = charset.encoded_len(text);
        if all <= room {
            return (text.len(), all);
        }
        let mut used = 0;
        for (at, character) in text.char_indices() {
            let bytes = charset.encoded_len(character.encode_utf8(&mut [0; 4]));
            if used + bytes > room {
                return (at, used);
            }
            used += bytes;
        }
        (text.len(), used)
    }

    /// How many bytes of UTF-8 a byte of the result's character set can come from.
    fn utf8_bytes_per_byte(&self) -> usize {
        match self.ty.collation.charset().is_utf8() {
            true => 1,
            false => 3,
        }
    }
}

/// The values of JSON_ARRAYAGG, or the members of JSON_OBJECTAGG. Of several members with one name, the last
/// is kept.
fn document(function: AggregateFunction, rows: &[&Row]) -> Json {
    let value = |row: &&Row| JsonRef::of_document(&row.text).to_tree();
    if function == AggregateFunction::JsonArray {
        return Json::Array(rows.iter().map(value).collect());
    }
    let name = |row: &&Row| String::from_utf8_lossy(&row.key).into_owned();
    Json::object(rows.iter().map(|row| (name(row), value(row))).collect())
}
