//! COM_CHANGE_USER: the connection phase again, on a connection that exists.

use types::Result;

use super::attributes;
use crate::capabilities::capability;
use crate::reader::{Reader, malformed};

/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_com_change_user.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser {
    pub user: String,
    pub auth: Vec<u8>,
    pub database: Option<String>,
    /// `None` if the client leaves it out: the connection's collation does not change.
    pub collation: Option<u16>,
    pub plugin: Option<String>,
    pub attributes: Vec<(String, String)>,
}

impl ChangeUser {
    /// Reads the payload after the command byte.
    pub fn decode(body: &[u8], capabilities: u32) -> Result<Self> {
        let mut reader = Reader::new(body);
        let user = text(reader.nul_bytes()?)?;
        let auth = if capabilities & capability::SECURE_CONNECTION != 0 {
            let length = usize::from(reader.u8()?);
            reader.bytes(length)?
        } else {
            reader.nul_bytes()?
        };
        let auth = auth.to_vec();
        let database = Some(text(reader.nul_bytes_or_rest())?).filter(|name| !name.is_empty());
        let collation = if reader.is_empty() {
            None
        } else {
            Some(reader.u16()?)
        };
        let plugin = if capabilities & capability::PLUGIN_AUTH != 0 && !reader.is_empty() {
            Some(text(reader.nul_bytes_or_rest())?).filter(|name| !name.is_empty())
        } else {
            None
        };
        let attributes = attributes::decode(capabilities, &mut reader)?;
        Ok(Self {
            user,
            auth,
            database,
            collation,
            plugin,
            attributes,
        })
    }
}

fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CAPABILITIES: u32 =
        capability::SECURE_CONNECTION | capability::PLUGIN_AUTH | capability::CONNECT_ATTRS;

    #[test]
    fn all_fields_and_the_shortest_form() {
        let body = b"bob\0\x02xyshop\0\xff\0mysql_native_password\0\x04\x01a\x01b";
        let decoded = ChangeUser::decode(body, CAPABILITIES).unwrap();
        assert_eq!(decoded.user, "bob");
        assert_eq!(decoded.auth, b"xy");
        assert_eq!(decoded.database.as_deref(), Some("shop"));
        assert_eq!(decoded.collation, Some(255));
        assert_eq!(decoded.plugin.as_deref(), Some("mysql_native_password"));
        assert_eq!(decoded.attributes, [("a".to_owned(), "b".to_owned())]);
        let short = ChangeUser::decode(b"bob\0\0\0", CAPABILITIES).unwrap();
        assert_eq!(
            (short.auth.len(), short.database, short.collation),
            (0, None, None)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>, capabilities: u32) {
            let _ = ChangeUser::decode(&bytes, capabilities);
        }
    }
}
