//! What is taken of a page and how its labels are named, the same for every page that is read.

use std::sync::Arc;

use super::NameList;

/// The labels that the join adds. They are kept free on every series, whether this pod gets them or not: a label must not change
/// its name when a pod gets a second GPU.
pub const OWN_LABELS: &[&str] = &[
    "gpu",
    "uuid",
    "partition",
    "node",
    "namespace",
    "pod",
    "container",
];

/// By which pages are read.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub families: NameList,
    /// The operator's labels, which every series gets.
    static_labels: Arc<[String]>,
}

impl Rules {
    pub fn new(families: NameList) -> Self {
        Self {
            families,
            static_labels: Arc::default(),
        }
    }

    pub(super) fn reserving<'a>(&self, names: impl Iterator<Item = &'a str>) -> Self {
        Self {
            families: self.families.clone(),
            static_labels: names.map(str::to_owned).collect(),
        }
    }

    /// Whether the name belongs to a label that is added to every series.
    pub(super) fn is_reserved(&self, label: &str) -> bool {
        OWN_LABELS.contains(&label) || self.has_static(label)
    }

    fn has_static(&self, label: &str) -> bool {
        self.static_labels.iter().any(|own| own == label)
    }

    /// Whether a page that was read by these rules has room for these labels of the operator.
    pub fn keep_free<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> bool {
        names.all(|name| self.has_static(name))
    }
}
