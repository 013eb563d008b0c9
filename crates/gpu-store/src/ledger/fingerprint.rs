//! Short names of what rows are charged to, for remembering the numbers of sets without keeping the sets.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use gpu_cost::LedgerRow;

/// Makes names of 128 bits under two secrets of this process: nobody outside can steer two sets into the same name, and chance needs
/// more sets than there can be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fingerprints {
    one: RandomState,
    other: RandomState,
}

impl Fingerprints {
    pub(crate) fn of(&self, row: &LedgerRow) -> u128 {
        let half = |state: &RandomState| {
            let mut hasher = state.build_hasher();
            row.cluster.hash(&mut hasher);
            row.subject.hash(&mut hasher);
            row.slot.hash(&mut hasher);
            row.holder.hash(&mut hasher);
            u128::from(hasher.finish())
        };
        half(&self.one) << 64 | half(&self.other)
    }
}
