//! Character set and collation of the client's texts and of its results: at the handshake, and by SET NAMES.

use types::{Charset, Collation, Error, Result, errno};

use crate::session::Session;
use crate::variables::charset::{CLIENT, charset_named, unknown_collation};
use crate::variables::convert::wrong_value;
use crate::variables::lookup;

/// The collations of MySQL that StemDB has not: two of Czech, which look at a text four times.
const REFUSED: [(u16, &str); 2] = [(2, "latin2_czech_cs"), (34, "cp1250_czech_cs")];

impl Session {
    /// SET NAMES.
    pub(crate) fn set_names(&mut self, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
        let deprecated = charset.and_then(planner::deprecated_charset);
        let charset = self.charset_or_default(charset)?;
        self.diagnostics.add_all(deprecated);
        let collation = match collation {
            None => charset.default_collation(),
            Some(name) => {
                let collation = planner::collation_named(name)?;
                let deprecated = planner::deprecated_collation(collation);
                self.diagnostics.add_all(deprecated);
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
        self.put_names(collation);
        Ok(())
    }

    pub(crate) fn charset_or_default(&self, name: Option<&str>) -> Result<Charset> {
        let Some(name) = name else {
            return Ok(self.shared_default_collation().charset());
        };
        charset_named(CLIENT, name)
    }

    fn shared_default_collation(&self) -> Collation {
        let text = lookup("collation_connection").and_then(|d| self.shared.variables.get(d));
        text.and_then(|t| Collation::from_name(&t))
            .unwrap_or(Collation::DEFAULT)
    }

    /// The collation that the handshake asked for, by number. A number that means nothing to MySQL is the
    /// server's default there, and here.
    ///
    /// # Errors
    /// 1273 for a collation that MySQL has and StemDB has not, 1231 for one of a character set that no client
    /// may speak.
    pub(crate) fn set_connection_collation(&mut self, id: u16) -> Result<()> {
        let collation = match Collation::from_id(id) {
            Some(collation) if collation.charset().is_for_clients() => collation,
            Some(collation) => return Err(wrong_value(CLIENT, collation.charset().name())),
            None => match REFUSED.iter().find(|(refused, _)| *refused == id) {
                Some((_, name)) => return Err(unknown_collation(name)),
                None => self.shared_default_collation(),
            },
        };
        self.put_names(collation);
        self.tracker.clear_changes();
        Ok(())
    }

    fn put_names(&mut self, collation: Collation) {
        let charset = collation.charset().name();
        self.put_tracked("character_set_client", charset);
        self.put_tracked("character_set_connection", charset);
        self.put_tracked("character_set_results", charset);
        self.put_tracked("collation_connection", collation.name());
        self.settings_changed();
    }

    pub(crate) fn put_tracked(&mut self, name: &str, text: &str) {
        self.variables.put(name, text);
        self.track(name);
    }

    /// The next OK reports the variable, if the client asked for it.
    pub(crate) fn track(&mut self, name: &str) {
        let listed = &self.settings.track_variables;
        if listed == "*" || listed.split(',').any(|n| n.trim().eq_ignore_ascii_case(name)) {
            let value = lookup(name)
                .and_then(|d| self.variables.text(d))
                .unwrap_or_else(|| "".into());
            self.tracker.system_variable(name, &value);
        }
        if name != "session_track_state_change" {
            self.state_changed();
        }
    }
}
