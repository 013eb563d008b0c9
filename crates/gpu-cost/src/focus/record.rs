//! One line of a file: a value, or null, for every column.

use super::Column;

/// A charge in the terms of the format. Null is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    values: Vec<Option<String>>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            values: vec![None; Column::ALL.len()],
        }
    }
}

impl Record {
    pub fn get(&self, column: Column) -> Option<&str> {
        self.values[column as usize].as_deref()
    }

    pub fn set(&mut self, column: Column, value: impl Into<Option<String>>) {
        self.values[column as usize] = value.into();
    }

    pub(super) fn put(&mut self, column: Column, value: &str) {
        self.set(column, value.to_owned());
    }
}
