//! For tests.

use std::io::{self, Read};

/// Bytes that are read a few at a time: as many as the number says.
pub struct Slowly<'a>(pub &'a [u8], pub usize);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}
