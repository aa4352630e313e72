//! Character set and collation of the client's texts and results, set at the handshake and by SET NAMES.

use std::borrow::Cow;

use types::{Charset, Collation, Error, Result, errno};

use crate::session::Session;
use crate::variables::charset::{CLIENT, charset_named, unknown_collation};
use crate::variables::convert::wrong_value;
use crate::variables::lookup;

/// MySQL's collations that StemDB does not have: two Czech ones, which compare a text in four passes.
const REFUSED: [(u16, &str); 2] = [(2, "latin2_czech_cs"), (34, "cp1250_czech_cs")];

/// SET NAMES.
pub fn set_names(session: &mut Session, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
    let deprecated = charset.and_then(planner::deprecated_charset);
    let charset = charset_or_default(session, charset)?;
    session.diagnostics.add_all(deprecated);
    let collation = match collation {
        None => charset.default_collation(),
        Some(name) => {
            let collation = planner::collation_named(name)?;
            let deprecated = planner::deprecated_collation(collation);
            session.diagnostics.add_all(deprecated);
            collation
        }
    };
    if collation.charset() != charset {
        return Err(Error::new(
            errno::ER_COLLATION_CHARSET_MISMATCH,
            format!(
                "COLLATION '{}' is not valid for CHARACTER SET '{}'",
                collation.name(),
                charset.name()
            ),
        ));
    }
    put_names(session, collation);
    Ok(())
}

pub fn charset_or_default(session: &Session, name: Option<&str>) -> Result<Charset> {
    let Some(name) = name else {
        return Ok(shared_default_collation(session).charset());
    };
    charset_named(CLIENT, name)
}

fn shared_default_collation(session: &Session) -> Collation {
    let text = lookup("collation_connection").and_then(|d| session.shared.variables.get(d));
    text.and_then(|t| Collation::from_name(&t))
        .unwrap_or(Collation::DEFAULT)
}

/// Sets the collation that the handshake names by its number. For an unknown number, the server's default is
/// used, as in MySQL.
///
/// # Errors
/// 1273 for a collation of MySQL that StemDB does not have, 1231 for a character set that clients cannot use.
pub fn set_connection_collation(session: &mut Session, id: u16) -> Result<()> {
    let collation = match Collation::from_id(id) {
        Some(collation) if collation.charset().is_for_clients() => collation,
        Some(collation) => return Err(wrong_value(CLIENT, collation.charset().name())),
        None => match REFUSED.iter().find(|(refused, _)| *refused == id) {
            Some((_, name)) => return Err(unknown_collation(name)),
            None => shared_default_collation(session),
        },
    };
    put_names(session, collation);
    session.tracker.clear_changes();
    Ok(())
}

fn put_names(session: &mut Session, collation: Collation) {
    let charset = collation.charset().name();
    session.put_tracked("character_set_client", charset);
    session.put_tracked("character_set_connection", charset);
    session.put_tracked("character_set_results", charset);
    session.put_tracked("collation_connection", collation.name());
    session.variables.name_collation(collation);
    session.settings_changed();
}

/// A text from the client as UTF-8.
pub fn decode_text(session: &Session, bytes: &[u8]) -> Result<String> {
    let decoded = wire::charset::decode(session.settings.charset_client, bytes);
    decoded.map(|text| text.into_owned()).ok_or_else(|| {
        Error::new(
            errno::ER_INVALID_CHARACTER_STRING,
            session.settings.charset_client.invalid_message(bytes),
        )
    })
}

/// A statement's text as UTF-8. `_binary'...'` literals may contain bytes that are not UTF-8. They are
/// encoded here, and the planner decodes them. Elsewhere in the text the planner refuses them.
pub fn decode_statement<'a>(session: &Session, bytes: &'a [u8]) -> Result<Cow<'a, str>> {
    Ok(syntax::carry_bytes(bytes, session.settings.charset_client))
}
