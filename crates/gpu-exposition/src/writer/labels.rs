//! Label sets of the writer: rendered once and kept, or given pair by pair.

use super::{WriteError, check_label_name};
use crate::escape;

/// A label set that is checked and escaped once, then copied into every page. The bytes suit both formats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelBlock {
    /// `a="1",b="2"`, without the braces, so that labels can follow.
    rendered: String,
    names: Vec<Box<str>>,
    /// Unescaped characters of names and values, for the limit on exemplars.
    chars: usize,
}

impl LabelBlock {
    /// Renders `labels` in the order given.
    pub fn new<N, V>(labels: impl IntoIterator<Item = (N, V)>) -> Result<Self, WriteError>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let mut block = Self::default();
        for (name, value) in labels {
            block.push(name.as_ref(), value.as_ref())?;
        }
        Ok(block)
    }

    /// Adds a label at the end.
    pub fn push(&mut self, name: &str, value: &str) -> Result<(), WriteError> {
        check_label_name(name)?;
        if self.has(name) {
            return Err(WriteError::DuplicateLabel {
                name: name.to_owned(),
            });
        }
        push_pair(&mut self.rendered, !self.names.is_empty(), name, value);
        self.names.push(name.into());
        self.chars += name.len() + value.chars().count();
        Ok(())
    }

    /// This block followed by labels that differ from sample to sample.
    pub fn with<'a>(&'a self, extra: &'a [(&'a str, &'a str)]) -> Labels<'a> {
        Labels {
            block: Some(self),
            extra,
        }
    }

    /// The labels as they stand on a page, without the braces, for lines that somebody else has rendered in part.
    pub fn rendered(&self) -> &str {
        &self.rendered
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| **known == *name)
    }
}

/// The labels of one sample: none, a [`LabelBlock`], pairs, or a block followed by pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Labels<'a> {
    block: Option<&'a LabelBlock>,
    extra: &'a [(&'a str, &'a str)],
}

impl<'a> Labels<'a> {
    pub const NONE: Self = Self {
        block: None,
        extra: &[],
    };

    pub(super) fn is_empty(self) -> bool {
        self.extra.is_empty() && self.block.is_none_or(|block| block.names.is_empty())
    }

    /// Checks names and looks for repeats, against `bound` (`le` or `quantile`) too. The comparison of each pair with
    /// those before it is quadratic in the labels of one sample, which our own code chooses and keeps few.
    pub(super) fn check(self, bound: Option<&str>) -> Result<(), WriteError> {
        for (at, (name, _)) in self.extra.iter().enumerate() {
            check_label_name(name)?;
            let repeated = self.extra[..at].iter().any(|(earlier, _)| earlier == name)
                || self.block.is_some_and(|block| block.has(name))
                || bound == Some(name);
            if repeated {
                return Err(WriteError::DuplicateLabel {
                    name: (*name).to_owned(),
                });
            }
        }
        match (bound, self.block) {
            (Some(name), Some(block)) if block.has(name) => Err(WriteError::DuplicateLabel {
                name: name.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn chars(self) -> usize {
        let extra: usize = self
            .extra
            .iter()
            .map(|(name, value)| name.len() + value.chars().count())
            .sum();
        extra + self.block.map_or(0, |block| block.chars)
    }

    pub(super) fn push_to(self, page: &mut String) {
        let mut follows = false;
        if let Some(block) = self.block {
            page.push_str(&block.rendered);
            follows = !block.names.is_empty();
        }
        for (name, value) in self.extra {
            push_pair(page, follows, name, value);
            follows = true;
        }
    }
}

impl From<()> for Labels<'_> {
    fn from((): ()) -> Self {
        Self::NONE
    }
}

impl<'a> From<&'a LabelBlock> for Labels<'a> {
    fn from(block: &'a LabelBlock) -> Self {
        block.with(&[])
    }
}

impl<'a> From<&'a [(&'a str, &'a str)]> for Labels<'a> {
    fn from(extra: &'a [(&'a str, &'a str)]) -> Self {
        Self { block: None, extra }
    }
}

impl<'a, const N: usize> From<&'a [(&'a str, &'a str); N]> for Labels<'a> {
    fn from(extra: &'a [(&'a str, &'a str); N]) -> Self {
        Self { block: None, extra }
    }
}

fn push_pair(page: &mut String, follows: bool, name: &str, value: &str) {
    if follows {
        page.push(',');
    }
    page.push_str(name);
    page.push_str("=\"");
    escape::push_label_value(page, value);
    page.push('"');
}
