//! The numbers of one device, with the reason where there is none. Writing is the door at which nonsense is refused.

use gpu_model::Reading;

use super::field::Field;

/// What became of a value that a source offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    Yes,
    /// Outside of what physics or the interface allow; the field reads as failed.
    OutOfRange,
}

/// One slot a field. Nothing in it was ever invented: a slot that no source filled is unsupported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    slots: [Slot; Field::COUNT],
}

/// A reading in eight bytes instead of sixteen, because every slice of every device has all slots. What is not finite was
/// refused at the door, so two of the many patterns that are not a number say why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot(u64);

impl Slot {
    const UNSUPPORTED: Self = Self(0x7ff8_0000_0000_0001);
    const FAILED: Self = Self(0x7ff8_0000_0000_0002);

    fn new(reading: Reading<f64>) -> Self {
        match reading {
            // Zero has no sign: two readings of nothing are the same.
            Reading::Known(value) => Self((value + 0.0).to_bits()),
            Reading::Unsupported => Self::UNSUPPORTED,
            Reading::Failed => Self::FAILED,
        }
    }

    fn reading(self) -> Reading<f64> {
        match self {
            Self::UNSUPPORTED => Reading::Unsupported,
            Self::FAILED => Reading::Failed,
            Self(bits) => Reading::Known(f64::from_bits(bits)),
        }
    }
}

impl Default for Values {
    fn default() -> Self {
        Self {
            slots: [Slot::UNSUPPORTED; Field::COUNT],
        }
    }
}

impl Values {
    pub fn get(&self, field: Field) -> Reading<f64> {
        self.slots[field.slot()].reading()
    }

    pub fn known(&self, field: Field) -> Option<f64> {
        self.get(field).known()
    }

    /// Takes a reading over, unless its number cannot be true.
    pub fn set(&mut self, field: Field, reading: Reading<f64>) -> Accepted {
        let (reading, accepted) = match reading {
            Reading::Known(value) if !field.spec().fits(value) => (Reading::Failed, Accepted::OutOfRange),
            other => (other, Accepted::Yes),
        };
        self.slots[field.slot()] = Slot::new(reading);
        accepted
    }

    /// Takes from `other` what is unsupported here.
    pub fn fill_from(&mut self, other: &Self) {
        for (own, other) in self.slots.iter_mut().zip(&other.slots) {
            if *own == Slot::UNSUPPORTED {
                *own = *other;
            }
        }
    }

    /// The fields that have a number, in stored order.
    pub fn iter(&self) -> impl Iterator<Item = (Field, f64)> {
        Field::ALL
            .iter()
            .filter_map(|&field| Some((field, self.known(field)?)))
    }
}
