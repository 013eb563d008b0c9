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
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    slots: [Reading<f64>; Field::COUNT],
}

impl Default for Values {
    fn default() -> Self {
        Self {
            slots: [Reading::Unsupported; Field::COUNT],
        }
    }
}

impl Values {
    pub fn get(&self, field: Field) -> Reading<f64> {
        self.slots[field.slot()]
    }

    pub fn known(&self, field: Field) -> Option<f64> {
        self.get(field).known()
    }

    /// Takes a reading over, unless its number cannot be true.
    pub fn set(&mut self, field: Field, reading: Reading<f64>) -> Accepted {
        let spec = field.spec();
        let fits = |value: f64| value.is_finite() && (spec.lowest..=spec.highest).contains(&value);
        let (reading, accepted) = match reading {
            Reading::Known(value) if !fits(value) => (Reading::Failed, Accepted::OutOfRange),
            other => (other, Accepted::Yes),
        };
        self.slots[field.slot()] = reading;
        accepted
    }

    /// Takes from `other` what is unsupported here.
    pub fn fill_from(&mut self, other: &Self) {
        for (own, other) in self.slots.iter_mut().zip(&other.slots) {
            if *own == Reading::Unsupported {
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
