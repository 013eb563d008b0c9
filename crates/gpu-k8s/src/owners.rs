//! From a pod to the object at the top of its chain of owners, the one that a person would name.

use gpu_model::OwnerRef;

/// A reference to an owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerLink {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    /// Empty where it is not known, as in a label.
    pub uid: String,
}

impl OwnerLink {
    /// The group without the version; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

impl From<&OwnerLink> for OwnerRef {
    fn from(link: &OwnerLink) -> Self {
        Self {
            kind: link.kind.clone(),
            name: link.name.clone(),
        }
    }
}

/// What is known of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// Nobody owns it.
    Top,
    OwnedBy(OwnerLink),
    /// It was not seen: gone, forbidden, or not asked for yet.
    NotSeen,
}

/// Knative, the deepest we know, has five; more than this is a mistake or malice.
pub const MOST_OWNERS: usize = 8;

/// Climbs from the direct owner up. What is not seen ends the chain, and so does an owner that came before.
pub fn climb(first: Option<&OwnerLink>, look: impl Fn(&OwnerLink) -> Known) -> Vec<OwnerLink> {
    let mut chain: Vec<OwnerLink> = Vec::new();
    let mut next = first.cloned();
    while let Some(owner) = next {
        if chain.len() == MOST_OWNERS || chain.iter().any(|before| is_same(before, &owner)) {
            break;
        }
        next = match look(&owner) {
            Known::OwnedBy(above) => Some(above),
            Known::Top | Known::NotSeen => None,
        };
        chain.push(owner);
    }
    chain
}

fn is_same(a: &OwnerLink, b: &OwnerLink) -> bool {
    if a.uid.is_empty() || b.uid.is_empty() {
        return a.kind == b.kind && a.name == b.name && a.group() == b.group();
    }
    a.uid == b.uid
}

#[cfg(test)]
mod tests {
    //! Chains of every length, circles, and owners that nobody has seen.

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{Known, MOST_OWNERS, OwnerLink, climb};

    fn link(name: &str) -> OwnerLink {
        OwnerLink {
            api_version: "apps/v1".to_owned(),
            kind: "Kind".to_owned(),
            name: name.to_owned(),
            uid: format!("uid-{name}"),
        }
    }

    fn check(owned_by: &[(&str, &str)], first: &str, expected: &[&str]) {
        let owned_by: BTreeMap<&str, &str> = owned_by.iter().copied().collect();
        let chain = climb(Some(&link(first)), |owner| {
            owned_by
                .get(owner.name.as_str())
                .map_or(Known::Top, |above| Known::OwnedBy(link(above)))
        });
        let names: Vec<&str> = chain.iter().map(|owner| owner.name.as_str()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn the_chain_ends_at_the_top() {
        check(&[("set", "deployment")], "set", &["set", "deployment"]);
        check(&[], "job", &["job"]);
        assert_eq!(climb(None, |_| Known::Top), []);
    }

    #[test]
    fn a_circle_is_left_where_it_closes() {
        check(&[("a", "b"), ("b", "a")], "a", &["a", "b"]);
        check(&[("a", "a")], "a", &["a"]);
    }

    #[test]
    fn an_owner_that_was_not_seen_is_still_named() {
        assert_eq!(climb(Some(&link("gone")), |_| Known::NotSeen), [link("gone")]);
    }

    proptest! {
        #[test]
        fn no_web_of_owners_is_climbed_for_ever(edges in prop::collection::btree_map(0_u8..20, 0_u8..20, 0..20)) {
            let chain = climb(Some(&link("0")), |owner| {
                let number: u8 = owner.name.parse().expect("names are numbers");
                edges.get(&number).map_or(Known::Top, |above| Known::OwnedBy(link(&above.to_string())))
            });
            prop_assert!((1..=MOST_OWNERS).contains(&chain.len()));
        }
    }
}
