//! What must hold of every bill.

mod keys;
