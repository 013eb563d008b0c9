//! Which labels are meant: the label selectors of Kubernetes, as a value.

use std::collections::{BTreeMap, BTreeSet};

/// All of its parts must hold; one without parts means every object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Labels with exactly these values.
    pub labels: BTreeMap<String, String>,
    pub requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    pub key: String,
    pub operator: Operator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operator {
    In(BTreeSet<String>),
    /// A label that is not there is not among the values either.
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
}

impl Selector {
    /// Whether an object with these labels is meant.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
            && self
                .requirements
                .iter()
                .all(|requirement| requirement.holds(labels))
    }
}

impl Requirement {
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.contains(value)),
            Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    //! The four operators, on labels that are there and on labels that are not.

    use super::{Operator, Requirement, Selector};

    fn check(operator: Operator, labels: &[(&str, &str)], expected: bool) {
        let selector = Selector {
            requirements: vec![Requirement {
                key: "team".to_owned(),
                operator,
            }],
            ..Selector::default()
        };
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(selector.matches(&labels), expected, "{selector:?}");
    }

    #[test]
    fn operators_hold_as_in_kubernetes() {
        let values = || ["a", "b"].map(str::to_owned).into();
        check(Operator::In(values()), &[("team", "a")], true);
        check(Operator::In(values()), &[("team", "c")], false);
        check(Operator::In(values()), &[], false);
        check(Operator::NotIn(values()), &[("team", "a")], false);
        check(Operator::NotIn(values()), &[], true);
        check(Operator::Exists, &[("team", "c")], true);
        check(Operator::Exists, &[("other", "c")], false);
        check(Operator::DoesNotExist, &[], true);
        check(Operator::DoesNotExist, &[("team", "")], false);
    }

    #[test]
    fn a_selector_without_parts_means_everything() {
        assert!(Selector::default().matches(&[].into()));
    }
}
