//! KILL and time limits within an evaluation: how much work is done between two looks at the interruption.
//!
//! Whoever reads rows looks once for each batch of them. That is often enough for rows that cost little. Here is what
//! looks within a batch, and within a call: loops over rows look once in some rows, fewer if their values are long;
//! evaluation of single rows counts the bytes of long texts that calls make, and of long constants; and a function whose
//! work is not proportional to its arguments (a search, a comparison of all pairs) counts its steps ([`crate::pace`]).
//! Rows of short values, and single rows, count nothing.

use std::sync::atomic::Ordering;

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use types::{Result, SqlType, Value};

use crate::EvalContext;
use crate::datum::Datum;
use crate::input::ColumnarValue;
use crate::pace::{BETWEEN_LOOKS, Interruptible};

/// A value of so many bytes is long. What a batch of shorter ones takes is not counted.
const LONG_BYTES: usize = 1 << 10;
/// A loop over rows looks at the interruption once in so many rows.
const ROWS_BETWEEN_LOOKS: usize = 64;

impl EvalContext {
    /// Counts work, in bytes that are read or made. Threads that share the context may lose what another one counts; they
    /// look a little later then.
    ///
    /// # Errors
    /// 1317 once the statement has been interrupted.
    pub(crate) fn count_work(&self, bytes: usize) -> Result<()> {
        let done = self.work.load(Ordering::Relaxed).saturating_add(bytes);
        if done < BETWEEN_LOOKS {
            self.work.store(done, Ordering::Relaxed);
            return Ok(());
        }
        self.work.store(0, Ordering::Relaxed);
        self.check_interrupted()
    }

    /// Counts a value that is long. See [`Self::count_work`].
    #[inline]
    pub(crate) fn count_value(&self, value: &Value) -> Result<()> {
        match value {
            Value::String(text) if text.len() >= LONG_BYTES => self.count_work(text.len()),
            Value::Bytes(bytes) if bytes.len() >= LONG_BYTES => self.count_work(bytes.len()),
            Value::Json(json) if json.root().bytes() >= LONG_BYTES => self.count_work(json.root().bytes()),
            _ => Ok(()),
        }
    }

    /// Counts what a call has made, if its type may be long.
    #[inline]
    pub(crate) fn count_made(&self, value: &Value, ty: &SqlType) -> Result<()> {
        match ty.length as usize >= LONG_BYTES {
            true => self.count_value(value),
            false => Ok(()),
        }
    }

    /// Called for each row of a loop, with its position.
    #[inline]
    pub(crate) fn count_row(&self, row: usize) -> Result<()> {
        match row % ROWS_BETWEEN_LOOKS == ROWS_BETWEEN_LOOKS - 1 {
            true => self.check_interrupted(),
            false => Ok(()),
        }
    }
}

/// After how many rows a loop over the values of `args` looks at the interruption. There are `rows` of them.
pub(crate) fn rows_between_looks(args: &[ColumnarValue], rows: usize) -> usize {
    let of_row = |arg: &ColumnarValue| match arg {
        ColumnarValue::Scalar(value) => Datum::of(value).long_bytes(),
        ColumnarValue::Array(array) => bytes_of(array.as_ref()) / rows.max(1),
    };
    let bytes: usize = args.iter().map(of_row).sum();
    (BETWEEN_LOOKS / bytes.max(1)).clamp(1, ROWS_BETWEEN_LOOKS)
}

fn bytes_of(array: &dyn Array) -> usize {
    let between = |offsets: &[i32]| match offsets {
        [first, .., last] => usize::try_from(last - first).unwrap_or(0),
        _ => 0,
    };
    match array.data_type() {
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets()),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets()),
        DataType::Utf8View | DataType::BinaryView | DataType::LargeUtf8 | DataType::LargeBinary => {
            array.get_buffer_memory_size()
        }
        _ => 0,
    }
}

impl Interruptible for EvalContext {
    fn check(&self) -> Result<()> {
        self.check_interrupted()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use arrow::array::{ArrayRef, StringArray};
    use arrow::record_batch::RecordBatch;
    use types::{Collation, SqlType, Value, errno};

    use super::*;
    use crate::bind::{TypeEnv, call};
    use crate::string::block_cipher::BlockEncryption;
    use crate::{Expr, eval_array, eval_predicate, eval_value};

    fn text(text: impl Into<String>) -> Expr {
        let text = text.into();
        let ty = SqlType::varchar(u32::try_from(text.len()).unwrap(), Collation::DEFAULT);
        Expr::literal(Value::String(text), ty)
    }

    fn number(number: i64) -> Expr {
        Expr::literal(Value::Int(number), SqlType::BIGINT)
    }

    fn bound(name: &str, args: Vec<Expr>) -> Expr {
        call(name, args, &TypeEnv::default()).unwrap()
    }

    /// Counts the looks, and is interrupted if it is looked at.
    fn interrupted() -> (EvalContext, Arc<AtomicUsize>) {
        counting(true)
    }

    fn counting(is_interrupted: bool) -> (EvalContext, Arc<AtomicUsize>) {
        let looks = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&looks);
        let ctx = EvalContext {
            interrupted: Arc::new(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                is_interrupted
            }),
            block_encryption: BlockEncryption::from_name("aes-128-cfb1").unwrap(),
            ..EvalContext::default()
        };
        (ctx, looks)
    }

    /// Texts that are too short to be looked at, and take millions of steps.
    fn long_calls() -> Vec<Expr> {
        let many = |part: &str, times: usize| part.repeat(times);
        let needle = || many("a", 20_000) + "b";
        let array = |item: &str| text(format!("[{}{item}]", many(&format!("{item},"), 5_000)));
        let different: Vec<String> = (0..5_000).map(|n| n.to_string()).collect();
        vec![
            bound("locate", vec![text(needle()), text(many("a", 100_000))]),
            bound("locate", vec![text(needle() + "ä"), text(many("ä", 50_000))]),
            bound(
                "replace",
                vec![text(many("a", 100_000)), text(needle()), text("c")],
            ),
            bound(
                "substring_index",
                vec![text(many("a", 100_000)), text(needle()), number(1)],
            ),
            bound(
                "like",
                vec![
                    text(many("ab", 50_000)),
                    text(format!("%{}bb%c%", many("ab", 10_000))),
                ],
            ),
            bound(
                "like",
                vec![
                    text(many("ä", 50_000)),
                    text(format!("%{}b%c%", many("ä", 10_000))),
                ],
            ),
            bound(
                "regexp_replace",
                vec![text(many("A", 20_000)), text(".*[^A-Z]|[A-Z]"), text("x")],
            ),
            bound("json_overlaps", vec![array("1"), array("2")]),
            bound(
                "json_contains",
                vec![text(format!("[{}1]", many("2,", 5_000))), array("1")],
            ),
            bound(
                "json_schema_valid",
                vec![
                    text(r#"{"uniqueItems": true}"#),
                    text(format!("[{}]", different.join(","))),
                ],
            ),
            bound("sha2", vec![text(many("a", 200_000)), number(512)]),
            bound("compress", vec![text(many("a", 200_000))]),
            bound(
                "aes_encrypt",
                vec![text(many("a", 100_000)), text("k"), text(many("i", 16))],
            ),
            bound(
                "aes_encrypt",
                vec![
                    text("a"),
                    text("k"),
                    text(many("i", 16)),
                    text("pbkdf2_hmac"),
                    text("salt"),
                    text("65535"),
                ],
            ),
        ]
    }

    #[test]
    fn a_long_call_ends_when_the_statement_is_interrupted() {
        for expr in long_calls() {
            let (ctx, looks) = interrupted();
            let error = eval_value(&expr, &ctx).unwrap_err();
            assert_eq!(error.code, errno::ER_QUERY_INTERRUPTED, "{error}");
            assert_eq!(looks.load(Ordering::Relaxed), 1);
        }
    }

    fn batch(rows: usize) -> RecordBatch {
        let column: ArrayRef = Arc::new(StringArray::from(vec!["abcdefgh"; rows]));
        RecordBatch::try_from_iter([("c", column)]).unwrap()
    }

    fn column() -> Expr {
        Expr::column(0, SqlType::varchar(8, Collation::DEFAULT), true)
    }

    #[test]
    fn rows_of_long_texts_end_within_their_batch() {
        let repeated = bound("repeat", vec![column(), number(100_000)]);
        let expr = bound("crc32", vec![repeated]);
        let is_five = bound("=", vec![expr.clone(), number(5)]);
        for rows in [1, 1024] {
            let (ctx, looks) = interrupted();
            let error = eval_array(&expr, &batch(rows), &ctx).unwrap_err();
            assert_eq!(error.code, errno::ER_QUERY_INTERRUPTED);
            let error = eval_predicate(&is_five, &batch(rows), &ctx).unwrap_err();
            assert_eq!(error.code, errno::ER_QUERY_INTERRUPTED);
            assert_eq!(looks.load(Ordering::Relaxed), 2);
        }
    }

    #[test]
    fn short_rows_are_looked_at_seldom() {
        let (ctx, looks) = counting(false);
        eval_array(&bound("soundex", vec![column()]), &batch(1024), &ctx).unwrap();
        let of_batch = looks.load(Ordering::Relaxed);
        assert!((1..=32).contains(&of_batch), "{of_batch}");
        for _ in 0..10_000 {
            crate::eval_row(&bound("soundex", vec![column()]), &[Value::from("a")], &ctx).unwrap();
        }
        assert_eq!(looks.load(Ordering::Relaxed), of_batch);
    }

    #[test]
    fn what_belongs_to_no_statement_ends_with_that_of_the_thread() {
        let expr = || bound("sha2", vec![text("a".repeat(200_000)), number(512)]);
        let context = EvalContext::default();
        {
            let _works = crate::work_for(&(Arc::new(|| true) as crate::Interrupted));
            let error = eval_value(&expr(), &context).unwrap_err();
            assert_eq!(error.code, errno::ER_QUERY_INTERRUPTED);
        }
        assert!(eval_value(&expr(), &context).is_ok());
    }
}
