//! The blocks of a partition's rows: parts of it, in order, of which calls know what follows them.

/// Where blocks end, as places in the partition.
#[derive(Default)]
pub(super) struct Blocks {
    ends: Vec<usize>,
    /// The rows of the block that has not ended.
    current: usize,
}

impl Blocks {
    /// How many rows the current block has room for, if blocks have `most` rows.
    pub fn room(&self, most: usize) -> usize {
        most.saturating_sub(self.current).max(1)
    }

    /// Adds rows to the current block, and says whether it ends with them.
    pub fn add(&mut self, rows: usize, most: usize) -> bool {
        self.current += rows;
        let ends = self.current >= most;
        if ends {
            self.finish();
        }
        ends
    }

    /// The current block ends.
    pub fn finish(&mut self) {
        let before = self.ends.last().copied().unwrap_or(0);
        self.ends.push(before + std::mem::take(&mut self.current));
    }

    /// The number of a row's block, and where that ends.
    pub fn of(&self, row: usize) -> (usize, usize) {
        let block = self.ends.partition_point(|end| *end <= row);
        (block, self.ends.get(block).copied().unwrap_or(row))
    }

    pub fn size_bytes(&self) -> usize {
        self.ends.capacity() * size_of::<usize>()
    }
}
