//! Quantities with their unit in the type. All are integers, so that the same input gives the same bytes everywhere.

use std::fmt;
use std::iter::Sum;

use serde::{Deserialize, Deserializer, Serialize};

macro_rules! amount {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            pub const ZERO: Self = Self(0);

            /// Adds, and stays at the largest value instead of wrapping.
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// Subtracts, and stays at the smallest value instead of wrapping.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Self::saturating_add)
            }
        }
    };
}

amount!(Bytes, u64);
amount!(
    /// Electric power. A 700 W GPU is 700,000.
    Milliwatts,
    u32
);
amount!(
    /// Energy, as NVML counts it.
    Millijoules,
    u64
);
amount!(Megahertz, u32);
amount!(
    /// Temperature in whole degrees, as the drivers give it.
    Celsius,
    i16
);

const KIB: u64 = 1024;

impl Bytes {
    pub const fn from_mib(mebibytes: u64) -> Self {
        Self(mebibytes * KIB * KIB)
    }

    pub const fn from_gib(gibibytes: u64) -> Self {
        Self(gibibytes * KIB * KIB * KIB)
    }

    /// Whole mebibytes, rounded down, as `nvidia-smi` prints them.
    pub const fn whole_mib(self) -> u64 {
        self.0 / (KIB * KIB)
    }

    /// What share of `total` this is; nothing is a share of nothing.
    pub fn share_of(self, total: Self) -> Option<Permille> {
        if total.0 == 0 {
            return None;
        }
        let share = u128::from(self.0) * 1000 / u128::from(total.0);
        Some(u16::try_from(share).map_or(Permille::ONE, Permille::clamped))
    }
}

impl Milliwatts {
    pub const fn from_watts(watts: u32) -> Self {
        Self(watts * 1000)
    }
}

/// A share between nothing and the whole in thousandths: 0 to 1000, checked where it is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Permille(u16);

/// A share above the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a share of {0} thousandths is more than the whole: give 0 to 1000")]
pub struct OutOfRange(pub u16);

impl Permille {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(1000);

    pub const fn new(thousandths: u16) -> Result<Self, OutOfRange> {
        if thousandths > 1000 {
            Err(OutOfRange(thousandths))
        } else {
            Ok(Self(thousandths))
        }
    }

    /// The nearest share in range, for sums of rounded parts that may overshoot by a thousandth.
    pub const fn clamped(thousandths: u16) -> Self {
        if thousandths > 1000 {
            Self::ONE
        } else {
            Self(thousandths)
        }
    }

    /// Whole percent as the drivers give them.
    pub const fn from_percent(percent: u8) -> Result<Self, OutOfRange> {
        Self::new(percent as u16 * 10)
    }

    pub const fn get(self) -> u16 {
        self.0
    }

    /// For pages and charts only; decisions compare integers.
    pub fn as_ratio(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// This share of an amount, rounded down.
    pub fn of(self, amount: u64) -> u64 {
        let part = u128::from(amount) * u128::from(self.0) / 1000;
        u64::try_from(part).expect("a share of at most the whole fits where the whole fitted")
    }
}

impl<'de> Deserialize<'de> for Permille {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(u16::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Permille {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}%", self.0 / 10, self.0 % 10)
    }
}
