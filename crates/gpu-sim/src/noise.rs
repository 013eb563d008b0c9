//! Draws that depend on what they are about and not on what was drawn before.

/// The draws of one thing: a GPU, a workload, a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dice(u64);

/// What a draw decides. Two draws of one thing at one time differ by this alone.
pub(crate) type Question = u64;

impl Dice {
    pub(crate) fn of_world(seed: u64) -> Self {
        Self(scramble(seed ^ 0x6770_752d_7369_6d21))
    }

    /// The draws of one member of a kind of things.
    pub(crate) fn of(self, kind: Question, member: u64) -> Self {
        Self(scramble(
            self.0 ^ scramble(kind.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ scramble(member)),
        ))
    }

    pub(crate) fn bits(self, question: Question, when: i64) -> u64 {
        let when = when.cast_unsigned();
        scramble(self.0 ^ question.wrapping_mul(0xD1B5_4A32_D192_ED03) ^ scramble(when))
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(self, question: Question, when: i64, low: i64, high: i64) -> i64 {
        let span = u128::from(high.abs_diff(low)) + 1;
        // The high half of the product is uniform over the span; it is below 2^64 because the bits are.
        let offset = (u128::from(self.bits(question, when)) * span) >> 64;
        low + i64::try_from(offset).expect("an offset within the span fits")
    }

    /// True in so many of a thousand cases.
    pub(crate) fn chance(self, question: Question, when: i64, permille: i64) -> bool {
        self.between(question, when, 0, 999) < permille
    }

    /// A value that wanders between `low` and `high`: drawn once per `period` and drawn straight in between.
    pub(crate) fn wander(self, question: Question, when: i64, period: i64, low: i64, high: i64) -> i64 {
        let step = when.div_euclid(period);
        let into = when.rem_euclid(period);
        let from = self.between(question, step, low, high);
        let to = self.between(question, step + 1, low, high);
        from + (to - from) * into / period
    }
}

/// The finaliser of splitmix64: every bit of the input reaches every bit of the output.
fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
