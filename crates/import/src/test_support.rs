//! For tests.

use std::io::{self, Read};

/// A reader that returns at most this number of bytes at a time.
pub struct Slowly<'a>(pub &'a [u8], pub usize);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}
