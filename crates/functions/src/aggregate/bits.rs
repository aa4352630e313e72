//! BIT_AND, BIT_OR and BIT_XOR of many groups.

use super::AggregateFunction;

#[derive(Debug)]
pub(super) struct Bits {
    function: AggregateFunction,
    values: Vec<u64>,
}

impl Bits {
    pub fn new(function: AggregateFunction) -> Self {
        Self {
            function,
            values: Vec::new(),
        }
    }

    pub fn resize(&mut self, groups: usize) {
        let of_none = if self.function == AggregateFunction::BitAnd {
            u64::MAX
        } else {
            0
        };
        self.values.resize(groups, of_none);
    }

    pub fn size_bytes(&self) -> usize {
        self.values.capacity() * 8
    }

    pub fn add(&mut self, group: usize, bits: u64) {
        let Some(value) = self.values.get_mut(group) else {
            return;
        };
        match self.function {
            AggregateFunction::BitAnd => *value &= bits,
            AggregateFunction::BitOr => *value |= bits,
            _ => *value ^= bits,
        }
    }

    pub fn get(&self, group: usize) -> u64 {
        self.values.get(group).copied().unwrap_or(0)
    }
}
