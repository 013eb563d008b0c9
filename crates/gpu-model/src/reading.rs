//! A value that was asked of a device. A missing number is not zero.

use serde::{Serialize, Serializer};

/// What came back when a device was asked for a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reading<T> {
    /// The device answered.
    Known(T),
    /// This device, or this mode of it, never has the value. Asking again is pointless.
    #[default]
    Unsupported,
    /// The device has the value and did not give it this time.
    Failed,
}

impl<T> Reading<T> {
    pub fn known(self) -> Option<T> {
        match self {
            Reading::Known(value) => Some(value),
            Reading::Unsupported | Reading::Failed => None,
        }
    }

    pub fn as_ref(&self) -> Reading<&T> {
        match self {
            Reading::Known(value) => Reading::Known(value),
            Reading::Unsupported => Reading::Unsupported,
            Reading::Failed => Reading::Failed,
        }
    }

    pub fn is_known(&self) -> bool {
        matches!(self, Reading::Known(_))
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Reading::Known(value) => Reading::Known(change(value)),
            Reading::Unsupported => Reading::Unsupported,
            Reading::Failed => Reading::Failed,
        }
    }

    pub fn and_then<U>(self, next: impl FnOnce(T) -> Reading<U>) -> Reading<U> {
        match self {
            Reading::Known(value) => next(value),
            Reading::Unsupported => Reading::Unsupported,
            Reading::Failed => Reading::Failed,
        }
    }

    /// Both values, or why not: a pair that can never be whole is unsupported, whatever happened to the other half.
    pub fn zip<U>(self, other: Reading<U>) -> Reading<(T, U)> {
        match (self, other) {
            (Reading::Known(a), Reading::Known(b)) => Reading::Known((a, b)),
            (Reading::Unsupported, _) | (_, Reading::Unsupported) => Reading::Unsupported,
            (Reading::Failed, _) | (_, Reading::Failed) => Reading::Failed,
        }
    }
}

/// Only a known value has a text; the two absences are both `null`, and a source's own error list says why.
impl<T: Serialize> Serialize for Reading<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().known().serialize(serializer)
    }
}
