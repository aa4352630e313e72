//! COM_QUERY: one or more statements as text. Attributes come before it if both sides support them.

use types::Result;

use super::parameter::{self, Attribute, ParameterContext};
use crate::capabilities::capability;
use crate::reader::{Reader, malformed};

/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_com_query.html>
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Query<'a> {
    /// In the client's character set.
    pub text: &'a [u8],
    /// How many attributes [`attributes`](Self::attributes) has.
    pub attribute_count: usize,
    block: &'a [u8],
}

impl<'a> Query<'a> {
    pub(super) fn decode(reader: &mut Reader<'a>, capabilities: u32) -> Result<Self> {
        if capabilities & capability::QUERY_ATTRIBUTES == 0 {
            return Ok(Self {
                text: reader.rest(),
                attribute_count: 0,
                block: &[],
            });
        }
        let count = usize::try_from(reader.lenenc_int()?).map_err(|_| malformed())?;
        let sets = reader.lenenc_int()?;
        if sets != 1 {
            return Err(malformed());
        }
        if count == 0 {
            return Ok(Self {
                text: reader.rest(),
                attribute_count: 0,
                block: &[],
            });
        }
        let before = *reader;
        parameter::skip_named(reader, count)?;
        let mut block = before;
        let block = block.bytes(before.remaining() - reader.remaining())?;
        Ok(Self {
            text: reader.rest(),
            attribute_count: count,
            block,
        })
    }

    /// The attributes, for `mysql_query_attribute_string()`. They are read only on request, which is rare.
    pub fn attributes(&self, context: &ParameterContext) -> Result<Vec<Attribute>> {
        if self.attribute_count == 0 {
            return Ok(Vec::new());
        }
        parameter::read_named(&mut Reader::new(self.block), self.attribute_count, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;

    #[test]
    fn attributes_and_text() {
        // Two attributes: `a` = 'x' and `n` = NULL.
        let payload = b"\x02\x01\x02\x01\xfd\x00\x01a\x06\x00\x01n\x01xSELECT 1";
        let query = Query::decode(&mut Reader::new(payload), capability::QUERY_ATTRIBUTES).unwrap();
        assert_eq!(query.text, b"SELECT 1");
        let attributes = query.attributes(&ParameterContext::default()).unwrap();
        assert_eq!(attributes.len(), 2);
        assert_eq!(
            (attributes[0].name.as_str(), &attributes[0].value),
            ("a", &Value::String("x".into()))
        );
        assert_eq!(
            (attributes[1].name.as_str(), &attributes[1].value),
            ("n", &Value::Null)
        );
    }

    #[test]
    fn no_attributes() {
        let payload = b"\x00\x01SELECT 1";
        let query = Query::decode(&mut Reader::new(payload), capability::QUERY_ATTRIBUTES).unwrap();
        assert_eq!((query.text, query.attribute_count), (&b"SELECT 1"[..], 0));
        assert!(query.attributes(&ParameterContext::default()).unwrap().is_empty());
    }

    #[test]
    fn a_count_that_lies_is_malformed() {
        let payload = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x00\x01SELECT 1";
        assert!(Query::decode(&mut Reader::new(payload), capability::QUERY_ATTRIBUTES).is_err());
    }
}
