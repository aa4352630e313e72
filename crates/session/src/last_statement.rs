//! Results of the previous statement for the information functions LAST_INSERT_ID(), ROW_COUNT() and
//! FOUND_ROWS() (manual 12.15).

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct LastStatement {
    pub insert_id: u64,
    /// `insert_id`: the next generated id; 0 if it is not forced.
    pub forced_id: u64,
    /// -1 after a result set and after an error.
    pub row_count: i64,
    pub found_rows: u64,
}

impl Default for LastStatement {
    fn default() -> Self {
        Self {
            insert_id: 0,
            forced_id: 0,
            row_count: -1,
            found_rows: 0,
        }
    }
}

impl LastStatement {
    pub fn note_affected(&mut self, rows: u64) {
        self.row_count = i64::try_from(rows).unwrap_or(i64::MAX);
    }

    pub fn note_no_count(&mut self) {
        self.row_count = -1;
    }
}
