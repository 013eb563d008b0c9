//! Prices that people of the cluster write: overrides, discounts, commitments, own machines and how a node's price is divided.
//! The text is YAML, in a file or in a ConfigMap.

mod field;
mod read;
mod shape;
pub(crate) mod watch;

use gpu_cost::PriceBook;
use gpu_cost::prices::{Commitment, Discount, NodeSplit, Override, SheetRow};

pub use read::{DocumentError, parse};
pub use watch::DocumentSource;

/// What a text says, in the terms of the price book.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Prices that hold whatever the clouds say.
    pub overrides: Vec<Override>,
    /// What was negotiated.
    pub discounts: Vec<Discount>,
    /// What is paid whether it is used or not.
    pub commitments: Vec<Commitment>,
    /// Own machines.
    pub sheet: Vec<SheetRow>,
    /// How a node's price is divided between GPUs and the rest.
    pub split: Option<NodeSplit>,
}

impl Document {
    /// How many rules it has.
    pub fn len(&self) -> usize {
        self.overrides.len() + self.discounts.len() + self.commitments.len() + self.sheet.len()
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.split.is_none()
    }

    /// Enters every rule into a book.
    pub fn enter(&self, book: &mut PriceBook) {
        for rule in &self.overrides {
            book.add_override(rule.clone());
        }
        for discount in &self.discounts {
            book.add_discount(discount.clone());
        }
        for commitment in &self.commitments {
            book.add_commitment(commitment.clone());
        }
        for row in &self.sheet {
            book.add_sheet_row(row.clone());
        }
    }
}

#[cfg(test)]
mod tests;
