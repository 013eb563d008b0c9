//! A reader that ends with an error instead of reading without end.

use std::io::{self, Read};

/// Passes bytes through up to a limit.
pub struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Bounded<R> {
    pub fn new(inner: R, limit: u64) -> Self {
        Self { inner, left: limit }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            // One byte more is the difference between a list that ends here and one that was cut.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other("the price list is longer than its limit")),
            };
        }
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.inner.read(&mut buffer[..room])?;
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}
