//! One series of an answer, borrowed from its bytes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A series with its samples in the order of time.
#[derive(Debug, Deserialize)]
pub(super) struct Series<'a> {
    #[serde(borrow)]
    pub(super) metric: Labels<'a>,
    #[serde(borrow, default)]
    pub(super) values: Vec<Sample<'a>>,
}

/// Names and values of labels, in the order of the answer.
#[derive(Debug)]
pub(super) struct Labels<'a>(pub(super) Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Labels<'_> {
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Seconds since 1970, and a number as text.
#[derive(Debug)]
pub(super) struct Sample<'a> {
    seconds: f64,
    text: Cow<'a, str>,
}

impl Sample<'_> {
    pub(super) fn millis(&self) -> i64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the cast saturates, and a time that is not true is found out later"
        )]
        let millis = (self.seconds * 1000.0).round() as i64;
        millis
    }

    /// The value; what is no number is not one.
    pub(super) fn value(&self) -> f64 {
        self.text.parse().unwrap_or(f64::NAN)
    }
}

/// A text that is copied only where it has escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Borrowing).map(Text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Labels<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::with_capacity(24);
                while let Some((Text(name), Text(value))) = map.next_entry()? {
                    pairs.push((name, value));
                }
                Ok(Labels(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Sample<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair;
        impl<'de> Visitor<'de> for Pair {
            type Value = Sample<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time and a value")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let missing = || serde::de::Error::invalid_length(0, &"a time and a value");
                let seconds = seq.next_element()?.ok_or_else(missing)?;
                let Text(text) = seq.next_element()?.ok_or_else(missing)?;
                Ok(Sample { seconds, text })
            }
        }
        deserializer.deserialize_seq(Pair)
    }
}
