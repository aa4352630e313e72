//! Prepared statements in the client: the text between the parameters, split once.

use super::value::Param;
use crate::error::Result;

/// A statement split at its `?`.
#[derive(Debug)]
pub(super) struct Template {
    pieces: Vec<Vec<u8>>,
}

impl Template {
    /// `?` inside quotes is not a parameter.
    pub(super) fn new(sql: &str) -> Self {
        let mut pieces = vec![Vec::new()];
        let mut quote = None;
        for byte in sql.bytes() {
            match (quote, byte) {
                (None, b'?') => {
                    pieces.push(Vec::new());
                    continue;
                }
                (None, b'\'' | b'"' | b'`') => quote = Some(byte),
                (Some(open), _) if open == byte => quote = None,
                _ => {}
            }
            if let Some(piece) = pieces.last_mut() {
                piece.push(byte);
            }
        }
        Self { pieces }
    }

    pub(super) fn write(&self, values: &[Param<'_>], out: &mut Vec<u8>) -> Result<()> {
        if values.len() + 1 != self.pieces.len() {
            return Err(super::wrong_count(self.pieces.len() - 1, values.len()));
        }
        for (position, piece) in self.pieces.iter().enumerate() {
            out.extend_from_slice(piece);
            if let Some(value) = values.get(position) {
                value.write_literal(out);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sql: &str, values: &[Param<'_>]) -> String {
        let mut out = Vec::new();
        Template::new(sql).write(values, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn parameters_are_written_as_literals() {
        assert_eq!(
            written(
                "SELECT '?' FROM `a?` WHERE a = ? AND b = ?",
                &[7.into(), "it's \\".into()]
            ),
            "SELECT '?' FROM `a?` WHERE a = 7 AND b = 'it\\'s \\\\'"
        );
        assert_eq!(written("COMMIT", &[]), "COMMIT");
        assert_eq!(
            written("VALUES (?,?)", &[Param::Null, Param::Double(0.5)]),
            "VALUES (NULL,5e-1)"
        );
    }

    #[test]
    fn a_wrong_number_of_parameters_is_an_error() {
        assert!(Template::new("SELECT ?").write(&[], &mut Vec::new()).is_err());
        assert!(
            Template::new("SELECT 1")
                .write(&[1.into()], &mut Vec::new())
                .is_err()
        );
    }
}
