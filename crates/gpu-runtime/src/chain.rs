//! An error printed together with everything that caused it, on one line.

use std::error::Error;
use std::fmt;

/// Prints an error and its sources, outermost first: `failed to start: failed to bind: address in use`.
///
/// An `anyhow::Error` is printed by `Chain(error.as_ref())`.
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        // Sources form a list, but nothing in the type system forbids a ring: an endless line helps nobody.
        for _ in 0..MAX_DEPTH {
            let Some(error) = source else { return Ok(()) };
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

/// Real chains have three to six links.
const MAX_DEPTH: usize = 32;

#[cfg(test)]
mod tests;
