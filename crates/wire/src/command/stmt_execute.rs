//! COM_STMT_EXECUTE: a prepared statement's parameters.

use types::{Error, Result, SqlType, Value, errno};

use super::parameter::{self, Attribute, BoundType, ParameterContext};
use crate::capabilities::capability;
use crate::reader::{Reader, malformed};

/// The part that can be read without knowing the statement; [`StmtExecute::parameters`] reads the rest.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_com_stmt_execute.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtExecute<'a> {
    pub statement_id: u32,
    flags: u8,
    body: &'a [u8],
}

/// The data sent for each parameter by COM_STMT_SEND_LONG_DATA since the last execution, by position.
pub type LongData = Vec<Option<Vec<u8>>>;

/// The parameters of one execution.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Execution {
    pub values: Vec<Value>,
    /// The type of each value, as the client declared it, also for NULL.
    pub types: Vec<SqlType>,
    /// Query attributes.
    pub attributes: Vec<Attribute>,
}

impl<'a> StmtExecute<'a> {
    const CURSOR_READ_ONLY: u8 = 1;
    const CURSOR_FOR_UPDATE: u8 = 2;
    const CURSOR_SCROLLABLE: u8 = 4;
    const PARAMETER_COUNT_AVAILABLE: u8 = 8;

    pub(super) fn decode(reader: &mut Reader<'a>) -> Result<Self> {
        let statement_id = reader.u32()?;
        let flags = reader.u8()?;
        let _iterations = reader.u32()?;
        Ok(Self {
            statement_id,
            flags,
            body: reader.rest(),
        })
    }

    /// Whether the client wants to fetch the rows itself, by COM_STMT_FETCH.
    ///
    /// Fails with 1235 for updatable and scrollable cursors, which MySQL does not have either.
    pub fn wants_cursor(&self) -> Result<bool> {
        if self.flags & (Self::CURSOR_FOR_UPDATE | Self::CURSOR_SCROLLABLE) != 0 {
            return Err(Error::not_supported(
                "updatable or scrollable cursors",
                "use a read-only cursor",
            ));
        }
        Ok(self.flags & Self::CURSOR_READ_ONLY != 0)
    }

    /// Reads the parameters of a statement that has `count` of them.
    ///
    /// `bound` holds their types between executions, since a client sends them once. `long_data` holds the
    /// data sent before the execution, and is left empty. Fails with 1210 if types are missing, 1835 if the
    /// payload is too short, and 1292 or 1366 for invalid values.
    pub fn parameters(
        &self,
        count: usize,
        bound: &mut Vec<BoundType>,
        long_data: &mut LongData,
        context: &ParameterContext,
    ) -> Result<Execution> {
        let long_data = std::mem::take(long_data);
        let mut reader = Reader::new(self.body);
        let with_attributes = context.capabilities & capability::QUERY_ATTRIBUTES != 0;
        let mut sent = count;
        // The flag matters only where the statement has no parameters itself: mysql-connector-python never
        // sets it.
        if with_attributes && (count > 0 || self.flags & Self::PARAMETER_COUNT_AVAILABLE != 0) {
            sent = usize::try_from(reader.lenenc_int()?).map_err(|_| malformed())?;
        }
        if sent < count {
            return Err(wrong_arguments());
        }
        if sent == 0 {
            return Ok(Execution::default());
        }

        let nulls = reader.bytes(sent.div_ceil(8))?;
        // With attributes each type is followed by a name, empty for parameters.
        let mut names = Vec::new();
        let mut attribute_types = Vec::new();
        match reader.u8()? {
            1 => {
                bound.clear();
                for position in 0..sent {
                    let ty = BoundType::decode(&mut reader)?;
                    let name = if with_attributes {
                        reader.lenenc_bytes()?
                    } else {
                        &[]
                    };
                    if position < count {
                        bound.push(ty);
                    } else {
                        attribute_types.push(ty);
                        names.push(name);
                    }
                }
            }
            _ if bound.len() != count || sent > count => return Err(wrong_arguments()),
            _ => {}
        }

        let mut execution = Execution {
            values: Vec::with_capacity(count),
            types: Vec::with_capacity(count),
            attributes: Vec::with_capacity(names.len()),
        };
        let is_null = |position: usize| {
            nulls
                .get(position / 8)
                .is_some_and(|byte| byte >> (position % 8) & 1 == 1)
        };
        for (position, ty) in bound.iter().enumerate() {
            let (value, ty) = match long_data.get(position) {
                Some(Some(data)) => parameter::long_data(*ty, data, context),
                _ if is_null(position) => (Value::Null, ty.sql_type(context)),
                _ => parameter::read(&mut reader, *ty, context)?,
            };
            execution.values.push(value);
            execution.types.push(ty);
        }
        for (position, (name, ty)) in names.into_iter().zip(attribute_types).enumerate() {
            let value = if is_null(count + position) {
                Value::Null
            } else {
                parameter::read(&mut reader, ty, context)?.0
            };
            execution.attributes.push(Attribute {
                name: String::from_utf8_lossy(name).into_owned(),
                value,
            });
        }
        Ok(execution)
    }
}

fn wrong_arguments() -> Error {
    Error::new(
        errno::ER_WRONG_ARGUMENTS,
        "Incorrect arguments to mysqld_stmt_execute",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use types::TypeKind;

    fn execute(body: &[u8]) -> StmtExecute<'_> {
        StmtExecute {
            statement_id: 1,
            flags: 0,
            body,
        }
    }

    /// The manual's example: `SELECT CONCAT(?, ?)` with one parameter `foo`.
    #[test]
    fn the_manuals_example() {
        let payload = b"\x01\0\0\0\0\x01\0\0\0\0\x01\x0f\0\x03foo";
        let decoded = StmtExecute::decode(&mut Reader::new(payload)).unwrap();
        assert!(!decoded.wants_cursor().unwrap());
        let mut bound = Vec::new();
        let execution = decoded
            .parameters(1, &mut bound, &mut LongData::new(), &ParameterContext::default())
            .unwrap();
        assert_eq!(execution.values, [Value::String("foo".into())]);
        assert_eq!(execution.types[0].kind, TypeKind::VarChar);
    }

    #[test]
    fn types_are_remembered() {
        let context = ParameterContext::default();
        let mut bound = Vec::new();
        let none = &mut LongData::new();
        assert_eq!(
            execute(b"\0\0\x01")
                .parameters(1, &mut bound, none, &context)
                .unwrap_err()
                .code,
            1210
        );
        let first = execute(b"\0\x01\x01\x80\xff")
            .parameters(1, &mut bound, none, &context)
            .unwrap();
        assert_eq!(
            (&first.values[..], first.types[0]),
            (&[Value::UInt(255)][..], SqlType::BIGINT_UNSIGNED)
        );
        let second = execute(b"\0\0\x07")
            .parameters(1, &mut bound, none, &context)
            .unwrap();
        assert_eq!(second.values, [Value::UInt(7)]);
        let null = execute(b"\x01\0")
            .parameters(1, &mut bound, none, &context)
            .unwrap();
        assert_eq!(
            (&null.values[..], null.types[0]),
            (&[Value::Null][..], SqlType::BIGINT_UNSIGNED)
        );
    }

    #[test]
    fn long_data_replaces_a_value() {
        let context = ParameterContext::default();
        let mut long = vec![None, Some(b"abc".to_vec())];
        // A SMALLINT and a BLOB: only the first has bytes in the payload.
        let execution = execute(b"\0\x01\x02\0\xfc\0\xff\xff")
            .parameters(2, &mut Vec::new(), &mut long, &context)
            .unwrap();
        assert_eq!(execution.values, [Value::Int(-1), Value::Bytes(b"abc".to_vec())]);
        assert!(long.is_empty());
    }

    #[test]
    fn attributes_follow_parameters() {
        let context = ParameterContext {
            capabilities: capability::QUERY_ATTRIBUTES,
            ..Default::default()
        };
        let body = b"\x02\0\x01\x01\0\0\xfd\0\x05trace\x07\x03abc";
        let decoded = StmtExecute {
            statement_id: 1,
            flags: 8,
            body,
        };
        let execution = decoded
            .parameters(1, &mut Vec::new(), &mut LongData::new(), &context)
            .unwrap();
        assert_eq!(execution.values, [Value::Int(7)]);
        assert_eq!(execution.attributes[0].name, "trace");
        assert_eq!(execution.attributes[0].value, Value::String("abc".into()));
    }

    /// As mysql-connector-python sends it: the capability is on, the count is there, the flag is not.
    #[test]
    fn parameters_are_counted_without_the_flag() {
        let context = ParameterContext {
            capabilities: capability::QUERY_ATTRIBUTES,
            ..Default::default()
        };
        let execution = execute(b"\x01\0\x01\x01\x80\0\x01")
            .parameters(1, &mut Vec::new(), &mut LongData::new(), &context)
            .unwrap();
        assert_eq!(execution.values, [Value::UInt(1)]);
    }

    #[test]
    fn cursors() {
        let with_flags = |flags| StmtExecute {
            statement_id: 1,
            flags,
            body: &[],
        };
        assert!(with_flags(1).wants_cursor().unwrap());
        assert_eq!(with_flags(4).wants_cursor().unwrap_err().code, 1235);
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>, flags: u8, count in 0usize..20, attributes: bool) {
            let context = ParameterContext {
                capabilities: if attributes { capability::QUERY_ATTRIBUTES } else { 0 },
                ..Default::default()
            };
            let decoded = StmtExecute { statement_id: 1, flags, body: &bytes };
            let _ = decoded.parameters(count, &mut Vec::new(), &mut LongData::new(), &context);
        }
    }
}
