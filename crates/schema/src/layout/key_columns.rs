//! Selected columns of the parts of a key: of a clustered handle, or of an index.

use functions::TimeZone;
use types::{Result, SqlType, Value};

use super::stored::column;
use super::zone::from_stored;
use crate::model::{IndexPart, Table};

/// The selected parts of a key, and their positions in the result.
#[derive(Debug, Clone)]
pub struct KeyColumns {
    /// The type of each part, up to the last selected one, and its positions in the result.
    parts: Vec<(SqlType, Vec<usize>)>,
}

impl KeyColumns {
    /// `wanted`: pairs of a part's number and a position in the result.
    ///
    /// # Errors
    /// 1105 for a part of a column that the table does not have.
    pub fn new(table: &Table, parts: &[IndexPart], wanted: &[(usize, usize)]) -> Result<Self> {
        let needed = wanted.iter().map(|w| w.0 + 1).max().unwrap_or(0);
        let part = |(number, part): (usize, &IndexPart)| {
            let positions = wanted.iter().filter(|w| w.0 == number).map(|w| w.1);
            Ok((column(table, part.column)?.key_type(), positions.collect()))
        };
        let parts = parts.iter().take(needed).enumerate().map(part);
        Ok(Self {
            parts: parts.collect::<Result<_>>()?,
        })
    }

    /// No part is selected.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Calls `give` with each position and its value.
    pub fn read(
        &self,
        mut key: &[u8],
        zone: TimeZone,
        mut give: impl FnMut(usize, Value) -> Result<()>,
    ) -> Result<()> {
        for (ty, positions) in &self.parts {
            let Some((last, others)) = positions.split_last() else {
                codec::datum::split(&mut key)?;
                continue;
            };
            let value = from_stored(codec::datum::decode(&mut key, ty)?, ty, zone);
            for &position in others {
                give(position, value.clone())?;
            }
            give(*last, value)?;
        }
        Ok(())
    }
}
